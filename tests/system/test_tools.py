"""The real fio and bonnie++ at the barrier, and stand-ins for what goes wrong with them. Checked by strace, by the programs' own output and by /proc."""
import glob
import json
import os
import re
import shutil
import signal
import stat

import pytest

from cluster import Cluster, alive, wait_for
from test_namespaces import namespaces  # noqa: F401  (a fixture)

FIO = shutil.which("fio")
BONNIE = shutil.which("bonnie++", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")

# Answers as bonnie++ 2.00 does, then does as told in each phase that it is let go into.
STAND_IN = """#!/bin/sh
case "$1" in -*\\?*) echo 'Version: 2.00a'; exit 1;; esac
gate() { printf '\\n%s:\\n' "$1"; read line || exit 9; }
"""


def script(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def traced_bonnie(directory, name):
    """The real program below strace, which notes each read and write of its standard streams."""
    real = f"exec {BONNIE} \"$@\""
    trace = f"exec strace -f -ttt -T -s 4000 -e trace=read,write -o {directory}/bonnie.{name}.$$ {BONNIE} \"$@\""
    return script(f"{directory}/bonnie-{name}", f"#!/bin/sh\ncase \"$1\" in -*\\?*) {real};; esac\n{trace}\n")


def logged_fio(directory, name):
    """The real program; its standard output also goes to a file, its begin and end to another."""
    return script(f"{directory}/fio-{name}", f"""#!/bin/sh
case "$*" in *--version*|*layout*) exec {FIO} "$@";; esac
echo "begin $(date +%s%N)" >> {directory}/fio.{name}.times
{FIO} "$@" > {directory}/fio.{name}.$$.json
status=$?
echo "end $(date +%s%N)" >> {directory}/fio.{name}.times
cat {directory}/fio.{name}.$$.json
exit $status
""")


def rows(phase):
    return {n["node"]: n for n in phase["nodes"]}


def seen_by_strace(directory, name):
    """When bonnie++ printed each prompt, when it was let go there, and its line of CSV."""
    prompts, released, csv, last = {}, {}, None, None
    for path in glob.glob(f"{directory}/bonnie.{name}.*"):
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                # begin of the call, call, descriptor, text, how long it took
                m = re.match(r'\d+ +([\d.]+) (read|write)\((\d), "((?:[^"\\]|\\.)*)".*<([\d.]+)>$', line)
                if m is None:
                    continue
                at, call, fd, text = float(m.group(1)), m.group(2), m.group(3), m.group(4)
                number = re.fullmatch(r"(?:\\n)*(\d+):\\n", text)
                if call == "write" and fd == "1" and number:
                    last = int(number.group(1))
                    prompts[last] = at
                elif call == "read" and fd == "0" and text == "\\n":
                    released[last] = at + float(m.group(5))
                elif call == "write" and fd == "1" and text.count(",") > 40:
                    csv = text.rstrip("\\n").rsplit("\\n", 1)[-1].split(",")
    return prompts, released, csv


@pytest.mark.skipif(not BONNIE or not shutil.which("strace"), reason="needs bonnie++ and strace")
def test_bonnie_waits_before_each_of_its_phases(namespaces, tmp_path):  # noqa: F811
    os.chmod(tmp_path, 0o755)
    nodes = ("node1", "node2", "node3")
    wrap = {n: ["ip", "netns", "exec", namespaces[i]] for i, n in enumerate(nodes, 1)}
    settings = {n: {"bonnie": traced_bonnie(tmp_path, n)} for n in nodes}
    job = {"short_phases": True, "phases": [{"kind": "bonnie++", "file_size": "8MiB", "file_count": 1}]}
    with Cluster(wrap=wrap, daemon_wrap=["ip", "netns", "exec", namespaces[0]], listen="10.98.0.1:0", settings=settings) as cluster:
        cluster.start()
        status, results, done = cluster.run(job)
        assert status == 0, done.stderr
        assert cluster.files() == []
    steps = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert len(results["phases"]) == len(steps)
    seen = {n: seen_by_strace(tmp_path, n) for n in nodes}
    for n in nodes:
        assert sorted(seen[n][0]) == sorted(seen[n][1]) == steps
    # a prompt is printed when the phase before it is over: the last of these comes before the first release into the next
    for step in steps:
        assert max(seen[n][0][step] for n in nodes) < min(seen[n][1][step] for n in nodes), f"phase {step}"
    for phase, step in zip(results["phases"], steps):
        assert phase["state"] == "done" and phase["spec"]["kind"] == "bonnie++" and not phase["attempts"]
        spread = max(seen[n][1][step] for n in nodes) - min(seen[n][1][step] for n in nodes)
        told = (phase["start_skew_ns"] + phase["start_skew_uncertainty_ns"]) / 1e9
        assert spread <= told + 0.25, "what the programs themselves saw is not far from what is told"
    check_bonnie_figures(results, {n: seen[n][2] for n in nodes}, dict(zip(steps, range(len(steps)))))


def check_bonnie_figures(results, csv, place):
    """Rates, CPU and latencies of the rows are those that bonnie++ printed, digit for digit."""
    first = {1: 11, 2: 13, 4: 17, 5: 19, 6: 26, 7: 28, 8: 30, 9: 32, 10: 34, 11: 36}
    known = 0
    for node, fields in csv.items():
        assert fields is not None and len(fields) == 50
        for step, at in first.items():
            row = rows(results["phases"][place[step]])[node]
            in_bytes = step < 5
            rate = row["bytes_per_s"] if in_bytes else row["ops_per_s"]
            assert rate == (None if not re.match(r"[\d.]+$", fields[at]) else float(fields[at]) * (1024 if in_bytes else 1)), (node, step)
            metrics = {m["name"]: m["value"] for m in row["metrics"]}
            if fields[at + 1].isdigit():
                assert metrics["cpu"] == float(fields[at + 1])
            latency = re.match(r"(\d+)(us|ms|s)$", fields[38 + (step if step < 6 else step)])
            if latency:
                known += 1
                assert metrics["latency_max"] == int(latency.group(1)) * {"us": 1e3, "ms": 1e6, "s": 1e9}[latency.group(2)]
        output = rows(results["phases"][-1])[node]["tool"]
        assert ",".join(fields) in output["out"] and output["exit_status"] == 0 and output["version"] == "2.00a"
    assert known > 20


FIO_JOB = """[global]
size=4m
bs=64k
[one]
rw=write
end_fsync=1
[two]
stonewall
rw=randread
bs=4k
numjobs=2
"""


@pytest.mark.skipif(not FIO, reason="needs fio")
def test_fio_waits_before_each_part_of_its_job(namespaces, tmp_path):  # noqa: F811
    os.chmod(tmp_path, 0o755)
    nodes = ("node1", "node2", "node3")
    wrap = {n: ["ip", "netns", "exec", namespaces[i]] for i, n in enumerate(nodes, 1)}
    settings = {n: {"fio": logged_fio(tmp_path, n)} for n in nodes}
    with Cluster(wrap=wrap, daemon_wrap=["ip", "netns", "exec", namespaces[0]], listen="10.98.0.1:0", settings=settings) as cluster:
        cluster.start()
        with open(cluster.path("two.fio"), "w", encoding="utf-8") as f:
            f.write(FIO_JOB)
        status, results, done = cluster.run({"short_phases": True, "phases": [{"kind": "fio", "job_file": "two.fio"}]})
        assert status == 0, done.stderr
        assert cluster.files() == []
        printed = cluster.cli("report", "last", "--format", "tool-output", check=True).stdout
        tools = cluster.cli("tools", check=True).stdout
    assert printed.count("=== node") == 6 and '"fio version"' in printed
    assert all(n in tools for n in nodes) and tools.count("3.") >= 3
    assert [p["name"] for p in results["phases"]] == ["fio: one", "fio: two"]
    times = {n: [line.split() for line in open(f"{tmp_path}/fio.{n}.times", encoding="ascii")] for n in nodes}
    assert all([w for w, _ in times[n]] == ["begin", "end", "begin", "end"] for n in nodes)
    assert max(int(times[n][1][1]) for n in nodes) < min(int(times[n][2][1]) for n in nodes), "part two began while part one ran"
    for n in nodes:
        files = sorted(glob.glob(f"{tmp_path}/fio.{n}.*.json"), key=os.path.getmtime)
        assert len(files) == 2
        for phase, path in zip(results["phases"], files):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            check_fio_figures(rows(phase)[n], json.loads(text[text.index("{"):]))
    for phase in results["phases"]:
        check_merged(phase)


def check_fio_figures(row, own):
    for direction in ("read", "write"):
        jobs = [j[direction] for j in own["jobs"] if j[direction]["io_bytes"] > 0]
        if not jobs:
            assert direction not in row["by_op"]
            continue
        op = row["by_op"][direction]
        assert op["bytes"] == sum(j["io_bytes"] for j in jobs) == row["bytes"]
        assert op["ops"] == sum(j["total_ios"] for j in jobs) == row["ops"]
        assert op["latency_ns"]["count"] == sum(j["clat_ns"]["N"] for j in jobs)
        assert op["latency_ns"]["min"] == min(j["clat_ns"]["min"] for j in jobs)
        assert op["latency_ns"]["max"] == max(j["clat_ns"]["max"] for j in jobs)
        assert sum(c for _, c in op["latency_ns"]["histogram"]["buckets"]) == sum(j["clat_ns"]["N"] for j in jobs)
        if len(jobs) == 1:
            assert row["bytes_per_s"] == jobs[0]["bw_bytes"]
            assert [c for _, c in op["latency_ns"]["histogram"]["buckets"]] == \
                [c for _, c in sorted(((int(k), c) for k, c in jobs[0]["clat_ns"]["bins"].items()))]
        told = {m["value"] for m in row["metrics"]}
        assert all(float(j["bw_bytes"]) in told for j in jobs)


def check_merged(phase):
    """The histogram of all nodes is the sum of theirs, bucket by bucket."""
    for op, merged in phase["aggregate"]["by_op"].items():
        total = {}
        for node in phase["nodes"]:
            for index, count in node["by_op"][op]["latency_ns"]["histogram"]["buckets"]:
                total[index] = total.get(index, 0) + count
        assert sorted(total.items()) == [tuple(b) for b in merged["latency_ns"]["histogram"]["buckets"]]


HOSTILE = [
    ("exec_prerun=/bin/touch {mark}", "exec_prerun"),
    ("exec_postrun=/bin/touch {mark}", "exec_postrun"),
    ("ioengine=external:/tmp/x.so", "not allowed"),
    ("ioengine=exec", "not allowed"),
    ("ioengine=net", "not allowed"),
    ("filename=../../outside", "not allowed"),
    ("filename=/dev/null", "not allowed"),
    ("filename=a:..", "names of files"),
    ("filename=.hidden", "names of files"),
    ("directory=/tmp", "directory"),
    ("write_bw_log=/tmp/log", "write_bw_log"),
    ("read_iolog=/etc/passwd", "read_iolog"),
    ("include /etc/passwd", "include"),
    ("opendir=/etc", "opendir"),
    ("verify_state_save=1", "verify_state_save"),
    ("mem=mmaphuge:/tmp/x", "mem"),
    ("size=$(touch {mark})", "not allowed"),
    ("size=`touch {mark}`", "not allowed"),
    ("size=${{HOME}}", "not allowed"),
    ("bs=4k;touch {mark}", "not allowed"),
    ("numjobs=100000", "numjobs"),
]


def test_hostile_fio_jobs_are_refused(tmp_path):
    mark = tmp_path / "mark"
    names = ["x; touch {mark}", "x$(touch {mark})", "../x", "a/b", "`touch {mark}`", "x y", ""]
    jobs = [(f"[a]\nrw=read\nsize=1m\n{line}\n", says) for line, says in HOSTILE]
    jobs += [(f"[{name}]\nrw=read\nsize=1m\n", "names of sections") for name in names]
    with Cluster(nodes=1, settings={"node1": {"fio": FIO or "/usr/bin/fio"}}) as cluster:
        cluster.start()
        for text, says in jobs:
            status, results, done = cluster.run({"phases": [{"kind": "fio", "fio_job": text.format(mark=mark)}]})
            assert status != 0 and results is None, text
            assert says in done.stderr and "line " in done.stderr, (text, done.stderr)
    assert not mark.exists()


def stand_ins(directory, what):
    """node1 does as it should, node2 does what."""
    good = STAND_IN + "for i in 1 2 4 5; do gate $i; sleep 0.3; done\n" \
        "echo 1.98,2.00a,n,1,1,8M,,8192,5,,,1000,10,2000,20,,,3000,30,4000.5,40,,,,,,,,,,,,,,,,,,,1us,2us,,3us,4us,,,,,,\n"
    return {"node1": {"bonnie": script(f"{directory}/good", good)}, "node2": {"bonnie": script(f"{directory}/bad", STAND_IN + what)}}


BONNIE_JOB = {"short_phases": True, "phases": [{"kind": "bonnie++", "file_size": "8MiB", "file_count": 0}]}

FAULTS = {
    "dies": ("gate 1; echo 'disk on fire' >&2; exit 3\n", ["node2", "status 3", "disk on fire"]),
    "is killed": ("gate 1; kill -9 $$\n", ["node2", "signal 9"]),
    "does not wait": ("echo nonsense; exit 0\n", ["node2", "nonsense"]),
    "waits at the wrong phase": ("gate 1; gate 7\n", ["node2", "should wait before its phase 2", "7"]),
    "ends too early": ("gate 1; gate 2; exit 0\n", ["node2", "2 of 4 phases"]),
    "prints nonsense": ("for i in 1 2 4 5; do gate $i; done; echo what a nice day\n", ["node2", "cannot be read", "what a nice day"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_program_that_fails_fails_its_node(fault, tmp_path):
    os.chmod(tmp_path, 0o755)
    what, says = FAULTS[fault]
    with Cluster(nodes=2, settings=stand_ins(tmp_path, what)) as cluster:
        cluster.start()
        status, results, done = cluster.run(BONNIE_JOB)
        assert status == 1
        assert all(word in results["run"]["reason"] for word in says), results["run"]["reason"]
        assert cluster.files() == []


def test_missing_and_old_programs_are_told_and_refused(tmp_path):
    os.chmod(tmp_path, 0o755)
    settings = {"node1": {"bonnie": script(f"{tmp_path}/good", STAND_IN), "fio": script(f"{tmp_path}/old", "#!/bin/sh\necho fio-2.1.3\n")},
                "node2": {"bonnie": f"{tmp_path}/nothing"},
                "node3": {"bonnie": script(f"{tmp_path}/1.03", "#!/bin/sh\necho 'Version: 1.03e'\n"),
                          "fio": script(f"{tmp_path}/hangs", "#!/bin/sh\nsleep 600\n")}}
    with Cluster(nodes=3, settings=settings) as cluster:
        cluster.start()
        tools = {n["name"]: {t["name"]: t for t in n["facts"].get("tools", [])}
                 for n in json.loads(cluster.cli("tools", "--json", check=True).stdout)}
        assert tools["node1"]["bonnie++"]["version"] == "2.00a" and "problem" not in tools["node1"]["bonnie++"]
        assert "too old" in tools["node1"]["fio"]["problem"]
        assert "No such file" in tools["node2"]["bonnie++"]["problem"]
        assert "within 3 s" in tools["node3"]["fio"]["problem"]
        status, _, done = cluster.run({**BONNIE_JOB, "nodes": ["node1", "node2"]})
        assert status != 0 and "node2" in done.stderr and "No such file" in done.stderr
        status, _, done = cluster.run({**BONNIE_JOB, "nodes": ["node1", "node3"]})
        assert status != 0 and "1.03e" in done.stderr and "2.00a" in done.stderr and "allow_mixed_tools" in done.stderr
        assert "comparable in block read" in done.stderr
        status, _, done = cluster.run({"phases": [{"kind": "iozone", "file_size": "1MiB"}], "nodes": ["node1"]})
        assert status != 0 and "may not run iozone" in done.stderr
        checked = cluster.cli("check", cluster.job_file({"path": cluster.volume, **BONNIE_JOB}), "--path", cluster.volume)
        assert checked.returncode != 0 and "No such file" in checked.stdout + checked.stderr


# Leaves its session and group, as fio's jobs do, and ignores all signals that can be ignored.
CLINGING = "gate 1; setsid sh -c 'trap \"\" TERM HUP INT; sleep 601 & sleep 602'\n"


def sleepers(cluster):
    found = []
    for name in cluster.names:
        found += [pid for pid in cluster.agent_tree(name) if b"sleep\x0060" in cmdline(pid)]
    return found


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


@pytest.mark.parametrize("how", ["abort", "deadline", "runner killed", "agent killed", "both killed"])
def test_nothing_of_a_program_outlives_its_run(how, tmp_path):
    os.chmod(tmp_path, 0o755)
    job = json.loads(json.dumps(BONNIE_JOB))
    if how == "deadline":
        job["phases"][0]["deadline"] = "3s"
    job["grace"] = "1s"
    with Cluster(nodes=2, settings=stand_ins(tmp_path, CLINGING)) as cluster:
        cluster.start()
        run = cluster.start_run(job)
        wait_for("the program's children", lambda: len(sleepers(cluster)) == 2)
        pids = sleepers(cluster)
        runner, agent = cluster.runner_pid("node2"), cluster.agent_pid("node2")
        if how == "abort":
            cluster.cli("abort", "last", check=True)
        if how in ("agent killed", "both killed"):
            os.kill(agent, signal.SIGKILL)
        if how in ("runner killed", "both killed"):
            os.kill(runner, signal.SIGKILL)
        wait_for("all of the program ended", lambda: not any(alive(p) for p in pids), 40)
        run.communicate(timeout=60)
        assert run.returncode != 0


def test_a_program_gets_a_clean_environment_and_its_own_directory(tmp_path):
    os.chmod(tmp_path, 0o755)
    what = f"env | sort > {tmp_path}/env; pwd > {tmp_path}/pwd; ls -l /proc/self/fd > {tmp_path}/fds; for i in 1 2 4 5; do gate $i; done; " \
        "echo 1.98,2.00a,n,1,1,8M,,8192,5,,,1000,10,2000,20,,,3000,30,4000.5,40,,,,,,,,,,,,,,,,,,,1us,2us,,3us,4us,,,,,,\n"
    with Cluster(nodes=2, settings=stand_ins(tmp_path, what), env={"LD_PRELOAD_SECRET": "x", "SECRET": "y"}) as cluster:
        cluster.start()
        status, results, done = cluster.run(BONNIE_JOB)
        assert status == 0, done.stderr
        volume = cluster.volume
    with open(tmp_path / "env", encoding="utf-8") as f:
        names = {line.split("=")[0] for line in f} - {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names == {"PATH", "LC_ALL", "LANG", "HOME"}
    with open(tmp_path / "pwd", encoding="utf-8") as f:
        assert re.fullmatch(re.escape(os.path.realpath(volume)) + r"/\.lockstep-[^/]+/n1/tool", f.read().strip())
    with open(tmp_path / "fds", encoding="utf-8") as f:
        assert "socket:" not in f.read(), "the runner's own connections are not the program's"
    row = rows(results["phases"][0])["node2"]
    assert row["bytes_per_s"] == 1000 * 1024
    assert rows(results["phases"][3])["node1"]["ops_per_s"] == 4000.5
