#!/usr/bin/python3
"""Do lockstep's figures agree with those of the tool that a phase is named after? On the same file system, in alternating rounds.

usage: tests/bench/agree.py [--rounds N] [--volumes tmpfs,ext4] [--only bonnie,iozone,fio,crystaldiskmark] [--seconds S]

One agent against bonnie++ 2.00 (preset bonnie, same sizes), iozone's thirteen tests where an iozone is installed, and fio (reads and writes, the rows of CrystalDiskMark, which only runs on
Windows: fio issues the same operations). ext4 is a fresh one in a loop file (root). Printed are medians, the tool's own spread (largest
minus smallest of its rounds, of its median) and the difference of the medians; "!" marks one that is larger than the spread of either
and than 5 %. Beside them stands the CPU time, user and system, per unit of the rate (KiB or MiB, seek or file), which tells more on a
busy machine: the same calls cost the same however long they wait. Debian has no iozone in its main part: its source compiles with `make linux-AMD64`.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import Cluster, program  # noqa: E402

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LEAST = 0.05  # differences below this are none


# --- volumes -------------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def tmpfs():
    folder = tempfile.mkdtemp(prefix="lockstep-agree-", dir="/dev/shm")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def ext4():
    folder = tempfile.mkdtemp(prefix="lockstep-agree-")
    image, mount = os.path.join(folder, "image"), os.path.join(folder, "mnt")
    os.mkdir(mount)
    try:
        with open(image, "wb") as f:
            f.truncate(8 * GIB)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, mount], check=True)
        try:
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


VOLUMES = {"tmpfs": tmpfs, "ext4": ext4}


# --- bonnie++ ------------------------------------------------------------------------------------------------------------------

BONNIE_NAMES = ["per char out", "block out", "rewrite", "per char in", "block in", "seeks",
                "seq. create", "seq. stat", "seq. delete", "ran. create", "ran. stat", "ran. delete"]


def bonnie_size(volume):
    return (3 * GIB, 48) if volume == "tmpfs" else (1 * GIB, 16)


def bonnie_tool(volume, folder, _):
    size, files = bonnie_size(volume)
    command = ["bonnie++", "-q", "-u", "root", "-d", folder, "-r", "0", "-s", f"{size // MIB}:8k", "-n", str(files), "-m", "x"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1].split(",")
    found = {}
    for name, column in zip(BONNIE_NAMES, [*range(9, 21, 2), *range(26, 38, 2)]):
        known = out[column] and "+" not in out[column]
        rate = float(out[column]) if known else None
        # of seeks it adds the whole process once for each of five threads
        found[name] = (rate, float(out[column + 1]) / 100 / rate * 1e6 if known and name != "seeks" else None)
    return found


def cpu_us(phase, units):
    """CPU time of the workers per unit."""
    cpu = phase["nodes"][0]["cpu"]
    return (cpu["user_ns"] + cpu["system_ns"]) / 1e3 / units


def run_job(cluster, job):
    status, results, done = cluster.run(job, timeout=1200)
    if status != 0:
        raise SystemExit(done.stderr)
    return results


def preset(name):
    return json.loads(subprocess.run([program("lockstep"), "presets", name], capture_output=True, text=True, check=True).stdout)


def bonnie_ours(volume, cluster, _):
    size, files = bonnie_size(volume)
    job = preset("bonnie")
    for phase in job["phases"]:
        if "files" in phase:
            phase["files"] = files * 1024
        else:
            phase["file_size"] = size
    found = {}
    for name, phase in zip(BONNIE_NAMES, run_job(cluster, job)["phases"]):
        rate, whole = phase["aggregate"]["last_done"], phase["aggregate"]
        in_bytes = name in BONNIE_NAMES[:5]
        value = rate["bytes_per_s"] if in_bytes else rate["ops_per_s"]
        units = whole["bytes"] / KIB if in_bytes else whole["ops"]
        found[name] = (value if value is None or not in_bytes else value / KIB, cpu_us(phase, units))
    return found


# --- iozone ------------------------------------------------------------------------------------------------------------------

IOZONE_FILE, IOZONE_RECORD = 512 * MIB, 64 * KIB


def iozone_kinds():
    """Our phases in the order of iozone's columns, which is that of its tests."""
    kinds = []
    for phase in preset("iozone-auto")["phases"]:
        kinds += [phase["kind"]] if phase["kind"] not in kinds else []
    return kinds


