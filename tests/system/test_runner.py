"""The real lockstep-runner, driven over its socketpair as the agent does it."""
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import time

import pytest

from cluster import BUILD, bare_chroot, program

WAIT_S = 20.0
F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 2, 4
MIB = 1 << 20
DATA = {"kind": "write", "file_size": 4 * MIB, "record_size": 65536, "layout": "worker"}


@pytest.fixture(scope="session")
def layout():
    """Where what stands in the shared counters."""
    tool = os.path.join(BUILD, "tests", "support", "shm_layout")
    if not os.path.exists(tool):
        subprocess.run(["make", "-s", f"BUILD={BUILD}", tool], check=True,
                       cwd=os.path.join(os.path.dirname(__file__), "..", ".."))
    return json.loads(subprocess.run([tool], check=True, capture_output=True, text=True).stdout)


class Runner:
    """One runner process with its socketpair and its mapping; plays the agent."""

    def __init__(self, layout, path, workers=4, run="r1", node="a"):
        self.layout, self.path, self.run, self.node = layout, str(path), run, node
        size = layout["control_size"] + workers * layout["worker_size"]
        self.memfd = os.memfd_create("counters", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.memfd, size)
        fcntl.fcntl(self.memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)
        self.map = mmap.mmap(self.memfd, size)
        self.map[0:16] = struct.pack("=QII", layout["magic"], layout["version"], workers)
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_S)
        self.buffer = b""
        self.process = self.start(theirs.fileno())
        theirs.close()

    def start(self, link_fd):
        """Descriptors 3 and 4 in the child, and no others of ours: end of file must be seen."""
        link, counters = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (link_fd, self.memfd))
        command = f'exec "$0" 3<&{link} 4<&{counters} {link}<&- {counters}<&-'
        process = subprocess.Popen(["bash", "-c", command, program("lockstep-runner")], pass_fds=(link, counters),
                                   stderr=subprocess.PIPE, text=True)
        os.close(link)
        os.close(counters)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        if self.process.poll() is None:
            try:
                self.process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stderr.close()
        self.map.close()
        os.close(self.memfd)

    # --- the mapping ---

    def get(self, member):
        at = self.layout[member]
        return struct.unpack("=Q", self.map[at:at + 8])[0]

    def set(self, member, value):
        at = self.layout[member]
        self.map[at:at + 8] = struct.pack("=Q", value)

    def worker(self, i, member):
        at = self.layout["control_size"] + i * self.layout["worker_size"] + self.layout[member]
        return struct.unpack("=Q", self.map[at:at + 8])[0]

    # --- messages ---

    def send_bytes(self, data):
        self.socket.sendall(struct.pack(">I", len(data)) + data)

    def send(self, type_, **fields):
        self.send_bytes(json.dumps(dict(fields, type=type_)).encode())

    def receive(self):
        """The next message, or None at the end of file."""
        while True:
            if len(self.buffer) >= 4:
                n = struct.unpack(">I", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + n:
                    text, self.buffer = self.buffer[4:4 + n], self.buffer[4 + n:]
                    return json.loads(text)
            data = self.socket.recv(65536)
            if not data:
                return None
            self.buffer += data

    def expect(self, type_):
        message = self.receive()
        assert message is not None and message["type"] == type_, f"{message} is not {type_}"
        return message

    def gone(self, status=0):
        assert self.process.wait(WAIT_S) == status, self.process.stderr.read()

    # --- the choreography ---

    def assign(self, job=None, **fields):
        message = {"run": self.run, "node": self.node, "node_index": 0, "node_count": 1, "max_workers": 4,
                   "token": "secret", "job": dict({"path": self.path, "reserve_percent": 0}, **(job or {}))}
        self.send("assign", **dict(message, **fields))

    def prepared(self, **kw):
        self.assign(**kw)
        return self.expect("prepared")

    def epoch(self, phase=0, attempt=0):
        return {"run": self.run, "phase": phase, "repetition": 0, "attempt": attempt}

    def arm(self, spec, phase=0, attempt=0, workers=2, **fields):
        self.send("arm", epoch=self.epoch(phase, attempt), spec=spec, node_workers=[workers], **fields)

    def armed(self, spec, phase=0, attempt=0, **kw):
        self.arm(spec, phase, attempt, **kw)
        assert self.expect("armed")["epoch"] == self.epoch(phase, attempt)

    def go(self, phase=0, attempt=0, lead=0.03):
        """Returns the instant, ns."""
        at = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(lead * 1e9)
        self.send("go", epoch=self.epoch(phase, attempt), start_ns=at, late_limit_ns=10**9)
        self.expect("set")
        return at

    def commit(self):
        self.set("commit_epoch", self.get("armed_epoch"))

    def run_phase(self, spec, phase=0, attempt=0, **kw):
        self.armed(spec, phase, attempt, **kw)
        at = self.go(phase, attempt)
        self.commit()
        done = self.expect("phase-done")
        assert done["epoch"] == self.epoch(phase, attempt)
        return at, done

    def finish(self, **fields):
        self.send("finish", run=self.run, **fields)
        message = self.expect("finished")
        assert self.receive() is None
        self.gone()
        return message["left"]

    @property
    def run_dir(self):
        return os.path.join(self.path, ".lockstep-" + self.run)

    def files(self):
        return sorted(os.path.relpath(os.path.join(d, f), self.path) for d, _, fs in os.walk(self.path) for f in fs)


@pytest.fixture
def runner(layout, tmp_path):
    with Runner(layout, tmp_path) as r:
        yield r


def no_file(path):
    return os.listdir(path) == []


def long_phase(seconds=60):
    return dict(DATA, time=int(seconds * 1e9), amount=1 << 50)


# --- by itself ---


def test_version():
    done = subprocess.run([program("lockstep-runner"), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("lockstep-runner ")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["x", "y"]])
def test_without_its_descriptors_it_says_what_it_is(arguments):
    done = subprocess.run([program("lockstep-runner"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "lockstep-agent" in done.stderr


def test_it_links_neither_tls_nor_an_event_loop():
    libraries = subprocess.run(["ldd", program("lockstep-runner")], capture_output=True, text=True, check=True).stdout
    assert not any(word in libraries for word in ("libssl", "libcrypto", "libevent", "libsystemd", "libsqlite"))


# --- the whole way ---


def test_a_run_of_two_phases_leaves_nothing(runner, tmp_path):
    volume = runner.prepared(need_bytes=8 * MIB, need_files=2)["volume"]
    assert (volume["fs_type"] or bare_chroot()) and volume["total_bytes"] > 0
    assert os.stat(runner.run_dir).st_mode & 0o777 == 0o700
    assert open(os.path.join(runner.run_dir, "token.a"), encoding="ascii").read() == "secret"
    marker = json.load(open(os.path.join(runner.run_dir, "marker.a"), encoding="ascii"))
    assert (marker["run"], marker["node"]) == ("r1", "a")

    runner.send("verify-volume", run="r1", tokens=[{"node": "a", "token": "secret"}], timeout_ns=0)
    assert runner.expect("volume-verified")["missing"] == []

    at, done = runner.run_phase(DATA)
    assert done["errors"] == 0 and done["error_list"] == [] and done["flush_ns"] > 0
    assert runner.get("decision") & 0xffffffff == 1
    for i in range(2):
        assert runner.worker(i, "bytes") == 4 * MIB
        assert runner.worker(i, "ops") == 64
        assert runner.worker(i, "first_op_ns") >= at
    sizes = [os.path.getsize(tmp_path / f) for f in runner.files() if "/n0/" in f]
    assert sizes == [4 * MIB, 4 * MIB]

    _, done = runner.run_phase(dict(DATA, kind="read"), phase=1)
    assert done["errors"] == 0
    assert runner.worker(0, "bytes") == 4 * MIB
    assert runner.finish() == []
    assert no_file(tmp_path)


def test_tokens_of_others_are_waited_for(runner):
    runner.prepared()
    tokens = [{"node": "b", "token": "x"}, {"node": "c", "token": "y"}]
    runner.send("verify-volume", run="r1", tokens=tokens, timeout_ns=10 * 10**9)
    with open(os.path.join(runner.run_dir, "token.b"), "w", encoding="ascii") as f:
        f.write("x")
    with open(os.path.join(runner.run_dir, "token.c"), "w", encoding="ascii") as f:
        f.write("y")
    assert runner.expect("volume-verified")["missing"] == []

    tokens.append({"node": "d", "token": "z"})
    tokens[1]["token"] = "other"
    runner.send("verify-volume", run="r1", tokens=tokens, timeout_ns=50 * 10**6)
    assert runner.expect("volume-verified")["missing"] == ["c", "d"]
    for name in ("token.b", "token.c"):
        os.unlink(os.path.join(runner.run_dir, name))
    assert runner.finish() == []


def test_two_runners_share_a_directory_and_the_last_removes_it(layout, tmp_path):
    with Runner(layout, tmp_path, node="a") as a, Runner(layout, tmp_path, node="b") as b:
        a.prepared(node_count=2)
        b.assign(node_count=2)
        b.expect("refused")  # the same number as a's
        assert b.finish() == []
        with Runner(layout, tmp_path, node="c") as c:
            c.prepared(node_index=1, node_count=2, token="other")
            for r, other, token in ((a, "c", "other"), (c, "a", "secret")):
                r.send("verify-volume", run="r1", tokens=[{"node": other, "token": token}], timeout_ns=0)
                assert r.expect("volume-verified")["missing"] == []
            assert a.finish() == []
            assert os.path.exists(os.path.join(c.run_dir, "n1"))
            assert not os.path.exists(os.path.join(c.run_dir, "n0"))
            assert c.finish() == []
    assert no_file(tmp_path)


def test_kept_files_stay(runner, tmp_path):
    runner.prepared()
    runner.run_phase(DATA)
    assert runner.finish(keep_files=True) == []
    assert sum(1 for f in runner.files() if "/n0/" in f) == 2
    assert not os.path.exists(os.path.join(runner.run_dir, "token.a"))


@pytest.mark.parametrize("engine", ["sync", "io_uring", "libaio"])
@pytest.mark.parametrize("layout_", ["worker", "node", "shared"])
def test_each_back_end_does_each_kind_of_data_phase(runner, tmp_path, engine, layout_):
    need = {"sync": None, "io_uring": "need_io_uring", "libaio": "need_libaio"}[engine]
    runner.assign(direct_align=4096, **({need: True} if need else {}))
    answer = runner.receive()
    if answer["type"] == "refused":
        pytest.skip(answer["error"]["text"])
    for i, kind in enumerate(["write", "rewrite", "read", "reread", "random-read", "random-write"]):
        spec = dict(DATA, kind=kind, engine=engine, layout=layout_, direct=engine == "libaio",
                    depth=1 if engine == "sync" else 8)
        _, done = runner.run_phase(spec, phase=i)
        assert done["errors"] == 0, done
        total = 8 * MIB if layout_ == "worker" else 4 * MIB
        assert sum(runner.worker(w, "bytes") for w in range(2)) == total, kind
    assert runner.finish() == []
    assert no_file(tmp_path)


@pytest.mark.parametrize("dirs", ["private", "shared"])
def test_files_are_created_looked_at_and_deleted(runner, tmp_path, dirs):
    runner.prepared()
    for i, kind in enumerate(["create", "stat", "delete"]):
        spec = {"kind": kind, "files": 50, "size": 100, "dirs": dirs}
        _, done = runner.run_phase(spec, phase=i)
        assert done["errors"] == 0, done
        assert [runner.worker(w, "ops") for w in range(2)] == [50, 50], kind
        count = sum(1 for f in runner.files() if "marker" not in f and "token" not in f)
        assert count == (0 if kind == "delete" else 100)
    runner.run_phase({"kind": "create", "files": 50, "size": 0, "dirs": dirs}, phase=3)
    assert runner.finish() == []
    assert no_file(tmp_path)


# --- barrier ---


def test_without_commit_nobody_starts(runner, tmp_path):
    runner.prepared()
    runner.armed(DATA)
    runner.go()
    missed = runner.expect("missed")
    assert missed["epoch"] == runner.epoch() and "commit" in missed["reason"]
    assert runner.worker(0, "ops") == 0
    runner.send("void", epoch=runner.epoch(), reason="missed")
    assert runner.expect("voided")["epoch"] == runner.epoch()
    _, done = runner.run_phase(DATA, attempt=1, redo=True)
    assert done["errors"] == 0 and runner.worker(0, "ops") == 64
    assert runner.finish() == []
    assert no_file(tmp_path)


def test_an_instant_that_has_passed_is_missed(runner):
    runner.prepared()
    runner.armed(DATA)
    runner.send("go", epoch=runner.epoch(), start_ns=1)
    assert "past" in runner.expect("missed")["reason"]
    runner.send("void", epoch=runner.epoch())
    runner.expect("voided")
    runner.run_phase(DATA, attempt=1)
    assert runner.finish() == []


def test_void_while_parked_running_and_idle(runner):
    runner.prepared()
    runner.send("void", epoch=runner.epoch())
    runner.expect("voided")

    runner.armed(DATA)
    runner.send("void", epoch=runner.epoch())
    runner.expect("voided")

    runner.armed(long_phase(), attempt=1)
    runner.go(attempt=1)
    runner.commit()
    while runner.worker(0, "ops") == 0:
        time.sleep(0.005)
    runner.send("void", epoch=runner.epoch(attempt=1))
    runner.expect("voided")  # and no phase-done: the attempt has no result

    _, done = runner.run_phase(DATA, attempt=2, redo=True)
    assert done["errors"] == 0
    assert runner.finish() == []


def test_stale_messages_are_dropped(runner):
    runner.prepared()
    runner.armed(DATA, attempt=1)
    runner.send("go", epoch=runner.epoch(attempt=0), start_ns=1)
    runner.send("void", epoch=runner.epoch(attempt=0))
    runner.send("finish", run="another")
    runner.go(attempt=1)
    runner.commit()
    runner.expect("phase-done")
    assert runner.finish() == []


def test_a_repeated_arm_is_answered_again(runner):
    runner.prepared()
    runner.armed(DATA)
    before = runner.get("armed_epoch")
    runner.armed(DATA)
    assert runner.get("armed_epoch") == before
    runner.go()
    runner.commit()
    runner.expect("phase-done")
    assert runner.finish() == []


def test_an_idle_node_waits_at_the_barrier(runner):
    runner.prepared()
    runner.armed(DATA, workers=0)
    at = runner.go(lead=0.1)
    runner.commit()
    done = runner.expect("phase-done")
    assert time.clock_gettime_ns(time.CLOCK_MONOTONIC) >= at
    assert done["errors"] == 0
    runner.armed(DATA, phase=1, workers=0)
    runner.go(phase=1, lead=5)
    runner.send("void", epoch=runner.epoch(phase=1))
    runner.expect("voided")
    assert runner.finish() == []


def test_a_phase_that_cannot_arm_fails_with_a_reason(runner, tmp_path):
    runner.prepared()
    runner.arm(dict(DATA, layout="shared", file_size=65536), workers=4)  # one record for four workers
    failed = runner.expect("failed")
    assert failed["epoch"] == runner.epoch() and failed["error"]["text"]
    runner.run_phase(DATA, phase=1)
    assert runner.finish() == []
    assert no_file(tmp_path)


# --- ends ---


def test_abort_while_running(runner, tmp_path):
    runner.prepared()
    runner.armed(long_phase())
    runner.go()
    runner.commit()
    while runner.worker(0, "ops") == 0:
        time.sleep(0.005)
    runner.send("abort", run="r1", reason="operator")
    done = runner.expect("phase-done")
    assert done["flush_ns"] is None
    runner.expect("aborted")
    assert runner.worker(0, "ops") > 0
    assert runner.finish() == []
    assert no_file(tmp_path)


def test_the_agents_stop_word_ends_a_phase_without_flush(runner):
    runner.prepared()
    runner.armed(long_phase())
    runner.go()
    runner.commit()
    while runner.worker(0, "ops") == 0:
        time.sleep(0.005)
    runner.set("stop_epoch", runner.get("armed_epoch"))
    assert runner.expect("phase-done")["flush_ns"] is None
    runner.send("abort", run="r1")
    runner.expect("aborted")
    assert runner.finish() == []


def test_abort_while_files_are_laid_out(runner, tmp_path):
    runner.prepared()
    runner.arm(dict(DATA, kind="read", file_size=1 << 33))  # 16 GiB to lay out: not before the abort
    while runner.get("armed_epoch") == 0:
        time.sleep(0.005)
    time.sleep(0.05)
    runner.send("abort", run="r1")
    runner.expect("aborted")
    assert runner.finish() == []
    assert no_file(tmp_path)


@pytest.mark.parametrize("when", ["new", "prepared", "parked", "running"])
@pytest.mark.parametrize("how", ["eof", "term"])
def test_it_cleans_up_when_the_agent_is_gone_or_it_is_told_to_end(runner, tmp_path, when, how):
    if when != "new":
        runner.prepared()
    if when in ("parked", "running"):
        runner.armed(long_phase())
    if when == "running":
        runner.go()
        runner.commit()
        while runner.worker(0, "ops") == 0:
            time.sleep(0.005)
    if how == "eof":
        runner.socket.shutdown(socket.SHUT_RDWR)
    else:
        while "SigBlk:\t0000000000000000" in open(f"/proc/{runner.process.pid}/status", encoding="ascii").read():
            time.sleep(0.005)
        runner.process.send_signal(signal.SIGTERM)
    runner.gone()
    assert no_file(tmp_path)


def test_what_a_killed_runner_left_is_removed_by_clean_only(layout, tmp_path):
    with Runner(layout, tmp_path) as killed:
        killed.prepared()
        killed.armed(long_phase())
        killed.go()
        killed.commit()
        while killed.worker(0, "ops") == 0:
            time.sleep(0.005)
        killed.process.kill()
        killed.process.wait()
        assert killed.worker(0, "bytes") > 0  # numbers survive
        assert killed.files() != []
    for _ in range(2):  # the second one finds nothing
        with Runner(layout, tmp_path) as cleaner:
            cleaner.assign(clean_only=True)
            assert cleaner.expect("finished")["left"] == []
            assert cleaner.receive() is None
            cleaner.gone()
        assert no_file(tmp_path)


def test_clean_only_leaves_what_is_not_marked(layout, tmp_path):
    other = tmp_path / ".lockstep-r1"
    other.mkdir()
    (other / "n0").mkdir()
    (other / "n0" / "data.0").write_text("x")
    with Runner(layout, tmp_path) as cleaner:
        cleaner.assign(clean_only=True)
        cleaner.expect("finished")
        cleaner.gone()
    assert (other / "n0" / "data.0").exists()


def test_clean_only_on_a_path_that_is_gone_says_so(layout, tmp_path):
    with Runner(layout, tmp_path / "gone") as cleaner:
        cleaner.assign(clean_only=True)
        assert "does not exist" in cleaner.expect("finished")["left"][0]
        cleaner.gone()


# --- refused ---



@pytest.mark.parametrize("name,fields,says", [
    ("no space", {"need_bytes": 1 << 62}, ["no space", "reserve_percent", "file_size"]),
    ("other type", {"job": {"expect_fs": "gfs2"}}, ["gfs2", "expect_fs"]),
    ("missing path", {"job": {"path": "/nonexistent/lockstep"}}, ["/nonexistent/lockstep", "does not exist"]),
    ("no directory", {"job": {"path": "/etc/passwd"}}, ["/etc/passwd", "Not a directory"]),
    ("unaligned", {"direct_align": 2}, ["2"]),
])
def test_refused_with_a_reason_and_nothing_made(runner, tmp_path, name, fields, says):
    runner.assign(**fields)
    refused = runner.expect("refused")
    assert refused["error"]["step"] == "preflight"
    for word in says:
        assert word in refused["error"]["text"], name
    assert no_file(tmp_path)
    runner.send("abort", run="r1")
    runner.expect("aborted")
    assert runner.finish() == []


def test_a_link_in_the_path_is_refused(layout, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with Runner(layout, tmp_path / "link") as r:
        r.assign()
        text = r.expect("refused")["error"]["text"]
        assert "symbolic link" in text and str(tmp_path / "real") in text
    assert no_file(tmp_path / "real")


def test_a_directory_that_cannot_be_written_is_refused(layout, tmp_path):
    with Runner(layout, "/proc") as r:
        r.assign()
        error = r.expect("refused")["error"]
        assert error["step"] == "prepare" and error["errno_name"]


def test_direct_alignment_is_found(runner, tmp_path):
    volume = runner.prepared(direct_align=1 << 20)["volume"]
    assert volume["dio_align"] >= 512 and volume["dio_source"]
    assert not any("probe" in f for f in runner.files())
    _, done = runner.run_phase(dict(DATA, direct=True))
    assert done["errors"] == 0
    assert runner.finish() == []


# --- what no agent says ---


@pytest.mark.parametrize("name,data", [
    ("garbage", b"\xff\xfe\x00"),
    ("cut", b'{"type":"finish"'),
    ("unknown type", b'{"type":"dance"}'),
    ("not for a runner", b'{"type":"welcome","version":"1","build":"b"}'),
    ("out of order", b'{"type":"arm","epoch":{"run":"r1"},"spec":{"kind":"write"},"node_workers":[1]}'),
    ("assign again", None),
])
@pytest.mark.parametrize("prepared", [False, True])
def test_a_broken_message_ends_it_cleanly(runner, tmp_path, name, data, prepared):
    if data is None and not prepared:
        return
    if prepared:
        runner.prepared()
    if name == "out of order" and prepared:
        data = b'{"type":"go","epoch":{"run":"r1"}}'
    if data is None:
        runner.assign()
    else:
        runner.send_bytes(data)
    assert runner.expect("error")["text"]
    assert runner.receive() is None
    runner.gone(1)
    assert no_file(tmp_path)


def test_a_long_frame_ends_it_cleanly(runner, tmp_path):
    runner.prepared()
    runner.socket.sendall(struct.pack(">I", (1 << 20) + 1))
    runner.expect("error")
    runner.gone(1)
    assert no_file(tmp_path)


def test_workers_that_do_not_fit_the_mapping_are_refused(runner):
    runner.prepared()
    runner.arm(DATA, workers=5)  # the mapping has room for four
    runner.expect("error")
    runner.gone(1)


def test_it_starts_quickly(layout, tmp_path):
    best = min(timed_start(layout, tmp_path) for _ in range(5))
    assert best < 0.2  # generous: 4 ms on an idle machine


def timed_start(layout, path):
    begin = time.monotonic()
    with Runner(layout, path) as r:
        r.prepared()
        took = time.monotonic() - begin
        r.finish()
    return took


# --- a volume of its own ---


@pytest.fixture
def small_volume(root, tmp_path):
    """A mounted ext4 of 64 MiB with spaces in its path: (mount point, device)."""
    image, volume = tmp_path / "image", tmp_path / "small volume"
    volume.mkdir()
    with open(image, "wb") as f:
        f.truncate(64 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    if subprocess.run(["mount", "-o", "loop,noatime", image, volume], check=False).returncode != 0:
        pytest.skip("no loop mounts here")
    device = subprocess.run(["findmnt", "-n", "-o", "SOURCE", volume], check=True, capture_output=True, text=True).stdout.strip()
    try:
        os.rmdir(volume / "lost+found")
        yield volume, device
    finally:
        subprocess.run(["umount", volume], check=True)


def test_the_facts_are_those_of_the_volume(layout, small_volume):
    volume, device = small_volume
    with Runner(layout, volume) as r:
        facts = r.prepared(direct_align=4096)["volume"]
        number = os.stat(device).st_rdev
        assert (facts["fs_type"], facts["source"], facts["mount_point"]) == ("ext4", device, str(volume))
        assert facts["device"] == f"{os.major(number)}:{os.minor(number)}"
        assert "noatime" in facts["mount_options"].split(",")
        vfs = os.statvfs(volume)
        assert facts["total_bytes"] == vfs.f_blocks * vfs.f_frsize
        assert facts["total_inodes"] == vfs.f_files
        assert facts["fs_id"] and facts["dio_align"] in (512, 4096)
        assert r.finish() == []
    assert no_file(volume)


def test_the_reserve_and_the_inodes_count(layout, small_volume):
    volume, _ = small_volume
    free = os.statvfs(volume).f_bavail * os.statvfs(volume).f_frsize
    for job, fields, word in (({"reserve_percent": 50}, {"need_bytes": free * 6 // 10}, "50 %"),
                              ({}, {"need_files": os.statvfs(volume).f_files}, "inodes")):
        with Runner(layout, volume) as r:
            r.assign(job=job, **fields)
            assert word in r.expect("refused")["error"]["text"]
            assert r.finish() == []
    assert no_file(volume)


def test_a_full_volume_fails_the_phase_with_the_place(layout, small_volume):
    volume, _ = small_volume
    with Runner(layout, volume) as r:
        r.prepared()
        _, done = r.run_phase(dict(DATA, file_size=64 * MIB), workers=2)
        assert done["errors"] > 0
        error = done["error_list"][0]
        assert error["errno_name"] == "ENOSPC" and error["call"] and "data" in error["path"]
        assert error["offset"] is not None
        assert r.finish() == []
    assert no_file(volume)


def test_after_a_hang_it_still_cleans_up_for_a_dead_agent(layout, small_volume):
    volume, _ = small_volume
    with Runner(layout, volume) as r:
        r.prepared()
        r.armed(long_phase())
        r.go()
        r.commit()
        while r.worker(0, "ops") == 0:
            time.sleep(0.005)
        subprocess.run(["fsfreeze", "-f", volume], check=True)
        try:
            r.socket.shutdown(socket.SHUT_RDWR)
            with pytest.raises(subprocess.TimeoutExpired):
                r.process.wait(0.5)
        finally:
            subprocess.run(["fsfreeze", "-u", volume], check=True)
        r.gone()
    assert no_file(volume)


def test_a_mount_within_the_directory_is_left_alone(layout, small_volume, tmp_path):
    volume, _ = small_volume
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("x")
    with Runner(layout, volume) as r:
        r.prepared()
        inside = os.path.join(r.run_dir, "n0", "m")
        os.mkdir(inside)
        subprocess.run(["mount", "--bind", tmp_path / "elsewhere", inside], check=True)
        try:
            assert r.finish() != []
        finally:
            subprocess.run(["umount", inside], check=True)
    assert (tmp_path / "elsewhere" / "precious").exists()
    with Runner(layout, volume) as r:
        r.assign(clean_only=True)
        assert r.expect("finished")["left"] == []
    assert no_file(volume)
