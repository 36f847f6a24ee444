"""The main job: three agents, one barrier, one report; checked from outside."""
import glob
import json
import math
import os
import re
import subprocess

import jsonschema
import pytest

from cluster import Cluster, program, sanitized, wait_for

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
KIB = 1024
MIB = 1024 * KIB


def schema(name):
    with open(os.path.join(ROOT, "proto", "schema", f"{name}.schema.json"), encoding="utf-8") as f:
        return json.load(f)


def strict(text):
    """Only numbers and null: what is nan or inf elsewhere must not be in a document."""
    def refuse(word):
        raise AssertionError(f"{word} in a document")
    return json.loads(text, parse_constant=refuse)


def traced(prefix):
    """All that strace -ff wrote: a file for each thread, so that no call is torn in two lines."""
    return "".join(open(f, encoding="utf-8", errors="replace").read() for f in glob.glob(f"{prefix}.*"))


def run_without_void(cluster, job):
    """What a void attempt did is in the trace, but rightly not in the result."""
    for _ in range(5):
        status, results, done = cluster.run(job)
        assert status == 0, done.stderr
        if not any(p["attempts"] for p in results["phases"]):
            return results
        cluster.forget()
    pytest.skip("this machine is too busy: attempts were void in each of five runs")


def phases(results, kind):
    return [p for p in results["phases"] if p["kind"] == kind]


DATA_JOB = {"name": "data", "workers": 2, "short_phases": True, "phases": [
    {"kind": "write", "file_size": MIB, "record_size": "64KiB"},
    {"kind": "rewrite", "file_size": MIB, "record_size": "64KiB"},
    {"kind": "read", "file_size": MIB, "record_size": "64KiB"},
    {"kind": "random-read", "file_size": MIB, "record_size": "4KiB"},
    {"kind": "random-write", "file_size": MIB, "record_size": "4KiB"},
    {"kind": "reread", "file_size": MIB, "record_size": "32KiB"},
]}


