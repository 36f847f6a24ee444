"""lockstep check with real agents: what it finds about volumes that are not what they should be, and that it leaves nothing behind."""
import json
import os
import re
import subprocess

import faultyvolume
import pytest
from cluster import Cluster, wait_for
from faultyvolume import FaultyVolume


def rows(cluster, *words):
    """Exit status and findings."""
    done = cluster.cli("check", "--path", cluster.volume, "--json", *words)
    return done.returncode, json.loads(done.stdout)


def bad(found, check):
    """(node, level) of the findings of a row that are not ok."""
    return sorted((r["node"] or "all", r["level"]) for r in found if r["check"] == check and r["level"] != "ok")


def text(found, check, node=None):
    return next(r["text"] for r in found if r["check"] == check and r["node"] == node)


def own_mount(nodes, what, volume):
    """A wrapper for agents: a mount of their own at the volume's path, as on machines of their own."""
    return {n: ["unshare", "-m", "--propagation", "private", "sh", "-c", f'mount {what} {volume} && exec "$@"', "sh"] for n in nodes}


@pytest.fixture
def volume(tmp_path):
    path = tmp_path / "volume"
    path.mkdir()
    return str(path)


@pytest.fixture
def small(mounts, volume):
    """The volume is a tmpfs that three agents share; its size and inodes are the test's."""
    def mount(options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", volume], check=True)
        return volume
    yield mount
    subprocess.run(["umount", volume], check=False, stderr=subprocess.DEVNULL)


@pytest.fixture
def fuse():
    reason = faultyvolume.missing()
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("odd", ["node1", "node2", "node3"])
def test_the_one_odd_volume_is_named(mounts, small, odd):
    """Two agents share a tmpfs, the third has one of its own at the same path."""
    path = small("size=1g")
    with Cluster(volume=path, wrap=own_mount([odd], "-t tmpfs none", path)) as cluster:
        cluster.start()
        status, found = rows(cluster)
        assert status == 1 and bad(found, "one volume") == [(odd, "failed")]
        others = ", ".join(n for n in cluster.names if n != odd)
        assert f"another volume at {path} than {others}" in text(found, "one volume", odd)
        assert os.listdir(path) == []


def test_three_volumes_at_one_path(mounts, volume):
    with Cluster(volume=volume, wrap=own_mount(["node1", "node2", "node3"], "-t tmpfs none", volume)) as cluster:
        cluster.start()
        status, found = rows(cluster)
        assert status == 1 and bad(found, "one volume") == [("all", "failed")]
        assert "a volume of its own on each of the 3 nodes" in text(found, "one volume")
        assert rows(cluster, "--set", "allow_separate_volumes=true")[0] == 0


def test_a_node_whose_type_is_wrong(mounts, small):
    path = small("size=1g")
    with Cluster(volume=path, wrap=own_mount(["node2"], "-t ramfs none", path)) as cluster:
        cluster.start()
        status, found = rows(cluster, "--expect", "tmpfs")
        assert status == 1 and bad(found, "expected file system") == [("node2", "failed")]
        assert text(found, "expected file system", "node2") == f"{path} lies on ramfs, not on tmpfs"
        assert bad(found, "file system") == [("node2", "warning")]
        done = cluster.cli("run", "quick", "--path", path, "--expect", "tmpfs", "--no-tty")
        assert done.returncode == 3 and "tmpfs" in done.stderr


def test_space_for_all_nodes_together(small):
    """Each node's share of 34 MiB would fit, the sum of 101 MiB does not."""
    path = small("size=100m")
    with Cluster(volume=path) as cluster:
        cluster.start()
        status, found = rows(cluster)
        assert status == 1 and {n for n, level in bad(found, "space") if level == "failed"} == set(cluster.names)
        assert "all nodes together need 101 MiB; 100 MiB free" in text(found, "space", "node1")
        assert os.listdir(path) == []


def test_inodes_for_all_nodes_together(small):
    path = small("size=1g,nr_inodes=700")
    with Cluster(volume=path) as cluster:
        cluster.start()
        status, found = rows(cluster)
        assert status == 1 and {n for n, level in bad(found, "inodes") if level == "failed"} == set(cluster.names)


def test_a_volume_that_is_nearly_full(small):
    path = small("size=2g")
    with open(os.path.join(path, "full"), "wb") as f:
        os.posix_fallocate(f.fileno(), 0, 1800 << 20)
    with Cluster(volume=path) as cluster:
        cluster.start()
        status, found = rows(cluster, "--set", "reserve_percent=0")
        assert status == 0 and {level for _, level in bad(found, "fill level")} == {"warning"}
        assert text(found, "fill level", "node2").startswith("87 % full, 92 % with")


def test_mount_options_that_differ(mounts, small):
    path = small("size=1g")
    with Cluster(volume=path, wrap=own_mount(["node3"], "-o remount,bind,noatime", path)) as cluster:
        cluster.start()
        status, found = rows(cluster)
        assert status == 0 and bad(found, "one volume") == [] and bad(found, "mount options") == [("node3", "warning")]
        assert "noatime" in text(found, "mount options", "node3")


def test_the_store_on_the_volume_is_refused(volume):
    """Above the store's directory nothing may be tested: neither checked nor run."""
    with Cluster(volume=volume, settings={"lockstepd": {"store": os.path.join(volume, "store")}}) as cluster:
        os.makedirs(os.path.join(volume, "store"))
        cluster.start()
        status, found = rows(cluster)
        assert status == 1 and bad(found, "store") == [("all", "failed")]
        done = cluster.cli("run", "quick", "--path", volume, "--no-tty")
        assert done.returncode == 3 and "store" in done.stderr and "lies on the volume under test" in done.stderr
        assert os.listdir(volume) == ["store"]


def test_the_spool_on_the_volume_is_refused(volume):
    with Cluster(volume=volume, settings={"node2": {"spool": os.path.join(volume, "spool")}}) as cluster:
        os.makedirs(os.path.join(volume, "spool"))
        cluster.start()
        status, found = rows(cluster)
        assert status == 1 and bad(found, "path") == [("node2", "failed")] and "spool" in text(found, "path", "node2")


def test_locks_of_one_machine_are_wide_and_nobody_waits(volume, tmp_path):
    """What strace saw: each node tries with calls that do not wait, and only on the file made for that."""
    trace = str(tmp_path / "trace")
    wrap = {"node2": ["strace", "-f", "-y", "-o", trace, "-e", "trace=fcntl,flock"]}
    with Cluster(volume=volume, wrap=wrap) as cluster:
        cluster.start()
        status, found = rows(cluster)
        assert status == 0
        for kind in ("fcntl", "flock"):
            assert text(found, f"{kind} locks") == f"cluster-wide: none of the other 2 nodes gets the {kind} lock that node1 holds"
        assert os.listdir(volume) == []
    with open(trace, encoding="utf-8", errors="replace") as f:
        lines = [line for line in f if volume in line]
    locks = [line for line in lines if "F_SETLK" in line or "flock(" in line]
    assert len(locks) == 2 and all("EAGAIN" in line for line in locks), lines
    assert not any("F_SETLKW" in line for line in lines) and sum("LOCK_EX|LOCK_NB" in line for line in locks) == 1
    assert all(re.search(r"/\.lockstep-[^/]*/(fcntl|flock)\.node1>", line) for line in locks)


def test_locks_that_are_local_to_a_node_are_found(mounts, fuse, tmp_path):
    """Two mounts of one directory that know nothing of each other's locks: node1 has one, the others share the second."""
    first, second, path = (str(tmp_path / n) for n in ("a", "b", "volume"))
    os.makedirs(path)
    with FaultyVolume(first, tmp_path / "backing") as a, FaultyVolume(second, tmp_path / "backing") as b:
        a.tell("mode local-locks on")
        b.tell("mode local-locks on")
        wrap = {**own_mount(["node1"], f"--bind {first}", path), **own_mount(["node2", "node3"], f"--bind {second}", path)}
        with Cluster(volume=path, wrap=wrap) as cluster:
            cluster.start()
            status, found = rows(cluster)
            assert status == 0 and bad(found, "one volume") == []
            for kind in ("fcntl", "flock"):
                local = bad(found, f"{kind} locks")
                assert local and set(local) <= {("node2", "warning"), ("node3", "warning")}
                assert "local to the node" in text(found, f"{kind} locks", local[0][0])
            a.tell("clear")
            b.tell("clear")
            status, found = rows(cluster)
            assert bad(found, "fcntl locks") == [] and bad(found, "flock locks") == []
    assert os.listdir(tmp_path / "backing") == []


def test_no_answer_is_a_finding(mounts, fuse, tmp_path):
    """The volume hangs on one node: that is told after 5 s, with what the others said."""
    hanging, path, backing = str(tmp_path / "a"), str(tmp_path / "volume"), tmp_path / "backing"
    os.makedirs(path)
    with FaultyVolume(hanging, backing) as held:
        wrap = {**own_mount(["node1", "node3"], f"--bind {backing}", path), **own_mount(["node2"], f"--bind {hanging}", path)}
        with Cluster(volume=path, wrap=wrap, settings={"node2": {"finish_timeout": "2s"}}) as cluster:
            cluster.start()
            held.tell("hold mkdir")
            held.tell("hold create")
            status, found = rows(cluster)
            assert status == 1 and bad(found, "path") == [("node2", "failed")]
            assert text(found, "path", "node2") == "no answer within 5 s"
            assert {r["node"] for r in found if r["check"] == "space"} >= {"node1", "node3"}
            held.tell("release")
            wait_for("no file left", lambda: os.listdir(backing) == [])
            wait_for("all runners gone", lambda: not any(cluster.runner_pid(n) for n in cluster.names))


def test_table_for_people(cluster):
    done = cluster.cli("check", "--path", cluster.volume)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ok +clock +node1 +offset .*, uncertainty .*, round trip ", done.stdout, re.M)
    assert re.search(r"^warning +coordinator +all +3 nodes are on one machine with the coordinator", done.stdout, re.M)
    assert re.search(r"^ok +io_uring +all +io_uring works on all nodes$", done.stdout, re.M)
    assert re.search(r"^\w+ +load +node2 +[\d.]+ over the last minute on \d+ CPUs", done.stdout, re.M)
    assert cluster.files() == []


def test_nodes_of_a_cluster_file(cluster, tmp_path):
    """OCFS2's own list of nodes against lockstepd's, and as the nodes of a check and a run."""
    conf = tmp_path / "cluster.conf"

    def write(names):
        conf.write_text("cluster:\n\tname = web\n\n" + "".join(f"node:\n\tnumber = {i}\n\tname = {n}\n" for i, n in enumerate(names)))

    write(["node1", "node2"])
    done = cluster.cli("nodes", "--from", str(conf), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == [{"name": "node1", "state": "connected"}, {"name": "node2", "state": "connected"},
                                       {"name": "node3", "state": "not in the file"}]
    status, found = rows(cluster, "--nodes-from", str(conf))
    assert status == 0 and {r["node"] for r in found if r["check"] == "clock"} == {"node1", "node2"}

    write(["node1", "elsewhere"])
    done = cluster.cli("nodes", "--from", str(conf))
    assert done.returncode == 1 and re.search(r"^elsewhere +missing", done.stdout, re.M) and "1 of 2 nodes" in done.stderr
    done = cluster.cli("run", "quick", "--path", cluster.volume, "--nodes-from", str(conf), "--no-tty")
    assert done.returncode == 3 and "node elsewhere is not connected" in done.stderr
    done = cluster.cli("check", "--path", cluster.volume, "--nodes-from", str(conf), "--nodes", "node1")
    assert done.returncode == 2 and "one of them is meant" in done.stderr
    conf.write_text("nothing\n")
    done = cluster.cli("nodes", "--from", str(conf))
    assert done.returncode == 2 and "line 1" in done.stderr
