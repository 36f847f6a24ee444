"""Caches before a phase: what the kernel holds of the files is gone when the nodes wait at the barrier, seen from outside; who may not is told why."""
import glob
import json
import os
import shutil
import socket
import struct
import time

import pytest
from cluster import Cluster, program, wait_for
from loopvolume import LoopVolume, cached_bytes, missing
from roothelper import RootHelper

SIZE = 4 << 20
WRITE = {"kind": "write", "file_size": "4MiB", "record_size": "64KiB"}
READ = {**WRITE, "kind": "read", "pause": "4s"}

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="the helper is root's")


def data_files(cluster):
    return glob.glob(os.path.join(cluster.volume, ".lockstep-*", "n*", "data*"))


def cached_while_resting(cluster, job, ready=lambda: lambda: True):
    """As cached_in_one_run, for a run in which the phase began at once: a second attempt does not rest again."""
    for _ in range(6):
        cached, results, shown = cached_in_one_run(cluster, job, ready())
        if not results["phases"][-1]["attempts"]:
            return cached, results, shown
    pytest.skip("no phase begins in its first attempt on this machine now")


def cached_in_one_run(cluster, job, ready):
    """Runs the job, whose last phase rests before it begins; the least that was cached of its files then, and the results.

    ready: when looking may begin; whoever looks has files open, and would keep a volume from being unmounted."""
    run = cluster.start_run(job)
    try:
        def resting():
            done = cluster.cli("runs", "--json", "--limit", "1")
            row = json.loads(done.stdout)[0] if done.returncode == 0 and json.loads(done.stdout) else {}
            return run.poll() is not None or (row.get("phases_done") == 1 and row.get("state") == "arming")
        wait_for("the rest before the phase", resting, 60)
        wait_for("the caches to be empty", lambda: ready() or run.poll() is not None, 60)
        found, until = [], time.monotonic() + 3
        while time.monotonic() < until and run.poll() is None:
            held = [cached_bytes(path) for path in data_files(cluster)]
            if held:
                found.append(sum(held))
        shown, complaint = run.communicate(timeout=120)
    finally:
        run.poll() is None and run.kill()
    assert run.returncode == 0, shown + complaint
    with open(cluster.path("out.json"), encoding="utf-8") as f:
        return min(found), json.load(f), shown


def watch(cluster):
    """The events of the present run, as an operator gets them."""
    def frame(message):
        text = json.dumps(message).encode()
        return struct.pack(">I", len(text)) + text
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(cluster.path("lockstepd.sock"))
        s.sendall(frame({"type": "hello", "protocol": 1, "version": "0", "build": "0", "name": "test"}) + frame({"type": "watch"}))
        stream, events = s.makefile("rb"), []
        while not events or not events[-1].get("end"):
            head = stream.read(4)
            assert len(head) == 4, events
            message = json.loads(stream.read(struct.unpack(">I", head)[0]))
            if message["type"] == "run-event":
                events.append(message)
        return events


@pytest.fixture
def cached_here(folder):
    path = os.path.join(folder, "probe")
    with open(path, "wb") as f:
        f.write(b"x" * SIZE)
    if cached_bytes(path) == 0:
        pytest.skip("files are not cached here")


def test_nothing_by_default(cached_here):
    with Cluster(nodes=2) as cluster:
        cluster.start()
        cached, results, _ = cached_while_resting(cluster, {"phases": [WRITE, READ]})
    assert cached > SIZE, "nobody emptied them; a kernel that reclaims idle pages by itself (DAMON) takes a few"
    assert [p["spec"]["caches"] for p in results["phases"]] == ["none", "none"]


def test_fadvise_needs_nobody(cached_here):
    with Cluster(nodes=2) as cluster:
        cluster.start()
        cached, results, shown = cached_while_resting(cluster, {"caches": "fadvise", "phases": [{**WRITE, "caches": "none"}, READ]})
        assert cached == 0
        assert [p["spec"]["caches"] for p in results["phases"]] == ["none", "fadvise"]
        assert "caches of its files emptied before" in " ".join(shown.split())
        # a comparison names it
        run = cluster.path("with.json")
        shutil.copy(cluster.path("out.json"), run)
        status, _, done = cluster.run({"phases": [WRITE, {**READ, "pause": "0s"}]})
        assert status == 0, done.stderr
        compared = cluster.cli("compare", run, cluster.path("out.json")).stdout
        assert "caches differs" in compared and "fadvise" in compared and "none" in compared


