"""The examples of deploy/examples, as an administrator would use them: nightly runs, an Ansible inventory, a Slurm allocation."""
import json
import os
import shutil
import socket
import subprocess
import time

import pytest
from cluster import BUILD, Cluster, program, wait_for

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
EXAMPLES = os.path.join(ROOT, "deploy", "examples")
PATH = os.path.join(BUILD, "bin") + ":" + os.environ["PATH"] + ":/usr/sbin:/sbin"


@pytest.fixture(name="cluster")
def cluster_fixture():
    cluster = Cluster(nodes=2).start()
    yield cluster
    cluster.stop()


def runs(cluster, *words):
    return json.loads(subprocess.run([program("lockstep"), "runs", "--json", "--server", cluster.socket(), *words], capture_output=True,
                                     text=True, check=True).stdout)


def nightly(cluster, job, percent):
    return subprocess.run([os.path.join(EXAMPLES, "nightly", "lockstep-nightly"), job, cluster.volume, percent], capture_output=True, text=True,
                          check=False, timeout=120, env=dict(os.environ, PATH=PATH, LOCKSTEP_SERVER=cluster.socket()))


def test_nightly(cluster, tmp_path):
    """The first night makes the baseline, the next ones are held against it; a slow one fails with the status of compare."""
    fast = tmp_path / "fast.json"
    slow = tmp_path / "slow.json"
    phase = {"kind": "random-read", "file_size": "1MiB", "record_size": "4KiB", "time": "300ms"}
    fast.write_text(json.dumps({"phases": [phase]}))
    slow.write_text(json.dumps({"phases": [dict(phase, think="2ms")]}))
    done = nightly(cluster, str(fast), "5%")
    assert done.returncode == 0, done.stderr
    assert len(runs(cluster, "--tag", "baseline")) == 1
    done = nightly(cluster, str(fast), "95%")
    assert done.returncode == 0, done.stdout + done.stderr
    done = nightly(cluster, str(slow), "95%")
    assert done.returncode == 4, done.stdout + done.stderr
    assert len(runs(cluster, "--name", "nightly")) == 3 and len(runs(cluster, "--tag", "baseline")) == 1


