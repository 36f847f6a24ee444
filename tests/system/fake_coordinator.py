"""A coordinator that says exactly what a test wants, to a real lockstep-agent: TLS 1.3, frames, JSON, nothing else."""
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time

BUILD = os.environ.get("LOCKSTEP_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build"))
BUILD = os.path.abspath(BUILD)
TIMEOUT_S = 20.0  # generous: a loaded machine must not fail a test


def program(name):
    return os.path.join(BUILD, "bin", name)


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def wait_until(what, condition, timeout=TIMEOUT_S):
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {timeout} s: {what}"
        time.sleep(0.005)


def openssl(*words, stdin=None):
    subprocess.run(["openssl", *words], check=True, input=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Pki:
    """A throw-away CA in a directory, as `lockstep pki` lays it out."""

    def __init__(self, directory):
        self.dir = directory
        os.makedirs(directory, exist_ok=True)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test",
                "-days", "2", "-keyout", self.path("ca.key"), "-out", self.path("ca.crt"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def issue(self, role, name):
        base = self.path(f"{role}-{name}")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", base + ".key", "-out", base + ".csr")
        os.chmod(base + ".key", 0o600)
        with open(base + ".ext", "w", encoding="ascii") as f:
            f.write(f"subjectAltName=URI:lockstep://{role}/{name}\nbasicConstraints=CA:FALSE\n")
        openssl("x509", "-req", "-in", base + ".csr", "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                "-CAcreateserial", "-days", "2", "-extfile", base + ".ext", "-out", base + ".crt")
        return base + ".crt", base + ".key"


class Peer:
    """One connection of the agent."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.samples = []

    def send_raw(self, data):
        self.sock.sendall(struct.pack(">I", len(data)) + data)

    def send(self, message_type, **fields):
        self.send_raw(json.dumps({"type": message_type, **fields}).encode())

    def receive(self, timeout=TIMEOUT_S):
        """The next message; None at the end of the connection."""
        self.sock.settimeout(timeout)
        while True:
            if len(self.buffer) >= 4:
                length = struct.unpack(">I", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + length:
                    data, self.buffer = self.buffer[4:4 + length], self.buffer[4 + length:]
                    return json.loads(data)
            try:
                more = self.sock.recv(65536)
            except (ConnectionError, ssl.SSLEOFError):
                more = b""
            if not more:
                return None
            self.buffer += more

    def expect(self, message_type, timeout=TIMEOUT_S):
        """The next message must be of that type; samples in between are kept."""
        while True:
            message = self.receive(timeout)
            assert message is not None, f"connection ended while waiting for {message_type}"
            if message["type"] == "sample" and message_type != "sample":
                self.samples.append(message)
                continue
            assert message["type"] == message_type, f"wanted {message_type}, got {json.dumps(message)[:600]}"
            return message

    def expect_end(self):
        """The agent ends the connection; returns what it said before."""
        said = []
        while True:
            message = self.receive()
            if message is None:
                return said
            said.append(message)

    def welcome(self, heartbeat_ns=60_000_000_000):
        hello = self.expect("hello")
        self.send("welcome", version="0", build="test", heartbeat_ns=heartbeat_ns)
        facts = self.expect("facts")
        return hello, facts

    def result(self, ack=True):
        """All parts of one result, joined."""
        parts, epoch = {}, None
        while epoch is None or len(parts) < total:
            part = self.expect("result-part")
            epoch, total = part["epoch"], part["parts"]
            parts[part["part"]] = part["data"]
            if ack:
                self.send("ack", epoch=part["epoch"], part=part["part"])
        return epoch, json.loads("".join(parts[i] for i in range(total)))

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass


class FakeCoordinator:
    """Listens, and takes the agent's connections one by one."""

    def __init__(self, pki, role="coordinator"):
        cert, key = pki.issue(role, "coord")
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self.tls.load_cert_chain(cert, key)
        self.tls.load_verify_locations(pki.path("ca.crt"))
        self.tls.verify_mode = ssl.CERT_REQUIRED
        self.tls.set_alpn_protocols(["lockstep/1"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def accept(self, timeout=TIMEOUT_S):
        self.listener.settimeout(timeout)
        sock, _ = self.listener.accept()
        sock.settimeout(timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Peer(self.tls.wrap_socket(sock, server_side=True))

    def close(self):
        self.listener.close()


class Agent:
    """A real lockstep-agent with everything it needs in one directory."""

    def __init__(self, name="node1"):
        self.name = name
        self.dir = tempfile.mkdtemp(prefix="lockstep-agent-test-")
        self.pki = Pki(self.path("pki"))
        self.cert, self.key = self.pki.issue("agent", name)
        self.coordinator = FakeCoordinator(self.pki)
        self.volume = self.path("volume")
        os.makedirs(self.volume)
        self.process = None

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def words(self, **settings):
        values = {"coordinator": f"127.0.0.1:{self.coordinator.port}", "ca": self.pki.path("ca.crt"), "cert": self.cert,
                  "key": self.key, "spool": self.path("spool"), "allow": self.volume, "log_level": "debug", **settings}
        words = [program("lockstep-agent")]
        for key, value in values.items():
            words += ["--set", f"{key}={value}"]
        return words

    def start(self, **settings):
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(self.words(**settings), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        return self

    def connect(self, **welcome):
        peer = self.coordinator.accept()
        peer.welcome(**welcome)
        return peer

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def runners(self):
        """Ids of living child processes."""
        found = []
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/children", encoding="ascii") as f:
                found += [int(c) for c in f.read().split()]
        return found

    def descriptors(self):
        """What the agent has open, as the links say."""
        base = f"/proc/{self.process.pid}/fd"
        return [os.readlink(os.path.join(base, n)) for n in os.listdir(base)]

    def volume_files(self):
        return [os.path.join(d, n) for d, dirs, files in os.walk(self.volume) for n in dirs + files]

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None and os.path.exists(self.path("log")):
            print("--- log of the agent ---\n" + self.log()[-6000:])
        if self.process and self.process.poll() is None:
            runners = self.runners()
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(8)
            except subprocess.TimeoutExpired:
                self.kill()
            for pid in runners:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.coordinator.close()
        shutil.rmtree(self.dir, ignore_errors=True)
