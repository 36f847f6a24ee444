"""A real lockstep-agent and its runner against a coordinator that says what each test wants."""
import json
import os
import signal
import subprocess
import time

import pytest

import fake_coordinator
from cluster import bare_chroot
from fake_coordinator import Agent, now_ns, wait_until

MIB = 1 << 20
S = 1_000_000_000


@pytest.fixture
def agent():
    with Agent() as made:
        yield made


def assign(agent, run="r1", **fields):
    job = {"name": "t", "path": agent.volume, "workers": 2, "reserve_percent": 0, **fields.pop("job", {})}
    return {"run": run, "job": job, "node": agent.name, "node_index": 0, "node_count": 1, "max_workers": 2,
            "token": "token-of-" + run, "need_bytes": MIB, "need_files": 10, **fields}


def epoch(run="r1", phase=0, attempt=0):
    return {"run": run, "phase": phase, "repetition": 0, "attempt": attempt}


def prepare(agent, peer, run="r1", **fields):
    peer.send("assign", **assign(agent, run, **fields))
    return peer.expect("prepared")


def arm(peer, at, spec=None, workers=2, redo=False):
    spec = spec or {"kind": "write", "file_size": MIB, "record_size": 65536}
    peer.send("arm", epoch=at, spec=spec, node_workers=[workers], redo=redo)
    return peer.expect("armed")


def start(peer, at, lead_ns=20_000_000):
    """go, set, commit; returns the instant."""
    begin = now_ns() + lead_ns
    peer.send("go", epoch=at, start_ns=begin, late_limit_ns=200_000_000)
    peer.expect("set")
    peer.send("commit", epoch=at)
    return begin


def endless(**fields):
    return {"kind": "rewrite", "file_size": 256 * 1024, "record_size": 4096, "time": 60 * S, **fields}


