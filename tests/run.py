#!/usr/bin/python3
"""Runs every kind of test and counts them: unit tests (cmocka), lints, whole programs (pytest).

usage: tests/run.py [--build DIR] [--sanitized DIR] [--only unit|lint|fuzz|system]...

The last line is "N passed, N failed, N skipped". Exit status 0 when nothing failed and something ran.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

UNIT_TIMEOUT_S = 300
SYSTEM_TIMEOUT_S = 3000  # a loaded machine; idle it takes a third of it


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0

    def add(self, what, passed, failed, skipped=0, output=""):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        if failed:
            print(output)
        mark = "FAIL" if failed else "ok  "
        print(f"{mark} {what}: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)


def run(command, timeout, env=None):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, env=env, check=False)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return -1, (late.stdout or b"").decode(errors="replace") + f"\nno end after {timeout} s"


def unit(count, folder, label):
    """Each binary speaks TAP; one that dies in between counts as a failure on top of what it said."""
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", ASAN_OPTIONS="detect_leaks=1", UBSAN_OPTIONS="print_stacktrace=1")
    binaries = sorted(p for p in glob.glob(f"{folder}/tests/**/test_*", recursive=True) if os.access(p, os.X_OK) and os.path.isfile(p))
    for binary in binaries:
        code, output = run([binary], UNIT_TIMEOUT_S, env)
        # cmocka 1.1 says "not ok N # SKIP name" of a skipped test
        passed = len(re.findall(r"^ok \d+(?! # SKIP)", output, re.M))
        skipped = len(re.findall(r"^(?:not )?ok \d+ # SKIP", output, re.M))
        failed = len(re.findall(r"^not ok \d+(?! # SKIP)", output, re.M))
        if code != 0 and failed == 0:
            failed = 1
        if code == 0 and passed + skipped == 0:
            failed, output = 1, output + "\nran no test"
        count.add(f"{label} {os.path.relpath(binary, folder + '/tests')}", passed, failed, skipped, output)
    if not binaries:
        count.add(f"{label}: no test binary in {folder}", 0, 1)


LINTS = [
    ("layers", ["tests/lint/layers.sh"]),
    ("headers", ["tests/lint/headers.sh"]),
    ("format", ["tests/lint/format.sh"]),
    ("words", ["tests/lint/words.sh"]),
    ("manuals", ["tests/lint/manuals.sh"]),
    ("docs", ["tests/lint/docs.sh"]),
    ("sizes", ["tests/lint/sizes.sh"]),
    ("diagrams", ["tests/lint/diagrams.py"]),
]


def lint(count):
    for name, command in LINTS:
        code, output = run(command, UNIT_TIMEOUT_S)
        count.add(f"lint {name}", int(code == 0), int(code != 0), 0, output)


def fuzz(count, folder):
    """The corpus of each fuzz target once, without a fuzzer: what was found must stay found."""
    for binary in sorted(glob.glob(f"{folder}/fuzz/fuzz_*")):
        name = os.path.basename(binary)
        seeds = sorted(glob.glob(f"tests/fuzz/seeds/{name}/*") + glob.glob(f"tests/fuzz/seeds/{name.removeprefix('fuzz_')}/*"))
        if not seeds:
            count.add(f"fuzz {name}", 0, 1, 0, "no seeds")
            continue
        code, output = run([binary] + seeds, UNIT_TIMEOUT_S)
        count.add(f"fuzz corpus {name}", int(code == 0), int(code != 0), 0, output)


# Their measurements would be blurred by, or would see, what another test does on this machine: one after the other, at the end.
ALONE = ("test_barrier", "test_barrier_faults", "test_caches", "test_helper", "test_steady", "test_faultmatrix", "test_faults", "test_namespaces", "test_soak", "test_web")
SIDE_BY_SIDE = 2  # most tests wait more than they work


def system_file(path, build):
    """One file of tests: (name, passed, failed, skipped, output)."""
    name = os.path.basename(path)[:-3]
    report = f"{build}/system/{name}.xml"
    env = dict(os.environ, LOCKSTEP_BUILD=os.path.abspath(build))
    code, output = run(["/usr/bin/python3", "-m", "pytest", "-q", "-x" if os.environ.get("FAIL_FAST") else "-ra", "-p", "no:cacheprovider",
                        f"--junitxml={report}", "--durations=5", "--durations-min=5", path], SYSTEM_TIMEOUT_S, env)
    try:
        suite = ElementTree.parse(report).getroot().find("testsuite")
        total, skipped = int(suite.get("tests")), int(suite.get("skipped"))
        failed = int(suite.get("failures")) + int(suite.get("errors"))
    except (OSError, ElementTree.ParseError, AttributeError):
        total, failed, skipped = 0, 1, 0
    if code != 0 and failed == 0:
        failed = 1
    return name, max(total - failed - skipped, 0), failed, skipped, output


def system(count, build):
    """Whole programs: files side by side, the largest first, then those that must be alone."""
    os.makedirs(f"{build}/system", exist_ok=True)
    for old in glob.glob(f"{build}/system/*.xml"):
        os.remove(old)
    files = sorted(glob.glob("tests/system/test_*.py"), key=os.path.getsize, reverse=True)
    alone = [f for f in files if os.path.basename(f)[:-3] in ALONE]
    for group, width in (([f for f in files if f not in alone], SIDE_BY_SIDE), (alone, 1)):
        with concurrent.futures.ThreadPoolExecutor(width) as pool:
            for done in concurrent.futures.as_completed([pool.submit(system_file, f, build) for f in group]):
                name, passed, failed, skipped, output = done.result()
                count.add(f"system {name}", passed, failed, skipped, output)
                if skipped and not failed:
                    print("\n".join(line for line in output.splitlines() if line.startswith("SKIPPED")), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--sanitized", default="build-asan", help="build with ASan and UBSan; its unit tests and fuzz corpus run too")
    parser.add_argument("--only", action="append", choices=["unit", "lint", "fuzz", "system"])
    args = parser.parse_args()
    kinds = args.only or ["lint", "unit", "fuzz", "system"]
    count = Count()
    began = time.monotonic()
    if "lint" in kinds:
        lint(count)
    if "unit" in kinds:
        unit(count, args.build, "unit")
        unit(count, args.sanitized, "unit (asan, ubsan)")
    if "fuzz" in kinds:
        fuzz(count, args.sanitized)
    if "system" in kinds:
        system(count, args.build)
    print(f"time: {time.monotonic() - began:.0f} s")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main())
