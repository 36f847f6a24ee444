"""The read-only web pages of lockstepd: who is let in, what they show, and that nobody can hold lockstepd up with them."""
import hashlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest

import browser
from cluster import Cluster, program, wait_for

TOKEN = "a-token-of-the-tests-0123456789"
HASHED = "another-token-of-the-tests-0123"
JOB = {"name": "web <b>job</b>", "short_phases": True, "reserve_percent": 0, "grace": "1s",
       "phases": [{"kind": "write", "file_size": "64KiB", "record_size": "16KiB"}]}
LONG = {**JOB, "phases": [{"kind": "read", "file_size": "64KiB", "record_size": "16KiB", "time": "120s"}]}


class Web(Cluster):
    def __init__(self, **more):
        super().__init__(nodes=2, **more)
        with open(self.path("tokens"), "w", encoding="ascii") as f:
            f.write(f"# tokens\n{TOKEN}\n\nsha256:{hashlib.sha256(HASHED.encode()).hexdigest()}\n")
        os.chmod(self.path("tokens"), 0o640)
        self.settings["lockstepd"] = {"web_listen": "0", "web_token_file": self.path("tokens")}

    def host(self):
        return re.findall(r"ready .*web=(\S+)", self.log("lockstepd"))[-1]

    def tls(self, role=None, name=None):
        context = ssl.create_default_context(cafile=self.path("pki", "ca.crt"))
        context.check_hostname = False
        if role:
            base = self.path("pki", f"{role}-{name}")
            context.load_cert_chain(base + ".crt", base + ".key")
        return context

    def connect(self, role=None, name=None):
        host, port = self.host().rsplit(":", 1)
        return self.tls(role, name).wrap_socket(socket.create_connection((host, int(port)), 10))

    def curl(self, path, *words):
        done = subprocess.run(["curl", "-sSi", "--http1.1", "--max-time", "20", "--cacert", self.path("pki", "ca.crt"), "-k",
                               f"https://{self.host()}{path}", *words], capture_output=True, timeout=60, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head else None
        return status, head.decode().lower(), body.decode(), done.stderr.decode()

    def certificate(self, role, name):
        base = self.path("pki", f"{role}-{name}")
        return ["--cert", base + ".crt", "--key", base + ".key"]


@pytest.fixture(scope="module", name="web")
def one_web():
    with Web().start() as cluster:
        cluster.run_id = cluster.run(JOB, "--tag", "seen", "--note", "a <i>note</i>")[1]["run"]["id"]
        yield cluster


BEARER = ["-H", f"Authorization: Bearer {TOKEN}"]
BASIC = ["-u", f"anybody:{TOKEN}"]


def sockets_of(web):
    """The web connections of lockstepd: established ones of its port, as the kernel lists them."""
    port = int(web.host().rsplit(":", 1)[1])
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    own = {os.readlink(e.path) for e in os.scandir(f"/proc/{web.daemon.pid}/fd") if os.path.islink(e.path)}
    return [r[2] for r in rows if int(r[1].split(":")[1], 16) == port and r[3] != "0A" and f"socket:[{r[9]}]" in own]


def ask_raw(web, data, role=None, name=None):
    """Sends bytes, returns what comes until the other side closes."""
    with web.connect(role, name) as sock:
        try:
            sock.sendall(data)
        except OSError:
            pass  # what has been answered is not read to its end
        got = b""
        while True:
            try:
                piece = sock.recv(65536)
            except (ssl.SSLError, ConnectionError):
                return got
            if not piece:
                return got
            got += piece


# --- who is let in ---

def test_tokens_and_operators_certificates_let_in(web):
    for words in (BEARER, BASIC, ["-H", f"Authorization: bearer {HASHED}"], web.certificate("operator", "op")):
        status, _, body, _ = web.curl("/api/nodes", *words)
        assert status == 200, words
        assert [n["name"] for n in json.loads(body)["nodes"]] == ["node1", "node2"]


@pytest.mark.parametrize("words", [
    [], ["-H", "Authorization: Bearer x"], ["-H", f"Authorization: Bearer {TOKEN}x"], ["-H", f"Authorization: Bearer {TOKEN[:-1]}"],
    ["-u", "x:wrong"], ["-u", f"{TOKEN}:"], ["-H", "Authorization: Basic !!!"], ["-H", f"Authorization: {TOKEN}"],
    ["-H", f"Authorization: Bearer sha256:{hashlib.sha256(HASHED.encode()).hexdigest()}"],
    ["-H", f"Authorization: Bearer {hashlib.sha256(HASHED.encode()).hexdigest()}"], ["-H", f"Cookie: token={TOKEN}"],
])
@pytest.mark.parametrize("path", ["/", "/api/nodes", "/metrics", "/app.js", "/nothing"])
def test_all_others_are_told_to_log_in(web, words, path):
    status, head, body, _ = web.curl(path, *words)
    assert status == 401 and 'www-authenticate: basic realm="lockstep"' in head
    assert "node1" not in body


def test_certificates_of_other_roles_are_refused(web):
    for role, name in (("agent", "node1"), ("coordinator", "coord")):
        status, _, body, _ = web.curl("/api/nodes", *web.certificate(role, name))
        assert status == 403 and "only certificates of operators" in body, role
    assert re.search(r"web client refused peer=127.0.0.1:\d+ name=node1 role=agent", web.log("lockstepd"))
    # A role does not stand in the way of a token.
    assert web.curl("/api/nodes", *web.certificate("agent", "node1"), *BEARER)[0] == 200


def test_certificates_of_another_authority_do_not_even_shake_hands(web, tmp_path):
    for words in (["init", str(tmp_path)], ["issue", str(tmp_path), "operator", "op"]):
        subprocess.run([program("lockstep"), "pki", *words], check=True, stdout=subprocess.DEVNULL)
    status, _, _, error = web.curl("/api/nodes", "--cert", str(tmp_path / "operator-op.crt"), "--key", str(tmp_path / "operator-op.key"))
    assert status is None and error


def test_only_tls_1_3(web):
    assert web.curl("/api/nodes", "--tls-max", "1.2", *BEARER)[0] is None
    host, port = web.host().rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            assert b"HTTP/" not in sock.recv(4096)
        except ConnectionResetError:
            pass


def test_it_listens_on_loopback_unless_told_otherwise(web):
    assert web.host().startswith("127.0.0.1:")
    with Web() as cluster:
        cluster.settings["lockstepd"] = {}
        cluster.start_daemon()
        assert "web=-" in cluster.log("lockstepd")


@pytest.mark.parametrize("text,mode,says", [
    ("short\n", 0o600, ":1: a token has 20 characters at least"), ("sha256:12\n", 0o600, ":1: sha256: needs 64"),
    (TOKEN + "\n", 0o644, "mode 0644 lets everybody in"), (None, 0, "No such file")])
def test_token_files_that_cannot_be(text, mode, says):
    with Web() as cluster:
        os.unlink(cluster.path("tokens"))
        if text:
            with open(cluster.path("tokens"), "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(cluster.path("tokens"), mode)
        config = cluster.write_config("lockstepd.conf", "lockstepd", cluster.daemon_config())
        done = subprocess.run([program("lockstepd"), "--config", config], capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 1 and says in done.stderr and TOKEN not in done.stderr


def test_tokens_are_read_again_on_sighup(web):
    import signal
    with open(web.path("tokens"), encoding="ascii") as f:
        before = f.read()
    try:
        with open(web.path("tokens"), "w", encoding="ascii") as f:
            f.write("quite-another-token-of-the-tests\n")
        web.daemon.send_signal(signal.SIGHUP)
        wait_for("the old token is gone", lambda: web.curl("/metrics", *BEARER)[0] == 401)
        assert web.curl("/metrics", "-u", "x:quite-another-token-of-the-tests")[0] == 200
        # What cannot be read leaves the old ones in force.
        with open(web.path("tokens"), "w", encoding="ascii") as f:
            f.write("short\n")
        web.daemon.send_signal(signal.SIGHUP)
        wait_for("the log says so", lambda: "the old ones stay" in web.log("lockstepd"))
        assert web.curl("/metrics", "-u", "x:quite-another-token-of-the-tests")[0] == 200
    finally:
        with open(web.path("tokens"), "w", encoding="ascii") as f:
            f.write(before)
        web.daemon.send_signal(signal.SIGHUP)
        wait_for("the first tokens are back", lambda: web.curl("/metrics", *BEARER)[0] == 200)


# --- what is asked ---

@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_nothing_can_be_changed(web, method):
    status, head, _, _ = web.curl("/api/runs", "-X", method, *BEARER)
    assert status == 405 and "allow: get, head" in head
    assert web.curl("/run/x", "-X", method, "-d", "x=" + "y" * 100000, *BEARER)[0] in (405, 413)


@pytest.mark.parametrize("path,status", [
    ("/nothing", 404), ("/run/", 404), ("/run/no-such-run", 404), ("/run/a/b", 404), ("/api/nodes/", 404), ("/run/" + "x" * 70, 404),
    ("/../../etc/passwd", 400), ("/run/..", 400), ("/run/%2e%2e", 400), ("//etc/passwd", 400), ("/run/x'or'1", 400), ("/" + "x" * 300, 414)])
def test_paths_that_are_not_there(web, path, status):
    got, _, body, _ = web.curl(path, "--path-as-is", *BEARER)
    assert got == status and "root:" not in body


AUTH = f"Authorization: Bearer {TOKEN}\r\n".encode()


GET = b"GET / HTTP/1.1\r\nHost: a\r\n" + AUTH
GARBAGE = {  # evhttp answers all that it cannot read with 400
    "binary": (b"\x00\x01\x02garbage\r\n\r\n", 400), "no host": (b"GET / HTTP/1.1\r\n" + AUTH + b"\r\n", 400),
    "two hosts": (GET + b"Host: b\r\n\r\n", 400), "two logins": (GET + AUTH + b"\r\n", 400),
    "version": (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 400), "long field": (GET + b"X: " + b"y" * 9000, 400),
    "many fields": (GET + b"X: y\r\n" * 3000 + b"\r\n", 400), "long line": (b"A" * 9000, 400), "no colon": (GET + b"X\r\n\r\n", 400),
    "absolute address": (b"GET http://a/api/nodes HTTP/1.1\r\nHost: a\r\n" + AUTH + b"\r\n", 400),
    "chunks": (GET + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 413),
    "no chunks": (GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
    "other coding": (GET + b"Transfer-Encoding: gzip\r\n\r\nGET /smuggled", 413),
    "body": (GET + b"Content-Length: 5\r\n\r\nhello", 413), "bad length": (GET + b"Content-Length: -5\r\n\r\nhello", 400),
    "huge body": (GET + b"Content-Length: 9223372036854775807\r\n\r\nhello", 413),
    "expect": (GET + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n", 413),
    "a body is still coming": (GET + b"Content-Length: 4000000\r\n\r\n" + b"x" * 4000000, 413),
}


@pytest.mark.parametrize("case", GARBAGE)
def test_garbage_is_answered_and_ends_the_connection(web, case):
    data, status = GARBAGE[case]
    got = ask_raw(web, data)
    assert got.startswith(f"HTTP/1.1 {status} ".encode()), got[:200]
    assert got.count(b"HTTP/1.1") == 1 and (b"Connection: close" in got or case == "absolute address")


def test_connections_are_used_again_and_requests_may_come_together(web):
    one = b"GET /api/nodes HTTP/1.1\r\nHost: x\r\n" + AUTH + b"\r\n"
    head = b"HEAD /api/runs HTTP/1.1\r\nHost: x\r\n" + AUTH + b"\r\n"
    last = b"GET /api/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + AUTH + b"\r\n"
    got = ask_raw(web, one + head + one + last)
    assert got.count(b"HTTP/1.1 200 OK") == 4 and got.count(b'"nodes":[') == 2 and got.count(b'"runs":[') == 1


def test_every_answer_is_guarded(web):
    for path in ("/", "/app.js", "/dygraph.js", "/api/runs", "/metrics", f"/run/{web.run_id}", "/nothing"):
        _, head, _, _ = web.curl(path, *BEARER)
        assert "content-security-policy: default-src 'none'" in head and "frame-ancestors 'none'" in head, path
        assert "x-content-type-options: nosniff" in head and "referrer-policy: no-referrer" in head
        policy = re.search(r"content-security-policy: (.*)", head).group(1)
        scripts = re.search(r"script-src ([^;]*)", policy)
        assert scripts is None or ("unsafe" not in scripts.group(1) and "http" not in scripts.group(1)), policy


# --- what is shown ---

def test_metrics_are_as_prometheus_wants_them(web):
    if shutil.which("promtool") is None:
        pytest.skip("no promtool")

    def check():
        status, head, body, _ = web.curl("/metrics", *BEARER)
        assert status == 200 and "application/openmetrics-text" in head and body.endswith("# EOF\n")
        done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
        return body

    body = check()
    assert "lockstep_nodes_connected 2\n" in body and "lockstep_run_active 0\n" in body
    process = web.start_run(LONG)
    try:
        body = wait_for("a rate", lambda: re.search(r'lockstep_run_bytes_per_second\{.*phase="read"\} [1-9]', check()) and check())
        assert 'job="web <b>job</b>"' in body and "lockstep_run_active 1\n" in body and re.search(r"workers_active\{.*\} 2\n", body)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_a_run_is_shown_as_its_report(web):
    status, head, page, _ = web.curl(f"/run/{web.run_id}", *BEARER)
    assert status == 200 and "text/html" in head
    assert page == web.cli("report", web.run_id, "--format", "html", check=True).stdout
    assert json.loads(web.curl(f"/run/{web.run_id}.json", *BEARER)[2]) == web.export(web.run_id)
    assert web.curl(f"/run/{web.run_id[:-2]}", *BEARER)[0] == 200


@pytest.mark.skipif(browser.CHROMIUM is None, reason="no Chromium")
def test_the_pages_in_a_browser(web):
    origin = f"https://{web.host()}"
    process = web.start_run(LONG)
    try:
        with browser.Browser("--ignore-certificate-errors") as b:
            b.login("me", TOKEN)
            b.open(origin + "/")
            b.until("document.getElementById('live').hidden === false")
            b.until("document.querySelectorAll('#live-nodes tr').length === 2")
            assert "MiB/s" in b.value("document.getElementById('live-nodes').innerText")
            b.until("document.querySelectorAll('#chart canvas').length > 0")
            b.until("document.querySelectorAll('#nodes tr').length === 2")
            assert b.value("document.querySelector('#nodes td').innerText") == "node1"
            listed = b.until("document.getElementById('runs').innerText")
            assert "web <b>job</b>" in listed and "a <i>note</i>" in listed and "seen" in listed
            assert b.value("document.querySelectorAll('main b, main i').length") == 0
            if os.environ.get("LOCKSTEP_SCREENSHOTS"):
                end = time.monotonic() + 12
                while time.monotonic() < end:
                    b.pump(0.2)
                b.screenshot(os.path.join(os.environ["LOCKSTEP_SCREENSHOTS"], "web.png"))
            b.open(f"{origin}/run/{web.run_id}")
            b.until("document.querySelectorAll('canvas').length > 0")
            foreign = [r for r in b.requests if not r.startswith((origin + "/", "data:", "about:"))]
            noise = [m for m in b.messages if "401" not in m]  # the browser's own word about the question for the login
            assert not foreign and not noise, (foreign, noise)
    finally:
        process.terminate()
        process.communicate(timeout=60)


# --- nobody holds it up ---

def test_idle_and_slow_clients_do_not_keep_others_out(web):
    """More connections than there is room for, all silent or half way through a head: the oldest make room."""
    held = []
    try:
        for i in range(80):
            try:
                sock = web.connect() if i % 8 == 0 else socket.create_connection(("127.0.0.1", int(web.host().rsplit(":", 1)[1])), 5)
                if i % 8 == 0:
                    sock.sendall(b"GET / HTTP/1.1\r\nHost:")
                held.append(sock)
            except OSError:
                pass
        assert web.curl("/api/nodes", *BEARER)[0] == 200
        # 64 are kept; on their way out are those that are accepted in a turn of the loop, or wait for their client's last word.
        assert len(sockets_of(web)) <= 64 + 16, sockets_of(web)
    finally:
        for sock in held:
            sock.close()


def test_a_head_has_one_deadline_however_its_bytes_come(web):
    with web.connect() as sock:
        begun = time.monotonic()
        sock.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises((OSError, AssertionError)):
            while time.monotonic() - begun < 30:
                sock.sendall(b"X: y\r\n")
                time.sleep(0.5)
                sock.settimeout(0.01)
                try:
                    assert sock.recv(10) != b""
                except (TimeoutError, ssl.SSLWantReadError):
                    pass
        assert time.monotonic() - begun < 20


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1))


def test_what_a_client_sends_while_it_does_not_read_is_left_in_the_kernel(web):
    """Requests without end and not one answer taken: lockstepd reads no more of them, and drops the client in the end."""
    one = b"GET /dygraph.js HTTP/1.1\r\nHost: x\r\n" + AUTH + b"\r\n"
    before = memory_of(web.daemon.pid)
    with web.connect() as sock:
        sock.settimeout(1)
        with pytest.raises(OSError):
            for _ in range(40):
                sock.sendall(one * ((1 << 20) // len(one)))
        assert memory_of(web.daemon.pid) - before < 16 << 10
        peer = sock.getsockname()[1]
        wait_for("it is dropped", lambda: not any(s.endswith(f":{peer:04X}") for s in sockets_of(web)), 60)


def test_a_reader_that_is_slow_gets_all_of_it(web):
    want = web.curl("/dygraph.js", *BEARER)[2]
    with web.connect() as sock:
        sock.sendall(b"GET /dygraph.js HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + AUTH + b"\r\n")
        got = b""
        while piece := sock.recv(4096):
            got += piece
            time.sleep(0.002)
    assert got.partition(b"\r\n\r\n")[2].decode() == want


def test_a_client_that_does_not_read_delays_no_barrier(web):
    """Clients that ask for much and take nothing, and others that ask without end, while a run of many short phases goes on."""
    stop = threading.Event()
    held = []
    for _ in range(8):
        sock = web.connect()
        sock.sendall((b"GET /dygraph.js HTTP/1.1\r\nHost: x\r\n" + AUTH + b"\r\n") * 40)
        held.append(sock)

    def hammer():
        while not stop.is_set():
            web.curl(f"/run/{web.run_id}", *BEARER)

    thread = threading.Thread(target=hammer)
    thread.start()
    try:
        status, results, done = web.run({**JOB, "repeat": 20})
        assert status == 0, done.stderr
        assert len(results["phases"]) == 20 and all(p["state"] == "done" for p in results["phases"])
    finally:
        stop.set()
        thread.join()
        for sock in held:
            sock.close()
    assert "away" not in web.log("lockstepd")
