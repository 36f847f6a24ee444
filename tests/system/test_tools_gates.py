"""The other gates: System V semaphores (bonnie++ 1.03), iozone's hooks, an agent that is told a hostile fio job. Stand-ins speak the
programs' own protocols and note when they stand and begin; the real iozone where the machine has one."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from cluster import BUILD, Cluster, wait_for
from fake_coordinator import Agent
from test_agent import epoch, prepare
from test_tools import BONNIE_JOB, FIO, HOSTILE, rows, script, stand_ins

IOZONE = shutil.which("iozone", path=os.environ.get("PATH", "") + ":/opt/iozone/bin")
OLD_BONNIE = os.path.join(BUILD, "tests", "support", "old_bonnie")
OWN_IPC = ["unshare", "--ipc"]  # the set of semaphores has one key on a machine

needs_old = pytest.mark.skipif(not os.path.exists(OLD_BONNIE) or subprocess.call(OWN_IPC + ["true"], stderr=subprocess.DEVNULL) != 0,
                               reason="make tools builds its stand-in; an IPC namespace needs root")


def old_bonnie(directory, name):
    os.makedirs(f"{directory}/{name}", exist_ok=True)
    os.chmod(f"{directory}/{name}", 0o777)
    return shutil.copy(OLD_BONNIE, f"{directory}/{name}/bonnie")


def noted(path):
    """{what: {phase: instant}} of a stand-in's log."""
    found = {"stands": {}, "begins": {}}
    with open(path, encoding="ascii") as f:
        for line in f:
            phase, what, at = line.split()
            found[what][phase] = float(at)
    return found


def check_held(logs, phases):
    """Nobody began a phase before all stood there."""
    for log in logs:
        assert list(log["begins"]) == [str(p) for p in phases]
    for phase in map(str, phases):
        assert max(log["stands"][phase] for log in logs) < min(log["begins"][phase] for log in logs), f"phase {phase}"


# What old_bonnie prints, by the number of the phase: rate (KiB/s or files/s) and CPU.
PRINTED = {0: (10001, 11), 1: (30001, 31), 2: (20001, 21), 3: (40001, 41), 4: (50001, 51), 5: (601.5, 6),
           6: (7001, 71), 7: (8001, 81), 8: (9001, 91), 9: (7002, 72), 10: (8002, 82), 11: (9002, 92)}


@needs_old
def test_semaphores_hold_bonnie_103_before_each_phase(tmp_path):
    os.chmod(tmp_path, 0o755)
    names = ("node1", "node2")
    settings = {n: {"bonnie": old_bonnie(tmp_path, n)} for n in names}
    job = {"short_phases": True, "phases": [{"kind": "bonnie++", "file_size": "4MiB", "file_count": 1, "characters": True}]}
    with Cluster(nodes=2, wrap={n: OWN_IPC for n in names}, settings=settings) as cluster:
        cluster.start()
        for again in range(2):  # a set that is left behind would refuse the second run
            for n in names:
                if again:
                    os.unlink(f"{tmp_path}/{n}/bonnie.log")
            status, results, done = cluster.run(job)
            assert status == 0, done.stderr
            assert cluster.files() == []
            logs = {n: noted(f"{tmp_path}/{n}/bonnie.log") for n in names}
            check_held(list(logs.values()), range(12))
    assert len(results["phases"]) == 12
    for number, phase in enumerate(results["phases"]):
        for n in names:
            check_old_row(rows(phase)[n], number)
    # it sleeps for a second before the seeks: none of the time of the read before them
    read = results["phases"][4]
    for n in names:
        asleep = logs[n]["stands"]["5"] - logs[n]["begins"]["4"]
        assert rows(read)[n]["end_ns"] - rows(read)[n]["start_ns"] < (asleep - 0.5) * 1e9


