"""A run of 20 phases started 20 times leaves no file, process or descriptor behind."""
import os

from cluster import wait_for

PHASES = {"workers": 1, "short_phases": True, "phases": [
    {"kind": kind, "file_size": "16KiB", "record_size": "4KiB"} for kind in
    ["write", "read", "rewrite", "random-read", "random-write"] * 3] + [
    {"kind": kind, "files": 10} for kind in ("create", "stat", "delete", "create", "delete")]}


def descriptors(pid):
    return sorted(os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd"))


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * 4096


def state(cluster):
    pids = [cluster.daemon.pid] + [cluster.agents[n].pid for n in cluster.names]
    return {pid: (len(descriptors(pid)), len(os.listdir(f"/proc/{pid}/task"))) for pid in pids}


def test_nothing_is_left_behind(cluster):
    status, results, done = cluster.run(PHASES)
    assert status == 0, done.stderr
    before = state(cluster)
    memory = {}
    for i in range(20):
        status, results, done = cluster.run(PHASES)
        assert status == 0, done.stderr
        assert len(results["phases"]) == 20 and all(p["state"] == "done" for p in results["phases"])
        if i == 9:
            memory = {pid: resident(pid) for pid in before}
    wait_for("runners gone", lambda: all(cluster.runner_pid(n) is None for n in cluster.names))
    wait_for("descriptors and threads as before", lambda: state(cluster) == before)
    for pid, was in memory.items():
        assert resident(pid) < was + (4 << 20), "memory grows"
    assert cluster.files() == []
    for name in cluster.names:
        spool = [f for where, _, files in os.walk(cluster.path(name)) for f in files if os.path.getsize(os.path.join(where, f)) > 4096]
        assert spool == [], "acknowledged results leave the spool"


def test_two_hundred_phases_in_one_run_do_not_grow(cluster):
    job = {**PHASES, "repeat": 10}
    status, results, done = cluster.run(job, timeout=200)
    assert status == 0, done.stderr
    assert len(results["phases"]) == 200
