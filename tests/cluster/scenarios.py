"""What is done on the three machines, in this order. A scenario is a function with a Context; it fails by an exception."""
import json
import os
import threading
import time

from machines import BENCH, NODES, VOLUME, need


class Skip(Exception):
    """A scenario cannot be played here, and why."""


class Context:
    def __init__(self, kind, lab, site, out):
        self.kind = kind
        self.lab = lab
        self.site = site
        self.out = out

    def run(self, name, *words, timeout=900, check=True):
        """A run with its results document and page kept as artefacts: (status, document)."""
        base = os.path.join(self.out, f"{self.kind}-{name}")
        status, text = self.site.lockstep("run", *words, "--path", BENCH, "--json", base + ".json", timeout=timeout, check=False)
        with open(base + ".txt", "w", encoding="utf-8") as f:
            f.write(text)
        need(status == 0 or not check, f"lockstep run: status {status}: {text[-2000:]}")
        with open(base + ".json", encoding="utf-8") as f:
            document = json.load(f)
        self.site.lockstep("report", base + ".json", "--format", "html", "--output", base + ".html")
        return status, document

    def nothing_left(self, timeout=300):
        """Removal may still go on on emulated machines when a run is over."""
        end = time.monotonic() + timeout
        while True:
            left = self.lab.sh(1, f"ls -A {BENCH}").split()
            if not left:
                return
            need(time.monotonic() < end, f"left on the volume: {left}")
            time.sleep(2)


def phases_of_all(document):
    """Every phase has a result of each of the three nodes, started together."""
    for phase in document["phases"]:
        names = {n["node"] for n in phase["nodes"]}
        need(names == set(NODES), f"phase {phase['name']}: results of {sorted(names)}")
        need(phase["start_skew_uncertainty_ns"] is not None, f"phase {phase['name']}: start skew without uncertainty")


def check(c):
    status, text = c.site.lockstep("check", "--path", BENCH, "--json", check=False)
    need(status == 0, f"status {status}: {text[-2000:]}")
    with open(os.path.join(c.out, f"{c.kind}-check.json"), "w", encoding="utf-8") as f:
        f.write(text)
    rows = json.loads(text)
    kind = "gfs2" if c.kind == "gfs2" else "ocfs2"
    need(any(kind in r["text"] for r in rows), "the file system's kind is not told")
    need(not [r for r in rows if r["level"] == "failed"], "a check failed on a sound cluster")
    c.nothing_left()


def check_finds_other_volume(c):
    """node3 has something else at the path: found and named."""
    c.lab.sh(3, f"umount {VOLUME}")
    try:
        c.lab.sh(3, f"mount -t tmpfs none {VOLUME} && install -d -o lockstep -m 0700 {BENCH}")
        status, text = c.site.lockstep("check", "--path", BENCH, check=False)
        need(status != 0 and "node3" in text, f"status {status}: {text[-1500:]}")
        status, text = c.site.lockstep("run", "quick", "--path", BENCH, check=False)
        need(status == 3, f"a run over two volumes: status {status}: {text[-1500:]}")
    finally:
        c.lab.sh(3, f"umount {VOLUME}; grep -h ^mount /usr/local/sbin/lab-join | sh")


def quick(c):
    _, document = c.run("quick", "quick", "--set", "phases.files=20")
    phases_of_all(document)
    c.nothing_left()


def bonnie(c):
    """bonnie++'s phases, one machine's memory being what it is: a small size, as behaviour is what counts here."""
    _, document = c.run("bonnie", "bonnie", "--set", "phases.file_size=1MiB", "--set", "phases.files=16", "--set", "phases.seeks=20",
                        timeout=1500)
    phases_of_all(document)
    c.nothing_left()


def idle_holds_nothing(c):
    """An idle agent does not keep the volume from being unmounted."""
    c.lab.sh(2, f"systemctl is-active lockstep-agent && umount {VOLUME} && grep -h ^mount /usr/local/sbin/lab-join | sh")


