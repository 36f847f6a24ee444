#!/usr/bin/python3
"""How fast is lockstep beside a bare loop of the same system calls, and beside fio, in alternating rounds of one run?

usage: tests/bench/speed.py [--rounds N] [--rows 1,2,...] [--shm DIR] [--disk DIR] [--scale X] [--json FILE]

Each round runs the bare loop (tests/bench/bare.c), lockstep (`lockstep run --local 1`: daemon, agent and runner over TLS, all accounting
on) and fio one after the other; the order turns from round to round. Speed is operations from the first to the last, as each of them
says; CPU is user and system time of the whole process tree (of lockstep with its daemons), less that of a run that does the same but for
one record, per operation. On a disk each of them works on a file that was laid out just before, as lockstep does: what the disk (or its
host) still does with it hits all alike. Printed: medians, and the ratio to the bare loop of the same round as the geometric mean over the rounds with its
95 % interval (t distribution of the logarithms). A bound holds where the interval reaches it.
"""
import argparse
import contextlib
import glob
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import BUILD, program  # noqa: E402

KIB = 1024
MIB = 1024 * KIB
T_975 = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
         2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


class Row:
    """One line of the table. operations: per worker."""

    def __init__(self, title, place, kind, record, file_size, operations, workers=1, depth=1, bounds=(0.98, 1.25), settings=None):
        self.title, self.place, self.kind, self.record, self.file_size = title, place, kind, record, file_size
        self.operations, self.workers, self.depth, self.bounds, self.settings = operations, workers, depth, bounds, settings or {}
        self.write = "write" in kind
        self.random = "random" in kind
        self.direct = place == "disk"


ROWS = [
    Row("4 KiB random read, shm, sync, 1 thread", "shm", "random-read", 4 * KIB, 256 * MIB, 2000000, bounds=(0.95, 1.05)),
    Row("the same, 2 threads", "shm", "random-read", 4 * KIB, 256 * MIB, 1500000, workers=2, bounds=(0.97, 1.04)),
    Row("4 KiB random read, O_DIRECT, ext4, depth 16", "disk", "random-read", 4 * KIB, 256 * MIB, 150000, depth=16),
    Row("4 KiB random write, O_DIRECT, ext4, depth 16", "disk", "random-write", 4 * KIB, 256 * MIB, 150000, depth=16),
    Row("1 MiB sequential read, shm", "shm", "read", MIB, 256 * MIB, 20480, bounds=(0.98, 1.02)),
    Row("1 MiB sequential overwrite, shm, constant data", "shm", "rewrite", MIB, 256 * MIB, 12288, bounds=(0.98, 1.03),
        settings={"compress": 100}),
    Row("the same, data neither compresses nor deduplicates", "shm", "rewrite", MIB, 256 * MIB, 12288, bounds=(0.95, 1.06)),
]


