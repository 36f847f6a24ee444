"""One real run of three agents in every format: the same figure is the same everywhere, in its unit, whatever the locale; and the
programs that the formats are made for read them."""
import csv
import io
import json
import math
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from cluster import BUILD, Cluster

LOCKSTEP = os.path.join(BUILD, "bin", "lockstep")
MIB = 1048576
DATA = {"file_size": "256KiB", "record_size": "16KiB", "workers": 2}
JOB = {
    "name": "figures",
    "short_phases": True,
    "phases": [
        {"kind": "write", **DATA},
        {"kind": "random-read", **DATA},
        {"kind": "create", "files": 20},
        {"kind": "stat", "files": 20},
        *({"kind": "rewrite", "file_size": file, "record_size": record} for file in ("128KiB", "256KiB") for record in ("16KiB", "64KiB")),
    ],
}
NODES = ("node1", "node2", "node3")


def render(document, name, **env):
    done = subprocess.run([LOCKSTEP, "report", "--format", name, document], capture_output=True, timeout=60, env=dict(os.environ, **env))
    assert done.returncode == 0, done.stderr
    return done.stdout


def formats():
    text = subprocess.run([LOCKSTEP, "report", "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\S+) +\S", text.split("formats:")[1].split("options:")[0], re.M)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Path of the document of one run, and the document."""
    path = tmp_path_factory.mktemp("figures") / "run.json"
    with Cluster() as cluster:
        status, doc, done = cluster.start().run(JOB)
        assert status == 0, done.stderr
    path.write_text(json.dumps(doc))
    assert len(doc["phases"]) == 8 and [n["name"] for n in doc["nodes"]] == list(NODES)
    return str(path), doc


def three_digits(value):
    """As people's formats print a figure: about three significant digits, all before the point."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def rate_of(phase, node=None):
    """(figure in the unit that people's formats give for the phase, unit)."""
    source = phase["aggregate"]["last_done"] if node is None else node
    return (source["bytes_per_s"] / MIB, "MiB/s") if source["bytes_per_s"] else (source["ops_per_s"], "op/s")


# --- formats for programs: every digit ---------------------------------------------------------------------------------------


def test_csv_has_the_figures_of_the_document(run):
    path, doc = run
    rows = {(int(r["phase_index"]), r["node"], r["metric"]): r for r in csv.DictReader(io.StringIO(render(path, "csv").decode()))}
    for phase in doc["phases"]:
        for name in ("last_done", "all_active", "first_done", "sum_of_rates"):
            for unit, text in (("bytes_per_s", "B/s"), ("ops_per_s", "op/s")):
                row, value = rows[phase["index"], "*all*", f"{name}_{unit}"], phase["aggregate"][name][unit]
                assert row["unit"] == text
                assert row["value"] == ("" if value is None else f"{value:.15g}"), (phase["name"], name)
        for op, result in phase["aggregate"]["by_op"].items():
            assert rows[phase["index"], "*all*", f"{op}_latency_p99"]["value"] == str(result["latency_ns"]["p99"])
        for node in phase["nodes"]:
            assert rows[phase["index"], node["node"], "bytes"]["value"] == str(node["bytes"])
            for op, result in node["by_op"].items():
                row = rows[phase["index"], node["node"], f"{op}_latency_mean"]
                assert (row["value"], row["unit"]) == (f"{result['latency_ns']['mean']:.15g}", "ns")


def samples(text):
    """{(name, sorted labels): value} of a Prometheus text."""
    out = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line).groups()
            out[name, tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)))] = float(value)
    return out