@pytest.mark.parametrize("layout", ["node", "shared", "interleaved"])
def test_fadvise_in_each_layout_and_on_the_files_of_others(cached_here, layout):
    with Cluster(nodes=2) as cluster:
        cluster.start()
        phase = {"file_size": "4MiB", "record_size": "64KiB", "layout": layout, "caches": "fadvise"}
        status, results, done = cluster.run({"workers": 2, "phases": [
            {"kind": "write", **phase}, {"kind": "read", **phase, "verify": True}, {"kind": "read", **phase, "shift": 1}]})
        assert status == 0, done.stdout + done.stderr
        assert all(p["state"] == "done" for p in results["phases"])
        assert cluster.files() == []


def test_an_agent_that_does_not_allow_it_names_the_key():
    with Cluster(nodes=1, settings={"node1": {"allow_fadvise": "no"}}) as cluster:
        cluster.start()
        for how, key in (("fadvise", "allow_fadvise"), ("drop", "allow_drop_caches"), ("remount", "allow_remount")):
            status, _, done = cluster.run({"phases": [{**WRITE, "caches": how}]})
            assert status == 3 and key in done.stderr and "agent.conf" in done.stderr, done.stderr
            dry = cluster.cli("run", cluster.path("job.json"), "--dry-run")
            assert f"caches {how}: {key}" in " ".join(dry.stdout.split()), dry.stdout + dry.stderr
        assert cluster.files() == []


@root_only
def test_a_helper_that_is_not_there_or_does_not_allow_it_is_named(folder):
    with RootHelper(folder, []) as helper:
        settings = {"node1": {"allow_drop_caches": "yes", "allow_remount": "yes", "helper": helper.socket}}
        with Cluster(nodes=1, settings=settings) as cluster:
            cluster.start()
            status, _, done = cluster.run({"phases": [{**WRITE, "caches": "drop"}]})
            assert status == 3 and '"drop_caches" in helper.conf' in done.stderr
            status, _, done = cluster.run({"phases": [{**WRITE, "caches": "remount"}]})
            assert status == 3 and '"remount" in helper.conf' in done.stderr
            wait_for("the runner to clean up", lambda: cluster.files() == [])
            helper.close()
            os.unlink(helper.socket)
            helper.close = lambda: None
            status, _, done = cluster.run({"phases": [{**WRITE, "caches": "drop"}]})
            assert status == 3 and helper.socket in done.stderr and "No such file" in done.stderr


@root_only
@pytest.mark.skipif(not os.access("/proc/sys/vm/drop_caches", os.W_OK), reason="no right to drop caches here")
def test_drop_by_the_root_helper(folder, cached_here):
    with RootHelper(folder, ["drop_caches = yes"]) as helper:
        settings = {f"node{i}": {"allow_drop_caches": "yes", "helper": helper.socket} for i in (1, 2)}
        with Cluster(nodes=2, settings=settings) as cluster:
            cluster.start()
            cached, results, shown = cached_while_resting(cluster, {"phases": [WRITE, {**READ, "caches": "drop"}]})
            assert cached == 0
            assert [p["spec"]["caches"] for p in results["phases"]] == ["none", "drop"]
            assert "all caches of the nodes dropped before" in " ".join(shown.split())
            # emptying is no part of what is measured: the phase's time is that of its reads
            assert results["phases"][1]["duration_ns"] < 2e9 or not results["phases"][1]["duration_ns"]
        assert helper.said().count("caches dropped") >= 2


