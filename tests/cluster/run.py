#!/usr/bin/env python3
"""make test-cluster: lockstep on three emulated machines that share a real OCFS2, GFS2 or OCFS2 over iSCSI.

  tests/cluster/run.py [--list] [--only WORD] [--keep]

Boots the lab for each kind of volume in turn, installs the Debian packages on the machines, runs the scenarios of that kind and
prints "N passed, N failed, N skipped". Results documents and a page of each run stay in BUILD/cluster. What is proved is
behaviour: the machines are emulated, their speed means nothing.
"""
import argparse
import os
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
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def run(self, name, function, *words):
        began = time.monotonic()
        try:
            function(*words)
        except scenarios.Skip as why:
            self.skipped += 1
            print(f"SKIP {name}: {why}", flush=True)
            return False
        except Exception as error:  # a scenario may fail in any way: the others go on
            self.failed += 1
            print(f"FAIL {name} ({time.monotonic() - began:.0f} s): {error}", flush=True)
            if not isinstance(error, machines.Failed):
                traceback.print_exc()
            return False
        self.passed += 1
        print(f"ok   {name} ({time.monotonic() - began:.0f} s)", flush=True)
        return True


def volume(kind, wanted, count, out, keep):
    """One kind of volume: boot, install, the scenarios."""
    lab = machines.Lab()
    site = machines.Site(lab, BUILD, out)
    try:
        if not count.run(f"{kind}: three machines up", lab.up, kind):
            return
        if not count.run(f"{kind}: packages installed, agents connected", site.start):
            return
        for name, function in wanted:
            count.run(f"{kind}: {name}", function, scenarios.Context(kind, lab, site, out))
    finally:
        site.stop()
        if not keep:
            lab.down()


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
    os.makedirs(out, exist_ok=True)
    machines.Lab.script("build", timeout=1800)
    count = Count()
    for kind, wanted in plan.items():
        if wanted:
            volume(kind, wanted, count, out, words.keep)
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