def idle_lets_go(c):
    """Nor a machine from shutting down: the agent ends by itself, well within its time."""
    began = time.monotonic()
    c.lab.sh(2, "systemctl stop lockstep-agent", timeout=60)
    took = time.monotonic() - began
    result = c.lab.sh(2, "systemctl show -p Result lockstep-agent").strip()
    c.lab.sh(2, "systemctl start lockstep-agent")
    c.site.wait_nodes()
    need(result == "Result=success", f"{result} after {took:.0f} s")


def metadata_shared(c):
    """All create, stat and remove in one directory."""
    _, document = c.run("metadata-shared", "metadata-shared", "--set", "phases.files=20", timeout=1500)
    phases_of_all(document)
    c.nothing_left()


def promises(preset):
    """A preset that holds the file system to what it promises: nothing is violated on a sound cluster."""

    def scenario(c):
        status, document = c.run(preset, preset, timeout=1800, check=False)
        need(status in (0, 5), f"lockstep run: status {status}")
        need(status == 0, "violated: " + "; ".join(w for w in document.get("warnings", []) if "violated" in w)[:1500])
        c.nothing_left()

    return scenario


def real_bonnie(c):
    """The real bonnie++ on three machines at once, phase by phase at the barrier."""
    job = {"name": "real-bonnie", "phases": [{"kind": "bonnie++", "file_size": "16MiB", "file_count": 0}]}
    path = os.path.join(c.out, "real-bonnie.job.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)
    c.lab.sh("all", "printf '[agent]\\nbonnie = /usr/sbin/bonnie++\\n' >/etc/lockstep/agent.conf.d/70-tools.conf; systemctl restart lockstep-agent")
    c.site.wait_nodes()
    _, document = c.run("real-bonnie", path, timeout=1800)
    phases_of_all(document)
    c.nothing_left()


def power_cut(c):
    """One machine's power is cut in the middle of a phase: the run ends with a clear state, the survivors go on when the cluster does."""
    job = {"name": "power-cut", "on_node_loss": "continue", "grace": "10s",
           "phases": [{"kind": "write", "file_size": "4MiB", "record_size": "64KiB", "fsync": True, "time": "20s", "deadline": "600s"}]}
    path = os.path.join(c.out, "power-cut.job.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)
    child = threading.Timer(25, c.lab.power, (3, "off"))
    child.start()
    try:
        status, document = c.run("power-cut", path, timeout=1200, check=False)
    finally:
        child.join()
    lost = [n for p in document["phases"] for n in p["nodes"] if n["node"] == "node3" and n["state"] != "finished"]
    need(document["run"]["state"] in ("finished", "failed"), f"status {status}, state {document['run']['state']}")
    need(lost or any("node3" in w for w in document.get("warnings", [])), "the lost machine is not named")
    c.lab.power(3, "on")
    c.lab.join(3)
    c.site.wait_nodes()
    c.lab.wait_for(3, "the returned agent cleans up", f"test -z \"$(ls -A {BENCH})\"", 300)


# --- as a new administrator: README's walk, with the coordinator on node1 ---


def on_coordinator(c, command, timeout=900, check=True):
    return c.lab.sh(1, command, timeout=timeout, check=check)


def walk(c):
    """From packages to the first report, a reboot, an upgrade, removal: each step is one that the README names."""
    c.lab.sh("all", "systemctl disable --now lockstep-agent 2>&1; apt-get -qq purge -y lockstep-agent 2>&1 || dpkg -P lockstep-agent")
    c.site.put_packages()
    on_coordinator(c, "dpkg -i /lab/lockstep/lockstep_*.deb /lab/lockstep/lockstepd_*.deb")
    c.lab.sh("all", "dpkg -i /lab/lockstep/lockstep-agent_*.deb")
    on_coordinator(c, "set -e; lockstep pki init /etc/lockstep/pki; lockstep pki issue /etc/lockstep/pki coordinator admin;"
                   "chown -R lockstep: /etc/lockstep/pki;"
                   "printf '[lockstepd]\\npki = /etc/lockstep/pki\\nca = /etc/lockstep/pki/ca.crt\\n"
                   "cert = /etc/lockstep/pki/coordinator-admin.crt\\nkey = /etc/lockstep/pki/coordinator-admin.key\\n' >/etc/lockstep/lockstepd.conf;"
                   "systemctl enable --now lockstepd 2>&1")
    c.lab.sh(1, f"install -d -o lockstep -m 0700 {BENCH}")
    for number, node in enumerate(NODES, 1):
        told = on_coordinator(c, f"lockstep node add {node}")
        command = [line.strip() for line in told.splitlines() if "lockstep-agent enroll" in line][0]
        c.lab.sh(number, f"{command} --allow {BENCH} && printf '[agent]\\nprepare_timeout = 60s\\nfinish_timeout = 120s\\n' "
                 ">/etc/lockstep/agent.conf.d/60-slow.conf && systemctl enable --now lockstep-agent 2>&1")
    wait_walk_nodes(c)
    on_coordinator(c, f"lockstep check --path {BENCH}")
    walk_run(c, "first")

    c.lab.sh("all", "systemctl reboot", check=False)
    time.sleep(20)
    for number in (1, 2, 3):
        c.lab.power(number, "wait")
    for number in (1, 2, 3):
        c.lab.join(number)
    c.lab.sh("all", "umount /lab 2>/dev/null; mount /lab || true")
    wait_walk_nodes(c)
    walk_run(c, "after a reboot")
    need(on_coordinator(c, "lockstep runs --json").count('"id"') >= 2, "the first run is not there any more")

    # an upgrade: refused while a run goes on, done when none does; results stay
    on_coordinator(c, f"lockstep run quick --path {BENCH} --set phases.time=20s --set phases.files=5 --detach")
    c.lab.wait_for(1, "the run", "lockstep nodes --json | grep -q '\"run\": *\"'", 120)
    need(c.lab.status(2, "dpkg -i /lab/lockstep/lockstep-agent_*.deb") != 0, "an upgrade in a run was not refused")
    on_coordinator(c, "lockstep abort last")
    c.lab.sh("all", "dpkg --configure -a; dpkg -i /lab/lockstep/lockstep-agent_*.deb")
    on_coordinator(c, "dpkg -i /lab/lockstep/lockstep_*.deb /lab/lockstep/lockstepd_*.deb")
    wait_walk_nodes(c)
    need(on_coordinator(c, "lockstep runs --json").count('"id"') >= 3, "results are gone after the upgrade")

    c.lab.sh("all", "dpkg -r lockstep-agent")
    on_coordinator(c, "dpkg -r lockstepd lockstep")
    need(not c.lab.status(1, "test -s /etc/lockstep/pki/ca.key && test -d /var/lib/lockstep"), "removal took keys or results along")
    c.lab.sh("all", "dpkg -P lockstep-agent")
    on_coordinator(c, "dpkg -P lockstepd lockstep")
    need(c.lab.status(1, "test -e /var/lib/lockstep-agent") != 0, "purge left the agent's directory")
    c.nothing_left()


def wait_walk_nodes(c):
    c.lab.wait_for(1, "three nodes", "test $(lockstep nodes --connected --json | grep -c '\"name\"') = 3", 300)


def walk_run(c, which):
    text = on_coordinator(c, f"lockstep run bonnie --path {BENCH} --set phases.file_size=1MiB --set phases.files=16 --set phases.seeks=50", timeout=1500)
    need("finished" in text, f"{which} run: {text[-1500:]}")


KINDS = ("ocfs2", "gfs2", "iscsi")

# kinds of volume, name, function; in the order in which they are played
ALL = (
    (KINDS, "check", check),
    (("ocfs2",), "check finds another volume at the path", check_finds_other_volume),
    (("ocfs2", "iscsi"), "quick", quick),
    (("ocfs2",), "bonnie", bonnie),
    (KINDS, "an idle agent lets the volume be unmounted", idle_holds_nothing),
    (("ocfs2",), "an idle agent ends at once", idle_lets_go),
    (("ocfs2",), "metadata-shared", metadata_shared),
    (("ocfs2", "gfs2"), "coherence", promises("coherence")),
    (("ocfs2", "gfs2"), "locks", promises("locks")),
    (("ocfs2",), "visibility", promises("visibility")),
    (("ocfs2",), "real bonnie++ on three machines", real_bonnie),
    (("ocfs2",), "power cut", power_cut),
    (("ocfs2",), "an administrator's walk: install, enroll, run, reboot, upgrade, remove", walk),
)