def test_openmetrics_has_the_figures_of_the_document(run):
    path, doc = run
    found = samples(render(path, "openmetrics").decode())

    def one(family, **labels):
        hits = [v for (n, have), v in found.items() if n == family and set(labels.items()) <= set(have)]
        assert len(hits) == 1, (family, labels, len(hits))
        return hits[0]

    for phase in doc["phases"]:
        where = {"phase": str(phase["index"]), "name": phase["name"]}
        last = phase["aggregate"]["last_done"]
        assert one("lockstep_phase_operations_per_second", aggregate="last-done", **where) == pytest.approx(last["ops_per_s"], rel=1e-14)
        if last["bytes_per_s"]:
            assert one("lockstep_phase_throughput_bytes_per_second", aggregate="last-done", **where) == \
                pytest.approx(last["bytes_per_s"], rel=1e-14)
        assert one("lockstep_phase_start_skew_seconds", **where) == phase["start_skew_ns"] / 1e9
        for op, result in phase["aggregate"]["by_op"].items():
            assert one("lockstep_phase_latency_seconds", op=op, quantile="0.99", **where) == result["latency_ns"]["p99"] / 1e9
            assert one("lockstep_phase_latency_seconds_count", op=op, **where) == result["latency_ns"]["count"]
        for node in phase["nodes"]:
            assert one("lockstep_node_bytes", node=node["node"], **where) == node["bytes"]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool (package prometheus) is not installed")
