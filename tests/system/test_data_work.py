"""What data phases do besides moving bytes: checking them, keeping a rate, mixing sizes. Judged from outside."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from cluster import Cluster, wait_for

BLOCK = 4096
SIZES = {"file_size": "4MiB", "record_size": "64KiB"}


def data_file(cluster, name):
    return next(p for p in cluster.files() if p.endswith(name))


def between_phases(cluster, run, act):
    """Lets act(path of node2's file) happen while a long phase over other files keeps the run between writing and verifying."""
    def there():
        return [p for p in cluster.files() if p.endswith("n1/data.0") and os.path.getsize(os.path.join(cluster.volume, p)) == 4 << 20]
    paths = wait_for("the file written", there)
    wait_for("the phase in between at work", lambda: [p for p in cluster.files() if p.endswith("shared/data")])
    act(os.path.join(cluster.volume, paths[0]))
    return run.communicate(timeout=100)


def pread(path, block):
    with open(path, "rb") as f:
        f.seek(block * BLOCK)
        return f.read(BLOCK)


def pwrite(path, block, data):
    with open(path, "r+b") as f:
        f.seek(block * BLOCK)
        f.write(data)


def dd(path, block):
    subprocess.run(["dd", "if=/dev/urandom", f"of={path}", f"bs={BLOCK}", f"seek={block}", "count=1", "conv=notrunc"],
                   check=True, stderr=subprocess.DEVNULL)


def swap(path, a, b):
    first, second = pread(path, a), pread(path, b)
    pwrite(path, a, second)
    pwrite(path, b, first)


def test_corruption_from_outside_is_found_and_named():
    job = {"short_phases": True, "phases": [
        {"kind": "write", **SIZES},
        {"kind": "read", "layout": "shared", "time": "2s", "rate_ops": 50, **SIZES},
        {"kind": "verify", **SIZES}, {"kind": "read", "verify": True, **SIZES}]}
    with Cluster(nodes=2) as cluster:
        cluster.start()
        run = cluster.start_run(job)

        def act(path):
            dd(path, 7)
            swap(path, 100, 200)
        out, err = between_phases(cluster, run, act)
        assert run.returncode == 5, err
        results = cluster.export()
    assert results["run"]["state"] == "finished"
    assert [p["state"] for p in results["phases"]] == ["done", "done", "mismatch", "mismatch"]
    for phase in results["phases"][2:]:
        good, bad = sorted(phase["nodes"], key=lambda n: n["node"])
        assert good["verify"]["blocks"] == 1024 and good["verify"]["mismatches"] == 0
        assert bad["verify"]["blocks"] == 1024 and bad["verify"]["mismatches"] == 3
        found = {m["offset"] // BLOCK: m for m in bad["verify"]["list"]}
        assert {k: m["cause"] for k, m in found.items()} == {7: "blank", 100: "misplaced", 200: "misplaced"}
        assert found[100]["found"]["offset"] == 200 * BLOCK and found[200]["found"]["offset"] == 100 * BLOCK
        assert found[100]["found"]["phase"] == "write" and found[100]["found"]["node"] == 1
        assert all(m["path"].endswith("/n1/data.0") for m in found.values())
    assert "misplaced" not in out and "a block of another place" in " ".join(out.split())
    assert "verification" in err


def test_a_stale_block_is_found_and_dated():
    job = {"short_phases": True, "phases": [
        {"kind": "write", **SIZES},
        {"kind": "read", "layout": "shared", "time": "2s", "rate_ops": 50, **SIZES},
        {"kind": "rewrite", **SIZES},
        {"kind": "read", "layout": "node", "time": "2s", "rate_ops": 50, **SIZES},
        {"kind": "verify", **SIZES}]}
    with Cluster(nodes=2) as cluster:
        cluster.start()
        run = cluster.start_run(job)
        path = os.path.join(cluster.volume, wait_for("n1", lambda: [
            p for p in cluster.files() if p.endswith("n1/data.0")])[0])
        wait_for("the phase in between", lambda: [p for p in cluster.files() if p.endswith("shared/data")])
        old = pread(path, 33)
        wait_for("the second one in between", lambda: [p for p in cluster.files() if p.endswith("n1/data")])
        assert pread(path, 33) != old
        pwrite(path, 33, old)
        run.communicate(timeout=100)
        assert run.returncode == 5
        phase = cluster.export()["phases"][4]
    bad = next(n for n in phase["nodes"] if n["node"] == "node2")["verify"]
    assert bad["mismatches"] == 1
    m = bad["list"][0]
    assert (m["cause"], m["offset"]) == ("stale", 33 * BLOCK)
    assert m["found"]["phase"] == "write" and m["least_phase"] == "rewrite"
    assert re.match(r"20\d\d-\d\d-\d\d", m["found"]["written_at"])


def test_a_stall_is_in_the_latency_of_all_that_was_due():
    """300 ms of standstill at 100 operations per second: 30 of them were due in it, however few were in flight."""
    job = {"short_phases": True, "phases": [{"kind": "read", "time": "3s", "rate_ops": 100, **SIZES}]}
    with Cluster(nodes=1) as cluster:
        cluster.start()
        run = cluster.start_run(job)

        def reading():
            pid = cluster.runner_pid("node1")
            if pid is None:
                return None
            with open(f"/proc/{pid}/io", encoding="ascii") as f:
                return pid if int(f.read().split("rchar: ")[1].split()[0]) > 30 * 65536 else None
        pid = wait_for("the worker reading", reading)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(pid, signal.SIGCONT)
        run.communicate(timeout=60)
        assert run.returncode == 0
        phase = cluster.export()["phases"][0]
    read = phase["nodes"][0]["by_op"]["read"]
    assert read["ops"] >= 290, "what was late was made up for"
    assert read["latency_ns"]["max"] > 250e6

    def slower(latency, ns):
        return sum(n for at, n in pairs(latency) if at > ns)
    # Due in the first 200 of the 300 ms: at least 20, each with 100 ms and more; but only one or two were in flight.
    assert slower(read["latency_ns"], 90e6) >= 19
    assert read["service_ns"]["count"] == read["ops"]
    assert slower(read["service_ns"], 90e6) <= 5


def pairs(latency):
    """(ns, count) of each bucket, fio's scheme: 64 per power of two."""
    for index, count in latency["histogram"]["buckets"]:
        if index < 128:
            yield index, count
        else:
            shift = index // 64 - 1
            yield ((64 + index % 64) << shift) + (1 << shift) // 2, count


def test_rate_and_sizes_seen_by_strace(tmp_path):
    """100 operations per second for 2 s, of two sizes: counted by strace, not by lockstep."""
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    job = {"short_phases": True, "phases": [{"kind": "random-read", "time": "2s", "rate_ops": 100, "record_sizes": "4KiB:3/64KiB:1",
                                             **SIZES}]}
    trace = tmp_path / "trace"
    with Cluster(nodes=1, wrap={"node1": ["strace", "-f", "-qq", "-e", "trace=pread64", "-o", str(trace)]}) as cluster:
        cluster.start()
        run = cluster.start_run(job)
        run.communicate(timeout=100)
        assert run.returncode == 0
        counted = cluster.export()["phases"][0]["nodes"][0]
    calls = [int(m.group(1)) for m in re.finditer(r"pread64\(.*= (\d+)$", trace.read_text(errors="replace"), re.M)
             if int(m.group(1)) in (4096, 65536)]
    assert 190 <= len(calls) <= 210
    assert counted["ops"] == len(calls) and counted["bytes"] == sum(calls)
    assert 110 <= calls.count(4096) <= 185, "three of four"


def equal_blocks(path):
    with open(path, "rb") as f:
        data = f.read()
    blocks = [data[i:i + BLOCK] for i in range(0, len(data), BLOCK)]
    return len(blocks), len(set(blocks))


def packed(path, *command):
    out = subprocess.run([*command, path], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return len(out) / os.path.getsize(path)


@pytest.mark.parametrize("compress,duplicate,record_size", [(0, 0, "1MiB"), (0, 0, "4KiB"), (0, 0, "2MiB"), (50, 0, "1MiB"),
                                                            (0, 30, "1MiB"), (75, 25, "1MiB"), (100, 0, "1MiB")])
def test_share_of_what_compresses_and_repeats(tmp_path, compress, duplicate, record_size):
    job = {"short_phases": True, "keep_files": True, "phases": [
        {"kind": "write", "file_size": "32MiB", "record_size": record_size, "compress": compress, "duplicate": duplicate}]}
    with Cluster(nodes=1) as cluster:
        cluster.start()
        out = cluster.run(job)
        path = os.path.join(cluster.volume, data_file(cluster, "n0/data.0"))
        total, different = equal_blocks(path)
        assert total == 8192
        assert abs((total - different) / total - duplicate / 100) < 0.01
        random = 1 - compress / 100
        for command in (["zstd", "-3", "-c", "-q"], ["lz4", "-c", "-q"]):
            if shutil.which(command[0]) is None:
                continue
            ratio = packed(path, *command)
            # A compressor finds copies within its window, or does not; the stamps, 1.6 % of a block, compress a little.
            assert random * (1 - duplicate / 100) - 0.02 < ratio < random + 0.03, command
