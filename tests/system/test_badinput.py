"""Bad input gets one clear error that names the place, and touches nothing else."""
import os
import re
import subprocess

import pytest

from cluster import Cluster, program

SMALL = {"short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB", "record_size": "4KiB"}]}


def refused_job(cluster, text, *words):
    path = cluster.path("bad.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return cluster.cli("run", path, *words)


JOBS = [
    ("syntax", '{"path": "/x",\n  "phases": [}\n', ["bad.json", "line 2", "column"]),
    ("unknown key", '{"path": "/x", "phases": [{"kind": "write", "recordsize": 4096}]}', ["phases[0]", "recordsize", "record_size"]),
    ("unknown job key", '{"path": "/x", "wokers": 2, "phases": [{"kind": "write"}]}', ["wokers", "workers"]),
    ("unknown kind", '{"path": "/x", "phases": [{"kind": "wriet"}]}', ["phases[0].kind", "wriet"]),
    ("ambiguous unit", '{"path": "/x", "phases": [{"kind": "write", "file_size": "4KB"}]}', ["phases[0].file_size", "4KB"]),
    ("number out of range", '{"path": "/x", "workers": 0, "phases": [{"kind": "write"}]}', ["workers"]),
    ("does not apply", '{"path": "/x", "phases": [{"kind": "write", "files": 5}]}', ["phases[0]", "files", "write"]),
    ("no phases", '{"path": "/x", "phases": []}', ["phases"]),
    ("relative path", '{"path": "x/y", "phases": [{"kind": "write"}]}', ["path", "absolute"]),
    ("path with dots", '{"path": "/x/../y", "phases": [{"kind": "write"}]}', ["path", ".."]),
    ("duplicate key", '{"path": "/x", "path": "/y", "phases": [{"kind": "write"}]}', ["path"]),
    ("unaligned direct", '{"path": "/x", "phases": [{"kind": "write", "direct": true, "record_size": 1000, "file_size": 10000}]}',
     ["phases[0]", "record_size", "direct"]),
    ("empty", "", ["bad.json"]),
    ("not an object", "[1, 2]", ["bad.json"]),
]


@pytest.mark.parametrize("name,text,words", JOBS, ids=[j[0] for j in JOBS])
def test_bad_job_files_are_usage_errors(module_cluster, name, text, words):
    done = refused_job(module_cluster, text)
    assert done.returncode == 2, done
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.fixture(scope="module")
def module_cluster():
    with Cluster() as running:
        yield running.start()


def test_path_outside_the_allow_list(module_cluster, tmp_path):
    status, results, done = module_cluster.run({**SMALL, "path": str(tmp_path)})
    assert status == 3
    # whichever node answers first
    assert re.search(r"node node[123]: ", done.stderr) and str(tmp_path) in done.stderr and "allow" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_path_that_misses_on_one_node():
    with Cluster() as cluster:
        other = cluster.path("other")
        cluster.settings = {"node2": {"allow": [cluster.volume]}}
        cluster.start()
        status, results, done = cluster.run({**SMALL, "path": os.path.join(cluster.volume, "missing")})
        assert status == 3
        assert "node" in done.stderr and "missing" in done.stderr and "No such file" in done.stderr
        assert not os.path.exists(other)


def test_not_enough_space(module_cluster):
    status, results, done = module_cluster.run({**SMALL, "phases": [{"kind": "write", "file_size": "500TiB"}]})
    assert status == 3
    assert "node" in done.stderr and "reserve" in done.stderr
    assert module_cluster.files() == []


def test_too_few_and_unknown_nodes(module_cluster):
    status, results, done = module_cluster.run({**SMALL, "min_nodes": 5})
    assert status == 3 and "5" in done.stderr and "3" in done.stderr
    status, results, done = module_cluster.run({**SMALL, "nodes": ["node1", "node9"]})
    assert status == 3 and "node9" in done.stderr


def test_no_agents_at_all():
    with Cluster() as cluster:
        cluster.start_daemon()
        status, results, done = cluster.run(SMALL)
        assert status == 3 and "no agents are connected" in done.stderr


def test_separate_volumes_are_found(mounts, tmp_path):
    """Three file systems at one path: each agent in a mount namespace with a tmpfs of its own."""
    volume = tmp_path / "shared"
    volume.mkdir()
    script = f'mount -t tmpfs none {volume} && exec "$@"'
    wrap = {n: ["unshare", "-m", "sh", "-c", script, "sh"] for n in ("node2", "node3")}
    with Cluster(volume=str(volume), wrap=wrap) as cluster:
        cluster.start()
        status, results, done = cluster.run(SMALL)
        assert status == 3
        assert "node2" in done.stderr and "node3" in done.stderr and "same volume" in done.stderr
        status, results, done = cluster.run({**SMALL, "allow_separate_volumes": True})
        assert status == 0, done.stderr
        assert any("volume" in w for w in results["run"]["warnings"])


def test_unknown_words_on_the_command_line(module_cluster):
    for words, hint in ((["rnu"], "run"), (["run", "quick", "--pth", "/x"], "--path"), (["report", "--fromat", "text"], "--format")):
        done = subprocess.run([program("lockstep"), *words], capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 2 and hint in done.stderr, done


def test_unknown_preset_names_the_known_ones(module_cluster):
    done = module_cluster.cli("run", "quik", "--path", module_cluster.volume)
    assert done.returncode == 2 and "quick" in done.stderr


def test_no_daemon_says_what_to_do(tmp_path):
    done = subprocess.run([program("lockstep"), "runs", "--server", f"unix:{tmp_path}/none.sock"], capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode != 0 and "none.sock" in done.stderr and "lockstepd" in done.stderr


def test_help_of_everything_teaches():
    top = subprocess.run([program("lockstep"), "--help"], capture_output=True, text=True, check=True).stdout
    commands = ["run", "watch", "abort", "runs", "nodes", "report", "check", "pki", "presets"]
    for command in commands:
        assert command in top
        text = subprocess.run([program("lockstep"), command, "--help"], capture_output=True, text=True, check=True).stdout
        assert "example" in text.lower() or "lockstep " + command in text
    for daemon in ("lockstepd", "lockstep-agent"):
        assert "--config" in subprocess.run([program(daemon), "--help"], capture_output=True, text=True, check=True).stdout
        assert subprocess.run([program(daemon), "--version"], capture_output=True, text=True, check=True).stdout.startswith(daemon)
