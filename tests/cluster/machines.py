"""The lab of tests/cluster/lab from Python: machines, and a lockstep that is installed on them from its packages."""
import glob
import json
import os
import re
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(HERE, "lab")
HOME = os.environ.get("LAB_HOME", "/var/tmp/lockstep-lab")
NAMESPACE = os.environ.get("LAB_NS", "labnet")
os.environ.setdefault("LAB_BOOT_TIMEOUT", "1800")  # half seconds: a busy host boots them slowly
NODES = ("node1", "node2", "node3")
ADDRESS = "10.99.0.1"  # the host's, inside the lab's network namespace
VOLUME = "/mnt/shared"
BENCH = VOLUME + "/bench"


class Failed(Exception):
    """What a scenario says when something is not as it must be."""


def need(condition, what):
    if not condition:
        raise Failed(what)


def run(words, timeout=600, check=True, **more):
    """Runs a command and returns (status, output of both kinds)."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                          check=False, errors="replace", **more)
    if check and done.returncode:
        raise Failed(f"{' '.join(words)}: status {done.returncode}: {done.stdout[-2000:]}")
    return done.returncode, done.stdout


class Lab:
    """The three machines. Every method is one of the scripts in lab/."""

    def __init__(self):
        self.kind = None

    @staticmethod
    def script(name, *words, timeout=600, check=True):
        return run([os.path.join(LAB, name), *words], timeout, check)

    def up(self, kind):
        self.script("up", "-s", kind, timeout=900)
        self.script("clock", "--set", timeout=300)
        self.kind = kind

    def down(self):
        self.script("down", check=False)
        self.kind = None

    def sh(self, node, command, timeout=300, check=True):
        """A shell command line on a node (1, 2, 3 or "all"): its output."""
        return self.script("exec", str(node), command, timeout=timeout, check=check)[1]

    def status(self, node, command, timeout=300):
        return self.script("exec", str(node), command, timeout=timeout, check=False)[0]

    def power(self, node, what, timeout=600):
        self.script("power", str(node), what, timeout=timeout)

    def join(self, node, timeout=600):
        self.script("join", str(node), timeout=timeout)

    def boot_id(self, node):
        return self.sh(node, "cat /proc/sys/kernel/random/boot_id", check=False).strip()

    def reboot_all(self, timeout=600):
        """Each machine by its own reboot command, all at once."""
        before = {node: self.boot_id(node) for node in (1, 2, 3)}
        self.sh("all", "systemctl reboot", check=False)
        end = time.monotonic() + timeout
        for node, old in before.items():
            while True:
                self.script("power", str(node), "wait", check=False)
                now = self.boot_id(node)
                if len(now) == len(old) and now != old:
                    break
                need(time.monotonic() < end, f"node{node} has not booted again within {timeout} s")
                time.sleep(1)

    def wait_for(self, node, what, command, timeout):
        """Polls a command on a node until it succeeds."""
        end = time.monotonic() + timeout
        while self.status(node, command):
            need(time.monotonic() < end, f"node{node}: not within {timeout} s: {what}")
            time.sleep(1)


class Site:
    """lockstepd on the host, inside the lab's network; agents on the machines, from the Debian packages, under systemd."""

    def __init__(self, lab, build, out):
        self.lab = lab
        self.bin = os.path.join(build, "bin")
        self.debs = os.path.join(build, "deb")
        self.dir = os.path.join(out, "site")
        self.share = os.path.join(HOME, "share", "lockstep")
        self.daemon = None

    # --- the command ---

    def lockstep(self, *words, timeout=600, check=True):
        """An operator's command: (status, output)."""
        socket = f"unix:{self.dir}/lockstepd.sock"
        return run([os.path.join(self.bin, "lockstep"), words[0], "--server", socket, *words[1:]], timeout, check)

    def results(self, run_id):
        """The results document of a run."""
        path = os.path.join(self.dir, "results.json")
        self.lockstep("report", run_id, "--format", "json", "--output", path)
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    # --- installation ---

    def pki(self, *words):
        run([os.path.join(self.bin, "lockstep"), "pki", words[0], os.path.join(self.dir, "pki"), *words[1:]])

    def start(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(os.path.join(self.dir, "store"))
        self.pki("init")
        self.pki("issue", "coordinator", "admin")
        self.start_daemon()
        self.install()
        self.wait_nodes()

    def start_daemon(self):
        config = os.path.join(self.dir, "lockstepd.conf")
        pki = os.path.join(self.dir, "pki")
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"[lockstepd]\nlisten = {ADDRESS}:7437\nsocket = {self.dir}/lockstepd.sock\nstore = {self.dir}/store\n"
                    f"pki = {pki}\nca = {pki}/ca.crt\ncert = {pki}/coordinator-admin.crt\nkey = {pki}/coordinator-admin.key\n")
        with open(os.path.join(self.dir, "lockstepd.log"), "ab") as log:
            self.daemon = subprocess.Popen(["ip", "netns", "exec", NAMESPACE, os.path.join(self.bin, "lockstepd"), "--config", config],
                                           stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            try:
                self.daemon.wait(30)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait(30)
            self.daemon = None

    def put_packages(self):
        """The packages where all machines see them: /lab/lockstep."""
        shutil.rmtree(self.share, ignore_errors=True)
        os.makedirs(self.share)
        for deb in glob.glob(os.path.join(self.debs, "*.deb")):
            if "dbgsym" not in deb:
                shutil.copy(deb, self.share)
        need(glob.glob(os.path.join(self.share, "lockstep-agent_*.deb")), f"no packages in {self.debs}: make deb")

    def put_rebuilt(self):
        """The same packages built again, as a later version: /lab/lockstep/rebuilt."""
        out = os.path.join(self.share, "rebuilt")
        os.makedirs(out)
        for deb in glob.glob(os.path.join(self.share, "*.deb")):
            tree = os.path.join(out, "tree")
            run(["dpkg-deb", "-R", deb, tree])
            control = os.path.join(tree, "DEBIAN", "control")
            with open(control, encoding="utf-8") as f:
                text = f.read()
            version = re.search(r"^Version: (\S+)$", text, re.MULTILINE).group(1)
            with open(control, "w", encoding="utf-8") as f:
                f.write(re.sub(r"(^Version: |\(= )" + re.escape(version), r"\g<1>" + version + "+rebuilt", text, flags=re.MULTILINE))
            name = os.path.basename(deb).replace(version, version + "+rebuilt")
            run(["dpkg-deb", "--root-owner-group", "-b", tree, os.path.join(out, name)])
            shutil.rmtree(tree)

    def install(self):
        """The agent's package on each machine, the directory on the volume once, and each machine enrolled by a token."""
        self.put_packages()
        self.lab.sh("all", "dpkg -i /lab/lockstep/lockstep-agent_*.deb >/dev/null")
        self.lab.sh(1, f"install -d -o lockstep -m 0700 {BENCH}")
        for number, node in enumerate(NODES, 1):
            token = json.loads(self.lockstep("node", "add", node, "--json")[1])["token"]
            # an emulated machine is far slower than a real one
            self.lab.sh(number, f"lockstep-agent enroll {ADDRESS}:7437 {token} --allow {BENCH} && "
                        "printf '[agent]\\nprepare_timeout = 60s\\nfinish_timeout = 120s\\n' >/etc/lockstep/agent.conf.d/60-slow.conf")
        self.lab.sh("all", "systemctl enable --now lockstep-agent 2>&1")

    def wait_nodes(self, wanted=NODES, timeout=300):
        end = time.monotonic() + timeout
        while True:
            _, text = self.lockstep("nodes", "--connected", "--json", check=False)
            try:
                here = {n["name"] for n in json.loads(text)}
            except (ValueError, KeyError):
                here = set()
            if set(wanted) <= here:
                return
            need(time.monotonic() < end, f"agents do not connect: {text[-500:]}")
            time.sleep(1)
