"""lockstep-agent doctor: what it finds, what it says to do, and that it leaves the volume alone."""
import re
import shutil
import subprocess

import faultyvolume
import pytest
from cluster import Cluster, program, wait_for


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture():
    with Cluster(nodes=1) as cluster:
        yield cluster.start()


def doctor(cluster, *words, wrap=(), check=None):
    command = [*wrap, program("lockstep-agent"), "doctor", "--config", cluster.path("node1.conf"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    findings = re.findall(r"^(ok|warning|failed) +(\S+(?: \S+)?)  +(.*)$", done.stdout, re.M)
    return {name: (finding, text) for finding, name, text in findings}, done


def test_a_node_in_order(cluster):
    findings, done = doctor(cluster, check=0)
    for name in ["configuration", "runner", "certificate", "coordinator", "agent", "kernel"]:
        assert findings[name][0] == "ok", done.stdout
    assert "node node1" in findings["certificate"][1]
    assert str(cluster.agents["node1"].pid) in findings["agent"][1]
    assert "volume" not in findings
    # it was not taken for the agent, which is still connected
    assert [n["connected"] for n in cluster.nodes()] == [True]


def test_the_volume_is_left_alone_unless_named(cluster, tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    trace = tmp_path / "trace"
    wrap = ["strace", "-f", "-o", str(trace), "-e", "trace=%file"]
    doctor(cluster, wrap=wrap, check=0)
    assert cluster.volume not in trace.read_text().split("execve(", 1)[1].split("\n", 1)[1]
    findings, _ = doctor(cluster, "--volume", cluster.volume, wrap=wrap, check=0)
    assert findings["volume"][0] == "ok" and cluster.volume in findings["volume"][1]
    calls = [line for line in trace.read_text().split("\n")[1:] if f'"{cluster.volume}"' in line]
    assert len(calls) == 2 and not re.search(r"open|mkdir|creat", "".join(calls)), calls


@pytest.mark.skipif(faultyvolume.missing() is not None, reason=str(faultyvolume.missing()))
def test_a_volume_that_hangs_holds_up_nobody(cluster, tmp_path):
    """The child that looks hangs in the kernel, where SIGKILL does not end it: it is left behind."""
    with faultyvolume.FaultyVolume(tmp_path / "mnt") as volume:
        volume.hold("statfs")
        findings, done = doctor(cluster, "--volume", volume.mountpoint, check=1)
        volume.wait_held("statfs")
        volume.release()
    assert findings["volume"][0] == "failed" and "hangs" in findings["volume"][1], done.stdout


@pytest.mark.parametrize("key, value, name, finding, words", [
    ("coordinator", "", "configuration", "failed", "coordinator is not set"),
    ("coordinator", "127.0.0.1:1", "coordinator", "failed", "refused"),
    ("runner", "/nonexistent/runner", "runner", "failed", "No such file"),
    ("fio", "/nonexistent/fio", "fio", "failed", "No such file"),
    ("spool", "/nonexistent/spool", "spool", "failed", "No such file"),
    ("cert", "/nonexistent/cert", "certificate", "failed", "does not exist"),
    ("allow", "/mnt/../x", "allow", "failed", "component"),
    ("allow", "/etc/lockstep-no-volume", "allow", "warning", "root file system"),
])
def test_what_is_wrong_is_named_with_what_to_do(cluster, key, value, name, finding, words):
    findings, done = doctor(cluster, "--set", f"{key}={value}", check=1 if finding == "failed" else 0)
    assert [found for found in re.findall(rf"^(\S+) +{name} +(.*)$", done.stdout, re.M) if found[0] == finding and words in found[1]], \
        done.stdout
    assert "-> " in done.stdout.split(words, 1)[1].split("\n")[1], done.stdout


def test_a_refused_certificate_and_one_that_ends_soon(cluster):
    """Issued by another authority: TLS is done on this side before the other side says no."""
    other = cluster.path("other")
    for words in (["init", other], ["issue", other, "agent", "node1", "--days", "5"]):
        subprocess.run([program("lockstep"), "pki", *words], check=True, capture_output=True)
    findings, done = doctor(cluster, "--set", f"cert={other}/agent-node1.crt", "--set", f"key={other}/agent-node1.key", check=1)
    assert findings["coordinator"][0] == "failed", done.stdout
    assert findings["certificate"][0] == "warning" and re.search(r"ends in [45] days", findings["certificate"][1]), done.stdout


def test_without_an_agent(cluster):
    cluster.terminate_agent("node1")
    wait_for("the node away", lambda: not any(n["connected"] for n in cluster.nodes()))
    findings, done = doctor(cluster, check=0)
    assert findings["agent"][0] == "warning" and "systemctl" in done.stdout
    assert findings["coordinator"][0] == "ok"
    assert not any(n["connected"] for n in cluster.nodes())


def test_usage():
    assert subprocess.run([program("lockstep-agent"), "doctor", "--volume", "relative"], capture_output=True, check=False).returncode == 2
    assert subprocess.run([program("lockstep-agent"), "doctor", "--what"], capture_output=True, check=False).returncode == 2
    assert b"usage" in subprocess.run([program("lockstep-agent"), "doctor", "--help"], capture_output=True, check=True).stdout
