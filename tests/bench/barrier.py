#!/usr/bin/python3
"""How close is lockstep's start to the floor of this machine? Both measured in the same run, from outside of lockstep.

usage: tests/bench/barrier.py [--phases N] [--rounds N]

The floor: bare processes that sleep, spin and yield to one instant (barrier_floor.c). Lockstep: three agents with one worker each;
the first operations are read from the kernel's system call events. Rounds of both alternate, because machines are noisy.
"""
import argparse
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import BUILD, Cluster  # noqa: E402
from truth import Trace, available, phase_starts  # noqa: E402


def job(phases):
    kinds = ["random-read", "random-write"] * (phases // 2)
    return {"workers": 1, "short_phases": True, "phases": [{"kind": "write", "file_size": "256KiB", "record_size": "4KiB"}] + [
        {"kind": kind, "file_size": "256KiB", "record_size": "4KiB"} for kind in kinds]}


def floor(directory, rounds):
    path = os.path.join(directory, "floor")
    with open(path, "wb") as f:
        f.write(os.urandom(1 << 18))
    done = subprocess.run([f"{BUILD}/tests/bench/barrier_floor", path, "3", str(rounds), "200"], check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]


def lockstep(cluster, phases):
    with Trace(["pread64", "pwrite64"]) as trace:
        status, results, done = cluster.run(job(phases))
        events = trace.events()
    if status != 0:
        raise SystemExit(done.stderr)
    starts = phase_starts(results, events) or [None] * len(results["phases"])
    void = sum(len(p["attempts"]) for p in results["phases"])
    rows = [(max(firsts) - min(firsts) if firsts else None, phase["start_skew_ns"], phase["start_skew_uncertainty_ns"])
            for firsts, phase in zip(starts, results["phases"])][1:]
    return rows, void


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phases", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5, help="alternations of floor and lockstep")
    args = parser.parse_args()
    reason = available()
    if reason:
        raise SystemExit(f"cannot see the truth: {reason}")
    bare, rows, void = [], [], 0
    with Cluster() as cluster:
        cluster.start()
        for _ in range(args.rounds):
            bare += floor(cluster.dir, args.phases // args.rounds)
            more, voided = lockstep(cluster, args.phases // args.rounds)
            rows += more
            void += voided
    real = [r for r, _, _ in rows if r is not None]
    if not real:
        raise SystemExit("no phase of which the kernel's events could be told apart")
    claimed = [c for _, c, _ in rows]
    within = [abs(r - c) <= u + 1000 for r, c, u in rows if r is not None]
    print(f"phases {len(rows)}, void attempts {void}")
    print(f"floor, three bare processes:       median {statistics.median(bare) / 1e3:7.1f} us  p90 {sorted(bare)[len(bare) * 9 // 10] / 1e3:7.1f} us")
    print(f"lockstep, as the kernel saw it:    median {statistics.median(real) / 1e3:7.1f} us  p90 {sorted(real)[len(real) * 9 // 10] / 1e3:7.1f} us")
    print(f"lockstep, as it says itself:       median {statistics.median(claimed) / 1e3:7.1f} us"
          f"  stated uncertainty median {statistics.median(u for _, _, u in rows) / 1e3:.1f} us")
    print(f"ratio to the floor:                {statistics.median(real) / statistics.median(bare):.2f}")
    print(f"claims within stated uncertainty:  {sum(within)} of {len(within)}")


if __name__ == "__main__":
    main()
