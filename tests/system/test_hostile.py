"""Who should not get in, and what is said to lockstepd and to an agent by somebody who has been taken over.

Against lockstepd: a real run of three real agents goes on meanwhile, and its results are what they are without it. Against the agent: a
coordinator that wants to write, read or delete outside of what the agent allows.
"""
import contextlib
import json
import os
import re
import resource
import shutil
import socket
import sqlite3
import ssl
import struct
import subprocess
import threading
import time

import pytest
from cluster import Cluster, program, sanitized, wait_for
from fake_agent import Closed, Peer
from fake_coordinator import Agent, now_ns

MIB = 1 << 20
S = 10**9
LEAD_NS = 700_000_000  # generous: a loaded machine must not miss the start


def frame(text):
    return struct.pack(">I", len(text)) + text


def message(type_, **fields):
    return frame(json.dumps({"type": type_, **fields}).encode())


# --- certificates ------------------------------------------------------------------------------------------------------


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Forge:
    """Certificates that lockstep pki would not make, from the cluster's CA and from another one."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.dir = cluster.path("forge")
        os.makedirs(self.dir)
        subprocess.run([program("lockstep"), "pki", "init", os.path.join(self.dir, "other")], check=True, stdout=subprocess.DEVNULL)

    def known(self, role, name):
        base = self.cluster.path("pki", f"{role}-{name}")
        return base + ".crt", base + ".key"

    def issue(self, label, san, days=2, ca=None):
        ca = ca or self.cluster.path("pki")
        base = os.path.join(self.dir, label)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=forged", "-keyout", base + ".key",
                "-out", base + ".csr")
        with open(base + ".ext", "w", encoding="ascii") as f:
            f.write(f"basicConstraints=CA:FALSE\n{'subjectAltName=' + san if san else ''}\n")
        openssl("x509", "-req", "-in", base + ".csr", "-CA", f"{ca}/ca.crt", "-CAkey", f"{ca}/ca.key", "-CAcreateserial", "-days",
                str(days), "-extfile", base + ".ext", "-out", base + ".crt")
        return base + ".crt", base + ".key"


def tcp(cluster):
    host, port = cluster.address.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)), 20)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def dial(cluster, pair=None, maximum=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cluster.path("pki", "ca.crt"))
    context.set_alpn_protocols(["lockstep/1"])
    if maximum:
        context.maximum_version = maximum
    if pair:
        context.load_cert_chain(*pair)
    return Peer(context.wrap_socket(tcp(cluster)))


def hello(peer, name, **more):
    words = subprocess.run([program("lockstepd"), "--version"], check=True, capture_output=True, text=True).stdout.split()
    peer.send("hello", **{"protocol": 1, "version": words[1], "build": words[3].rstrip("),"), "name": name, "instance": "hostile", **more})


def last_words(peer):
    """What comes until the end of the connection, and the error among it."""
    said = []
    try:
        while True:
            said.append(peer.receive())
    except TimeoutError:
        raise  # an OSError, too: the connection was not ended
    except (Closed, OSError, ssl.SSLError):
        errors = [m["text"] for m in said if m["type"] == "error"]
        return errors[-1] if errors else None


# --- lockstepd: a run goes on meanwhile ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def busy():
    """lockstepd with three agents in the middle of a long phase, and a fourth name that nobody uses."""
    with Cluster(settings={"lockstepd": {"log_level": "debug"}}) as cluster:
        subprocess.run([program("lockstep"), "pki", "issue", cluster.path("pki"), "agent", "spare"], check=True, stdout=subprocess.DEVNULL)
        cluster.start()
        cluster.forge = Forge(cluster)
        process = cluster.start_run({"workers": 1, "phases": [{"kind": "write", "file_size": "1MiB", "record_size": "16KiB", "time": "600s",
                                                               "direct": False}]})
        wait_for("the phase runs", lambda: "-> running" in cluster.log("lockstepd"))
        yield cluster
        assert process.poll() is None, process.communicate()
        done = cluster.cli("abort", re.findall(r"run submitted run=(\S+)", cluster.log("lockstepd"))[-1])
        assert done.returncode == 0, done.stderr
        process.communicate(timeout=60)
        results = cluster.export()
        phase = results["phases"][0]
        assert [n["node"] for n in phase["nodes"]] == cluster.names
        assert all(n["errors"] == 0 and n["bytes"] > 0 for n in phase["nodes"])
        assert not re.search(r"lost|replaced|away", json.dumps(results["run"]["warnings"] + phase["warnings"])), results["run"]
        # Connections were never dropped, so no node was away; and the load went on all the time.
        assert "node of a run is away" not in cluster.log("lockstepd")
        for node in phase["nodes"]:
            interval, ops = node["series"]["interval_ns"], node["series"]["ops"]
            longest = max((len(gap) for gap in re.findall("0+", "".join("1" if n else "0" for n in ops[:-1]))), default=0)
            assert longest * interval < 5 * S, f"{node['node']} stood still for {longest} steps"


def since(cluster, mark):
    return cluster.log("lockstepd")[mark:]


def expect_log(cluster, mark, pattern):
    wait_for(f"a line like {pattern!r} in the log", lambda: re.search(pattern, since(cluster, mark)))


CERTIFICATES = {
    "none": (lambda f: None, r"connection failed .*peer=127.0.0.1:\d+ why=.*certificate"),
    "of another CA": (lambda f: f.issue("foreign", "URI:lockstep://agent/spare", ca=f.dir + "/other"), r"connection failed .*certificate"),
    "expired": (lambda f: f.issue("expired", "URI:lockstep://agent/spare", days=-1), r"connection failed .*(expired|no longer valid)"),
    "without a name": (lambda f: f.issue("nameless", None), r"connection (failed|refused) .*(URI|name|certificate)"),
    "with a name that is a path": (lambda f: f.issue("path", "URI:lockstep://agent/..%2Fx"), r"connection (failed|refused) .*certificate"),
    "with a role that is none": (lambda f: f.issue("role", "URI:lockstep://root/spare"), r"connection (failed|refused) .*certificate"),
    "with two names": (lambda f: f.issue("two", "URI:lockstep://agent/spare,URI:lockstep://operator/op"),
                       r"connection (failed|refused) .*certificate"),
    "of a coordinator": (lambda f: f.known("coordinator", "coord"), r"connection refused .*role coordinator"),
}


@pytest.mark.parametrize("what", CERTIFICATES)
def test_certificate_that_does_not_let_in(busy, what):
    make, pattern = CERTIFICATES[what]
    pair = make(busy.forge)
    mark = len(busy.log("lockstepd"))
    with pytest.raises((ssl.SSLError, Closed, OSError)):
        peer = dial(busy, pair)
        hello(peer, "spare")
        while True:
            assert peer.receive()["type"] == "error"
    expect_log(busy, mark, pattern)


def test_tls_1_2_is_refused(busy):
    mark = len(busy.log("lockstepd"))
    with pytest.raises((ssl.SSLError, OSError)):
        dial(busy, busy.forge.known("agent", "spare"), maximum=ssl.TLSVersion.TLSv1_2)
    expect_log(busy, mark, r"connection failed .*does not speak TLS 1\.3")


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 4096, b"\x16\x03\x01\xff\xff" + b"A" * 70000,
                                  message("hello", protocol=1)], ids=["http", "zeros", "a record that is too long", "plain frames"])
def test_garbage_before_tls(busy, data):
    mark = len(busy.log("lockstepd"))
    sock = tcp(busy)
    try:
        sock.sendall(data)
        while sock.recv(65536):
            pass
    except OSError:
        pass  # a reset is fine
    expect_log(busy, mark, r"connection failed .*why=")


def test_agent_of_another_name_and_as_operator(busy):
    peer = dial(busy, busy.forge.known("agent", "spare"))
    hello(peer, "node1")
    text = last_words(peer)
    assert "node1" in text and "spare" in text
    for what in ("list", "submit", "watch", "export"):
        peer = dial(busy, busy.forge.known("agent", "spare"))
        hello(peer, "spare")
        assert peer.receive()["type"] == "welcome"
        peer.send(what, **({"job": {"path": busy.volume}} if what == "submit" else {}))
        assert f"{what} is not for an agent to send" in last_words(peer)


def test_second_agent_of_a_name_does_not_replace_the_first(busy):
    mark = len(busy.log("lockstepd"))
    peer = dial(busy, busy.forge.known("agent", "node1"))
    hello(peer, "node1")
    text = last_words(peer)
    assert "already connected from 127.0.0.1" in text
    expect_log(busy, mark, r"connection refused .*already connected")


def spare(busy, name="spare"):
    peer = dial(busy, busy.forge.known("agent", name))
    hello(peer, name)
    assert peer.receive()["type"] == "welcome"
    return peer


def running_epoch(busy):
    run = re.findall(r"run=(\S+) setting -> running", busy.log("lockstepd"))[-1]
    return {"run": run, "phase": 0, "repetition": 0, "attempt": 0}


FRAMES = {
    "nested lists": frame(b'{"type":"facts","facts":' + b"[" * 100000 + b"]" * 100000 + b"}"),
    "nested objects": frame(b'{"type":"facts","x":' + b'{"a":' * 50000 + b"1" + b"}" * 50000 + b"}"),
    "very many values": frame(b'{"type":"facts","x":[' + b"{}," * 340000 + b"{}]}"),
    "longer than a frame": struct.pack(">I", MIB + 1),
    "the longest length": b"\xff\xff\xff\xff",
    "no length": struct.pack(">I", 0),
    "broken UTF-8": frame(b'{"type":"facts","facts":{"hostname":"\xc3\x28\xff"}}'),
    "a NUL in a text": frame(b'{"type":"error","text":"a\\u0000b"}'),
    "half a surrogate": frame(b'{"type":"error","text":"\\ud800"}'),
    "a number above all": frame(b'{"type":"pong","seq":1e400,"t0":1,"t1":1,"t2":1}'),
    "an integer above 64 bits": frame(b'{"type":"pong","seq":99999999999999999999,"t0":1,"t1":1,"t2":1}'),
    "a negative count": frame(b'{"type":"pong","seq":-1,"t0":1,"t1":1,"t2":1}'),
    "a pong without its ping": message("pong", seq=1 << 40, t0=1, t1=1, t2=1),
    "an unknown type": message("rm-rf"),
    "a part beyond its number": message("result-part", epoch={"run": "x"}, part=7, parts=7, data="x"),
    "more parts than any result": message("result-part", epoch={"run": "x"}, part=0, parts=1000000, data="x"),
    "hello again": message("hello", protocol=1, version="x", build="y", name="spare"),
    "what a coordinator says": message("finish", run="x"),
}


@pytest.mark.parametrize("what", FRAMES)
def test_frame_ends_its_connection_with_a_reason(busy, what):
    mark = len(busy.log("lockstepd"))
    peer = spare(busy)
    try:
        peer.send_raw(FRAMES[what])
    except OSError:
        pass  # refused before all of it was sent
    last_words(peer)
    expect_log(busy, mark, r"(connection refused|connection failed|connection ended) .*why=\"(?!the peer closed)[^\"]{8,}|peer reports")


def test_what_belongs_to_a_run_is_dropped_from_who_is_not_in_it(busy):
    """Of the present run, of an old one and of none; replayed and in the wrong order. None of it is an event of the run."""
    states = busy.log("lockstepd").count(" -> ")
    at = running_epoch(busy)
    peer = spare(busy)
    for epoch in (at, {**at, "attempt": 9}, {**at, "phase": 77}, {"run": "another", "phase": 0, "repetition": 0, "attempt": 0}):
        for type_ in ("voided", "set", "armed", "set", "missed", "failed", "armed"):
            more = {"reason": "x"} if type_ == "missed" else {"error": {"text": "x"}} if type_ == "failed" else {}
            peer.send(type_, epoch=epoch, **more)
        peer.send("sample", epoch=epoch, live={"node": "node1", "bytes": 1 << 60, "ops": 1 << 60})
        peer.send("finished", run=epoch["run"])
        peer.send("aborted", run=epoch["run"])
        peer.send("prepared", run=epoch["run"], volume={})
        peer.send("refused", run=epoch["run"], error={"text": "x"})
        peer.send("volume-verified", run=epoch["run"], missing=["node1"])
    peer.send("facts", facts={"hostname": "spare"})
    wait_for("spare's facts", lambda: [n for n in busy.nodes() if n["name"] == "spare" and n["facts"]["hostname"] == "spare"])
    peer.close()
    assert busy.log("lockstepd").count(" -> ") == states


def test_result_of_somebody_else_is_not_taken(busy):
    """The node of a result is that of the connection, whatever stands in it; a run that is not known has no results."""
    at = running_epoch(busy)
    peer = spare(busy)
    forged = json.dumps({"node": "node1", "state": "done", "bytes": 1 << 50, "ops": 1})
    peer.send("result-part", epoch=at, part=0, parts=1, data=forged)
    peer.send("result-part", epoch={**at, "run": "nobody"}, part=0, parts=1, data=forged)
    acked = []
    while len(acked) < 2:
        m = peer.receive()
        if m["type"] == "ack":
            acked.append(m)
    peer.close()
    with contextlib.closing(sqlite3.connect(f"file:{busy.path('store', 'lockstep.db')}?mode=ro", uri=True)) as store:
        assert store.execute("SELECT count(*) FROM results WHERE run = 'nobody'").fetchone() == (0,)
    document = busy.export()
    assert "spare" not in json.dumps(document) and all(n.get("bytes") != 1 << 50 for p in document["phases"] for n in p["nodes"])


def test_slow_handshake_and_idle_connections(busy):
    """300 that say nothing, 20 that stop in the handshake, 20 that never say hello: gone after 10 s, and nobody waits for them."""
    mark = len(busy.log("lockstepd"))
    idle = [tcp(busy) for _ in range(300)]
    for sock in [tcp(busy) for _ in range(20)]:
        sock.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        idle.append(sock)
    silent = [dial(busy, busy.forge.known("agent", "spare")) for _ in range(20)]
    began = time.monotonic()
    done = busy.cli("nodes", *busy.operator_tls(), server=busy.address)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 8, "an operator had to wait for those who say nothing"
    for sock in idle:
        sock.settimeout(25)
        try:
            while sock.recv(4096):
                pass
        except ConnectionError:
            pass
        sock.close()
    for peer in silent:
        assert "no hello within" in last_words(peer)
    assert time.monotonic() - began < 30
    expect_log(busy, mark, r"connection (failed|refused) .*(took longer than|no hello within)")
    wait_for("a line for each", lambda: len(re.findall(r"connection (?:failed|refused) .*(?:took longer|no hello)", since(busy, mark))) >= 300)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory(pid):
    """Bytes that are resident."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1)) << 10