def iozone_tool(_, folder, __):
    out = subprocess.run(["iozone", "-s", str(IOZONE_FILE // KIB), "-r", str(IOZONE_RECORD // KIB), "-f", f"{folder}/iozone.tmp",
                          *[word for test in range(8) for word in ("-i", str(test))]], capture_output=True, text=True, check=True).stdout
    row = next(line.split() for line in out.splitlines() if line.split()[:2] == [str(IOZONE_FILE // KIB), str(IOZONE_RECORD // KIB)])
    return {kind: (float(rate), None) for kind, rate in zip(iozone_kinds(), row[2:])}


def iozone_ours(_, cluster, __):
    phases = [{"kind": kind, "file_size": IOZONE_FILE, "record_size": IOZONE_RECORD} for kind in iozone_kinds()]
    results = run_job(cluster, {"short_phases": True, "phases": phases})
    return {p["kind"]: (p["aggregate"]["last_done"]["bytes_per_s"] / KIB, cpu_us(p, p["aggregate"]["bytes"] / KIB)) for p in results["phases"]}


# --- fio ---------------------------------------------------------------------------------------------------------------------

FILE = 256 * MIB


def fio_rows(volume):
    """name: (fio's rw, our kind, record, depth)"""
    return {"read 1 MiB": ("read", "read", MIB, 1), "write 1 MiB": ("write", "rewrite", MIB, 1),
            "random read 4 KiB": ("randread", "random-read", 4 * KIB, 1), "random write 4 KiB": ("randwrite", "random-write", 4 * KIB, 1)}


def crystaldiskmark_rows(volume):
    """From the preset itself, so that what is compared is what it does."""
    rw = {"read": "read", "rewrite": "write", "random-read": "randread", "random-write": "randwrite"}
    units = {"1MiB": MIB, "4KiB": 4 * KIB}
    return {p["name"]: (rw[p["kind"]], p["kind"], units[p["record_size"]], p.get("depth", 1)) for p in preset("crystaldiskmark")["phases"]}


def fio_tool(rows):
    def run(volume, folder, seconds):
        found = {}
        for name, (rw, _, record, depth) in rows(volume).items():
            command = ["fio", "--name=x", f"--filename={folder}/fio.data", f"--size={FILE}", f"--rw={rw}", f"--bs={record}",
                       f"--direct={int(volume != 'tmpfs')}", f"--ioengine={'io_uring' if depth > 1 else 'psync'}", f"--iodepth={depth}",
                       "--time_based", f"--runtime={seconds}", "--randrepeat=0", "--norandommap",
                       "--output-format=json", "--thread"]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            job = json.loads(out[out.index("{"):])["jobs"][0]
            rate = job["read" if "read" in rw else "write"]["bw_bytes"] / MIB
            side = job["read" if "read" in rw else "write"]
            found[name] = (rate, (job["usr_cpu"] + job["sys_cpu"]) / 100 * side["runtime"] * 1e3 / (side["io_bytes"] / MIB))
        os.unlink(f"{folder}/fio.data")
        return found
    return run


def fio_ours(rows):
    def run(volume, cluster, seconds):
        phases = []
        for name, (_, kind, record, depth) in rows(volume).items():
            phase = {"name": name, "kind": kind, "file_size": FILE, "record_size": record, "direct": volume != "tmpfs",
                     "time": f"{seconds}s"}
            if depth > 1:
                phase.update(engine="io_uring", depth=depth)
            if kind.startswith("random"):
                phase["random_repeats"] = True
            phases.append(phase)
        results = run_job(cluster, {"short_phases": True, "phases": phases})
        return {p["name"]: (p["aggregate"]["last_done"]["bytes_per_s"] / MIB, cpu_us(p, p["aggregate"]["bytes"] / MIB))
                for p in results["phases"]}
    return run


TOOLS = {"bonnie": ("bonnie++", bonnie_tool, bonnie_ours, "KiB/s, seeks and files/s"),
         "iozone": ("iozone", iozone_tool, iozone_ours, "KiB/s"),
         "fio": ("fio", fio_tool(fio_rows), fio_ours(fio_rows), "MiB/s"),
         "crystaldiskmark": ("fio", fio_tool(crystaldiskmark_rows), fio_ours(crystaldiskmark_rows), "MiB/s, rows of CrystalDiskMark")}


# --- rounds ------------------------------------------------------------------------------------------------------------------

def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def column(rounds, name, which):
    return [r[name][which] for r in rounds if r[name][which] is not None]


def cost(theirs, ours, name):
    a, b = column(theirs, name, 1), column(ours, name, 1)
    if not a or not b:
        return ""
    return f"{statistics.median(a):10.3g}{statistics.median(b):10.3g}{100 * (statistics.median(b) / statistics.median(a) - 1):+8.0f}%"


def table(theirs, ours):
    outside = []
    print(f"{'':24}{'tool':>10}{'spread':>8}{'lockstep':>10}{'spread':>8}{'diff.':>9}   |{'CPU us':>9}{'lockstep':>10}{'diff.':>9}")
    for name in theirs[0]:
        a, b = column(theirs, name, 0), column(ours, name, 0)
        if len(a) < 2 or len(b) < 2:
            rates = [f"{statistics.median(x):.0f}" if len(x) > 1 else "too fast" for x in (a, b)]
            print(f"{name:24}{rates[0]:>10}{'':8}{rates[1]:>10}{'':17}   |{cost(theirs, ours, name)}")
            continue
        difference = statistics.median(b) / statistics.median(a) - 1
        is_outside = abs(difference) > max(spread(a), spread(b), LEAST)
        outside += [name] if is_outside else []
        print(f"{name:24}{statistics.median(a):10.0f}{100 * spread(a):7.0f}%{statistics.median(b):10.0f}{100 * spread(b):7.0f}%"
              f"{100 * difference:+8.1f}% {'!' if is_outside else ' '} |{cost(theirs, ours, name)}")
    return outside


def compare(which, volume, args):
    tool, theirs, ours, unit = TOOLS[which]
    if not shutil.which(tool):
        print(f"{tool} is not installed: left out")
        return []
    if which == "crystaldiskmark" and volume == "tmpfs":
        return []  # depths mean nothing where nothing waits
    if volume == "ext4" and os.geteuid() != 0:
        print("ext4 in a loop file needs root: left out")
        return []
    with VOLUMES[volume]() as folder, Cluster(1, volume=os.path.join(folder, "lockstep")) as cluster:
        cluster.start()
        rounds = ([], [])
        for i in range(args.rounds + 1):  # the first one warms up and is dropped
            order = (0, 1) if i % 2 == 0 else (1, 0)
            for side in order:
                rounds[side].append(theirs(volume, folder, args.seconds) if side == 0 else ours(volume, cluster, args.seconds))
    print(f"\n{which} on {volume}: {tool} and lockstep, {unit}, {args.rounds} alternating rounds")
    return [f"{which} on {volume}: {name}" for name in table(rounds[0][1:], rounds[1][1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each row of fio")
    parser.add_argument("--volumes", default="tmpfs,ext4")
    parser.add_argument("--only", default=",".join(TOOLS))
    args = parser.parse_args()
    outside = []
    for which in args.only.split(","):
        for volume in args.volumes.split(","):
            outside += compare(which, volume, args)
    print(f"\n{len(outside)} medians differ by more than the tool's own runs do{': ' if outside else ''}{', '.join(outside)}")


if __name__ == "__main__":
    main()
