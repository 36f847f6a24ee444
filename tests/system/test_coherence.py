"""Phases in which nodes look at what others did: they hold on a sound volume, and each finds the fault that was planted for it."""
import contextlib
import os
import time

import pytest

import faultyvolume
from cluster import Cluster, wait_for
from faultyvolume import FaultyVolume

ROWS = [{"kind": "coherence", "check": c} for c in ("data", "append", "excl", "rename", "unlink", "truncate", "attributes")]
SMALL = {"bytes": "64KiB", "count": 20, "interval": "4ms"}


def job(*phases, **more):
    return {"short_phases": True, "phases": [{**SMALL, **p} for p in phases], **more}


def outcomes(results):
    """{what: [outcome of each step that looked]}, all broken ones' sentences."""
    found, said = {}, []
    for phase in results["phases"]:
        promise = phase["promise"]
        found.setdefault(promise["what"], [])
        if promise["outcome"] != "prepared":
            found[promise["what"]].append(promise["outcome"])
        said += promise.get("list", [])
    return found, said


def test_all_holds_on_one_machine(cluster):
    access = [{"kind": "coherence", "write_access": w, "read_access": r} for w, r in
              (("direct", "direct"), ("mmap", "mmap"), ("direct", "buffered"), ("mmap", "buffered"))]
    locks = [{"kind": "locks", "lock": lock} for lock in ("fcntl", "flock", "range")]
    seen = [{"kind": "visibility", "change": c, "count": 5} for c in ("create", "write", "rename", "unlink", "attributes")]
    status, results, done = cluster.run(job(*ROWS, *access, *locks, *seen))
    assert status == 0, done.stderr
    found, said = outcomes(results)
    assert said == []
    assert len(found) == len(ROWS) + len(access) + len(locks) + len(seen)
    assert {o for list_ in found.values() for o in list_} == {"held"}
    assert all(found.values()), f"a row looked at nothing: {found}"
    assert all(p["promise"]["promised"] and p["promise"]["source"] for p in results["phases"])
    # Each of three nodes makes changes once, and two look: every pair has its own histogram.
    pairs = [(s["from"], s["by"]) for p in results["phases"] if p["promise"]["what"] == "visibility of write"
             for s in p["promise"]["seen_after"]]
    assert sorted(pairs) == sorted((a, b) for a in cluster.names for b in cluster.names if a != b)
    for p in results["phases"]:
        for s in p["promise"].get("seen_after", []):
            assert s["unseen"] == 0 and s["latency_ns"]["count"] == 5 and p["promise"]["uncertainty_ns"] > 0
    # Locks for 1, 2 and 3 nodes.
    assert [len([n for n in p["nodes"] if n["state"] == "done"]) for p in results["phases"]
            if p["kind"] == "locks" and p["spec"]["lock"] == "flock" and p["spec"]["step"] >= 2 and p["spec"]["step"] % 2 == 0] == [1, 2, 3]
    text = cluster.cli("report", "last").stdout
    assert "what nodes saw of each other" in text and "locks/s on 1, 2, ... nodes" in text
    assert cluster.files() == []


@pytest.mark.parametrize("phase,why", [
    ({"kind": "coherence", "workers": 2}, "workers"), ({"kind": "locks", "warmup": "1s"}, "warmup"),
    ({"kind": "coherence", "time": "1s"}, "time"), ({"kind": "visibility", "solo": True}, "solo"),
    ({"kind": "coherence", "bytes": 5000}, "bytes"), ({"kind": "coherence", "nodes": ["node1"]}, "two nodes")])
def test_what_makes_no_sense_is_refused(cluster, phase, why):
    status, _, done = cluster.run(job(phase))
    assert status in (2, 3) and why in done.stderr, done.stderr


@contextlib.contextmanager
def incoherent(tmp_path, **kind):
    """Three agents, each with a mount of its own of one directory at the same path, in a mount namespace of its own."""
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    backing = tmp_path / "backing"
    backing.mkdir()
    with Cluster() as cluster, contextlib.ExitStack() as stack:
        volumes = []
        for name in cluster.names:
            volume = FaultyVolume(cluster.volume, backing, wrap=["unshare", "--mount", "--propagation", "private"], **kind)
            stack.enter_context(volume)
            volumes.append(volume)
            cluster.wrap[name] = ["nsenter", f"--mount=/proc/{volume.process.pid}/ns/mnt"]
        cluster.start()
        yield cluster, volumes, backing


