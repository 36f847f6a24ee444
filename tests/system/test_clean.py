"""lockstep clean: what runs left is found by its markers, shown and removed; nothing else is ever touched."""
import json
import os
import re
import signal
import subprocess

import pytest
from cluster import Cluster, wait_for

KEPT = {"workers": 2, "keep_files": True, "phases": [{"kind": "write", "file_size": "256KiB"}], "short_phases": True}


@pytest.fixture
def left(cluster):
    """A run that kept its files: (cluster, its id, its directory)."""
    status, results, done = cluster.run(KEPT)
    assert status == 0, done.stderr
    run = results["run"]["id"]
    directory = os.path.join(cluster.volume, f".lockstep-{run}")
    wait_for("the run's end", lambda: os.path.isdir(directory) and "token.node1" not in os.listdir(directory))
    return cluster, run, directory


def listed(cluster):
    done = cluster.cli("clean", cluster.volume, "--json")
    assert done.returncode == 0, done.stderr
    return {r["run"]: r for r in json.loads(done.stdout)}


def test_shown_first_and_removed_on_demand(left):
    cluster, run, directory = left
    row = listed(cluster)[run]
    assert row["state"] == "ended" and sorted(row["nodes"].split(",")) == cluster.names and row["problem"] is None
    sizes = [os.lstat(os.path.join(d, f)) for d, _, files in os.walk(directory) for f in files]
    assert row["files"] == len(sizes) and row["bytes"] == sum(s.st_blocks * 512 for s in sizes) > 6 * 256 * 1024
    table = cluster.cli("clean", cluster.volume).stdout
    assert re.search(rf"^{run} +ended +[\d.]+ \w+ ", table, re.M)
    assert os.path.isdir(directory)

    done = cluster.cli("clean", cluster.volume, "--remove")
    assert done.returncode == 2 and "--yes" in done.stderr and os.path.isdir(directory)
    done = cluster.cli("clean", cluster.volume, "--remove", run, "--yes")
    assert done.returncode == 0 and f"removed .lockstep-{run}" in done.stdout, done
    assert os.listdir(cluster.volume) == []
    done = cluster.cli("clean", cluster.volume)
    assert done.returncode == 0 and "no run has left anything" in done.stdout


def test_what_is_not_a_runs_stays(left, tmp_path):
    """Files and directories that only look like lockstep's, links that lead elsewhere, markers that name another run."""
    cluster, run, directory = left
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    with open(os.path.join(directory, "precious"), "w", encoding="utf-8") as f:
        f.write("mine")
    os.symlink(outside, os.path.join(directory, "n7"))
    with open(os.path.join(directory, "marker.node1"), encoding="utf-8") as f:
        marker = f.read()
    other = os.path.join(cluster.volume, ".lockstep-other")
    os.makedirs(os.path.join(other, "n0"))
    for name in ("marker.node1", "n0/data"):
        with open(os.path.join(other, name), "w", encoding="utf-8") as f:
            f.write(marker)
    with open(os.path.join(cluster.volume, ".lockstep-file"), "w", encoding="utf-8") as f:
        f.write(marker)
    os.symlink(directory, os.path.join(cluster.volume, ".lockstep-link"))

    rows = listed(cluster)
    assert rows["other"]["problem"] == "no marker of lockstep" and rows["other"]["nodes"] == "-"
    assert rows["file"]["problem"] and rows["link"]["problem"]
    done = cluster.cli("clean", cluster.volume, "--remove", "--yes", "--force")
    assert done.returncode == 1 and "not wholly removed" in done.stderr, done
    assert sorted(os.listdir(directory)) == ["n7", "precious"]
    assert os.listdir(outside) == ["precious"] and sorted(os.listdir(other)) == ["marker.node1", "n0"]
    assert os.path.exists(os.path.join(other, "n0", "data")) and os.path.islink(os.path.join(cluster.volume, ".lockstep-link"))
    for name in ("other", "file", "link", "../outside"):
        assert cluster.cli("clean", cluster.volume, "--remove", name, "--yes", "--force").returncode in (1, 3)
    assert os.path.exists(os.path.join(other, "marker.node1")) and (outside / "precious").exists()


