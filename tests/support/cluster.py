"""A lockstepd and its agents as real processes on this machine, for tests and benchmarks.

Every process is ended by its own id. Nothing is shared with other clusters: directory, certificates, ports, store.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

BUILD = os.environ.get("LOCKSTEP_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build"))
BUILD = os.path.abspath(BUILD)
WAIT_S = 20.0  # generous: a loaded machine must not fail a test


def program(name):
    return os.path.join(BUILD, "bin", name)


def sanitized():
    """Was this built with a sanitizer? Bounds on memory and speed do not hold then."""
    with open(program("lockstep-agent"), "rb") as f:
        text = f.read()
    return any(word in text for word in (b"libasan", b"libtsan", b"libubsan"))


def wait_for(what, condition, timeout=WAIT_S, every=0.005):
    """Polls until condition() is true and returns its value; fails naming what."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(every)


def alive(pid):
    """Is the process there and not just waiting to be reaped?"""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def bare_chroot():
    """In a chroot whose root is no mount point the kernel does not tell about the mount below it, and makes no mount namespaces."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        return not any(line.split()[4] == "/" for line in f)


def children(pid):
    """Ids of the direct children, all threads considered."""
    found = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has just ended
        tasks = []
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                found += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return found


class Cluster:
    """Directory layout: pki/, store/, <node>/ (spool), logs, socket, volume/ (the path under test unless given)."""

    def __init__(self, nodes=3, volume=None, wrap=None, daemon_wrap=None, listen="127.0.0.1:0", dial=None, env=None, settings=None):
        """wrap: {node: [command words put in front of its agent]}, e.g. a time or network namespace; settings: {node: {key: value}}."""
        self.dir = tempfile.mkdtemp(prefix="lockstep-test-")
        self.names = [f"node{i + 1}" for i in range(nodes)]
        self.volume = volume or os.path.join(self.dir, "volume")
        os.makedirs(self.volume, exist_ok=True)
        self.wrap = wrap or {}
        self.daemon_wrap = daemon_wrap or []
        self.listen = listen
        self.dial = dial
        self.settings = settings or {}
        self.env = dict(os.environ, **(env or {}))
        self.daemon = None
        self.agents = {}
        self.address = None
        self.make_pki()

    # --- life ---

    def make_pki(self):
        pki = self.path("pki")
        for words in (["init", pki], ["issue", pki, "coordinator", "coord"], ["issue", pki, "operator", "op"],
                      *(["issue", pki, "agent", n] for n in self.names)):
            subprocess.run([program("lockstep"), "pki"] + words, check=True, stdout=subprocess.DEVNULL)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def socket(self):
        return f"unix:{self.path('lockstepd.sock')}"

    def start(self):
        self.start_daemon()
        for name in self.names:
            self.start_agent(name)
        self.wait_nodes(self.names)
        return self

    def daemon_config(self):
        pki = self.path("pki")
        return {"listen": self.listen, "socket": self.path("lockstepd.sock"), "store": self.path("store"), "ca": f"{pki}/ca.crt",
                "cert": f"{pki}/coordinator-coord.crt", "key": f"{pki}/coordinator-coord.key", **self.settings.get("lockstepd", {})}

    def write_config(self, name, section, values):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(f"[{section}]\n")
            for key, value in values.items():
                for one in value if isinstance(value, list) else [value]:
                    f.write(f"{key} = {one}\n")
        return self.path(name)

    def start_daemon(self):
        os.makedirs(self.path("store"), exist_ok=True)
        config = self.write_config("lockstepd.conf", "lockstepd", self.daemon_config())
        reader, writer = os.pipe()
        with open(self.path("lockstepd.log"), "ab") as log:
            self.daemon = subprocess.Popen(self.daemon_wrap + [program("lockstepd"), "--config", config, "--ready-fd", str(writer)],
                                           stdout=log, stderr=log, stdin=subprocess.DEVNULL, pass_fds=[writer], env=self.env)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as ready:
            line = ready.readline()
        found = re.search(r"listen=(\S+)", line)
        assert found, f"lockstepd did not get ready: {self.log('lockstepd')}"
        self.address = found.group(1)
        # A restarted daemon keeps its port, so that agents find it again.
        self.listen = self.address

    def agent_config(self, name):
        pki = self.path("pki")
        os.makedirs(self.path(name), exist_ok=True)
        return {"coordinator": self.dial or self.address, "ca": f"{pki}/ca.crt", "cert": f"{pki}/agent-{name}.crt",
                "key": f"{pki}/agent-{name}.key", "spool": self.path(name), "allow": [self.volume],
                "runner": program("lockstep-runner"), **self.settings.get(name, {})}

    def start_agent(self, name):
        config = self.write_config(f"{name}.conf", "agent", self.agent_config(name))
        with open(self.path(f"{name}.log"), "ab") as log:
            self.agents[name] = subprocess.Popen(self.wrap.get(name, []) + [program("lockstep-agent"), "--config", config],
                                                 stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env)

    def terminate_agent(self, name, timeout=20):
        """Asks the agent itself to end, below whatever it was wrapped in, and waits for it."""
        pid = self.agent_pid(name)
        if pid:
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGTERM)
        return self.agents[name].wait(timeout)

    def stop(self):
        for name, process in self.agents.items():
            pid = self.agent_pid(name) if process.poll() is None else None
            if pid:
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGTERM)
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGCONT)
            self.daemon.terminate()
        for process in [*self.agents.values(), self.daemon]:
            if process:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        found = []
        for name in ("lockstepd", *self.names):
            lines = self.log(name).splitlines()
            first = next((i for i, line in enumerate(lines) if "Sanitizer" in line or "runtime error:" in line), None)
            found += [f"{name}: {line}" for line in lines[first:first + 40]] if first is not None else []
        shutil.rmtree(self.dir, ignore_errors=True)
        assert not found, "a sanitizer found something: " + "\n".join(found)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            for name in ["lockstepd", *self.names]:
                print(f"--- {name}.log\n{self.log(name)[-6000:]}")
        self.stop()

    def log(self, name):
        try:
            with open(self.path(f"{name}.log"), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    # --- use ---

    def cli(self, *words, server=None, check=False, timeout=120, **more):
        """Runs lockstep; returns the finished process with text output."""
        command = [program("lockstep"), *words, "--server", server or self.socket()]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=check, env=self.env, **more)

    def operator_tls(self):
        pki = self.path("pki")
        return ["--ca", f"{pki}/ca.crt", "--cert", f"{pki}/operator-op.crt", "--key", f"{pki}/operator-op.key"]

    def popen(self, *words, **more):
        return subprocess.Popen([program("lockstep"), *words, "--server", self.socket()], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.env, **more)

    def nodes(self):
        done = self.cli("nodes", "--json")
        return json.loads(done.stdout) if done.returncode == 0 else []

    def wait_nodes(self, names, timeout=WAIT_S):
        wanted = set(names)
        wait_for(f"nodes {sorted(wanted)} connected",
                 lambda: wanted <= {n["name"] for n in self.nodes() if n["connected"]}, timeout)

    def job_file(self, job, name="job.json"):
        with open(self.path(name), "w", encoding="utf-8") as f:
            json.dump(job, f)
        return self.path(name)

    def run(self, job, *words, timeout=120):
        """Runs a job (a dict or a preset's name) and returns (exit status, results document or None, process)."""
        out = self.path("out.json")
        if os.path.exists(out):
            os.unlink(out)
        what = job if isinstance(job, str) else self.job_file({"path": self.volume, **job})
        done = self.cli("run", what, "--json", out, *(["--path", self.volume] if isinstance(job, str) else []), *words, timeout=timeout)
        results = None
        if os.path.exists(out):
            with open(out, encoding="utf-8") as f:
                results = json.load(f)
        return done.returncode, results, done

    def start_run(self, job):
        """Starts a job and returns the process of its lockstep run, not waited for."""
        return self.popen("run", self.job_file({"path": self.volume, **job}), "--json", self.path("out.json"))

    def export(self, run="last"):
        done = self.cli("report", run, "--format", "json", check=True)
        return json.loads(done.stdout)

    def runner_pid(self, name):
        """The runner below the agent of that node, or None."""
        for pid in self.agent_tree(name):
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    if f.read().strip().startswith("lockstep-runne"):
                        return pid
            except OSError:
                pass
        return None

    def agent_tree(self, name):
        found = [self.agents[name].pid]
        for pid in found:
            found += children(pid)
        return found

    def agent_pid(self, name):
        """The agent itself, below whatever it was wrapped in."""
        for pid in self.agent_tree(name):
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    if f.read().strip().startswith("lockstep-agent"):
                        return pid
            except OSError:
                pass
        return None

    def files(self):
        """All that is left below the volume."""
        return sorted(os.path.relpath(os.path.join(where, name), self.volume)
                      for where, dirs, names in os.walk(self.volume) for name in dirs + names if name != "lost+found")
