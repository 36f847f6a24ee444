"""
The fault matrix: who is hit x by what x in which state of a run, with the expected end of each cell in one table, and what must hold
whatever happens. Each cell is a cluster of its own with real processes.

    faultmatrix.py [--jobs N] [--only VICTIM:FAULT:STATE ...] [--pairs] [--rounds N] [--seed N] [--random [--cells N]] [--log FILE]

The victim is node2 (or its runner), the coordinator or the operator's command. Each field of --only may be *. A cell is played once and has
one expected end; nothing is tried again. Attempts at a start that were void are counted and shown: on a busy machine they are legal, and
the run must come to a start all the same.
"""
import argparse
import concurrent.futures
import contextlib
import fnmatch
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import faultyvolume
import netlink
from cluster import BUILD, Cluster, alive, sanitized, wait_for
from faultyvolume import FaultyVolume
from proxy import DelayProxy

VICTIMS = ("agent", "runner", "coordinator", "cli")
FAULTS = ("kill", "term", "stop", "stop long", "reset", "partition", "slow", "full", "read-only")
STATES = ("queued", "preparing", "arming", "setting", "running", "collecting", "finishing")

SLOW = sanitized()  # must not be taken for one that is away
HEARTBEAT = "900ms" if SLOW else "500ms"
GRACE_S = 3.6 if SLOW else 2.0
SHORT_S = 1.0                   # within the grace
LONG_S = 7.7 if SLOW else 6.5   # three heartbeats, the grace and some more; less than what a look at a volume may take (10 s)
WAIT_S = 180.0 if SLOW else 60.0
END_S = 450.0 if SLOW else 150.0

# --- what there is not -----------------------------------------------------------------------------------------------------

ABSENT = [  # victim, fault, state: why
    ("runner", "reset", "*", "its link is a socketpair of its agent"),
    ("runner", "partition", "*", "its link is a socketpair of its agent"),
    ("runner", "slow", "*", "its link is a socketpair of its agent"),
    ("runner", "*", "queued", "there is none yet"),
    ("cli", "read-only", "*", "it writes one file, at the end: as with a full disk"),
]

# --- how it must end -------------------------------------------------------------------------------------------------------
# victim, fault, state: state of the run (| for or), what its reason and warnings say (a pattern), exit status of lockstep run.
# The first row that matches counts. In "setting" the attempt may be void, and is tried again.

LOST = r"node2 was lost"
DISK = r"[Nn]o space left|[Rr]ead-only"
EXPECTED = [
    ("cli", "kill", "*", "finished", None, {-9}),
    ("cli", "term", "finishing", "finished", None, {0}),  # the run is over but for its files
    ("cli", "term", "*", "aborted", r"told to end", {1}),
    ("cli", "full", "*", "finished", None, {1}),  # the run is well, its document could not be written
    ("cli", "*", "*", "finished", None, {0}),

    ("agent", "kill", "queued", "refused", r"node2 is not connected", {3}),
    ("agent", "term", "queued", "refused", r"node2 is not connected", {3}),
    ("agent", "full|read-only", "queued", "refused", rf"node2: .*spool.*({DISK})", {3}),
    ("agent", "kill|stop long|partition", "preparing", "refused", LOST, {3}),
    ("agent", "term", "preparing", "refused", r"node2", {3}),
    ("agent", "kill|stop long|partition", "arming|setting|running|collecting", "failed", LOST, {1}),
    ("agent", "term", "arming|setting|running|collecting", "failed", r"node2", {1}),
    ("agent", "*", "*", "finished", None, {0}),

    ("runner", "kill", "preparing", "refused", r"node2: the runner was killed by signal 9", {3}),
    ("runner", "term", "preparing", "refused|failed", r"node2: the runner ", {1, 3}),  # it ends when its look at the volume is over
    ("runner", "kill", "arming|setting|running|collecting", "failed", r"node2: .*signal 9", {1}),
    ("runner", "term", "arming|setting|running|collecting", "failed", r"node2: .*the runner ", {1}),
    ("runner", "full|read-only", "preparing", "refused", rf"node2: .*({DISK})", {3}),
    ("runner", "full|read-only", "arming|setting|running|collecting", "failed", rf"node2: .*({DISK})", {1}),
    ("runner", "read-only", "finishing", "finished", r"node2 could not remove", {0}),
    ("runner", "*", "*", "finished", None, {0}),

    ("coordinator", "kill|term", "queued", "finished", None, {0}),
    ("coordinator", "kill|term", "*", "finished", r"restarted", {0}),
    ("coordinator", "partition", "preparing", "refused", r"node\d was lost", {3}),
    ("coordinator", "partition", "arming|setting|running|collecting", "failed", r"node\d was lost", {1}),
    ("coordinator", "*", "*", "finished", None, {0}),
]


