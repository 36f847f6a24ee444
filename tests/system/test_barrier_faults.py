"""The start when something is late, fails or is cut: never does a part of the nodes start and count."""
import pytest

import faultyvolume
from cluster import Cluster, wait_for
from faultyvolume import FaultyVolume
from proxy import DelayProxy
from test_barrier import ALTERNATING, check_against_truth
from truth import Trace, phase_starts

SIX = {**ALTERNATING, "phases": ALTERNATING["phases"][:6]}


class Wire:
    """
    What passes to one agent, told apart by size alone, as TLS hides the rest: at a barrier come pings of 69 to 71 bytes, then go with
    about 166, then commit with about 119 (bytes of one record). on: what happens to these two.
    """

    def __init__(self, go=None, commit=None):
        self.on = {"go": go, "commit": commit}
        self.pings, self.expect, self.seen = 0, None, []

    def __call__(self, direction, data):
        size = len(data)
        if direction == "up":
            return None
        if 68 <= size <= 72:
            self.pings += 1
        elif self.pings >= 3 and 155 <= size <= 185:
            return self.found("go", "commit")
        elif self.expect == "commit" and 112 <= size <= 124:
            return self.found("commit", None)
        return None

    def found(self, what, following):
        self.pings, self.expect = 0, following
        self.seen.append(what)
        return self.on[what]() if self.on[what] else None


def all_started_together(results, bytes_per_node):
    """Each phase has a result of each node, all of whose workers began within what is claimed."""
    for phase in results["phases"]:
        assert phase["state"] == "done" and len(phase["nodes"]) == 3
        firsts = [w["first_op_ns"] for n in phase["nodes"] for w in n["workers"]]
        assert None not in firsts
        assert max(firsts) - min(firsts) <= phase["start_skew_ns"] + phase["start_skew_uncertainty_ns"]
        if bytes_per_node:
            assert [n["bytes"] for n in phase["nodes"]] == [bytes_per_node] * 3, "nothing is done twice, nothing is missing"


def run_behind(wire, job, proxy_of=None, **delays):
    """A run of three nodes, the third behind a proxy; returns (exit status, results, its events)."""
    with Cluster() as cluster:
        cluster.start_daemon()
        with DelayProxy(cluster.address, pick=wire, **delays) as proxy:
            if proxy_of is not None:
                proxy_of.append(proxy)
            cluster.settings = {"node3": {"coordinator": proxy.address}}
            for node in cluster.names:
                cluster.start_agent(node)
            cluster.wait_nodes(cluster.names)
            with Trace(["pread64", "pwrite64"]) as trace:
                status, results, done = cluster.run(job)
                events = trace.events()
            assert status == 0, done.stderr
            wait_for("no file left", lambda: cluster.files() == [])
            cluster.stop()
    return results, events


def check_often(make, job, bytes_per_node, **delays):
    """The same; where void attempts mixed what the kernel saw, again, as on a busy machine they are legal."""
    for _ in range(3):
        results, events = run_behind(make(), job, **delays)
        all_started_together(results, bytes_per_node)
        if phase_starts(results, events):
            check_against_truth(results, events)
            return results
    pytest.skip("this machine is too busy: attempts were void in each of three runs")


def test_only_go_is_late(tracefs):
    """Every go to node3 comes 12 ms late: attempts are void until the instant lies far enough ahead; then it is kept."""
    wires = []

    def make():
        wires.append(Wire(go=lambda: 0.012))
        return wires[-1]
    check_often(make, SIX, 256 << 10)
    assert wires[-1].seen.count("go") >= 6, "the proxy knows a go when it sees one"


