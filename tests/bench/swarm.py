#!/usr/bin/python3
"""What thousands of agents cost the coordinator: N of them in one process (swarm.c), real TLS on loopback, no I/O.

usage: tests/bench/swarm.py [--agents N,N,...] [--pki DIR] [--phases N]

For each N, one after the other over one running lockstepd: all connect at once; 50 phases of 100 ms for the barrier; a phase of 10 s for
lockstepd's own cost; 5 phases of 1 s for the results and the report; a tenth of the agents killed in a phase; lockstepd killed and
started again in a phase. Agents and lockstepd share this machine's cores, so every figure is an upper bound. Certificates are
kept in DIR, if given, and found there again.
"""
import argparse
import json
import os
import queue
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import BUILD, Cluster, program, wait_for  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
LIMIT_S = 300


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"RssAnon:\s+(\d+) kB", f.read()).group(1)) * 1024


def stamp(text):
    hour, minute, second = text.split(":")
    return int(hour) * 3600 + int(minute) * 60 + float(second)


class Swarm:
    """The process that plays the agents; its events come as dictionaries."""

    def __init__(self, address, count, pki):
        self.process = subprocess.Popen([os.path.join(BUILD, "tests", "bench", "swarm"), address, str(count), pki],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.events = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.events.put(json.loads(line))

    def expect(self, name, timeout=LIMIT_S):
        end = time.monotonic() + timeout
        while True:
            event = self.events.get(timeout=max(end - time.monotonic(), 0.001))
            if event["event"] == name:
                return event

    def drain(self, name):
        found = []
        while not self.events.empty():
            event = self.events.get()
            if event["event"] == name:
                found.append(event)
        return found

    def say(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


class Bench:
    def __init__(self, cluster, count, pki, phases):
        self.cluster, self.count, self.phases = cluster, count, phases
        self.idle = memory(cluster.daemon.pid)
        self.row = {"agents": count}
        self.swarm = Swarm(cluster.address, count, pki)

    def job(self, phases, seconds, **more):
        one = {"kind": "write", "file_size": "4KiB", "record_size": "4KiB", "time": f"{int(seconds * 1000)}ms"}
        return {"path": "/swarm", "min_nodes": self.count, "short_phases": True, "phases": [one] * phases, "grace": "3s", **more}

    def start(self, phases, seconds, **more):
        self.swarm.drain("")
        name = self.cluster.job_file(self.job(phases, seconds, **more))
        return self.cluster.popen("run", name)

    def finish(self, process):
        out, err = process.communicate(timeout=LIMIT_S)
        if process.returncode != 0:
            raise SystemExit(f"{self.count} agents: lockstep run ended with {process.returncode}\n{out[-2000:]}\n{err[-2000:]}")
        return out

    def watch(self, phases, seconds):
        """A run whose lines somebody reads; its report, of a size of its own, is not asked for."""
        self.swarm.drain("")
        run = self.cluster.cli("run", self.cluster.job_file(self.job(phases, seconds)), "--detach", check=True).stdout.split()[-1]
        self.cluster.cli("watch", run, timeout=LIMIT_S, check=True)

    # --- the parts ---

    def connect(self):
        self.swarm.expect("made")
        self.row["welcome_s"] = self.swarm.expect("welcomed")["after_ns"] / 1e9
        self.row["ready_s"] = self.swarm.expect("ready")["after_ns"] / 1e9
        time.sleep(2)
        self.row["kb_per_agent"] = (memory(self.cluster.daemon.pid) - self.idle) / self.count / 1000

    def barrier(self):
        mark = len(self.cluster.log("lockstepd"))
        before = cpu_s(self.cluster.daemon.pid)
        self.watch(self.phases, 0.1)
        self.row["cpu_ms"] = (cpu_s(self.cluster.daemon.pid) - before) / self.phases * 1e3
        seen = [e for e in self.swarm.drain("barrier") if e["committed"] > 0]
        whole = [e for e in seen if e["missed"] == 0]
        skews = sorted(e["commit_skew_ns"] / 1e6 for e in whole)
        waits = sorted(e["armed_to_commit_ns"] / 1e6 for e in whole)
        self.row.update(skew_ms=statistics.median(skews), skew_p99_ms=skews[int(len(skews) * 0.99)],
                        commit_ms=statistics.median(waits), commit_p99_ms=waits[int(len(waits) * 0.99)],
                        left_ms=min(e["least_left_ns"] for e in whole) / 1e6)
        log = self.cluster.log("lockstepd")[mark:]
        self.row["void"] = log.count("attempt void")
        self.stages(log)

    def stages(self, log):
        """Mean time in each state, and what a phase takes beside its own 100 ms."""
        times, last = {}, None
        for at, before in re.findall(r"T(\d+:\d+:\S+?)Z .*?run=\S+ (\S+) -> ", log):
            now = stamp(at)
            if last is not None:
                times.setdefault(before, []).append(now - last)
            last = now
        inner = sum(sum(t) for state, t in times.items() if state in ("arming", "setting", "running", "collecting", "voiding"))
        self.row["cycle_ms"] = inner / self.phases * 1e3 - 100
        self.row["stages"] = {state: round(statistics.mean(t) * 1e3, 1) for state, t in times.items()}

    def load(self):
        process = self.start(1, 10)
        self.swarm.expect("barrier")
        time.sleep(1)
        before, began = cpu_s(self.cluster.daemon.pid), time.monotonic()
        time.sleep(7)
        self.row["cpu_percent"] = (cpu_s(self.cluster.daemon.pid) - before) / (time.monotonic() - began) * 100
        self.finish(process)

    def results(self):
        mark = len(self.cluster.log("lockstepd"))
        began = time.monotonic()
        self.finish(self.start(5, 1))
        self.row["five_s"] = time.monotonic() - began - 5
        log = self.cluster.log("lockstepd")[mark:]
        moments = {event: [stamp(at) for at in re.findall(rf"T(\d+:\d+:\S+?)Z .*?\({event}\)", log)]
                   for event in ("all set", "stored, phases left", "stored, last phase")}
        ends = moments["stored, phases left"] + moments["stored, last phase"]
        self.row["collect_ms"] = statistics.mean(e - s - 1 for s, e in zip(moments["all set"], ends)) * 1e3
        for form in ("text", "json"):
            began = time.monotonic()
            done = self.cluster.cli("report", "last", "--format", form, check=True)
            self.row[f"report_{form}_s"] = time.monotonic() - began
            self.row[f"report_{form}_mb"] = len(done.stdout) / 1e6

    def killed(self):
        process = self.start(2, 3, on_node_loss="continue")
        self.swarm.expect("barrier")
        time.sleep(1)
        self.swarm.say("kill 10")
        began = time.monotonic()
        self.swarm.expect("killed")
        self.finish(process)
        self.row["killed_s"] = time.monotonic() - began
        document = self.cluster.export()
        states = [n["state"] for n in document["phases"][1]["nodes"]]
        self.row["after_kill"] = f"{document['run']['state']}: {states.count('done')} done, {states.count('lost')} lost"

    def restart(self):
        survivors = self.count - self.count // 10
        process = self.start(2, 4, min_nodes=survivors, grace="30s")
        self.swarm.expect("barrier")
        time.sleep(1)
        self.cluster.daemon.send_signal(signal.SIGKILL)
        self.cluster.daemon.wait()
        self.swarm.drain("")
        began = time.monotonic()
        self.cluster.start_daemon()
        self.swarm.expect("welcomed")
        self.row["back_s"] = time.monotonic() - began
        wait_for("the run is over", lambda: "run over" in self.cluster.log("lockstepd").rsplit(" ready", 1)[1], LIMIT_S)
        process.communicate(timeout=LIMIT_S)
        document = self.cluster.export()
        states = [n["state"] for p in document["phases"] for n in p["nodes"]]
        self.row["after_restart"] = f"{document['run']['state']}: {states.count('done')} of {2 * survivors} results"

    def all(self):
        try:
            for part in (self.connect, self.barrier, self.load, self.results, self.killed, self.restart):
                part()
                print(json.dumps(self.row), file=sys.stderr)
        finally:
            self.swarm.stop()
        return self.row


ROWS = [
    ("connect storm until all are welcome, s", "welcome_s", ".2f"),
    ("... and their clocks measured, s", "ready_s", ".2f"),
    ("lockstepd's memory per agent, KB", "kb_per_agent", ".0f"),
    ("commit: last arrival after the first, median, ms", "skew_ms", ".1f"),
    ("... p99, ms", "skew_p99_ms", ".1f"),
    ("last armed to first commit, median, ms", "commit_ms", ".0f"),
    ("... p99, ms", "commit_p99_ms", ".0f"),
    ("least time left before the instant, ms", "left_ms", ".1f"),
    ("void attempts in 50 phases", "void", "d"),
    ("a phase beside its own 100 ms, ms", "cycle_ms", ".0f"),
    ("lockstepd's CPU time for a phase, ms", "cpu_ms", ".0f"),
    ("lockstepd's CPU at a sample a second, %", "cpu_percent", ".1f"),
    ("results of a phase stored after its end, ms", "collect_ms", ".0f"),
    ("5 phases beside their 5 s, from command to report, s", "five_s", ".2f"),
    ("text report, s", "report_text_s", ".2f"),
    ("results document (JSON), s", "report_json_s", ".2f"),
    ("... MB", "report_json_mb", ".1f"),
    ("10 % killed: end of the run after, s", "killed_s", ".1f"),
    ("... run and its second phase", "after_kill", ""),
    ("lockstepd restarted: all back after, s", "back_s", ".1f"),
    ("... run and results", "after_restart", ""),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", default="250,500,1000,2000")
    parser.add_argument("--pki", help="directory that keeps CA and certificates")
    parser.add_argument("--phases", type=int, default=50)
    args = parser.parse_args()
    pki = os.path.abspath(args.pki or tempfile.mkdtemp(prefix="lockstep-swarm-"))
    columns = []
    try:
        if not os.path.exists(os.path.join(pki, "ca.crt")):
            for words in (["init", pki], ["issue", pki, "coordinator", "coord"]):
                subprocess.run([program("lockstep"), "pki", *words], check=True, stdout=subprocess.DEVNULL)
        files = {"ca": f"{pki}/ca.crt", "cert": f"{pki}/coordinator-coord.crt", "key": f"{pki}/coordinator-coord.key"}
        for count in map(int, args.agents.split(",")):
            with Cluster(nodes=0, settings={"lockstepd": {**files, "log_level": "debug"}}) as cluster:
                cluster.start_daemon()
                columns.append(Bench(cluster, count, pki, args.phases).all())
    finally:
        if not args.pki:
            shutil.rmtree(pki, ignore_errors=True)
    print("| agents | " + " | ".join(str(c["agents"]) for c in columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for title, key, form in ROWS:
        print(f"| {title} | " + " | ".join(format(c[key], form) for c in columns) + " |")


if __name__ == "__main__":
    main()
