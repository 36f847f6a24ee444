"""lockstepd against agents and operators that behave as a test wants (fake_agent.py)."""
import os
import signal
import ssl
import struct
import subprocess
import time

import pytest

from fake_agent import Closed, Daemon, FakeAgent, program, until_done

JOB = {"name": "t", "path": "/vol", "phases": [{"kind": "write", "file_size": 1 << 20}]}


def job(**more):
    return {**JOB, **more}


@pytest.fixture
def daemon():
    with Daemon() as d:
        yield d


def refusal(peer):
    """Text of the error with which the connection ends."""
    m = peer.receive()
    assert m["type"] == "error", m
    with pytest.raises(Closed):
        while True:
            peer.receive()
    return m["text"]


def alive(daemon):
    return daemon.ask("nodes")[-1]["outcome"] == "ok"


def submit(daemon, the_job, **more):
    operator = daemon.operator()
    operator.send("submit", job=the_job, watch=True, **more)
    m = operator.receive()
    while m["type"] == "run-event" and not m["end"]:  # it can be watched before it is known to be kept
        m = operator.receive()
    return operator, m.get("run"), m


def each(agents, step, *words):
    for a in agents:
        getattr(a, step)(*words)


def prepare(agents):
    each(agents, "prepare")
    each(agents, "verify")


def start_phase(agents):
    each(agents, "arm")
    each(agents, "set")
    each(agents, "commit")


# --- connections -----------------------------------------------------------------------------------------------------


def test_agent_must_have_the_name_of_its_certificate(daemon):
    peer = daemon.dial_tls("agent", "n1")
    daemon.hello(peer, "n2")
    text = refusal(peer)
    assert "n1" in text and "n2" in text
    assert alive(daemon)


def test_coordinators_certificate_may_not_connect(daemon):
    peer = daemon.dial_tls("coordinator", "c")
    assert "coordinator" in refusal(peer)


def test_other_protocol_version_is_refused_naming_both(daemon):
    peer = daemon.dial_tls("agent", "n1")
    daemon.hello(peer, "n1", protocol=7)
    text = refusal(peer)
    assert "version 7" in text and "version 1" in text


def test_second_agent_of_a_name_is_refused_naming_both_addresses(daemon):
    first = daemon.agent("n1")
    peer = daemon.dial_tls("agent", "n1")
    here = "%s:%d" % peer.sock.getsockname()
    there = "%s:%d" % first.peer.sock.getsockname()
    daemon.hello(peer, "n1", instance="another")
    text = refusal(peer)
    assert here in text and there in text


def test_same_instance_replaces_its_connection(daemon):
    old = daemon.agent("n1")
    new = daemon.agent("n1")
    old.expect("closed")
    rows = [m["node"] for m in daemon.ask("nodes") if m["type"] == "node"]
    assert [(r["name"], r["connected"]) for r in rows] == [("n1", True)]
    assert rows[0]["address"] == "%s:%d" % new.peer.sock.getsockname()


@pytest.mark.parametrize("alpn,role", [(None, "agent"), ("other/1", "agent"), ("lockstep/1", None)])
def test_wrong_alpn_or_no_certificate(daemon, alpn, role):
    with pytest.raises((ssl.SSLError, Closed, ConnectionError)):
        peer = daemon.dial_tls(role, "n1", alpn)
        daemon.hello(peer, "n1")
        while True:
            peer.receive()
    assert alive(daemon)


BAD_FRAMES = {
    "garbage": struct.pack(">I", 5) + b"\xff\xfe{]x",
    "no json object": struct.pack(">I", 2) + b"[]",
    "oversized hello": struct.pack(">I", 4097) + b"{" + b" " * 4096,
    "huge length": b"\xff\xff\xff\xff",
    "empty frame": struct.pack(">I", 0),
    "duplicate keys": (lambda t: struct.pack(">I", len(t)) + t)(b'{"type":"hello","type":"hello"}'),
    "unknown type": (lambda t: struct.pack(">I", len(t)) + t)(b'{"type":"frobnicate"}'),
    "not before hello": (lambda t: struct.pack(">I", len(t)) + t)(b'{"type":"list"}'),
    "not to a coordinator": (lambda t: struct.pack(">I", len(t)) + t)(b'{"type":"commit","epoch":{"run":"x"}}'),
}


