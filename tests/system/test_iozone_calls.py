"""What phases named after iozone's tests ask of the kernel: the calls and their order, as strace sees them."""
import glob
import json
import re

import pytest

from cluster import Cluster

KIB = 1024
RECORD = 4 * KIB
RECORDS = 40


def calls_of_phases(trace_prefix):
    """Per opening of the data file by a worker: the calls up to the next one, as (name, offset or None, bytes)."""
    phases = []
    for path in glob.glob(f"{trace_prefix}.*"):
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if "/data" not in text:
            continue
        position = 0
        for line in text.splitlines():
            if re.match(r"openat2?\(.*data\.0\"", line):
                flags = set(re.findall(r"O_\w+", line))
                if "O_CREAT" not in flags or not phases or phases[-1]["calls"]:
                    phases.append({"flags": flags, "calls": []})
                else:
                    phases[-1]["flags"] = flags
                position = 0
                continue
            m = re.match(r"(\w+)\(\d+<[^>]*data\.0>(?:, (.*))?\)\s+= (-?\d+)", line)
            if not m or not phases:
                continue
            name, words, result = m.group(1), (m.group(2) or "").split(", "), int(m.group(3))
            if name in ("pread64", "pwrite64"):
                phases[-1]["calls"].append((name[1:-2], int(words[-1]), result))
            elif name in ("read", "write"):
                phases[-1]["calls"].append((name, position, result))
                position += result
            elif name == "lseek":
                position = result
            elif name in ("fsync", "close"):
                phases[-1]["calls"].append((name, None, result))
    return phases


def run_traced(tmp_path, phases):
    """A job with one worker on one node; returns the calls of each phase that opened a file to do its work."""
    for attempt in range(5):
        calls, results = run_once(str(tmp_path / f"trace{attempt}"), phases)
        if not any(p["attempts"] for p in results["phases"]):
            return calls, results
    pytest.skip("this machine is too busy: attempts were void in each of five runs")


def run_once(trace, phases):
    wrap = {"node1": ["strace", "-ff", "-qq", "-y", "-s", "0", "-o", trace,
                      "-e", "trace=openat,openat2,pread64,pwrite64,read,write,lseek,fsync,close"]}
    job = {"workers": 1, "short_phases": True,
           "phases": [{"file_size": RECORDS * RECORD, "record_size": RECORD, **p} for p in phases]}
    with Cluster(nodes=1, wrap=wrap) as cluster:
        cluster.start()
        status, results, done = cluster.run(job)
        assert status == 0, done.stderr
        cluster.terminate_agent("node1")
    return calls_of_phases(trace), results


def moved(phase, name):
    return [offset // RECORD for n, offset, result in phase["calls"] if n == name and result > 0]


def stride_order(records, stride=17):
    """The rule of iozone as its page in the reference tells it."""
    order, at, wraps = [], 0, 0
    for _ in range(records):
        order.append(at)
        if at + 1 + stride >= records - 1:
            wraps += 1
            at = 0 if records <= stride else wraps % records
        else:
            at += stride
    return order


def test_orders_are_those_of_iozone(tmp_path):
    kinds = ["write", "rewrite", "read", "reread", "backward-read", "record-rewrite", "stride-read", "fwrite", "frewrite",
             "fread", "freread", "random-read", "random-write", "pwrite", "re-pwrite", "pread", "re-pread"]
    phases, results = run_traced(tmp_path, [{"kind": k} for k in kinds])
    done = [p for p in phases if moved(p, "read") or moved(p, "write")]
    assert len(done) == len(kinds)
    forward = list(range(RECORDS))
    assert stride_order(RECORDS)[:7] == [0, 17, 34, 1, 18, 35, 2]
    random_orders = []
    for kind, phase in zip(kinds, done):
        reads, writes = moved(phase, "read"), moved(phase, "write")
        assert (writes if "read" in kind else reads) == [], kind
        order = reads or writes
        if kind.startswith("random"):
            assert sorted(order) == forward and order != forward
            random_orders.append(order)
        elif kind == "backward-read":
            assert order == forward[::-1]
        elif kind == "record-rewrite":
            assert order == [0] * RECORDS
        elif kind == "stride-read":
            assert order == stride_order(RECORDS)
        else:
            assert order == forward, kind
        assert all(result == RECORD for name, _, result in phase["calls"] if name in ("read", "write")), kind
    assert random_orders[0] == random_orders[1], "both passes use the same permutation"
    for phase in results["phases"]:
        assert phase["aggregate"]["bytes"] == RECORDS * RECORD and phase["aggregate"]["ops"] == RECORDS


@pytest.mark.parametrize("kind", ["write", "fwrite", "read", "fread"])
def test_flush_and_close_in_the_time(tmp_path, kind):
    phases, _ = run_traced(tmp_path, [{"kind": kind, "fsync": True, "close": True}])
    tail = [name for name, _, _ in phases[-1]["calls"] if name in ("fsync", "close")] if "write" not in kind else None
    calls = [name for p in phases for name, _, _ in p["calls"]]
    last = max(i for i, name in enumerate(calls) if name in ("read", "write"))
    assert calls[last + 1] == "fsync" and "close" in calls[last + 2:last + 4]
    assert tail is None or tail[:2] == ["fsync", "close"]


def test_open_flags(tmp_path):
    phases, _ = run_traced(tmp_path, [{"kind": "write", "sync_writes": "sync"}, {"kind": "rewrite", "sync_writes": "dsync"},
                                      {"kind": "rewrite"}])
    done = [p for p in phases if moved(p, "write")]
    assert "O_SYNC" in done[0]["flags"]
    assert "O_DSYNC" in done[1]["flags"] and "O_SYNC" not in done[1]["flags"]
    assert not {"O_SYNC", "O_DSYNC"} & done[2]["flags"]


def test_prime_reads_the_first_record_before_the_time(tmp_path):
    phases, results = run_traced(tmp_path, [{"kind": "write"}, {"kind": "read", "prime": True}])
    reading = [p for p in phases if moved(p, "read")][0]
    assert [name for name, _, _ in reading["calls"]][:2] == ["fsync", "read"]
    assert moved(reading, "read") == [0] + list(range(RECORDS))
    assert results["phases"][1]["aggregate"]["ops"] == RECORDS


def test_grid_runs_each_cell_at_its_own_barrier(cluster):
    done = cluster.cli("run", "iozone-auto", "--path", cluster.volume, "--set", "grid.file_max=128KiB",
                            "--set", "grid.record_min=32KiB", "--json", cluster.path("grid.json"))
    assert done.returncode == 0, done.stderr
    with open(cluster.path("grid.json"), encoding="utf-8") as f:
        results = json.load(f)
    sizes = [(64, 32), (64, 64), (128, 32), (128, 64), (128, 128)]
    assert len(results["phases"]) == 13 * len(sizes)
    for i, phase in enumerate(results["phases"]):
        file_kib, record_kib = sizes[i // 13]
        assert (phase["spec"]["file_size"], phase["spec"]["record_size"]) == (file_kib * KIB, record_kib * KIB)
        assert phase["state"] == "done" and phase["start_skew_ns"] is not None
        for node in phase["nodes"]:
            assert node["bytes"] == file_kib * KIB and node["ops"] == file_kib // record_kib