def check_old_row(row, number):
    rate, cpu = PRINTED[number]
    metrics = {m["name"]: m["value"] for m in row["metrics"]}
    assert metrics["cpu"] == cpu
    assert row["tool"]["version"] == "1.03e"
    if number == 0:  # its clock runs while it waits
        assert row["bytes_per_s"] is None and metrics["putc as told"] == rate * 1024
    elif number < 5:
        assert row["bytes_per_s"] == rate * 1024
    else:
        assert row["ops_per_s"] == rate


@needs_old
def test_a_killed_runner_leaves_no_semaphores(tmp_path):
    os.chmod(tmp_path, 0o755)
    job = {"short_phases": True, "phases": [{"kind": "bonnie++", "file_size": "4MiB", "file_count": 0}]}
    with Cluster(nodes=1, wrap={"node1": OWN_IPC}, settings={"node1": {"bonnie": old_bonnie(tmp_path, "node1")}}) as cluster:
        cluster.start()
        run = cluster.start_run(job)
        log = f"{tmp_path}/node1/bonnie.log"
        wait_for("the pause before the seeks", lambda: os.path.exists(log) and "4 begins" in open(log, encoding="ascii").read())
        os.kill(cluster.runner_pid("node1"), signal.SIGKILL)
        run.communicate(timeout=60)
        assert run.returncode != 0
        status, _, done = cluster.run(job)
        assert status == 0, done.stderr


TAKES_THE_KEY = "import ctypes, os, sys; assert ctypes.CDLL(None).semget(4711, 12, 0o1600) >= 0; os.execvp(sys.argv[1], sys.argv[1:])"


@needs_old
def test_semaphores_that_are_in_use_are_named(tmp_path):
    os.chmod(tmp_path, 0o755)
    wrap = {"node1": OWN_IPC + ["/usr/bin/python3", "-c", TAKES_THE_KEY]}
    with Cluster(nodes=1, wrap=wrap, settings={"node1": {"bonnie": old_bonnie(tmp_path, "node1")}}) as cluster:
        cluster.start()
        status, results, _ = cluster.run(BONNIE_JOB)
        assert status == 1
        assert "4711 are in use" in results["run"]["reason"] and "ipcrm -S 4711" in results["run"]["reason"]


@needs_old
def test_versions_103_and_200_are_mixed_only_when_allowed_and_then_marked(tmp_path):
    os.chmod(tmp_path, 0o755)
    settings = {"node1": stand_ins(tmp_path, "")["node1"], "node2": {"bonnie": old_bonnie(tmp_path, "node2")}}
    with Cluster(nodes=2, wrap={"node2": OWN_IPC}, settings=settings) as cluster:
        cluster.start()
        status, results, done = cluster.run(BONNIE_JOB)
        assert status != 0 and results is None
        assert "allow_mixed_tools" in done.stderr and "comparable in block read" in done.stderr
        status, results, done = cluster.run({**BONNIE_JOB, "allow_mixed_tools": True})
        assert status == 0, done.stderr
        csv = cluster.cli("report", "last", "--format", "bonnie-csv", check=True).stdout
        with open(cluster.path("own.csv"), "w", encoding="utf-8") as f:
            f.write(csv)
        back = cluster.cli("import", "--json", "-", cluster.path("own.csv"), check=True).stdout
    marks = {p["name"]: [w for w in p["warnings"] if "node1 has version 2.00a, node2 has 1.03e" in w] for p in results["phases"]}
    assert {name: ["not comparable" in w for w in found] for name, found in marks.items()} == {
        "bonnie++: block write": [True], "bonnie++: rewrite": [True], "bonnie++: block read": [False], "bonnie++: random seeks": [True]}
    lines = {line.split(",")[2]: line.split(",") for line in csv.split("\n") if line}
    assert lines["node1"][1] == "2.00a" and lines["node2"][1] == "1.03e"
    assert lines["node2"][11:15] == ["30001", "31", "20001", "21"] and lines["node1"][11:15] == ["1000", "10", "2000", "20"]
    assert lines["(all 2)"][11:15] == ["", "", "", ""] and lines["(all 2)"][19] == "", "different things are not added up"
    check_imported_back(json.loads(back))


