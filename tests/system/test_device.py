"""A raw device as a baseline: only where the agent names it, only read, by no other name."""
import hashlib
import os
import subprocess

import pytest

from cluster import Cluster
from fake_coordinator import Agent

MIB = 1024 * 1024
SIZE = 32 * MIB


@pytest.fixture(name="device")
def make_device(root, tmp_path):
    """A loop device with known content; its image."""
    image = tmp_path / "image"
    image.write_bytes(os.urandom(SIZE))
    loop = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
    yield loop, image
    subprocess.run(["losetup", "-d", loop], check=False)


def content(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def sectors_read(loop):
    with open(f"/sys/block/{os.path.basename(loop)}/stat", encoding="ascii") as f:
        fields = f.read().split()
    return int(fields[2]) * 512, int(fields[6]) * 512


def named(device, nodes):
    return {f"node{i + 1}": {"raw_devices": [device]} for i in range(nodes)}


PHASES = [{"kind": "read", "record_size": "1MiB"}, {"kind": "random-read", "record_size": "4KiB"},
          {"kind": "backward-read", "record_size": "64KiB", "layout": "shared"},
          {"kind": "stride-read", "record_size": "64KiB", "layout": "interleaved"},
          {"kind": "pread", "record_size": "64KiB", "engine": "io_uring", "depth": 8}]


def test_a_named_device_is_read_and_left_as_it_was(device, tmp_path):
    loop, image = device
    before = content(image)
    trace = str(tmp_path / "trace")
    wrap = {"node1": ["strace", "-ff", "-qq", "-s", "0", "-e", "trace=open,openat,openat2", "-o", trace]}
    with Cluster(settings=named(loop, 3), wrap=wrap) as cluster:
        cluster.start()
        read, written = sectors_read(loop)
        phases = [{"file_size": SIZE, "direct": True, "device": loop, **p} for p in PHASES]
        status, results, done = cluster.run({"workers": 1, "short_phases": True, "phases": phases})
        assert status == 0, done.stderr
        assert not any(p["attempts"] for p in results["phases"]) or pytest.skip("void attempts")
        for phase, spec in zip(results["phases"], PHASES):
            shared = spec.get("layout") is not None
            assert phase["aggregate"]["bytes"] == SIZE * (1 if shared else 3)
            assert phase["spec"]["device"] == loop
        read, written = (b - a for a, b in zip((read, written), sectors_read(loop)))
        assert written == 0
        assert 11 * SIZE <= read <= 11 * SIZE + MIB
        assert not [f for f in cluster.files() if "data" in f]
        cluster.terminate_agent("node1")
    opened = []
    for name in os.listdir(tmp_path):
        if name.startswith("trace."):
            with open(tmp_path / name, encoding="utf-8", errors="replace") as f:
                opened += [line for line in f if f'"{loop}"' in line and "= -1" not in line]
    assert opened and all("O_RDONLY" in line and "O_DIRECT" in line for line in opened)
    assert content(image) == before


def refused(cluster, phase, words):
    status, _, done = cluster.run({"phases": [{"file_size": "1MiB", "record_size": "4KiB", "direct": True, **phase}]})
    assert status in (1, 2, 3) and words in done.stderr, (status, done.stderr)
    return status


def test_a_device_that_is_not_named_is_refused(device):
    loop, image = device
    before = content(image)
    with Cluster(nodes=2, settings=named(loop, 1)) as cluster:  # node2 does not name it
        cluster.start()
        assert refused(cluster, {"kind": "read", "device": loop}, "raw_devices") == 3
        assert cluster.files() == []
    assert content(image) == before


def test_other_names_and_other_things_are_refused(device, tmp_path):
    loop, image = device
    before = content(image)
    link = tmp_path / "disk"
    link.symlink_to(loop)
    below = tmp_path / "dev"
    below.symlink_to("/dev")
    indirect = str(below / os.path.basename(loop))
    settings = {"node1": {"raw_devices": [loop, str(link), indirect, str(image), "/dev/null", str(tmp_path / "none")]}}
    with Cluster(nodes=1, settings=settings) as cluster:
        cluster.start()
        assert refused(cluster, {"kind": "read", "device": str(link)}, "symbolic link") == 3
        assert refused(cluster, {"kind": "read", "device": indirect}, "symbolic link") == 3
        assert refused(cluster, {"kind": "read", "device": str(image)}, "no block device") == 3
        assert refused(cluster, {"kind": "read", "device": "/dev/null"}, "/dev/null") == 3
        assert refused(cluster, {"kind": "read", "device": str(tmp_path / "none")}, "No such file") == 3
        assert refused(cluster, {"kind": "read", "device": loop, "file_size": 2 * SIZE}, "has 33554432 bytes") == 1
        assert cluster.files() == []
    assert content(image) == before


@pytest.mark.parametrize("kind", ["write", "rewrite", "random-write", "mixed", "record-rewrite", "pwrite", "fwrite", "fread", "seeks",
                                  "bonnie-rewrite", "char-write", "block-out"])
def test_no_job_writes_to_a_device(cluster, kind):
    status, _, done = cluster.run({"phases": [{"kind": kind, "device": "/dev/loop0"}]})
    assert status == 2 and "device: does not apply to" in done.stderr, done.stderr


def epoch(phase):
    return {"run": "r1", "phase": phase, "repetition": 0, "attempt": 0}


def test_no_coordinator_makes_an_agent_write_to_a_device(device):
    """One that knows neither validation nor the agents' configuration asks all the same."""
    loop, image = device
    before = content(image)
    with Agent() as agent:
        agent.start(raw_devices=loop)
        peer = agent.connect()
        assign = {"run": "r1", "job": {"name": "t", "path": agent.volume, "workers": 1, "reserve_percent": 0}, "node": agent.name,
                  "node_index": 0, "node_count": 1, "max_workers": 1, "token": "t1", "need_bytes": MIB, "need_files": 1}
        peer.send("assign", **{**assign, "devices": ["/dev/loop-control"]})
        assert "raw_devices" in peer.expect("refused")["error"]["text"]
        peer.send("assign", **assign)
        peer.expect("prepared")
        for i, kind in enumerate(["write", "rewrite", "random-write", "mixed", "fwrite", "bonnie-rewrite", "seeks", "char-write"]):
            spec = {"kind": kind, "file_size": MIB, "record_size": 4096, "direct": True, "device": loop}
            peer.send("arm", epoch=epoch(i), spec=spec, node_workers=[1], redo=False)
            assert "only ever read" in peer.expect("failed")["error"]["text"], kind
        spec = {"kind": "read", "file_size": MIB, "record_size": 4096, "direct": True, "device": loop + "p1"}
        peer.send("arm", epoch=epoch(20), spec=spec, node_workers=[1], redo=False)
        assert "raw_devices" in peer.expect("failed")["error"]["text"]
        peer.send("arm", epoch=epoch(21), spec={**spec, "device": loop}, node_workers=[1], redo=False)
        peer.expect("armed")
        peer.send("finish", run="r1")
        peer.expect("finished")
    assert content(image) == before
