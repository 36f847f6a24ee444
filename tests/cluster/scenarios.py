"""What is done on the three machines, in this order. A scenario is a function with a Context; it fails by an exception."""
import collections
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
        need(os.path.exists(base + ".json"), f"lockstep run: status {status} and no results: {text[-2000:]}")
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


def look(c):
    """The rows of a check, whatever it finds."""
    text = c.site.lockstep("check", "--path", BENCH, "--json", check=False)[1]
    return json.loads(text)


def is_said(rows, check, level, node, *words):
    """There is a row of that check that says all these words."""
    return any(r["check"] == check and r["level"] == level and r.get("node") == node and all(w in r["text"] for w in words) for r in rows)


# What the check must say on these machines: check, level, node, words of its text.
SAID_BY_ALL = (
    ("one volume", "ok", None, "all 3 nodes see each other's files"),
    ("volume size", "ok", None, "2 GiB on all nodes"),
    ("mount options", "ok", None, "noatime"),
    ("flock locks", "ok", None, "cluster-wide"),
    ("device", "ok", None, "scheduler mq-deadline", "read-ahead 128 KiB", "write cache write "),
    ("coordinator", "ok", None, "is none of the nodes"),
)
SAID_BY_O2CB = (
    ("file system", "ok", None, "ocfs2 on all nodes"),
    ("cluster", "ok", None, "o2cb, cluster lab, 3 nodes, heartbeat local, dead after 60 s"),
    ("mount option", "ok", None, "coherency=full"),
    ("fcntl locks", "warning", "node2", "local to the node"),
    ("fcntl locks", "warning", "node3", "local to the node"),
)
SAID_BY = {
    "ocfs2": SAID_BY_O2CB,
    "gfs2": (
        ("file system", "ok", None, "gfs2 on all nodes"),
        ("cluster", "ok", None, "dlm, cluster lab, 3 nodes", "lock space shared: 3 members"),
        ("fcntl locks", "ok", None, "cluster-wide"),
        *(("cluster state", "ok", node, "dlm grants locks in its lock space") for node in NODES),
    ),
    "iscsi": SAID_BY_O2CB + tuple(("iscsi", "ok", node, "iqn.2026-01.lab:shared, LOGGED_IN, portal 10.99.0.1:3260") for node in NODES) +
    (("device", "ok", None, "1 iSCSI sessions"),),
}


def check(c):
    status, text = c.site.lockstep("check", "--path", BENCH, "--json", check=False)
    need(status == 0, f"status {status}: {text[-2000:]}")
    with open(os.path.join(c.out, f"{c.kind}-check.json"), "w", encoding="utf-8") as f:
        f.write(text)
    rows = json.loads(text)
    for row in SAID_BY_ALL + SAID_BY[c.kind]:
        need(is_said(rows, *row), f"no such row: {row}; {[r for r in rows if r['check'] == row[0]]}")
    need(not [r for r in rows if r["level"] == "failed"], "a check failed on a sound cluster")
    c.nothing_left()


def mount_again(c, node, options):
    """The volume with other options than the cluster's own; None: with those."""
    command = "grep -h ^mount /usr/local/sbin/lab-join"
    if options is not None:
        command += f" | sed 's/-o noatime/-o {options}/'"
    c.lab.sh(node, f"umount {VOLUME}; {command} | sh")


def check_names_what_differs(c):
    """node2 mounts with options of its own, which make its locks local; node3's device reads ahead less."""
    ahead = f"/sys/dev/block/$(findmnt -no MAJ:MIN {VOLUME} | tr -d ' ')/queue/read_ahead_kb"
    options = "localflocks,coherency=buffered" if c.kind == "ocfs2" else "localflocks"
    usual = c.lab.sh(3, f"cat {ahead}").strip()
    mount_again(c, 2, options)
    try:
        c.lab.sh(3, f"echo 16 >{ahead}")
        rows = look(c)
    finally:
        mount_again(c, 2, None)
        c.lab.sh(3, f"echo {usual} >{ahead}")
    need(is_said(rows, "mount options", "warning", "node2", "localflocks"), f"mount options: {rows}")
    need(is_said(rows, "mount option", "warning", "node2", "localflocks"), f"localflocks: {rows}")
    need(is_said(rows, "flock locks", "warning", "node2", "local to the node"), f"flock: {rows}")
    need(is_said(rows, "device", "warning", "node3", "read-ahead 16 KiB"), f"read-ahead: {rows}")
    if c.kind == "ocfs2":
        need(is_said(rows, "mount option", "warning", "node2", "coherency=buffered"), f"coherency: {rows}")
    else:
        need(is_said(rows, "fcntl locks", "warning", "node2", "local to the node"), f"fcntl: {rows}")
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
        mount_again(c, 3, None)


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
    _, document = c.run("metadata-shared", "metadata-shared", "--set", "workers=2", "--set", "phases.files=10", timeout=1500)
    phases_of_all(document)
    c.nothing_left()