def check_imported_back(documents):
    """What lockstep itself wrote as bonnie++'s CSV is read again; not the line that is a sum."""
    assert [(d["run"]["origin"]["version"], [n["name"] for n in d["nodes"]]) for d in documents] == \
        [("2.00a", ["node1"]), ("1.03e", ["node2"])]
    found = {p["imported"]["test"]: p["nodes"][0] for p in documents[1]["phases"]}
    assert found["put_block"]["bytes_per_s"] == 30001 * 1024
    assert found["seeks"]["ops_per_s"] == 601.5


CSV_200 = "1.98,2.00a,n,1,1,8M,,8192,5,,,1000,10,2000,20,,,3000,30,4000.5,40,,,,,,,,,,,,,,,,,,,1us,2us,,3us,4us,,,,,,"


def test_documents_carry_the_end_of_what_was_printed_and_the_store_all_of_it(tmp_path):
    os.chmod(tmp_path, 0o755)
    talks = "echo the first line; seq -f 'line %09.0f of much talk' 8000; for i in 1 2 4 5; do gate $i; done; " \
        f"seq -f 'complaint %09.0f' 2000 >&2; echo {CSV_200}\n"
    with Cluster(nodes=2, settings=stand_ins(tmp_path, talks)) as cluster:
        cluster.start()
        status, results, done = cluster.run(BONNIE_JOB)
        assert status == 0, done.stderr
        said = rows(results["phases"][-1])["node2"]["tool"]
        assert len(said["out"]) <= 64 << 10 and said["out"].startswith("line ") and said["out"].endswith(CSV_200 + "\n")
        assert len(said["err"]) <= 16 << 10 and said["err"].startswith("complaint ")
        whole = cluster.cli("report", "last", "--format", "tool-output", check=True).stdout
        assert "the first line" in whole and "line 000000001 of" in whole and "complaint 000000001" in whole
        exported = json.loads(cluster.cli("export", "last", check=True).stdout)
        all_said = rows(exported["phases"][-1])["node2"]["tool"]
        assert len(all_said["out"]) + len(all_said["err"]) == len(said["out"]) + len(said["err"]) + said["cut_bytes"]
        assert rows(results["phases"][0])["node2"]["bytes_per_s"] == 1000 * 1024
        # one run, whichever of both is brought back
        for name, document in (("short", results), ("long", exported)):
            with open(cluster.path(name), "w", encoding="utf-8") as f:
                json.dump(document, f)
            assert "counts once" in cluster.cli("import", cluster.path(name), check=True).stdout


# --- iozone ---------------------------------------------------------------------------------------------------------------

IOZONE_SAYS = """
	Iozone: Performance Test of File I/O
	        Version $Revision: 3.471 $
		Compiled for 64 bit mode.

	File size set to 1024 kB
	Record Size 64 kB
	Command line used: iozone -i 0
	Output is in kBytes/sec
"""

THROUGHPUT_SAYS = """	Throughput test with 2 processes
	Each process writes a 1024 kByte file in 64 kByte records

	Children see throughput for  2 initial writers 	=    3001.50 kB/sec
	Parent sees throughput for  2 initial writers 	=    1501.25 kB/sec
	Min throughput per process 			=    1000.25 kB/sec 
	Max throughput per process 			=    2001.25 kB/sec
	Avg throughput per process 			=    1500.75 kB/sec
	Min xfer 					=     512.00 kB

	Children see throughput for  2 rewriters 	=    4002.50 kB/sec
	Parent sees throughput for  2 rewriters 	=    2501.25 kB/sec
	Min throughput per process 			=    2000.25 kB/sec 
	Max throughput per process 			=    2002.25 kB/sec
	Avg throughput per process 			=    2001.25 kB/sec
	Min xfer 					=     768.00 kB



iozone test complete.
"""

SINGLE_SAYS = """                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread
            1024      64   411001   412002

iozone test complete.
"""


