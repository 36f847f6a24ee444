"""What is killed, and what remains: a clear state, the others' results, no file, no lost result."""
import json
import os
import re
import select
import signal
import subprocess
import time

import pytest

import faultyvolume
from cluster import Cluster, alive, program, wait_for
from faultyvolume import FaultyVolume

LONG = {"workers": 1, "short_phases": True, "orphan_time": "20s", "grace": "1s", "phases": [
    {"kind": "write", "file_size": "1MiB", "record_size": "64KiB"},
    {"kind": "random-read", "file_size": "1MiB", "record_size": "4KiB", "time": "4s"},
    {"kind": "rewrite", "file_size": "1MiB", "record_size": "64KiB"}]}


def moving(cluster):
    """Waits until the second phase runs on all nodes: their runners read."""
    def reading():
        for name in cluster.names:
            pid = cluster.runner_pid(name)
            if pid is None:
                return False
            with open(f"/proc/{pid}/io", encoding="ascii") as f:
                syscr = int(f.read().split("syscr:")[1].split()[0])
            if syscr < 2000:
                return False
        return True
    wait_for("all runners at work in the second phase", reading)


def ended(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def test_agent_killed_in_a_phase(cluster):
    run = cluster.start_run(LONG)
    moving(cluster)
    runner = cluster.runner_pid("node2")
    cluster.agents["node2"].kill()
    cluster.agents["node2"].wait()
    status, out, err = ended(run)
    assert status == 1
    results = cluster.export()
    assert results["run"]["state"] == "failed"
    assert "node2" in results["run"]["reason"]
    assert results["phases"][0]["state"] == "done" and len(results["phases"][0]["nodes"]) == 3
    second = results["phases"][1]
    states = {n["node"]: n["state"] for n in second["nodes"]}
    assert second["state"] == "failed" and states["node2"] == "lost"
    for name in ("node1", "node3"):
        assert next(n for n in second["nodes"] if n["node"] == name)["ops"] > 0, "survivors' results are in the report"
    assert len(results["phases"]) == 2, "the third phase never began"
    wait_for("the orphaned runner gone", lambda: not alive(runner))
    wait_for("no file left", lambda: cluster.files() == [])
    assert "node2" in out


def test_agent_killed_with_policy_continue(cluster):
    run = cluster.start_run({**LONG, "on_node_loss": "continue"})
    moving(cluster)
    cluster.agents["node2"].kill()
    cluster.agents["node2"].wait()
    status, out, err = ended(run)
    results = cluster.export()
    assert [p["state"] for p in results["phases"]][0] == "done"
    assert len(results["phases"]) == 3, "the others went on"
    last = {n["node"]: n for n in results["phases"][2]["nodes"]}
    assert last["node1"]["bytes"] == 1 << 20 and last["node3"]["bytes"] == 1 << 20
    assert any("node2" in w for w in results["run"]["warnings"] + results["phases"][1]["warnings"])
    wait_for("no file left", lambda: cluster.files() == [])


def test_runner_killed_in_a_phase(cluster):
    run = cluster.start_run(LONG)
    moving(cluster)
    os.kill(cluster.runner_pid("node2"), signal.SIGKILL)
    status, out, err = ended(run)
    assert status == 1
    results = cluster.export()
    assert results["run"]["state"] == "failed" and "node2" in results["run"]["reason"] and "signal 9" in results["run"]["reason"]
    states = {n["node"]: n["state"] for n in results["phases"][1]["nodes"]}
    assert states == {"node1": "done", "node2": "failed", "node3": "done"}
    assert next(n for n in results["phases"][1]["nodes"] if n["node"] == "node2")["ops"] > 0, "its counters survived it"
    wait_for("no file left", lambda: cluster.files() == [])
    # the agent is healthy: the next run works
    status, results, done = cluster.run({"short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB"}]})
    assert status == 0, done.stderr


def test_stopped_runner_is_told_as_it_is(cluster):
    run = cluster.popen("run", cluster.job_file({**LONG, "path": cluster.volume}), "--no-tty")
    os.set_blocking(run.stderr.fileno(), False)
    moving(cluster)
    pid = cluster.runner_pid("node2")
    os.kill(pid, signal.SIGSTOP)
    try:
        seen = []

        def told():
            while select.select([run.stderr], [], [], 0)[0]:
                seen.append(os.read(run.stderr.fileno(), 65536).decode())
            return any("no progress" in line and "node2" in line for line in "".join(seen).splitlines())
        wait_for("a line that names the stalled worker", told)
        assert cluster.agents["node2"].poll() is None
        assert {n["name"] for n in cluster.nodes() if n["connected"]} == set(cluster.names)
    finally:
        os.kill(pid, signal.SIGCONT)
    status, out, err = ended(run)
    assert status == 0, err
    assert cluster.files() == []


def test_coordinator_killed_in_a_phase_and_restarted(cluster):
    run = cluster.start_run(LONG)
    moving(cluster)
    cluster.daemon.kill()
    cluster.daemon.wait()
    run.kill()
    run.communicate()
    time.sleep(0.5)
    for name in cluster.names:
        assert cluster.runner_pid(name), "the load goes on without the coordinator"
    cluster.start_daemon()
    cluster.wait_nodes(cluster.names)

    def over():
        results = cluster.export()
        return results if results["run"]["state"] in ("finished", "failed", "aborted") else None
    results = wait_for("the run taken up and ended", over, 60)
    assert results["run"]["state"] == "finished", results["run"]["reason"]
    assert [p["state"] for p in results["phases"]] == ["done"] * 3
    for phase in results["phases"]:
        assert len(phase["nodes"]) == 3
    wait_for("no file left", lambda: cluster.files() == [])


