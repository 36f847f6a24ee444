"""The truth about first operations: system call events of the kernel's tracefs on the monotonic clock, with no help from lockstep.

The monotonic trace clock is the host's, also for processes in time namespaces.
"""
import os
import re
import subprocess

TRACING = "/sys/kernel/tracing"


def available():
    """The reason why not, or None."""
    if os.geteuid() != 0:
        return "not root"
    if not os.path.isdir(f"{TRACING}/events/syscalls"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=False, stderr=subprocess.DEVNULL)
    if not os.path.isdir(f"{TRACING}/events/syscalls"):
        return "no syscall events in tracefs"
    return None


class Trace:
    """An instance of its own, so that others' traces are not disturbed. Use as a context; then events()."""

    def __init__(self, calls, comm="ls-worker"):
        self.dir = f"{TRACING}/instances/lockstep-{os.getpid()}"
        self.calls = calls
        self.comm = comm

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w", encoding="ascii") as f:
            f.write(text)

    def __enter__(self):
        os.mkdir(self.dir)
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", "16384")
        for call in self.calls:
            self.write(f"events/syscalls/sys_enter_{call}/filter", f'comm ~ "{self.comm}*"')
            self.write(f"events/syscalls/sys_enter_{call}/enable", "1")
        return self

    def __exit__(self, kind, value, trace):
        self.write("tracing_on", "0")
        os.rmdir(self.dir)

    def events(self):
        """[(time in ns, thread id, call)] in the order of time; stops tracing."""
        self.write("tracing_on", "0")
        found = []
        with open(f"{self.dir}/trace", encoding="utf-8", errors="replace") as f:
            for line in f:
                m = re.match(r"\s*.*?-(\d+)\s+\[\d+\].*?\s(\d+)\.(\d+): sys_(\w+)\(", line)
                if m:
                    found.append((int(m.group(2)) * 10**9 + int(m.group(3).ljust(9, "0")), int(m.group(1)), m.group(4)))
        return sorted(found)


def phase_starts(results, events):
    """For each phase the first operation of every thread, or None where an attempt was void (then its events are mixed).

    The job must alternate between two calls from phase to phase, one worker a node: a thread's phase begins where its call changes.
    """
    firsts, last = {}, {}
    for at, tid, call in events:
        if last.get(tid) != call:
            firsts.setdefault(tid, []).append(at)
            last[tid] = call
    phases = results["phases"]
    workers = [f for f in firsts.values() if len(f) == len(phases)]
    if len(workers) != len(results["nodes"]):
        return None
    return [None if phase["attempts"] else [f[i] for f in workers] for i, phase in enumerate(phases)]