def is_gone(pid):
    """It has ended, whether or not somebody has waited for it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def finish(peer, run="r1"):
    peer.send("finish", run=run)
    return peer.expect("finished")


# --- connection ---

def test_hello_and_facts_say_who_and_what(agent):
    agent.start()
    hello, facts = agent.coordinator.accept().welcome()
    assert hello["name"] == "node1" and hello["protocol"] == 1 and len(hello["instance"]) == 32
    assert hello["run"] is None
    facts = facts["facts"]
    assert facts["kernel"] == os.uname().release and facts["cpus"] == os.cpu_count()
    assert facts["memory_bytes"] > MIB and facts["wakeup_lateness_ns"] > 0 and facts["volume"] is None


def test_pong_is_stamped_and_prompt(agent):
    agent.start()
    peer = agent.connect()
    trips = []
    for seq in range(20):
        t0 = now_ns()
        peer.send("ping", seq=seq, t0=t0)
        pong = peer.expect("pong")
        t3 = now_ns()
        assert (pong["seq"], pong["t0"]) == (seq, t0)
        assert t0 <= pong["t1"] <= pong["t2"] <= t3
        trips.append(t3 - t0)
    assert min(trips) < 5_000_000


def test_silent_coordinator_is_left_and_dialed_again(agent):
    agent.start()
    first = agent.coordinator.accept()
    first.welcome(heartbeat_ns=50_000_000)
    first.expect_end()
    agent.coordinator.accept().welcome()


def test_a_certificate_of_another_role_is_no_coordinator(agent):
    agent.coordinator.close()
    agent.coordinator = fake_coordinator.FakeCoordinator(agent.pki, role="agent")
    agent.start()
    peer = agent.coordinator.accept()
    assert peer.receive() is None


@pytest.mark.parametrize("data", [b"no json", b"[]", b"{}", b'{"type":5}', b'{"type":"ping"}', b'{"type":"ping","seq":1,"seq":2}',
                                  b'{"type":"hello","protocol":1}', b"\xff\xfe\x00", b'{"type":"welcome","version":"x","build":"y"}'])
def test_garbage_ends_the_connection_only(agent, data):
    agent.start()
    peer = agent.connect()
    peer.send_raw(data)
    said = peer.expect_end()
    assert [m["type"] for m in said] == ["error"], said
    agent.connect()
    assert agent.process.poll() is None


@pytest.mark.parametrize("header", [b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00", b"\x00\x10\x00\x01"])
def test_frame_of_a_bad_length_ends_the_connection(agent, header):
    agent.start()
    peer = agent.connect()
    peer.sock.sendall(header)
    peer.expect_end()
    agent.connect()


def test_unknown_message_is_answered_and_survived(agent):
    agent.start()
    peer = agent.connect()
    peer.send("from-the-future", x=1)
    assert "from-the-future" in peer.expect("error")["text"]
    peer.send("ping", seq=1, t0=1)
    peer.expect("pong")


# --- refusals ---

@pytest.mark.parametrize("path", ["/etc", "{volume}x", "{volume}/../etc", "{volume}/./a", "{volume}//a", "relative"])
def test_path_outside_of_allow_is_refused(agent, path):
    agent.start()
    peer = agent.connect()
    wanted = path.replace("{volume}", agent.volume)
    peer.send("assign", **assign(agent, job={"path": wanted}))
    text = peer.expect("refused")["error"]["text"]
    assert wanted in text
    assert not agent.runners()


def test_nothing_is_allowed_by_default(agent):
    words = [w for w in agent.words()]
    at = next(i for i, w in enumerate(words) if w.startswith("allow="))
    del words[at - 1:at + 1]
    with open(agent.path("log"), "ab") as log:
        agent.process = subprocess.Popen(words, stdout=log, stderr=log)
    peer = agent.connect()
    peer.send("assign", **assign(agent))
    text = peer.expect("refused")["error"]["text"]
    assert agent.volume in text and "allow" in text


def test_second_run_is_refused_with_the_name_of_the_first(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    peer.send("assign", **assign(agent, "r2"))
    refused = peer.expect("refused")
    assert refused["run"] == "r2" and "r1" in refused["error"]["text"]
    finish(peer)


def test_missing_path_is_refused_by_the_runner(agent):
    agent.start()
    peer = agent.connect()
    peer.send("assign", **assign(agent, job={"path": agent.volume + "/nowhere"}))
    assert "nowhere" in json.dumps(peer.expect("refused")["error"])
    prepare(agent, peer, "r2")
    finish(peer, "r2")


def test_runner_that_cannot_be_started_is_a_refusal(agent):
    agent.start(runner="/nonexistent/runner")
    peer = agent.connect()
    peer.send("assign", **assign(agent))
    assert "/nonexistent/runner" in peer.expect("refused")["error"]["text"]


# --- a whole run ---

def test_whole_run(agent):
    agent.start()
    peer = agent.connect()
    prepared = prepare(agent, peer)
    assert prepared["volume"]["fs_type"] or bare_chroot()
    for phase, kind in enumerate(["write", "read"]):
        at = epoch(phase=phase)
        arm(peer, at, {"kind": kind, "file_size": MIB, "record_size": 65536})
        begin = start(peer, at)
        got, result = peer.result()
        assert got == at
        assert result["state"] == "done" and result["errors"] == 0
        assert result["bytes"] == 2 * MIB and result["ops"] == 32
        assert sum(result["series"]["bytes"]) == 2 * MIB and sum(result["series"]["ops"]) == 32
        assert len(result["workers"]) == 2 and [w["rank"] for w in result["workers"]] == [0, 1]
        for worker in result["workers"]:
            assert 0 <= worker["first_op_ns"] <= worker["end_ns"] and worker["bytes"] == MIB
        assert result["by_op"][kind]["ops"] == 32 and result["by_op"][kind]["latency_ns"]["count"] == 32
        assert result["latency_ns"]["count"] == 32
        assert result["agent"]["cpu_ns"] >= 0 and result["agent"]["net_bytes"] > 0
        assert begin < now_ns()
    assert finish(peer)["left"] == []
    assert agent.volume_files() == []
    wait_until("the spool is empty", lambda: os.path.getsize(agent.path("spool", "results.spool")) == 0)
    wait_until("the assignment is gone", lambda: os.listdir(agent.path("spool", "runs")) == [])
    wait_until("the runner is gone", lambda: not agent.runners())


def test_idle_agent_has_nothing_on_the_volume_open(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    assert not [d for d in agent.descriptors() if d.startswith(agent.volume)]
    assert os.readlink(f"/proc/{agent.process.pid}/cwd") == "/"
    finish(peer)


def test_samples_flow_once_a_second(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    first, second = peer.expect("sample"), peer.expect("sample")
    assert first["live"]["state"] == "running" and first["live"]["workers"] == 2
    assert second["live"]["ops"] > first["live"]["ops"] and second["live"]["bytes_per_s"] > 0
    peer.send("abort", run="r1", reason="enough")
    got, result = peer.result()
    assert result["state"] == "done" and result["ops"] >= second["live"]["ops"]
    assert sum(result["series"]["ops"]) == result["ops"]
    peer.expect("aborted")
    finish(peer)
    assert agent.volume_files() == []


def test_without_commit_nobody_starts_and_void_brings_back(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch())
    peer.send("go", epoch=epoch(), start_ns=now_ns() + 20_000_000, late_limit_ns=20_000_000)
    peer.expect("set")
    assert peer.expect("missed")["epoch"] == epoch()
    peer.send("void", epoch=epoch(), reason="test")
    assert peer.expect("voided")["epoch"] == epoch()
    peer.send("commit", epoch=epoch())  # stale by now: dropped
    again = epoch(attempt=1)
    arm(peer, again, redo=True)
    start(peer, again)
    got, result = peer.result()
    assert got == again and result["bytes"] == 2 * MIB
    finish(peer)


def test_arm_of_a_later_attempt_replaces_a_lost_void(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch())
    arm(peer, epoch(attempt=1), redo=True)
    start(peer, epoch(attempt=1))
    got, _ = peer.result()
    assert got == epoch(attempt=1)
    finish(peer)


def test_commit_before_set_is_a_protocol_error(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch())
    peer.send("commit", epoch=epoch())
    assert peer.expect_end()[-1]["type"] == "error"
    again = agent.connect()
    assert again.expect("armed")["epoch"] == epoch()
    finish(again)


# --- faults ---

def test_killed_runner_in_a_phase_leaves_a_failed_result(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    sample = peer.expect("sample")
    os.kill(agent.runners()[0], signal.SIGKILL)
    _, result = peer.result()
    assert result["state"] == "failed" and "killed by signal 9" in result["error_list"][0]["text"]
    assert result["ops"] >= sample["live"]["ops"] and sum(result["series"]["ops"]) == result["ops"]
    peer.send("arm", epoch=epoch(phase=1), spec=endless(), node_workers=[2])
    assert "killed by signal 9" in peer.expect("failed")["error"]["text"]
    assert finish(peer)["left"] == []
    assert agent.volume_files() == []
    prepare(agent, peer, "r2")
    finish(peer, "r2")


def test_killed_runner_while_armed_is_failed(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch())
    os.kill(agent.runners()[0], signal.SIGKILL)
    assert peer.expect("failed")["epoch"] == epoch()
    peer.send("void", epoch=epoch(), reason="test")
    peer.expect("voided")
    finish(peer)
    assert agent.volume_files() == []


def test_stopped_runner_is_told_as_stalled(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    runner = agent.runners()[0]
    os.kill(runner, signal.SIGSTOP)
    try:
        stalls = []
        while len(stalls) < 2:
            stalls = peer.expect("sample")["live"].get("stalls", [])
        assert {s["worker"] for s in stalls} == {0, 1}
        assert {s["state"] for s in stalls} == {"T"} and stalls[0]["since_ns"] >= 2 * S
        peer.send("ping", seq=1, t0=1)
        peer.expect("pong")
    finally:
        os.kill(runner, signal.SIGCONT)
    peer.send("abort", run="r1", reason="test")
    peer.result()
    peer.expect("aborted")
    finish(peer)


def test_unacknowledged_results_come_again(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch())
    start(peer, epoch())
    _, first = peer.result(ack=False)
    peer.close()
    peer = agent.connect()
    _, second = peer.result(ack=False)
    assert second == first

    agent.process.kill()  # and from the disk, by the next agent
    agent.process.wait()
    agent.start()
    peer = agent.connect()
    _, third = peer.result()
    assert third == first
    wait_until("the spool is empty", lambda: os.path.getsize(agent.path("spool", "results.spool")) == 0)
    wait_until("the run's files are gone", lambda: agent.volume_files() == [])


def test_result_made_while_the_coordinator_was_away(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless(time=S // 2))
    start(peer, epoch())
    peer.close()
    peer = agent.connect()
    got, result = peer.result()
    assert got == epoch() and result["state"] == "done"
    finish(peer)


def test_restarted_agent_cleans_up_and_tells_that_it_knows_nothing(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    runner = agent.runners()[0]
    agent.process.kill()
    agent.process.wait()
    wait_until("the runner is gone", lambda: is_gone(runner))
    agent.start()
    peer = agent.connect()
    peer.send("arm", epoch=epoch(), spec=endless(), node_workers=[2])
    assert "restarted" in peer.expect("failed")["error"]["text"]
    wait_until("the run's files are gone", lambda: agent.volume_files() == [])
    wait_until("the assignment is gone", lambda: os.listdir(agent.path("spool", "runs")) == [])
    finish(peer)


def test_what_an_agent_finds_before_its_volume_is_there_is_removed_later(agent):
    """After a power cut the agent starts at boot; the cluster's volume is mounted when its node was let in again."""
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    runner = agent.runners()[0]
    agent.process.kill()
    agent.process.wait()
    wait_until("the runner is gone", lambda: is_gone(runner))
    away = agent.volume + ".away"
    left = os.path.join(agent.volume, ".lockstep-r1")
    os.makedirs(os.path.join(left, "n0"), exist_ok=True)
    with open(os.path.join(left, "marker." + agent.name), "w", encoding="ascii"):
        pass
    os.rename(agent.volume, away)
    agent.start()
    agent.connect()
    wait_until("it was tried", lambda: "are left; tried again" in agent.log())
    assert os.listdir(agent.path("spool", "runs")) == ["r1.json"]
    os.rename(away, agent.volume)
    wait_until("the run's files are gone", lambda: agent.volume_files() == [], 60)
    wait_until("the assignment is gone", lambda: os.listdir(agent.path("spool", "runs")) == [])


