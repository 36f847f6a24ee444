"""What becomes of runs after they have ended: tags, notes, filters, removal, export and import, limits."""
import json
import os
import pty
import re
import signal
import shutil
import socket
import sqlite3
import subprocess
import tempfile

import pytest

import fake_agent
from cluster import Cluster, program, wait_for

JOB = {"name": "nightly", "short_phases": True, "reserve_percent": 0, "grace": "1s",
       "phases": [{"kind": "write", "file_size": "64KiB", "record_size": "16KiB"},
                  {"kind": "read", "file_size": "64KiB", "record_size": "16KiB"}]}
LONG = {**JOB, "name": "long", "phases": [{"kind": "read", "file_size": "64KiB", "record_size": "16KiB", "time": "60s"}]}


@pytest.fixture(scope="module", name="cluster")
def one_cluster():
    with Cluster(nodes=2).start() as cluster:
        yield cluster


def ids(cluster, *words):
    done = cluster.cli("runs", "--all", "--json", *words, check=True)
    return [row["id"] for row in json.loads(done.stdout)]


def run_id(cluster, *words):
    status, results, done = cluster.run(JOB, *words)
    assert status == 0, done.stderr
    return results["run"]["id"]


def rows(cluster, table, run):
    """What is really in the database, beside lockstepd."""
    db = sqlite3.connect(f"file:{cluster.path('store', 'lockstep.db')}?mode=ro", uri=True)
    try:
        column = "id" if table == "runs" else "run"
        return db.execute(f"SELECT count(*) FROM {table} WHERE {column} = ?", (run,)).fetchone()[0]
    finally:
        db.close()


def test_tags_and_notes_stand_in_lists_reports_and_comparisons(cluster):
    one = run_id(cluster, "--tag", "baseline", "--tag", "fw=1.2", "--note", "before <the> new switch")
    two = run_id(cluster, "--nodes", "node1")
    row = [r for r in json.loads(cluster.cli("runs", "--json").stdout) if r["id"] == one][0]
    assert (row["tags"], row["note"], row["path"]) == (["baseline", "fw=1.2"], "before <the> new switch", cluster.volume)
    assert re.search(rf"{one} .*baseline,fw=1\.2 +before <the> new switch", cluster.cli("runs").stdout)

    done = cluster.cli("tag", two, "after", "fw=1.3")
    assert done.returncode == 0 and "tags after fw=1.3" in done.stdout
    done = cluster.cli("tag", two, "--remove", "after")
    assert "tags fw=1.3\n" in done.stdout
    assert cluster.cli("note", two, "new switch").returncode == 0
    assert "note new switch" in cluster.cli("note", two).stdout
    for name, wanted in (("text", "note    before <the> new switch"), ("markdown", "Note: before \\<the\\> new switch"),
                         ("html", "before &#60;the&#62; new switch")):
        shown = cluster.cli("report", one, "--format", name, check=True).stdout
        assert wanted in shown and "fw=1.2" in shown, name
    compared = cluster.cli("compare", one, two, check=True).stdout
    assert "note: before <the> new switch" in compared and "tags fw=1.3; note: new switch" in compared
    assert cluster.cli("note", two, "--clear").stdout.endswith("note -\n")

    # filters
    assert ids(cluster, "--tag", "base*") == [one]
    assert ids(cluster, "--tag", "fw=*") == [two, one]
    assert ids(cluster, "--node", "node2") == [one]
    assert ids(cluster, "--node", "node?") == [two, one]
    assert ids(cluster, "--volume", os.path.dirname(cluster.volume)) == [two, one]
    assert ids(cluster, "--volume", "/mnt/nowhere") == []
    assert ids(cluster, "--name", "night*", "--node", "node1", "--tag", "fw=1.3", "--since", "1d") == [two]