@pytest.mark.parametrize("what", BAD_FRAMES)
def test_bad_frames_end_their_connection_only(daemon, what):
    other = daemon.agent("n2")
    peer = daemon.dial_tls("agent", "n1")
    peer.send_raw(BAD_FRAMES[what])
    with pytest.raises(Closed):
        while True:
            peer.receive()
    other.send("facts", facts={})
    assert [m["node"]["name"] for m in daemon.ask("nodes") if m["type"] == "node" and m["node"]["connected"]] == ["n2"]


def test_agents_may_not_ask_what_operators_ask(daemon):
    agent = daemon.agent("n1")
    agent.send("list")
    with pytest.raises(AssertionError, match="an agent to send"):
        agent.expect("listed")


def test_silent_agent_is_away_after_three_heartbeats():
    with Daemon(heartbeat="100ms") as daemon:
        agent = daemon.agent("n1")
        agent.DELAY_S = 3600  # pings stay unanswered
        wait_until(lambda: "no answer to three heartbeats" in daemon.log())
        assert not [m for m in daemon.ask("nodes", all=False) if m["type"] == "node"]


def test_operator_over_tls(daemon):
    peer = daemon.operator(tls=True)
    peer.send("nodes")
    assert until_done(peer)[-1]["outcome"] == "ok"
    peer.send("list")
    assert until_done(peer)[-1]["outcome"] == "ok"


def test_one_request_at_a_time(daemon):
    peer = daemon.operator()
    peer.send("submit", job=JOB, watch=True, wait_ns=5_000_000_000)
    peer.send("list")
    with pytest.raises(AssertionError, match="one request at a time"):
        while True:
            m = peer.receive()
            assert m["type"] in ("submitted", "run-event"), m


# --- a run -------------------------------------------------------------------------------------------------------------


def test_complete_run_of_two_phases(daemon):
    agents = [daemon.agent("n1"), daemon.agent("n2", ahead_ns=3600 * 10**9), daemon.agent("n3", ahead_ns=17)]
    two = job(phases=[{"kind": "write", "file_size": 1 << 20, "name": "first"}, {"kind": "read", "file_size": 1 << 20}])
    operator, run, _ = submit(daemon, two)
    prepare(agents)
    assert agents[0].assignment["node_count"] == 3 and agents[2].assignment["node_index"] == 2
    assert [len(a.tokens) for a in agents] == [3, 1, 1]
    tokens = {t["node"]: t["token"] for t in agents[0].tokens}
    assert tokens == {a.name: a.assignment["token"] for a in agents} and len(set(tokens.values())) == 3
    for phase in range(2):
        start_phase(agents)
        assert {a.epoch["phase"] for a in agents} == {phase} and agents[0].workers == [1, 1, 1]
        # The same instant on three clocks, as well as loopback shows it.
        instants = [a.start_ns - a.ahead_ns for a in agents]
        assert max(instants) - min(instants) < 5_000_000
        for a in agents:
            assert a.acks(a.send_result(a.result())) == [0, 1]
    each(agents, "finish")
    events = until_done(operator)
    assert events[-1]["outcome"] == "ok" and events[-2]["end"] and events[-2]["state"] == "finished"
    texts = [m["text"] for m in events if m.get("text")]
    assert any(t.startswith("first: last done") for t in texts) and any(t.startswith("read: last done") for t in texts)
    assert [m["run"]["state"] for m in daemon.ask("list") if m["type"] == "listed"] == ["finished"]
    doc = daemon.export(run[:-3])
    assert doc["run"]["state"] == "finished" and doc["run"]["id"] == run
    assert [p["name"] for p in doc["phases"]] == ["first", "read"]
    for phase in doc["phases"]:
        assert phase["state"] == "done" and phase["attempts"] == []
        assert [n["node"] for n in phase["nodes"]] == ["n1", "n2", "n3"]
        assert phase["aggregate"]["bytes"] == 3 << 20
        assert phase["start_skew_ns"] is not None and phase["start_skew_uncertainty_ns"] > 0
        # Times differ by no more than what the clocks were found to be wrong by.
        assert phase["start_skew_ns"] <= phase["start_skew_uncertainty_ns"] * 2 + 1000
    offset = {n["name"]: n["clock"]["offset_ns"] for n in doc["nodes"]}
    assert abs(offset["n2"] - 3600 * 10**9) < 10_000_000 and abs(offset["n1"]) < 10_000_000
    assert doc["nodes"][0]["facts"]["volume"]["fs_type"] == "ocfs2"


