"""The phases named after bonnie++ ask the kernel for the same as bonnie++ 2.00 itself: both under strace, call by call.

What a call does counts, not how it says where: a seek and a read are a read at an offset. Preparations before the first
operation are left out on both sides, as they are in neither's time.
"""
import glob
import os
import re
import shutil
import subprocess

import pytest

from cluster import Cluster, wait_for

MIB = 1024 * 1024
CHUNK = 8192
TRACED = "openat,openat2,open,creat,read,write,pread64,pwrite64,lseek,fsync,close"
META = "unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,sync,syncfs,newfstatat,stat,getdents64"

pytestmark = pytest.mark.skipif(shutil.which("bonnie++") is None, reason="bonnie++ is not installed")


class Files:
    """Follows one process's descriptors and turns what it does with data files into (what, offset, bytes)."""

    def __init__(self, is_data):
        self.is_data = is_data
        self.position = {}

    def call(self, line):
        """The operation of a finished call, or None."""
        m = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", line)
        if not m or int(m.group(3)) < 0:
            return None
        name, words, result = m.group(1), m.group(2), int(m.group(3))
        if name in ("openat", "openat2", "open"):
            if self.is_data(words):
                self.position[result] = 0
            return None
        fd = re.match(r"\d+", words)
        fd = int(fd.group(0)) if fd else None
        if fd not in self.position:
            return None
        if name == "lseek":
            self.position[fd] = result
        elif name in ("read", "write"):
            at = self.position[fd]
            self.position[fd] += result
            return (name, at, result) if result else None
        elif name in ("pread64", "pwrite64"):
            return (name[1:-2], int(words.rsplit(", ", 1)[1]), result)
        elif name == "fsync":
            return ("fsync", None, 0)
        elif name == "close":
            del self.position[fd]
            return ("close", None, 0)
        return None


def joined(text):
    """Lines of strace -f without their process, torn calls put together; in the order in which they began."""
    torn, lines = {}, []
    for line in text.splitlines():
        m = re.match(r"(\d+)\s+(.*)", line)
        if not m:
            continue
        pid, rest = m.groups()
        if rest.endswith("<unfinished ...>"):
            torn[pid] = (len(lines), rest[:-len("<unfinished ...>")].rstrip())
            lines.append(None)
        elif rest.startswith("<... ") and pid in torn:
            place, begin = torn.pop(pid)
            lines[place] = (pid, begin + re.sub(r"<\.\.\. \w+ resumed>", "", rest))
        else:
            lines.append((pid, rest))
    return [line for line in lines if line]


