"""One file or directory that all share, against their own: the factor, and the layout in which all write the same records."""
import csv
import io
import os

import pytest
from cluster import Cluster
from faultyvolume import FaultyVolume, missing

SMALL = {"kind": "random-write", "file_size": "256KiB", "record_size": "64KiB", "time": "500ms"}


def job(*phases, **more):
    return {"short_phases": True, "workers": 2, "phases": list(phases), **more}


def shared_phases(results):
    return {p["name"]: p["aggregate"].get("contention") for p in results["phases"]}


def test_the_preset_has_a_factor_for_each_shared_phase(cluster):
    status, results, done = cluster.run("contention", "--set", "phases.time=300ms", "--set", "phases.file_size=1MiB", "--set", "phases.files=30",
                                        "--set", "phases.record_size=4KiB")
    assert status == 0, done.stderr
    found = shared_phases(results)
    against = {name: c["against"] for name, c in found.items() if c}
    assert against == {"segments of one file": "own files", "interleaved records of one file": "own files", "the same record of one file": "own files",
                       "create in one directory": "create in own directories", "stat in one directory": "stat in own directories",
                       "unlink in one directory": "unlink in own directories"}
    for phase in results["phases"]:
        c = phase["aggregate"].get("contention")
        if not c:
            continue
        own = next(p for p in results["phases"] if p["name"] == c["against"])
        unit = "bytes_per_s" if phase["kind"] == "random-write" else "ops_per_s"
        assert c["factor"] == pytest.approx(own["aggregate"]["last_done"][unit] / phase["aggregate"]["last_done"][unit])
        assert [n["node"] for n in c["nodes"]] == cluster.names
        for n in c["nodes"]:
            mine = [next(x for x in p["nodes"] if x["node"] == n["node"])[unit] for p in (own, phase)]
            assert n["factor"] == pytest.approx(mine[0] / mine[1])
    for form in ("text", "markdown", "html"):
        assert cluster.cli("report", "last", "--format", form).stdout.count("where each has its own") == 6, form
    rows = {(r["phase"], r["node"], r["metric"]): r["value"] for r in csv.DictReader(io.StringIO(cluster.cli("report", "last", "--format", "csv").stdout))}
    c = found["create in one directory"]
    assert float(rows["create in one directory", "*all*", "contention_factor"]) == pytest.approx(c["factor"])
    assert float(rows["create in one directory", "node3", "contention_factor"]) == pytest.approx(c["nodes"][2]["factor"])
    assert cluster.files() == []


def test_a_slow_shared_file_is_slower_by_that(root, tmp_path):
    """A volume on which the shared file alone takes its time."""
    if missing():
        pytest.skip(missing())
    with Cluster() as cluster, FaultyVolume(cluster.volume, tmp_path / "backing") as volume:
        cluster.start()
        volume.delay("pwrite", 20, name="*/shared/data.s")
        status, results, done = cluster.run(job({**SMALL, "name": "own", "time": "1s"}, {**SMALL, "name": "same", "layout": "same", "time": "1s"}))
        assert status == 0, done.stderr
        c = shared_phases(results)["same"]
        assert c["factor"] > 3 and all(n["factor"] > 3 for n in c["nodes"]), c


def test_all_write_the_same_records_and_they_are_whole(cluster):
    same = {"layout": "same", "file_size": "256KiB", "record_size": "64KiB"}
    status, results, done = cluster.run(job({"kind": "write", **same}, {"kind": "rewrite", **same}, {"kind": "verify", **same}, keep_files=True))
    assert status == 0, done.stderr
    assert [p["aggregate"]["bytes"] for p in results["phases"]] == [6 * 256 * 1024] * 3
    assert all(n["verify"]["blocks"] > 0 and n["verify"]["mismatches"] == 0 for n in results["phases"][2]["nodes"])
    files = [f for f in cluster.files() if f.rsplit("/", 1)[-1].startswith("data")]
    assert len(files) == 1 and files[0].endswith("/shared/data.s")
    assert os.path.getsize(os.path.join(cluster.volume, files[0])) == 256 * 1024


def test_what_may_mix_is_not_verified(cluster):
    """Copies into a mapping are no calls that exclude each other: a block may be of two writers, and nobody is to blame."""
    same = {"layout": "same", "file_size": "256KiB", "record_size": "64KiB"}
    status, _, done = cluster.run(job({"kind": "write", **same, "engine": "mmap"}, {"kind": "verify", **same}))
    assert status == 1 and "the same records by all" in done.stderr, done.stderr
