"""Phases that end once they are steady: on all nodes at one instant, as the kernel sees it, or at their bound, and the report says which."""
import os

from cluster import Cluster, wait_for
from truth import Trace

HOURS = 3600
FILE = {"file_size": "4MiB", "record_size": "4KiB"}


def only_phase(results):
    assert results["run"]["state"] == "finished", results["run"]["reason"]
    return results["phases"][0]


def workers_of(cluster):
    """Thread ids of all workers; nothing before each node has one. Other tests' workers may be on this machine, too."""
    found = []
    for name in cluster.names:
        pid = cluster.runner_pid(name)
        tasks = os.listdir(f"/proc/{pid}/task") if pid else []
        mine = []
        for tid in tasks:
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
                if f.read().startswith("ls-worker"):
                    mine.append(int(tid))
        if not mine:
            return []
        found += mine
    return found


def test_steady_ends_all_nodes_at_one_instant_long_before_the_bound(root, tracefs):
    """The clock of one node is hours ahead: an instant that was not translated would never come there, or be past at once."""
    job = {"short_phases": True, "workers": 1, "phases": [
        {"kind": "random-read", "rate_ops": 200, "time": "60s", "warmup": "1s", "steady_window": "5s", "steady_range": 60, "steady_slope": 60, **FILE}]}
    with Cluster(wrap={"node2": ["unshare", "-T", "--monotonic", str(5 * HOURS), "--fork", "--kill-child"]}) as cluster:
        cluster.start()
        with Trace(["pread64"]) as trace:
            run = cluster.start_run(job)
            workers = wait_for("a worker on each node", lambda: workers_of(cluster))
            _, err = run.communicate(timeout=100)
            events = trace.events()
        results = cluster.export()
        text = cluster.cli("report", check=True).stdout
        table = cluster.cli("report", "--format", "csv", check=True).stdout
    assert run.returncode == 0, err
    phase = only_phase(results)
    steady = phase["steady"]
    assert steady["reached"] and steady["why_not"] is None, steady
    assert len(steady["rates"]) == 5 and steady["range_percent"] <= 60 and abs(steady["slope_percent"]) <= 60
    assert steady["window_end_ns"] >= 6 * 10**9 and steady["end_ns"] >= steady["window_end_ns"]
    # Three nodes at 200 operations of 4 KiB a second: what they were asked for is what the window shows.
    assert abs(steady["mean"] - 3 * 200 * 4096) < 0.2 * 3 * 200 * 4096
    assert not any("did not become steady" in w for w in phase["warnings"])

    # What the kernel saw: all stop at one instant, the told one, counted from the common start.
    threads = {}
    for at, tid, _ in events:
        if tid in workers:
            threads.setdefault(tid, []).append(at)
    assert len(threads) == 3, "one worker a node"
    begin = min(min(t) for t in threads.values())
    last = {tid: max(t) - begin for tid, t in threads.items()}
    assert max(last.values()) < 30 * 10**9, "long before the bound"
    # An operation every 5 ms, and none begins from the instant on; a busy machine lets single ones wait.
    assert max(last.values()) <= steady["end_ns"] + 2 * 10**6, (last, steady)
    assert min(last.values()) >= steady["end_ns"] - 500 * 10**6, (last, steady)
    assert "steady after" in text and "until steady for 5.00 s, at most 1 min" in " ".join(text.split())
    assert ",steady_reached,1,bool" in table


def test_what_never_is_steady_runs_to_its_bound_and_says_so(cluster):
    """An operation every three seconds: intervals of one second are full or empty."""
    status, results, done = cluster.run({"short_phases": True, "workers": 1, "phases": [
        {"kind": "random-read", "think": "3s", "time": "9s", "steady_window": "5s", **FILE}]})
    assert status == 0, done.stderr
    phase = only_phase(results)
    steady = phase["steady"]
    assert not steady["reached"] and steady["end_ns"] is None
    assert steady["why_not"] == "the phase's time was over before"
    assert steady["windows"] >= 1 and steady["range_percent"] > 20
    assert any("did not become steady" in w for w in phase["warnings"]), phase["warnings"]
    for node in phase["nodes"]:
        assert node["ops"] == 3 or node["ops"] == 4, "at 0, 3 and 6 s, and perhaps just before 9 s"
    assert "not steady: the phase's time was over before" in " ".join(cluster.cli("report", check=True).stdout.split())


def test_mixed_reads_and_writes_are_judged_by_operations(cluster):
    status, results, done = cluster.run({"short_phases": True, "workers": 1, "phases": [
        {"kind": "mixed", "rate_ops": 100, "time": "60s", "steady_window": "5s", "steady_range": 60, "steady_slope": 60, **FILE}]})
    assert status == 0, done.stderr
    phase = only_phase(results)
    steady = phase["steady"]
    assert steady["reached"] and steady["operations"]
    assert abs(steady["mean"] - 300) < 60
    # Never added up: by operation, and nowhere else in the document.
    for of in (phase["aggregate"], *phase["nodes"]):
        assert of["bytes"] is None and of["ops"] is None
        assert of["by_op"]["read"]["ops"] > 0 and of["by_op"]["write"]["ops"] > 0
    for name in ("last_done", "all_active", "first_done", "sum_of_rates"):
        assert phase["aggregate"][name] == {"bytes_per_s": None, "ops_per_s": None}
    assert all(n["bytes_per_s"] is None and n["ops_per_s"] is None for n in phase["nodes"])


def test_a_restarted_coordinator_lets_the_phase_go_on_to_its_time(cluster):
    run = cluster.start_run({"short_phases": True, "workers": 1, "phases": [
        {"kind": "random-read", "rate_ops": 100, "time": "12s", "steady_window": "10s", "steady_range": 60, "steady_slope": 60, **FILE}]})
    def reading():
        for name in cluster.names:
            pid = cluster.runner_pid(name)
            if pid is None:
                return False
            with open(f"/proc/{pid}/io", encoding="ascii") as f:
                if int(f.read().split("syscr:")[1].split()[0]) < 150:
                    return False
        return True
    wait_for("all runners at work", reading)
    cluster.daemon.kill()
    cluster.daemon.wait()
    run.kill()
    run.communicate()
    cluster.start_daemon()
    cluster.wait_nodes(cluster.names)

    def over():
        results = cluster.export()
        return results if results["run"]["state"] in ("finished", "failed", "aborted") else None
    phase = only_phase(wait_for("the run taken up and ended", over, 60))
    assert not phase["steady"]["reached"]
    assert "restarted" in phase["steady"]["why_not"]
    for node in phase["nodes"]:
        assert 11.5e9 < node["end_ns"] - node["start_ns"] < 12.5e9


def test_keys_are_checked_by_name(cluster):
    for spec, said in (({"steady_window": "4s", "time": "60s"}, "steady_window: at least 5 s"),
                       ({"steady_window": "10s"}, "steady_window: needs time"),
                       ({"steady_window": "10s", "time": "9s"}, "steady_window: longer than time"),
                       ({"steady_window": "10s", "time": "60s", "amount": "1MiB"}, "steady_window: not where the phase ends with its work"),
                       ({"steady_window": "10s", "time": "60s", "steady_range": 0}, "steady_range")):
        status, _, done = cluster.run({"phases": [{"kind": "random-read", **FILE, **spec}]})
        assert status == 2, done.stderr
        assert said in done.stderr and "phases[0]" in done.stderr, done.stderr
