"""The root helper as a program: what it refuses, a real drop of caches, a real unmount and mount."""
import os
import socket
import subprocess

import pytest
from cluster import program, wait_for
from loopvolume import LoopVolume, cached_bytes, missing
from roothelper import RootHelper

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the helper is root's")


def test_it_does_nothing_unless_told(folder):
    with RootHelper(folder, []) as helper:
        assert helper.ask("status") == "ok\ndrop_caches no\nheartbeat no\n"
        for packet, word in (("drop-caches", "drop_caches"), ("heartbeat", "heartbeat"), ("remount /", "remount"), ("exec id", "none that")):
            assert helper.ask(packet).startswith("no\n") and word in helper.ask(packet)


def test_hostile_packets(folder):
    with RootHelper(folder, ["drop_caches = no"]) as helper:
        answers = helper.ask("A" * 60000, "\0\0\0", "remount /etc\0/mnt", "remount " + "/a" * 2000, "status")
    assert [a.split("\n")[0] for a in answers] == ["no", "no", "no", "no", "ok"]


def test_only_root_and_the_user_of_the_configuration_are_served(folder):
    ask = ("import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); s.send(b'status');"
           "print(s.recv(9999).decode())")
    with RootHelper(folder, ["user = nobody"]) as helper:
        os.chmod(helper.socket, 0o666)
        as_user = {who: subprocess.run(["setpriv", f"--reuid={who}", "--clear-groups", "/usr/bin/python3", "-c", ask, helper.socket],
                                       capture_output=True, text=True, check=False).stdout for who in ("nobody", "daemon")}
        assert as_user["nobody"].startswith("ok")
        assert not as_user["daemon"].startswith("ok")
        wait_for("the refusal in the log", lambda: "neither root nor nobody" in helper.said())


def test_a_configuration_that_others_can_change_is_none(folder):
    with RootHelper(folder, ["drop_caches = yes"]) as helper:
        os.chmod(helper.config, 0o666)
        assert helper.ask("status") is None
        os.chmod(helper.config, 0o644)
        assert helper.ask("status").startswith("ok")
        assert "others than root may write to it" in helper.said()


