"""Reports and comparisons of stored documents by the real program, checked by the tools that they are made for."""
import csv
import io
import json
import os
import re
import shutil
import subprocess

import pytest

from cluster import BUILD

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
GOLDEN = os.path.join(ROOT, "tests", "golden", "results")
LOCKSTEP = os.path.join(BUILD, "bin", "lockstep")


def lockstep(*args, env=None):
    return subprocess.run([LOCKSTEP, *args], capture_output=True, text=True, timeout=60, env=env)


def document(name):
    return os.path.join(GOLDEN, f"{name}.json")


def slower(tmp_path, factor, name="slower.json"):
    """cluster.json with all rates times factor, as another run."""
    with open(document("cluster"), encoding="utf-8") as f:
        doc = json.load(f)
    doc["run"]["id"] = "changed"
    for phase in doc["phases"]:
        for rate in phase["aggregate"].values():
            if isinstance(rate, dict) and "bytes_per_s" in rate:
                for key in ("bytes_per_s", "ops_per_s"):
                    if rate[key] is not None:
                        rate[key] *= factor
    path = tmp_path / name
    path.write_text(json.dumps(doc))
    return str(path)


def formats():
    return re.findall(r"^  (\S+) +\S", lockstep("report", "--help").stdout.split("formats:")[1].split("options:")[0], re.M)


def test_every_format_is_in_the_manual():
    with open(os.path.join(ROOT, "deploy", "man", "lockstep-formats.7"), encoding="utf-8") as f:
        manual = f.read()
    assert formats() and [f for f in formats() if f".It Cm {f}\n" not in manual] == []


@pytest.mark.skipif(shutil.which("bon_csv2html") is None, reason="bonnie++ is not installed")
def test_bonnie_reads_its_csv():
    text = lockstep("report", "--format", "bonnie-csv", document("cluster")).stdout
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == 8 and all(len(row) == 50 for row in rows)  # three machines and all, twice
    page = subprocess.run(["bon_csv2html"], input=text, capture_output=True, text=True, check=True).stdout
    assert page.count(">Latency<") >= 8
    for row in rows:
        assert f">{row[2]}<" in page and f">{row[19]}<" in page  # name and seeks, which it prints as they stand


@pytest.mark.skipif(shutil.which("bon_csv2html") is None, reason="bonnie++ is not installed")
def test_bonnie_reads_a_run_of_its_own_phases():
    with open(document("bonnie"), encoding="utf-8") as f:
        phases = json.load(f)["phases"]
    text = lockstep("report", "--format", "bonnie-csv", document("bonnie")).stdout
    rows = list(csv.reader(io.StringIO(text)))
    assert [row[2] for row in rows] == ["node1", "node2", "node3", "(all 3)"] and all(len(row) == 50 for row in rows)
    columns = [*range(9, 21, 2), *range(26, 38, 2)]
    for row, of in zip(rows, (0, 1, 2, None)):
        for column, phase in zip(columns, phases):
            value = phase["aggregate"]["last_done"] if of is None else phase["nodes"][of]
            rate = value["ops_per_s"] if phase["kind"] not in ("char-write", "block-out", "bonnie-rewrite", "char-read", "block-in") \
                else value["bytes_per_s"] and value["bytes_per_s"] / 1024
            assert row[column] == ("+++++" if rate is None else str(int(rate))), (row[2], phase["name"])
    assert sum(cell == "+++++" for cell in rows[0]) == 9 and sum(cell == "+++" for cell in rows[0]) == 9
    page = subprocess.run(["bon_csv2html"], input=text, capture_output=True, text=True, check=True).stdout
    for row in rows:
        assert f">{row[2]}<" in page and f">{row[26]}<" in page


def test_crystaldiskmark_shows_the_best_repetition_and_the_mean():
    with open(document("rows"), encoding="utf-8") as f:
        phases = json.load(f)["phases"]
    blocks = lockstep("report", "--format", "crystaldiskmark", document("rows")).stdout.split("\nMachine: ")[1:]
    assert [b.split("\n")[0].split(",")[0] for b in blocks] == ["(all 2)", "node1", "node2"]
    line = re.compile(r"^  (SEQ|RND) +(\d+[KM]iB) \(Q= *(\d+), T= *(\d+)\): +([\d.]+) MB/s \[ *([\d.]+) IOPS\] < *([\d.]+) us>  mean +([\d.]+) MB/s$", re.M)
    for block, node in zip(blocks, (None, 0, 1)):
        rows = line.findall(block)
        assert len(rows) == 12 and re.findall(r"^\[(\w+)\]", block, re.M) == ["Read", "Write", "Mix"]
        for i, row in enumerate(rows):
            runs = [p for p in phases if p["index"] == i]
            assert len(runs) == 2
            name = f"{row[0]}{row[1][:-2]} Q{row[2]}T{row[3]} {('read', 'write', 'mix')[i // 4]}"
            assert [p["name"] for p in runs] == [name, name]
            rates = [(p["aggregate"]["last_done"] if node is None else p["nodes"][node]) for p in runs]
            best = max(rates, key=lambda r: r["bytes_per_s"])
            assert row[4] == f"{best['bytes_per_s'] / 1e6:.3f}" and row[5] == f"{best['ops_per_s']:.1f}"
            assert float(row[7]) == pytest.approx(sum(r["bytes_per_s"] for r in rates) / 2e6, abs=0.001)


