"""Metadata phases as the kernel sees them: which calls each worker does, what is on the volume afterwards, and what goes wrong."""
import collections
import glob
import os
import re
import shutil
import subprocess

import pytest

from cluster import Cluster

FILES = 30
CALLS = "mkdirat,openat,openat2,newfstatat,getdents64,renameat,renameat2,fchmodat,lsetxattr,lgetxattr,lremovexattr,symlinkat,linkat,unlinkat"
PHASES = ["mkdir", "create", "stat", "open-close", "readdir", "readdir-stat", "chmod", "setxattr", "getxattr", "symlink", "link", "rename", "unlink", "rmdir"]
NAME = r'"(?:\d{5}/)?([0-9a-f]{8})(?:\.\d+\.\d+)?(r?)"'

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def strace(trace, *more):
    return ["strace", "-ff", "-qq", "-s", "80", "-e", f"trace={CALLS}", *more, "-o", trace]


def object_calls(text):
    """Calls of a worker on its numbered objects, that succeeded: Counter of names."""
    found = collections.Counter()
    for line in text.splitlines():
        m = re.match(r"(\w+)\((.*)\)\s+= (\d+)", line)
        if not m:
            continue
        name, words = m.group(1), m.group(2)
        if name == "openat" and re.search(NAME, words):
            found["create" if "O_CREAT" in words else "open"] += 1
        elif name == "getdents64":
            found["entries"] += int(m.group(3)) > 0
        elif name == "unlinkat" and re.search(NAME, words):
            found["rmdir" if "AT_REMOVEDIR" in words else "unlink"] += 1
        elif re.search(NAME, words):
            found[name.rstrip("2")] += 1
    return found


def run_traced(tmp_path, job, nodes=3):
    """The run's results and, for each node, what strace wrote for each thread that worked on objects; a run without void attempts."""
    for attempt in range(5):
        traces = {f"node{i + 1}": str(tmp_path / f"a{attempt}.node{i + 1}") for i in range(nodes)}
        with Cluster(nodes=nodes, wrap={name: strace(trace) for name, trace in traces.items()}) as cluster:
            cluster.start()
            status, results, done = cluster.run({"short_phases": True, "reserve_percent": 0, **job})
            assert status == 0, done.stderr
            for name in traces:
                cluster.terminate_agent(name)
        if not any(p["attempts"] for p in results["phases"]):
            break
    else:
        pytest.skip("this machine is too busy: attempts were void in each of five runs")
    found = {}
    for name, trace in traces.items():
        texts = [open(path, encoding="utf-8", errors="replace").read() for path in glob.glob(f"{trace}.*")]
        found[name] = [text for text in texts if object_calls(text)["newfstatat"] >= FILES]
    return results, found


@needs_strace
@pytest.mark.parametrize("dirs,directories", [("private", 1), ("shared", 4)])
def test_each_operation_is_a_call(tmp_path, dirs, directories):
    """The phases follow one another so that nothing needs to be made or removed in between."""
    phases = [{"kind": k, "files": FILES, "dirs": dirs, "directories": directories} for k in PHASES]
    results, found = run_traced(tmp_path, {"workers": 2, "phases": phases})
    everybody = FILES * (6 if dirs == "shared" else 1)  # entries that a worker reads
    for name, texts in found.items():
        assert len(texts) == 2, f"{name}: one thread for each worker"
        for text in texts:
            calls = object_calls(text)
            assert calls["mkdirat"] == calls["rmdir"] == FILES
            assert calls["create"] == calls["open"] == FILES
            assert calls["newfstatat"] == FILES + everybody  # stat, readdir-stat
            assert calls["fchmodat"] == calls["renameat"] == calls["lgetxattr"] == FILES
            # one more of each, before the time: does the volume have such a thing? What it made is removed.
            assert calls["lsetxattr"] == calls["symlinkat"] == calls["linkat"] == FILES + 1
            assert calls["lremovexattr"] == 1
            assert calls["unlink"] == FILES + 2
            assert calls["entries"] >= 2 * directories
    for phase in results["phases"]:
        wanted = everybody if phase["kind"].startswith("readdir") else FILES
        assert [n["ops"] for n in phase["nodes"]] == [2 * wanted] * 3
        op, = phase["aggregate"]["by_op"]
        assert op == {"open-close": "open", "readdir-stat": "readdir_stat", "unlink": "delete"}.get(phase["kind"], phase["kind"])


def test_what_is_left_is_what_was_done(tmp_path):
    kinds = ["mkdir", "create", "setxattr", "symlink", "link", "rename", "chmod"]
    with Cluster() as cluster:
        cluster.start()
        job = {"workers": 2, "keep_files": True, "short_phases": True, "reserve_percent": 0,
               "phases": [{"kind": k, "files": FILES, **({"size": 5000} if k not in ("mkdir", "symlink") else {}),
                           **({"xattr_size": 20} if k == "setxattr" else {})} for k in kinds]}
        status, _, done = cluster.run(job)
        assert status == 0, done.stderr
        top, = glob.glob(os.path.join(cluster.volume, ".lockstep-*"))
        for node in range(3):
            for worker in range(2):
                def path(class_, i, mark="", base=os.path.join(top, f"n{node}"), w=worker):
                    return os.path.join(base, f"{class_}.{w}", f"{i:08x}{mark}")
                assert sorted(os.listdir(os.path.dirname(path("d", 0)))) == [f"{i:08x}r" for i in range(FILES)]
                for i in range(FILES):
                    file = os.stat(path("d", i, "r"))
                    assert (file.st_size, file.st_nlink, file.st_mode & 0o7777) == (5000, 2, 0o640)
                    assert os.stat(path("l", i)).st_ino == file.st_ino
                    assert os.readlink(path("s", i)) == f"../d.{worker}/{i:08x}"
                    assert len(os.getxattr(path("d", i, "r"), "user.lockstep")) == 20
                    assert os.path.isdir(path("m", i))


