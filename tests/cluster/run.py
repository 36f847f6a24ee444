#!/usr/bin/env python3
"""make test-cluster: lockstep on three emulated machines that share a real OCFS2, GFS2 or OCFS2 over iSCSI.

  tests/cluster/run.py [--list] [--only WORD] [--keep]

Boots the lab for each kind of volume in turn, installs the Debian packages on the machines, runs the scenarios of that kind and
prints "N passed, N failed, N skipped". BUILD/cluster keeps the results document and a page of each run, what the check said, the
comparison of the file systems, and summary.txt, which says what was played and how long it took. What is proved is behaviour: the
machines are emulated, their speed means nothing.
"""
import argparse
import os
import shutil
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import machines  # noqa: E402
import scenarios  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("LOCKSTEP_BUILD", os.path.join(ROOT, "build")))
NEEDED = ("qemu-system-x86_64", "qemu-img", "mmdebstrap", "ip", "mkfs.ext4", "ssh", "busybox", "cpio")


def missing():
    """Why the lab cannot run here, or None."""
    if os.geteuid():
        return "needs root"
    paths = os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin"]
    for tool in NEEDED:
        if not any(os.access(os.path.join(p, tool), os.X_OK) for p in paths):
            return f"{tool} is missing; tests/cluster/lab/build --deps installs what the lab needs"
    return None


class Count:
    def __init__(self, summary):
        self.passed = self.failed = self.skipped = 0
        self.summary = summary

    def say(self, line):
        print(line, flush=True)
        self.summary.write(line + "\n")
        self.summary.flush()

    def end(self):
        self.say(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")

    def run(self, name, function, *words):
        began = time.monotonic()
        try:
            function(*words)
        except scenarios.Skip as why:
            self.skipped += 1
            self.say(f"SKIP {name}: {why}")
            return False
        except Exception as error:  # a scenario may fail in any way: the others go on
            self.failed += 1
            self.say(f"FAIL {name} ({time.monotonic() - began:.0f} s): {error}")
            if not isinstance(error, machines.Failed):
                traceback.print_exc()
            return False
        self.passed += 1
        self.say(f"ok   {name} ({time.monotonic() - began:.0f} s)")
        return True


def play(kind, wanted, count, out, keep):
    """One set of machines: boot, install, the scenarios. keep: they stay up."""
    lab = machines.Lab()
    site = machines.Site(lab, BUILD, out)
    place = scenarios.KINDS[kind]
    try:
        if not count.run(f"{kind}: three machines up", lab.up, place.volume):
            return
        if place.installed and not count.run(f"{kind}: packages installed, agents connected", site.start):
            return
        for name, function in wanted:
            count.run(f"{kind}: {name}", function, scenarios.Context(kind, lab, site, out))
    finally:
        site.stop()
        if not keep:
            lab.down()


def compare(out):
    """What was measured on each file system, side by side."""
    base = os.path.join(out, "compare")
    sides = [f"{title}={os.path.join(out, kind)}-quick.json" for kind, title in scenarios.COMPARED]
    for ending, form in (("txt", "text"), ("html", "html"), ("md", "markdown")):
        machines.run([os.path.join(BUILD, "bin", "lockstep"), "compare", *sides, "--format", form, "--output", f"{base}.{ending}"])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--list", action="store_true", help="only name the scenarios")
    arguments.add_argument("--only", metavar="WORD", default="", help="only scenarios with this in their name (\"ocfs2: check\")")
    arguments.add_argument("--keep", action="store_true", help="leave the machines running (tests/cluster/lab/down ends them)")
    words = arguments.parse_args()
    plan = {kind: [(n, f) for kinds, n, f in scenarios.ALL if kind in kinds and words.only in f"{kind}: {n}"] for kind in scenarios.KINDS}
    if words.list:
        for kind, wanted in plan.items():
            for name, _ in wanted:
                print(f"{kind}: {name}")
        return 0
    why = missing()
    if why:
        print(f"SKIP: {why}\n0 passed, 0 failed, 1 skipped")
        return 0
    out = os.path.join(BUILD, "cluster")
    if not words.only:
        shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that machines and daemon end, too
    machines.Lab.script("build", timeout=1800)
    began = time.monotonic()
    with open(os.path.join(out, "summary.txt"), "w", encoding="utf-8") as summary:
        count = Count(summary)
        for kind, wanted in plan.items():
            if wanted:
                play(kind, wanted, count, out, words.keep)
        if not words.only:
            count.run("the file systems side by side", compare, out)
        count.say(f"took {(time.monotonic() - began) / 60:.0f} min")
        count.end()
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
