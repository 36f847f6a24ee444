"""Cases from bug reports of other tools (tests/cases.tsv) that no other test plays, and the list itself."""
import csv
import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from cluster import Cluster, wait_for
from test_faults import LONG, ended, moving
from test_hung import Lines

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
SHORT = {"workers": 1, "short_phases": True, "phases": [{"kind": "write", "file_size": "64KiB", "record_size": "4KiB"}]}


def test_every_case_has_a_test_that_is_there_or_a_reason():
    with open(os.path.join(TESTS, "cases.tsv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 37 and len({row["id"] for row in rows}) == 37
    text = {}
    for path in glob.glob(f"{TESTS}/system/*.py") + glob.glob(f"{TESTS}/unit/**/*.c", recursive=True) + glob.glob(f"{TESTS}/bench/*.py"):
        with open(path, encoding="utf-8") as f:
            text[os.path.relpath(path, TESTS)] = f.read()
    for row in rows:
        assert row["tests"] or len(row["not"]) > 20, f"{row['id']}: neither a test nor a reason"
        for test in row["tests"].split():
            path, _, name = test.partition("::")
            assert path in text, f"{row['id']}: there is no {path}"
            assert not name or re.search(rf"\b{re.escape(name)}\(", text[path]), f"{row['id']}: there is no {test}"


ODD = ["colon:a", "comma,a", "a blank", "-minus", "umlaut-\u00fc", "quote\"'", "percent%s%n", "back\\slash"]
LONG_NAME = "long/" + "x" * 255  # too long for a line of the agent's configuration, which says so


def test_odd_paths_are_taken_as_they_are():
    """C40: the very directory is used, and nothing is made anywhere else."""
    with Cluster(nodes=2) as cluster:
        paths = [os.path.join(cluster.volume, name) for name in [*ODD, LONG_NAME]]
        for path in paths:
            os.makedirs(path)
        for node in cluster.names:
            cluster.settings[node] = {"allow": [*paths[:-1], os.path.dirname(paths[-1])]}
        cluster.start()
        for path in paths:
            status, results, done = cluster.run({**SHORT, "path": path, "keep_files": True})
            assert status == 0, (path, done.stderr)
            assert [n for n in os.listdir(path) if n.startswith(".lockstep-")], f"{path} was not used"
            shutil.rmtree(os.path.join(path, os.listdir(path)[0]))
            assert sorted(os.listdir(cluster.volume)) == sorted([*ODD, "long"])
        status, _, done = cluster.run({**SHORT, "path": cluster.volume + "/new\nline"})
        assert status in (2, 3) and done.stderr


def test_a_node_lost_before_its_first_sample_leaves_a_report_in_every_form(cluster):
    """C23: the others' results are there, the lost node is marked."""
    run = cluster.start_run({**LONG, "on_node_loss": "continue"})
    moving(cluster)
    cluster.agents["node2"].kill()
    cluster.agents["node2"].wait()
    ended(run)
    names = re.findall(r"^  (\S+)", cluster.cli("report", "--help").stdout, re.M)
    forms = [n for n in ("text", "json", "csv", "html", "markdown", "iozone", "bonnie", "openmetrics") if n in cluster.cli("report", "--help").stdout]
    assert len(forms) >= 5, names
    for form in forms:
        done = cluster.cli("report", "last", "--format", form)
        assert done.returncode == 0 and done.stdout, (form, done.stderr)
        assert not re.search(r"(?<![a-z])-?(nan|inf)(?![a-z])", done.stdout.lower()) or form == "html", form
    assert "node2" in cluster.cli("report", "last").stdout


def test_a_locked_database_is_waited_for(cluster):
    """C71: another process locks the store in a phase; agents finish, the operator sees why it waits, nothing is lost or doubled."""
    run = cluster.popen("run", cluster.job_file({**LONG, "path": cluster.volume}), "--no-tty")
    lines = Lines(run.stderr)
    moving(cluster)
    database = next(p for p in glob.glob(cluster.path("store", "*")) if open(p, "rb").read(6) == b"SQLite")
    lock = sqlite3.connect(database, isolation_level=None, timeout=20)
    lock.execute("BEGIN IMMEDIATE")
    wait_for("the operator sees why it waits", lambda: lines.find(r"waiting for the coordinator's store.*locked"))
    assert run.poll() is None
    lock.execute("COMMIT")
    lock.close()
    assert run.wait(30) == 0
    assert "the store can be written again" in cluster.log("lockstepd")
    results = cluster.export()
    assert [p["state"] for p in results["phases"]] == ["done"] * 3
    assert all(sorted(n["node"] for n in p["nodes"]) == cluster.names for p in results["phases"])


def test_interrupted_while_the_coordinator_does_not_answer(cluster):
    """C28: whatever the peers do, the third Ctrl-C ends the command; the run goes on or is aborted, but is not forgotten."""
    run = cluster.start_run(LONG)
    moving(cluster)
    os.kill(cluster.daemon.pid, signal.SIGSTOP)
    try:
        for _ in range(3):
            run.send_signal(signal.SIGINT)
            time.sleep(0.3)
        run.wait(10)
    finally:
        os.kill(cluster.daemon.pid, signal.SIGCONT)
    run.communicate()
    wait_for("the run has an end", lambda: cluster.export()["run"]["state"] in ("aborted", "finished"), 30)
    wait_for("no file left", lambda: cluster.files() == [])


def test_ten_thousand_workers_are_refused_with_the_limit(cluster):
    status, results, done = cluster.run({**SHORT, "workers": 10000})
    assert status == 2 and "workers" in done.stderr and "4096" in done.stderr
    assert cluster.files() == []


@pytest.fixture
def faketime():
    if not shutil.which("faketime"):
        pytest.skip("no faketime")


def test_wall_clocks_hours_apart_and_stepped_in_a_run(faketime, tmp_path):
    """C67: wall clocks may be off and may jump; barriers, times and rates rest on none of them."""
    step = tmp_path / "step"
    step.write_text("+0\n")
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib64/faketime/libfaketimeMT.so.1")), None)
    if library is None:
        pytest.skip("no libfaketime for threads")
    fake = ["env", "DONT_FAKE_MONOTONIC=1", "FAKETIME_NO_CACHE=1", f"LD_PRELOAD={library}"]
    with Cluster(wrap={"node1": [*fake, "FAKETIME=+7s"], "node2": [*fake, "FAKETIME=+5h"],
                       "node3": [*fake, f"FAKETIME_TIMESTAMP_FILE={step}"]}) as cluster:
        cluster.start()
        run = cluster.start_run(LONG)
        moving(cluster)
        for offset in ("+9h", "+1h"):
            step.write_text(offset + "\n")
            time.sleep(0.5)
        status, out, err = ended(run)
        assert status == 0, err
        stamps = {n: re.findall(r"^\d{4}-\d\d-\d\dT(\d\d):", cluster.log(n), re.M)[-1] for n in cluster.names}
        assert stamps["node1"] != stamps["node2"], "the wall clocks were not off"
        results = cluster.export()
        for phase in results["phases"]:
            assert phase["state"] == "done" and phase["start_skew_ns"] < 100_000_000 and phase["start_skew_uncertainty_ns"] < 100_000_000
        second = results["phases"][1]
        assert all(abs(w["end_ns"] - 4_000_000_000) < 500_000_000 for n in second["nodes"] for w in n["workers"])
        assert cluster.files() == []


@pytest.mark.parametrize("offset,says", [("-3 days", "not yet valid"), ("+100 years", "expired")])
def test_a_certificate_out_of_its_time_is_refused_with_both_dates(faketime, offset, says):
    """C33: the message names what the certificate says and what the clock says."""
    with Cluster(nodes=1) as cluster:
        cluster.start_daemon()
        cluster.wrap = {"node1": ["env", "DONT_FAKE_MONOTONIC=1", "faketime", "-f", {"-3 days": "-3d", "+100 years": "+100y"}[offset]]}
        cluster.start_agent("node1")
        text = wait_for("a reason", lambda: next((l for l in cluster.log("node1").splitlines() if "valid" in l or "expired" in l), None))
        assert says in text, text
        assert len(re.findall(r"\d{4}-\d\d-\d\d", text.split(" ", 1)[1])) >= 2, text
        assert cluster.nodes() == [] or not cluster.nodes()[0]["connected"]
