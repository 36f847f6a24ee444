"""A volume that stops answering on one node: who hangs where is told within seconds, and nothing else hangs with it."""
import concurrent.futures
import os
import re
import subprocess
import threading
import time

import pytest

import faultyvolume
from cluster import Cluster, alive, wait_for
from faultyvolume import FaultyVolume

SOON_S = 5.0


def data(kind, **more):
    return {"kind": kind, "file_size": "1MiB", "record_size": "64KiB", "deadline": "4s", **more}


def names(kind, **more):
    return {"kind": kind, "files": 40, "deadline": "4s", **more}


# What is held (on the second node only), in which phase, and how the live view must name it. File: a pattern.
CASES = {
    "pwrite": ({"call": "pwrite", "name": "*/n1/*", "skip": 20}, [data("write")], "pwrite", r"n1/data\.\d"),
    "pread": ({"call": "pread", "name": "*/n1/*", "skip": 20}, [data("write"), data("random-read")], "pread", r"n1/data\.\d"),
    "fsync": ({"call": "fsync", "name": "*/n1/*"}, [data("write", fsync=True)], "fsync", r"n1/data\.\d"),
    "flush": ({"call": "fsync", "name": "*/n1/*"}, [data("write")], "fsync", r"n1/data\.\d"),
    "close": ({"call": "flush", "name": "*/n1/*"}, [data("write")], "close", r"n1/data\.\d"),
    "create": ({"call": "create", "name": "*/n1/*", "skip": 10}, [names("create")], "open", r"n1/.*"),
    "open": ({"call": "open", "name": "*/n1/*", "skip": 10}, [names("create"), names("open-close")], "open", r"n1/.*"),
    "unlink": ({"call": "unlink", "name": "*/n1/*", "skip": 10}, [names("create"), names("delete")], "unlink", r"n1/.*"),
    "getattr": ({"call": "getattr", "name": "*/n1/*", "skip": 200}, [names("create"), names("stat")], "stat|open", r"n1/.*"),
    "layout": ({"call": "pwrite", "name": "*/n1/*"}, [data("random-read")], "pwrite", r"n1/data\.\d"),
}


class Lines:
    """What a process writes, and when."""

    def __init__(self, stream):
        self.stream, self.lines = stream, []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.stream:
            self.lines.append((time.monotonic(), line.rstrip("\n")))

    def find(self, pattern):
        return next((m for m in (re.search(pattern, line) for _, line in list(self.lines)) if m), None)


def seconds(text):
    """A duration as lockstep writes it."""
    value, unit = re.fullmatch(r"([\d.]+) ?(ms|s|min|h)", text).groups()
    return float(value) * {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]


def hung(cluster, name):
    """What lockstep nodes says of runners that hang there."""
    return next((n.get("hung", []) for n in cluster.nodes() if n["name"] == name), [])


def play(case):
    """One run whose second node hangs. Returns what was seen, for the assertions of the tests."""
    rule, phases, _, _ = CASES[case]
    seen = {}
    with Cluster(nodes=2) as cluster, FaultyVolume(cluster.volume) as volume:
        other = cluster.path("other")
        os.makedirs(other)
        for name in cluster.names:
            cluster.settings[name] = {"allow": [cluster.volume, other], "finish_timeout": "2s"}
        cluster.start()
        volume.hold(**rule)
        job = {"workers": 2, "short_phases": True, "path": cluster.volume, "phases": phases}
        run = cluster.popen("run", cluster.job_file(job), "--no-tty", "--json", cluster.path("out.json"))
        lines = Lines(run.stderr)
        told = r"node node2: no progress of \d+ of \d+ workers; worker \d+ has been in (\S+) for ([\d.]+ ?\w+) \(file (\S+), state (\S+)\)"
        seen["told"] = wait_for("a line that names the hung worker", lambda: lines.find(told), 30).groups()
        runner = cluster.runner_pid("node2")
        seen["connected"] = [n["name"] for n in cluster.nodes() if n["connected"]]
        seen["silent"] = max(n["silent_ns"] for n in cluster.nodes()) / 1e9
        run.wait(60)
        seen["status"] = run.returncode
        seen["results"] = cluster.export()
        seen["hung"] = wait_for("the hung runner in the list of nodes", lambda: hung(cluster, "node2"))
        seen["still"] = alive(runner) or os.path.exists(f"/proc/{runner}/task")
        seen["next"] = cluster.run({"path": other, "short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB"}]})[:2]
        volume.release()
        wait_for("the hung runner reaped", lambda: not os.path.exists(f"/proc/{runner}"))
        wait_for("nobody hangs any more", lambda: not hung(cluster, "node2"))
        wait_for("no file left", lambda: cluster.files() == [])
        wait_for("all runners gone", lambda: not any(cluster.runner_pid(n) for n in cluster.names))
        seen["volume"] = cluster.run({"short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB"}]})[0]
    return seen


