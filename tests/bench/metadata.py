#!/usr/bin/python3
"""Creating, asking for and removing empty files in one directory of a fresh ext4 in a loop file: lockstep and bonnie++ against a bare loop.

usage: tests/bench/metadata.py [--files N] [--rounds N] [--dir DIR]     (root: it mounts)

Each measurement has a new file system, as creating just after mass deletes is slower for everybody. The order of the three changes from
round to round; a ratio is the median of the ratios within the rounds, with its 95 % interval (Student's t). bare_meta.c does the
calls of lockstep's phases and nothing else. bonnie++'s create and delete have a sync(2) in their time, the others' have not.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import BUILD, Cluster  # noqa: E402

PHASES = ("create", "stat", "unlink")
T_95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042}


class FreshVolume:
    """An ext4 that nobody has used, mounted at a place."""

    def __init__(self, image, place, files):
        self.image, self.place, self.files = image, place, files

    def __enter__(self):
        if os.path.exists(self.image):
            os.unlink(self.image)
        with open(self.image, "wb") as f:
            f.truncate(1 << 30)
        # everything of the file system is made now: nothing is initialised beside the measurement
        subprocess.run(["mkfs.ext4", "-q", "-N", str(2 * self.files + 1000), "-E", "lazy_itable_init=0,lazy_journal_init=0", self.image], check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.place], check=True)
        return self.place

    def __exit__(self, kind, value, trace):
        subprocess.run(["umount", self.place], check=True)
        os.unlink(self.image)


def bare(volume, files):
    done = subprocess.run([f"{BUILD}/tests/bench/bare_meta", volume, str(files)], check=True, capture_output=True, text=True)
    return [files / (int(ns) / 1e9) for ns in done.stdout.split()]


def lockstep(cluster, files):
    job = {"workers": 1, "short_phases": True, "reserve_percent": 0, "phases": [{"kind": k, "files": files} for k in PHASES]}
    status, results, done = cluster.run(job)
    if status != 0:
        raise SystemExit(done.stderr)
    rates = []
    for phase in results["phases"]:
        node = phase["nodes"][0]
        assert node["ops"] == files
        rates.append(node["ops"] / ((node["end_ns"] - node["start_ns"]) / 1e9))
    return rates


def bonnie(volume, files):
    me = ["-u", "root"] if os.geteuid() == 0 else []
    done = subprocess.run(["bonnie++", *me, "-q", "-d", volume, "-r", "0", "-s", "0", "-n", f"{round(files / 1024)}:0:0:1"], check=True,
                          capture_output=True, text=True)
    fields = done.stdout.strip().splitlines()[-1].split(",")
    return [float(f) if f.strip("+") else math.nan for f in (fields[26], fields[28], fields[30])]


def interval(values):
    """Median, and half the 95 % interval of the mean."""
    n = len(values)
    if n < 2:
        return statistics.median(values), math.nan
    t = T_95[max(k for k in T_95 if k <= n - 1)]
    return statistics.median(values), t * statistics.stdev(values) / math.sqrt(n)


def measure(args):
    rates = {"bare": [], "lockstep": [], "bonnie++": []}
    with Cluster(nodes=1) as cluster, tempfile.TemporaryDirectory(dir=args.dir) as directory:
        cluster.start()
        volume = FreshVolume(os.path.join(directory, "image"), cluster.volume, args.files)
        ways = [("bare", lambda: bare(cluster.volume, args.files)), ("lockstep", lambda: lockstep(cluster, args.files)),
                ("bonnie++", lambda: bonnie(cluster.volume, args.files))]
        for number in range(args.rounds):
            for name, way in ways[number % 3:] + ways[:number % 3]:
                with volume:
                    rates[name].append(way())
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--dir", help="where the loop file lies (default: the usual place for temporary files)")
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("only root can mount the file system that is measured")
    rates = measure(args)
    print(f"{args.files} empty files, one directory, fresh ext4 in a loop file, {args.rounds} rounds; medians")
    print(f"{'':10} {'bare op/s':>12} {'lockstep op/s':>14} {'lockstep/bare':>22} {'bonnie++ op/s':>14} {'bonnie++/bare':>22}")
    for k, name in enumerate(PHASES):
        line = f"{name:10} {statistics.median(r[k] for r in rates['bare']):12.0f}"
        for who in ("lockstep", "bonnie++"):
            pairs = [r[k] / b[k] for r, b in zip(rates[who], rates["bare"]) if not math.isnan(r[k])]
            if not pairs:
                line += f" {'too fast':>14} {'':>22}"
                continue
            median, half = interval(pairs)
            line += f" {statistics.median(r[k] for r in rates[who] if not math.isnan(r[k])):14.0f} {median:12.3f} +/- {half:.3f}"
        print(line)


if __name__ == "__main__":
    main()