def run_with(cluster, volumes, backing, job_, tell):
    """Runs a job whose first phase waits armed until the volumes were told what to do wrong; the run's directory is there by then."""
    job_["phases"][0]["pause"] = "1500ms"
    run = cluster.start_run(job_)
    wait_for("the phase's directory", lambda: any((d / "shared" / "c").exists() for d in backing.glob(".lockstep-*")))
    time.sleep(0.3)
    for volume in volumes:
        tell(volume)
    _, err = run.communicate(timeout=120)
    for volume in volumes:
        volume.clear()
    return run.returncode, cluster.export(), err


def mode(name, value="on"):
    return lambda volume: volume.mode(name, value)


@pytest.fixture
def three(mounts, tmp_path):
    with incoherent(tmp_path) as made:
        yield made


def test_a_file_that_two_nodes_make_at_once_is_opened(three):
    """OCFS2 answers EEXIST to the second one, though O_EXCL is not asked for."""
    cluster, volumes, backing = three
    work = [{"kind": "coherence", "check": "append"}, {"kind": "coherence", "check": "truncate"}, {"kind": "locks", "lock": "flock"},
            {"kind": "write", "layout": "shared", "file_size": "192KiB", "record_size": "64KiB"}]
    status, results, err = run_with(cluster, volumes, backing, {"short_phases": True, "phases": [
        {**SMALL, **p} if p["kind"] != "write" else p for p in work]}, mode("made-twice"))
    assert status == 0, err
    assert results["run"]["state"] == "finished"


@pytest.mark.parametrize("phase,tell,what,sentence", [
    ({"kind": "coherence", "check": "data"}, mode("stale-data"), "data written buffered, read buffered", "stale, of round 1 instead of 2"),
    ({"kind": "coherence", "check": "append", "count": 200}, mode("lost-append"), "O_APPEND by all", "records are lost"),
    ({"kind": "coherence", "check": "excl"}, mode("double-excl", 60000), "O_EXCL by all", "O_EXCL made it for"),
    ({"kind": "coherence", "check": "rename"}, lambda v: v.fail("open", "ENOENT", name="*/r*.0", skip=3, count=1),
     "rename over a file that is read", "open: ENOENT"),
    ({"kind": "coherence", "check": "unlink"}, lambda v: v.fail("pread", "ESTALE", name="*/u*.0", skip=1),
     "unlink of a file that is open elsewhere", "ESTALE"),
    ({"kind": "coherence", "check": "truncate"}, mode("lost-append"), "truncate against O_APPEND", "holes of zeros"),
    ({"kind": "coherence", "check": "attributes"}, mode("stale-attr"), "size and mtime seen elsewhere", "size"),
    ({"kind": "coherence", "check": "append", "count": 50}, lambda v: v.rule("tear", "pwrite", name="*/p*.0", ms=3, count=20),
     "O_APPEND by all", "records are torn"),
    ({"kind": "coherence", "check": "append", "count": 50}, lambda v: v.rule("double", "pwrite", name="*/p*.0", count=2),
     "O_APPEND by all", "records are there twice"),
    ({"kind": "coherence", "check": "excl"}, lambda v: v.fail("create", "EEXIST", name="*/x*.3"), "O_EXCL by all", "O_EXCL made it for nobody"),
    ({"kind": "coherence", "check": "rename"}, mode("stale-names"), "rename over a file that is read", "after version 20"),
    ({"kind": "coherence", "check": "unlink"}, lambda v: v.rule("lose", "unlink", name="*/u*.0", count=1),
     "unlink of a file that is open elsewhere", "the removed name is still there"),
    ({"kind": "coherence", "check": "attributes"}, lambda v: v.rule("lose", "utimens", name="*/a*", count=1), "size and mtime seen elsewhere", "mtime"),
    ({"kind": "coherence", "check": "attributes"}, lambda v: v.rule("lose", "truncate", name="*/a*", count=1), "size and mtime seen elsewhere", "size"),
    ({"kind": "locks", "lock": "range", "count": 40}, mode("local-locks"), "fcntl locks of separate ranges", "local to a node"),
    ({"kind": "visibility", "change": "write", "count": 3, "time": "300ms"}, mode("stale-data"), "visibility of write", "of 3 changes of"),
    ({"kind": "visibility", "change": "rename", "count": 3, "time": "300ms"}, mode("late-names", 60000), "visibility of rename", "never saw 3 of 3"),
    ({"kind": "visibility", "change": "unlink", "count": 3, "time": "300ms"}, lambda v: v.rule("lose", "unlink", name="*/v*", count=3),
     "visibility of unlink", "never saw 3 of 3"),
    ({"kind": "visibility", "change": "attributes", "count": 3, "time": "300ms"}, lambda v: v.rule("lose", "chmod", name="*/v*"),
     "visibility of attributes", "never saw 3 of 3"),
    ({"kind": "locks", "count": 40}, mode("local-locks"), "fcntl locks", "local to a node"),
    ({"kind": "locks", "lock": "flock", "count": 300}, mode("local-locks"), "flock locks", "under the lock"),
    ({"kind": "visibility", "change": "create", "count": 3, "time": "300ms"}, mode("late-names", 60000), "visibility of create", "never saw 3 of 3"),
])
def test_a_planted_fault_is_found(three, phase, tell, what, sentence):
    cluster, volumes, backing = three
    status, results, err = run_with(cluster, volumes, backing, job({**phase, "promise": "all"}), tell)
    found, said = outcomes(results)
    assert status == 5, err
    assert "violated" in found[what] and any(sentence in s for s in said), (found, said)
    assert "violated" in err
    # What no table knows is counted, and fails nothing.
    if phase.get("check") in ("data", "append"):
        status, results, err = run_with(cluster, volumes, backing, job(phase), tell)
        assert status == 0, err
        found, _ = outcomes(results)
        assert "not-promised" in found[what] and "violated" not in found[what]
        assert all(p["promise"]["broken"] > 0 for p in results["phases"] if p["promise"]["outcome"] == "not-promised")