@pytest.fixture(scope="module")
def played():
    """All cases at once: they do nothing but wait."""
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
        return {case: pool.submit(play, case) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_hung_call(played, case):
    seen = played[case].result()
    _, _, call, file = CASES[case]
    told_call, since, told_file, state = seen["told"]
    assert re.fullmatch(call, told_call) and re.fullmatch(file, told_file) and state in "SD"
    assert seconds(since) < SOON_S
    assert seen["connected"] == ["node1", "node2"] and seen["silent"] < 4
    assert seen["status"] == 1
    run = seen["results"]["run"]
    assert run["state"] == "failed"
    for word in ("node2", told_call, "n1/", "worker"):
        assert word in run["reason"], run["reason"]
    assert seen["still"] and seen["hung"][0]["run"] == run["id"]
    status, results = seen["next"]
    assert status == 0 and any("node2" in w and "hangs" in w for w in results["run"]["warnings"])
    assert seen["volume"] == 0


# --- where no worker is: preflight and cleaning ---

def play_quiet(call, name, phases, waiting, ends):
    """One run in which the second node hangs in a call that no worker makes; returns what the tests look at."""
    with Cluster(nodes=2) as cluster, FaultyVolume(cluster.volume) as volume:
        other = cluster.path("other")
        os.makedirs(other)
        cluster.settings = {n: {"allow": [cluster.volume, other], "prepare_timeout": "6s", "finish_timeout": "6s"} for n in cluster.names}
        cluster.start()
        volume.hold(call, name=name)
        run = cluster.popen("run", cluster.job_file({"short_phases": True, "path": cluster.volume, "phases": phases}), "--no-tty")
        lines = Lines(run.stderr)
        seconds_told = seconds(wait_for("who lets the others wait", lambda: lines.find(waiting + r": no answer for ([\d.]+ ?\w+)"), 30).group(1))
        connected = [n["name"] for n in cluster.nodes() if n["connected"]]
        run.wait(60)
        results = cluster.export()
        stuck = wait_for("the hung runners in the list of nodes", lambda: hung(cluster, "node2"))
        after = cluster.run({"path": other, "short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB"}]})[0]
        volume.clear()
        wait_for("nobody hangs any more", lambda: not hung(cluster, "node2"))
        wait_for("no file left", lambda: cluster.files() == [])
        wait_for("all runners gone", lambda: not any(cluster.runner_pid(n) for n in cluster.names))
        assert seconds_told < SOON_S and connected == ["node1", "node2"] and stuck[0]["run"] == results["run"]["id"] and after == 0
        ends(run.returncode, results["run"])


def refused_in_time(status, run):
    assert status == 3 and run["state"] == "refused" and "node" in run["reason"] and "no answer in time" in run["reason"]


def finished_but_left(status, run):
    assert status == 0 and run["state"] == "finished"
    assert any("node2" in w and ".lockstep-" in w for w in run["warnings"]), run["warnings"]


# A call that hangs keeps its directory locked, as on any file system: the other node may wait behind it.
QUIET = {
    "statfs": ("statfs", ".", [data("write")], r"waiting for (?:node1, )?node2 to look at the volume", refused_in_time),
    "token": ("create", "*/token.node2", [data("write")], r"waiting for (?:node1, )?node2 to look at the volume", refused_in_time),
    "clean": ("unlink", "*/n1/*", [{"kind": "write", "file_size": "64KiB"}], r"waiting for (?:node1, )?node2 to remove the run's files", finished_but_left),
    "rmdir": ("rmdir", "*/n1", [{"kind": "write", "file_size": "64KiB"}], r"waiting for (?:node1, )?node2 to remove the run's files", finished_but_left),
}


@pytest.fixture(scope="module")
def quiet():
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    with concurrent.futures.ThreadPoolExecutor(len(QUIET)) as pool:
        return {case: pool.submit(play_quiet, *QUIET[case]) for case in QUIET}


@pytest.mark.parametrize("case", QUIET)
def test_hung_preflight_and_cleaning(quiet, case):
    quiet[case].result()


def test_frozen_file_system_is_state_d(root):
    """The same with a real block device: fsfreeze makes writers wait uninterruptibly, and SIGKILL does not end them."""
    with Cluster(nodes=2) as cluster:
        image, other = cluster.path("image"), cluster.path("other")
        os.makedirs(other)
        with open(image, "wb") as f:
            f.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        if subprocess.run(["mount", "-o", "loop", image, cluster.volume], check=False).returncode != 0:
            pytest.skip("no loop mounts here")
        frozen = False
        try:
            cluster.settings = {n: {"allow": [cluster.volume, other], "finish_timeout": "2s"} for n in cluster.names}
            cluster.start()
            run = cluster.popen("run", cluster.job_file({"workers": 2, "short_phases": True, "path": cluster.volume, "phases": [
                data("random-write", time="2s", random_repeats=True)]}), "--no-tty", "--json", cluster.path("out.json"))
            lines = Lines(run.stderr)
            wait_for("the phase begins", lambda: lines.find("phase 1 of 1 begins"))
            subprocess.run(["fsfreeze", "-f", cluster.volume], check=True)
            frozen = True
            told = r"node (\w+): no progress of .* has been in (\w+) for ([\d.]+ ?\w+) \(file n\d/data\.\d, state D\)"
            found = wait_for("a line about state D", lambda: lines.find(told))
            assert found.group(2) == "pwrite" and seconds(found.group(3)) < SOON_S
            run.wait(60)
            assert run.returncode == 1 and "pwrite" in cluster.export()["run"]["reason"]
            assert {h["call"] for n in cluster.names for h in hung(cluster, n)} == {"pwrite"}
            assert cluster.run({"path": other, "short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB"}]})[0] == 0
            subprocess.run(["fsfreeze", "-u", cluster.volume], check=True)
            frozen = False
            wait_for("nobody hangs any more", lambda: not any(hung(cluster, n) for n in cluster.names))
            wait_for("no file left", lambda: cluster.files() == [])
        finally:
            if frozen:
                subprocess.run(["fsfreeze", "-u", cluster.volume], check=False)
            wait_for("unmounted", lambda: subprocess.run(["umount", cluster.volume], check=False).returncode == 0)
