"""Enrolment, renewal, removal: nodes without a certificate get one by a token, and lose it at once."""
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import time

import pytest
from cluster import Cluster, program, wait_for


@pytest.fixture(name="site")
def site_fixture():
    cluster = Cluster(nodes=1)
    cluster.settings = {"lockstepd": {"pki": cluster.path("pki")}}
    yield cluster
    cluster.stop()


def operator(cluster, *words, check=True):
    done = subprocess.run([program("lockstep"), *words, "--server", cluster.socket()], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done


def token_for(cluster, node, *options):
    return json.loads(operator(cluster, "node", "add", node, "--json", *options).stdout)["token"]


def enroll(cluster, node, token, *options):
    """The node's side, with directories of its own."""
    return subprocess.run([program("lockstep-agent"), "enroll", cluster.address, token, "--spool", cluster.path(node), "--config",
                           cluster.path(node + ".conf"), "--allow", cluster.volume, "--user", "root", *options],
                          capture_output=True, text=True, check=False)


def start_enrolled(cluster, node, *words):
    with open(cluster.path(node + ".log"), "ab") as log:
        cluster.agents[node] = subprocess.Popen([program("lockstep-agent"), "--config", cluster.path(node + ".conf"), *words],
                                                stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def test_enrolled_nodes_run_a_job(site):
    """The whole way: three nodes by three tokens, a run, the key never left the node's directory."""
    site.start_daemon()
    names = ["alpha", "beta", "gamma"]
    for name in names:
        text = operator(site, "node", "add", name).stdout
        words = re.search(r"lockstep-agent enroll (\S+) (\S+)", text)
        assert words.group(1) == site.address
        done = enroll(site, name, words.group(2))
        assert done.returncode == 0, done.stderr
        assert os.stat(site.path(name, "pki", "agent.key")).st_mode & 0o7777 == 0o600
        start_enrolled(site, name)
    site.wait_nodes(names)
    done = operator(site, "run", "quick", "--path", site.volume, "--set", "phases.time=100ms", "--set", "phases.files=5")
    assert "finished" in done.stdout
    assert not [f for f in os.listdir(site.path("pki")) if re.match(r"agent-(alpha|beta|gamma)\.key", f)]
    listed = json.loads(subprocess.run([program("lockstep"), "pki", "list", site.path("pki"), "--json"], capture_output=True, text=True,
                                       check=True).stdout)
    assert {r["name"] for r in listed if r["role"] == "agent"} >= set(names)


def test_token_is_good_once(site):
    site.start_daemon()
    token = token_for(site, "alpha")
    assert enroll(site, "alpha", token).returncode == 0
    again = enroll(site, "beta", token)
    assert again.returncode == 1 and "used before" in again.stderr
    assert not os.path.exists(site.path("beta", "pki", "agent.crt"))


def test_token_expires(site):
    site.start_daemon()
    token = token_for(site, "alpha", "--valid", "1s")
    time.sleep(2.1)
    done = enroll(site, "alpha", token)
    assert done.returncode == 1 and "expired" in done.stderr


def test_another_coordinator_is_not_believed(site):
    """The token names the root: who has another one gets neither the token nor the node."""
    site.start_daemon()
    other = Cluster(nodes=1)
    try:
        other.settings = {"lockstepd": {"pki": other.path("pki")}}
        other.start_daemon()
        token = token_for(other, "alpha")
        done = enroll(site, "alpha", token)
        assert done.returncode == 1 and "certificate" in done.stderr, done.stderr
        assert enroll(other, "alpha", token).returncode == 0, "the token was used up by the wrong coordinator"
    finally:
        other.stop()


def test_without_authority(site):
    """A lockstepd without pki takes no strangers, and says what to do."""
    site.settings = {}
    site.start_daemon()
    done = operator(site, "node", "add", "alpha", check=False)
    assert done.returncode == 3 and "pki" in done.stderr
    done = enroll(site, "alpha", "ls1-" + "A" * 64)
    assert done.returncode == 1


@pytest.mark.parametrize("name", ["../x", "", "-x", "a" * 64, "a b"])
def test_bad_names(site, name):
    site.start_daemon()
    assert operator(site, "node", "add", "--", name, check=False).returncode in (1, 2, 3)
    assert not os.path.exists(site.path("pki", "tokens")) or not os.listdir(site.path("pki", "tokens"))


def stranger(cluster):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cluster.path("pki", "ca.crt"))
    context.set_alpn_protocols(["lockstep-enroll/1"])
    host, port = cluster.address.rsplit(":", 1)
    return context.wrap_socket(socket.create_connection((host, int(port)), 20))


def say(sock, **message):
    text = json.dumps(message).encode()
    sock.sendall(struct.pack(">I", len(text)) + text)
    try:
        head = sock.recv(4)
        return sock.recv(65536).decode(errors="replace") if len(head) == 4 else ""
    except OSError:
        return ""


@pytest.mark.parametrize("message", [
    {"type": "hello", "protocol": 1, "version": "x", "build": "x", "name": "node1"},
    {"type": "renew", "request": "x"},
    {"type": "node-add", "node": "x"},
    {"type": "node-remove", "node": "node1"},
    {"type": "nodes"},
    {"type": "export"},
    {"type": "submit", "job": {"path": "/", "phases": []}},
    {"type": "enroll", "version": "x", "token": "ls1-" + "A" * 64, "request": "nonsense"},
    {"type": "enroll", "version": "x", "token": "nonsense", "request": "nonsense"},
])
def test_strangers_may_only_enroll(site, message):
    site.start_daemon()
    sock = stranger(site)
    answer = say(sock, **message)
    assert '"error"' in answer, answer
    sock.close()
    assert json.loads(operator(site, "nodes", "--json").stdout) == []


def serial(path):
    return subprocess.run(["openssl", "x509", "-in", path, "-noout", "-serial"], capture_output=True, text=True, check=True).stdout


def test_renewal_in_a_run(site):
    """The agent renews over the connection that it has: the run goes on, the next connection uses the new certificate."""
    site.start_daemon()
    assert enroll(site, "alpha", token_for(site, "alpha")).returncode == 0
    start_enrolled(site, "alpha")
    site.wait_nodes(["alpha"])
    cert = site.path("alpha", "pki", "agent.crt")
    before = serial(cert)
    site.agents["alpha"].terminate()
    site.agents["alpha"].wait(20)
    # from now on every look finds that it is time
    start_enrolled(site, "alpha", "--set", "renew_before=36000d")
    site.wait_nodes(["alpha"])
    done = operator(site, "run", "quick", "--path", site.volume, "--set", "phases.time=200ms", "--set", "phases.files=5")
    assert "finished" in done.stdout
    wait_for("a new certificate", lambda: serial(cert) != before)
    site.agents["alpha"].terminate()
    site.agents["alpha"].wait(20)
    start_enrolled(site, "alpha")
    site.wait_nodes(["alpha"])


def test_removed_at_once(site):
    """In the middle of a run: the connection ends, and it does not come back."""
    site.settings["lockstepd"]["heartbeat"] = "1s"
    site.start_daemon()
    for name in ("alpha", "beta"):
        assert enroll(site, name, token_for(site, name)).returncode == 0
        start_enrolled(site, name)
    site.wait_nodes(["alpha", "beta"])
    run = subprocess.Popen([program("lockstep"), "run", "--path", site.volume, "--server", site.socket(), "--set", "phases.time=20s",
                            "--set", "phases.file_size=1MiB", "quick"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for("the run", lambda: all(n["run"] for n in json.loads(operator(site, "nodes", "--json").stdout)))
    time.sleep(0.5)
    began = time.monotonic()
    assert "removed beta" in operator(site, "node", "remove", "beta").stdout
    rows = {n["name"]: n["connected"] for n in json.loads(operator(site, "nodes", "--json").stdout)}
    assert rows == {"alpha": True, "beta": False}
    assert time.monotonic() - began < 10
    wait_for("a refusal of the agent", lambda: "revoked" in site.log("beta"))
    operator(site, "abort", "last")
    run.communicate(timeout=60)
    time.sleep(1)
    assert not {n["name"]: n["connected"] for n in json.loads(operator(site, "nodes", "--json").stdout)}["beta"]
    # let in again by a new token
    site.agents["beta"].terminate()
    site.agents["beta"].wait(30)
    assert enroll(site, "beta", token_for(site, "beta")).returncode == 0
    start_enrolled(site, "beta")
    site.wait_nodes(["alpha", "beta"])


def test_revoked_by_hand(site):
    """lockstep pki revoke, without a word to lockstepd: it sees the list change."""
    site.start()
    subprocess.run([program("lockstep"), "pki", "revoke", site.path("pki"), "agent", "node1"], check=True, stdout=subprocess.DEVNULL)
    wait_for("the end of the connection", lambda: not json.loads(operator(site, "nodes", "--json").stdout)[0]["connected"])
    assert operator(site, "node", "remove", "nobody", check=False).returncode == 3


def test_enroll_command_line(site):
    site.start_daemon()
    for words in ([], ["host:1"], ["host:1", "x", "y"], ["unix:/x", "ls1-" + "A" * 64], ["host:1", "no-token"],
                  ["host:1", "ls1-" + "A" * 64, "--allow", "relative"], ["host:1", "ls1-" + "A" * 64, "--spool", "relative"]):
        done = subprocess.run([program("lockstep-agent"), "enroll", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2, (words, done.stderr)
        assert done.stderr
    assert "--allow" in subprocess.run([program("lockstep-agent"), "enroll", "--help"], capture_output=True, text=True, check=True).stdout
