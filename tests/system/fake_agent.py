"""Agents and operators that say exactly what a test wants, to a real lockstepd: TLS 1.3, frames, JSON, nothing else."""
import json
import os
import queue
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

BUILD = os.path.abspath(os.environ.get("LOCKSTEP_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build")))
TIMEOUT_S = 20.0  # generous: a loaded machine must not fail a test
GIB = 1 << 30


def program(name):
    return os.path.join(BUILD, "bin", name)


def mono_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def version():
    """(version, build) of lockstepd."""
    words = subprocess.run([program("lockstepd"), "--version"], check=True, capture_output=True, text=True).stdout.split()
    return words[1], words[3].rstrip("),")


class Closed(Exception):
    """The other side ended the connection."""


class Peer:
    """A connection that carries frames. One thread may receive while another sends."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.setblocking(False)
        self.buffer = b""
        self.lock = threading.Lock()  # an SSL object must not be read and written at once

    def attempt(self, what, wait_for_write, end):
        """what() once it would not block."""
        while True:
            try:
                with self.lock:
                    return what()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError("no message in time") from None
                select.select([self.sock], [self.sock] if wait_for_write else [], [], min(left, 1))

    def send_raw(self, data):
        end = time.monotonic() + TIMEOUT_S
        while data:
            data = data[self.attempt(lambda: self.sock.send(data), True, end):]

    def send_text(self, text):
        self.send_raw(struct.pack(">I", len(text)) + text)

    def send(self, type_, **fields):
        self.send_text(json.dumps({"type": type_, **fields}).encode())

    def receive(self, timeout=TIMEOUT_S):
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 4:
                size = struct.unpack(">I", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + size:
                    text, self.buffer = self.buffer[4:4 + size], self.buffer[4 + size:]
                    return json.loads(text)
            try:
                data = self.attempt(lambda: self.sock.recv(1 << 16), False, end)
            except TimeoutError:
                raise
            except OSError as e:
                raise Closed(str(e)) from e
            if not data:
                raise Closed("end of file")
            self.buffer += data

    def close(self):
        """An end without a word, as of a killed process; wakes who receives."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        with self.lock:
            self.sock.close()