# What must come of rows that are not simply held, and what may come besides. OCFS2 on o2cb has fcntl locks of one node only, GFS2 and OCFS2
# do not promise appends.
OTHERWISE = {
    ("ocfs2", "fcntl locks"): ({"not-promised"}, {"held"}),
    ("ocfs2", "fcntl locks of separate ranges"): ({"not-promised"}, {"held"}),
    ("ocfs2", "O_APPEND by all"): (set(), {"held", "not-promised"}),
    ("ocfs2", "truncate against O_APPEND"): (set(), {"held", "not-promised"}),
    ("gfs2", "O_APPEND by all"): (set(), {"held", "not-promised"}),
    ("gfs2", "truncate against O_APPEND"): (set(), {"held", "not-promised"}),
}


def promises(preset, *words):
    """A preset that holds the file system to what it promises: nothing is violated on a sound cluster."""

    def scenario(c):
        status, document = c.run(preset, preset, *words, timeout=1800, check=False)
        outcomes = collections.defaultdict(set)
        for phase in document["phases"]:
            if "promise" in phase and phase["promise"]["outcome"] != "prepared":
                outcomes[phase["promise"]["what"]].add(phase["promise"]["outcome"])
        with open(os.path.join(c.out, f"{c.kind}-{preset}.outcomes.txt"), "w", encoding="utf-8") as f:
            f.writelines(f"{what}: {', '.join(sorted(seen))}\n" for what, seen in outcomes.items())
        need(status == 0, f"lockstep run: status {status}; {dict(outcomes)}; " + "; ".join(document["run"].get("warnings", [])))
        need(outcomes, "nothing was looked at")
        for what, seen in outcomes.items():
            must, may = OTHERWISE.get((c.kind, what), ({"held"}, set()))
            need(must <= seen <= must | may, f"{what}: {seen}; must be {must}, may be {may}")
        c.nothing_left()

    return scenario