def matches(row, victim, fault, state):
    return all(any(fnmatch.fnmatchcase(value, one) for one in pattern.split("|")) for pattern, value in zip(row, (victim, fault, state)))


def cells():
    """All that there are: (victim, fault, state)."""
    return [c for c in itertools.product(VICTIMS, FAULTS, STATES) if not any(matches(row, *c) for row in ABSENT)]


def expected(cell):
    return next(row[3:] for row in EXPECTED if matches(row, *cell))


def pairwise():
    """Few cells in which each pair (victim, fault), (victim, state) and (fault, state) occurs, always the same."""
    def pairs(cell):
        return {frozenset(p) for p in itertools.combinations(enumerate(cell), 2)}
    left = set().union(*(pairs(c) for c in cells()))
    chosen = []
    while left:
        best = max(cells(), key=lambda c: len(pairs(c) & left))
        chosen.append(best)
        left -= pairs(best)
    return chosen


# --- one cell --------------------------------------------------------------------------------------------------------------

class Cell:
    """One cluster, one run, one fault."""

    def __init__(self, victim, fault, state):
        self.victim, self.fault, self.state = self.name = victim, fault, state
        self.stack = contextlib.ExitStack()
        self.link = self.disk = self.run = self.cluster = None
        self.seen_runners = set()
        self.voids = 0

    # --- set-up ---

    def wants_disk(self):
        disk = self.fault in ("full", "read-only") and self.victim in ("agent", "coordinator")
        return disk or self.state == "collecting"

    def set_up(self):
        enter = self.stack.enter_context
        cluster = self.cluster = Cluster(nodes=3 if self.state == "queued" else 2)
        self.stack.callback(cluster.stop)
        cluster.settings = {"lockstepd": {"heartbeat": HEARTBEAT, "log_level": "debug"}}
        self.volume = enter(FaultyVolume(cluster.volume))
        # the disk of the agent's spool, or of the store; the store's is also what keeps a run in "collecting"
        spool = self.victim == "agent" and self.fault in ("full", "read-only")
        self.store = self.disk = None
        if spool:
            self.disk = enter(FaultyVolume(cluster.path("node2"), cache=True))
        if (self.victim == "coordinator" and self.fault in ("full", "read-only")) or self.state == "collecting":
            self.store = enter(FaultyVolume(cluster.path("store"), cache=True))
            self.disk = self.disk or self.store
        if self.fault == "partition":
            self.link = enter(netlink.Link())
            self.set_up_link()
        cluster.start_daemon()
        self.set_up_proxies()
        for name in cluster.names[:2]:
            cluster.start_agent(name)
        cluster.wait_nodes(cluster.names[:2])
        self.before = self.descriptors()

    def set_up_link(self):
        cluster = self.cluster
        if self.victim == "coordinator":
            cluster.daemon_wrap, cluster.listen = self.link.wrap, f"{self.link.far}:0"
        else:
            cluster.listen = f"{self.link.near}:0"
        if self.victim == "agent":
            cluster.wrap = {"node2": self.link.wrap}

    def set_up_proxies(self):
        """All links where the coordinator is hit or a start is to take long, else the victim's."""
        cluster, enter = self.cluster, self.stack.enter_context
        self.proxies = []
        delay = (0.12, 0.12) if self.state == "setting" else (0.0, 0.0)
        nodes = cluster.names if self.victim == "coordinator" or self.state == "setting" else ["node2"]
        if self.state == "setting" or self.fault in ("reset", "slow"):
            for name in nodes:
                proxy = enter(DelayProxy(cluster.address, delay, delay))
                cluster.settings.setdefault(name, {})["coordinator"] = proxy.address
                self.proxies.append((name, proxy))
            if self.fault == "partition" and self.victim != "coordinator":
                # node2 is behind the link that is cut, and dials for itself
                cluster.settings["node2"].pop("coordinator")

    def job(self):
        data = {"file_size": "256KiB", "record_size": "16KiB"}
        nodes = self.cluster.names
        # paced: cells side by side measure nothing, and workers that never wait would make each other late
        running = {"kind": "random-write", **data, "time": "2s", "rate_ops": 500, "random_repeats": True}
        first = {"kind": "random-read", **data, "record_size": "4KiB"}
        return {"path": self.cluster.volume, "nodes": nodes, "workers": 1, "short_phases": True, "grace": f"{GRACE_S}s",
                "orphan_time": "30s", "reserve_percent": 0,
                "phases": {"finishing": [{"kind": "write", **data}], "setting": [first, running]}.get(
                    self.state, [first, running, {"kind": "rewrite", **data}])}

    def start(self):
        cluster = self.cluster
        wait = "8s" if self.victim == "agent" and self.fault in ("kill", "term") else "60s"
        out = "/dev/full" if (self.victim, self.fault) == ("cli", "full") else cluster.path("out.json")
        words = ["run", cluster.job_file(self.job()), "--no-tty", "--json", out, *(["--wait", wait] if self.state == "queued" else [])]
        server, wrap = cluster.socket(), []
        if self.victim == "cli" and self.fault in ("reset", "slow", "partition"):
            server = cluster.address
            if self.fault == "partition":
                wrap = self.link.wrap
            else:
                self.cli_proxy = self.stack.enter_context(DelayProxy(cluster.address))
                server = self.cli_proxy.address
            words += cluster.operator_tls()
        self.err = open(cluster.path("cli.err"), "w+", encoding="utf-8")
        self.stack.callback(self.err.close)
        from cluster import program
        self.run = subprocess.Popen([*wrap, program("lockstep"), *words, "--server", server], stdout=self.err, stderr=self.err,
                                    stdin=subprocess.DEVNULL)
        self.stack.callback(self.end_cli)

    def end_cli(self):
        if self.run.poll() is None:
            self.run.kill()
            self.run.wait()

    # --- the state ---

    def said(self):
        """What lockstep run has written."""
        with open(self.cluster.path("cli.err"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def logged(self, text):
        return text in self.cluster.log("lockstepd")

    def reach(self):
        state = self.state
        if state == "queued":
            wait_for("the run waits for node3, and the operator knows", lambda: "waiting: node node3" in self.said(), WAIT_S)
        elif state == "preparing":
            self.volume.hold("statfs")
        elif state == "arming":
            self.volume.hold("pwrite", name="*/n0/*")
        elif state == "finishing":
            self.volume.hold("unlink", name="*/n1/*")
        self.start_once()
        if state == "preparing":
            self.volume.wait_held("statfs", 2, WAIT_S)
        elif state == "arming":
            self.volume.wait_held("pwrite", 1, WAIT_S)
        elif state == "finishing":
            self.volume.wait_held("unlink", 1, WAIT_S)
        elif state == "setting":
            wait_for("setting", lambda: self.logged("-> setting"), WAIT_S)
        elif state in ("running", "collecting"):
            self.wait_running()
            while state == "collecting" and not self.held_in_collecting():
                self.store.release()
                self.wait_running()

    def wait_running(self):
        """In the second phase, which lasts two seconds, and for long enough that nobody will say any more that it missed the start."""
        since = [None, None]

        def runs():
            lines = [line for line in self.cluster.log("lockstepd").splitlines() if " debug: run run=" in line]
            if not lines or not re.search(r"-> running \(.*phase=1 ", lines[-1]):
                return False
            if lines[-1] != since[0]:
                since[:] = lines[-1], time.monotonic()
            return time.monotonic() - since[1] > 0.4
        wait_for("running", runs, WAIT_S, every=0.02)

    def held_in_collecting(self):
        """Holds the store; False when the attempt turned out to be void, whose repetition would wait for the store."""
        def last():
            return [line for line in self.cluster.log("lockstepd").splitlines() if " debug: run run=" in line][-1]
        self.store.hold("fsync")
        line = wait_for("collecting, or a void attempt", lambda: last() if "-> running (" not in last() else None, WAIT_S, every=0.02)
        return re.search(r"-> collecting \(.*phase=1 ", line) is not None

    def start_once(self):
        if self.run is None:
            self.start()

    def let_go(self):
        self.volume.release()
        if self.store:
            self.store.release()
        if self.state == "queued" and "node3" not in self.cluster.agents:
            self.cluster.start_agent("node3")

    # --- the fault ---

    def pid(self):
        if self.victim == "agent":
            return self.cluster.agent_pid("node2")
        if self.victim == "runner":
            return wait_for("the runner of node2", lambda: self.cluster.runner_pid("node2"))
        if self.victim == "coordinator":
            return self.cluster.daemon.pid
        return self.run.pid

    def links(self):
        """Proxies on the victim's links."""
        if self.victim == "cli":
            return [self.cli_proxy]
        return [p for name, p in self.proxies if self.victim == "coordinator" or name == "node2"]

    def disk_errors(self, errno):
        """The victim's disk takes nothing any more: its own part of the volume for a runner."""
        if self.victim == "runner":
            where, names = self.volume, ["*node2"] if self.state == "preparing" else ["*/n1", "*/n1/*"]
        else:
            where, names = self.disk, ["*"]
        for call in ("pwrite", "create", "truncate", "mkdir", "fallocate", *(("unlink", "rmdir") if errno == "EROFS" else ())):
            for name in names:
                where.fail(call, errno, name=name)

    def hit(self):
        fault = self.fault
        self.seen_runners |= {p for n in self.cluster.names if n in self.cluster.agents for p in [self.cluster.runner_pid(n)] if p}
        if fault in ("kill", "term"):
            self.hit_pid = self.pid()
            os.kill(self.hit_pid, signal.SIGKILL if fault == "kill" else signal.SIGTERM)
        elif fault in ("stop", "stop long"):
            self.hit_pid = self.pid()
            os.kill(self.hit_pid, signal.SIGSTOP)
            time.sleep(SHORT_S if fault == "stop" else LONG_S)
        elif fault == "reset":
            for proxy in self.links():
                proxy.reset()
        elif fault == "partition":
            self.link.cut()
            time.sleep(LONG_S)
        elif fault == "slow":
            for proxy in self.links():
                proxy.up = proxy.down = (0.05, 0.1)
        elif self.victim != "cli":
            self.disk_errors("ENOSPC" if fault == "full" else "EROFS")

    def room_comes_back(self):
        """Errors of the disk last until they were met, and for a while; a node whose volume is full has its error by then."""
        if self.fault not in ("full", "read-only") or self.victim == "cli":
            return
        time.sleep(2.5)
        if self.victim == "runner":
            self.run.wait(WAIT_S)
            self.volume.clear()
        elif self.disk:
            if self.victim == "agent":
                self.run.wait(WAIT_S)
            self.disk.clear()

    def heal(self):
        if self.fault in ("stop", "stop long"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.hit_pid, signal.SIGCONT)
        if self.fault == "partition":
            self.link.heal()

    def start_again(self):
        """What a service manager does."""
        if self.fault not in ("kill", "term"):
            return
        if self.victim == "coordinator":
            self.cluster.daemon.wait(20)
            time.sleep(0.3)
            self.cluster.start_daemon()
        elif self.victim == "agent":
            self.cluster.agents["node2"].wait(20)
            if self.state != "queued":
                self.run.wait(WAIT_S)
            else:
                wait_for("refused", lambda: self.run.poll() is not None, 80)
            self.cluster.start_agent("node2")

    # --- the end ---

    def ended_run(self):
        def over():
            done = self.cluster.cli("report", "last", "--format", "json")
            results = json.loads(done.stdout) if done.returncode == 0 else None
            return results if results and results["run"]["state"] in ("finished", "failed", "aborted", "refused") else None
        return wait_for("the run's end", over, END_S, every=0.25)  # each look is a program of its own

    def check_end(self, status, results):
        state, says, statuses = expected(self.name)
        run = results["run"]
        told = "\n".join([run["reason"] or "", *run["warnings"]])
        assert run["state"] in state.split("|"), f"ended {run['state']} ({told}), expected {state}"
        assert says is None or re.search(says, told), f"says {told!r}, expected {says}"
        assert status in statuses, f"exit status {status}, expected {statuses}"

    def results_made(self):
        """What the agents say in their logs that they have made: {(phase, attempt, node): (bytes, ops)}."""
        made = {}
        for name in self.cluster.names:
            for m in re.finditer(r"phase is over run=\S+ phase=(\d+) repetition=0 attempt=(\d+) state=\S+ bytes=(\d+) ops=(\d+)", self.cluster.log(name)):
                phase, attempt, amount, ops = map(int, m.groups())
                made[phase, attempt, name] = amount, ops
        return made

    def check_results(self, results):
        """Each result that was made for an attempt that counts is there, once, as it was made."""
        made = self.results_made()
        for phase in results["phases"]:
            nodes = [n["node"] for n in phase["nodes"]]
            assert len(nodes) == len(set(nodes)), "a node's result is there twice"
            attempt = len(phase["attempts"])
            for node in phase["nodes"]:
                key = phase["index"], attempt, node["node"]
                if node["state"] == "lost":
                    continue
                assert key in made, f"a result of {key} that no agent made"
                assert made[key] == (node["bytes"], node["ops"]), f"{key}: {made[key]} became {node['bytes'], node['ops']}"
            if phase["state"] == "done":
                assert sorted(nodes) == sorted(n["name"] for n in results["nodes"]), "a result is missing"

    def descriptors(self):
        """How many each daemon has open; files of its own disk (SQLite opens some when it needs them) are not counted."""
        count = {}
        for who in ("lockstepd", *self.cluster.names[:2]):
            pid = self.cluster.daemon.pid if who == "lockstepd" else self.cluster.agent_pid(who)
            for fd in os.listdir(f"/proc/{pid}/fd") if pid else []:
                with contextlib.suppress(OSError):
                    own = os.readlink(f"/proc/{pid}/fd/{fd}").startswith(self.cluster.path("store"))
                    count[who] = count.get(who, 0) + (not own)
        return count

    def check_nothing_left(self, results):
        cluster = self.cluster
        named = any(".lockstep-" in w or "could not remove" in w for w in results["run"]["warnings"])
        if not (named and (self.victim, self.fault) == ("runner", "read-only")):
            wait_for("no file on the volume", lambda: not cluster.files())
        wait_for("no runner left", lambda: not any(alive(p) for p in self.seen_runners) and
                 not any(cluster.runner_pid(n) for n in cluster.names if n in cluster.agents))

    def check_settled(self):
        """Once another run has been there."""
        cluster = self.cluster
        wait_for("all spools empty", lambda: all(os.path.getsize(cluster.path(n, "results.spool")) == 0 for n in cluster.names
                                                 if os.path.exists(cluster.path(n, "results.spool"))))
        if "node3" in cluster.agents:
            self.before["lockstepd"] += 1
        wait_for(f"descriptors as before: {self.before}, now {self.descriptors()}",
                 lambda: all(n <= self.before[who] for who, n in self.descriptors().items()))

    def check_usable(self):
        cluster = self.cluster
        cluster.wait_nodes(["node1", "node2"], WAIT_S)
        status, results, done = cluster.run({"nodes": ["node1", "node2"], "short_phases": True, "reserve_percent": 0, "phases": [{"kind": "write", "file_size": "64KiB"}]},
                                            "--wait", "20s")
        assert status == 0, done.stderr

    def play(self):
        with self.stack:
            try:
                self.set_up()
                if self.state == "queued":
                    self.start_once()
                self.reach()
                self.hit()
                self.heal()
                if not (self.victim == "coordinator" and self.fault in ("kill", "term")):
                    self.let_go()
                else:
                    self.let_go_disk_only()
                self.start_again()
                self.let_go()
                self.room_comes_back()
                results = self.ended_run()
                status = self.run.wait(WAIT_S)
                self.check_end(status, results)
                self.check_results(results)
                self.check_nothing_left(results)
                self.check_usable()
                self.check_settled()
            except BaseException as e:
                self.tell(e)
                raise
            finally:
                self.voids = self.cluster.log("lockstepd").count("attempt void") if self.cluster else 0

    def let_go_disk_only(self):
        """A daemon that was killed in a call of a disk that hangs ends when the disk answers."""
        if self.store:
            self.store.release()

    def tell(self, error):
        if self.cluster is None:
            self.report = f"=== {' / '.join(self.name)}: no cluster: {error!r}"
            return
        text = self.said() if self.run else ""
        parts = [f"=== {' / '.join(self.name)}: {error}", f"--- lockstep run\n{text[-2000:]}"]
        # lines about single connections are the test's own looks
        parts += [f"--- {n}.log\n" + re.sub(r".*debug: connection (opened|ended).*\n", "", self.cluster.log(n))[-8000:]
                  for n in ("lockstepd", *self.cluster.names)]
        self.report = "\n".join(parts)


def play(cell):
    """Plays one cell, once: (seconds, void attempts at a start, None or what went wrong)."""
    began = time.monotonic()
    one, wrong = Cell(*cell), None
    try:
        one.play()
    except Exception as e:  # noqa: BLE001 whatever it was, it is this cell's failure
        wrong = getattr(one, "report", repr(e))
    return time.monotonic() - began, one.voids, wrong


def missing():
    """Why the matrix cannot be played here, or None."""
    return faultyvolume.missing() or netlink.missing()


# --- all of them, in rounds or at random ------------------------------------------------------------------------------------

class Log:
    """To standard output and, whole, to a file: which cell failed, and in which order they were played."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def say(self, text):
        print(text, flush=True)
        print(time.strftime("%Y-%m-%dT%H:%M:%S ") + text, file=self.file, flush=True)


def play_all(todo, jobs, log):
    """Plays what todo gives, so many at a time; returns (passed, cells that failed, void attempts)."""
    passed, failed, voids = 0, [], 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {}
        while True:
            for cell in itertools.islice(todo, jobs - len(running)):
                running[pool.submit(play, cell)] = cell
            if not running:
                return passed, failed, voids
            for future in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                cell = running.pop(future)
                seconds, void, wrong = future.result()
                voids += void
                if wrong:
                    failed.append(cell)
                else:
                    passed += 1
                log.say(f"{'FAIL' if wrong else 'ok  '} {' / '.join(cell)} ({seconds:.1f} s{f', {void} starts void' if void else ''})" +
                        (f"\n{wrong}" if wrong else ""))


def play_rounds(chosen, args, seed, log):
    """Each cell once a round, in an order that comes from the seed, so that others meet on the machine. True: all were green."""
    row = best = 0
    for number in range(1, args.rounds + 1):
        order, began = list(chosen), time.monotonic()
        random.Random(f"{seed}:{number}").shuffle(order)
        passed, failed, voids = play_all(iter(order), args.jobs, log)
        row = 0 if failed or not passed else row + 1
        best = max(best, row)
        log.say(f"round {number} of {args.rounds}, seed {seed}: {passed} passed, {len(failed)} failed, {voids} starts void, "
                f"{time.monotonic() - began:.0f} s; green in a row: {row}" + "".join(f"\n  red: {':'.join(c)}" for c in failed))
    log.say(f"{args.rounds} rounds of {len(chosen)} cells, {args.jobs} at a time, seed {seed}: {best} green in a row")
    return best == args.rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=8, help="cells at a time (8): they mostly wait")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--pairs", action="store_true", help="those of the test suite: each pair of who, what and when")
    parser.add_argument("--rounds", type=int, default=1, help="play all that are chosen so many times over")
    parser.add_argument("--random", action="store_true", help="cells drawn at random, without end unless --cells is given")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--cells", type=int, default=None)
    parser.add_argument("--log", default=os.path.join(BUILD, "faultmatrix.log"), help="a file to which all is appended")
    args = parser.parse_args()
    if missing():
        sys.exit(f"the matrix cannot be played here: {missing()}")
    chosen = [c for c in (pairwise() if args.pairs else cells()) if not args.only or any(all(fnmatch.fnmatchcase(v, p) for v, p in zip(c, o.split(":"))) for o in args.only)]
    if not chosen:
        sys.exit("no such cell")
    seed = args.seed if args.seed is not None else int.from_bytes(os.urandom(4), "little")
    log = Log(args.log)
    log.say(f"seed {seed}, build {BUILD}")
    if not args.random:
        return 0 if play_rounds(chosen, args, seed, log) else 1
    draw = random.Random(seed)
    count = itertools.count() if args.cells is None else range(args.cells)
    passed, failed, voids = play_all((draw.choice(chosen) for _ in count), args.jobs, log)
    log.say(f"{passed} passed, {len(failed)} failed, {voids} starts void")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
