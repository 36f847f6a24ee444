"""What lockstep watch draws on a terminal: a pseudo-terminal, a small emulator of one, and a lockstepd that says what the test wants."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest

from cluster import program, wait_for

GIB = 1 << 30


class Daemon:
    """Lets a watcher in and sends it the events that it is given."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.peer = None
        self.ready = threading.Event()
        threading.Thread(target=self.let_in, daemon=True).start()

    def let_in(self):
        self.peer, _ = self.listener.accept()
        self.read()
        self.send({"type": "welcome", "version": "1", "build": "1"})
        self.read()
        self.ready.set()

    def read(self):
        size = struct.unpack(">I", self.peer.recv(4, socket.MSG_WAITALL))[0]
        return json.loads(self.peer.recv(size, socket.MSG_WAITALL))

    def send(self, message):
        data = json.dumps(message).encode()
        self.peer.sendall(struct.pack(">I", len(data)) + data)

    def event(self, nodes, **more):
        assert self.ready.wait(10)
        self.send({"type": "run-event", "run": "20261130-120000-abcd", "state": "running", "title": "write", "phases_total": 3,
                   "progress": 0.5, "elapsed_ns": 5 * 10**9, "left_ns": 7 * 10**9, "nodes": nodes, **more})

    def close(self):
        if self.peer:
            self.peer.close()
        self.listener.close()


def node(name, rate=GIB, state="running", **more):
    return {"node": name, "state": state, "bytes": 1, "ops": 1, "bytes_per_s": rate, "ops_per_s": 1000.0, "workers_active": 4,
            "workers": 4, **more}


