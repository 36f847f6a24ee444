"""One real run of three agents that mixes reads and writes: no form, no view and no file adds them up, and each figure is the same everywhere."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import threading

import pytest

from cluster import Cluster, program, wait_for

MIB = 1048576
ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
FILE = {"file_size": "1MiB", "record_size": "16KiB", "workers": 2}
JOB = {"name": "mix", "short_phases": True, "reserve_percent": 0, "phases": [
    {"kind": "mixed", "read_percent": 70, "time": "2500ms", **FILE}, {"kind": "mixed", "mix": "alternate", "name": "ended", **FILE}]}
OPS = ("read", "write")


class Web(Cluster):
    def __init__(self):
        super().__init__(nodes=3)
        with open(self.path("tokens"), "w", encoding="ascii") as f:
            f.write("a-token-of-the-tests-0123456789\n")
        os.chmod(self.path("tokens"), 0o600)
        self.settings["lockstepd"] = {"web_listen": "0", "web_token_file": self.path("tokens")}

    def get(self, path):
        host = re.findall(r"ready .*web=(\S+)", self.log("lockstepd"))[-1]
        return subprocess.run(["curl", "-sSk", "--max-time", "20", "-u", "x:a-token-of-the-tests-0123456789", f"https://{host}{path}"],
                              capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture(scope="module", name="mixed")
def one_run(tmp_path_factory):
    """The document, its path, and what was seen while it went on."""
    seen = {"live": [], "metrics": []}
    with Web().start() as cluster:
        stop = threading.Event()

        def look():
            while not stop.is_set():
                live = json.loads(cluster.get("/api/live"))
                if live and any(n.get("by_op") for n in live.get("nodes", [])):
                    seen["live"].append(live)
                    seen["metrics"].append(cluster.get("/metrics"))
                stop.wait(0.2)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            status, doc, done = cluster.run(JOB)
        finally:
            stop.set()
            thread.join()
        assert status == 0, done.stderr
        seen["trend"] = json.loads(cluster.cli("trend", "mix", "--json", check=True).stdout)
    path = tmp_path_factory.mktemp("mixed") / "run.json"
    path.write_text(json.dumps(doc))
    return doc, str(path), seen


def render(path, name, **env):
    done = subprocess.run([program("lockstep"), "report", "--format", name, path], capture_output=True, timeout=60, check=False,
                          env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def three_digits(value):
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def of_op(phase, op, node=None):
    source = phase["aggregate"] if node is None else next(n for n in phase["nodes"] if n["node"] == node)
    return source["by_op"][op]


def test_the_document_has_no_sum_in_it(mixed):
    import jsonschema
    with open(os.path.join(ROOT, "proto", "schema", "results.schema.json"), encoding="utf-8") as f:
        assert [e.message for e in jsonschema.Draft202012Validator(json.load(f)).iter_errors(mixed[0])] == []
    for phase in mixed[0]["phases"]:
        total = phase["aggregate"]
        for rate in ("all_active", "last_done", "first_done", "sum_of_rates"):
            assert total[rate] == {"bytes_per_s": None, "ops_per_s": None}
        assert total["bytes"] is None and total["ops"] is None and not total.get("to_end") and not total.get("stonewalled")
        for node in phase["nodes"]:
            assert [node[k] for k in ("bytes", "ops", "bytes_per_s", "ops_per_s", "latency_ns")] == [None] * 5
            assert node["series"]["bytes"] == node["series"]["ops"] == []
            for op in OPS:
                one = node["by_op"][op]
                for what in ("bytes", "ops"):
                    assert sum(one["series"][what]) == one[what] == sum(w[op][what] for w in node["workers"])
            for worker in node["workers"]:
                assert worker["bytes"] is None and worker["ops"] is None and not worker.get("series")
        for op in OPS:
            for what in ("bytes", "ops"):
                assert of_op(phase, op)[what] == sum(n["by_op"][op][what] for n in phase["nodes"])


def test_forms_for_programs_have_the_same_figures(mixed):
    doc, path, _ = mixed
    rows = {(int(r["phase_index"]), r["node"], r["metric"]): r for r in csv.DictReader(io.StringIO(render(path, "csv")))}
    samples = {}
    for line in render(path, "openmetrics").splitlines():
        found = re.fullmatch(r"(lockstep_\w+)\{(.*)\} (\S+)", line)
        if found and 'phase="' in line:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', found.group(2)))
            samples[found.group(1), int(labels["phase"]), labels.get("node"), labels.get("op"), labels.get("quantile")] = float(found.group(3))
    for p, phase in enumerate(doc["phases"]):
        for node in (None, "node1", "node2", "node3"):
            where = "node" if node else "phase"
            for what in ("throughput_bytes_per_second", "operations_per_second", "bytes", "operations"):
                assert (f"lockstep_{where}_{what}", p, node, None, None) not in samples
            for op in OPS:
                one = of_op(phase, op, node)
                for key, unit, family in (("bytes_per_s", "B/s", "throughput_bytes_per_second"), ("ops_per_s", "op/s", "operations_per_second"),
                                          ("bytes", "B", "bytes"), ("ops", "op", "operations")):
                    row = rows[p, node or "*all*", f"{op}_{key}"]
                    assert float(row["value"]) == pytest.approx(one[key], rel=1e-14) and row["unit"] == unit
                    assert samples[f"lockstep_{where}_{family}", p, node, op, None] == pytest.approx(one[key], rel=1e-14)
                assert int(rows[p, node or "*all*", f"{op}_latency_p99"]["value"]) == one["latency_ns"]["p99"]
                assert samples[f"lockstep_{where}_latency_seconds", p, node, op, "0.99"] == pytest.approx(one["latency_ns"]["p99"] / 1e9)
    fio = {(job["groupid"], job.get("hostname")): job for job in json.loads(render(path, "fio-json"))["jobs"]}
    for p, phase in enumerate(doc["phases"]):
        for node in (None, "node1", "node2", "node3"):
            for op in OPS:
                one = of_op(phase, op, node)
                assert (fio[p, node][op]["io_bytes"], fio[p, node][op]["total_ios"]) == (one["bytes"], one["ops"])


def test_tables_for_people_have_the_same_figures(mixed):
    doc, path, _ = mixed
    text, markdown, page = render(path, "text"), render(path, "markdown"), render(path, "html").split("<!-- programs -->")[0]
    for phase in doc["phases"]:
        for op in OPS:
            for node in (None, "node1", "node2", "node3"):
                one = of_op(phase, op, node)
                cells = [three_digits(one["bytes_per_s"] / MIB), three_digits(one["ops_per_s"])]
                name = node or "all"
                assert re.search(rf"^ {op} +{name} +{' +'.join(map(re.escape, cells))} ", text, re.M), (op, name, cells)
                assert f"| {op} | {name} | {cells[0]} | {cells[1]} |" in markdown
                assert f"<tr><td>{op}</td><td>{name}</td><td>{cells[0]}</td><td>{cells[1]}</td>" in page
    assert "reads and writes are not added up" in text
    charts = json.loads(re.search(r"<script type=application/json id=data>(.*?)</script>", page, re.S).group(1))
    assert charts[0]["time"]["labels"] == ["s"] + [f"node{n}, {op}" for op in OPS for n in (1, 2, 3)]


def test_a_workbook_has_the_same_figures(mixed, tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    doc, path, _ = mixed
    done = subprocess.run([program("lockstep"), "report", "--format", "xlsx", "--output", str(tmp_path / "x.xlsx"), path],
                          capture_output=True, text=True, check=False)
    if "built without libxlsxwriter" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    rows = list(book["Summary"].iter_rows(values_only=True))
    head = next(r for r in rows if r[0] == "phase")
    for phase in doc["phases"]:
        own = next(dict(zip(head, r)) for r in rows if r[0] == phase["name"] and r[1] == "mixed")
        assert [own[k] for k in head if k and k.endswith(("MiB/s", "op/s"))] == [None] * 5
        for op in OPS:
            row = next(dict(zip(head, r)) for r in rows if r[0] == phase["name"] and r[1] == f"mixed: {op}")
            assert row["last done, MiB/s"] == pytest.approx(of_op(phase, op)["bytes_per_s"] / MIB, rel=1e-14)
            assert row["last done, op/s"] == pytest.approx(of_op(phase, op)["ops_per_s"], rel=1e-14)
    sheet = list(book["1 mixed"].iter_rows(values_only=True))
    for op in OPS:
        for node in ("node1", "node2", "node3"):
            row = next(r for r in sheet if r[0] == node and r[1] == op)
            assert row[4] == of_op(doc["phases"][0], op, node)["bytes"]


def test_compare_and_trend_have_a_row_for_each_operation(mixed):
    doc, path, seen = mixed
    compared = json.loads(subprocess.run([program("lockstep"), "compare", path, path, "--format", "json"], capture_output=True, text=True,
                                         check=True).stdout)
    assert [(r["test"], r["name"]) for r in compared["rows"]] == [
        ("mixed-read", "mixed, read"), ("mixed-write", "mixed, write"), ("mixed-read", "ended, read"), ("mixed-write", "ended, write")]
    for row, (phase, op) in zip(compared["rows"], [(p, op) for p in doc["phases"] for op in OPS]):
        assert row["values"][0]["value"] == pytest.approx(of_op(phase, op)["bytes_per_s"], rel=1e-12) and row["ratios"][0]["ratio"] == 1
    import jsonschema
    with open(os.path.join(ROOT, "proto", "schema", "trend.schema.json"), encoding="utf-8") as f:
        assert [e.message for e in jsonschema.Draft202012Validator(json.load(f)).iter_errors(seen["trend"])] == []
    series = {(s["test"], s["name"].split(" ")[0], s["name"].split(" ")[1]): s["points"][0]["value"] for s in seen["trend"]["series"]}
    for phase in doc["phases"]:
        for op in OPS:
            assert series[f"mixed-{op}", phase["name"] + ",", op] == pytest.approx(of_op(phase, op)["bytes_per_s"], rel=1e-12)
    p99 = subprocess.run([program("lockstep"), "compare", path, path, "--metric", "p99", "--format", "json"], capture_output=True, text=True, check=True)
    assert json.loads(p99.stdout)["rows"][0]["values"][0]["value"] == pytest.approx(of_op(doc["phases"][0], "read")["latency_ns"]["p99"])
    active = subprocess.run([program("lockstep"), "compare", path, path, "--metric", "all-active"], capture_output=True, text=True, check=True)
    assert "reads and writes are not added up" in active.stdout


def test_live_views_tell_reads_and_writes_apart(mixed):
    seen = mixed[2]
    assert seen["live"]
    for live in seen["live"]:
        for node in live["nodes"]:
            if not node.get("by_op"):
                continue
            assert [node.get(k) for k in ("bytes", "ops", "bytes_per_s", "ops_per_s")] == [None] * 4
            assert {o["op"] for o in node["by_op"]} == set(OPS)
    rates = [m for m in seen["metrics"] if "lockstep_run_bytes_per_second{" in m]
    assert rates
    for text in rates:
        lines = [line for line in text.splitlines() if re.match(r"lockstep_run_(bytes|operations)_per_second\{", line)]
        assert all('op="' in line for line in lines) or not any("mixed" in line for line in lines), lines
        if shutil.which("promtool"):
            assert subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False).returncode == 0


def test_of_a_mix_there_is_no_efficiency_and_the_report_says_why():
    with Cluster(nodes=2).start() as cluster:
        status, doc, done = cluster.run({**JOB, "phases": [{"kind": "mixed", "solo": True, "mix": "alternate", **FILE}]})
        assert status == 0, done.stderr
    assert [p["name"] for p in doc["phases"]] == ["mixed, node1 alone", "mixed, node2 alone", "mixed"]
    assert all(not p["aggregate"].get("scaling") for p in doc["phases"])
    assert sum("efficiency is n/a: reads and writes are not added up" in w for w in doc["phases"][2]["warnings"]) == 1


def test_lines_without_a_terminal_tell_them_apart():
    with Cluster(nodes=1).start() as cluster:
        process = cluster.start_run({**JOB, "phases": [{"kind": "mixed", "time": "40s", **FILE}]})
        wait_for("the run", lambda: cluster.cli("runs", "--json").stdout.strip() not in ("", "[]"))
        watcher = cluster.popen("watch", "last")
        try:
            line = wait_for("a line of progress", lambda: re.search(r"\d %, .*", watcher.stderr.readline()), 60).group(0)
            assert re.search(r"%, read [\d.]+ \S+/s, write [\d.]+ \S+/s", line), line
        finally:
            watcher.terminate()
            watcher.wait()
            process.terminate()
            process.communicate(timeout=60)