@root_only
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
class TestRemount:
    def test_the_volume_is_mounted_anew(self, folder, cached_here):
        with LoopVolume(folder) as volume, RootHelper(os.path.join(folder, "h"), [f"remount = {volume.path}", f"fstab = {volume.fstab}"]) as helper:
            settings = {"node1": {"allow_remount": "yes", "helper": helper.socket}}
            with Cluster(nodes=1, volume=volume.path, settings=settings) as cluster:
                cluster.start()

                def mounted_anew():
                    before = helper.said().count("outcome=ok")
                    return lambda: helper.said().count("outcome=ok") > before

                job = {"caches": "remount", "workers": 2, "abort_if": {"free_space": "1KiB"},
                       "phases": [{**WRITE, "caches": "none"}, {**READ, "verify": True, "pause": "12s"}]}
                cached, results, shown = cached_while_resting(cluster, job, mounted_anew)
                assert cached == 0
                assert results["phases"][1]["state"] == "done" and "volume mounted anew before" in " ".join(shown.split())
                # each kind of phase lets go of the volume and finds its files again
                kinds = [{"kind": k, "files": 50, "dirs": d} for k, d in (("create", "private"), ("stat", "private"), ("setxattr", "shared"),
                                                                         ("readdir", "shared"), ("unlink", "private"))]
                kinds += [{"kind": "random-write", "file_size": "1MiB", "record_size": "4KiB", "files_per_worker": 8},
                          {"kind": "bonnie-create", "files": 20}, {"kind": "bonnie-stat", "files": 20}]
                status, results, done = cluster.run({"caches": "remount", "phases": kinds})
                assert status == 0, done.stdout + done.stderr
                assert [p["state"] for p in results["phases"]] == ["done"] * len(kinds)
                assert cluster.files() == []
            assert helper.said().count("outcome=ok") >= 1 + len(kinds)  # an attempt that is void empties them again

    def test_a_volume_in_use_stays_and_the_run_says_why(self, folder):
        with LoopVolume(folder) as volume, RootHelper(os.path.join(folder, "h"), [f"remount = {volume.path}", f"fstab = {volume.fstab}"]) as helper:
            settings = {"node1": {"allow_remount": "yes", "helper": helper.socket}}
            with Cluster(nodes=1, volume=volume.path, settings=settings) as cluster:
                cluster.start()
                with open(os.path.join(volume.path, "somebody"), "wb"):
                    status, _, done = cluster.run({"phases": [{**WRITE, "caches": "remount"}]})
                assert status == 1 and "caches: remount:" in done.stderr and "busy" in done.stderr
                assert len(volume.mounts()) == 1
                os.unlink(os.path.join(volume.path, "somebody"))
                assert cluster.files() == []

    def test_an_abort_while_it_is_unmounted_leaves_nothing(self, folder):
        """The helper is slow (umount waits for a lock of the test's): the operator aborts meanwhile."""
        slow = os.path.join(folder, "slow")
        with open(slow, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nwhile [ ! -e {folder}/go ]; do sleep 0.05; done\nexec \"$@\"\n")
        os.chmod(slow, 0o755)
        with LoopVolume(folder) as volume, RootHelper(os.path.join(folder, "h"), [f"remount = {volume.path}", f"fstab = {volume.fstab}"]) as helper:
            settings = {"node1": {"allow_remount": "yes", "helper": helper.socket}}
            with Cluster(nodes=1, volume=volume.path, settings=settings) as cluster:
                cluster.start()
                go = os.path.join(folder, "go")
                open(go, "wb").close()
                helper.wrap = [slow]
                run = cluster.start_run({"phases": [{**WRITE, "caches": "remount"}]})
                wait_for("the preflight", lambda: len(helper.started) >= 1)
                os.unlink(go)
                wait_for("arming", lambda: "phase" in cluster.log("node1") or run.poll() is not None or data_files(cluster), 20)
                time.sleep(0.5)
                cluster.cli("abort", "last")
                open(go, "wb").close()
                run.communicate(timeout=60)
                wait_for("clean", lambda: len(volume.mounts()) == 1 and cluster.files() == [], 30)


