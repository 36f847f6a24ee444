"""Three agents in three network namespaces, as on three machines that share one volume."""
import os
import subprocess

import pytest

from cluster import Cluster, wait_for
from test_faults import moving

DATA = {"workers": 2, "short_phases": True, "phases": [
    {"kind": "write", "file_size": "1MiB", "record_size": "64KiB"}, {"kind": "read", "file_size": "1MiB", "record_size": "64KiB"},
    {"kind": "random-read", "file_size": "1MiB", "record_size": "4KiB", "time": "300ms"}]}


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def namespaces(mounts):
    """A bridge in a namespace of its own, and three more with a link to it; nothing of it can reach the outside."""
    tag = f"ls{os.getpid()}"
    names = [f"{tag}-c"] + [f"{tag}-{i}" for i in (1, 2, 3)]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", names[0], "link", "add", "br0", "type", "bridge")
        ip("-n", names[0], "addr", "add", "10.98.0.1/24", "dev", "br0")
        ip("-n", names[0], "link", "set", "br0", "up")
        for i, name in enumerate(names[1:], 1):
            ip("link", "add", f"p{i}", "netns", names[0], "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", names[0], "link", "set", f"p{i}", "master", "br0", "up")
            ip("-n", name, "addr", "add", f"10.98.0.{10 + i}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def test_a_run_over_three_network_namespaces(namespaces):
    wrap = {f"node{i}": ["ip", "netns", "exec", namespaces[i]] for i in (1, 2, 3)}
    with Cluster(wrap=wrap, daemon_wrap=["ip", "netns", "exec", namespaces[0]], listen="10.98.0.1:0") as cluster:
        cluster.start()
        status, results, done = cluster.run(DATA)
        assert status == 0, done.stderr
        assert sorted(n["address"].rsplit(":", 1)[0] for n in results["nodes"]) == ["10.98.0.11", "10.98.0.12", "10.98.0.13"]
        assert all(p["state"] == "done" for p in results["phases"])
        assert cluster.files() == []


def test_a_pulled_cable_is_a_lost_node(namespaces):
    wrap = {f"node{i}": ["ip", "netns", "exec", namespaces[i]] for i in (1, 2, 3)}
    with Cluster(wrap=wrap, daemon_wrap=["ip", "netns", "exec", namespaces[0]], listen="10.98.0.1:0") as cluster:
        cluster.start()
        run = cluster.start_run({**DATA, "grace": "1s", "orphan_time": "2s", "phases": [
            {"kind": "random-read", "file_size": "1MiB", "record_size": "4KiB", "time": "60s"}]})
        moving(cluster)
        ip("-n", namespaces[0], "link", "set", "p2", "down")
        out, err = run.communicate(timeout=60)
        assert run.returncode == 1
        results = cluster.export()
        assert results["run"]["state"] == "failed" and "node2" in results["run"]["reason"]
        wait_for("node2 stopped by itself", lambda: cluster.runner_pid("node2") is None, 60)
        wait_for("no file left", lambda: cluster.files() == [])
