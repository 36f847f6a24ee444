#!/usr/bin/python3
"""What does a cell of iozone's grid cost beside its I/O? 126 rows x 13 tests on three agents, each cell at its own barrier.

usage: tests/bench/grid.py [--rows N] [--agents N] [--floor]

A cell is one test at one file size and record size. The whole time of `lockstep run` (report included) less the time that the phases
took (last end minus first start of each) and less the time in which files were flushed after their phase (untimed, but I/O all the same),
over the number of cells; and the median cell, from the instants at which lockstepd notes that a phase is over, which a busy machine's void
attempts do not move. Files lie on tmpfs: what is left is arming, clocks, barrier, results, store. --floor: with the null engine
where a phase has one, and files of one size, so that laying out costs as little as it can.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import Cluster, program  # noqa: E402


def grid_job(rows, floor):
    job = json.loads(subprocess.run([program("lockstep"), "presets", "iozone-auto"], capture_output=True, text=True, check=True).stdout)
    if rows < 126:
        job["grid"] = {"file_sizes": [65536 * (i % 4 + 1) for i in range(rows)], "record_sizes": [4096]}
    for phase in job["phases"] if floor else []:
        if not phase["kind"].startswith("f"):
            phase["engine"] = "null"
    return job


def node_time(phase, key):
    return max(n[key] or 0 for n in phase["nodes"])


def median_cell(log, phases):
    """ms from one phase's end to the next one's, less the time of the latter."""
    over = [datetime.datetime.fromisoformat(at).timestamp() for at in re.findall(r"^(\S+)Z .*: phase over ", log, re.M)]
    assert len(over) == len(phases)
    outside = [1e3 * (b - a) - (p["duration_ns"] + node_time(p, "flush_ns")) / 1e6
               for a, b, p in zip(over, over[1:], phases[1:]) if not p["attempts"]]
    return statistics.median(outside)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=126, help="fewer: files of 64 to 256 KiB in records of 4 KiB")
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--floor", action="store_true")
    args = parser.parse_args()
    volume = tempfile.mkdtemp(prefix="lockstep-grid-", dir="/dev/shm")
    try:
        with Cluster(args.agents, volume=volume) as cluster:
            cluster.start()
            began = time.monotonic()
            status, results, done = cluster.run(grid_job(args.rows, args.floor), "--quiet", timeout=3600)
            whole = time.monotonic() - began
            if status != 0:
                raise SystemExit(done.stderr)
            median = median_cell(cluster.log("lockstepd"), results["phases"])
    finally:
        shutil.rmtree(volume, ignore_errors=True)
    phases = results["phases"]
    work = sum(p["duration_ns"] for p in phases) / 1e9
    flush = sum(node_time(p, "flush_ns") for p in phases) / 1e9
    void = sum(len(p["attempts"]) for p in phases)
    print(f"{len(phases)} cells on {args.agents} agents: {whole:.1f} s in all, {work:.1f} s in phases, {flush:.1f} s in flushes, "
          f"{void} void attempts")
    print(f"{1e3 * (whole - work - flush) / len(phases):.2f} ms a cell outside of the I/O; the median cell: {median:.1f} ms")


if __name__ == "__main__":
    main()