def test_orphan_stops_its_load_and_cleans_up(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer, job={"orphan_time": 300_000_000})
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    agent.coordinator.listener.close()
    peer.close()
    wait_until("the run's files are gone", lambda: agent.volume_files() == [])
    assert os.path.getsize(agent.path("spool", "results.spool")) > 0


def test_stop_command_ends_the_load(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    subprocess.run(agent.words() + ["stop"], check=True, stdout=subprocess.DEVNULL)
    _, result = peer.result()
    assert result["state"] == "failed" and "lockstep-agent stop" in result["error_list"][0]["text"]
    peer.send("arm", epoch=epoch(phase=1), spec=endless(), node_workers=[2])
    assert "stop" in peer.expect("failed")["error"]["text"]
    finish(peer)
    assert agent.volume_files() == []


def test_sigterm_stops_spools_and_cleans(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    runner = agent.runners()[0]
    begin = time.monotonic()
    agent.process.send_signal(signal.SIGTERM)
    _, result = peer.result(ack=False)
    assert result["state"] == "failed"
    assert agent.process.wait(6) == 0
    assert time.monotonic() - begin < 5
    assert agent.volume_files() == []
    assert not os.path.exists(f"/proc/{runner}")
    assert os.path.getsize(agent.path("spool", "results.spool")) > 0
    assert os.listdir(agent.path("spool", "runs")) == []


def test_sigterm_when_idle_exits_at_once(agent):
    agent.start()
    agent.connect()
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(2) == 0


def test_sigterm_kills_a_stopped_runner_in_time(agent):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    runner = agent.runners()[0]
    os.kill(runner, signal.SIGSTOP)
    begin = time.monotonic()
    agent.process.send_signal(signal.SIGTERM)
    _, result = peer.result()
    assert result["state"] == "failed"
    assert agent.process.wait(8) == 0 and time.monotonic() - begin < 6
    assert not os.path.exists(f"/proc/{runner}")
    assert agent.volume_files() == []


# --- a volume that hangs ---

@pytest.fixture
def frozen(agent):
    """An agent whose volume can be frozen: writers then hang in the kernel, in state D, and cannot be killed."""
    if os.geteuid() != 0:
        pytest.skip("not root")
    image = agent.path("image")
    with open(image, "wb") as f:
        f.truncate(64 * MIB)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, agent.volume], check=False).returncode != 0:
        pytest.skip("no loop mounts here")
    agent.lost_and_found = agent.volume_files()

    def switch(word):
        subprocess.run(["fsfreeze", word, agent.volume], check=True)
    try:
        yield switch
    finally:
        subprocess.run(["fsfreeze", "-u", agent.volume], check=False, stderr=subprocess.DEVNULL)
        if agent.process and agent.process.poll() is None:
            agent.process.send_signal(signal.SIGTERM)
            agent.process.wait(8)
        wait_until("the volume can be unmounted",
                   lambda: subprocess.run(["umount", agent.volume], check=False, stderr=subprocess.DEVNULL).returncode == 0)


