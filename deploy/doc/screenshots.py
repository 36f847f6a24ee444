#!/usr/bin/python3
"""The pictures of this folder: one real run of three agents as a page on a desktop, a phone and in the dark, and two runs compared.

    deploy/doc/screenshots.py [--build build] [--volume DIR] [--out deploy/doc]

Needs Chromium; with python3-pil the pictures get smaller. Look at what comes out.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--virtual-time-budget=5000"]
TRIES = 6
SIZES = {"file_size": "32MiB", "workers": 2, "time": "3s"}
JOB = {
    "name": "three nodes, one volume",
    "short_phases": True,
    "phases": [
        {"kind": "write", "record_size": "64KiB", **SIZES},
        {"kind": "random-read", "record_size": "4KiB", **SIZES},
        {"kind": "mixed", "record_size": "16KiB", **SIZES},
        {"kind": "create", "files": 500, "workers": 2},
        {"kind": "stat", "files": 500, "workers": 2},
        *({"kind": "rewrite", "file_size": f"{file}MiB", "record_size": f"{record}KiB", "name": f"rewrite {file} MiB by {record} KiB"}
          for file in (4, 32) for record in (4, 64, 1024)),
    ],
}


QUICK = {"file_size": "32MiB", "workers": 2, "time": "400ms"}


def compared_job(engine, depth):
    """The same on another engine, three times: something is really faster."""
    return {
        "name": f"{engine}, depth {depth}",
        "short_phases": True,
        "repeat": 3,
        "phases": [
            {"kind": "write", "record_size": "64KiB", "engine": engine, "depth": depth, **QUICK},
            {"kind": "random-read", "record_size": "4KiB", "direct": True, "engine": engine, "depth": depth, **QUICK},
            {"kind": "stat", "files": 2000, "workers": 2},
            *({"kind": "rewrite", "file_size": f"{file}MiB", "record_size": f"{record}KiB", "engine": engine, "depth": depth}
              for file in (4, 16) for record in (4, 64)),
        ],
    }


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def chromium(folder, *words):
    run(CHROMIUM, *FLAGS, f"--user-data-dir={folder}/profile", *words)


def smaller(path):
    try:
        from PIL import Image
    except ImportError:
        return
    Image.open(path).convert("RGB").quantize(224, dither=Image.Dither.NONE).save(path, optimize=True)


def shot(folder, page, out, width, height, *more):
    chromium(folder, f"--window-size={width},{height}", f"--screenshot={out}", *more, f"file://{page}")
    smaller(out)


def measure(lockstep, folder, volume, name, job):
    path = os.path.join(folder, f"{name}-job.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)
    words = (lockstep, "run", "--local", "3", "--path", volume, "--json", f"{folder}/{name}.json", "--quiet", path)
    for _ in range(TRIES):  # a machine that is busy with other things finds no common start at times
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode == 0:
            return f"{folder}/{name}.json"
    sys.exit(f"{' '.join(words)}: {done.stderr.splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--volume", help="directory to measure; default: a new one in the temporary folder")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    args = parser.parse_args()
    lockstep = os.path.join(args.build, "bin", "lockstep")
    if CHROMIUM is None:
        sys.exit("no Chromium")
    with tempfile.TemporaryDirectory() as folder:
        volume = args.volume or os.path.join(folder, "volume")
        os.makedirs(volume, exist_ok=True)
        one = measure(lockstep, folder, volume, "one", JOB)
        page, compared = f"{folder}/page.html", f"{folder}/compare.html"
        run(lockstep, "report", "--format", "html", "--output", page, one)
        sides = [measure(lockstep, folder, volume, engine, compared_job(engine, depth)) for engine, depth in (("sync", 1), ("io_uring", 8))]
        run(lockstep, "compare", f"sync={sides[0]}", f"uring={sides[1]}", "--format", "html", "--output", compared)
        shot(folder, page, os.path.join(args.out, "report-page.png"), 1200, 2240)
        shot(folder, page, os.path.join(args.out, "report-dark.png"), 1200, 1400, "--blink-settings=preferredColorScheme=0")
        shot(folder, page, os.path.join(args.out, "report-phone.png"), 390, 1500)
        shot(folder, compared, os.path.join(args.out, "compare-page.png"), 1200, 1240)


if __name__ == "__main__":
    main()
