"""What goes wrong or is out of the ordinary on a volume: each case ends correct, or is refused or fails with a reason that names it."""
import contextlib
import os
import subprocess
import time

import pytest

from cluster import Cluster, bare_chroot, wait_for

KIB = 1024
MIB = 1024 * KIB


@contextlib.contextmanager
def mounted(directory, *words):
    """mount with these words; unmounted at the end."""
    os.makedirs(directory, exist_ok=True)
    subprocess.run(["mount", *words, directory], check=True)
    try:
        yield str(directory)
    finally:
        wait_for("the volume unmounted: nothing holds it", lambda: subprocess.run(["umount", directory], check=False,
                 stderr=subprocess.DEVNULL).returncode == 0 or not os.path.ismount(directory))


@contextlib.contextmanager
def looped(image, size, *losetup):
    with open(image, "wb") as f:
        f.truncate(size)
    loop = subprocess.run(["losetup", "-f", "--show", *losetup, image], check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield loop
    finally:
        subprocess.run(["losetup", "-d", loop], check=False)


@contextlib.contextmanager
def cluster_on(volume, nodes=3):
    with Cluster(nodes=nodes, volume=volume) as cluster:
        cluster.start()
        yield cluster


def data_files(cluster):
    return [os.path.join(cluster.volume, f) for f in cluster.files() if "data" in os.path.basename(f)]


def failed(results, words):
    """The run failed in its last phase, and the error of some node has these words."""
    assert results["run"]["state"] == "failed"
    texts = [e["text"] for n in results["phases"][-1]["nodes"] for e in n.get("error_list", [])] + [results["run"].get("error", "") or ""]
    assert any(all(w in t for w in words) for t in texts), texts


# --- no space in the middle of each writing phase ---

OVERWRITING = ["rewrite", "random-write", "record-rewrite", "fwrite", "frewrite", "pwrite", "re-pwrite", "mixed", "bonnie-rewrite", "seeks"]
CREATING = [{"kind": "write"}, {"kind": "write", "layout": "shared"}, {"kind": "write", "layout": "interleaved"},
            {"kind": "write", "files_per_worker": 20, "directories": 3, "file_size": "64KiB", "record_size": "16KiB"},
            {"kind": "write", "engine": "io_uring", "depth": 4}, {"kind": "write", "engine": "libaio", "depth": 4},
            {"kind": "write", "engine": "mmap"}, {"kind": "block-out"}, {"kind": "char-write", "semantics": "1.03"},
            {"kind": "create", "files": 200, "size": "16KiB"}, {"kind": "bonnie-create", "files": 200, "size": "16KiB", "min_size": "16KiB"}]


def fill(volume, leave):
    """A file that takes all of the volume but so much."""
    free = os.statvfs(volume)
    with open(os.path.join(volume, "filler"), "wb") as f:
        os.posix_fallocate(f.fileno(), 0, max(free.f_bavail * free.f_frsize - leave, 1))


@pytest.fixture(scope="module", name="small")
def make_small(tmp_path_factory):
    """Three agents on a volume of 16 MiB, for all cases."""
    if os.geteuid() != 0 or bare_chroot():
        pytest.skip("needs root and mounts")
    with mounted(tmp_path_factory.mktemp("small"), "-t", "tmpfs", "-o", "size=16M", "none") as volume, cluster_on(volume) as cluster:
        yield cluster


def no_space_in(cluster, before, phase, prepare):
    """While the first phase goes on, the volume is made full; the second one meets that."""
    sizes = {} if "files" in phase else {"file_size": "1MiB", "record_size": "16KiB"}
    run = cluster.start_run({"workers": 1, "reserve_percent": 0, "short_phases": True, "phases": [
        {"kind": "read", "record_size": "4KiB", "time": "1s", **before}, {**sizes, **phase}]})
    try:
        wait_for("the first phase under way", lambda: b"phase 1 of 2 begins" in line_of(run))
        prepare()
        out, errors = run.communicate(timeout=60)
        assert run.returncode == 1, (out, errors)
        results = cluster.export()
    finally:
        filler = os.path.join(cluster.volume, "filler")
        if os.path.exists(filler):
            os.unlink(filler)
    assert results["phases"][0]["state"] == "done"
    failed(results, ["No space left on device", cluster.volume])
    errors = [e for n in results["phases"][-1]["nodes"] for e in n.get("error_list", [])]
    assert any(e["errno_name"] == "ENOSPC" and e["path"].startswith(cluster.volume) for e in errors), errors
    wait_for("all removed", lambda: cluster.files() == [])


def line_of(process):
    return process.stderr.readline().encode()


@pytest.mark.parametrize("kind", OVERWRITING)
def test_no_space_while_overwriting(small, kind):
    def prepare():
        files = data_files(small)
        assert len(files) == 3
        for name in files:
            with open(name, "r+b") as f:  # its blocks go, its size stays
                subprocess.run(["fallocate", "-p", "-o", "0" if kind == "record-rewrite" else str(128 * KIB), "-l", "2M", name], check=True)
                assert f.seek(0, 2) == MIB
        fill(small.volume, 64 * KIB if kind != "record-rewrite" else 8 * KIB)
    more = {"seeks": 2000} if kind == "seeks" else {"read_percent": 10} if kind == "mixed" else {}
    no_space_in(small, {"file_size": "1MiB"}, {"kind": kind, **more}, prepare)


@pytest.mark.parametrize("phase", CREATING, ids=lambda p: "-".join(str(v) for v in p.values()))
def test_no_space_while_creating(small, phase):
    no_space_in(small, {"file_size": "4KiB", "layout": "node"}, phase, lambda: fill(small.volume, 512 * KIB))


def test_no_space_on_ext4(root, tmp_path):
    with looped(tmp_path / "image", 32 * MIB) as loop:
        subprocess.run(["mkfs.ext4", "-q", "-F", loop], check=True)
        with mounted(tmp_path / "mnt", loop) as volume, cluster_on(volume) as cluster:
            no_space_in(cluster, {"file_size": "4KiB", "layout": "node"}, {"kind": "write"}, lambda: fill(volume, 256 * KIB))


def test_too_little_space_is_refused_before(small):
    status, _, done = small.run({"workers": 4, "phases": [{"kind": "write", "file_size": "4MiB"}]})
    assert status == 3 and "space" in done.stderr or "free" in done.stderr
    assert small.files() == []


# --- the device fails ---

def test_an_error_of_the_device_is_told(root, tmp_path):
    """A loop device whose image was cut gives EIO for what lay there."""
    image = tmp_path / "image"
    with looped(image, 64 * MIB) as loop:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", loop], check=True)
        with mounted(tmp_path / "mnt", loop) as volume, cluster_on(volume, 1) as cluster:
            run = cluster.start_run({"workers": 1, "reserve_percent": 0, "short_phases": True, "phases": [
                {"kind": "read", "file_size": "32MiB", "record_size": "64KiB", "direct": True, "time": "20s"}]})
            wait_for("the phase under way", lambda: b"phase 1 of 1 begins" in line_of(run))
            kept = image.read_bytes()
            os.truncate(image, 4 * MIB)
            run.communicate(timeout=60)
            results = cluster.export()
            image.write_bytes(kept)  # so that it can be unmounted
            assert run.returncode == 1
            failed(results, ["/n0/data.0", "pread", "Input/output error"])
            error = results["phases"][0]["nodes"][0]["error_list"][0]
            assert error["errno_name"] == "EIO" and error["offset"] % (64 * KIB) == 0


# --- files that are not as they were ---

def test_a_file_cut_while_it_is_read(cluster):
    run = cluster.start_run({"workers": 1, "short_phases": True, "phases": [
        {"kind": "read", "file_size": "1MiB", "record_size": "4KiB", "time": "20s"}]})
    wait_for("the phase under way", lambda: b"phase 1 of 1 begins" in line_of(run))
    for name in data_files(cluster):
        os.truncate(name, 300 * KIB)
    run.communicate(timeout=60)
    assert run.returncode == 1
    results = cluster.export()
    failed(results, ["pread at 307200", "the file ends there"])


def test_a_file_cut_between_phases_is_laid_out_again(cluster):
    run = cluster.start_run({"workers": 1, "short_phases": True, "phases": [
        {"kind": "read", "file_size": "256KiB", "record_size": "4KiB", "layout": "node", "time": "1s"},
        {"kind": "read", "file_size": "1MiB", "record_size": "4KiB"}, {"kind": "pread", "file_size": "64KiB", "layout": "node", "time": "1500ms"},
        {"kind": "read", "file_size": "1MiB", "record_size": "4KiB"}]})
    wait_for("the third phase under way", lambda: b"phase 3 of 4 begins" in line_of(run))
    for name in data_files(cluster):
        if name.endswith("data.0"):
            os.truncate(name, 300 * KIB)
    run.communicate(timeout=60)
    assert run.returncode == 0
    for phase in cluster.export()["phases"][1::2]:
        assert phase["aggregate"]["bytes"] == 3 * MIB


REFUSED = [
    ({"kind": "write", "file_size": 0}, "file_size: must be at least one byte"),
    ({"kind": "read", "file_size": "4KiB", "record_size": "8KiB"}, "record_size: 8192 is larger than file_size"),
    ({"kind": "create", "files": 0}, "files: must be at least one"),
    ({"kind": "write", "record_size": 47008, "file_size": "1MiB", "direct": True}, "record_size: 47008 is not a multiple of 512"),
    ({"kind": "write", "file_size": "64KiB", "record_size": "16KiB", "layout": "shared", "workers": 2}, "are 4 records, too few for 6 workers"),
    ({"kind": "write", "file_size": "64KiB", "record_size": "16KiB", "layout": "interleaved", "workers": 2}, "too few for 6 workers"),
]


@pytest.mark.parametrize("phase,words", REFUSED, ids=[r[1][:30] for r in REFUSED])
def test_what_cannot_be_is_refused_with_the_reason(cluster, phase, words):
    status, _, done = cluster.run({"phases": [phase]})
    assert status in (1, 2, 3) and words in done.stderr + done.stdout, done.stderr
    wait_for("nothing left", lambda: cluster.files() == [])


# --- sizes ---

@pytest.mark.parametrize("record", [1, 3, 4095, 47008])
@pytest.mark.parametrize("layout", ["worker", "shared", "interleaved"])
def test_odd_record_sizes(cluster, record, layout):
    size = record * 41 + record // 2
    phases = [{"kind": kind, "file_size": size, "record_size": record, "layout": layout} for kind in ("write", "random-read", "rewrite", "backward-read")]
    status, results, done = cluster.run({"workers": 2, "short_phases": True, "keep_files": True, "phases": phases})
    assert status == 0, done.stderr
    files = data_files(cluster)
    assert [os.path.getsize(f) for f in files] == [size] * (6 if layout == "worker" else 1)
    per_file = size // record + (size % record > 0)
    for phase in results["phases"]:
        assert phase["aggregate"]["bytes"] == size * len(files) and phase["aggregate"]["ops"] == per_file * len(files)


@pytest.mark.parametrize("engine", ["sync", "mmap", "io_uring"])
def test_offsets_beyond_2_to_the_40(root, tmp_path, engine):
    """A sparse file of 3 TiB: each of three nodes writes the first records of its segment."""
    size, amount = 3 << 40, 256 * KIB
    with mounted(tmp_path / "huge", "-t", "tmpfs", "-o", "size=16T", "none") as volume, cluster_on(volume) as cluster:
        status, results, done = cluster.run({"workers": 1, "short_phases": True, "keep_files": True, "phases": [
            {"kind": "write", "layout": "shared", "file_size": size, "record_size": "64KiB", "amount": amount, "engine": engine}]})
        assert status == 0, done.stderr
        assert results["phases"][0]["aggregate"]["bytes"] == 3 * amount
        [name] = data_files(cluster)
        with open(name, "rb") as f:
            at, found = 0, []
            while True:
                try:
                    at = os.lseek(f.fileno(), at, os.SEEK_DATA)
                except OSError:
                    break
                end = os.lseek(f.fileno(), at, os.SEEK_HOLE)
                found.append((at, end - at))
                at = end
            assert found == [(i << 40, amount) for i in range(3)]
            for i in range(3):  # each block says where it belongs
                f.seek((i << 40) + 4096)
                assert (((i << 40) + 4096).to_bytes(8, "little")) in f.read(64)


def test_a_device_of_more_than_2_to_the_40(root, tmp_path):
    with looped(tmp_path / "image", 3 << 40) as loop:
        with Cluster(settings={f"node{i}": {"raw_devices": [loop]} for i in (1, 2, 3)}) as cluster:
            cluster.start()
            status, results, done = cluster.run({"workers": 1, "short_phases": True, "phases": [
                {"kind": "random-read", "device": loop, "direct": True, "file_size": 3 << 40, "record_size": "4KiB", "amount": "4MiB", "layout": "shared"}]})
            assert status == 0, done.stderr
            assert results["phases"][0]["aggregate"]["bytes"] == 12 * MIB


# --- what a device or a file system asks of direct I/O ---

def test_sectors_of_4096_bytes(root, tmp_path):
    with looped(tmp_path / "image", 64 * MIB, "--sector-size", "4096") as loop:
        subprocess.run(["mkfs.ext4", "-q", "-F", loop], check=True)
        with mounted(tmp_path / "mnt", loop) as volume, cluster_on(volume) as cluster:
            phase = {"kind": "write", "file_size": "64KiB", "direct": True}
            status, _, done = cluster.run({"phases": [{**phase, "record_size": 512}]})
            assert status == 3 and "direct I/O needs 4096-byte alignment" in done.stderr, done.stderr
            assert cluster.files() == []
            status, results, done = cluster.run({"short_phases": True, "phases": [{**phase, "record_size": 4096}]})
            assert status == 0 and results["phases"][0]["aggregate"]["bytes"] == 3 * 64 * KIB, done.stderr


def test_direct_on_tmpfs_works_or_says_why_not(small):
    name = os.path.join(small.volume, "try")
    try:
        os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_DIRECT))
        possible = True
    except OSError:
        possible = False
    os.unlink(name)
    status, results, done = small.run({"short_phases": True, "reserve_percent": 0, "phases": [
        {"kind": "write", "file_size": "64KiB", "record_size": "4KiB", "direct": True}]})
    if possible:
        assert status == 0 and results["phases"][0]["aggregate"]["bytes"] == 3 * 64 * KIB, done.stderr
    else:
        assert status == 3 and "direct" in done.stderr, done.stderr


def test_512_workers(cluster):
    began = time.monotonic()
    status, results, done = cluster.run({"workers": 512, "short_phases": True, "nodes": ["node1"], "phases": [
        {"kind": "write", "file_size": "16KiB", "record_size": "4KiB"}, {"kind": "random-read", "file_size": "16KiB", "record_size": "4KiB"},
        {"kind": "rewrite", "file_size": "8MiB", "record_size": "4KiB", "layout": "interleaved"}]}, timeout=300)
    assert status == 0, (done.stderr, time.monotonic() - began)
    assert [p["aggregate"]["ops"] for p in results["phases"]] == [2048, 2048, 2048]
    assert all(len(p["nodes"][0]["workers"]) == 512 for p in results["phases"])