def test_volume_that_gives_no_answer_is_a_refusal(agent, frozen):
    agent.start(prepare_timeout="500ms")
    peer = agent.connect()
    frozen("-f")
    peer.send("assign", **assign(agent))
    assert "no answer in time" in peer.expect("refused")["error"]["text"]
    peer.send("assign", **assign(agent))
    assert "being removed" in peer.expect("refused")["error"]["text"]
    peer.send("ping", seq=1, t0=1)
    peer.expect("pong")
    frozen("-u")
    wait_until("the assignment is gone", lambda: os.listdir(agent.path("spool", "runs")) == [])
    wait_until("all runners are gone", lambda: not agent.runners())
    assert agent.volume_files() == agent.lost_and_found
    prepare(agent, peer, "r2")
    finish(peer, "r2")


def test_hung_workers_are_told_stopped_and_left_behind(agent, frozen):
    agent.start(finish_timeout="500ms")
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    frozen("-f")
    stalls = []
    while len(stalls) < 2:
        stalls = peer.expect("sample")["live"].get("stalls", [])
    assert {s["state"] for s in stalls} == {"D"} and {s["call"] for s in stalls} == {"pwrite"}
    assert all(s["file"] for s in stalls)

    peer.send("abort", run="r1", reason="test")
    _, result = peer.result()
    assert result["state"] == "failed" and "hangs in the kernel" in result["error_list"][0]["text"]
    assert sum(result["series"]["ops"]) == result["ops"] > 0
    peer.expect("aborted")
    peer.send("finish", run="r1")
    assert peer.expect("finished")["left"] == [f"{agent.volume}/.lockstep-r1"]

    frozen("-u")
    wait_until("the run's files are gone", lambda: agent.volume_files() == agent.lost_and_found)
    wait_until("the assignment is gone", lambda: os.listdir(agent.path("spool", "runs")) == [])
    wait_until("all runners are gone", lambda: not agent.runners())


