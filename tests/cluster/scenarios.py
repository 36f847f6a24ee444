"""What is done on the three machines, in this order. A scenario is a function with a Context; it fails by an exception."""
import json
import os
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

    def nothing_left(self):
        left = self.lab.sh(1, f"ls -A {BENCH}").split()
        need(not left, f"left on the volume: {left}")


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
    _, document = c.run("bonnie", "bonnie", "--set", "phases.file_size=16MiB", "--set", "phases.files=32", "--set", "phases.seeks=200",
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


KINDS = ("ocfs2", "gfs2", "iscsi")

# kinds of volume, name, function; in the order in which they are played
ALL = (
    (KINDS, "check", check),
    (("ocfs2",), "check finds another volume at the path", check_finds_other_volume),
    (("ocfs2", "iscsi"), "quick", quick),
    (("ocfs2",), "bonnie", bonnie),
    (KINDS, "an idle agent lets the volume be unmounted", idle_holds_nothing),
    (("ocfs2",), "an idle agent ends at once", idle_lets_go),
)