def test_promtool_accepts_openmetrics(run):
    done = subprocess.run(["promtool", "check", "metrics"], input=render(run[0], "openmetrics"), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_fio_json_has_the_figures_of_the_document(run):
    path, doc = run
    fio = json.loads(render(path, "fio-json"))
    jobs = {(job["groupid"], job.get("hostname", "All clients")): job for job in fio["jobs"]}
    assert fio["lockstep left out"] == [p["name"] for p in doc["phases"] if not {"read", "write"} & set(p["aggregate"]["by_op"])]
    for place, phase in enumerate(doc["phases"]):
        for op in {"read", "write"} & set(phase["aggregate"]["by_op"]):
            pairs = [(jobs[place, n["node"]][op], n["by_op"][op], n["end_ns"] - n["start_ns"]) for n in phase["nodes"]]
            pairs.append((jobs[place, "All clients"][op], phase["aggregate"]["by_op"][op], phase["duration_ns"]))
            for mine, result, span in pairs:
                latency = result["latency_ns"]
                assert (mine["io_bytes"], mine["total_ios"]) == (result["bytes"], result["ops"])
                assert mine["bw_bytes"] == math.floor(result["bytes"] / (span / 1e9)) and mine["runtime"] == span // 1000000
                assert [mine["clat_ns"][k] for k in ("min", "max", "N")] == [latency[k] for k in ("min", "max", "count")]
                assert mine["clat_ns"]["percentile"]["99.000000"] == latency["p99"]
                assert sum(mine["clat_ns"]["bins"].values()) == latency["count"]


@pytest.mark.skipif(shutil.which("fio_jsonplus_clat2csv") is None, reason="fio is not installed")
def test_fios_own_tool_reads_fio_json(run, tmp_path):
    (tmp_path / "fio.json").write_bytes(render(run[0], "fio-json"))
    for more in ((), ("--validate",)):
        done = subprocess.run(["fio_jsonplus_clat2csv", *more, "fio.json", "out.csv"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and "mismatch" not in done.stdout, done.stderr
    jobs = len(json.loads((tmp_path / "fio.json").read_text())["jobs"])
    assert jobs > 0 and done.stdout.count("validated") == jobs


def test_fio_json_can_be_imported_again(run, tmp_path):
    path, doc = run
    (tmp_path / "again.json").write_bytes(render(path, "fio-json"))
    again = json.loads(render(str(tmp_path / "again.json"), "json"))
    write = next(p for p in again["phases"] if p["imported"]["test"] == "write")
    assert [(n["node"], n["bytes"]) for n in write["nodes"]] == [(n["node"], n["bytes"]) for n in doc["phases"][0]["nodes"]]
    assert [n["by_op"]["write"]["latency_ns"]["p99"] for n in write["nodes"]] == [n["latency_ns"]["p99"] for n in doc["phases"][0]["nodes"]]


@pytest.fixture(scope="module")
def book(run, tmp_path_factory):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    path = tmp_path_factory.mktemp("xlsx") / "run.xlsx"
    done = subprocess.run([LOCKSTEP, "report", "--format", "xlsx", "--output", str(path), run[0]], capture_output=True, text=True)
    if "built without libxlsxwriter" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return openpyxl.load_workbook(path)


def table(sheet, corner):
    """The rows below the one that begins with corner, up to an empty one, by title of the column."""
    rows = list(sheet.iter_rows(values_only=True))
    at = next(i for i, row in enumerate(rows) if row[0] == corner)
    out = []
    for row in rows[at + 1:]:
        if row[0] is None:
            break
        out.append(dict(zip(rows[at], row)))
    return out


def test_a_workbook_has_the_figures_of_the_document(run, book):
    doc = run[1]
    rows = table(book["Summary"], "phase")
    assert [row["phase"] for row in rows] == [p["name"] for p in doc["phases"]]
    for row, phase in zip(rows, doc["phases"]):
        last = phase["aggregate"]["last_done"]
        assert row["last done, op/s"] == pytest.approx(last["ops_per_s"], rel=1e-14)
        assert row["last done, MiB/s"] == (pytest.approx(last["bytes_per_s"] / MIB, rel=1e-14) if last["bytes_per_s"] else None)
        assert row["start skew, us"] == pytest.approx(phase["start_skew_ns"] / 1e3)
    machines = {row["machine"]: row for row in table(book["1 write"], "machine")}
    for node in doc["phases"][0]["nodes"]:
        assert machines[node["node"]]["bytes, B"] == node["bytes"]
        assert machines[node["node"]]["p99, us"] == pytest.approx(node["latency_ns"]["p99"] / 1e3)


def test_a_workbook_has_a_sheet_for_each_test_file_size_by_record_size(run, book):
    doc = run[1]
    assert book.sheetnames == ["Summary", "1 write", "2 random-read", "3 create", "4 stat", "5 rewrite"]
    sheet = book["5 rewrite"]
    corners = [cell.row for cell in sheet["A"] if cell.value == "file by record, kB"]
    assert len(corners) == 1 + len(NODES)  # all machines, then each
    for at, name in zip(corners, (None, *NODES)):
        assert [sheet.cell(at, c).value for c in (2, 3)] == [16, 64]
        assert name is None or sheet.cell(at - 1, 1).value == name
        for phase in doc["phases"][4:]:
            row = next(r for r in (at + 1, at + 2) if sheet.cell(r, 1).value == phase["spec"]["file_size"] / 1024)
            column = 2 if phase["spec"]["record_size"] == 16384 else 3
            source = phase["aggregate"]["last_done"] if name is None else next(n for n in phase["nodes"] if n["node"] == name)
            assert sheet.cell(row, column).value == pytest.approx(source["bytes_per_s"] / 1024, rel=1e-14)


# --- formats for people: the same figure, rounded, with its unit -----------------------------------------------------------------


class Tables(HTMLParser):
    """Rows of all tables of a page as lists of texts."""

    def __init__(self):
        super().__init__()
        self.rows, self.cell = [], None

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(self.cell.strip())
            self.cell = None


def page_rows(path):
    parser = Tables()
    parser.feed(render(path, "html").decode().split("<!-- programs -->")[0])
    return parser.rows


def markdown_rows(path):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in render(path, "markdown").decode().splitlines()
            if line.startswith("| ")]


@pytest.mark.parametrize("rows_of", [page_rows, markdown_rows])
def test_tables_for_people_have_the_same_figures(run, rows_of):
    path, doc = run
    rows = rows_of(path)
    for phase in doc["phases"]:
        value, unit = rate_of(phase)
        assert any(r[0] == phase["name"] and r[1].startswith(unit) and r[2] == three_digits(value) for r in rows), phase["name"]
        for node in phase["nodes"]:
            figure = three_digits(rate_of(phase, node)[0])
            assert any(r[0] == node["node"] and figure in r[1:3] for r in rows), (phase["name"], node["node"], figure)


def test_text_has_the_same_figures(run):
    path, doc = run
    text = render(path, "text").decode()
    parts = re.split(r"^Phase \d+: ", text, flags=re.M)[1:]
    assert len(parts) == len(doc["phases"])
    for part, phase in zip(parts, doc["phases"]):
        for node in phase["nodes"]:
            line = re.search(rf"^ {node['node']} .*$", part, re.M)[0].split()
            column = part.splitlines()[[i for i, l in enumerate(part.splitlines()) if l.startswith(" node ")][0]].split()
            value, unit = rate_of(phase, node)
            assert line[column.index(unit)] == three_digits(value), (phase["name"], line, column)


def test_other_tools_forms_have_the_same_figures(run):
    path, doc = run
    write = doc["phases"][0]["aggregate"]
    rows = list(csv.reader(io.StringIO(render(path, "bonnie-csv").decode())))
    everyone = next(row for row in rows if row[2].startswith("(all"))
    iozone = render(path, "iozone").decode().split("Stonewall disabled")[1]  # before: what was done until the first one ended
    kib = write["last_done"]["bytes_per_s"] / 1024
    assert everyone[11] in (str(math.floor(kib)), "+++++")  # bonnie++ prints no rate for what took less than half a second
    assert re.search(r"Parent sees throughput for +6 initial writers\s+=\s*(\S+) kB/sec", iozone)[1] == f"{kib:.2f}"
    assert re.search(r"Children see throughput for +6 initial writers\s+=\s*(\S+) kB/sec", iozone)[1] == \
        f"{write['sum_of_rates']['bytes_per_s'] / 1024:.2f}"
    excel = render(path, "iozone-excel").decode()
    block = excel.split('"Re-writer report"')[1].splitlines()
    want = {(p["spec"]["file_size"], p["spec"]["record_size"]): math.floor(p["aggregate"]["last_done"]["bytes_per_s"] / 1024)
            for p in doc["phases"][4:]}
    for line in block[2:4]:
        size, *values = line.replace('"', "").split()
        assert [int(v) for v in values] == [want[int(size) * 1024, r] for r in (16384, 65536)]


# --- the locale ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """The environment of a locale that writes 1,5 for 1.5 (made here: it need not be installed)."""
    if shutil.which("localedef") is None or not os.path.exists("/usr/share/i18n/locales/de_DE"):
        pytest.skip("no localedef, or no sources of locales (package locales)")
    folder = tmp_path_factory.mktemp("locales")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")], check=False, capture_output=True)
    env = {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LANGUAGE": "de"}
    shown = subprocess.run(["/usr/bin/printf", "%.1f", "1,5"], env=dict(os.environ, **env), capture_output=True, text=True).stdout
    assert shown == "1,5", "the locale does not work, so that this test could not fail"
    return env


def test_no_format_depends_on_the_locale(run, german):
    names = formats()
    assert len(names) >= 12
    for name in names:
        if name == "xlsx" and b"built without" in subprocess.run([LOCKSTEP, "report", "-f", "xlsx", run[0]], capture_output=True).stderr:
            continue
        assert render(run[0], name, **german) == render(run[0], name), name


def test_an_import_reads_points_in_any_locale(run, german, tmp_path):
    (tmp_path / "fio.json").write_bytes(render(run[0], "fio-json"))
    golden = os.path.join(os.path.dirname(__file__), "..", "golden", "import")
    for path in (str(tmp_path / "fio.json"), os.path.join(golden, "iozone_throughput.txt"), os.path.join(golden, "bonnie_pasted_tabs.txt")):
        assert render(path, "csv", **german) == render(path, "csv")


# --- each node alone against all, and what nodes saw of each other -----------------------------------------------------------------

SIDES = {"name": "sides", "short_phases": True, "phases": [
    {"kind": "write", "solo": True, "file_size": "2MiB", "record_size": "16KiB"},
    {"kind": "visibility", "count": 4, "interval": "20ms", "poll": "1ms"}, {"kind": "locks", "time": "200ms"}]}


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    path = tmp_path_factory.mktemp("sides") / "run.json"
    with Cluster() as cluster:
        status, doc, done = cluster.start().run(SIDES)
        assert status == 0, done.stderr
    path.write_text(json.dumps(doc))
    return str(path), doc


def samples_of(path):
    """{(family, phase, other labels): value}"""
    out = {}
    for line in render(path, "openmetrics").decode().splitlines():
        found = re.fullmatch(r"(lockstep_\w+)\{(.*)\} (\S+)", line)
        if found and 'phase="' in line:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', found.group(2)))
            rest = tuple(sorted((k, v) for k, v in labels.items() if k in ("node", "aggregate", "from", "by", "quantile", "outcome")))
            out[found.group(1), int(labels["phase"]), rest] = float(found.group(3))
    return out


def test_scaling_is_the_same_in_every_form(sides, tmp_path):
    path, doc = sides
    place, phase = next((i, p) for i, p in enumerate(doc["phases"]) if p["aggregate"].get("scaling"))
    scaling = phase["aggregate"]["scaling"]
    samples, rows = samples_of(path), list(csv.DictReader(io.StringIO(render(path, "csv").decode(), newline="")))
    value = {(r["node"], r["metric"]): r["value"] for r in rows if int(r["phase_index"]) == place}
    assert samples["lockstep_phase_scaling_efficiency_ratio", place, (("aggregate", "last-done"),)] == pytest.approx(scaling["efficiency"])
    assert float(value["*all*", "scaling_efficiency"]) == pytest.approx(scaling["efficiency"])
    for node in scaling["nodes"]:
        key = (("node", node["node"]),)
        assert samples["lockstep_node_alone_bytes_per_second", place, key] == pytest.approx(node["alone"])
        assert samples["lockstep_node_scaling_loss_ratio", place, key] == pytest.approx(node["loss"])
        assert float(value[node["node"], "scaling_alone"]) == pytest.approx(node["alone"])
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    done = subprocess.run([LOCKSTEP, "report", "--format", "xlsx", "--output", str(tmp_path / "x.xlsx"), path], capture_output=True, text=True, check=False)
    if "built without libxlsxwriter" in done.stderr:
        pytest.skip(done.stderr)
    sheet = next(s for s in openpyxl.load_workbook(tmp_path / "x.xlsx") if s.title.endswith("Alone and together"))
    cells = {row[0]: row for row in sheet.iter_rows(values_only=True) if row[0]}
    assert cells["mean alone, all (last done)"][4] == pytest.approx(scaling["efficiency"])
    for node in scaling["nodes"]:
        assert cells[node["node"]][1:4] == pytest.approx((node["alone"] / MIB, node["together"] / MIB, node["loss"]))


def test_what_nodes_saw_of_each_other_is_the_same_in_every_form(sides, tmp_path):
    path, doc = sides
    samples, rows = samples_of(path), list(csv.DictReader(io.StringIO(render(path, "csv").decode(), newline="")))
    value = {(int(r["phase_index"]), r["node"], r["metric"]): r["value"] for r in rows}
    page, markdown, text = page_rows(path), markdown_rows(path), render(path, "text").decode()
    pairs = 0
    for place, phase in enumerate(doc["phases"]):
        promise = phase.get("promise")
        if not promise:
            continue
        assert value[place, "*all*", "outcome"] == promise["outcome"] and int(value[place, "*all*", "looked"]) == promise["looked"]
        assert samples["lockstep_phase_promise_info", place, (("outcome", promise["outcome"]),)] == 1
        assert samples["lockstep_phase_promise_broken", place, ()] == promise["broken"]
        for pair in promise.get("seen_after", []):
            pairs += 1
            p99 = pair["latency_ns"]["p99"]
            assert int(value[place, pair["by"], f"seen_from_{pair['from']}_latency_p99"]) == p99
            assert samples["lockstep_seen_after_seconds", place, (("by", pair["by"]), ("from", pair["from"]), ("quantile", "0.99"))] == \
                pytest.approx(p99 / 1e9)
            for table_rows in (page, markdown):
                row = next(r for r in table_rows if r[:2] == [pair["from"], pair["by"]])
                assert row[2:] == [three_digits(pair["latency_ns"][k] / 1e3) for k in ("p50", "p99", "max")] + [str(pair["unseen"]), str(pair["early"])]
            assert re.search(rf"^ {pair['from']} +{pair['by']} .* {pair['unseen']} +{pair['early']}$", text, re.M)
    assert pairs == 6
    looked = sum(p["promise"]["looked"] for p in doc["phases"] if p.get("promise") and p["spec"]["kind"] == "visibility")
    for table_rows in (page, markdown):
        assert next(r for r in table_rows if r[0] == "visibility of create")[1:5] == ["held", "yes", str(looked), "0"]
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=render(path, "openmetrics"), capture_output=True, check=False)
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