@needs_strace
def test_shift_works_on_the_files_of_the_next_node(tmp_path):
    """Node 1 looks only at what is node 2's, node 3 at node 1's; the owner made the files, and no one else did."""
    results, found = run_traced(tmp_path, {"workers": 1, "phases": [{"kind": "stat", "files": FILES, "shift": 1}, {"kind": "unlink", "files": FILES, "shift": 1}]})
    for i in range(3):
        text, = found[f"node{i + 1}"]
        calls = object_calls(text)
        # what it makes: its own, once; what another node has removed is not made again
        assert (calls["create"], calls["newfstatat"], calls["unlink"]) == (FILES, FILES, FILES)
        opened = re.findall(r'openat2\(\d+, "(n\d)", ', text)
        assert opened == [f"n{i}", f"n{(i + 1) % 3}"] * 2, "each time its own to lay out, then the other's to work on"
    for phase in results["phases"]:
        assert [n["ops"] for n in phase["nodes"]] == [FILES] * 3


@needs_strace
@pytest.mark.parametrize("kind,call,error,text", [
    ("link", "linkat", "EPERM", "this volume has no hard links"),
    ("symlink", "symlinkat", "EPERM", "this volume has no symbolic links"),
    ("setxattr", "lsetxattr", "EOPNOTSUPP", "this volume has no extended attributes of users (user.*)"),
    ("getxattr", "lsetxattr", "EOPNOTSUPP", "this volume has no extended attributes of users (user.*)"),
])
def test_what_a_volume_cannot_do_is_said(tmp_path, kind, call, error, text):
    with Cluster(nodes=1, wrap={"node1": strace(str(tmp_path / "t"), "-e", f"inject={call}:error={error}")}) as cluster:
        cluster.start()
        status, results, done = cluster.run({"workers": 1, "reserve_percent": 0, "phases": [{"kind": kind, "files": 5}]})
        assert status == 1
        assert text in done.stderr + str(results)
        assert cluster.files() == []


@needs_strace
@pytest.mark.parametrize("errno_name", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("kind,call", [("mkdir", "mkdirat"), ("rename", "renameat"), ("chmod", "fchmodat"), ("symlink", "symlinkat"),
                                       ("link", "linkat"), ("setxattr", "lsetxattr")])
def test_an_error_in_the_middle_names_the_object(tmp_path, kind, call, errno_name):
    """The 20th such call of the worker fails: the phase ends there, says which object, and nothing is left."""
    with Cluster(nodes=1, wrap={"node1": strace(str(tmp_path / "t"), "-e", f"inject={call}:error={errno_name}:when=20")}) as cluster:
        cluster.start()
        status, results, done = cluster.run({"workers": 1, "reserve_percent": 0, "phases": [{"kind": kind, "files": FILES}]})
        assert status == 1
        node = results["phases"][0]["nodes"][0]
        assert node["state"] == "failed" and 10 < node["ops"] < 20
        error, = node["error_list"]
        assert error["errno_name"] == errno_name and re.search(r"n0/\w\.0/[0-9a-f]{8}$", error["path"]), error
        assert int(error["path"][-8:], 16) == node["ops"], "the object after those that were done"
        assert cluster.files() == []


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mkfs.ext4") is None, reason="only root can mount a volume with few inodes")
@pytest.mark.parametrize("kind", ["create", "mkdir", "symlink"])
def test_no_inodes_left_in_the_middle(tmp_path, kind):
    """As many objects as the volume has free inodes pass the check before; directories of the run itself take a few of them."""
    image, volume = tmp_path / "image", tmp_path / "volume"
    volume.mkdir()
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-N", "256", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, volume], check=False).returncode != 0:
        pytest.skip("no loop device to be had")
    try:
        free = os.statvfs(volume).f_favail
        with Cluster(nodes=1, volume=str(volume)) as cluster:
            cluster.start()
            job = {"workers": 1, "reserve_percent": 0, "phases": [{"kind": kind, "files": free + 1}]}
            status, _, done = cluster.run(job)
            assert status == 3 and "inode" in done.stderr + done.stdout, "more than there are: refused"
            job["phases"][0]["files"] = free
            status, results, done = cluster.run(job)
            assert status == 1, done.stderr
            node = results["phases"][0]["nodes"][0]
            assert node["error_list"][0]["errno_name"] == "ENOSPC" and free - 20 < node["ops"] < free
            assert cluster.files() == []
    finally:
        subprocess.run(["umount", volume], check=True)


def test_more_workers_than_a_machine_has_processors(tmp_path):
    with Cluster(nodes=1) as cluster:
        cluster.start()
        job = {"workers": 512, "short_phases": True, "reserve_percent": 0,
               "phases": [{"kind": k, "files": 3, "dirs": "shared"} for k in ("create", "readdir", "unlink")]}
        status, results, done = cluster.run(job)
        assert status == 0, done.stderr
        assert [p["aggregate"]["ops"] for p in results["phases"]] == [3 * 512, 3 * 512 * 512, 3 * 512]
        assert cluster.files() == []


def test_no_files_are_refused_with_a_reason():
    with Cluster(nodes=1) as cluster:
        cluster.start()
        status, _, done = cluster.run({"phases": [{"kind": "mkdir", "files": 0}]})
        assert status == 2 and "files: must be at least one" in done.stderr
