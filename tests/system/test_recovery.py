"""A node is lost while all write: stalls, full rate, and whether everything is there that was fsynced."""
import csv
import io
import json
import os
import signal
import time

import pytest
from cluster import wait_for
from test_coherence import incoherent

# A hundred records a second and an fsync after each second one.
WRITING = {"kind": "recovery", "time": "6s", "bytes": "64MiB", "interval": "10ms", "count": 2, "return_time": "20s"}


def job(**more):
    return {"short_phases": True, "on_node_loss": "continue", "grace": "500ms", "phases": [{**WRITING, **more}]}


@pytest.fixture
def three(mounts, tmp_path):
    with incoherent(tmp_path) as made:
        yield made


def own_file(backing, node):
    """The file of that node (from 1) in the run's directory on the backing volume, or None."""
    for run in os.listdir(backing):
        try:
            names = os.listdir(backing / run / "shared" / "c")
        except OSError:
            continue  # not made yet, or just removed
        for name in names:
            if name.startswith("w") and name.endswith(f".{node - 1}"):
                return backing / run / "shared" / "c" / name
    return None


def wait_written(backing, node, size=1 << 19):
    return wait_for(f"{size} bytes of node {node}", lambda: (f := own_file(backing, node)) and f.stat().st_size >= size and f, timeout=60)


def kill_node(cluster, name):
    """What a power cut does, as far as a process can: agent and runner at once, nothing is said to anybody."""
    pids = [p for p in (cluster.runner_pid(name), cluster.agent_pid(name)) if p]
    assert len(pids) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    cluster.agents[name].wait(10)


def play(cluster, backing, job_, meanwhile=lambda: None, back=True, timeout=120, size=1 << 19):
    """Runs the job; node2 is killed once it has written a while, and started again when the others have looked."""
    run = cluster.start_run(job_)
    wait_written(backing, 2, size)
    meanwhile()
    kill_node(cluster, "node2")
    if back:
        time.sleep(1)
        cluster.start_agent("node2")
    out, err = run.communicate(timeout=timeout)
    return run.returncode, cluster.export(), out + err


def test_a_lost_node_is_verified_and_again_once_it_is_back(three):
    cluster, _, backing = three
    status, results, said = play(cluster, backing, job(time="10s"), size=5 << 19)  # a rate before the loss is of a second at least
    assert status == 0, said
    written, looked, again = results["phases"]
    recovery = written["recovery"]
    assert recovery["lost"] == 1 and recovery["expected"] == 1
    assert recovery["loss_ns"] > 0 and recovery["rate_before"] > 0 and recovery["full_rate_after_ns"] >= 0
    nodes = {n["node"]: n for n in recovery["nodes"]}
    lost = nodes["node2"]
    assert lost["lost"] and lost["returned"] and lost["back_after_ns"] > lost["noticed_after_ns"] > 0 and lost["lost_at_ns"] == recovery["loss_ns"]
    assert lost["fsynced"] > 30 and lost["written"] is None
    for name in ("node1", "node3"):
        assert not nodes[name]["lost"] and nodes[name]["stall_ns"] > 0 and nodes[name]["written"] == nodes[name]["fsynced"] > lost["fsynced"]
    # Both that are left look at all three files; then at the lost one's alone.
    records = sum(n["fsynced"] for n in recovery["nodes"])
    assert looked["promise"]["outcome"] == "held" and looked["promise"]["looked"] == 2 * records
    assert again["promise"]["outcome"] == "held" and again["promise"]["looked"] == 2 * lost["fsynced"]
    assert [n["state"] for n in again["nodes"]] == ["done", "lost", "done"]
    # All formats.
    for words in (["text"], ["markdown"], ["html"]):
        report = cluster.cli("report", "last", "--format", words[0]).stdout
        assert "node was lost, 1 might be" in report and "of that again" in report and "began at" in report, words
    rows = {(r["node"], r["metric"]): r["value"] for r in csv.DictReader(io.StringIO(cluster.cli("report", "last", "--format", "csv").stdout))
            if r["phase_index"] == "0"}
    assert rows["*all*", "recovery_full_rate_after"] == str(recovery["full_rate_after_ns"])
    assert rows["node2", "recovery_fsynced"] == str(lost["fsynced"]) and rows["node1", "recovery_stall"] == str(nodes["node1"]["stall_ns"])
    assert os.listdir(backing) == []


def test_a_node_that_stays_away_is_told_and_untested_again(three):
    cluster, _, backing = three
    status, results, said = play(cluster, backing, job(time="4s", return_time="1s"), back=False)
    assert status == 0, said
    _, looked, again = results["phases"]
    assert looked["promise"]["outcome"] == "held" and again["promise"]["outcome"] == "untested"
    assert any("node2 did not come back in time" in line for line in again["promise"]["list"])
    assert not next(n for n in results["phases"][0]["recovery"]["nodes"] if n["node"] == "node2")["returned"]