ACCESS = ("buffered", "direct", "mmap")
PAIRS = [{"kind": "coherence", "write_access": w, "read_access": r} for w in ACCESS for r in ACCESS]


@pytest.fixture
def mapped(mounts, tmp_path):
    """The same with files that can be mapped: what a node has read is forgotten when it opens the file anew."""
    with incoherent(tmp_path, reopen=True) as made:
        yield made


def test_all_kinds_of_access_hold_on_a_sound_volume_of_three_mounts(mapped):
    cluster, _, _ = mapped
    status, results, done = cluster.run(job(*({**p, "promise": "all"} for p in PAIRS)))
    assert status == 0, done.stderr
    found, said = outcomes(results)
    assert len(found) == 9 and {tuple(v) for v in found.values()} == {("held",) * 3} and said == []


def test_stale_data_is_found_by_all_kinds_of_access(mapped):
    """A node that goes on seeing what it read first: whichever way it reads, and however the others wrote."""
    cluster, volumes, backing = mapped
    status, results, err = run_with(cluster, volumes, backing, job(*({**p, "bytes": "16KiB", "promise": "all"} for p in PAIRS)), mode("stale-data"))
    assert status == 5, err
    found, said = outcomes(results)
    assert sorted(found) == sorted(f"data written {w}, read {r}" for w in ACCESS for r in ACCESS)
    # The first round is read for the first time: only what is read again is stale.
    assert {tuple(v) for v in found.values()} == {("held", "violated", "violated")}, found
    # Who saw what of whom is told by name: each of three nodes sees the files of two others.
    for reader in cluster.names:
        for writer in cluster.names:
            told = any(s.startswith(f"{reader}: file of {writer}, ") and "stale, of round 1 instead of 2" in s for s in said)
            assert told == (reader != writer), (reader, writer)
    assert not any("{" in s for s in said)


def test_lost_writes_are_found_by_all_kinds_of_access(mapped):
    """A node whose write of one block is answered as done and is not."""
    cluster, volumes, backing = mapped
    for pair in PAIRS:
        volumes[1].clear()
        volumes[1].rule("lose", "pwrite", name="*/d*.1", count=1)
        status, results, done = cluster.run(job({**pair, "promise": "all"}))
        found, said = outcomes(results)
        assert status == 5 and "violated" in next(iter(found.values())), (pair, found, done.stderr)
        assert any("file of node2" in s and s.startswith(("node1: ", "node3: ")) for s in said), (pair, said)


def test_a_sound_volume_of_three_mounts_holds_everything(three):
    cluster, _, _ = three
    status, results, done = cluster.run(job(*({**r, "promise": "all"} for r in ROWS + [
        {"kind": "locks"}, {"kind": "locks", "lock": "flock"}, {"kind": "visibility", "count": 5}])))
    assert status == 0, done.stderr
    found, said = outcomes(results)
    assert said == [] and {o for list_ in found.values() for o in list_} == {"held"}, (found, said)


def test_late_names_are_measured(three):
    """A change that is seen 300 ms late is told as such, for the pair that it is about."""
    cluster, volumes, backing = three
    status, results, err = run_with(cluster, volumes, backing, job({"kind": "visibility", "change": "create", "count": 4, "interval": "10ms"}),
                                    lambda v: v.mode("late-names", 300) if v is volumes[1] else None)
    assert status == 0, err
    for phase in results["phases"]:
        for pair in phase["promise"]["seen_after"]:
            late = pair["by"] == "node2"
            assert (pair["latency_ns"]["p50"] > 250e6) == late, pair
    assert os.listdir(backing) == []