IDLE = 5000


def test_flood_of_connections_is_bounded(busy):
    """
    5,000 connections that say nothing, many more than lockstepd holds: descriptors and memory stay below their bounds, agents and operators
    get in all the same.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < IDLE + 500:
        pytest.skip(f"at most {hard} descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, IDLE + 500), hard))
    began, before = descriptors(busy.daemon.pid), memory(busy.daemon.pid)
    host, port = busy.address.rsplit(":", 1)
    flood = []
    try:
        for _ in range(IDLE):
            flood.append(socket.socket())
            flood[-1].setblocking(False)  # those that do not fit into the listener's queue go on trying
            flood[-1].connect_ex((host, int(port)))
        wait_for("they are accepted", lambda: descriptors(busy.daemon.pid) > began + 900)
        assert busy.cli("nodes").returncode == 0  # the Unix socket is not for them
        wait_for("an operator gets in over TLS", lambda: busy.cli("nodes", *busy.operator_tls(), server=busy.address).returncode == 0, 60)
        assert descriptors(busy.daemon.pid) <= began + 1024 + 20
        assert sanitized() or memory(busy.daemon.pid) - before < 1100 * 100_000, "100 KB for each that is let wait"
        assert all(n["connected"] for n in busy.nodes() if n["name"] != "spare")
    finally:
        for sock in flood:
            sock.close()
    wait_for("they are gone", lambda: descriptors(busy.daemon.pid) < began + 30, 60)


EXACT = {"workers": 2, "short_phases": True, "phases": [
    {"kind": "write", "file_size": "2MiB", "record_size": "16KiB"}, {"kind": "read", "file_size": "2MiB", "record_size": "16KiB"},
    {"kind": "random-write", "file_size": "2MiB", "record_size": "4KiB"}]}


def essence(results):
    return results["run"]["state"], [(p["name"], p["state"], [(n["node"], n["state"], n["bytes"], n["ops"], n["errors"],
                                                             [(w["bytes"], w["ops"]) for w in n["workers"]]) for n in p["nodes"]])
                                     for p in results["phases"]]


def test_results_are_the_same_under_attack():
    with Cluster() as cluster:
        subprocess.run([program("lockstep"), "pki", "issue", cluster.path("pki"), "agent", "spare"], check=True, stdout=subprocess.DEVNULL)
        cluster.start()
        cluster.forge = Forge(cluster)
        status, quiet, done = cluster.run(EXACT)
        assert status == 0, done.stderr
        over = threading.Event()

        def attack():
            while not over.is_set():
                for data in list(FRAMES.values()):
                    try:
                        peer = spare(cluster)
                        peer.send_raw(data)
                        tcp(cluster).sendall(b"\0" * 64)
                        peer.close()
                    except (OSError, Closed, ssl.SSLError, TimeoutError, AssertionError):
                        pass
                    if over.is_set():
                        return

        thread = threading.Thread(target=attack)
        thread.start()
        try:
            status, attacked, done = cluster.run({**EXACT, "nodes": cluster.names})
        finally:
            over.set()
            thread.join()
        assert status == 0, done.stderr
        assert essence(attacked) == essence(quiet)
        assert cluster.files() == []


# --- the agent: a coordinator that has been taken over -----------------------------------------------------------------------


@pytest.fixture
def agent():
    with Agent() as made:
        made.outside = made.path("outside")
        os.makedirs(made.outside)
        with open(made.path("outside", "precious"), "w", encoding="ascii") as f:
            f.write("precious")
        yield made
        assert os.listdir(made.outside) == ["precious"]
        with open(made.path("outside", "precious"), encoding="ascii") as f:
            assert f.read() == "precious"


def assignment(agent, run="r1", **fields):
    job = {"name": "t", "path": agent.volume, "workers": 1, "reserve_percent": 0, **fields.pop("job", {})}
    return {"run": run, "job": job, "node": agent.name, "node_index": 0, "node_count": 1, "max_workers": 1, "token": "t",
            "need_bytes": MIB, "need_files": 10, **fields}


def epoch(phase=0, attempt=0, run="r1"):
    return {"run": run, "phase": phase, "repetition": 0, "attempt": attempt}


WRITE = {"kind": "write", "file_size": MIB, "record_size": 65536}


def until(peer, *types):
    """The first message of one of these types; None at the end of the connection."""
    while True:
        m = peer.receive()
        if m is None or m["type"] in types:
            return m


def run_phase(peer, at, spec):
    peer.send("arm", epoch=at, spec=spec, node_workers=[1], redo=False)
    m = until(peer, "armed", "failed", "error")
    if m is None or m["type"] != "armed":
        return m
    peer.send("go", epoch=at, start_ns=now_ns() + LEAD_NS, late_limit_ns=S)
    assert until(peer, "set") is not None
    peer.send("commit", epoch=at)
    m = until(peer, "result-part", "missed")
    assert m["type"] == "result-part", m
    peer.send("ack", epoch=m["epoch"], part=0)
    return json.loads(m["data"])


BAD_ASSIGNMENTS = {
    "run id with ..": {"run": "../../outside"},
    "run id with a slash": {"run": "a/b"},
    "run id that is ..": {"run": ".."},
    "empty run id": {"run": ""},
    "run id with a NUL": {"run": "a\0b"},
    "run id with a new line": {"run": "a\nb"},
    "another node's name with a path": {"node": "../../outside/x"},
    "number beyond the count": {"node_index": 5},
    "count of none": {"node_count": 0},
    "too many workers": {"max_workers": 100000},
    "path below a link": {"job": {"path": "{volume}/link"}},
    "path below a link, further": {"job": {"path": "{volume}/link/deeper"}},
    "path of /proc": {"job": {"path": "/proc/self/cwd"}},
    "allowed path with a NUL behind": {"job": {"path": "{volume}\0/../outside"}},
}


@pytest.mark.parametrize("what", BAD_ASSIGNMENTS)
def test_assignment_that_leads_out_is_refused(agent, what):
    os.symlink(agent.outside, os.path.join(agent.volume, "link"))
    agent.start()
    peer = agent.connect()
    fields = json.loads(json.dumps(BAD_ASSIGNMENTS[what]).replace("{volume}", agent.volume))
    peer.send("assign", **{**assignment(agent), **assignment(agent, **fields)})
    m = until(peer, "refused", "error", "prepared")
    assert m is None or m["type"] in ("refused", "error"), m
    if m and m["type"] == "refused":
        assert m["error"]["text"]
    assert [f for f in agent.volume_files() if not f.endswith("/link")] == []


def test_clean_only_of_a_run_that_it_never_had_removes_nothing(agent):
    """clean_only is between agent and runner; and nobody removes a directory without its own marker."""
    kept = os.path.join(agent.volume, ".lockstep-r9", "n0")
    os.makedirs(kept)
    with open(os.path.join(kept, "f"), "w", encoding="ascii") as f:
        f.write("somebody's")
    agent.start()
    peer = agent.connect()
    peer.send("assign", **assignment(agent, run="r9", clean_only=True))
    until(peer, "refused", "prepared", "error")
    peer.send("finish", run="r9")
    until(peer, "finished", "error")
    assert os.path.exists(os.path.join(kept, "f"))


def swap(agent, inner):
    """The directory of the run (or one in it) becomes a link to the outside, where files of the same names are precious."""
    path = os.path.join(agent.volume, ".lockstep-r1", *inner)
    os.rename(path, path + ".away" if inner else os.path.join(agent.volume, "away"))
    os.symlink(agent.outside, path)


@pytest.mark.parametrize("inner", [(), ("n0",)], ids=["the run's directory", "the node's directory"])
def test_link_swapped_in_during_the_run_is_not_followed(agent, inner):
    agent.start()
    peer = agent.connect()
    peer.send("assign", **assignment(agent))
    assert until(peer, "prepared", "refused")["type"] == "prepared"
    first = run_phase(peer, epoch(0), WRITE)
    assert first["state"] == "done"
    swap(agent, inner)
    for phase, spec in enumerate([{**WRITE, "kind": "rewrite"}, {"kind": "create", "files": 5}, {"kind": "delete", "files": 5},
                                  {**WRITE, "layout": "shared"}], 1):
        run_phase(peer, epoch(phase), spec)
    peer.send("finish", run="r1")
    until(peer, "finished", "error")  # the fixture looks at the outside


def test_link_in_place_of_a_file_is_not_followed(agent):
    agent.start()
    peer = agent.connect()
    peer.send("assign", **assignment(agent))
    assert until(peer, "prepared", "refused")["type"] == "prepared"
    assert run_phase(peer, epoch(0), WRITE)["state"] == "done"
    files = [f for f in agent.volume_files() if "/n0/" in f and os.path.isfile(f)]
    assert files
    for name in files:
        os.unlink(name)
        os.symlink(os.path.join(agent.outside, "precious"), name)
    m = run_phase(peer, epoch(1), {**WRITE, "kind": "rewrite"})
    assert m is None or m.get("type") in ("failed", "error") or m["state"] == "failed" or m["errors"] > 0 or not_written(agent)
    peer.send("finish", run="r1")
    until(peer, "finished", "error")


def not_written(agent):
    with open(os.path.join(agent.outside, "precious"), encoding="ascii") as f:
        return f.read() == "precious"


@pytest.mark.needs_root
def test_other_file_system_below_is_not_touched(root, agent):
    """Something mounted over the node's directory between two phases: neither written to nor emptied."""
    agent.start()
    peer = agent.connect()
    peer.send("assign", **assignment(agent))
    assert until(peer, "prepared", "refused")["type"] == "prepared"
    assert run_phase(peer, epoch(0), WRITE)["state"] == "done"
    own = os.path.join(agent.volume, ".lockstep-r1", "n0")
    mounted = subprocess.run(["mount", "--bind", agent.outside, own], check=False)
    if mounted.returncode != 0:
        pytest.skip("mounts are not permitted here")
    try:
        run_phase(peer, epoch(1), {"kind": "create", "files": 5})
        run_phase(peer, epoch(2), {**WRITE, "kind": "rewrite"})
        peer.send("finish", run="r1")
        until(peer, "finished", "error")
        assert os.listdir(own) == ["precious"]
    finally:
        subprocess.run(["umount", own], check=True)
        shutil.rmtree(os.path.join(agent.volume, ".lockstep-r1"), ignore_errors=True)