def test_coordinator_killed_while_its_store_lags():
    """
    Each write takes half a second: when the second phase begins, the first one's end may still be on its way to the disk. The nodes must
    not be further than what a restarted coordinator knows, or the run never goes on.
    """
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    with Cluster(nodes=2) as cluster, FaultyVolume(cluster.path("store"), cache=True) as store:
        cluster.settings = {"lockstepd": {"log_level": "debug"}}
        cluster.start()
        store.delay("fsync", 500)
        run = cluster.start_run({**LONG, "phases": [LONG["phases"][1] | {"time": "300ms"}, LONG["phases"][1] | {"time": "2s"}]})
        wait_for("the second phase", lambda: re.search(r"-> running \(.*phase=1 ", cluster.log("lockstepd")), 60)
        cluster.daemon.kill()
        cluster.daemon.wait()
        store.clear()
        cluster.start_daemon()
        status, out, err = ended(run)
        results = cluster.export()
        assert status == 0 and results["run"]["state"] == "finished", err
        assert [p["state"] for p in results["phases"]] == ["done"] * 2
        for phase in results["phases"]:
            assert sorted(n["node"] for n in phase["nodes"]) == cluster.names
        wait_for("no file left", lambda: cluster.files() == [])


def test_a_directory_that_another_node_removed_just_now_is_gone():
    """Several nodes take the shared directory away at once: to one of them it is stale (ESTALE), which is nothing that is left."""
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    with Cluster(nodes=2) as cluster, FaultyVolume(cluster.volume) as volume:
        cluster.start()
        volume.fail("rmdir", "ESTALE", name="*/shared", count=2)  # the kernel asks once more by itself
        status, results, done = cluster.run({"short_phases": True, "reserve_percent": 0, "phases": [{"kind": "write", "file_size": "64KiB"}]})
        assert status == 0, done.stderr
        assert not any("could not remove" in w for w in results["run"]["warnings"]), results["run"]["warnings"]
        wait_for("no file left", lambda: cluster.files() == [])


def test_coordinator_gone_for_good():
    job = {**LONG, "orphan_time": "1s"}
    with Cluster() as cluster:
        cluster.start()
        run = cluster.start_run({**job, "phases": [{"kind": "random-read", "file_size": "1MiB", "record_size": "4KiB", "time": "300s"}]})
        wait_for("runners", lambda: all(cluster.runner_pid(n) for n in cluster.names))
        time.sleep(1)
        cluster.daemon.kill()
        cluster.daemon.wait()
        run.kill()
        run.communicate()
        wait_for("the load stopped and the files removed", lambda: cluster.files() == [], 40)
        assert all(p.poll() is None for p in cluster.agents.values())


@pytest.mark.parametrize("how", ["stop", "term"])
def test_load_on_a_node_ends_without_a_coordinator(cluster, how):
    run = cluster.start_run(LONG)
    moving(cluster)
    runner = cluster.runner_pid("node3")
    os.kill(cluster.daemon.pid, signal.SIGSTOP)
    try:
        if how == "term":
            cluster.agents["node3"].terminate()
            cluster.agents["node3"].wait(8)
        else:
            subprocess.run([program("lockstep-agent"), "stop", "--config", cluster.path("node3.conf")], check=True, timeout=8)

        def quiet():
            if not alive(runner):
                return True
            first = open(f"/proc/{runner}/io", encoding="ascii").read()
            time.sleep(0.3)
            return not alive(runner) or open(f"/proc/{runner}/io", encoding="ascii").read() == first
        wait_for("no more load on node3", quiet, 8)
    finally:
        os.kill(cluster.daemon.pid, signal.SIGCONT)
    status, out, err = ended(run)
    assert status == 1
    wait_for("no file left", lambda: cluster.files() == [])


def test_operator_aborts(cluster):
    run = cluster.start_run({**LONG, "phases": LONG["phases"][:1] + [
        {"kind": "random-read", "file_size": "1MiB", "record_size": "4KiB", "time": "300s"}]})
    moving(cluster)
    run.send_signal(signal.SIGINT)
    status, out, err = ended(run)
    assert status == 1
    results = cluster.export()
    assert results["run"]["state"] == "aborted"
    assert [p["state"] for p in results["phases"]] == ["done", "aborted"]
    assert all(n["ops"] > 0 for n in results["phases"][1]["nodes"])
    wait_for("no file left", lambda: cluster.files() == [])


def test_abort_from_elsewhere(cluster):
    run = cluster.start_run({**LONG, "phases": [{"kind": "random-read", "file_size": "1MiB", "record_size": "4KiB", "time": "300s"}]})
    wait_for("runners", lambda: all(cluster.runner_pid(n) for n in cluster.names))
    time.sleep(0.5)
    rows = json.loads(cluster.cli("runs", "--json", check=True).stdout)
    done = cluster.cli("abort", rows[0]["id"])
    assert done.returncode == 0, done.stderr
    status, out, err = ended(run)
    assert status == 1
    assert cluster.export()["run"]["state"] == "aborted"