@pytest.mark.parametrize("words,status,says", [
    (("tag", "last", "two words"), 2, "two words"),
    (("tag", "no-such-run", "x"), 1, "there is no run no-such-run"),
    (("tag",), 2, "something is missing"),
    (("note", "last", "two\nlines"), 2, "one line of text"),
    (("note", "last", "x" * 1025), 2, "longer than 1024"),
    (("rm", "no-such-run", "--yes"), 3, "there is no run no-such-run"),
    (("rm", "x"), 2, "say --yes"),
    (("export", "no-such-run"), 1, "there is no run no-such-run"),
    (("run", "quick", "--path", "/tmp", "--tag", "a,b"), 2, "a,b"),
])
def test_what_cannot_be_is_said_in_a_sentence(cluster, words, status, says):
    done = cluster.cli(*words, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_a_lockstepd_checks_labels_itself(cluster):
    """The command is not the only one that can speak to it."""
    def ask(type_, **fields):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(cluster.path("lockstepd.sock"))
        peer = fake_agent.Peer(sock)
        peer.send("hello", protocol=1, version="1", build="1", name="op")
        assert peer.receive()["type"] == "welcome"
        peer.send(type_, **fields)
        answer = fake_agent.until_done(peer)[-1]
        peer.close()
        return answer

    answer = ask("tag", run=None, add=["a b"])
    assert answer["outcome"] == "refused" and "a b" in answer["text"]
    answer = ask("submit", job={**JOB, "path": cluster.volume}, tags=["a,b"])
    assert answer["outcome"] == "refused" and "a,b" in answer["text"]
    answer = ask("remove", run="")
    assert answer["outcome"] == "refused" and "names no run" in answer["text"]


def test_a_removed_run_is_gone_and_a_running_one_stays(cluster):
    gone, stays = run_id(cluster), run_id(cluster)
    assert rows(cluster, "results", gone) > 0
    done = cluster.cli("rm", gone, "--yes", check=True)
    assert done.stdout == f"removed {gone}\n"
    assert gone not in ids(cluster) and stays in ids(cluster)
    assert "there is no run" in cluster.cli("report", gone).stderr
    for table in ("runs", "phases", "attempts", "tags", "run_nodes", "documents"):
        assert rows(cluster, table, gone) == 0, table
    wait_for("results deleted", lambda: rows(cluster, "results", gone) == 0)
    wait_for("removal forgotten", lambda: rows(cluster, "removed", gone) == 0)
    assert rows(cluster, "results", stays) > 0

    process = cluster.start_run(LONG)
    live = wait_for("it runs", lambda: ids(cluster, "--state", "running"))[0]
    done = cluster.cli("rm", live, "--yes")
    assert done.returncode == 3 and "has not ended" in done.stderr
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert cluster.cli("rm", live, "--yes").returncode == 0


def test_it_asks_on_a_terminal(cluster):
    run = run_id(cluster)
    for answer, left in (("n\n", True), ("\n", True), ("y\n", False)):
        here, there = pty.openpty()
        process = subprocess.Popen([program("lockstep"), "rm", run, "--server", cluster.socket()], stdin=there, stdout=there,
                                   stderr=there, close_fds=True)
        os.close(there)
        shown = os.read(here, 4096).decode()
        assert f"remove run {run} (nightly, started 20" in shown and "[y/N]" in shown
        os.write(here, answer.encode())
        process.wait(10)
        os.close(here)
        assert (run in ids(cluster)) == left


def test_a_run_survives_export_removal_and_import(cluster):
    run = run_id(cluster, "--tag", "moved", "--note", "from here")
    first, second = cluster.path("first.json"), cluster.path("second.json")
    listed = [r for r in json.loads(cluster.cli("runs", "--json").stdout) if r["id"] == run][0]
    report = cluster.cli("report", run, check=True).stdout
    cluster.cli("export", run, "-o", first, check=True)

    done = cluster.cli("import", first, check=True)
    assert done.stdout == f"{run} is here already: it counts once\n"
    cluster.cli("rm", run, "--yes", check=True)
    assert cluster.cli("import", first, check=True).stdout == f"{run}\n"
    assert cluster.cli("import", first, check=True).stdout == f"{run} is here already: it counts once\n"

    cluster.cli("export", run, "-o", second, check=True)
    with open(first, "rb") as a, open(second, "rb") as b:
        assert a.read() == b.read()
    assert cluster.cli("report", run, check=True).stdout == report
    back = [r for r in json.loads(cluster.cli("runs", "--all", "--json").stdout) if r["id"] == run][0]
    for key in ("name", "state", "started_at", "duration_ns", "nodes", "path", "tags", "note", "phases_total"):
        assert back[key] == listed[key], key
    assert ids(cluster, "--node", "node2", "--tag", "moved") == [run]

    # Tags that changed do not make it another run; other numbers do.
    cluster.cli("tag", run, "later", check=True)
    assert "counts once" in cluster.cli("import", first, check=True).stdout
    with open(first, encoding="utf-8") as f:
        document = json.load(f)
    document["phases"][0]["nodes"][0]["bytes"] += 1
    with open(second, "w", encoding="utf-8") as f:
        json.dump(document, f)
    done = cluster.cli("import", second)
    assert done.returncode != 0 and "with other results" in done.stderr
    # Neither may it pretend to be another tool's, or half a run.
    for change, says in (({"id": "import-0123"}, "named import-"), ({"state": "running"}, "has not ended"),
                         ({"id": "x", "tags": ["a b"]}, "a b")):
        with open(second, "w", encoding="utf-8") as f:
            json.dump({**document, "run": {**document["run"], **change}}, f)
        done = cluster.cli("import", second)
        assert done.returncode != 0 and says in done.stderr, done.stderr


def test_limits_remove_the_oldest_and_log_it():
    with Cluster(nodes=1, settings={"lockstepd": {"keep_runs": 2}}).start() as cluster:
        first = run_id(cluster, "--tag", "keep")
        others = [run_id(cluster) for _ in range(3)]
        wait_for("the limit", lambda: sorted(ids(cluster)) == sorted([first, others[1], others[2]]))
        assert f"run removed run={others[0]} limit=keep_runs" in cluster.log("lockstepd")
        wait_for("results deleted", lambda: rows(cluster, "results", others[0]) == 0)

        # By age, at the start: what came two days ago goes, but for what is tagged.
        cluster.daemon.terminate()
        cluster.daemon.wait(20)
        db = sqlite3.connect(cluster.path("store", "lockstep.db"))
        with db:
            db.execute("UPDATE runs SET added_ns = added_ns - 2 * 86400 * 1000000000 WHERE id IN (?, ?)", (first, others[1]))
        db.close()
        cluster.settings["lockstepd"] = {"keep_days": 1}
        cluster.start_daemon()
        wait_for("the limit", lambda: sorted(ids(cluster)) == sorted([first, others[2]]))
        assert f"run removed run={others[1]} limit=keep_days" in cluster.log("lockstepd")


MIB = 1048576


def past_runs(cluster, rates, name="past"):
    """Runs of past days with those rates of the write phase, made of a real one; None: the phase failed."""
    _, document, _ = cluster.run(JOB)
    made = []
    for day, rate in enumerate(rates, 1):
        document["run"].update(id=f"{name}-{day:02}", name=name, started_at=f"2026-10-{day:02}T03:00:00.000Z", tags=["night"])
        document["run"]["note"] = "new <switch>" if day == 8 else None
        phase = document["phases"][0]
        phase["state"] = "done" if rate else "failed"
        phase["aggregate"]["last_done"]["bytes_per_s"] = (rate or 1) * MIB
        with open(cluster.path("past.json"), "w", encoding="utf-8") as f:
            json.dump(document, f)
        cluster.cli("import", cluster.path("past.json"), check=True)
        made.append(document["run"]["id"])
    return made


RATES = [100, 101, 99, 100, None, 102, 100, 80, 81, 79, 80, 80]


def test_a_trend_marks_where_the_level_changed(cluster):
    made = past_runs(cluster, RATES)
    done = cluster.cli("trend", "past", "--phase", "write", "--json", check=True)
    trend = json.loads(done.stdout)
    assert trend["schema"] == "lockstep-trend/1" and [r["run"] for r in trend["runs"]] == made
    (series,) = trend["series"]
    assert series["unit"] == "B/s"
    values = [p["value"] for p in series["points"]]
    assert [None if v is None else round(v / MIB, 6) for v in values] == RATES
    assert [p["run"] for p in series["points"] if p["changed"]] == ["past-08"]
    change = series["points"][7]
    assert round(change["before"] / MIB, 6) == 100 and round(change["after"] / MIB, 6) == 80

    text = cluster.cli("trend", "--tag", "night", "past", check=True).stdout
    assert re.search(r"past-08 +2026-10-08T03:00 +80\.0 MiB/s  \^ -20\.0 %, worse  \[night\]  new <switch>", text), text
    assert re.search(r"past-05 +2026-10-05T03:00 +n/a", text)
    assert "12 runs from 2026-10-01 to 2026-10-12" in text and "A change is marked where" in text
    cluster.env["LC_ALL"] = "C.UTF-8"
    shown = cluster.cli("trend", "past", check=True).stdout
    assert "\u2588\u2588\u2588\u2588?\u2588\u2588\u2586\u2586\u2586\u2586\u2586" in shown
    cluster.env["LC_ALL"] = "C"
    assert cluster.cli("trend", "past", check=True).stdout.isascii()
    less = json.loads(cluster.cli("trend", "past", "--limit", "3", "--json", check=True).stdout)
    assert [r["run"] for r in less["runs"]] == made[-3:]
    since = json.loads(cluster.cli("trend", "past", "--since", "2026-10-11", "--until", "2026-10-11", "--json", check=True).stdout)
    assert [r["run"] for r in since["runs"]] == ["past-11"]


@pytest.mark.parametrize("words,status,says", [
    ((), 2, "which runs?"), (("x",), 1, "no finished run"), (("x", "--metric", "speed"), 2, "no metric"),
    (("x", "--format", "pdf"), 2, "neither text"), (("x", "--since", "yesterday"), 2, "--since"),
])
def test_what_trend_cannot_show_is_said(cluster, words, status, says):
    done = cluster.cli("trend", *words)
    assert done.returncode == status and says in done.stderr and done.stderr.count("\n") == 1


def test_the_page_of_a_trend_is_whole_and_needs_nothing(cluster, tmp_path):
    past_runs(cluster, RATES, name="page")
    page = tmp_path / "trend.html"
    cluster.cli("trend", "page", "--format", "html", "-o", str(page), check=True)
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text and not re.search(r"(src|href)=", text)
    assert text.count("<circle") == 11 + 12 and "-20.0 %" in text and "new &#60;switch&#62;" in text
    check_in_browser(page)


def check_in_browser(page):
    """Real Chromium: no console message, and what the page says of itself is drawn."""
    browser = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)
    if browser is None:
        pytest.skip("no Chromium here")
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--enable-logging=stderr", "--v=0", "--virtual-time-budget=2000", "--dump-dom", f"file://{page}"],
                              capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.count("<circle") == 23
    assert "CONSOLE" not in done.stderr, done.stderr