def test_local_run_needs_nothing_and_leaves_nothing(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    env = dict(os.environ, XDG_STATE_HOME=str(tmp_path / "state"), HOME=str(tmp_path))
    out = tmp_path / "out.json"
    done = subprocess.run([program("lockstep"), "run", "--local", "3", "--path", str(volume), "--json", str(out), "quick"],
                          capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    results = strict(out.read_text())
    jsonschema.validate(results, schema("results"))
    assert len(results["nodes"]) == 3
    assert results["run"]["state"] == "finished"
    for phase in results["phases"]:
        assert phase["state"] == "done"
        assert phase["start_skew_ns"] is not None and phase["start_skew_uncertainty_ns"] is not None, phase["name"]
        assert len(phase["nodes"]) == 3
    assert list(volume.iterdir()) == []
    assert "page cache and locks were shared" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


def test_bytes_and_operations_are_what_strace_counts(tmp_path):
    traces = {n: str(tmp_path / f"{n}.strace") for n in ("node1", "node2", "node3")}
    wrap = {n: ["strace", "-ff", "-qq", "-y", "-s", "0", "-e", "trace=pread64,pwrite64", "-o", t] for n, t in traces.items()}
    with Cluster(wrap=wrap) as cluster:
        cluster.start()
        cluster.forget = lambda: [os.truncate(f, 0) for t in traces.values() for f in glob.glob(f"{t}.*")]
        results = run_without_void(cluster, DATA_JOB)
        for name in traces:
            wanted = {"pread64": [0, 0], "pwrite64": [0, 0]}
            for phase in results["phases"]:
                node = next(n for n in phase["nodes"] if n["node"] == name)
                call = "pread64" if "read" in phase["kind"] else "pwrite64"
                wanted[call][0] += node["bytes"]
                wanted[call][1] += node["ops"]
            # 2 workers x 1 MiB x 3 phases of each direction
            assert wanted["pread64"][0] == 6 * MIB and wanted["pwrite64"][0] == 6 * MIB
            wanted_by_name = wanted
            cluster.terminate_agent(name)
            seen = {"pread64": [0, 0], "pwrite64": [0, 0]}
            for line in traced(traces[name]).splitlines():
                m = re.search(r"(pread64|pwrite64)\(\d+<[^>]*/data[^>]*>.*= (\d+)$", line)
                if m:
                    seen[m.group(1)][0] += int(m.group(2))
                    seen[m.group(1)][1] += 1
            assert seen == wanted_by_name, name


def test_metadata_operations_are_what_strace_counts(tmp_path):
    trace = str(tmp_path / "trace")
    wrap = {"node2": ["strace", "-ff", "-qq", "-y", "-e", "trace=openat,openat2,newfstatat,statx,unlinkat", "-o", trace]}
    job = {"workers": 2, "short_phases": True, "phases": [{"kind": k, "files": 50} for k in ("create", "stat", "delete")]}
    with Cluster(wrap=wrap) as cluster:
        cluster.start()
        cluster.forget = lambda: [os.truncate(f, 0) for f in glob.glob(f"{trace}.*")]
        results = run_without_void(cluster, job)
        cluster.terminate_agent("node2")
        text = traced(trace)
        in_dir = r"\(\d+<[^>]*/\.lockstep-[^>]*/d\.\d+>, \"[^\"]*\""
        assert len(re.findall(r"openat2?" + in_dir + r".*O_CREAT.*O_EXCL.*= \d+<", text)) == 100
        # and before the barrier one look of each worker whether an earlier phase made its files
        assert len(re.findall(r"(?:newfstatat|statx)" + in_dir + r".*= 0$", text, re.M)) == 100 + 2
        assert len(re.findall(r"unlinkat" + in_dir + r", 0\)\s+= 0$", text, re.M)) == 100
        for phase in results["phases"]:
            assert next(n for n in phase["nodes"] if n["node"] == "node2")["ops"] == 100
            assert phase["aggregate"]["ops"] == 300


@pytest.mark.parametrize("engine", ["io_uring", "libaio"])
def test_asynchronous_engines_agree_with_the_device(engine, root, tmp_path):
    image = tmp_path / "image"
    subprocess.run(["truncate", "-s", "512M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    loop = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
    volume = tmp_path / "mnt"
    volume.mkdir()
    try:
        subprocess.run(["mount", loop, volume], check=True)

        def sectors():
            with open(f"/sys/block/{os.path.basename(loop)}/stat", encoding="ascii") as f:
                fields = f.read().split()
                return int(fields[2]) * 512, int(fields[6]) * 512

        with Cluster(volume=str(volume)) as cluster:
            cluster.start()
            job = {"workers": 1, "short_phases": True, "phases": [
                {"kind": "write", "file_size": "16MiB", "record_size": "64KiB", "engine": engine, "depth": 8, "direct": True},
                {"kind": "random-read", "file_size": "16MiB", "record_size": "4KiB", "engine": engine, "depth": 16, "direct": True}]}
            before = sectors()
            status, results, done = cluster.run(job)
            after = sectors()
            assert status == 0, done.stderr
        read = phases(results, "random-read")[0]
        write = phases(results, "write")[0]
        assert read["aggregate"]["bytes"] == 48 * MIB and write["aggregate"]["bytes"] == 48 * MIB
        assert read["aggregate"]["ops"] == 3 * 4096
        # the file system's own blocks come on top
        assert 48 * MIB <= after[0] - before[0] <= 52 * MIB
        assert 48 * MIB <= after[1] - before[1] <= 60 * MIB
        for phase, field in ((read, "read_bytes"), (write, "write_bytes")):
            for node in phase["nodes"]:
                assert node["device"][field] > 0
    finally:
        wait_for("the volume unmounted: nothing holds it", lambda: subprocess.run(["umount", volume], check=False,
                 stderr=subprocess.DEVNULL).returncode == 0 or not os.path.ismount(volume))
        subprocess.run(["losetup", "-d", loop], check=False)


def test_results_are_consistent(cluster):
    status, results, done = cluster.run({**DATA_JOB, "repeat": 2})
    assert status == 0, done.stderr
    jsonschema.validate(results, schema("results"))
    assert [(p["repetition"], p["index"]) for p in results["phases"]] == [(r, i) for r in range(2) for i in range(6)]
    for phase in results["phases"]:
        total = phase["aggregate"]
        assert total["bytes"] == sum(n["bytes"] for n in phase["nodes"])
        assert total["ops"] == sum(n["ops"] for n in phase["nodes"])
        assert total["latency_ns"]["count"] == total["ops"]
        for node in phase["nodes"]:
            assert node["state"] == "done" and node["errors"] == 0
            assert node["bytes"] == sum(w["bytes"] for w in node["workers"])
            assert sum(node["series"]["bytes"]) == node["bytes"], "the series loses nothing"
            assert sum(node["series"]["ops"]) == node["ops"]
            assert sum(c for _, c in node["latency_ns"]["histogram"]["buckets"]) == node["ops"]
            assert node["latency_ns"]["min"] <= node["latency_ns"]["p50"] <= node["latency_ns"]["max"]
            assert node["start_ns"] == min(w["start_ns"] for w in node["workers"])
            assert node["end_ns"] == max(w["end_ns"] for w in node["workers"])
        start = min(w["start_ns"] for n in phase["nodes"] for w in n["workers"])
        end = max(w["end_ns"] for n in phase["nodes"] for w in n["workers"])
        assert math.isclose(total["last_done"]["bytes_per_s"], total["bytes"] / ((end - start) / 1e9), rel_tol=1e-6)
        rates = sum(w["bytes"] / ((w["end_ns"] - w["start_ns"]) / 1e9) for n in phase["nodes"] for w in n["workers"])
        assert math.isclose(total["sum_of_rates"]["bytes_per_s"], rates, rel_tol=1e-6)


def test_time_bounded_phase_with_warmup_keeps_its_time(cluster):
    job = {"workers": 1, "short_phases": True, "phases": [
        {"kind": "random-read", "file_size": "4MiB", "record_size": "4KiB", "time": "1s", "warmup": "300ms"}]}
    status, results, done = cluster.run(job)
    assert status == 0, done.stderr
    for node in results["phases"][0]["nodes"]:
        worker = node["workers"][0]
        assert worker["start_ns"] >= 300_000_000 > worker["first_op_ns"]
        assert 1_300_000_000 <= worker["end_ns"] < 2_300_000_000
    assert results["phases"][0]["aggregate"]["all_active"]["ops_per_s"] > 0
    assert results["phases"][0]["aggregate"]["overlap"] > 0.5


@pytest.mark.parametrize("layout,sizes", [("worker", {"data.0": MIB, "data.1": MIB}), ("node", {"data": MIB}), ("shared", {"shared/data": MIB})])
def test_layouts_make_the_files_that_they_promise(cluster, layout, sizes):
    job = {"workers": 2, "keep_files": True, "short_phases": True,
           "phases": [{"kind": "write", "file_size": MIB, "record_size": "64KiB", "layout": layout}]}
    status, results, done = cluster.run(job)
    assert status == 0, done.stderr
    files = {f: os.path.getsize(os.path.join(cluster.volume, f)) for f in cluster.files()
             if os.path.isfile(os.path.join(cluster.volume, f)) and "data" in os.path.basename(f)}
    assert sorted(files.values()) == sorted(list(sizes.values()) * (1 if layout == "shared" else 3)), files
    total = sum(files.values())
    assert results["phases"][0]["aggregate"]["bytes"] == total
    # incompressible, and no 4 KiB block twice
    blocks = []
    for name in files:
        data = open(os.path.join(cluster.volume, name), "rb").read()
        blocks += [data[i:i + 4096] for i in range(0, len(data), 4096)]
    assert len(set(blocks)) == len(blocks)


def test_operator_over_tls_with_a_certificate(cluster):
    job = cluster.job_file({"path": cluster.volume, "short_phases": True, "phases": [{"kind": "write", "file_size": "16KiB", "record_size": "4KiB"}]})
    done = subprocess.run([program("lockstep"), "run", job, "--server", cluster.address, *cluster.operator_tls()],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    again = subprocess.run([program("lockstep"), "runs", "--server", cluster.address, *cluster.operator_tls()],
                           capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0 and "finished" in again.stdout


def test_idle_agents_leave_no_trace(cluster):
    cluster.run({"short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB"}]})
    for name in cluster.names:
        pid = cluster.agents[name].pid
        assert cluster.runner_pid(name) is None
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert not [link for link in links if link.startswith(cluster.volume)]
        assert not os.readlink(f"/proc/{pid}/cwd").startswith(cluster.volume)
        rss = int(re.search(r"VmRSS:\s+(\d+) kB", open(f"/proc/{pid}/status", encoding="ascii").read()).group(1))
        assert sanitized() or rss < 20 * 1024, f"{name} uses {rss} kB"
