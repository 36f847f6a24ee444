"""A run of 20 phases started 20 times leaves no file, process or descriptor behind."""
import os
import threading

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


def watch(cluster, stop, seen):
    """Descriptors, threads and memory of the daemons and of the runners, five times a second."""
    while not stop.wait(0.2):
        row = {}
        for name, pid in [("lockstepd", cluster.daemon.pid), *((n, cluster.agents[n].pid) for n in cluster.names),
                          *((f"runner of {n}", cluster.runner_pid(n)) for n in cluster.names)]:
            try:
                row[name] = len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")), resident(pid)
            except OSError:
                pass
        seen.append(row)


def test_phases_in_one_run_do_not_grow(cluster):
    """Flat curves from the first quarter of the run to its end. SOAK_PHASES: how many, 200 unless it says so (make test-soak: 2,000)."""
    phases = int(os.environ.get("SOAK_PHASES", "200"))
    stop, seen = threading.Event(), []
    watcher = threading.Thread(target=watch, args=(cluster, stop, seen))
    watcher.start()
    status, results, done = cluster.run({**PHASES, "repeat": phases // len(PHASES["phases"])}, timeout=200 + phases)
    stop.set()
    watcher.join()
    assert status == 0, done.stderr
    assert len(results["phases"]) == phases
    # A runner has a thread more now and then, that arms or flushes. Only while it ran: the results document, made at the end, is as large as the run.
    seen = [r for r in seen if all(f"runner of {n}" in r for n in cluster.names)]
    early, late = seen[len(seen) // 4:len(seen) // 2], seen[len(seen) // 2:-1]
    assert early and late
    for name in late[0]:
        before, after = [r[name] for r in early], [r[name] for r in late]
        assert max(n[0] for n in after) <= max(n[0] for n in before) + 2, f"{name}: descriptors grow"
        assert max(n[1] for n in after) <= max(n[1] for n in before) + 2, f"{name}: threads grow"
        assert max(n[2] for n in after) < max(n[2] for n in before) + (8 << 20), f"{name}: memory grows"