def real_bonnie(c):
    """The real bonnie++ on three machines at once over one iSCSI volume, each of its twelve phases at the barrier."""
    job = {"name": "real-bonnie", "phases": [{"kind": "bonnie++", "file_size": "1MiB", "characters": True, "file_count": 1}]}
    path = os.path.join(c.out, "real-bonnie.job.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(job, f)
    c.lab.sh("all", "printf '[agent]\\nbonnie = /usr/sbin/bonnie++\\n' >/etc/lockstep/agent.conf.d/70-tools.conf; systemctl restart lockstep-agent")
    c.site.wait_nodes()
    _, document = c.run("real-bonnie", path, timeout=1800)
    phases_of_all(document)
    need(len(document["phases"]) == 12, f"{len(document['phases'])} phases of bonnie++'s twelve")
    c.nothing_left()


def running_for(c, seconds):
    """Waits until the run's first phase has been going on for so long."""
    end = time.monotonic() + 300
    while True:
        if json.loads(c.site.lockstep("runs", "--state", "running", "--json", check=False)[1] or "[]"):
            break
        need(time.monotonic() < end, "the run does not start")
        time.sleep(0.5)
    time.sleep(seconds)


def at_the_same_time(work):
    """Runs work beside the caller; what it raises comes out of the returned function, which waits for its end."""
    raised = []

    def guarded():
        try:
            work()
        except Exception as error:  # handed to who waits
            raised.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()

    def wait():
        thread.join()
        if raised:
            raise raised[0]

    return wait


# o2cb calls a node dead after 60 s without a heartbeat; until then everything waits that needs its locks.
FENCED_S = 60


def power_cut(c):
    """node3's power is cut while all write. The others go on in their own files, stand still when o2cb gives it up and they take over its
    journal, and find all that was fsynced; once more when it is back."""

    def cut():
        running_for(c, 20)
        c.lab.power(3, "off")
        time.sleep(FENCED_S + 60)
        c.lab.power(3, "on")
        c.lab.join(3)

    wait = at_the_same_time(cut)
    try:
        status, document = c.run("recovery", "recovery", "--set", f"phases.time={FENCED_S + 120}s", "--set", "phases.bytes=16MiB", "--set",
                                 "phases.interval=50ms", timeout=1500, check=False)
    finally:
        wait()
    need(status == 0 and document["run"]["state"] == "finished", f"status {status}, state {document['run']['state']}: {document['run'].get('reason')}")
    written, looked, again = document["phases"]
    recovery = written["recovery"]
    nodes = {n["node"]: n for n in recovery["nodes"]}
    need([n for n in NODES if nodes[n]["lost"]] == ["node3"] and nodes["node3"]["returned"], f"lost and returned: {recovery}")
    need(nodes["node3"]["fsynced"] > 0, "node3 had fsynced nothing")
    for name in ("node1", "node2"):
        stall = nodes[name]["stall_ns"] / 1e9
        need(stall < FENCED_S + 110, f"{name} stood still for {stall:.0f} s, where o2cb waits for {FENCED_S}")
    need(recovery["full_rate_after_ns"] is not None or recovery["why_not"], "no time until full rate, and no reason")
    for phase in (looked, again):
        promise = phase["promise"]
        need(promise["outcome"] == "held" and promise["looked"] > 0, f"{phase['name']}: {promise}")
    c.site.wait_nodes()
    c.nothing_left()


def clean_after_loss(c):
    """node3's power is cut in a run, and it does not come back: the run fails and names it, `lockstep clean` finds and removes its files."""

    def cut():
        running_for(c, 5)
        c.lab.power(3, "off")

    wait = at_the_same_time(cut)
    try:
        status, document = c.run("lost", "quick", "--set", "phases.files=20", "--set", "phases.time=20s", timeout=1200, check=False)
    finally:
        wait()
    need(status == 1 and document["run"]["state"] == "failed" and "node3" in document["run"]["reason"], f"status {status}: {document['run']}")
    c.lab.sh(1, "dpkg -i /lab/lockstep/lockstep_*.deb >/dev/null")
    shown = c.lab.sh(1, f"lockstep clean {BENCH} 2>&1", check=False)
    need(document["run"]["id"] in shown and "node3" in shown, f"lockstep clean: {shown}")
    # the coordinator's socket is not on this machine, so that nobody says there that the run has ended
    refused = c.lab.sh(1, f"lockstep clean {BENCH} --remove --yes 2>&1", check=False)
    need("stays" in refused and c.lab.sh(1, f"ls -A {BENCH}").strip(), f"removed unasked: {refused}")
    c.lab.sh(1, f"lockstep clean {BENCH} --remove --yes --force")
    c.nothing_left()


# --- as a new administrator: README's walk, with the coordinator on node1 ---


def on_coordinator(c, command, timeout=900, check=True):
    return c.lab.sh(1, command, timeout=timeout, check=check)


def apt(words):
    """README's command; the machines have no network, so that everything else must be there."""
    return f"cd /lab/lockstep && DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 {words} 2>&1"


def walk_install(c):
    """README, "Packages", then step 2 of "Three servers, step by step"."""
    c.site.put_packages()
    c.site.put_rebuilt()
    on_coordinator(c, apt("install ./lockstep_*.deb ./lockstepd_*.deb"))
    c.lab.sh("all", apt("install ./lockstep-agent_*.deb"))
    on_coordinator(c, "set -e; printf '[lockstepd]\\npki = /etc/lockstep/pki\\nca = /etc/lockstep/pki/ca.crt\\n"
                   "cert = /etc/lockstep/pki/coordinator-admin.crt\\nkey = /etc/lockstep/pki/coordinator-admin.key\\n' >/etc/lockstep/lockstepd.conf;"
                   "lockstep pki init /etc/lockstep/pki; lockstep pki issue /etc/lockstep/pki coordinator admin;"
                   "chown -R lockstep: /etc/lockstep/pki; systemctl enable --now lockstepd 2>&1")


def walk_enroll(c):
    """Steps 3 and 4: the directory, and on each machine the command that `node add` prints, pasted as it is."""
    c.lab.sh(1, f"install -d -o lockstep -m 0700 {BENCH}")
    for number, node in enumerate(NODES, 1):
        told = on_coordinator(c, f"lockstep node add {node}")
        command = [line.strip() for line in told.splitlines() if "lockstep-agent enroll" in line][0]
        c.lab.sh(number, f"{command} --allow {BENCH} && systemctl enable --now lockstep-agent 2>&1")
    wait_walk_nodes(c)


def walk_look(c):
    """Step 5."""
    on_coordinator(c, "lockstep nodes --from /etc/ocfs2/cluster.conf")
    text = on_coordinator(c, f"lockstep check --path {BENCH} --expect ocfs2")
    need("the coordinator runs on this node" in text, f"a coordinator on a member of the cluster is not warned of: {text[-1500:]}")


def walk_reboot(c):
    c.lab.reboot_all()
    for number in (1, 2, 3):
        c.lab.join(number)
    wait_walk_nodes(c)


def walk_upgrade(c):
    """To packages that were built again: refused on a node that takes part in a run, done when it does not. The coordinator's goes on with the run."""
    on_coordinator(c, f"lockstep run quick --path {BENCH} --set phases.time=20s --set phases.files=5 --detach")
    c.lab.wait_for(2, "the run", "pgrep -x lockstep-runner >/dev/null", 120)
    status, text = c.lab.script("exec", "2", apt("install ./rebuilt/lockstep-agent_*.deb"), check=False)
    need(status != 0 and "takes part in a run" in text, f"an upgrade in a run was not refused: status {status}: {text[-800:]}")
    need(not c.lab.status(2, "systemctl is-active lockstep-agent && pgrep -x lockstep-runner >/dev/null"), "the refused upgrade hurt the run")
    on_coordinator(c, "lockstep abort last")
    c.lab.wait_for(2, "the run's end", "! pgrep -x lockstep-runner >/dev/null", 120)
    c.lab.sh("all", apt("install ./rebuilt/lockstep-agent_*.deb"))
    on_coordinator(c, apt("install ./rebuilt/lockstep_*.deb ./rebuilt/lockstepd_*.deb"))
    for number in (1, 2, 3):
        need("+rebuilt" in c.lab.sh(number, "dpkg-query -W lockstep-agent"), f"node{number}: not upgraded")
    wait_walk_nodes(c)


def walk_remove(c):
    c.lab.sh("all", apt("remove lockstep-agent"))
    on_coordinator(c, apt("remove lockstepd lockstep"))
    need(not c.lab.status(1, "test -s /etc/lockstep/pki/ca.key && test -d /var/lib/lockstep && test -s /etc/lockstep/agent.key"),
         "removal took keys or results along")
    c.lab.sh("all", apt("purge lockstep-agent"))
    on_coordinator(c, apt("purge lockstepd lockstep"))
    left = on_coordinator(c, "ls -d /etc/lockstep /var/lib/lockstep /var/lib/lockstep-agent 2>/dev/null", check=False).split()
    need(not left, f"purge left {left}")
    c.nothing_left()


def walk(c):
    """From packages on fresh machines to the first report, a reboot, an upgrade, removal: each step is one that the README names."""
    walk_install(c)
    walk_enroll(c)
    walk_look(c)
    walk_run(c, "first")
    walk_reboot(c)
    walk_run(c, "after a reboot")
    walk_upgrade(c)
    need(len(json.loads(on_coordinator(c, "lockstep runs --json"))) == 3, "runs are gone after reboot and upgrade")
    walk_run(c, "after the upgrade")
    walk_remove(c)


def wait_walk_nodes(c):
    c.lab.wait_for(1, "three nodes", "test $(lockstep nodes --connected --json | grep -c '\"name\"') = 3", 300)


def walk_run(c, which):
    text = on_coordinator(c, f"lockstep run bonnie --path {BENCH} --set phases.file_size=1MiB --set phases.files=16 --set phases.seeks=20", timeout=1500)
    need("finished" in text and all(node in text for node in NODES), f"{which} run: {text[-1500:]}")


# What is booted, one after the other: which volume the machines share, and whether agents of the packages are installed before the scenarios.
Place = collections.namedtuple("Place", "volume installed")
KINDS = {
    "ocfs2": Place("ocfs2", True),
    "gfs2": Place("gfs2", True),
    "iscsi": Place("iscsi", True),
    "fresh": Place("ocfs2", False),
}

# whose quick runs are compared, and their titles
COMPARED = (("ocfs2", "OCFS2"), ("gfs2", "GFS2"), ("iscsi", "OCFS2 over iSCSI"))

SITES = ("ocfs2", "gfs2", "iscsi")

# kinds of machines, name, function; in the order in which they are played
ALL = (
    (SITES, "check", check),
    (("ocfs2",), "check finds another volume at the path", check_finds_other_volume),
    (("ocfs2", "gfs2"), "check names what differs", check_names_what_differs),
    (SITES, "quick", quick),
    (("ocfs2",), "bonnie", bonnie),
    (SITES, "an idle agent lets the volume be unmounted", idle_holds_nothing),
    (("ocfs2",), "an idle agent ends at once", idle_lets_go),
    (("ocfs2",), "metadata-shared", metadata_shared),
    (("ocfs2", "gfs2"), "coherence", promises("coherence")),
    (("ocfs2", "gfs2"), "locks", promises("locks")),
    (("ocfs2",), "visibility", promises("visibility", "--set", "phases.count=10", "--set", "phases.time=30s")),
    (("iscsi",), "the published example: bonnie++'s phases", bonnie),
    (("iscsi",), "the published example: the real bonnie++", real_bonnie),
    (("ocfs2",), "power cut in a recovery run", power_cut),
    (("ocfs2",), "power cut for good, lockstep clean", clean_after_loss),
    (("fresh",), "an administrator's walk: install, enroll, run, reboot, upgrade, remove", walk),
)
