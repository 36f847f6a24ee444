"""abort_if: a job that ends itself when operations take too long, on a volume whose calls take as long as the test says."""
import json

import faultyvolume
import pytest
from cluster import Cluster, wait_for

WRITES = {"kind": "write", "file_size": "1MiB", "record_size": "64KiB", "time": "20s"}


@pytest.mark.skipif(faultyvolume.missing() is not None, reason=str(faultyvolume.missing()))
def test_a_call_that_does_not_return_ends_the_run(tmp_path):
    with faultyvolume.FaultyVolume(tmp_path / "mnt") as volume, Cluster(nodes=2, volume=volume.mountpoint) as cluster:
        cluster.start()
        run = cluster.start_run({"abort_if": {"latency_max": "2s"}, "phases": [WRITES]})
        wait_for("the phase at work", lambda: volume.calls().get("pwrite", 0) > 20)
        volume.hold("pwrite", name="*/data.*")
        volume.wait_held("pwrite")
        # what is held returns once the coordinator has decided, as workers end their operation before they leave
        wait_for("the decision", lambda: "abort_if" in cluster.log("lockstepd"), 30)
        volume.clear()
        volume.release()
        shown, complaint = run.communicate(timeout=60)
        assert run.returncode == 1, shown + complaint
        with open(cluster.path("out.json"), encoding="utf-8") as f:
            results = json.load(f)
    assert results["run"]["state"] == "aborted"
    assert "abort_if: node" in results["run"]["reason"] and "latency_max is 2.00 s" in results["run"]["reason"]


@pytest.mark.parametrize("key", ["latency_max", "latency_p99"])
def test_limits_that_are_passed_and_not(key):
    with Cluster(nodes=2) as cluster:
        cluster.start()
        status, results, done = cluster.run({"abort_if": {key: "1h"}, "phases": [{**WRITES, "time": "1500ms"}]})
        assert status == 0, done.stderr
        assert results["run"]["state"] == "finished"
        status, results, done = cluster.run({"abort_if": {key: "1us"}, "phases": [WRITES]})
        assert status == 1, done.stdout + done.stderr
        assert results["run"]["state"] == "aborted" and f"{key} is 1 us" in results["run"]["reason"].replace("1.00 us", "1 us")
        # what was measured until then is there
        assert results["phases"][0]["state"] == "aborted" and results["phases"][0]["aggregate"]["bytes"] > 0
        assert results["phases"][0]["duration_ns"] < 15e9