def test_a_run_that_goes_on_is_refused(cluster):
    run = cluster.popen("run", cluster.job_file({"path": cluster.volume, "workers": 1, "phases": [{"kind": "write", "time": "30s"}]}), "--no-tty",
                        "--quiet")
    found = wait_for("the run's directory", lambda: [n for n in listed(cluster) if listed(cluster)[n]["state"] == "active"])
    before = cluster.files()
    for words in ([], ["--force"]):
        done = cluster.cli("clean", cluster.volume, "--remove", found[0], "--yes", *words)
        assert done.returncode == 3 and "the run has not ended" in done.stderr
    assert set(before) <= set(cluster.files())
    assert cluster.cli("abort", found[0]).returncode == 0
    run.wait(60)
    wait_for("no file left", lambda: cluster.files() == [])


def test_without_a_lockstepd_only_by_force(left):
    cluster, run, directory = left
    nowhere = f"unix:{cluster.path('none.sock')}"
    done = cluster.cli("clean", cluster.volume, "--remove", "--yes", server=nowhere)
    assert done.returncode == 3 and "could not be asked" in done.stderr and os.path.isdir(directory)
    done = cluster.cli("clean", cluster.volume, "--remove", "--yes", "--force", server=nowhere)
    assert done.returncode == 0 and os.listdir(cluster.volume) == []


def test_wrong_paths(cluster, tmp_path):
    os.symlink(cluster.volume, tmp_path / "link")
    for path, words in ((str(tmp_path / "none"), "does not exist"), ("relative", "not absolute"), (str(tmp_path / "link"), "symbolic link")):
        done = cluster.cli("clean", path)
        assert done.returncode == 1 and words in done.stderr, done


@pytest.fixture
def disk(root, tmp_path):
    """A file system of its own, ext4 on a loop device, mounted."""
    image, path = str(tmp_path / "image"), str(tmp_path / "mnt")
    with open(image, "wb") as f:
        f.truncate(128 << 20)
    os.mkdir(path)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    done = subprocess.run(["mount", "-o", "loop", image, path], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no loop device: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", path], check=True)  # nothing holds it


def test_a_mounted_volume_after_dead_nodes(disk):
    """Agents and runners of all nodes are killed in a phase, and what belongs to others lies beside: only the run's goes."""
    with Cluster(volume=disk) as cluster:
        cluster.start()
        with open(os.path.join(disk, "production"), "w", encoding="utf-8") as f:
            f.write("theirs")
        os.makedirs(os.path.join(disk, ".lockstep-theirs", "n0"))
        before = sorted(os.listdir(disk))
        used = os.statvfs(disk).f_bfree
        run = cluster.popen("run", cluster.job_file({"path": disk, "workers": 2, "grace": "200ms", "phases": [
            {"kind": "create", "files": 50, "dirs": "shared", "size": "16KiB"}, {"kind": "write", "file_size": "1MiB", "time": "60s"}]}), "--no-tty", "--quiet")
        wait_for("the second phase", lambda: len([f for f in cluster.files() if re.search(r"/n\d/data\.\d$", f)]) == 6)
        for name in cluster.names:
            for pid in (cluster.runner_pid(name), cluster.agent_pid(name)):
                os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=60)
        assert run.returncode == 1
        row, = [r for r in listed(cluster).values() if r["problem"] is None]
        assert row["state"] == "ended" and row["files"] >= 6 + 50 * 6 and row["bytes"] >= 300 * 16384
        assert listed(cluster)["theirs"]["problem"]
        done = cluster.cli("clean", disk, "--remove", "--yes")
        assert f"removed .lockstep-{row['run']}" in done.stdout, done
        assert sorted(os.listdir(disk)) == before and os.path.isdir(os.path.join(disk, ".lockstep-theirs", "n0"))
        subprocess.run(["sync", "-f", disk], check=True)
        assert abs(os.statvfs(disk).f_bfree - used) < 64, "its blocks are free again"