def iozone(directory, name, does):
    """A script that notes when it stands before and begins each test; does: what it does instead of both."""
    return {"iozone": script(f"{directory}/iozone-{name}", f"""#!/bin/sh
case "$1" in -v) echo '        Version $Revision: 3.471 $'; exit 0;; esac
note() {{ echo "$1 $2 $(cut -d' ' -f1 /proc/uptime)" >> {directory}/iozone-{name}.log; }}
at_hook() {{ note $1 stands; $IMON_START $1; note $1 begins; echo x > work; sleep 0.2; $IMON_STOP $1; }}
{does}
""")}


def say(text):
    return f"cat <<'SAYS'\n{text}SAYS\n"


# /proc/uptime has hundredths: two nodes that are let go some microseconds apart are the same, and so is who waits for no time.
SLOW_TO_COME = "[ -n \"$IMON_SYNC\" ] || exit 7\nsleep {lag}\nfor t in Write Rewrite; do at_hook $t; sleep {lag}; done\n"
THROUGHPUT_JOB = {"short_phases": True, "phases": [
    {"kind": "iozone", "mode": "throughput", "streams": 2, "file_size": "1MiB", "record_size": "64KiB", "tests": [0]}]}


def test_hooks_hold_iozone_before_each_test(tmp_path):
    os.chmod(tmp_path, 0o755)
    tmp_path.chmod(0o777)
    settings = {n: iozone(tmp_path, n, SLOW_TO_COME.format(lag=lag) + say(IOZONE_SAYS + THROUGHPUT_SAYS))
                for n, lag in (("node1", 0), ("node2", 0.3))}
    with Cluster(nodes=2, settings=settings) as cluster:
        cluster.start()
        status, results, done = cluster.run(THROUGHPUT_JOB)
        assert status == 0, done.stderr
        assert cluster.files() == []
    logs = [noted(f"{tmp_path}/iozone-{n}.log") for n in ("node1", "node2")]
    for test in ("Write", "Rewrite"):
        assert max(log["stands"][test] for log in logs) <= min(log["begins"][test] for log in logs)
        assert logs[0]["begins"][test] - logs[0]["stands"][test] > 0.1, "the quick one waits for the slow one"
    assert [p["name"] for p in results["phases"]] == ["iozone: Write", "iozone: Rewrite"]
    for phase, rate in zip(results["phases"], (3001.5, 4002.5)):
        assert all(n["bytes_per_s"] == rate * 1024 for n in phase["nodes"])
        assert phase["aggregate"]["sum_of_rates"]["bytes_per_s"] == 2 * rate * 1024
        assert not any("parent saw" in w for w in phase["warnings"]), "last done is measured from outside here"


