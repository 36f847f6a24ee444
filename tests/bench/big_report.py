#!/usr/bin/python3
"""A results document of many nodes, and what its reports cost: seconds and memory of `lockstep report`, by format.

    tests/bench/big_report.py [--nodes 2000] [--samples 1000] [--phases 1] [--keep FILE] [FORMAT...]

The document is one that was measured (tests/golden/results/cluster.json), with its nodes multiplied. Medians of five runs.
"""
import argparse
import copy
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def multiplied(nodes, samples, phases):
    with open(os.path.join(ROOT, "tests", "golden", "results", "cluster.json"), encoding="utf-8") as f:
        doc = json.load(f)
    names = [f"node{n:04}" for n in range(nodes)]
    doc["nodes"] = [dict(copy.deepcopy(doc["nodes"][n % len(doc["nodes"])]), name=name) for n, name in enumerate(names)]
    doc["phases"] = [made(copy.deepcopy(doc["phases"][0]), names, samples, p) for p in range(phases)]
    return doc


def made(phase, names, samples, index):
    """The phase with a node for each name, whose series have so many points around that node's own rate."""
    rng = random.Random(index)
    interval, block = 100_000_000, 65536
    done = [n for n in phase["nodes"] if n["state"] == "done"]
    phase["index"], phase["nodes"] = index, []
    for n, name in enumerate(names):
        node = copy.deepcopy(done[n % len(done)])
        ops = [int(max(0, rng.gauss(160, 25))) for _ in range(samples)]
        node.update(node=name, ops=sum(ops), bytes=sum(ops) * block, end_ns=node["start_ns"] + samples * interval)
        seconds = samples * interval / 1e9
        node.update(bytes_per_s=node["bytes"] / seconds, ops_per_s=node["ops"] / seconds)
        node["series"] = {"interval_ns": interval, "bytes": [o * block for o in ops], "ops": ops}
        node["latency_ns"]["histogram"]["buckets"] = buckets(rng, node["ops"])
        for op in node["by_op"].values():
            op["latency_ns"] = node["latency_ns"]
        phase["nodes"].append(node)
    return phase


def buckets(rng, count, used=250):
    """A histogram in which so many buckets are not empty, as a disk's latencies give."""
    first, weights = rng.randrange(900, 1000), [rng.random() for _ in range(used)]
    return [[first + 2 * i, 1 + int(count * w / sum(weights))] for i, w in enumerate(weights)]


def cost(build, path, name):
    """Seconds and the most memory, MB, of one report. GNU time is not everywhere: wait4 tells both."""
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen([os.path.join(build, "bin", "lockstep"), "report", "--format", name, path], stdout=null)
        before = os.times()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"report --format {name} failed with {child.returncode}")
    return os.times().elapsed - before.elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def opened(build, folder, path):
    """Milliseconds from the start of loading until a browser has laid the page out and drawn its first charts, as the page itself sees it."""
    page = os.path.join(folder, "page.html")
    subprocess.run([os.path.join(build, "bin", "lockstep"), "report", "--format", "html", "--output", page, path], check=True)
    with open(page, "a", encoding="utf-8") as f:
        f.write("<script>document.body.offsetHeight; document.title = 'opened ' + performance.now() + ' ms';</script>")
    times = []
    for i in range(3):
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", f"--user-data-dir={folder}/profile{i}", "--timeout=20000", "--dump-dom",
             f"file://{page}"], capture_output=True, text=True)
        found = re.search(r"<title>opened (\S+) ms</title>", done.stdout)
        if found is None:
            return None, os.path.getsize(page)
        times.append(float(found[1]))
    return statistics.median(times), os.path.getsize(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--phases", type=int, default=1)
    parser.add_argument("--build", default=os.environ.get("LOCKSTEP_BUILD", os.path.join(ROOT, "build")))
    parser.add_argument("--keep", help="write the document there and leave it")
    parser.add_argument("formats", nargs="*", default=["text", "html"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = args.keep or os.path.join(folder, "big.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(multiplied(args.nodes, args.samples, args.phases), f)
        print(f"{args.nodes} nodes, {args.samples} samples, {args.phases} phase(s): {os.path.getsize(path) / 1e6:.1f} MB of JSON")
        print(f"{'format':14}{'s':>8}{'CPU s':>8}{'MB':>8}")
        for name in args.formats:
            runs = [cost(args.build, path, name) for _ in range(5)]
            print(f"{name:14}" + "".join(f"{statistics.median(r[i] for r in runs):8.2f}" for i in range(2)) +
                  f"{max(r[2] for r in runs):8.0f}")
        if BROWSER and "html" in args.formats:
            took, size = opened(args.build, folder, path)
            print(f"page of {size / 1e6:.1f} MB open in Chromium after " + ("?" if took is None else f"{took:.0f} ms"))


if __name__ == "__main__":
    main()
