"""iozone's throughput figures: what each worker had done when the first one ended, against strace's count of its writes until then."""
import glob
import re

import pytest

from cluster import Cluster

KIB = 1024
RECORDS = 400
RECORD = 16 * KIB


def workers(prefix):
    """Instants at which the writes of each thread that wrote the data returned."""
    found = []
    for name in glob.glob(f"{prefix}.*"):
        with open(name, encoding="utf-8", errors="replace") as f:
            calls = re.findall(rf"^(\d+\.\d+) p?write(?:64)?\(.*= {RECORD}(?: \(DELAYED\))? <([\d.]+)>$", f.read(), re.M)
        if calls:
            found.append([float(at) + float(took) for at, took in calls])
    return found


def test_stonewalled_is_what_each_had_done_when_the_first_ended(tmp_path):
    strace = ["strace", "-ff", "-ttt", "-T", "-e", "trace=write,pwrite64"]
    wrap = {"node1": [*strace, "-o", str(tmp_path / "node1")],
            "node2": [*strace, "-e", "inject=pwrite64:delay_exit=1500", "-o", str(tmp_path / "node2")]}
    with Cluster(2, wrap=wrap) as cluster:
        cluster.start()
        status, results, done = cluster.run({"short_phases": True, "workers": 2, "phases": [
            {"kind": "pwrite", "file_size": RECORDS * RECORD, "record_size": RECORD}]})
        assert status == 0, done.stderr
        phase = results["phases"][0]
        if phase["attempts"]:
            pytest.skip("this machine is too busy: an attempt was void")
        lines = cluster.cli("report", "--format", "iozone", check=True).stdout
    # Files are laid out before the phase by larger writes; those of the phase are as many as it has records.
    threads = [t[-RECORDS:] for name in ("node1", "node2") for t in workers(tmp_path / name)]
    assert [len(t) for t in threads] == [RECORDS] * 4
    first_end = min(t[-1] for t in threads)
    counts = sorted(sum(at <= first_end for at in t) for t in threads)
    assert counts[0] < 0.8 * RECORDS, "the delayed node lags"
    wall, whole = phase["aggregate"]["stonewalled"], phase["aggregate"]["to_end"]
    assert wall["least_bytes"] / RECORD == pytest.approx(counts[0], abs=0.05 * RECORDS)
    assert whole["least_bytes"] == RECORDS * RECORD
    span = max(t[-1] for t in threads) - min(t[0] for t in threads)
    assert wall["parent"] == pytest.approx(sum(counts) * RECORD / span, rel=0.1)  # pwrite: until the files are whole
    assert whole["parent"] == pytest.approx(4 * RECORDS * RECORD / span, rel=0.1)
    for name, of in (("stonewalled", wall), ("to_end", whole)):
        kb = {key: of[key] / KIB for key in ("children", "parent", "min", "max", "mean", "least_bytes")}
        assert f"\tChildren see throughput for  4 pwrite writers \t= {kb['children']:10.2f} kB/sec\n" \
               f"\tParent sees throughput for  4 pwrite writers \t= {kb['parent']:10.2f} kB/sec\n" \
               f"\tMin throughput per thread \t\t\t= {kb['min']:10.2f} kB/sec\n" \
               f"\tMax throughput per thread \t\t\t= {kb['max']:10.2f} kB/sec\n" \
               f"\tAvg throughput per thread \t\t\t= {kb['mean']:10.2f} kB/sec\n" \
               f"\tMin xfer \t\t\t\t\t= {kb['least_bytes']:10.2f} kB\n" in lines, name
    assert lines.index("Stonewall disabled") > lines.index("Children see")