FAULTS = {
    "another test": ("at_hook Read\n", ["should wait before its test Write", "Read"]),
    "no hooks": ("sleep 0.1\n" + say(IOZONE_SAYS + THROUGHPUT_SAYS), ["before its phase 1 of 2"]),
    "half of its output": ("at_hook Write; at_hook Rewrite\n" + say(IOZONE_SAYS + THROUGHPUT_SAYS[:700]), ["cannot be read"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_iozone_that_does_not_as_it_should_fails_its_node(fault, tmp_path):
    tmp_path.chmod(0o777)
    does, says = FAULTS[fault]
    with Cluster(nodes=1, settings={"node1": iozone(tmp_path, "node1", does)}) as cluster:
        cluster.start()
        status, results, _ = cluster.run(THROUGHPUT_JOB)
        assert status == 1
        assert all(word in results["run"]["reason"] for word in ["node1", *says]), results["run"]["reason"]


CELLS = {"short_phases": True, "phases": [
    {"kind": "iozone", "mode": "single", "file_size": "1MiB", "record_size": "64KiB", "tests": [0]} for _ in range(2)]}


def test_iozone_without_hooks_is_one_process_for_each_cell_and_held_at_its_start(tmp_path):
    tmp_path.chmod(0o777)
    does = "[ -z \"$IMON_START\" ] || exit 7\nnote $$ begins\nsleep {lag}\nnote $$ stands\n" + say(IOZONE_SAYS + SINGLE_SAYS)
    settings = {n: iozone(tmp_path, n, does.replace("{lag}", lag)) for n, lag in (("node1", "0"), ("node2", "0.3"))}
    with Cluster(nodes=2, settings=settings) as cluster:
        cluster.start()
        status, results, done = cluster.run(CELLS)
        assert status == 0, done.stderr
    logs = [noted(f"{tmp_path}/iozone-{n}.log") for n in ("node1", "node2")]
    ends = [list(log["stands"].values()) for log in logs]
    begins = [list(log["begins"].values()) for log in logs]
    assert [len(b) for b in begins] == [2, 2], "a process for each cell"
    assert max(e[0] for e in ends) <= min(b[1] for b in begins), "no second cell before all had done the first"
    for phase in results["phases"]:
        for node in phase["nodes"]:
            assert {m["name"]: m["value"] for m in node["metrics"]} == {"write rate": 411001 * 1024, "rewrite rate": 412002 * 1024}


@pytest.mark.skipif(not IOZONE, reason="needs iozone, which Debian has only in non-free")
def test_the_real_iozone_waits_before_each_of_its_tests(tmp_path):
    tmp_path.chmod(0o777)
    wrapped = {n: {"iozone": script(f"{tmp_path}/real-{n}", f"""#!/bin/sh
case "$1" in -v) exec {IOZONE} -v;; esac
export HOOK="$IMON_START"
export IMON_START={tmp_path}/hook-{n}
exec {IOZONE} "$@"
""")} for n in ("node1", "node2")}
    for n in wrapped:
        script(f"{tmp_path}/hook-{n}", f"""#!/bin/sh
echo "$1 stands $(cut -d' ' -f1 /proc/uptime)" >> {tmp_path}/{n}.log
$HOOK $1 || exit 1
echo "$1 begins $(cut -d' ' -f1 /proc/uptime)" >> {tmp_path}/{n}.log
""")
    with Cluster(nodes=2, settings=wrapped) as cluster:
        cluster.start()
        status, results, done = cluster.run(THROUGHPUT_JOB)
        assert status == 0, done.stderr
        assert cluster.files() == []
    logs = [noted(f"{tmp_path}/{n}.log") for n in wrapped]
    for test in ("Write", "Rewrite"):
        assert max(log["stands"][test] for log in logs) <= min(log["begins"][test] for log in logs)
    for node in wrapped:
        said = rows(results["phases"][-1])[node]["tool"]["out"]
        told = [float(x) for x in re.findall(r"Children see throughput for +2 [a-z ]+\t= +([\d.]+) kB/sec", said)]
        assert [rows(p)[node]["bytes_per_s"] for p in results["phases"]] == [x * 1024 for x in told]


# --- past the command and the coordinator ---------------------------------------------------------------------------------

def test_an_agent_itself_refuses_a_hostile_fio_job(tmp_path):
    """A coordinator that checks nothing: the runner reads the job against the table of options itself."""
    mark = tmp_path / "mark"
    tmp_path.chmod(0o777)
    jobs = [(f"[a]\nrw=read\nsize=1m\n{line}\n", says) for line, says in HOSTILE]
    jobs += [(f"[{name}]\nrw=read\nsize=1m\n", "names of sections") for name in ("x;touch {mark}", "../x", "x y")]
    with Agent() as agent:
        agent.start(fio=FIO or script(f"{tmp_path}/fio", "#!/bin/sh\necho fio-3.33\n"))
        peer = agent.connect()
        for number, (text, says) in enumerate(jobs):
            run = f"r{number}"
            assert "error" not in prepare(agent, peer, run), run
            spec = {"kind": "fio", "fio_job": text.format(mark=mark), "step": 0, "steps": 1}
            peer.send("arm", epoch=epoch(run), spec=spec, node_workers=[1], redo=False)
            failed = peer.expect("failed")
            assert says in failed["error"]["text"] and "line " in failed["error"]["text"], (text, failed)
            peer.send("finish", run=run)
            peer.expect("finished")
        assert agent.process.poll() is None
    assert not mark.exists()
