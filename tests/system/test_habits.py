"""Options that every command has, and what they change: units for people, -q, -v, --version."""
import os
import re
import subprocess

import pytest
from cluster import Cluster, program

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
RUN = os.path.join(ROOT, "tests", "golden", "results", "rows.json")
DAEMONS = ("lockstepd", "lockstep-agent", "lockstep-helper")


def lockstep(*words, **more):
    return subprocess.run([program("lockstep"), *words], capture_output=True, text=True, check=False, timeout=60, **more)


def commands():
    return re.findall(r"^  ([a-z]+) ", lockstep("--help").stdout.split("commands:\n")[1].split("\n\n")[0], re.M)


@pytest.fixture(scope="module")
def result():
    if not os.path.exists(RUN):
        pytest.skip(f"{RUN} is not there")
    return RUN


def test_every_command_takes_them():
    assert len(commands()) > 15
    for command in commands():
        text = lockstep(command, "--help").stdout
        for option in ("--units", "-q, --quiet", "-v, --verbose"):
            assert option in text, (command, option)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_units_of_reports_for_people(result, form):
    binary, si = (lockstep("report", result, "--format", form, *more) for more in ([], ["--units", "si"]))
    assert binary.returncode == si.returncode == 0, binary.stderr + si.stderr
    assert "MiB = 1048576 bytes" in binary.stdout and "MB = 1000000 bytes" not in binary.stdout
    assert "MB = 1000000 bytes" in si.stdout and "MiB/s" not in si.stdout and "MB/s" in si.stdout
    assert lockstep("report", result, "--format", form, "--units", "binary").stdout == binary.stdout


@pytest.mark.parametrize("form", ["json", "csv", "openmetrics", "bonnie", "bonnie-csv", "iozone", "fio-json", "crystaldiskmark"])
def test_units_of_forms_for_programs_never_change(result, form):
    binary, si = (lockstep("report", result, "--format", form, *more) for more in ([], ["--units", "si"]))
    assert (binary.returncode, binary.stdout) == (si.returncode, si.stdout)


def test_units_of_comparisons(result):
    assert "MB/s" in lockstep("compare", result, result, "--units", "si").stdout
    assert lockstep("compare", result, result, "--units", "si", "--format", "json").stdout == \
        lockstep("compare", result, result, "--format", "json").stdout


def test_a_unit_that_is_none(result):
    done = lockstep("report", result, "--units", "metric")
    assert done.returncode == 2 and "binary and si" in done.stderr


def test_verbose_tells_what_is_done_on_standard_error(result):
    plain, verbose = lockstep("report", result), lockstep("report", result, "-v")
    assert verbose.stdout == plain.stdout and plain.stderr == ""
    assert "report took" in verbose.stderr and "exit status 0" in verbose.stderr
    assert lockstep("report", result, "-v", "-q").returncode == 2


def test_verbose_tells_of_the_connection_and_quiet_of_nothing(tmp_path):
    with Cluster(nodes=1, settings={"lockstepd": {}}) as cluster:
        cluster.start()
        told = cluster.cli("nodes", "-v").stderr
        assert "lockstepd at unix:" in told and "to lockstepd: nodes" in told and "from lockstepd: done" in told
        job = cluster.job_file({"path": cluster.volume, "phases": [{"kind": "write", "file_size": "64KiB"}]})
        done = cluster.cli("run", job, "-q")
        assert done.returncode == 0 and done.stderr == "" and "Phase 1" in done.stdout
        run = cluster.export()["run"]["id"]
        assert cluster.cli("rm", run, "--yes", "-q").stdout == ""
    assert lockstep("pki", "init", str(tmp_path / "pki"), "-q").stdout == ""
    assert "made" in lockstep("pki", "init", str(tmp_path / "pki2")).stdout


@pytest.mark.parametrize("name", DAEMONS)
def test_daemons(name):
    run = lambda *words: subprocess.run([program(name), "--config", "/dev/null", *words], capture_output=True, text=True, check=False)  # noqa: E731
    for option in ("--quiet", "--verbose", "--check-config", "--print-config", "--version"):
        assert option in run("--help").stdout, option
    if name != "lockstep-helper":
        assert "\nlog_level = debug\n" in run("-v", "--print-config").stdout
        assert "\nlog_level = error\n" in run("-q", "--print-config").stdout
    assert run("-q", "-v").returncode == 2


def test_versions_name_the_libraries():
    for name, libraries in (("lockstep", ("libevent", "OpenSSL", "jansson")), ("lockstepd", ("libevent", "OpenSSL", "jansson", "SQLite")),
                            ("lockstep-agent", ("libevent", "OpenSSL", "jansson"))):
        text = subprocess.run([program(name), "--version"], capture_output=True, text=True, check=True).stdout
        assert all(re.search(rf"{library} \d", text) for library in libraries), text


def test_subcommands_of_the_agent():
    for words in (["enroll", "--help"], ["doctor", "--help"]):
        text = subprocess.run([program("lockstep-agent"), *words], capture_output=True, text=True, check=True).stdout
        assert "-q, --quiet" in text and "-v, --verbose" in text
    done = subprocess.run([program("lockstep-agent"), "doctor", "--config", "/dev/null", "-q"], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert done.returncode == 1 and lines and all(line.startswith("failed") for line in lines)
    bad = subprocess.run([program("lockstep-agent"), "enroll", "--alow", "/x", "a:1", "t"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2 and "did you mean --allow?" in bad.stderr