@pytest.mark.parametrize("victim", [2, 3])
def test_a_lost_write_is_found(three, victim):
    """A record of the lost node, or of one that is left, was written and fsynced, and is not there."""
    cluster, volumes, backing = three
    volume = volumes[victim - 1]

    def lose_one():
        volume.rule("lose", "pwrite", name="*/w*", count=1)
        before = volume.calls()["fsync"]
        # Fsynced, and that was told.
        wait_for("more fsyncs", lambda: volume.calls()["fsync"] > before + 20)

    status, results, said = play(cluster, backing, job(time="12s"), lose_one)
    assert status == 5 and "violated" in said, said
    looked = results["phases"][1]
    assert looked["state"] == "mismatch" and looked["promise"]["outcome"] == "violated" and looked["promise"]["broken"] == 2
    assert any(f"file of node{victim}, offset" in line and "nothing that lockstep wrote" in line for line in looked["promise"]["list"]), looked["promise"]
    assert results["phases"][2]["promise"]["outcome"] == ("violated" if victim == 2 else "held")


def test_what_goes_missing_before_it_returns_is_found(three):
    """The first look finds all; then a block of the lost node's file is another one."""
    cluster, _, backing = three
    run = cluster.start_run(job(return_time="60s"))
    wait_written(backing, 2)
    kill_node(cluster, "node2")
    wait_for("the first look", lambda: json.loads(cluster.cli("runs", "--json").stdout)[0]["phases_done"] >= 2, timeout=60)
    file = own_file(backing, 2)
    with open(file, "r+b") as f:
        f.seek(5 * 16384 + 4096)
        f.write(bytes(4096))
    cluster.start_agent("node2")
    _, err = run.communicate(timeout=90)
    results = cluster.export()
    assert run.returncode == 5, err
    assert [p["promise"]["outcome"] for p in results["phases"]][1:] == ["held", "violated"]


def test_what_was_fsynced_is_known_after_cut_connections_and_a_restart(three):
    """While the coordinator is gone nodes go on; what they fsynced meanwhile is told with the next connection, and kept."""
    cluster, volumes, backing = three
    run = cluster.start_run(job(time="20s", bytes="64MiB", return_time="1s"))
    wait_written(backing, 2)
    cluster.daemon.kill()
    cluster.daemon.wait(10)
    before = volumes[1].calls()["fsync"]
    wait_for("more fsyncs", lambda: volumes[1].calls()["fsync"] > before + 30)
    cluster.start_daemon()
    cluster.wait_nodes(cluster.names)
    # One fsync was of the file itself, before the start; each other one is of two records.
    wanted = 2 * (before + 30 - 1)
    wait_for("what was fsynced is in the store", lambda: cluster.export()["nodes"][1].get("fsynced", 0) >= wanted)
    kill_node(cluster, "node2")
    run.communicate(timeout=90)
    results = cluster.export()
    lost = next(n for n in results["phases"][0]["recovery"]["nodes"] if n["node"] == "node2")
    assert lost["lost"] and lost["fsynced"] >= wanted
    assert results["phases"][0]["recovery"]["why_not"] == "it is not known when in the phase the loss was"
    assert [p["promise"]["outcome"] for p in results["phases"]] == ["prepared", "held", "untested"]


def test_a_stall_is_found_with_its_length(three):
    cluster, volumes, backing = three

    def stall():
        volumes[0].delay("pwrite", 1700, name="*/w*", count=1)
        time.sleep(0.1)

    status, results, said = play(cluster, backing, job(time="12s"), stall, size=5 << 19)
    assert status == 0, said
    recovery = results["phases"][0]["recovery"]
    nodes = {n["node"]: n for n in recovery["nodes"]}
    stall_ns, start_ns = nodes["node1"]["stall_ns"], nodes["node1"]["stall_start_ns"]
    assert stall_ns >= 1700e6 and nodes["node3"]["stall_ns"] < stall_ns
    assert start_ns + stall_ns > recovery["loss_ns"]
    # Full rate is not back before that stall is over.
    assert recovery["full_rate_after_ns"] >= start_ns + stall_ns - recovery["loss_ns"]


def test_no_loss_is_no_recovery(cluster):
    status, results, done = cluster.run(job(time="1s"))
    assert status == 0, done.stderr
    written, looked, again = results["phases"]
    assert written["promise"]["outcome"] == "untested" and any("no node was lost" in w for w in written["warnings"])
    assert written["recovery"]["lost"] == 0 and written["recovery"]["full_rate_after_ns"] is None
    assert looked["promise"]["outcome"] == "held" and looked["promise"]["looked"] > 0 and again["promise"]["outcome"] == "prepared"


def test_one_more_than_expected_ends_the_run(cluster):
    run = cluster.start_run(job(expect_loss=0))
    wait_for("the file of node2", lambda: any(n.endswith(".1") for n in cluster.files()))
    wait_for("a running phase", lambda: "running" in cluster.cli("runs", "--json").stdout)
    kill_node(cluster, "node2")
    _, err = run.communicate(timeout=60)
    assert run.returncode == 1, err
    assert "expects no more than 0" in err


@pytest.mark.parametrize("change,why", [({"time": 0}, "time"), ({"bytes": "20KiB"}, "bytes"), ({"workers": 2}, "workers")])
def test_what_makes_no_sense_is_refused(cluster, change, why):
    status, _, done = cluster.run(job(**change))
    assert status in (2, 3) and why in done.stderr, done.stderr


def test_a_loss_is_expected_only_where_the_run_goes_on(cluster):
    status, _, done = cluster.run({**job(), "on_node_loss": "abort"})
    assert status in (2, 3) and "on_node_loss" in done.stderr, done.stderr
