"""Ways to do I/O besides the plain one, by the system calls that they make: mappings, polling, locks."""
import glob
import os
import re
import subprocess

import pytest

from cluster import Cluster

KIB = 1024
RECORD = 16 * KIB
RECORDS = 16
SIZE = RECORDS * RECORD


def trace_of(tmp_path, calls, phase, nodes=1):
    """Runs write, then the phase, with one worker a node; returns what strace saw of the first node's data file in the phase."""
    prefix = str(tmp_path / "trace")
    wrap = {"node1": ["strace", "-ff", "-qq", "-y", "-s", "0", "-e", f"trace=openat2,{calls}", "-o", prefix]}
    base = {"file_size": SIZE, "record_size": RECORD}
    with Cluster(nodes=nodes, wrap=wrap) as cluster:
        cluster.start()
        job = {"workers": 1, "short_phases": True, "phases": [{"kind": "write", **base}, {**base, **phase}]}
        for _ in range(5):
            status, results, done = cluster.run(job)
            assert status == 0, done.stderr
            if not any(p["attempts"] for p in results["phases"]):
                break
            for name in glob.glob(f"{prefix}.*"):
                os.truncate(name, 0)
        else:
            pytest.skip("this machine is too busy: attempts were void in each of five runs")
        cluster.terminate_agent("node1")
    assert all(p["aggregate"]["bytes"] == nodes * SIZE for p in results["phases"])
    for name in glob.glob(f"{prefix}.*"):
        with open(name, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if "ls-worker" in text or "data.0" in text:
            opened = [m.start() for m in re.finditer(r"openat2\([^\n]*data\.0\"", text)]
            if opened:
                return text[opened[-1]:], results
    raise AssertionError("no thread opened the data file")


@pytest.mark.parametrize("sync,flag", [("none", None), ("sync", "MS_SYNC"), ("async", "MS_ASYNC")])
def test_mapped_rewrite_calls_msync_as_asked_and_nothing_else(tmp_path, sync, flag):
    text, _ = trace_of(tmp_path, "pwrite64,pread64,read,write,mmap,munmap,msync,fsync",
                       {"kind": "rewrite", "engine": "mmap", "mmap_sync": sync, "fsync": True})
    assert len(re.findall(r"mmap\(NULL, \d+, PROT_READ\|PROT_WRITE, MAP_SHARED, \d+<[^>]*data\.0>", text)) == 1
    assert not re.findall(r"(?:pwrite64|pread64)\(\d+<[^>]*data\.0>", text)
    flags = re.findall(r"msync\(0x[0-9a-f]+, (\d+), (MS_\w+)\)\s+= 0", text)
    # One for each record, and the flush that counts: all of the mapping with MS_SYNC.
    expected = ([(str(RECORD), flag)] * RECORDS if flag else []) + [(str(SIZE), "MS_SYNC")]
    assert flags == expected


def test_mapped_read_only_maps(tmp_path):
    text, _ = trace_of(tmp_path, "pread64,pwrite64,mmap,msync", {"kind": "read", "engine": "mmap"})
    assert len(re.findall(r"mmap\(NULL, \d+, PROT_READ, MAP_SHARED, \d+<[^>]*data\.0>", text)) == 1
    assert not re.findall(r"(?:pread64|pwrite64|msync)\(", text)


@pytest.mark.parametrize("kind,lock", [("rewrite", "F_WRLCK"), ("read", "F_RDLCK")])
@pytest.mark.parametrize("locks", ["file", "record"])
def test_locks_go_around_the_file_or_each_record(tmp_path, kind, lock, locks):
    text, _ = trace_of(tmp_path, "fcntl,pread64,pwrite64,fsync", {"kind": kind, "locks": locks, "fsync": True})
    steps = []
    for line in text.splitlines():
        m = re.match(r"fcntl\(\d+<[^>]*data\.0>, F_OFD_SETLKW, \{l_type=(\w+), l_whence=SEEK_SET, l_start=(\d+), l_len=(\d+)", line)
        if m:
            steps.append((m.group(1), int(m.group(2)), int(m.group(3))))
        elif re.match(r"(?:pread64|pwrite64)\(\d+<[^>]*data\.0>", line):
            steps.append("io")
        elif re.match(r"fsync\(\d+<[^>]*data\.0>", line):
            steps.append("fsync")
    if steps[-1] == "fsync" and steps.count("fsync") == 2:
        steps.pop()  # the untimed flush
    if locks == "file":
        wanted = [(lock, 0, 0)] + ["io"] * RECORDS + ["fsync", ("F_UNLCK", 0, 0)]
    else:
        wanted = [s for i in range(RECORDS) for s in ((lock, i * RECORD, RECORD), "io", ("F_UNLCK", i * RECORD, RECORD))] + ["fsync"]
    assert steps == wanted


def test_kernel_thread_takes_what_is_issued(tmp_path):
    """With sq_poll the ring is set up so, and bytes on three nodes are all there."""
    text, results = trace_of(tmp_path, "io_uring_setup,pread64", {"kind": "random-read", "engine": "io_uring", "depth": 4, "sq_poll": True},
                             nodes=3)
    assert re.search(r"io_uring_setup\(4, \{flags=[^}]*IORING_SETUP_SQPOLL[^}]*\}?.*= \d+", text)
    assert not re.findall(r"pread64\(\d+<[^>]*data\.0>", text)
    assert results["phases"][1]["aggregate"]["ops"] == 3 * RECORDS


def polled_queues(path):
    device = os.stat(path).st_dev
    for place in ("queue", "../queue"):
        try:
            with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/{place}/io_poll", encoding="ascii") as f:
                return f.read().strip() == "1"
        except OSError:
            pass
    return None


def test_polling_is_refused_where_the_device_cannot(cluster):
    if polled_queues(cluster.volume):
        pytest.skip("this machine's disk has polled queues")
    status, _, done = cluster.run({"phases": [{"kind": "read", "engine": "io_uring", "direct": True, "io_poll": True,
                                               "file_size": "64KiB", "record_size": "4KiB"}]})
    assert status == 3
    assert "io_poll:" in done.stderr and ("polled queues" in done.stderr or "trial read" in done.stderr or "direct" in done.stderr)
    assert cluster.files() == []


REFUSED = [
    ({"engine": "mmap", "direct": True}, "direct: engine mmap"),
    ({"engine": "mmap", "depth": 4}, "depth: 4 needs engine"),
    ({"mmap_sync": "sync"}, "mmap_sync: needs engine mmap"),
    ({"engine": "libaio", "direct": True, "io_poll": True}, "io_poll: needs engine io_uring"),
    ({"engine": "io_uring", "io_poll": True}, "io_poll: needs direct"),
    ({"sq_poll": True}, "sq_poll: needs engine io_uring"),
    ({"engine": "io_uring", "locks": "record"}, "locks: record needs"),
    ({"engine": "null", "locks": "file"}, "locks: engine null"),
    ({"layout": "shared", "files_per_worker": 3}, "files_per_worker: 3 need layout worker"),
]


@pytest.mark.parametrize("settings,words", REFUSED)
def test_what_does_not_go_together_is_refused_with_the_key(cluster, settings, words):
    status, _, done = cluster.run({"phases": [{"kind": "rewrite", **settings}]})
    assert status == 2 and f"phases[0].{words}" in done.stderr, done.stderr