def bonnie_run(directory, trace, *options, traced=f"{TRACED},{META}"):
    me = ["-u", "root"] if os.geteuid() == 0 else []
    subprocess.run(["strace", "-f", "-qq", "-s", "40", "-e", f"trace={traced}",
                    "-o", trace, "bonnie++", *me, "-d", directory, "-r", "0", *options],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    with open(trace, encoding="utf-8", errors="replace") as f:
        return joined(f.read())


def bonnie_data_phases(lines):
    """{message: [operations]} in the order of bonnie++'s own announcements."""
    phases, current = {}, None
    files = Files(lambda words: "/Bonnie." in words)
    for _, line in lines:
        m = re.match(r"write\(2, \"([A-Z][a-z][^\"]*)\.\.\.", line)
        if m:
            current = phases.setdefault(m.group(1), [])
        elif "start 'em" in line:
            current = phases.setdefault("seeks", [])
        op = files.call(line)
        if op and current is not None:
            current.append(op)
    return phases


def lockstep_run(tmp_path, phases):
    """Per phase and worker: the operations from the first on data to the close; and the results."""
    for attempt in range(5):
        trace = str(tmp_path / f"lockstep{attempt}")
        wrap = {"node1": ["strace", "-ff", "-qq", "-s", "0", "-e", f"trace={TRACED}", "-o", trace]}
        with Cluster(nodes=1, wrap=wrap) as cluster:
            cluster.start()
            status, results, done = cluster.run({"workers": 1, "short_phases": True, "phases": phases})
            assert status == 0, done.stderr
            cluster.terminate_agent("node1")
        if not any(p["attempts"] for p in results["phases"]):
            break
    else:
        pytest.skip("this machine is too busy: attempts were void in each of five runs")
    workers = []
    for path in sorted(glob.glob(f"{trace}.*")):
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if "/data\"" not in text:
            continue
        files, found, current = Files(lambda words: "/data\"" in words), [], []
        for line in text.splitlines():
            op = files.call(line)
            if op is None:
                continue
            if op[0] == "fsync" and not current:
                continue
            if op[0] == "close":
                if current:
                    found.append(current + [op])
                current = []
            else:
                current.append(op)
        workers.append(found)
    return workers, results


def file_calls(lines):
    """What is done to small files and their directories, without names: [(what, bytes or None)]; a directory is read in one go."""
    calls, files = [], {}
    for line in lines:
        m = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", line)
        if not m or int(m.group(3)) < 0:
            continue
        name, words, result = m.group(1), m.group(2), int(m.group(3))
        fd = re.match(r"(\d+)(?:,|$)", words)
        fd = int(fd.group(1)) if fd else None
        path = re.search(r"\"([^\"]*)\"", words)
        ours = path and re.fullmatch(r"(?:\d{5}/)?[0-9a-zA-Z]{10,22}", path.group(1))
        folder = path and re.fullmatch(r"\d{5}|\.", path.group(1))
        if name == "openat" and (ours or folder):
            files[result] = name
            calls.append(("open " + " ".join(sorted(set(re.findall(r"O_CREAT|O_EXCL|O_DIRECTORY|O_WRONLY", words)))), None))
        elif name in ("read", "write", "close", "fsync") and fd in files:
            calls.append((name, result if name in ("read", "write") else None))
            if name == "close":
                del files[fd]
        elif name in ("newfstatat", "stat") and ours:
            calls.append(("stat", None))
        elif name in ("unlink", "unlinkat", "rmdir") and (ours or folder or re.search(r"Bonnie\.|b\.0", words)):
            calls.append(("rmdir" if name == "rmdir" or "AT_REMOVEDIR" in words else "unlink", None))
        elif name in ("link", "linkat", "symlink", "symlinkat") and path:
            calls.append((name.replace("at", ""), None))
        elif name in ("sync", "syncfs"):
            calls.append(("sync", None))
    return calls


def cut_out(calls, first, last):
    """From the first of such calls to the last of those."""
    begin = next(i for i, c in enumerate(calls) if c[0] == first)
    end = max(i for i, c in enumerate(calls) if c[0] == last)
    return calls[begin:end + 1]


@pytest.mark.parametrize("order", ["sequential", "random"])
@pytest.mark.parametrize("spec", ["1:100:100:3", "1:9000:9000:1", "1:-1:0:1"])
def test_small_files_are_those_of_bonnie(tmp_path, order, spec):
    volume = tmp_path / "bonnie"
    volume.mkdir()
    lines = [line for _, line in bonnie_run(volume, tmp_path / "bonnie.trace", "-s", "0", "-n", spec)]
    _, size, least, directories = (int(n) for n in spec.split(":"))
    marks = [i for i, line in enumerate(lines) if re.match(r"write\(2, \"(done\.\\n)?(Create|Stat|Delete) files in", line)] + [len(lines)]
    theirs = [file_calls(lines[marks[i]:marks[i + 1]]) for i in ((0, 1, 2) if order == "sequential" else (3, 4, 5))]

    phases = [{"kind": f"bonnie-{k}", "files": 1024, "size": max(size, 0), "min_size": least, "directories": directories, "record_size": CHUNK,
               "order": order, "links": "hard" if size < 0 else "none"} for k in ("create", "stat", "delete")]
    for attempt in range(5):
        trace = str(tmp_path / f"lockstep{attempt}")
        wrap = {"node1": ["strace", "-ff", "-qq", "-s", "40", "-e", f"trace={TRACED},{META}", "-o", trace]}
        with Cluster(nodes=1, wrap=wrap) as cluster:
            cluster.start()
            status, results, done = cluster.run({"workers": 1, "short_phases": True, "phases": phases})
            assert status == 0, done.stderr
            cluster.terminate_agent("node1")
        if not any(p["attempts"] for p in results["phases"]):
            break
    else:
        pytest.skip("this machine is too busy: attempts were void in each of five runs")
    texts = [open(path, encoding="utf-8", errors="replace").read() for path in glob.glob(f"{trace}.*")]
    worker = [text for text in texts if "unlinkat(" in text and "0000000000" in text]
    assert len(worker) == 1
    ours = file_calls(worker[0].splitlines())

    # the whole work of the three phases in one row; only the untimed syncs at their ends are lockstep's own
    wanted = cut_out(theirs[0], "open O_CREAT O_EXCL O_WRONLY", "sync") + theirs[1] + cut_out(theirs[2], theirs[2][0][0], "sync")
    got = cut_out(ours, "open O_CREAT O_EXCL O_WRONLY", "sync")
    assert len(wanted) > 3 * 1024  # a call for each of 1,024 files in each phase, and more with files that are no links
    assert without_repeated_syncs(got) == without_repeated_syncs(wanted)
    for phase in results["phases"]:
        assert phase["aggregate"]["ops"] == 1024


def without_repeated_syncs(calls):
    return [c for i, c in enumerate(calls) if not (i > 0 and c[0] == calls[i - 1][0] == "sync")]


def from_first_operation(ops):
    first = next(i for i, op in enumerate(ops) if op[0] in ("read", "write"))
    return ops[first:]


def test_block_phases_are_those_of_bonnie(tmp_path):
    volume = tmp_path / "bonnie"
    volume.mkdir()
    theirs = bonnie_data_phases(bonnie_run(volume, tmp_path / "bonnie.trace", "-s", f"2:{CHUNK}:1:1", "-n", "0", "-f"))
    kinds = {"Writing intelligently": "block-out", "Rewriting": "bonnie-rewrite", "Reading intelligently": "block-in"}
    workers, _ = lockstep_run(tmp_path, [{"kind": k, "file_size": 2 * MIB, "record_size": CHUNK, "layout": "node"} for k in kinds.values()])
    assert len(workers) == 1
    assert len(workers[0]) == len(kinds)
    for (message, kind), ours in zip(kinds.items(), workers[0]):
        assert from_first_operation(theirs[message]) == ours, kind


def test_new_files_are_made_before_the_time(tmp_path):
    """bonnie++ removes its file and makes it anew (O_EXCL) before it reads its clock; lockstep so before the worker sleeps up to the start."""
    volume = tmp_path / "bonnie"
    volume.mkdir()
    lines = [line for _, line in bonnie_run(volume, tmp_path / "bonnie.trace", "-s", f"1:{CHUNK}:1:1", "-n", "0", "-f", traced="unlink,openat,getrusage,write")]
    theirs = [re.match(r"\w+", line).group(0) for line in lines
              if re.match(r"unlink\(\"./Bonnie|openat\(.*Bonnie.*O_CREAT\|O_EXCL|getrusage|write\([3-9]", line)]
    theirs = [name for i, name in enumerate(theirs) if i == 0 or name != theirs[i - 1]]
    written = theirs.index("write")
    assert theirs[written - 3:written] == ["unlink", "openat", "getrusage"]

    trace = str(tmp_path / "lockstep")
    phases = [{"kind": k, "file_size": 4 * CHUNK, "record_size": CHUNK} for k in ("char-write", "block-out")]
    with Cluster(nodes=1, wrap={"node1": ["strace", "-ff", "-qq", "-s", "40", "-e", "trace=openat2,unlinkat,clock_nanosleep,pwrite64,write", "-o", trace]}) as cluster:
        cluster.start()
        status, _, done = cluster.run({"workers": 1, "short_phases": True, "phases": phases})
        assert status == 0, done.stderr
        cluster.terminate_agent("node1")
    texts = [open(path, encoding="utf-8", errors="replace").read() for path in glob.glob(f"{trace}.*")]
    worker, = [text for text in texts if "O_EXCL" in text and "data.0" in text and "clock_nanosleep" in text]
    calls = [re.match(r"\w+", line).group(0) for line in worker.splitlines()
             if re.match(r"unlinkat\(\d+, \"data.0\"|openat2\(.*data.0.*O_CREAT\|O_EXCL|clock_nanosleep|p?write(64)?\(", line)]
    once = [name for i, name in enumerate(calls) if i == 0 or name != calls[i - 1]]
    start = ["unlinkat", "openat2", "clock_nanosleep"]
    first, second = once.index("write"), once.index("pwrite64")
    assert once[:3] == start and first == 3
    assert once[second - 3:second] == start


def test_characters_are_those_of_bonnie(tmp_path):
    """bonnie++ cannot do less than 1 MiB, which takes minutes under strace: its beginning is enough."""
    volume = tmp_path / "bonnie"
    volume.mkdir()
    trace, enough = tmp_path / "bonnie.trace", 20000
    me = ["-u", "root"] if os.geteuid() == 0 else []
    with subprocess.Popen(["strace", "-f", "-qq", "-s", "40", "-e", f"trace={TRACED}", "-o", trace, "bonnie++", *me, "-d", volume,
                           "-r", "0", "-s", f"1:{CHUNK}:1:1", "-n", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as bonnie:
        wait_for("a trace of bonnie++", lambda: os.path.exists(trace) and os.path.getsize(trace) > 40 * enough, 60)
        bonnie.terminate()
    with open(trace, encoding="utf-8", errors="replace") as f:
        lines = joined(f.read())
    theirs = from_first_operation(bonnie_data_phases(lines)["Writing a byte at a time"])
    size = 2 * CHUNK + 100
    workers, results = lockstep_run(tmp_path, [{"kind": k, "file_size": size, "record_size": CHUNK, "layout": "node"} for k in ("char-write", "char-read")])
    written, read = workers[0]
    assert written[:-2] == theirs[:size]
    assert written[-2:] == read[-2:] == [("fsync", None, 0), ("close", None, 0)]
    assert [("write", *op[1:]) for op in read[:-2]] == written[:-2], "read as it was written"
    assert [p["aggregate"]["ops"] for p in results["phases"]] == [3, 3], "an operation is a chunk's worth of bytes"


def shape(ops):
    """A seeker's operations: read, or an update of the same chunk, then the end."""
    i, reads, updates = 0, 0, 0
    while ops[i][0] == "read":
        assert ops[i][1] % CHUNK == 0 and ops[i][2] == CHUNK
        if ops[i + 1][0] == "write":
            assert ops[i + 1][1:] == ops[i][1:], "an update writes what it read"
            updates += 1
            i += 2
        else:
            reads += 1
            i += 1
    return reads, updates, [op[0] for op in ops[i:]]


def test_seeks_are_those_of_bonnie(tmp_path):
    volume = tmp_path / "bonnie"
    volume.mkdir()
    seeks, seekers = 600, 3
    lines = bonnie_run(volume, tmp_path / "bonnie.trace", "-s", f"2:{CHUNK}:{seeks}:{seekers}", "-n", "0", "-f")
    begin = next(i for i, (_, line) in enumerate(lines) if "Reading intelligently" in line)
    per_thread = {}
    files = Files(lambda words: "/Bonnie." in words)
    for pid, line in lines[begin:]:
        op = files.call(line)
        if op and pid != lines[0][0]:
            per_thread.setdefault(pid, []).append(op)
    theirs = [shape(ops) for ops in per_thread.values()]
    workers, results = lockstep_run(tmp_path, [{"kind": "seeks", "file_size": 2 * MIB, "record_size": CHUNK, "layout": "node", "seeks": seeks, "workers": seekers}])
    ours = [shape(phase) for worker in workers for phase in worker if phase[0][0] == "read"]
    assert sum(r + u for r, u, _ in theirs) == sum(r + u for r, u, _ in ours) == seeks
    assert {tuple(end) for _, _, end in theirs} == {tuple(end) for _, _, end in ours} == {("fsync", "close")}
    for side in (theirs, ours):
        assert 0.05 * seeks < sum(u for _, u, _ in side) < 0.16 * seeks, "one of ten updates, at random"
    by_op = results["phases"][0]["aggregate"]["by_op"]
    assert by_op["read"]["ops"] + by_op["update"]["ops"] == seeks
    assert by_op["update"]["ops"] == sum(u for _, u, _ in ours)