def test_missed_start_is_void_and_tried_again(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator, run, _ = submit(daemon, JOB)
    prepare(agents)
    start_phase(agents)
    # The first had started and was through before the others learned that the second never did.
    void_text = agents[0].result(first_op_ns=666)
    agents[0].send_result(void_text)
    agents[0].acks(2)
    agents[1].send("missed", epoch=agents[1].epoch, reason="woke late")
    for a in agents:
        assert a.expect("void")["epoch"] == a.epoch
        a.send("voided", epoch=a.epoch)
    start_phase(agents)
    assert {(a.epoch["attempt"], a.redo) for a in agents} == {(1, True)}
    for a in agents:
        a.send_result(a.result())
        a.acks(2)
    each(agents, "finish")
    assert until_done(operator)[-1]["outcome"] == "ok"
    doc = daemon.export(run)
    (phase,) = doc["phases"]
    assert [(a["index"], "n2" in a["reason"], "woke late" in a["reason"]) for a in phase["attempts"]] == [(0, True, True)]
    assert all(abs(n["workers"][0]["first_op_ns"] - 1000) < 10_000_000 for n in phase["nodes"])


def test_set_that_does_not_come_is_void_without_redo_and_five_times_fail(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    operator, run, _ = submit(daemon, job(nodes=["n1", "n2"]))
    prepare(agents)
    leads = []
    for attempt in range(5):
        agents[1].auto_set = False
        each(agents, "arm")
        assert {(a.epoch["attempt"], a.redo) for a in agents} == {(attempt, False)}
        agents[0].set()
        go = agents[1].expect("go")
        leads.append(go["start_ns"] - agents[1].clock())
        for a in agents:
            assert a.expect("void")["type"] == "void"
            a.send("voided", epoch=a.epoch)
    # 3 ms and more, doubled four times: 48 ms, of which a busy machine may eat some before the message is read
    assert leads[4] > 15_000_000
    for a in agents:
        a.expect("abort")
        a.send("aborted", run=run)
    each(agents, "finish")
    events = until_done(operator)
    assert events[-1]["outcome"] == "failed" and "5 attempts" in events[-1]["text"] and "n2" in events[-1]["text"]


def test_results_sent_again_after_a_reconnect_are_acknowledged_and_not_doubled(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator, run, _ = submit(daemon, JOB)
    prepare(agents)
    start_phase(agents)
    a = agents[0]
    text = a.result()
    a.send_result(text, parts=[0])
    a.acks(1)
    a.reconnect()
    a.send_result(text)  # both parts, the first once more
    assert a.acks(2) == [0, 1]
    a.send_result(text)
    assert a.acks(2) == [0, 1]
    for b in agents[1:]:
        b.send_result(b.result())
        b.acks(2)
    each(agents, "finish")
    assert until_done(operator)[-1]["outcome"] == "ok"
    doc = daemon.export(run)
    assert doc["phases"][0]["aggregate"]["bytes"] == 3 << 20
    # The run is over: the spool may still say it once more.
    a.send_result(text)
    assert a.acks(2) == [0, 1]
    # Other bytes under the same name are an error, and end that connection only.
    a.send_result(text.replace("1048576", "1048577"))
    with pytest.raises(AssertionError, match="other bytes"):
        a.expect("ack")
    assert daemon.export(run)["phases"][0]["aggregate"]["bytes"] == 3 << 20


def test_failed_node_fails_the_run_and_the_next_phase_is_not_begun(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator, run, _ = submit(daemon, job(phases=JOB["phases"] * 2))
    prepare(agents)
    start_phase(agents)
    for a in agents:
        full = a.name == "n2"
        a.send_result(a.result("failed" if full else "done", error="/x: pwrite at 4096: No space left on device" if full else None))
        a.acks(2)
    each(agents, "finish")
    end = until_done(operator)[-1]
    assert end["outcome"] == "failed" and end["text"] == "node n2: /x: pwrite at 4096: No space left on device"
    doc = daemon.export(run)
    assert [p["state"] for p in doc["phases"]] == ["failed"] and doc["run"]["state"] == "failed"
    assert [n["state"] for n in doc["phases"][0]["nodes"]] == ["done", "failed", "done"]


def test_abort_by_another_operator(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator, run, _ = submit(daemon, JOB)
    prepare(agents)
    start_phase(agents)
    other = daemon.operator()
    other.send("abort", run=run[:-1], reason="enough")
    for a in agents:
        a.expect("abort")
        a.send_result(a.result())
        a.send("aborted", run=run)
        a.acks(2)
    each(agents, "finish")
    assert [m["type"] for m in until_done(other)] == ["aborted", "done"]
    end = until_done(operator)[-1]
    assert end["outcome"] == "failed" and "enough" in end["text"]
    doc = daemon.export(run)
    assert doc["run"]["state"] == "aborted" and [p["state"] for p in doc["phases"]] == ["aborted"]
    assert daemon.ask("abort", run=run)[-1]["outcome"] == "refused"


def test_lost_node_ends_the_run_after_its_grace_time(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator, run, _ = submit(daemon, job(grace=200_000_000))
    prepare(agents)
    start_phase(agents)
    agents[1].close()
    for a in (agents[0], agents[2]):
        assert "n2" in a.expect("abort")["reason"]
        a.send_result(a.result())
        a.send("aborted", run=run)
        a.acks(2)
    each([agents[0], agents[2]], "finish")
    end = until_done(operator)[-1]
    assert end["outcome"] == "failed" and "node n2 was lost" in end["text"]
    doc = daemon.export(run)
    assert [n["state"] for n in doc["phases"][0]["nodes"]] == ["done", "lost", "done"]
    assert any(f"/vol/.lockstep-{run}" in w for w in doc["run"]["warnings"])


def test_lost_node_with_policy_continue(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator, run, _ = submit(daemon, job(grace=200_000_000, on_node_loss="continue", phases=JOB["phases"] * 2))
    prepare(agents)
    start_phase(agents)
    agents[1].close()
    rest = [agents[0], agents[2]]
    for phase in range(2):
        if phase > 0:
            start_phase(rest)
            assert rest[0].workers == [1, 0, 1]
        for a in rest:
            a.send_result(a.result())
            a.acks(2)
    each(rest, "finish")
    assert until_done(operator)[-1]["outcome"] == "ok"
    doc = daemon.export(run)
    assert [[n["state"] for n in p["nodes"]] for p in doc["phases"]] == [["done", "lost", "done"]] * 2


def test_agent_started_anew_in_a_phase_is_lost(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    operator, run, _ = submit(daemon, job(nodes=["n1", "n2"]))
    prepare(agents)
    start_phase(agents)
    agents[1].reconnect(instance="i2", run=None)
    agents[0].expect("abort")
    agents[0].send("aborted", run=run)
    agents[0].send_result(agents[0].result())
    agents[0].acks(2)
    agents[0].finish()
    assert "started anew" in until_done(operator)[-1]["text"]


@pytest.mark.parametrize("what,text", [
    ({"nodes": ["n1", "ghost"]}, "node ghost is not connected"),
    ({"min_nodes": 5}, "at least 5"),
    ({"path": "relative"}, "path"),
    ({"phases": []}, "phase"),
    ({"nodes": ["n1"], "min_nodes": 2}, "min_nodes"),
])
def test_refused_before_anything_starts(daemon, what, text):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    operator, _, first = submit(daemon, job(**what))
    answer = [first] if first["type"] == "done" else until_done(operator)
    assert answer[-1]["outcome"] == "refused" and text in answer[-1]["text"], answer[-1]
    agents[0].send("facts", facts={})
    assert alive(daemon)


def test_no_agents(daemon):
    operator, _, _ = submit(daemon, JOB)
    assert "no agents" in until_done(operator)[-1]["text"]


def test_other_build_is_refused_and_named(daemon):
    daemon.build = "other"
    agent = daemon.agent("n1")
    operator, _, _ = submit(daemon, JOB)
    text = until_done(operator)[-1]["text"]
    assert "node n1" in text and "other" in text
    agent.close()


def test_agent_refuses(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    operator, run, _ = submit(daemon, job(nodes=["n1", "n2"]))
    agents[0].prepare()
    agents[1].expect("assign")
    agents[1].send("refused", run=run, error={"text": "/vol: not in the allow list"})
    for a in agents:
        a.run = run
    each(agents, "finish")
    end = until_done(operator)[-1]
    assert end["outcome"] == "refused" and end["text"] == "node n2: /vol: not in the allow list"
    assert [m["run"]["state"] for m in daemon.ask("list") if m["type"] == "listed"] == ["refused"]


def test_two_volumes_are_refused(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    operator, _, _ = submit(daemon, JOB)
    each(agents, "prepare")
    agents[0].verify()
    agents[1].verify(["n1"])
    each(agents, "finish")
    assert "not the same volume" in until_done(operator)[-1]["text"]


def test_check_tells_about_every_node(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator = daemon.operator()
    operator.send("submit", job=JOB, check_only=True)
    prepare(agents)
    each(agents, "finish")
    answer = until_done(operator)
    rows = [m["row"] for m in answer if m["type"] == "checked"]
    assert answer[-1]["outcome"] == "ok" and {m["type"] for m in answer} == {"checked", "done"}
    assert {r["check"] for r in rows} >= {"lockstep build", "kernel", "file system", "one volume", "space", "clock", "memory"}
    assert {r["node"] for r in rows if r["check"] == "clock"} == {"n1", "n2", "n3"}
    assert [m for m in daemon.ask("list") if m["type"] == "listed"] == []


def test_submit_waits_for_missing_nodes(daemon):
    operator, run, _ = submit(daemon, job(min_nodes=2), wait_ns=20 * 10**9)
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    prepare(agents)
    for a in agents:
        a.expect("arm")
    operator.send("abort", run=run, reason="seen")
    for a in agents:
        a.expect("abort")
        a.send("aborted", run=run)
    each(agents, "finish")
    assert "seen" in until_done(operator)[-1]["text"]


def test_runs_wait_for_each_other(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    first, one, _ = submit(daemon, JOB)
    second, two, m = submit(daemon, JOB)
    assert m["ahead"] == 1
    assert daemon.ask("abort", run=two)[-1]["outcome"] == "ok"
    assert "abort" in until_done(second)[-1]["text"]
    third, three, m = submit(daemon, JOB)
    prepare(agents)
    start_phase(agents)
    for a in agents:
        a.send_result(a.result())
        a.acks(2)
    each(agents, "finish")
    assert until_done(first)[-1]["outcome"] == "ok"
    for a in agents:
        a.prepare()
        assert a.run == three
    third.close()


# --- restarts ----------------------------------------------------------------------------------------------------------------


def restart(daemon, how=signal.SIGKILL):
    assert daemon.end(how) in (0, -signal.SIGKILL)
    daemon.start()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_restart_in_a_phase_takes_results_from_the_spool_and_goes_on(daemon, how):
    agents = [daemon.agent(n) for n in ("n1", "n2", "n3")]
    operator, run, _ = submit(daemon, job(phases=JOB["phases"] * 2))
    prepare(agents)
    start_phase(agents)
    agents[0].send_result(agents[0].result())
    agents[0].acks(2)
    wait_stored(daemon, run, "running", "collecting")
    restart(daemon, how)
    each(agents, "reconnect")
    for a in agents[1:]:
        a.send_result(a.result())
        a.acks(2)
    start_phase(agents)
    assert agents[0].epoch["phase"] == 1
    for a in agents:
        a.send_result(a.result())
        a.acks(2)
    each(agents, "finish")
    end = daemon.ask("watch", run=run)
    assert end[-1]["outcome"] == "ok"
    doc = daemon.export(run)
    assert [p["state"] for p in doc["phases"]] == ["done", "done"] and doc["phases"][0]["aggregate"]["bytes"] == 3 << 20
    for phase in doc["phases"]:
        assert phase["start_skew_ns"] is not None and phase["start_skew_uncertainty_ns"] > 0, "the clocks of the start are known after a restart"
    assert any("restarted" in w for w in doc["run"]["warnings"])
    operator.close()


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_stored(daemon, run, *states):
    end = time.monotonic() + 20
    while True:
        found = [m["run"]["state"] for m in daemon.ask("list") if m["type"] == "listed" and m["run"]["id"] == run]
        if found and found[0] in states:
            return
        assert time.monotonic() < end, found
        time.sleep(0.01)


def test_restart_before_a_start_makes_a_new_attempt(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    _, run, _ = submit(daemon, job(nodes=["n1", "n2"]))
    prepare(agents)
    each(agents, "arm")
    restart(daemon)
    each(agents, "reconnect")
    for a in agents:
        a.expect("void")
        a.send("voided", epoch=a.epoch)
    start_phase(agents)
    assert {(a.epoch["attempt"], a.redo) for a in agents} == {(1, True)}
    for a in agents:
        a.send_result(a.result())
        a.acks(2)
    each(agents, "finish")
    assert daemon.ask("watch", run=run)[-1]["outcome"] == "ok"


def test_restart_and_a_node_that_lost_the_run_interrupts_it(daemon):
    agents = [daemon.agent(n) for n in ("n1", "n2")]
    _, run, _ = submit(daemon, job(nodes=["n1", "n2"]))
    prepare(agents)
    start_phase(agents)
    wait_stored(daemon, run, "running")
    restart(daemon)
    agents[0].reconnect()
    agents[1].reconnect(instance="i2", run=None)
    agents[0].expect("abort")
    agents[0].send_result(agents[0].result())
    agents[0].send("aborted", run=run)
    agents[0].acks(2)
    agents[0].finish()
    end = daemon.ask("watch", run=run)[-1]
    assert end["outcome"] == "failed" and "interrupted" in end["text"]
    doc = daemon.export(run)
    assert [p["state"] for p in doc["phases"]] == ["interrupted"]
    assert [n["state"] for n in doc["phases"][0]["nodes"]] == ["done", "lost"]


def test_second_daemon_on_a_store_is_refused_and_named(daemon):
    second = subprocess.run([program("lockstepd"), *daemon.arguments(), "--set", f"socket={daemon.path('other')}"],
                            capture_output=True, text=True, timeout=20)
    assert second.returncode == 1 and f"pid {daemon.process.pid}" in second.stderr


def test_agent_of_a_forgotten_run_is_told_to_finish(daemon):
    agent = FakeAgent(daemon, "n1", run="20200101-000000-dead")
    assert agent.expect("finish")["run"] == "20200101-000000-dead"


def test_sigterm_ends_with_zero_and_removes_the_socket(daemon):
    assert daemon.end() == 0
    assert not os.path.exists(daemon.path("sock"))


# --- command line -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words,status,text", [
    (["--frobnicate"], 2, "--frobnicate"),
    (["--set", "lissten=:1"], 2, "listen"),
    (["--set", "heartbeat"], 2, "KEY=VALUE"),
    (["--set", "listen=", "--set", "socket="], 2, "nobody could connect"),
    (["--config", "/nonexistent/x.conf"], 2, "/nonexistent/x.conf"),
    (["--ready-fd", "x"], 2, "--ready-fd"),
])
def test_usage_errors(words, status, text):
    done = subprocess.run([program("lockstepd"), *words], capture_output=True, text=True, timeout=20)
    assert done.returncode == status and text in done.stderr


def test_check_and_print_config():
    assert subprocess.run([program("lockstepd"), "--check-config"], timeout=20).returncode == 0
    printed = subprocess.run([program("lockstepd"), "--print-config", "--set", "heartbeat=2s"], capture_output=True, text=True,
                             timeout=20).stdout
    assert "[lockstepd]" in printed and "heartbeat = 2" in printed