class Daemon:
    """A lockstepd with a store, a CA and a socket of its own."""

    def __init__(self, agents=("n1", "n2", "n3"), **settings):
        self.dir = tempfile.mkdtemp(prefix="lockstep-daemon-")
        self.settings = settings
        self.version, self.build = version()
        self.listen = "127.0.0.1:0"
        self.process = None
        self.pki("init", self.path("pki"))
        for role, name in (("coordinator", "c"), ("operator", "op"), *(("agent", a) for a in agents)):
            self.pki("issue", self.path("pki"), role, name)

    @staticmethod
    def pki(*words):
        subprocess.run([program("lockstep"), "pki", *words], check=True, stdout=subprocess.DEVNULL)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def arguments(self):
        pki = self.path("pki")
        values = {"listen": self.listen, "socket": self.path("sock"), "store": self.path("store"), "ca": f"{pki}/ca.crt",
                  "cert": f"{pki}/coordinator-c.crt", "key": f"{pki}/coordinator-c.key", "log_level": "debug", **self.settings}
        empty = self.path("empty.conf")
        with open(empty, "w", encoding="ascii") as f:
            f.write("[lockstepd]\n")
        return ["--config", empty, *(word for k, v in values.items() for word in ("--set", f"{k}={v}"))]

    def start(self):
        reader, writer = os.pipe()
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen([program("lockstepd"), *self.arguments(), "--ready-fd", str(writer)], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL, pass_fds=[writer])
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as ready:
            line = ready.readline()
        assert line, self.log()
        words = dict(w.split("=", 1) for w in line.split())
        self.listen = words["listen"]
        assert words["socket"] == self.path("sock")
        return self

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(TIMEOUT_S)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        status = self.end() if self.process.poll() is None else self.process.returncode
        print(self.log()[-20000:])  # pytest shows it when the test failed
        shutil.rmtree(self.dir, ignore_errors=True)
        assert kind is not None or status == 0, f"lockstepd ended with {status}"

    def dial_tls(self, role=None, name=None, alpn="lockstep/1"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.load_verify_locations(self.path("pki", "ca.crt"))
        if alpn:
            context.set_alpn_protocols([alpn])
        if role:
            base = self.path("pki", f"{role}-{name}")
            context.load_cert_chain(base + ".crt", base + ".key")
        host, port = self.listen.rsplit(":", 1)
        sock = socket.create_connection((host, int(port)), TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Peer(context.wrap_socket(sock))

    def hello(self, peer, name, **more):
        peer.send("hello", **{"protocol": 1, "version": self.version, "build": self.build, "name": name, **more})

    def agent(self, name, **more):
        """A connected agent after welcome and facts."""
        return FakeAgent(self, name, **more)

    def operator(self, tls=False):
        if tls:
            peer = self.dial_tls("operator", "op")
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(self.path("sock"))
            peer = Peer(sock)
        self.hello(peer, "op")
        assert peer.receive()["type"] == "welcome"
        return peer

    def ask(self, type_, **fields):
        """All messages of the answer, done included."""
        peer = self.operator()
        peer.send(type_, **fields)
        answer = until_done(peer)
        peer.close()
        return answer

    def export(self, run):
        answer = self.ask("export", run=run)
        assert answer[-1]["outcome"] == "ok", answer[-1]
        return json.loads("".join(m["data"] for m in answer if m["type"] == "document-part"))


def until_done(peer):
    answer = [peer.receive()]
    while answer[-1]["type"] != "done":
        answer.append(peer.receive())
    return answer


class FakeAgent:
    """Answers pings and go by itself, keeps what else it is told, and does a run's steps when asked."""

    DELAY_S = 0.005  # each way: lockstepd then takes a longer lead, so that a loaded machine does not miss the start

    def __init__(self, daemon, name, instance="i1", run=None, ahead_ns=0, auto_set=True):
        self.daemon, self.name, self.instance, self.run = daemon, name, instance, run
        self.ahead_ns, self.auto_set = ahead_ns, auto_set
        self.connect()

    def connect(self):
        self.peer = self.daemon.dial_tls("agent", self.name)
        self.daemon.hello(self.peer, self.name, instance=self.instance, boot_id="b", run=self.run)
        welcome = self.peer.receive()
        assert welcome["type"] == "welcome", welcome
        self.got = queue.Queue()
        self.synced = threading.Event()
        self.sending = threading.Lock()
        threading.Thread(target=self.read, args=(self.peer, self.got, self.synced), daemon=True).start()
        self.tell_facts()
        assert self.synced.wait(TIMEOUT_S)

    def tell_facts(self):
        self.send("facts", facts={"hostname": self.name, "kernel": "6.1", "cpus": 2, "memory_bytes": GIB,
                                  "version": self.daemon.version, "build": self.daemon.build})

    def read(self, peer, got, synced):
        try:
            while True:
                m = peer.receive(3600)
                if m["type"] == "ping":
                    self.pong(m)
                    if m["seq"] % 8 == 3:  # lockstepd has read what was sent before: facts
                        synced.set()
                    continue
                if m["type"] == "go" and self.auto_set:
                    self.send("set", epoch=m["epoch"])
                got.put(m)
        except (Closed, OSError, ValueError) as e:
            got.put({"type": "closed", "why": str(e)})

    def pong(self, ping):
        time.sleep(self.DELAY_S)
        t1 = self.clock()
        t2 = self.clock()
        time.sleep(self.DELAY_S)
        self.send("pong", seq=ping["seq"], t0=ping["t0"], t1=t1, t2=t2)

    def clock(self):
        return mono_ns() + self.ahead_ns

    def send(self, type_, **fields):
        with self.sending:
            self.peer.send(type_, **fields)

    def expect(self, *types):
        m = self.got.get(timeout=TIMEOUT_S)
        assert m["type"] in types, f"{self.name}: got {m}, wanted {types}"
        return m

    def close(self):
        self.peer.close()

    def reconnect(self, **more):
        self.close()
        for key, value in more.items():
            setattr(self, key, value)
        self.connect()

    # --- steps of a run ---

    def prepare(self):
        m = self.expect("assign")
        assert m["node"] == self.name and m["job"].get("phases", []) == []
        self.run, self.assignment = m["run"], m
        self.send("prepared", run=self.run, volume={"fs_type": "ocfs2", "fs_id": "1:2", "mount_options": "rw", "total_bytes": GIB,
                                                    "free_bytes": GIB // 2, "dio_align": 512})

    def verify(self, missing=()):
        m = self.expect("verify-volume")
        self.tokens = m["tokens"]
        self.send("volume-verified", run=self.run, missing=list(missing))

    def arm(self):
        m = self.expect("arm")
        self.epoch, self.spec, self.redo = m["epoch"], m["spec"], m["redo"]
        self.workers = m["node_workers"]
        self.send("armed", epoch=self.epoch)

    def set(self):
        m = self.expect("go")
        assert m["epoch"] == self.epoch
        self.start_ns = m["start_ns"]

    def commit(self):
        m = self.expect("commit")
        assert m["epoch"] == self.epoch
        assert self.clock() < self.start_ns, "commit came after the instant"

    def result(self, state="done", first_op_ns=1000, error=None):
        series = {"interval_ns": 100_000_000, "bytes": [65536] * 16, "ops": [1] * 16}
        latency = {"count": 16, "min": 1000, "max": 1000, "sum": 16000, "histogram": {"scheme": "log-linear-6", "buckets": [[320, 16]]}}
        worker = {"rank": 0, "first_op_ns": first_op_ns, "start_ns": first_op_ns, "end_ns": 1_600_000_000, "bytes": 1 << 20, "ops": 16}
        node = {"node": self.name, "state": state, "bytes": 1 << 20, "ops": 16, "errors": 1 if error else 0, "start_ns": first_op_ns,
                "end_ns": 1_600_000_000, "by_op": {"write": {"bytes": 1 << 20, "ops": 16, "latency_ns": latency}}, "series": series,
                "workers": [worker]}
        if error:
            node["error_list"] = [{"call": "pwrite", "path": "/x", "errno_name": "ENOSPC", "text": error}]
        return json.dumps(node)

    def send_result(self, text, cut=2, epoch=None, parts=None):
        size = -(-len(text) // cut)
        pieces = [text[i:i + size] for i in range(0, len(text), size)]
        for part in range(len(pieces)) if parts is None else parts:
            self.send("result-part", epoch=epoch or self.epoch, part=part, parts=len(pieces), data=pieces[part])
        return len(pieces)

    def acks(self, count):
        seen = [self.expect("ack") for _ in range(count)]
        return [m["part"] for m in seen]

    def finish(self, left=()):
        m = self.expect("finish")
        assert m["run"] == self.run
        self.send("finished", run=self.run, left=list(left))
        self.run = None