class Screen:
    """The part of a terminal that lockstep uses, without wrapping: a line that would wrap is an error of its own."""

    def __init__(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.rows, self.row, self.column, self.hidden = [""], 0, 0, False

    def feed(self, text):
        for match in re.finditer(r"\x1b\[\??(\d*)([A-Za-z])|([^\x1b])", text, re.DOTALL):
            count, command, char = match.groups()
            if command == "A":
                assert int(count) <= self.row, "up beyond what was written"
                self.row -= int(count)
            elif command == "K":
                self.rows[self.row] = self.rows[self.row][:self.column]
            elif command == "J":
                self.rows[self.row:] = [self.rows[self.row][:self.column]]
            elif command in ("h", "l"):
                self.hidden = command == "l"
            elif command == "m":
                pass
            elif command:
                raise AssertionError(f"unknown sequence {match.group(0)!r}")
            elif char == "\r":
                self.column = 0
            elif char == "\n":
                self.row, self.column = self.row + 1, 0
                if self.row == len(self.rows):
                    self.rows.append("")
            else:
                row = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = row[:self.column] + char + row[self.column + 1:]
                self.column += 1
                assert self.column < self.columns, f"a line as wide as the terminal: {self.rows[self.row]!r}"

    def text(self):
        return "\n".join(self.rows)


class Watcher:
    def __init__(self, tmp_path, columns=100, lines=24, env=None, words=()):
        path = str(tmp_path / "sock")
        self.daemon = Daemon(path)
        self.here, there = pty.openpty()
        self.resize(columns, lines, signal_it=False)
        self.process = subprocess.Popen([program("lockstep"), "watch", "--server", f"unix:{path}", *words], stdin=there, stdout=there,
                                        stderr=there, start_new_session=True,
                                        env={**os.environ, "TERM": "xterm-256color", **(env or {})})
        os.close(there)
        self.screen = Screen(columns, lines)
        self.raw = ""

    def resize(self, columns, lines, signal_it=True):
        fcntl.ioctl(self.here, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if signal_it:
            os.kill(self.process.pid, signal.SIGWINCH)

    def read(self, seconds=0.0):
        end = time.monotonic() + seconds
        while True:
            if not select.select([self.here], [], [], max(0.02, end - time.monotonic()))[0]:
                return
            try:
                data = os.read(self.here, 65536)
            except OSError:
                return
            if not data:
                return
            self.raw += data.decode()
            self.screen.feed(data.decode().replace("\r\n", "\n"))

    def until(self, what):
        def seen():
            self.read()
            return what in self.screen.text()
        wait_for(f"{what!r} on the screen", seen)
        return self.screen.rows

    def close(self):
        self.process.kill()
        self.process.wait()
        self.daemon.close()
        os.close(self.here)


@pytest.fixture(name="watch")
def make_watcher(tmp_path):
    made = []

    def make(**more):
        made.append(Watcher(tmp_path, **more))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_bars_rates_total_and_time_left(watch):
    w = watch()
    w.daemon.event([node("alpha"), node("beta", GIB // 2), node("gamma")])
    rows = w.until("all 3")
    assert rows[0] == "run 20261130-120000-abcd: running, phase 1 of 3: write"
    assert rows[1] == "[########........]  50 %  5.00 s, 7.00 s left"
    assert re.fullmatch(r"! beta +\[#{8}\.{8}\] +512 MiB/s +1\.00 k op/s  running 4/4, slow", rows[2])
    assert re.fullmatch(r"  alpha +\[#{16}\] +1\.00 GiB/s +1\.00 k op/s  running 4/4", rows[3])
    assert re.fullmatch(r"  all 3 +2\.50 GiB/s +3\.00 k op/s", rows[5])
    assert w.screen.hidden


@pytest.mark.parametrize("columns", [100, 80])
def test_reads_and_writes_of_a_mixed_phase_are_told_apart(watch, columns):
    def mixes(name, share):
        return node(name, by_op=[{"op": op, "bytes": 1, "ops": 1, "bytes_per_s": rate * share, "ops_per_s": rate * share / 2**20}
                                 for op, rate in (("read", GIB), ("write", GIB // 2))], bytes=None, ops=None, bytes_per_s=None, ops_per_s=None)

    w = watch(columns=columns)
    w.daemon.event([mixes("alpha", 1), mixes("beta", 0.5), mixes("gamma", 1)])
    rows = w.until("all 3")
    assert re.fullmatch(r"! beta +\[#+\.+\] read 512 MiB/s, write 256 MiB/s  running 4/4, slow", rows[2])
    assert re.fullmatch(r"  alpha +\[#+\] read 1\.00 GiB/s, write 512 MiB/s  running 4/4", rows[3])
    assert re.fullmatch(r"  all 3 +read 2\.50 GiB/s, write 1\.25 GiB/s", rows[5])


def test_it_is_drawn_in_place_and_whole(watch):
    """No flicker: nothing is erased before it is drawn again, and a picture does not grow downwards."""
    w = watch()
    for i in range(20):
        w.daemon.event([node("alpha", GIB + i), node("beta")], elapsed_ns=(i + 1) * 10**9)
    rows = w.until("20.0 s")
    assert len(rows) == 6 and rows[5] == ""
    first = w.raw.index("all 2")
    assert "\x1b[J" not in re.sub(r"\x1b\[J(?=(\r?\x1b\[\d+A|$))", "", w.raw[first:]), "erased in the middle of a picture"


def test_hung_workers_and_lost_nodes_are_named_first(watch):
    w = watch(columns=150)
    stall = {"worker": 3, "call": "pwrite", "file": "n1/w3.0", "since_ns": 37 * 10**9, "state": "D", "wchan": "o2net_wait"}
    w.daemon.event([node("alpha"), node("beta", 0, stalls=[stall], workers_active=3), node("gamma", None, "lost")])
    rows = w.until("all 3")
    assert rows[2].startswith("! beta") and rows[2].endswith("running 3/4, hangs")
    assert rows[3] == "    beta worker 3: no progress for 37.0 s, in pwrite of n1/w3.0, state D, o2net_wait"
    assert rows[4].startswith("! gamma") and "lost" in rows[4]
    assert rows[5].startswith("  alpha")


def test_the_last_ones_at_work_are_late(watch):
    w = watch()
    w.daemon.event([node("alpha", state="done"), node("beta", state="done"), node("gamma")])
    rows = w.until("all 3")
    assert re.match(r"! gamma .*running 4/4, late", rows[2])


def test_more_nodes_than_lines_are_folded(watch):
    w = watch(lines=12)
    nodes = [node(f"node{i:02}") for i in range(1, 41)]
    nodes[29] = node("node30", GIB // 4)
    w.daemon.event(nodes)
    rows = w.until("all 40")
    assert len(rows) <= 12
    assert rows[2].startswith("! node30")
    assert rows[3].startswith("  node01")
    assert rows[-3] == "  and 33 more nodes; median of all 1.00 GiB/s"
    assert "39.3 GiB/s" in rows[-2]
    w.daemon.event([node(f"node{i:02}", GIB // 4 if i % 3 == 0 else GIB) for i in range(1, 41)])
    assert "  and 33 more nodes, 6 of them slow; median of all 1.00 GiB/s" in w.until("6 of them slow")


@pytest.mark.parametrize("columns", [200, 88, 87, 60, 59, 40, 20, 5])
def test_no_line_is_as_wide_as_the_terminal(watch, columns):
    w = watch(columns=columns)
    stall = {"worker": 3, "call": "pwrite", "file": "x" * 200, "since_ns": 37 * 10**9}
    w.daemon.event([node("a-node-with-a-long-name.example.org", stalls=[stall]), node("beta")])
    wait_for("six lines", lambda: w.read() or len(w.screen.rows) >= 6)  # Screen asserts the width
    if columns >= 40:
        assert any(r.startswith("  beta") and "GiB/s" in r and "running" in r for r in w.screen.rows), w.screen.text()


def test_a_narrower_terminal_is_drawn_anew_over_what_it_wrapped(watch):
    w = watch(columns=100)
    w.daemon.event([node("alpha"), node("beta")])
    rows = [r for r in w.until("all 2") if r]
    w.raw = ""
    w.screen = Screen(50, 24)
    wrapped = sum(-(-len(r) // 50) for r in rows)
    assert wrapped > len(rows)
    w.screen.rows, w.screen.row = [""] * (wrapped + 1), wrapped  # as the terminal has it now
    w.resize(50, 24)
    after = w.until("all 2")
    assert re.match(rf"\r\x1b\[{wrapped}A", w.raw)
    assert len([r for r in after if r]) == len(rows) and w.screen.row == len(rows)


def test_lines_for_people_stay_above(watch):
    w = watch()
    w.daemon.event([node("alpha")])
    w.until("all 1")
    w.daemon.event([node("alpha")], text="write: last done 1 GiB/s\x1b[31m evil")
    rows = w.until("evil")
    assert rows[0] == "write: last done 1 GiB/s [31m evil" and rows[1].startswith("run 2026")


def test_colours_and_no_color(watch, tmp_path):
    w = watch(env={"NO_COLOR": ""})
    w.daemon.event([node("alpha"), node("beta", GIB // 4)])
    w.until("all 2")
    assert "\x1b[33m! beta" in w.raw
    (tmp_path / "sock").unlink()
    w = watch(env={"NO_COLOR": "1"})
    w.daemon.event([node("alpha"), node("beta", GIB // 4)])
    w.until("all 2")
    assert not re.search(r"\x1b\[\d*m", w.raw) and "! beta" in w.raw


@pytest.mark.parametrize("more", [{"words": ("--no-tty",)}, {"env": {"TERM": "dumb"}}])
def test_plain_lines(watch, more):
    w = watch(**more)
    w.daemon.event([node("alpha")])
    w.daemon.event([node("alpha")], text="write: phase 1 of 3 begins")
    w.until("begins")
    assert "\x1b" not in w.raw and w.raw == "write: phase 1 of 3 begins\r\n"


def test_the_terminal_is_left_as_it_was(watch):
    w = watch()
    w.daemon.event([node("alpha")])
    w.until("all 1")
    w.daemon.event([], end=True, state="finished")
    w.daemon.send({"type": "done", "outcome": "ok"})
    assert w.process.wait(10) == 0
    w.read(0.1)
    assert not w.screen.hidden and w.screen.rows[0] == "run 20261130-120000-abcd finished" and "all 1" not in w.screen.text()
