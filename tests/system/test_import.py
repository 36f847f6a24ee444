"""lockstep import --json over files of other tools: own reduced ones always, ../shared's (or LOCKSTEP_SHARED's) where they are."""
import json
import os
import re
import subprocess

import pytest

import import_facts

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LOCKSTEP = os.path.join(ROOT, os.environ.get("LOCKSTEP_BUILD", "build"), "bin", "lockstep")
SHARED = os.environ.get("LOCKSTEP_SHARED", os.path.join(ROOT, "..", "shared"))
OWN = os.path.join(ROOT, "tests", "golden", "import")
EXPECTED = import_facts.read_table(os.path.join(os.path.dirname(__file__), "import_expected.txt"))


def run_import(*words):
    return subprocess.run([LOCKSTEP, "import", "--json", "-", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          check=False)


def documents_of(*words):
    done = run_import(*words)
    assert done.returncode == 0, done.stderr.decode()
    out = json.loads(done.stdout)
    return out if isinstance(out, list) else [out]


OWN_EXPECTED = import_facts.read_table(os.path.join(OWN, "expected.txt"))


def shared_path(name):
    for folder in ("cases", "seeds"):
        path = os.path.join(SHARED, folder, name)
        if os.path.exists(path):
            return path
    return None


def validate(documents):
    import jsonschema
    with open(os.path.join(ROOT, "proto", "schema", "results.schema.json"), encoding="utf-8") as f:
        validator = jsonschema.Draft202012Validator(json.load(f))
    for document in documents:
        # one phase of each test is enough: large tables have thousands that are alike
        few = dict(document, phases=list({p["imported"]["test"]: p for p in document["phases"]}.values()))
        validator.validate(few)


def check_file(path, facts):
    refusals = [f for f in facts if f.what == "refused"]
    if refusals:
        done = run_import(path)
        assert done.returncode == 2 and done.stdout == b"", done.stdout[:200]
        error = done.stderr.decode()
        assert f"{path}:" in error and all(f.value in error for f in refusals), error
        return
    documents = documents_of(path)
    validate(documents)
    for fact in facts:
        import_facts.check(documents, fact)


@pytest.mark.parametrize("name", OWN_EXPECTED)
def test_own_input_gives_its_expected_values(name):
    check_file(os.path.join(OWN, name), OWN_EXPECTED[name])


def test_every_own_input_is_expected():
    assert set(os.listdir(OWN)) - set(OWN_EXPECTED) == {"expected.txt"}


@pytest.mark.parametrize("name", EXPECTED)
def test_shared_case_gives_its_expected_values(name):
    path = shared_path(name)
    if path is None:
        pytest.skip("the shared files are not here")
    check_file(path, EXPECTED[name])


def test_every_shared_case_is_expected():
    if not os.path.isdir(os.path.join(SHARED, "cases")):
        pytest.skip("the shared files are not here")
    with open(os.path.join(SHARED, "cases", "index.tsv"), encoding="utf-8") as f:
        names = [line.split("\t")[0] for line in f][1:]
    assert [n for n in names + os.listdir(os.path.join(SHARED, "seeds")) if n not in EXPECTED] == []


@pytest.mark.parametrize("ends", ["\r\n", "mail", "bars"])
def test_line_ends_mails_and_bars_change_nothing(ends, tmp_path):
    path = os.path.join(OWN, "iozone_throughput.txt")
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    changed = {"\r\n": "\r\n".join(lines), "mail": "\n".join("> " + line for line in lines),
               "bars": "\n".join(f"| {line} | |" for line in lines)}[ends]
    other = tmp_path / "other.txt"
    other.write_bytes(changed.encode())
    rates = [[[n["bytes_per_s"] for n in p["nodes"]] for p in d["phases"]] for d in documents_of(str(other))]
    assert rates == [[[n["bytes_per_s"] for n in p["nodes"]] for p in d["phases"]] for d in documents_of(path)]


def test_machines_together_have_a_labelled_sum_and_no_aggregate():
    path = shared_path("three-machines-ocfs2-iscsi-bonnie.txt")
    if path is None:
        pytest.skip("the shared files are not here")
    (document,) = documents_of("--together", path)
    validate([document])
    assert [n["name"] for n in document["nodes"]] == ["Machine A", "Machine B", "Machine C"]
    assert any("different versions" in w for w in document["run"]["warnings"])
    (phase,) = import_facts.phases_of(document, "get_block")
    aggregate = phase["aggregate"]
    assert aggregate["sum_of_rates"]["bytes_per_s"] == (107392 + 45714 + 53736) * 1024
    assert aggregate["last_done"] == aggregate["all_active"] == {"bytes_per_s": None, "ops_per_s": None}
    assert any("not taken at one barrier" in w and "212 MB/s (1.69 Gb/s on a wire)" in w for w in phase["warnings"])


def test_the_same_file_twice_counts_once():
    path = os.path.join(OWN, "bonnie_pasted_tabs.txt")
    (document,) = documents_of(path, path)
    assert any("stands again" in w for w in document["run"]["warnings"])


@pytest.mark.parametrize("text, part", [
    ("", "no result is recognised"),
    ("nothing of any tool\n", "no result is recognised"),
    ("1.96,1.96,host,1,1,8G,,1,2,3\n", "has 10 fields"),
    ("kB reclen write rewrite\n64 4 100\n", "has 1 values for 2 tests"),
    ("kB reclen write rewrite\n", "no row"),
    ("{ \"fio version\" : \"fio-3.1\", \"jobs\" : [ {\n", "is cut off"),
    ("IOR-3.2.0: MPI Coordinated Test of Parallel I/O\n", "has no result row"),
    ("mdtest-3.4.0 was launched with 1 total task(s) on 1 node(s)\n", "has no table"),
    ("Children see throughput for 2 readers = 10.0 kB/sec\n", "ends early"),
])
def test_what_is_cut_is_refused_with_its_line(text, part, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(text, encoding="utf-8")
    done = run_import(str(path))
    assert done.returncode == 2 and done.stdout == b""
    assert f"{path}:1: " in done.stderr.decode() or f"{path}:2: " in done.stderr.decode()
    assert part in done.stderr.decode()


def test_imports_can_be_reported(tmp_path):
    path = os.path.join(OWN, "bonnie_2.00_console_and_csv.txt")
    out = tmp_path / "out.json"
    assert subprocess.run([LOCKSTEP, "import", "--json", str(out), path], check=False, stderr=subprocess.DEVNULL).returncode == 0
    for form in ("text", "csv", "json"):
        done = subprocess.run([LOCKSTEP, "report", "--format", form, str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        assert done.returncode == 0, done.stderr
        assert b"put_block" in done.stdout


# --- the four published measurements, shown as reports in tests/golden/published -------------------------------------

PUBLISHED = {
    "ocfs2-ext3-iozone.txt": [],
    "ltc-iozone-ext2-ext3-jfs-reiserfs.txt": [],
    "three-machines-ocfs2-iscsi-bonnie.txt": ["--together"],
    "zfs-iozone-crystaldiskmark.txt": [],
}


def report_of(document, folder):
    path = os.path.join(folder, "one.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f)
    return subprocess.run([LOCKSTEP, "report", path], stdout=subprocess.PIPE, check=True).stdout.decode()


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_measurements_are_shown_as_they_were(name, tmp_path, monkeypatch):
    """LOCKSTEP_GOLDEN=write writes the reports anew."""
    path = shared_path(name)
    if path is None:
        pytest.skip("the shared files are not here")
    monkeypatch.chdir(os.path.dirname(path))
    got = "\n".join(report_of(d, tmp_path) for d in documents_of(*PUBLISHED[name], name))
    golden = os.path.join(ROOT, "tests", "golden", "published", name)
    if os.environ.get("LOCKSTEP_GOLDEN") == "write":
        with open(golden, "w", encoding="utf-8") as f:
            f.write(got)
    with open(golden, encoding="utf-8") as f:
        assert got == f.read()


def own_published(name):
    return os.path.join(ROOT, "tests", "golden", "published", "own", name)


def facts_of(documents):
    """What was measured, without where it was read."""
    def node(n):
        return [re.sub(r"[^A-Za-z0-9].*", "", n["node"]), n.get("bytes_per_s"), n.get("ops_per_s"), n.get("metrics")]
    return [[d["run"]["origin"]["tool"], d["run"]["origin"]["version"],
             [[p["kind"], p["imported"], [node(n) for n in p["nodes"]]] for p in [without_lines(p) for p in d["phases"]]]]
            for d in documents]


def without_lines(phase):
    return dict(phase, imported={k: v for k, v in phase["imported"].items() if "line" not in k})


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures_alone_give_the_same_examples(name, tmp_path, monkeypatch):
    """Inputs of the project's own: tables and figures, no text around. LOCKSTEP_GOLDEN=write writes the examples anew."""
    if shared_path(name) is not None:
        assert facts_of(documents_of(*PUBLISHED[name], own_published(name))) == \
            facts_of(documents_of(*PUBLISHED[name], shared_path(name))), "no figure of the published ones is missing"
    monkeypatch.chdir(os.path.dirname(own_published(name)))
    if PUBLISHED[name]:
        got = report_of(documents_of(*PUBLISHED[name], name)[0], tmp_path)
    else:
        got = subprocess.run([LOCKSTEP, "compare", name], stdout=subprocess.PIPE, check=True).stdout.decode()
    golden = own_published(name.replace(".txt", ".out"))
    if os.environ.get("LOCKSTEP_GOLDEN") == "write":
        with open(golden, "w", encoding="utf-8") as f:
            f.write(got)
    with open(golden, encoding="utf-8") as f:
        assert got == f.read()


# --- into the store ----------------------------------------------------------------------------------------------------

def test_imports_live_in_the_store_and_count_once(cluster):
    big = shared_path("iozone_3.327_auto_full_matrix.txt") or os.path.join(OWN, "iozone_tables.txt")
    files = [os.path.join(OWN, "bonnie_csv_generations.csv"), big]
    first = cluster.cli("import", *files, check=True).stdout.split("\n")[:-1]
    assert len(first) == len(documents_of(*files)) and all(re.fullmatch("import-[0-9a-f]{16,24}", line) for line in first)
    again = cluster.cli("import", *files, check=True).stdout.split("\n")[:-1]
    assert again == [f"{line} was imported before: it counts once" for line in first]
    listed = json.loads(cluster.cli("runs", "--json", check=True).stdout)
    assert sorted(r["id"] for r in listed) == sorted(first)
    for run, document in zip(first, documents_of(*files)):
        kept = json.loads(cluster.cli("report", run, "--format", "json", check=True).stdout)
        assert kept == document
    compared = cluster.cli("compare", first[0], first[1], check=True).stdout
    assert "put_block" in compared


def test_a_run_of_its_own_cannot_be_imported(cluster):
    """Only what says where it comes from, by an id of its kind."""
    (document,) = documents_of(os.path.join(OWN, "bonnie_pasted_tabs.txt"))
    before = cluster.cli("runs", "--json", check=True).stdout
    assert cluster.cli("import", os.path.join(OWN, "bonnie_folded_console_alone.txt")).returncode == 2
    assert cluster.cli("runs", "--json", check=True).stdout == before
    assert document["run"]["id"].startswith("import-")