def test_compare_fails_only_when_asked_and_slower(tmp_path):
    a, b = document("cluster"), slower(tmp_path, 0.5)
    assert lockstep("compare", a, b).returncode == 0
    run = lockstep("compare", a, b, "--fail-if-slower", "5%")
    assert run.returncode == 4
    assert "write: B has 50.0 % of the speed of A" in run.stderr
    assert lockstep("compare", b, a, "--fail-if-slower", "5%").returncode == 0
    assert lockstep("compare", a, slower(tmp_path, 0.99), "--fail-if-slower", "5%").returncode == 0


def test_compare_names_what_is_wrong_with_its_arguments(tmp_path):
    a = document("cluster")
    for args, text in (
        ((), "something is missing"),
        ((a,), "nothing to compare with"),
        ((a, a, "--metric", "speed"), '"speed" is not known'),
        ((a, a, "--of", "C"), 'no side is called "C"'),
        ((a, a, "--fail-if-slower", "fast"), "not a percentage"),
        ((a, "x="), "names no run"),
    ):
        run = lockstep("compare", *args)
        assert run.returncode == 2 and text in run.stderr, (args, run.stderr)
    assert lockstep("compare", a, str(tmp_path / "none.json")).returncode == 1


def test_comparison_as_json(tmp_path):
    out = tmp_path / "c.json"
    run = lockstep("compare", f"old={document('cluster')}", f"new={slower(tmp_path, 2)}", "--json", str(out))
    assert run.returncode == 0 and "new/old" in run.stdout
    doc = json.loads(out.read_text())
    assert doc["schema"] == "lockstep-compare/1"
    assert [g["label"] for g in doc["groups"]] == ["old", "new"]
    for row in doc["rows"]:
        assert row["ratios"][0]["ratio"] == pytest.approx(2)
        assert row["ratios"][0]["verdict"] == "faster"
    assert doc["means"][-1]["test"] is None and doc["means"][-1]["ratio"] == pytest.approx(2)


def repeats(tmp_path):
    """Words for compare: four repeats a side, in which write got 8 % faster and stat 20 % slower; random-read stays as it is."""
    words = {"before": [], "after": []}
    with open(document("cluster"), encoding="utf-8") as f:
        text = f.read()
    for side, files in words.items():
        for i, noise in enumerate((0.99, 1.0, 1.01, 1.002)):
            doc = json.loads(text)
            doc["run"]["id"] = f"{side}{i}"
            for phase in doc["phases"]:
                factor = noise * ({"write": 1.08, "stat": 0.8}.get(phase["kind"], 1) if side == "after" else 1)
                for rate in phase["aggregate"].values():
                    if isinstance(rate, dict) and "bytes_per_s" in rate:
                        rate.update({k: None if v is None else v * factor for k, v in rate.items()})
            path = tmp_path / f"{side}{i}.json"
            path.write_text(json.dumps(doc))
            files.append(str(path))
    return [f"{side}={','.join(files)}" for side, files in words.items()]


def test_every_form_of_a_comparison_says_the_same(tmp_path):
    import jsonschema
    sides = repeats(tmp_path)

    def form(name):
        done = lockstep("compare", *sides, "--format", name)
        assert done.returncode == 0, done.stderr
        return done.stdout

    doc = json.loads(form("json"))
    with open(os.path.join(ROOT, "proto", "schema", "compare.schema.json"), encoding="utf-8") as f:
        assert [e.message for e in jsonschema.Draft202012Validator(json.load(f)).iter_errors(doc)] == []
    verdicts = {row["test"]: row["ratios"][0]["verdict"] for row in doc["rows"]}
    assert verdicts == {"write": "faster", "random-read": "no-difference-shown", "stat": "slower"}
    rows = list(csv.DictReader(io.StringIO(form("csv"))))
    assert [r["verdict"] for r in rows if r["verdict"]] == list(verdicts.values())
    text, markdown, page = form("text"), form("markdown"), form("html")
    for row in doc["rows"]:
        ratio = row["ratios"][0]
        line = next(r for r in rows if r["test"] == row["test"] and r["verdict"])
        for key, value in (("ratio", ratio["ratio"]), ("ratio_low", ratio["low"]), ("ratio_high", ratio["high"]),
                           ("of_value", row["values"][1]["value"]), ("to_value", row["values"][0]["value"])):
            assert line[key] == f"{value:.15g}"
        percent = f"{int(100 * ratio['ratio'] + 0.5)}%"
        span = f"{100 * ratio['low']:.1f}-{100 * ratio['high']:.1f}%"
        words = ratio["verdict"].replace("-", " ")
        assert re.search(rf"^{row['name']} .* {percent}$", text, re.M)
        assert re.search(rf"^{row['name']}.* {re.escape(span)} +{words}$", text, re.M)
        assert f"| {percent} | {span} | {words} |" in markdown
        assert f">{percent}</td><td>{span}</td>" in page and f">{words}</td>" in page
    mean = doc["means"][-1]["ratio"]
    assert rows[-1]["ratio"] == f"{mean:.15g}" and f"**{int(100 * mean + 0.5)}%**" in markdown


