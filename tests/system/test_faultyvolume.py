"""The misbehaving volume of the other tests does what they rely on."""
import errno
import fcntl
import os
import struct
import threading
import time

import pytest

import faultyvolume
from faultyvolume import FaultyVolume


@pytest.fixture
def pair(tmp_path):
    """Two mounts of one directory: two nodes."""
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    with FaultyVolume(tmp_path / "a", tmp_path / "backing") as a, FaultyVolume(tmp_path / "b", tmp_path / "backing") as b:
        yield a, b


def at(volume, name):
    return os.path.join(volume.mountpoint, name)


def put(volume, name, data, flags=os.O_CREAT | os.O_WRONLY):
    fd = os.open(at(volume, name), flags, 0o644)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)


def get(volume, name):
    with open(at(volume, name), "rb", buffering=0) as f:
        return f.read()


def test_a_good_volume_is_coherent(pair):
    a, b = pair
    put(a, "f", b"one")
    assert get(b, "f") == b"one"
    put(b, "f", b"two")
    assert get(a, "f") == b"two"
    for i in range(50):
        put(a if i % 2 else b, "log", b"%03d\n" % i, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    assert get(a, "log") == b"".join(b"%03d\n" % i for i in range(50))
    os.close(os.open(at(a, "x"), os.O_CREAT | os.O_EXCL))
    with pytest.raises(FileExistsError):
        os.open(at(b, "x"), os.O_CREAT | os.O_EXCL)
    os.rename(at(a, "x"), at(a, "y"))
    assert os.path.exists(at(b, "y")) and not os.path.exists(at(b, "x"))
    os.unlink(at(b, "y"))
    assert sorted(os.listdir(a.mountpoint)) == ["f", "log"]


def take(path, wait):
    """An fcntl write lock, by a thread of this process on a descriptor of its own (OFD would be another lock: by a child)."""
    child = os.fork()
    if child == 0:
        fd = os.open(path, os.O_RDWR)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as e:
            os._exit(1 if e.errno in (errno.EAGAIN, errno.EACCES) else 2)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_locks_exclude_other_mounts_unless_they_are_local(pair):
    a, b = pair
    put(a, "f", b"")
    with open(at(a, "f"), "r+b") as f:
        fcntl.lockf(f, fcntl.LOCK_EX)
        assert take(at(a, "f"), False) == 1 and take(at(b, "f"), False) == 1
        timer = threading.Timer(0.2, lambda: fcntl.lockf(f, fcntl.LOCK_UN))
        timer.start()
        assert take(at(b, "f"), True) == 0
        fcntl.lockf(f, fcntl.LOCK_EX)
        b.mode("local-locks")
        assert take(at(b, "f"), False) == 0
        assert take(at(a, "f"), False) == 1
    assert take(at(a, "f"), False) == 0, "a closed file has no locks"
    with open(at(a, "f"), "rb") as f, open(at(a, "f"), "rb") as g:
        fcntl.flock(f, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(g, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_held_call_waits_and_others_go_on(pair):
    a, _ = pair
    put(a, "f", b"abc")
    a.hold("pwrite", name="f")
    writer = threading.Thread(target=put, args=(a, "f", b"xyz"))
    writer.start()
    assert a.wait_held("pwrite") == ["f"]
    assert get(a, "f") == b"abc"
    put(a, "g", b"not held")
    assert writer.is_alive()
    a.release()
    writer.join(10)
    assert get(a, "f") == b"xyz" and a.held() == []


@pytest.mark.parametrize("call,use", [
    ("open", lambda v: os.open(at(v, "f"), os.O_RDONLY)), ("create", lambda v: os.open(at(v, "n"), os.O_CREAT | os.O_WRONLY)),
    ("pread", lambda v: get(v, "f")), ("pwrite", lambda v: put(v, "f", b"1")), ("unlink", lambda v: os.unlink(at(v, "f"))),
    ("statfs", lambda v: os.statvfs(v.mountpoint)), ("mkdir", lambda v: os.mkdir(at(v, "d"))),
    ("rename", lambda v: os.rename(at(v, "f"), at(v, "g"))), ("getattr", lambda v: os.stat(at(v, "f"))),
    ("readdir", lambda v: os.listdir(v.mountpoint))])
def test_a_call_fails_as_told(pair, call, use):
    a, b = pair
    put(a, "f", b"abc")
    a.fail(call, "EIO", count=1)  # of ESTALE the kernel would ask again
    with pytest.raises(OSError) as failed:
        use(a)
    assert failed.value.errno == errno.EIO
    a.clear()
    assert get(b, "f") == b"abc"


def test_full_after_so_many_bytes(pair):
    a, _ = pair
    a.fail("pwrite", "ENOSPC", after=10000)
    fd = os.open(at(a, "f"), os.O_CREAT | os.O_WRONLY)
    assert [os.write(fd, b"x" * 4096) for _ in range(2)] == [4096, 4096]
    with pytest.raises(OSError) as failed:
        os.write(fd, b"x" * 4096)
    os.close(fd)
    assert failed.value.errno == errno.ENOSPC and os.stat(at(a, "f")).st_size == 8192


def test_short_flipped_lost_and_delayed(pair):
    a, b = pair
    put(a, "f", b"abcdef")
    a.rule("short", "pread", bytes=2, count=1)
    with open(at(a, "f"), "rb", buffering=0) as f:
        assert f.read(6) == b"ab" and f.read(6) == b"cdef"
    a.rule("flip", "pread", count=1)
    assert get(a, "f")[0] == ord("a") ^ 1
    a.rule("lose", "pwrite", count=1)
    assert put(a, "f", b"ABCDEF") == 6
    assert get(b, "f") == b"abcdef"
    a.delay("unlink", 200)
    began = time.monotonic()
    os.unlink(at(a, "f"))
    assert time.monotonic() - began >= 0.2


def test_a_torn_append(pair):
    a, b = pair
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
    a.rule("tear", "pwrite", ms=300, count=1)
    slow = threading.Thread(target=put, args=(a, "log", b"aaaa", flags))
    slow.start()
    while not os.path.exists(at(b, "log")) or os.stat(at(b, "log")).st_size == 0:
        time.sleep(0.005)
    put(b, "log", b"b", flags)
    slow.join()
    assert get(b, "log") == b"aabaa"


def test_stale_data_and_size(pair):
    a, b = pair
    put(a, "f", b"old")
    b.mode("stale-data", 400)
    b.mode("stale-attr", 400)
    assert get(b, "f") == b"old" and os.stat(at(b, "f")).st_size == 3
    put(a, "f", b"newer")
    assert os.stat(at(b, "f")).st_size == 3
    with open(at(b, "f"), "rb", buffering=0) as f:
        assert f.read(3) == b"old"
    time.sleep(0.45)
    assert get(b, "f") == b"newer" and os.stat(at(b, "f")).st_size == 5
    b.mode("stale-data")
    get(b, "f")
    put(b, "f", b"own")
    assert get(b, "f") == b"owner", "what a mount writes, it sees"


def test_lost_appends(pair):
    a, b = pair
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
    for volume in pair:
        volume.mode("lost-append")
    fds = [os.open(at(v, "log"), flags) for v in pair]
    for i in range(4):
        for who, fd in zip(b"ab", fds):
            os.write(fd, struct.pack("BB", who, i))
    for fd in fds:
        os.close(fd)
    data = get(a, "log")
    assert len(data) < 16, "records are missing"


def test_two_winners_of_o_excl(pair):
    a, b = pair
    for volume in pair:
        volume.mode("double-excl", 60000)
    for volume in pair:
        os.close(os.open(at(volume, "x"), os.O_CREAT | os.O_EXCL))
    with pytest.raises(FileExistsError):
        os.open(at(a, "x"), os.O_CREAT | os.O_EXCL)


def test_names_come_late(pair):
    a, b = pair
    b.mode("late-names", 300)
    put(a, "f", b"x")
    assert os.listdir(b.mountpoint) == [] and not os.path.exists(at(b, "f"))
    with pytest.raises(FileExistsError):
        os.open(at(b, "f"), os.O_CREAT | os.O_EXCL)
    began = time.monotonic()
    while not os.path.exists(at(b, "f")):
        assert time.monotonic() - began < 5
    assert os.listdir(b.mountpoint) == ["f"]
    put(b, "g", b"own")
    assert os.path.exists(at(b, "g"))


def test_its_end_ends_held_calls(tmp_path):
    if faultyvolume.missing():
        pytest.skip(faultyvolume.missing())
    with FaultyVolume(tmp_path / "a") as volume:
        volume.hold("statfs")
        failed = []

        def ask():
            try:
                os.statvfs(volume.mountpoint)
            except OSError as e:
                failed.append(e.errno)
        asking = threading.Thread(target=ask)
        asking.start()
        volume.wait_held("statfs")
    asking.join(10)
    assert failed and failed[0] in (errno.ECONNABORTED, errno.ENOTCONN)


@pytest.mark.parametrize("line", ["hold nothing", "fail pread", "fail pread errno=EWRONG", "short open bytes=1", "delay open ms=x",
                                  "hold open name", "mode nothing on", "mode stale-data -1", "nonsense", ""])
def test_what_it_does_not_know_is_an_error(pair, line):
    pair[0].control.write(line + "\n")
    pair[0].control.flush()
    assert pair[0].control.readline().startswith("error ")
