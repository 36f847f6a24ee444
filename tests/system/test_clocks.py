"""Clocks that step, drift and stand still under whole programs. The same in virtual time, thousands of times: tests/unit/coordinator/daemon/test_start_sim.c"""
import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest

from cluster import BUILD, Cluster, sanitized, wait_for
from test_barrier import ALTERNATING, check_against_truth, run_traced
from test_faults import LONG, ended, moving
from truth import Trace, phase_starts

SEVEN = {**ALTERNATING, "phases": ALTERNATING["phases"][:7]}


# --- wall clocks ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def fake():
    """The words before a program whose wall clock is faked; its monotonic one is left alone."""
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib64/faketime/libfaketimeMT.so.1")), None)
    if library is None or not shutil.which("faketime"):
        pytest.skip("no faketime")
    if sanitized():
        pytest.skip("a sanitizer's library must come first")
    return ["env", "DONT_FAKE_MONOTONIC=1", "FAKETIME_NO_CACHE=1", f"LD_PRELOAD={library}"]


def check_run(results):
    for phase in results["phases"]:
        assert phase["state"] == "done" and len(phase["nodes"]) == 3
        assert phase["start_skew_ns"] < 100_000_000 and phase["start_skew_uncertainty_ns"] < 100_000_000
    second = results["phases"][1]
    assert all(abs(w["end_ns"] - 4_000_000_000) < 500_000_000 for n in second["nodes"] for w in n["workers"])
    assert not any("stepped" in w or "clock" in w for w in second["warnings"]), second["warnings"]


@pytest.mark.parametrize("who", ["one node", "the coordinator", "all"])
def test_wall_clocks_step_by_hours_in_both_directions_in_a_run(fake, tmp_path, who):
    step = tmp_path / "step"
    step.write_text("+0\n")
    stepped = [*fake, f"FAKETIME_TIMESTAMP_FILE={step}"]
    nodes = {"one node": ["node2"], "the coordinator": [], "all": ["node1", "node2", "node3"]}[who]
    with Cluster(wrap={name: stepped for name in nodes}, daemon_wrap=[] if who == "one node" else stepped) as cluster:
        cluster.start()
        run = cluster.start_run(LONG)
        moving(cluster)
        for offset in ("+9h", "-11h"):
            step.write_text(offset + "\n")
            time.sleep(0.5)
        status, out, err = ended(run)
        assert status == 0, err
        seen = cluster.log("node2" if nodes else "lockstepd")
        days = {line[:13] for line in seen.splitlines() if re.match(r"\d{4}-\d\d-\d\dT\d\d:", line)}
        assert len(days) >= 2, f"the clock did not step: {seen}"
        results = cluster.export()
        check_run(results)
        assert results["run"]["duration_ns"] < 120 * 10**9, "how long it took rests on no wall clock"
        assert cluster.files() == []


def test_wall_clocks_that_drift_by_500_ppm(fake):
    with Cluster(wrap={"node1": [*fake, "FAKETIME=+0 x1.0005"], "node3": [*fake, "FAKETIME=+3h x0.9995"]}) as cluster:
        cluster.start()
        run = cluster.start_run(LONG)
        status, out, err = ended(run)
        assert status == 0, err
        check_run(cluster.export())


# --- monotonic clocks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(tracefs):
    """Makes the words before a program whose monotonic clock runs so many ppm fast; the second thing is the file of its step."""
    if sanitized():
        pytest.skip("a sanitizer's library must come first")
    library = os.path.join(BUILD, "tests", "support", "preload_clock.so")
    if not os.path.exists(library):
        pytest.skip("tests/support/preload_clock.so is not built (make tools)")

    def make(ppm, step):
        step.write_bytes(struct.pack("q", 0))
        return ["env", f"LD_PRELOAD={library}", f"LS_CLOCK_BASE={time.clock_gettime_ns(time.CLOCK_MONOTONIC)}", f"LS_CLOCK_PPM={ppm}",
                f"LS_CLOCK_STEP={step}"]
    return make


def test_monotonic_clocks_that_drift_by_500_ppm(clock, tmp_path):
    """The claimed skew is the kernel's, to within its stated uncertainty, also when clocks have run apart for a while."""
    with Cluster(wrap={"node2": clock(480, tmp_path / "a"), "node3": clock(-480, tmp_path / "b")},
                 settings={"lockstepd": {"heartbeat": "1s"}}) as cluster:
        cluster.start()

        def offsets():
            return {n["name"]: n["clock"]["offset_ns"] for n in cluster.nodes()}
        before = offsets()
        wait_for("the clocks have run apart", lambda: offsets()["node2"] - before["node2"] > 4_000_000 and
                 offsets()["node3"] - before["node3"] < -4_000_000, 60, every=1)
        results, events = run_traced(cluster, SEVEN)
        check_against_truth(results, events)


def stand_still(cluster, name, step, seconds):
    """What a suspended machine is for the others: all of it stops, its clock too, and goes on where it stood."""
    pids = [p for p in cluster.agent_tree(name)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    time.sleep(seconds)
    with open(step, "r+b") as f:
        f.write(struct.pack("q", began - time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_a_suspended_machine_is_uncertainty_and_a_warning(clock, tmp_path):
    """
    Its clock stood still for two seconds in a phase: nobody can tell any more when it began by the clock of the others. The claim covers
    the truth, the report says why it is so wide, results are whole.
    """
    phases = [{"kind": kind, "file_size": "256KiB", "record_size": "4KiB", "time": "6s", "rate_ops": 200, "random_repeats": True}
              for kind in ("random-read", "random-write")]
    with Cluster(wrap={"node3": clock(0, tmp_path / "step")}, settings={"lockstepd": {"heartbeat": "1s", "log_level": "debug"}}) as cluster:
        cluster.start()
        with Trace(["pread64", "pwrite64"]) as trace:
            run = cluster.start_run({"workers": 1, "short_phases": True, "grace": "20s", "phases": phases})
            wait_for("the second phase", lambda: re.search(r"-> running \(.*phase=1 ", cluster.log("lockstepd")), 60)
            time.sleep(1)
            thread = threading.Thread(target=stand_still, args=(cluster, "node3", tmp_path / "step", 2.0))
            thread.start()
            thread.join()
            status, out, err = ended(run)
            events = trace.events()
        assert status == 0, err
        results = cluster.export()
        first, second = results["phases"]
        assert [p["state"] for p in results["phases"]] == ["done"] * 2
        assert first["start_skew_uncertainty_ns"] < 100_000_000
        assert second["start_skew_uncertainty_ns"] > 900_000_000
        assert any("node3" in w and "suspended" in w for w in second["warnings"]), second["warnings"]
        if phase_starts(results, events):
            check_against_truth(results, events)
