"""Phases in which only some nodes take part, and each node alone against all together: who really wrote, and when, is strace's word."""
import glob
import re

import pytest

from cluster import Cluster

KIB = 1024
RECORDS = 48
RECORD = 64 * KIB


def writes(prefix):
    """Instants of the data's writes: s, on one machine's clock for all nodes."""
    found = []
    for name in glob.glob(f"{prefix}.*"):
        with open(name, encoding="utf-8", errors="replace") as f:
            found += [float(m.group(1)) for m in re.finditer(rf"^(\d+\.\d+) p?write(?:64)?\(.*= {RECORD}$", f.read(), re.M)]
    return sorted(found)


@pytest.fixture
def traced_cluster(tmp_path):
    wrap = {f"node{i}": ["strace", "-ff", "-ttt", "-e", "trace=write,pwrite64", "-o", str(tmp_path / f"node{i}")] for i in (1, 2, 3)}
    with Cluster(3, wrap=wrap) as c:
        yield c.start(), tmp_path


def test_each_node_writes_alone_and_then_all_do(traced_cluster):
    cluster, folder = traced_cluster
    job = {"name": "scaling", "short_phases": True,
           "phases": [{"kind": "write", "file_size": RECORDS * RECORD, "record_size": RECORD, "solo": True}]}
    status, results, done = cluster.run(job)
    assert status == 0, done.stderr
    assert [p["name"] for p in results["phases"]] == ["write, node1 alone", "write, node2 alone", "write, node3 alone", "write"]
    if any(p["attempts"] for p in results["phases"]):
        pytest.skip("this machine is too busy: an attempt was void")

    at = {n: writes(folder / n) for n in cluster.names}
    assert {n: len(t) for n, t in at.items()} == {n: 2 * RECORDS for n in cluster.names}
    spans = [(at[n][0], at[n][RECORDS - 1]) for n in cluster.names]
    assert all(a[1] < b[0] for a, b in zip(spans, spans[1:])), "one after the other"
    assert max(s[1] for s in spans) < min(t[RECORDS] for t in at.values()), "all of it before any of the phase of all"

    for p in results["phases"][:3]:
        assert [n["node"] for n in p["nodes"]] == [p["name"].split()[1]] and p["aggregate"]["ops"] == RECORDS
    whole = results["phases"][3]
    scaling = whole["aggregate"]["scaling"]
    alone = {p["nodes"][0]["node"]: p["nodes"][0]["bytes_per_s"] for p in results["phases"][:3]}
    together = {n["node"]: n["bytes_per_s"] for n in whole["nodes"]}
    assert scaling["efficiency"] == pytest.approx(whole["aggregate"]["last_done"]["bytes_per_s"] / sum(alone.values()))
    assert scaling["alone"] == pytest.approx(sum(alone.values()) / 3)
    assert {n["node"]: pytest.approx(n["loss"]) for n in scaling["nodes"]} == {n: 1 - together[n] / alone[n] for n in alone}

    text = cluster.cli("scale", check=True).stdout
    assert f"efficiency {100 * scaling['efficiency']:.1f} % by last done" in text
    assert text == cluster.cli("scale", cluster.path("out.json"), check=True).stdout
    rows = [line for line in text.splitlines() if "|" in line]
    assert len(rows) == 4 and all(len(line) <= 100 for line in rows)
    for n in alone:
        assert re.search(rf"^ {n} .* {100 * (1 - together[n] / alone[n]):.1f}  \|", text, re.M)


def test_a_phase_of_two_nodes_leaves_the_third_idle(cluster):
    status, results, done = cluster.run({"short_phases": True, "phases": [
        {"kind": "create", "files": 7, "nodes": ["node3", "node1"]}, {"kind": "create", "files": 3}]})
    assert status == 0, done.stderr
    assert [n["node"] for n in results["phases"][0]["nodes"]] == ["node1", "node3"]
    assert [p["aggregate"]["ops"] for p in results["phases"]] == [14, 9]


def test_an_unknown_node_of_a_phase_is_named_before_anything_is_made(cluster):
    status, results, done = cluster.run({"phases": [{"kind": "write", "nodes": ["node1", "node9"]}]})
    assert status == 3 and results is None
    assert 'phases[0].nodes[1]: "node9" is no node of the run' in done.stderr
    assert cluster.files() == []


def test_a_job_without_solo_phases_says_so(cluster):
    assert cluster.run({"short_phases": True, "phases": [{"kind": "create", "files": 1}]})[0] == 0
    assert "solo" in cluster.cli("scale", check=True).stdout


def test_a_pause_lies_between_two_phases(cluster):
    """The time from one phase's end to the next one's start is told by neither: the whole run's is."""
    phases = [{"kind": "create", "files": 1}, {"kind": "delete", "files": 1, "pause": "1500ms"}]
    status, results, done = cluster.run({"short_phases": True, "phases": phases})
    assert status == 0, done.stderr
    assert results["run"]["duration_ns"] >= 1_500_000_000