def test_without_a_connection_it_says_what_starts_it(folder):
    done = subprocess.run([program("lockstep-helper"), "--config", "/dev/null"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "lockstep-helper.socket" in done.stderr


def test_configuration_is_checked_and_printed(folder):
    path = os.path.join(folder, "helper.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[helper]\nremount = /mnt/shared\ndrop_caches = yes\n")
    helper = program("lockstep-helper")
    assert subprocess.run([helper, "--config", path, "--check-config"], capture_output=True, check=False).returncode == 0
    printed = subprocess.run([helper, "--config", path, "--print-config"], capture_output=True, text=True, check=True).stdout
    assert "\ndrop_caches = yes\n" in printed and "\nremount = /mnt/shared\n" in printed and "\nheartbeat = no\n" in printed
    done = subprocess.run([helper, "--config", path, "--set", "remount=mnt", "--check-config"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "remount: mnt" in done.stderr


@pytest.mark.skipif(not os.access("/proc/sys/vm/drop_caches", os.W_OK), reason="no right to drop caches here")
def test_caches_are_really_dropped(folder):
    path = os.path.join(folder, "data")
    with open(path, "wb") as f:
        f.write(os.urandom(4 << 20))
        f.flush()
        os.fsync(f.fileno())
    if cached_bytes(path) == 0:
        pytest.skip("files are not cached here")
    with RootHelper(folder, ["drop_caches = yes"]) as helper:
        assert helper.ask("status").startswith("ok\ndrop_caches yes\n")
        assert helper.ask("drop-caches") == "ok"
    assert cached_bytes(path) == 0


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
class TestRemount:
    def test_it_unmounts_and_mounts_what_is_named(self, folder):
        with LoopVolume(folder) as volume, RootHelper(os.path.join(folder, "h"), [f"remount = {volume.path}", f"fstab = {volume.fstab}"]) as helper:
            path = os.path.join(volume.path, "data")
            with open(path, "wb") as f:
                f.write(b"x" * (1 << 20))
            assert cached_bytes(path) == 1 << 20
            assert helper.ask(f"remount {volume.path}") == "ok"
            assert len(volume.mounts()) == 1
            assert cached_bytes(path) == 0
            with open(path, "rb") as f:
                assert f.read() == b"x" * (1 << 20)

    def test_one_in_use_stays_as_it_is(self, folder):
        with LoopVolume(folder) as volume, RootHelper(os.path.join(folder, "h"), [f"remount = {volume.path}", f"fstab = {volume.fstab}"]) as helper:
            before = volume.mounts()
            with open(os.path.join(volume.path, "open"), "wb"):
                answer = helper.ask(f"remount {volume.path}")
            assert answer.startswith("no\n") and "busy" in answer
            assert volume.mounts() == before

    def test_refusals(self, folder):
        link = os.path.join(folder, "link")
        with LoopVolume(folder) as volume:
            os.symlink(volume.path, link)
            lines = [f"remount = {volume.path}", f"remount = {link}", "remount = /proc", f"fstab = {volume.fstab}"]
            with RootHelper(os.path.join(folder, "h"), lines) as helper:
                before = volume.mounts()
                for path, word in ((volume.path + "/", "not named"), (volume.path + "/lost+found", "not named"), ("/", "not named"),
                                   (link, "symbolic link"), ("/proc", "0 entries")):
                    answer = helper.ask(f"remount {path}")
                    assert answer.startswith("no\n") and word in answer, (path, answer)
                # of another type than fstab says
                with open(volume.fstab, "w", encoding="utf-8") as f:
                    f.write(f"none {volume.path} tmpfs rw 0 0\n")
                assert "ext4 is mounted there" in helper.ask(f"remount {volume.path}")
                os.chmod(volume.fstab, 0o666)
                assert "others than root may write" in helper.ask(f"remount {volume.path}")
                assert volume.mounts() == before

    def test_other_options_than_before_are_told(self, folder):
        with LoopVolume(folder) as volume, RootHelper(os.path.join(folder, "h"), [f"remount = {volume.path}", f"fstab = {volume.fstab}"]) as helper:
            subprocess.run(["mount", "-o", "remount,noatime", volume.path], check=True)
            answer = helper.ask(f"remount {volume.path}")
            assert answer.startswith("no\n") and "was mounted with" in answer
            assert len(volume.mounts()) == 1

    def test_one_that_cannot_be_mounted_again_is_named_loudly(self, folder):
        with LoopVolume(folder) as volume, RootHelper(os.path.join(folder, "h"), [f"remount = {volume.path}", f"fstab = {volume.fstab}"]) as helper:
            with open(volume.fstab, encoding="utf-8") as f:
                line = f.read()
            with open(volume.fstab, "w", encoding="utf-8") as f:
                f.write(line.replace("/image ", "/no-image "))
            answer = helper.ask(f"remount {volume.path}")
            assert answer.startswith("no\n") and "NOT MOUNTED any more" in answer
            assert volume.mounts() == []

    def test_not_from_a_mount_namespace_of_its_own(self, folder):
        unshare = ["unshare", "--mount", "--propagation", "slave"]
        if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode != 0:
            pytest.skip("no mount namespaces here")
        with LoopVolume(folder) as volume:
            # what is shared with nobody has no master: make it so, as systemd does with all mounts
            if subprocess.run(["mount", "--make-shared", volume.path], check=False, capture_output=True).returncode != 0:
                pytest.skip("mounts cannot be shared here")
            lines = [f"remount = {volume.path}", f"fstab = {volume.fstab}"]
            with RootHelper(os.path.join(folder, "h"), lines, wrap=unshare) as helper:
                before = volume.mounts()
                answer = helper.ask(f"remount {volume.path}")
            assert answer.startswith("no\n") and "lockstep-helper-remount.conf" in answer
            assert volume.mounts() == before


def test_sockets_of_another_kind_are_refused(folder):
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    start = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
             "os.execv(sys.argv[2], sys.argv[2:])")
    done = subprocess.run(["/usr/bin/python3", "-c", start, str(pair[0].fileno()), program("lockstep-helper"), "--config", "/dev/null"],
                          pass_fds=[pair[0].fileno()], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "SOCK_SEQPACKET" in done.stderr
