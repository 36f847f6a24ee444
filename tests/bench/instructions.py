#!/usr/bin/python3
"""How many instructions does lockstep spend on an operation, outside of the system call? Counted by valgrind's callgrind.

usage: tests/bench/instructions.py [--operations N]

The engine alone (tests/bench/engine_null.c) does N operations, then 2 N: the difference, by N. All accounting is on. Instructions of the
kernel are not counted, nor those of a reading of the clock: under valgrind that is a system call. No other load changes the figures.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cluster import BUILD  # noqa: E402

KINDS = ("read", "random-read", "write", "random-write")


def counted(operations, kind, engine):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                               os.path.join(BUILD, "tests", "bench", "engine_null"), str(operations / 1e6), kind, engine],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=200000)
    n = parser.parse_args().operations
    print(f"instructions per operation of 4 KiB\n{'':14}" + "".join(f"{e:>8}" for e in ("null", "sync")))
    for kind in KINDS:
        each = [(counted(2 * n, kind, e) - counted(n, kind, e)) / n for e in ("null", "sync")]
        print(f"{kind:14}" + "".join(f"{x:8.0f}" for x in each))


if __name__ == "__main__":
    main()