def run(command, env=None):
    """Runs it; its output, and the user and system time of it and its descendants."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {errors.read()[-2000:]}{out.read()[-2000:]}")
        return out.read(), usage.ru_utime + usage.ru_stime


class Bare:
    name = "bare"

    def __init__(self, row, directory):
        self.row = row
        self.files = [os.path.join(directory, f"bare.{i}") for i in range(row.workers)]
        self.lay_out()

    def lay_out(self):
        for name in self.files:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            with open(name, "wb") as f:
                for _ in range(self.row.file_size // MIB):
                    f.write(os.urandom(MIB))
                f.flush()
                os.fsync(f.fileno())
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def run(self, operations):
        row = self.row
        if row.direct:
            self.lay_out()
        how = ("uring-" if row.depth > 1 else "p") + ("write" if row.write else "read")
        out, cpu = run([os.path.join(BUILD, "tests", "bench", "bare"), how, "random" if row.random else "sequential",
                        "direct" if row.direct else "buffered", str(row.record), str(row.file_size), str(operations), str(row.depth),
                        *self.files])
        nanoseconds, done = map(int, out.split())
        return done / (nanoseconds / 1e9), cpu, done


class Lockstep:
    name = "lockstep"

    def __init__(self, row, directory):
        self.row = row
        self.directory = directory
        self.home = tempfile.mkdtemp(prefix="lockstep-bench-home-")

    def run(self, operations):
        row = self.row
        phase = {"kind": row.kind, "record_size": row.record, "file_size": row.file_size, "amount": operations * row.record,
                 "direct": row.direct, **({"engine": "io_uring", "depth": row.depth} if row.depth > 1 else {}), **row.settings}
        job = os.path.join(self.home, "job.json")
        result = os.path.join(self.home, "result.json")
        with open(job, "w", encoding="utf-8") as f:
            json.dump({"path": self.directory, "workers": row.workers, "short_phases": True, "phases": [phase]}, f)
        env = dict(os.environ, HOME=self.home, XDG_STATE_HOME=self.home)
        _, cpu = run([program("lockstep"), "run", "--local", "1", "--quiet", "--json", result, job], env)
        with open(result, encoding="utf-8") as f:
            node = json.load(f)["phases"][0]["nodes"][0]
        return node["ops"] / ((node["end_ns"] - node["start_ns"]) / 1e9), cpu, node["ops"]

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)


class Fio:
    name = "fio"

    def __init__(self, row, directory):
        self.row = row
        self.directory = directory

    def run(self, operations):
        row = self.row
        for left in glob.glob(os.path.join(self.directory, "bench.*")) if row.direct else []:
            os.unlink(left)
        rw = ("rand" if row.random else "") + ("write" if row.write else "read")
        engine = ["--ioengine=io_uring", f"--iodepth={row.depth}"] if row.depth > 1 else ["--ioengine=psync"]
        data = ["--zero_buffers"] if row.settings.get("compress") == 100 else ["--refill_buffers"] if row.write and row.record == MIB else []
        out, cpu = run(["fio", "--name=bench", f"--directory={self.directory}", f"--rw={rw}", f"--bs={row.record}",
                        f"--size={row.file_size}", f"--io_size={operations * row.record}", f"--numjobs={row.workers}", "--group_reporting",
                        f"--direct={int(row.direct)}", "--thread", "--fallocate=none", "--overwrite=1", "--output-format=json", *engine, *data])
        job = json.loads(out[out.index("{"):])["jobs"][0]["write" if row.write else "read"]
        return job["iops"], cpu, job["total_ios"]


def interval(ratios):
    """Geometric mean of the ratios and its 95 % interval; not a number where a run was too short to be told from none."""
    if min(ratios) <= 0:
        return float("nan"), float("nan"), float("nan")
    logs = [math.log(r) for r in ratios]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), float("nan"), float("nan")
    half = T_975[min(len(logs) - 1, 30)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def measure(row, directory, rounds, scale):
    """Speeds and CPU seconds per operation by tool, a value each round."""
    operations = max(int(row.operations * scale), 64)
    tools = [Bare(row, directory), Lockstep(row, directory), *([Fio(row, directory)] if shutil.which("fio") else [])]
    speeds = {t.name: [] for t in tools}
    busy = {t.name: [] for t in tools}
    idle = {t.name: [] for t in tools}
    for tool in tools:  # files laid out, programs in the cache
        tool.run(1)
    for i in range(rounds):
        for tool in tools[i % len(tools):] + tools[:i % len(tools)]:
            idle[tool.name].append(tool.run(1)[1])
            speed, cpu, done = tool.run(operations)
            speeds[tool.name].append(speed)
            busy[tool.name].append((cpu, done))
        print(f"  round {i + 1}: " + ", ".join(f"{t.name} {speeds[t.name][-1]:,.0f}/s, {busy[t.name][-1][0]:.2f} s CPU" for t in tools),
              file=sys.stderr)
    tools[1].close()
    # What a run without work costs varies more than what the work costs: its median, not the one that happened to stand beside.
    cpus = {name: [(cpu - statistics.median(idle[name])) / (done - row.workers) for cpu, done in values] for name, values in busy.items()}
    return speeds, cpus


def told(ratios, bound=None, least=True):
    middle, low, high = interval(ratios)
    text = f"{middle:.3f} [{low:.3f}, {high:.3f}]"
    if bound is None:
        return text
    holds = high >= bound if least else low <= bound
    return f"{text} {'>=' if least else '<='} {bound}: {'holds' if holds else 'NOT'}"


def table_line(row, speeds, cpus):
    def ratios(values, name):
        return [a / b for a, b in zip(values[name], values["bare"])]
    bare = f"{statistics.median(speeds['bare']):,.0f}/s, {statistics.median(cpus['bare']) * 1e6:.2f} us"
    fio = f"{told(ratios(speeds, 'fio'))} ({told(ratios(cpus, 'fio'))})" if "fio" in speeds else "not installed"
    ours = f"{told(ratios(speeds, 'lockstep'), row.bounds[0])} ({told(ratios(cpus, 'lockstep'), row.bounds[1], False)})"
    return f"| {row.title} | {bare} | {fio} | {ours} |"


def null_line():
    """The engine without I/O, against two readings of the clock and 20 ns."""
    out, _ = run([os.path.join(BUILD, "tests", "bench", "engine_null")])
    clock = float(re.search(r"clock reading\s+([\d.]+)", out).group(1))
    cost = float(re.search(r"random-read\s+([\d.]+)", out).group(1))
    bound = 2 * clock + 20
    return f"| null engine, random offset: ns per operation | clock reading {clock:.1f} ns | | {cost:.1f} <= {bound:.1f}: {'holds' if cost <= bound else 'NOT'} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rows", default=",".join(str(i + 1) for i in range(len(ROWS) + 1)), help="numbers of the table's rows")
    parser.add_argument("--shm", default="/dev/shm", help="a directory on tmpfs")
    parser.add_argument("--disk", default="/var/tmp", help="a directory on ext4 with direct I/O")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times the operations")
    parser.add_argument("--json", help="all figures of all rounds, into this file")
    args = parser.parse_args()
    places = {"shm": args.shm, "disk": args.disk}
    lines, figures = [], {}
    for number in map(int, args.rows.split(",")):
        if number == len(ROWS) + 1:
            lines.append(null_line())
            continue
        row = ROWS[number - 1]
        print(f"{number}. {row.title}", file=sys.stderr)
        directory = tempfile.mkdtemp(prefix="lockstep-bench-", dir=places[row.place])
        try:
            speeds, cpus = measure(row, directory, args.rounds, args.scale)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        lines.append(table_line(row, speeds, cpus))
        figures[row.title] = {"per_second": speeds, "cpu_s_per_operation": cpus}
    print(f"\n{args.rounds} rounds; ratio to the bare loop [95 % interval], in brackets that of CPU time per operation\n")
    print("| work | bare: operations/s, CPU each | fio / bare | lockstep / bare |")
    print("| --- | --- | --- | --- |")
    print("\n".join(lines))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(figures, f, indent=1)


if __name__ == "__main__":
    main()