def test_sigterm_does_not_wait_for_a_hung_runner(agent, frozen):
    agent.start()
    peer = agent.connect()
    prepare(agent, peer)
    arm(peer, epoch(), endless())
    start(peer, epoch())
    peer.expect("sample")
    frozen("-f")
    begin = time.monotonic()
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(8) == 0 and time.monotonic() - begin < 6
    assert os.path.getsize(agent.path("spool", "results.spool")) > 0
    frozen("-u")
    agent.start()
    peer = agent.connect()
    _, result = peer.result()
    assert result["state"] == "failed"
    wait_until("the run's files are gone", lambda: agent.volume_files() == agent.lost_and_found)


# --- command line ---

def test_second_agent_on_the_same_spool_is_refused(agent):
    agent.start()
    agent.connect()
    second = subprocess.run(agent.words(), capture_output=True, text=True, timeout=10, check=False)
    assert second.returncode == 1 and "another agent" in second.stderr and str(agent.process.pid) in second.stderr


def test_stop_without_an_agent_says_so(agent):
    done = subprocess.run(agent.words() + ["stop"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no agent runs" in done.stderr


def test_check_config_names_what_is_wrong(agent):
    good = subprocess.run(agent.words() + ["--check-config"], capture_output=True, text=True, check=False)
    assert good.returncode == 0 and "node1" in good.stdout, good.stderr
    for key, value, word in [("cert", "/nonexistent.crt", "/nonexistent.crt"), ("allow", "relative", "allow"),
                             ("coordinator", "", "coordinator"), ("runner", "/nonexistent", "runner")]:
        bad = subprocess.run(agent.words(**{key: value}) + ["--check-config"], capture_output=True, text=True, check=False)
        assert bad.returncode != 0 and word in bad.stderr, (key, bad.stderr)


@pytest.mark.parametrize("words", [["--nonsense"], ["--set"], ["--set", "novalue"], ["--set", "colour=red"], ["run"], ["stop", "now"]])
def test_bad_command_line_is_status_2(words):
    done = subprocess.run([fake_coordinator.program("lockstep-agent"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1


def test_local_agent_dies_with_its_parent(agent):
    parent = subprocess.Popen(["sh", "-c", 'LOCKSTEP_DIE_WITH_PARENT=$$ "$@" & echo $!; wait', "sh", *agent.words()],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pid = int(parent.stdout.readline())
    agent.connect()
    parent.kill()
    parent.wait()
    wait_until("the agent is gone", lambda: not os.path.exists(f"/proc/{pid}") or
               open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[0] == "Z", 5)