def test_replayed_and_reordered_messages_start_nothing(agent):
    """go, commit, void and finish of other epochs and runs, twice and too early: the phase that is armed starts once, at its commit."""
    agent.start()
    peer = agent.connect()
    peer.send("assign", **assignment(agent))
    assert until(peer, "prepared", "refused")["type"] == "prepared"
    peer.send("commit", epoch=epoch(0, run="r0"))
    peer.send("void", epoch=epoch(7), reason="replayed")
    peer.send("finish", run="r0")
    assert until(peer, "finished", "error")["run"] == "r0"
    first = run_phase(peer, epoch(0), WRITE)
    assert first["state"] == "done" and first["bytes"] == MIB
    peer.send("assign", **assignment(agent))
    for _ in range(2):  # all of the phase that is over, once more
        peer.send("go", epoch=epoch(0), start_ns=now_ns() + 20_000_000)
        peer.send("commit", epoch=epoch(0))
        peer.send("void", epoch=epoch(0), reason="late")
        peer.send("ack", epoch=epoch(0), part=0)
        peer.send("ack", epoch=epoch(5), part=999)
    time.sleep(0.1)  # longer than the instant that was replayed
    second = run_phase(peer, epoch(1), {**WRITE, "kind": "rewrite"})
    assert second.get("state") == "done", second
    assert second["bytes"] == MIB and second["ops"] == first["ops"]
    peer.send("finish", run="r1")
    assert until(peer, "finished")["left"] == []
    assert agent.volume_files() == []
