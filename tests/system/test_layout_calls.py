"""Every phase over data on three agents, its bytes, operations and place in the file as strace sees them on each node."""
import glob
import os
import re
import shutil

import pytest

from cluster import Cluster

KIB = 1024
RECORD = 6000  # neither pages nor sectors
RECORDS = 31   # of the shared file; not a multiple of the workers
SIZE = RECORD * (RECORDS - 1) + 700
NODES = 3

# All of PHASE_DATA; test_all_kinds_are_here says so. What a kind does: reads, writes, both (an update), either.
KINDS = {"write": "w", "rewrite": "w", "read": "r", "reread": "r", "random-read": "r", "random-write": "w", "backward-read": "r",
         "record-rewrite": "w", "stride-read": "r", "fwrite": "w", "frewrite": "w", "fread": "r", "freread": "r", "pwrite": "w",
         "re-pwrite": "w", "pread": "r", "re-pread": "r", "mixed": "either", "char-write": "w", "block-out": "w", "bonnie-rewrite": "both",
         "char-read": "r", "block-in": "r", "seeks": "tenth"}

STREAMS = ("fread", "freread", "char-read")


def test_all_kinds_are_here():
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    with open(os.path.join(root, "proto", "model", "phases.def"), encoding="utf-8") as f:
        rows = re.findall(r'^PHASE\(\w+, \w+, "([a-z-]+)", \w+, \w+, ([^,]*),', f.read(), re.M)
    data = [name for name, groups in rows if "PHASE_DATA" in groups]
    assert [k for k in data if k not in KINDS and k != "verify"] == []


def own_ranges(layout, node):
    """(begin, length) of the node's records in its file, one worker a node."""
    whole = [(i * RECORD, min(RECORD, SIZE - i * RECORD)) for i in range(RECORDS)]
    if layout in ("worker", "node"):
        return whole
    if layout == "interleaved":
        return whole[node::NODES]
    each, more = divmod(RECORDS, NODES)
    first = node * each + min(node, more)
    return whole[first:first + each + (node < more)]


def calls(prefix):
    """Reads and writes of data files by descriptor position: [(direction, offset, bytes)], of all threads."""
    found = []
    for name in glob.glob(f"{prefix}.*"):
        position = {}
        with open(name, encoding="utf-8", errors="replace") as f:
            for line in f:
                m = re.match(r"(\w+)\((\d+)<[^>]*/data[^>]*>(?:, (.*))?\)\s+= (-?\d+)", line)
                if not m:
                    continue
                call, fd, words, result = m.group(1), m.group(2), (m.group(3) or "").split(", "), int(m.group(4))
                if call == "lseek":
                    position[fd] = result
                elif call in ("pread64", "pwrite64"):
                    found.append(("r" if call == "pread64" else "w", int(words[-1]), result))
                elif call in ("read", "write"):
                    at = position.get(fd, 0)
                    found.append(("r" if call == "read" else "w", at, result))
                    position[fd] = at + result
                elif call == "close":
                    position.pop(fd, None)
    return [c for c in found if c[2] > 0]


def covered(found):
    """Bytes moved, and the ranges that they cover."""
    ranges = sorted((at, at + n) for _, at, n in found)
    joined = []
    for begin, end in ranges:
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return sum(n for _, _, n in found), joined


def join(ranges):
    return covered([("", at, n) for at, n in ranges])[1]


@pytest.fixture(scope="module", name="traced", params=["worker", "node", "shared", "interleaved"])
def make_traced(request, tmp_path_factory):
    where = tmp_path_factory.mktemp("traces")
    prefixes = {f"node{i + 1}": str(where / f"node{i + 1}") for i in range(NODES)}
    wrap = {n: ["strace", "-ff", "-qq", "-y", "-s", "0", "-e", "trace=read,write,pread64,pwrite64,lseek,close", "-o", p] for n, p in prefixes.items()}
    with Cluster(nodes=NODES, wrap=wrap) as cluster:
        cluster.start()
        yield cluster, prefixes, request.param


def traced_run(cluster, prefixes, phases):
    """The last phase's result, and each node's calls in the run; runs again when an attempt was void."""
    for _ in range(5):
        for name in os.listdir(cluster.volume):  # what the run before was told to keep
            shutil.rmtree(os.path.join(cluster.volume, name))
        for prefix in prefixes.values():
            for name in glob.glob(f"{prefix}.*"):
                os.truncate(name, 0)
        status, results, done = cluster.run({"workers": 1, "short_phases": True, "keep_files": True, "phases": phases})
        assert status == 0, done.stderr
        if not any(p["attempts"] for p in results["phases"]):
            return results, {n: calls(p) for n, p in prefixes.items()}
    pytest.skip("this machine is too busy: attempts were void in each of five runs")


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_operations_and_places(traced, kind):
    cluster, prefixes, layout = traced
    does = KINDS[kind]
    phase = {"kind": kind, "file_size": SIZE, "record_size": RECORD, "layout": layout}
    if kind.startswith("char"):
        phase["semantics"] = "1.03"
    if kind == "seeks":
        phase["seeks"] = 40
    first = {"kind": "write", "file_size": SIZE, "record_size": RECORD, "layout": layout}
    results, seen = traced_run(cluster, prefixes, [first, phase])
    for index, name in enumerate(sorted(prefixes)):
        node = next(n for n in results["phases"][1]["nodes"] if n["node"] == name)
        own = own_ranges(layout, index)
        whole = sum(n for _, n in own)
        # The first phase writes all of it once; what is left of the trace is the second one's.
        reads, writes = ([c for c in seen[name] if c[0] == d] for d in "rw")
        read_bytes, read_ranges = covered(reads)
        written, write_ranges = covered(writes)
        second = written - whole
        if does == "tenth":
            assert node["ops"] == 40
            assert second > 0 and read_bytes > second
            continue
        # reads and writes of a mix are never added up in the document
        ops = node["ops"] if kind != "mixed" else sum(o["ops"] for o in node["by_op"].values() if o)
        assert ops == len(own)
        assert write_ranges == join(own), f"{name}: nothing is written outside of its part, all of it is"
        if does == "r":
            assert second == 0
            if kind == "stride-read":  # it comes back to some before it has been at others
                assert all(any(b <= at and at + n <= e for b, e in join(own)) for _, at, n in reads)
            elif kind in STREAMS:  # the C library reads whole buffers, from a block's beginning
                assert all(any(b <= at and at + n <= e for b, e in read_ranges) for at, n in own)
            else:
                assert read_ranges == join(own)
            assert kind in STREAMS or node["bytes"] == read_bytes
            assert node["bytes"] == whole or kind == "stride-read"
        elif does == "w":
            assert second == node["bytes"]
        elif does == "both":
            assert read_bytes == second == node["bytes"]
        else:
            assert node["bytes"] is None
            assert (read_bytes, second) == (node["by_op"]["read"]["bytes"], node["by_op"]["write"]["bytes"])
            assert read_bytes + second == whole
    files = [f for f in cluster.files() if "data" in os.path.basename(f)]
    assert sorted(os.path.getsize(os.path.join(cluster.volume, f)) for f in files) == [SIZE] * (NODES if layout in ("worker", "node") else 1)