def test_ansible(tmp_path):
    """The playbook over local connections: authority, configuration, tokens, enrolment; again without a change."""
    if not shutil.which("ansible-playbook"):
        pytest.skip("ansible-playbook is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shutil.copytree(os.path.join(EXAMPLES, "ansible"), tmp_path / "ansible")
    volume = tmp_path / "bench"
    common = (f"ansible_connection=local ansible_python_interpreter=/usr/bin/python3 lockstep_service=false lockstep_user={os.environ.get('USER', 'root')} "
              f"lockstep_packages= lockstep_port={port} lockstep_socket={tmp_path}/s lockstep_path={volume} lockstep_coordinator=127.0.0.1")
    lines = ["[coordinator]", f"admin {common} lockstep_config_dir={tmp_path}/admin lockstep_store={tmp_path}/store", "[nodes]"]
    for name in ("alpha", "beta"):
        lines.append(f"{name} {common} lockstep_config_dir={tmp_path}/{name} lockstep_spool={tmp_path}/{name}/spool")
        os.makedirs(tmp_path / name)
    (tmp_path / "ansible" / "inventory.ini").write_text("\n".join(lines) + "\n")
    os.makedirs(tmp_path / "store")
    env = dict(os.environ, PATH=PATH, ANSIBLE_NOCOLOR="1", HOME=str(tmp_path), ANSIBLE_LOCALHOST_WARNING="false", LC_ALL="C.UTF-8")

    def play(limit):
        done = subprocess.run(["ansible-playbook", "-i", "inventory.ini", "site.yml", "--limit", limit], cwd=tmp_path / "ansible", env=env,
                              capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
        return done.stdout

    started = []
    try:
        play("coordinator")
        started.append(subprocess.Popen([program("lockstepd"), "--config", f"{tmp_path}/admin/lockstepd.conf"], stderr=subprocess.DEVNULL))
        wait_for("the socket", lambda: os.path.exists(tmp_path / "s"))
        play("nodes,coordinator")
        for name in ("alpha", "beta"):
            started.append(subprocess.Popen([program("lockstep-agent"), "--config", f"{tmp_path}/{name}/agent.conf"],
                                            stderr=subprocess.DEVNULL))

        def connected():
            text = subprocess.run([program("lockstep"), "nodes", "--connected", "--json", "--server", f"unix:{tmp_path}/s"],
                                  capture_output=True, text=True, check=True).stdout
            return {n["name"] for n in json.loads(text)} == {"alpha", "beta"}

        wait_for("both nodes", connected)
        certificate = (tmp_path / "alpha" / "spool" / "pki" / "agent.crt").read_text()
        again = play("nodes,coordinator")
        assert "changed=0" in again and "unreachable=0" in again, again[-2000:]
        assert (tmp_path / "alpha" / "spool" / "pki" / "agent.crt").read_text() == certificate
        done = subprocess.run([program("lockstep"), "run", "quick", "--path", str(volume), "--server", f"unix:{tmp_path}/s", "--set",
                               "phases.time=100ms", "--set", "phases.files=5"], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


class Slurm:
    """A controller and one node daemon of our own, with a munged of our own, all below one directory."""

    def __init__(self, base):
        self.base = str(base)
        self.host = socket.gethostname().split(".")[0]
        self.started = []

    def spawn(self, name, *words):
        with open(os.path.join(self.base, name + ".log"), "ab") as log:
            self.started.append(subprocess.Popen(list(words), stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env()))

    def env(self):
        return dict(os.environ, PATH=PATH, SLURM_CONF=f"{self.base}/slurm.conf", TMPDIR=self.base)

    def start(self):
        b = self.base
        key = os.path.join(b, "munge.key")
        with open(key, "wb") as f:
            f.write(os.urandom(1024))
        os.chmod(key, 0o400)
        for name in ("ctld", "d"):
            os.makedirs(f"{b}/{name}")
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            ports = one.getsockname()[1], two.getsockname()[1]
        with open(f"{b}/slurm.conf", "w", encoding="ascii") as f:
            f.write(f"ClusterName=test\nSlurmctldHost={self.host}(127.0.0.1)\nSlurmctldPort={ports[0]}\nSlurmdPort={ports[1]}\nSlurmUser=root\n"
                    f"AuthType=auth/munge\nAuthInfo=socket={b}/munge.sock\nCryptoType=crypto/munge\nStateSaveLocation={b}/ctld\nSlurmdSpoolDir={b}/d\n"
                    f"SlurmctldPidFile={b}/ctld.pid\nSlurmdPidFile={b}/d.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
                    f"SwitchType=switch/none\nMpiDefault=none\nReturnToService=2\nSelectType=select/cons_tres\nJobAcctGatherType=jobacct_gather/none\n"
                    f"NodeName={self.host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\nPartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP\n")
        self.spawn("munged", "munged", "-F", "-f", "--key-file", key, "--socket", f"{b}/munge.sock", "--pid-file", f"{b}/munge.pid",
                   "--log-file", f"{b}/munge.log", "--seed-file", f"{b}/munge.seed")
        wait_for("munged", lambda: os.path.exists(f"{b}/munge.sock"))
        self.spawn("slurmctld", "slurmctld", "-D", "-f", f"{b}/slurm.conf")
        self.spawn("slurmd", "slurmd", "-D", "-f", f"{b}/slurm.conf", "-N", self.host)

    def idle(self):
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.env(), capture_output=True, text=True, check=False)
        return done.stdout.strip() == "idle"

    def stop(self):
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)

    def logs(self):
        text = ""
        for name in ("munged", "slurmctld", "slurmd"):
            with open(os.path.join(self.base, name + ".log"), encoding="utf-8", errors="replace") as f:
                text += f.read()[-800:]
        return text


def test_slurm(tmp_path):
    """The batch script in an allocation of Debian's Slurm, one node being what this machine is."""
    if os.geteuid() or not all(shutil.which(t, path=PATH) for t in ("munged", "slurmctld", "slurmd", "sbatch")):
        pytest.skip("needs root and Slurm (slurm-wlm, munge)")
    slurm = Slurm(tmp_path)
    volume = tmp_path / "volume"
    os.makedirs(volume)
    os.chmod(tmp_path, 0o755)
    slurm.start()
    try:
        try:
            wait_for("an idle node", slurm.idle, 60)
        except AssertionError:
            pytest.skip("Slurm does not get ready on this machine: " + slurm.logs()[-600:])
        job = tmp_path / "job.json"
        job.write_text(json.dumps({"phases": [{"kind": "write", "file_size": "1MiB", "record_size": "64KiB"}]}))
        os.makedirs(tmp_path / "submit")
        done = subprocess.run(["sbatch", "--wait", "--nodes=1", "--output", f"{tmp_path}/out", os.path.join(EXAMPLES, "slurm", "lockstep.sbatch"),
                               str(job), str(volume)], cwd=tmp_path / "submit", env=slurm.env(), capture_output=True, text=True, check=False,
                              timeout=180)
        text = (tmp_path / "out").read_text() if (tmp_path / "out").exists() else ""
        assert done.returncode == 0, done.stderr + text + slurm.logs()
        results = list((tmp_path / "submit").glob("lockstep-*/results.json"))
        assert len(results) == 1, text
        document = json.loads(results[0].read_text())
        assert document["run"]["state"] == "finished"
        assert [n["node"] for n in document["phases"][0]["nodes"]] == [slurm.host]
        assert results[0].with_name("report.html").stat().st_size > 10000
        assert not os.listdir(volume), "left on the volume"
        assert not list(results[0].parent.glob("pki")), "keys were left"
        end = time.monotonic() + 20
        while time.monotonic() < end and list(tmp_path.glob("lockstep-*")):
            time.sleep(0.1)
        assert not list(tmp_path.glob("lockstep-*")), "a spool was left"
    finally:
        slurm.stop()