@root_only
class TestHeartbeat:
    REGION = "0C4B1A2F3D5E"

    def sys(self, folder, age_ms, threshold=31):
        region = os.path.join(folder, "sys", "kernel", "debug", "o2hb", self.REGION)
        beat = os.path.join(folder, "sys", "kernel", "config", "cluster", "lab", "heartbeat")
        for where, name, value in ((region, "elapsed_time_in_ms", age_ms), (beat, "dead_threshold", threshold)):
            os.makedirs(where, exist_ok=True)
            with open(os.path.join(where, "new"), "w", encoding="utf-8") as f:
                f.write(f"{value}\n")
            os.rename(os.path.join(where, "new"), os.path.join(where, name))

    def cluster(self, helper, **more):
        return Cluster(nodes=2, settings={"node1": {"watch_heartbeat": "yes", "helper": helper.socket, **more}})

    def test_the_load_stops_at_half_of_the_dead_age(self, folder):
        self.sys(folder, 1200)
        with RootHelper(os.path.join(folder, "h"), ["heartbeat = yes", f"sys = {folder}/sys"]) as helper, self.cluster(helper) as cluster:
            cluster.start()
            run = cluster.start_run({"phases": [{**WRITE, "time": "10s"}]})
            wait_for("load", lambda: any(r.get("state") == "running" for r in json.loads(cluster.cli("runs", "--json").stdout or "[]")), 30)
            time.sleep(1.5)
            assert run.poll() is None
            self.sys(folder, 30100)
            shown, complaint = run.communicate(timeout=50)
            assert run.returncode == 1, shown + complaint
            assert "o2cb's heartbeat in region " + self.REGION in complaint + shown
            with open(cluster.path("out.json"), encoding="utf-8") as f:
                results = json.load(f)
            assert "fences itself" in json.dumps(results)
            assert "the load is stopped" in cluster.log("node1") and self.REGION in cluster.log("node1")
            assert "the load is stopped" not in cluster.log("node2")

    def test_abort_if_its_age(self, folder):
        self.sys(folder, 1200)
        job = {"abort_if": {"heartbeat_age": "5s"}, "nodes": ["node1"], "phases": [{**WRITE, "time": "40s"}]}
        with RootHelper(os.path.join(folder, "h"), ["heartbeat = yes", f"sys = {folder}/sys"]) as helper, self.cluster(helper) as cluster:
            cluster.start()
            # whoever does not watch refuses
            status, _, done = cluster.run({**job, "nodes": ["node1", "node2"]})
            assert status == 3 and "watch_heartbeat" in done.stderr
            run = cluster.start_run(job)
            wait_for("load", lambda: any(r.get("state") == "running" for r in json.loads(cluster.cli("runs", "--json").stdout or "[]")), 30)
            self.sys(folder, 7000)
            shown, complaint = run.communicate(timeout=35)
            assert run.returncode == 1, shown + complaint
            with open(cluster.path("out.json"), encoding="utf-8") as f:
                reason = json.load(f)["run"]["reason"]
            assert "abort_if: node node1" in reason and "heartbeat_age is 5.00 s" in reason
            # a helper that cannot read it refuses the run
            helper.write(["heartbeat = no"])
            status, _, done = cluster.run(job)
            assert status == 3 and "heartbeat of helper.conf is no" in done.stderr

    def test_the_live_view_shows_it(self, folder):
        self.sys(folder, 1200)
        with RootHelper(os.path.join(folder, "h"), ["heartbeat = yes", f"sys = {folder}/sys"]) as helper, self.cluster(helper) as cluster:
            cluster.start()
            run = cluster.start_run({"phases": [{**WRITE, "time": "6s"}]})
            wait_for("load", lambda: any(r.get("state") == "running" for r in json.loads(cluster.cli("runs", "--json").stdout or "[]")), 30)
            nodes = [n for event in watch(cluster) for n in event.get("nodes", [])]
            run.communicate(timeout=60)
            ages = [n["heartbeat_age_ns"] for n in nodes if n["node"] == "node1" and "heartbeat_age_ns" in n]
            assert ages and all(1.2e9 <= age < 20e9 for age in ages)
            assert not any("heartbeat_age_ns" in n for n in nodes if n["node"] == "node2")


class TestFreeSpace:
    def test_abort_if_less_is_free(self):
        with Cluster(nodes=2) as cluster:
            cluster.start()
            free = os.statvfs(cluster.volume)
            status, results, done = cluster.run({"abort_if": {"free_space": "1KiB"}, "phases": [{**WRITE, "time": "2500ms"}]})
            assert status == 0, done.stderr
            limit = f"{(free.f_bavail * free.f_frsize >> 30) + 1024}GiB"
            status, results, done = cluster.run({"abort_if": {"free_space": limit}, "phases": [{**WRITE, "time": "30s"}]})
            assert status == 1, done.stdout + done.stderr
            assert results["run"]["state"] == "aborted" and "free_space is" in results["run"]["reason"]
            assert cluster.files() == []


def test_helper_is_one_of_the_programs():
    assert os.path.exists(program("lockstep-helper"))
