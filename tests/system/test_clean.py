"""lockstep clean: what runs left is found by its markers, shown and removed; nothing else is ever touched."""
import json
import os
import re

import pytest
from cluster import wait_for

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
