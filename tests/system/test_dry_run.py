"""lockstep run --dry-run starts nothing and says what it would do; caps of job and node hold what really runs."""
import json
import os
import subprocess

import pytest
from cluster import Cluster, program

MIB = 1 << 20


def dry(path, *words, server="unix:/nonexistent"):
    done = subprocess.run([program("lockstep"), "run", str(path), "--dry-run", "--server", server, *words], capture_output=True, text=True,
                          check=False, timeout=60)
    return done


def job_file(tmp_path, job):
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job))
    return path


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture():
    with Cluster(nodes=2, settings={"node2": {"max_bandwidth": "4MiB", "max_files": "100"}}) as cluster:
        yield cluster.start()


def test_without_any_lockstepd(tmp_path):
    job = job_file(tmp_path, {"path": "/mnt/vol", "phases": [{"kind": "write", "file_size": "2MiB", "solo": True}]})
    done = dry(job, "--nodes", "a,b", "--json", "-")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert [p["name"] for p in plan["phases"]] == ["write, a alone", "write, b alone", "write"]
    assert plan["bytes"] == 8 * MIB and plan["nodes"] == ["a", "b"]
    assert "is lockstepd running" in done.stderr
    text = dry(job).stdout
    assert "nothing is started" in text and "node3" in text


def test_usage(tmp_path):
    job = job_file(tmp_path, {"path": "/mnt/vol", "phases": [{"kind": "write"}]})
    assert dry(job, "--detach").returncode == 2
    assert dry(job, "--format", "csv").returncode == 2


def test_limits_of_connected_nodes_refuse_and_nothing_is_started(cluster, tmp_path):
    job = job_file(tmp_path, {"path": cluster.volume, "phases": [{"kind": "create", "files": 200}]})
    before = len(json.loads(cluster.cli("runs", "--json").stdout))
    done = dry(job, server=cluster.socket())
    assert done.returncode == 3, done.stdout + done.stderr
    assert "node node2, max_files" in done.stdout and "node1, max_files" not in done.stdout
    assert len(json.loads(cluster.cli("runs", "--json").stdout)) == before
    assert os.listdir(cluster.volume) == []


def test_time_is_learned_and_caps_hold(cluster, tmp_path):
    """The job's cap, split over both nodes, and node2's own lower one: seen in the bytes of a phase of 2 s."""
    job = {"name": "held", "path": cluster.volume, "workers": 2, "max_bandwidth": "16MiB",
           "phases": [{"kind": "write", "file_size": "4MiB", "record_size": "64KiB"},
                      {"kind": "rewrite", "file_size": "4MiB", "record_size": "64KiB", "time": "2s"}]}
    path = job_file(tmp_path, job)
    plan = json.loads(dry(path, "--json", "-", server=cluster.socket()).stdout)
    assert plan["phases"][0]["time_ns"] is None and plan["phases"][1]["bytes"] == 32 * MIB
    done = cluster.cli("run", str(path), "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert any("max_bandwidth of the job" in w for w in results["run"]["warnings"])
    assert any("node2" in w and "max_bandwidth of its agent.conf" in w for w in results["run"]["warnings"])
    moved = {n["node"]: n["bytes"] for n in results["phases"][1]["nodes"]}
    # shares of 8 MiB/s and 4 MiB/s for 2 s; each worker may have begun one record more
    assert moved["node1"] <= 16 * MIB + 2 * 65536 and moved["node2"] <= 8 * MIB + 2 * 65536, moved
    assert min(moved.values()) > 0, moved
    assert results["phases"][1]["spec"]["rate_bytes"] == 4 * MIB
    plan = json.loads(dry(path, "--json", "-", server=cluster.socket()).stdout)
    assert plan["phases"][0]["from"] == "run " + results["run"]["id"]
    assert plan["phases"][0]["time_ns"] == results["phases"][0]["duration_ns"]


def test_what_cannot_be_held_is_refused(cluster, tmp_path):
    job = {"path": cluster.volume, "phases": [{"kind": "create", "files": 10, "size": 4096}]}
    done = cluster.cli("run", str(job_file(tmp_path, {**job, "max_bandwidth": "1MiB"})))
    assert done.returncode == 2 and "max_bandwidth" in done.stderr, done.stderr
    done = cluster.cli("run", str(job_file(tmp_path, job)))
    assert done.returncode == 1 and "max_bandwidth" in done.stderr + done.stdout, done.stdout + done.stderr
