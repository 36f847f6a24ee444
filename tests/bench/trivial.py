#!/usr/bin/python3
"""What does a run cost beside its I/O? From `lockstep run` to the end of the report, over running daemons.

usage: tests/bench/trivial.py [--runs N]

A trivial job (each of three agents writes 16 KiB), preflight, TLS handshake of the command and durable results included; and the
time from the last result of one phase to the start of the next, from a run of 50 phases. If elbencho or fio are installed, they do
the same work in the same run (fio client and server, elbencho services), else their line is left out.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import Cluster, program  # noqa: E402


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

        phases = [{"kind": kind, "file_size": "16KiB", "record_size": "4KiB"} for kind in ["write", "read"] * 25]
        began = time.monotonic()
        status, results, done = cluster.run({"short_phases": True, "phases": phases})
        whole = time.monotonic() - began
        if status != 0:
            raise SystemExit(done.stderr)
        work = sum(p["duration_ns"] + max(n["flush_ns"] or 0 for n in p["nodes"]) for p in results["phases"]) / 1e9
        run = results["run"]["duration_ns"] / 1e9
        print(f"50 phases: {run * 1e3:.0f} ms of which I/O and flushes {work * 1e3:.0f} ms;"
              f" between two phases {(run - work) / len(phases) * 1e3:.2f} ms (preflight and clean-up included); command {whole * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
