#!/usr/bin/python3
"""What does a run cost beside its I/O? From `lockstep run` to the end of the report, over running daemons.

usage: tests/bench/trivial.py [--runs N]

A trivial job (each of three agents writes 16 KiB), preflight, TLS handshake of the command and durable results included; and the
time from the last result of one phase to the start of the next, from a run of 50 phases. If elbencho or fio are installed, they do
the same work in the same run (fio client and server, elbencho services), else their line is left out.
"""
import argparse
import contextlib
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
from truth import Trace, available, phase_starts  # noqa: E402


def timed(command, env=None):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    took = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return took


def fio_servers(directory):
    """Three fio servers on loopback addresses of their own, or None."""
    if not shutil.which("fio"):
        return None, []
    servers = [subprocess.Popen(["fio", f"--server=ip:127.0.0.{i},{20000 + i}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for i in (11, 12, 13)]
    time.sleep(0.5)
    job = os.path.join(directory, "trivial.fio")
    with open(job, "w", encoding="ascii") as f:
        f.write(f"[w]\ndirectory={directory}\nrw=write\nsize=16k\nbs=4k\n")
    command = ["fio", "--output-format=json"]
    for i in (11, 12, 13):
        command += [f"--client=ip:127.0.0.{i},{20000 + i}", job]
    return command, servers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    with Cluster() as cluster:
        cluster.start()
        job = cluster.job_file({"path": cluster.volume, "short_phases": True,
                                "phases": [{"kind": "write", "file_size": "16KiB", "record_size": "4KiB"}]})
        command = [program("lockstep"), "run", job, "--server", cluster.address, *cluster.operator_tls()]
        local = [program("lockstep"), "run", job, "--server", cluster.socket()]
        fio, servers = fio_servers(cluster.dir)
        took = {"lockstep, TLS": [], "lockstep, Unix socket": [], "lockstep --version": [], "fio client and servers": []}
        try:
            for i in range(args.runs):
                took["lockstep, TLS"].append(timed(command))
                took["lockstep, Unix socket"].append(timed(local))
                took["lockstep --version"].append(timed([program("lockstep"), "--version"]))
                if fio and i % 5 == 0:
                    took["fio client and servers"].append(timed(fio))
        finally:
            for server in servers:
                server.kill()
                server.wait()
        for what, times in took.items():
            if times:
                print(f"{what + ':':28} median {statistics.median(times) * 1e3:7.1f} ms  best {min(times) * 1e3:7.1f} ms")

    between_phases()


def between_phases():
    """Store and spool on the disk, the volume in memory, so that no flush of the volume is in the figures."""
    phases = [{"kind": kind, "file_size": "16KiB", "record_size": "4KiB"} for kind in ["write"] + ["read", "rewrite"] * 25]
    volume = tempfile.mkdtemp(prefix="lockstep-bench-", dir="/dev/shm")
    try:
        with Cluster(volume=volume, settings={"lockstepd": {"log_level": "debug"}}) as cluster:
            cluster.start()
            trace = Trace(["pread64", "pwrite64"]) if available() is None else None
            with trace or contextlib.nullcontext():
                status, results, done = cluster.run({"workers": 1, "short_phases": True, "phases": phases})
                events = trace.events() if trace else []
            if status != 0:
                raise SystemExit(done.stderr)
            log = cluster.log("lockstepd")
    finally:
        shutil.rmtree(volume)
    times = {}
    for stamp, event, phase in re.findall(r"T(\S+)Z .*\((all received|all set)\) phase=(\d+) ", log):
        hour, minute, second = stamp.split(":")
        times[(event, int(phase))] = int(hour) * 3600 + int(minute) * 60 + float(second)
    gaps = [times[("all set", i + 1)] - times[("all received", i)] for i in range(len(phases) - 1)
            if ("all set", i + 1) in times and ("all received", i) in times]
    print(f"from the last result of a phase to commit of the next: mean {statistics.mean(gaps) * 1e3:.1f} ms, median"
          f" {statistics.median(gaps) * 1e3:.0f} ms (the instant follows within 3.2 ms)")
    starts = phase_starts(results, events) if events else None
    if starts and all(starts):
        firsts = [min(s) for s in starts]
        lasts = [max(at for at, _, _ in events if at < first) for first in firsts[1:]]
        quiet = [first - last for first, last in zip(firsts[1:], lasts)]
        print(f"from the last I/O of a phase to the first of the next, as the kernel saw it: median"
              f" {statistics.median(quiet) / 1e6:.2f} ms, best {min(quiet) / 1e6:.2f} ms")


if __name__ == "__main__":
    main()