def test_a_form_that_is_not_known_is_named():
    run = lockstep("compare", document("cluster"), document("failed"), "--format", "pdf")
    assert run.returncode == 2 and '"pdf" is not known; formats: text, markdown, html, csv, json' in run.stderr


STUDY = os.path.join(os.environ.get("LOCKSTEP_SHARED", os.path.join(ROOT, "..", "shared")), "seeds",
                     "ltc-iozone-ext2-ext3-jfs-reiserfs.txt")
TITLES = {"writer": "write", "re-writer": "rewrite", "reader": "read", "re-reader": "reread", "random read": "random-read",
          "random write": "random-write", "backward read": "backward-read", "record rewrite": "record-rewrite",
          "stride read": "stride-read", "fwrite": "fwrite", "re-fwrite": "frewrite", "fread": "fread", "re-fread": "freread",
          "initial write": "write", "rewrite": "rewrite", "read": "read", "re-read": "reread"}


def printed_ratios():
    """(test, size in KiB or "N processes", other system): percent that jfs has of it, as the study printed it."""
    with open(STUDY, encoding="utf-8") as f:
        text = f.read()
    head, threads = text.split("No of threads", 1)
    out = {}
    for line in head.splitlines():
        cells = [c.strip() for c in line.strip("| \t").split("|")]
        title = re.fullmatch(r"(.*) report", cells[0], re.I)
        if title:
            test = TITLES[title[1].lower()]
        elif len(cells) == 8 and cells[0].isdigit():
            for system, percent in zip(("ext2", "ext3", "rfs"), cells[5:]):
                out[test, int(cells[0]), system] = int(percent.rstrip("%"))
    cells = [c.strip() for c in ("No of threads" + threads).replace("\n", " ").split("|")]
    cells = [c for c in cells if c]
    at = 0
    while at < len(cells):
        if cells[at] == "No of threads":
            count, at = int(cells[at + 1]), at + 6
        elif cells[at].lower() in TITLES and at + 7 < len(cells) and cells[at + 5].endswith("%"):
            for system, percent in zip(("ext2", "ext3", "rfs"), cells[at + 5:at + 8]):
                out[TITLES[cells[at].lower()], f"{count} processes", system] = int(percent.rstrip("%"))
            at += 8
        else:
            at += 1
    return out


@pytest.mark.skipif(not os.path.exists(STUDY), reason="the shared files are not here")
def test_published_ratios_come_out(tmp_path):
    out = tmp_path / "study.json"
    assert lockstep("compare", "--of", "jfs", "--json", str(out), STUDY).returncode == 0
    doc = json.loads(out.read_text())
    labels = [g["label"] for g in doc["groups"]]
    made = {}
    for row in doc["rows"]:
        size = f"{row['processes']} processes" if row["processes"] else row["file_size"] // 1024
        for ratio in row["ratios"]:
            if ratio["ratio"] is not None:
                made[row["test"], size, labels[ratio["to"]]] = int(100 * ratio["ratio"] + 0.5)
    printed = printed_ratios()
    assert len(printed) == 423
    # random write of ext3 with several threads: the study's own values give other ratios than it printed
    wrong = sorted(key for key in printed if made.get(key) != printed[key])
    assert all(key[0] == "random-write" and key[2] == "ext3" for key in wrong), [(k, printed[k], made.get(k)) for k in wrong]
    assert len(wrong) == 3


def test_runs_are_found_and_compared_by_id(cluster):
    ids = []
    for name in ("night-1", "night-1", "day"):
        job = {"name": name, "short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB", "record_size": "4KiB"}]}
        status, results, done = cluster.run(job)
        assert status == 0, done.stderr
        ids.append(results["run"]["id"])

    def listed(*words):
        return [row["id"] for row in json.loads(cluster.cli("runs", "--json", *words, check=True).stdout)]

    assert listed() == ids[::-1]
    assert listed("--name", "night*") == ids[1::-1]
    assert listed("--name", "night*", "--limit", "1") == [ids[1]]
    assert listed("--state", "failed") == []
    assert listed("--since", "1d") == ids[::-1]
    assert listed("--until", "2020") == []
    assert "no such runs" in cluster.cli("runs", "--state", "aborted", check=True).stdout
    compared = cluster.cli("compare", f"night={ids[0]},{ids[1]}", f"day={ids[2]}", check=True).stdout
    assert "day/night" in compared and "2 repeats" in compared and "\nwrite " in compared