@pytest.mark.parametrize("what", ["go", "commit"])
def test_link_cut_at(tracefs, what):
    """The link goes with the third go (commit) in hand: that attempt is void, named, and tried again; all start together, once."""
    proxies, cuts = [], []

    def cut():
        if len(cuts) < 3:
            cuts.append(what)
        if len(cuts) == 3 and cuts[-1] == what:
            cuts.append("cut")
            proxies[0].abort_all()
    wire = Wire(**{what: cut})
    results, events = run_behind(wire, SIX, proxies)
    assert "cut" in cuts
    all_started_together(results, 256 << 10)
    voids = [a["reason"] for p in results["phases"] for a in p["attempts"]]
    assert any("node3" in reason or "set" in reason for reason in voids), voids
    if phase_starts(results, events):
        check_against_truth(results, events)


def every(n, seconds):
    """Each n-th chunk in either direction is held for so long, in order with those behind it."""
    count = [0]

    def pick(direction, data):
        count[0] += 1
        return seconds if count[0] % n == 0 else None
    return pick


@pytest.mark.parametrize("name,pick,delays", [
    ("3 s now and then", lambda: every(80, 3.0), {}),
    ("100 ms with 80 ms of jitter", lambda: None, {"up": (0.01, 0.09), "down": (0.01, 0.09)}),
], ids=["now-and-then", "jitter"])
def test_delays_do_not_start_a_phase_apart(tracefs, name, pick, delays):
    check_often(pick, {**SIX, "phases": SIX["phases"][:4]}, 256 << 10, **delays)


def test_one_direction_is_uncertainty_and_a_warning(tracefs):
    """A constant delay of one direction cannot be told from a clock that is off: the claim covers it, and the report says so."""
    timed = [{"kind": kind, "file_size": "256KiB", "record_size": "4KiB", "time": "600ms", "rate_ops": 200, "random_repeats": True}
             for kind in ("random-read", "random-write")]
    phases = [ALTERNATING["phases"][0], *timed]
    results = check_often(lambda: None, {"workers": 1, "phases": phases}, None, down=(0.04, 0.04))
    for phase in results["phases"][1:]:
        assert phase["start_skew_uncertainty_ns"] > 19_000_000
        assert any("clock" in w for w in phase["warnings"]), phase["warnings"]


@pytest.fixture
def faulty():
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    with Cluster() as cluster, FaultyVolume(cluster.volume) as volume:
        cluster.start()
        yield cluster, volume


@pytest.mark.parametrize("call,told", [("create", "open"), ("pwrite", "pwrite"), ("fsync", "fsync")])
def test_a_worker_that_fails_in_its_set_up_cancels_the_barrier(faulty, call, told):
    """Nobody starts; node, worker, call and errno are named; nothing is left."""
    cluster, volume = faulty
    volume.fail(call, "EACCES", name="*/n1/data.1")
    volume.hold("pread", name="*/data.*")
    status, results, done = cluster.run({"workers": 2, "short_phases": True, "phases": [
        {"kind": "random-read", "file_size": "128KiB", "record_size": "4KiB"}]})
    assert status == 1
    run = results["run"]
    assert run["state"] == "failed" and results["phases"] == []
    for word in ("node2", "n1", told, "Permission denied"):
        assert word in run["reason"], run["reason"]
    assert volume.held() == [], "a worker has started"
    volume.clear()
    wait_for("no file left", lambda: cluster.files() == [])


def test_all_wait_for_who_is_armed_late(faulty, tracefs):
    cluster, volume = faulty
    volume.delay("pwrite", 400, name="*/n1/*", count=1)
    with Trace(["pread64"]) as trace:
        status, results, done = cluster.run({"workers": 1, "short_phases": True, "phases": [
            {"kind": "random-read", "file_size": "64KiB", "record_size": "4KiB"}]})
        events = trace.events()
    assert status == 0, done.stderr
    all_started_together(results, 64 << 10)
    if not results["phases"][0]["attempts"]:
        firsts = {tid: min(at for at, other, _ in events if other == tid) for _, tid, _ in events}
        assert len(firsts) == 3 and max(firsts.values()) - min(firsts.values()) < 200_000_000
