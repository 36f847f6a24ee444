"""A volume that misbehaves as a test says: tests/support/fuse over a directory. Its control.h tells what it can be told."""
import os
import signal
import socket
import subprocess
import tempfile

from cluster import BUILD, wait_for

PROGRAM = os.path.join(BUILD, "tests", "support", "fuse", "volume")


def missing():
    """Why there can be no such volume here, or None."""
    if os.geteuid() != 0:
        return "not root"
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse"
    if not os.path.exists(PROGRAM):
        return "tests/support/fuse is not built (make tools, with libfuse 3)"
    return None


class FaultyVolume:
    """One mount. Several over one backing directory are the nodes of a cluster file system."""

    def __init__(self, mountpoint, backing=None, cache=False, reopen=False, subtype="faulty", wrap=()):
        self.dir = tempfile.mkdtemp(prefix="lockstep-volume-")
        self.mountpoint = str(mountpoint)
        self.backing = str(backing or os.path.join(self.dir, "backing"))
        self.command = [*wrap, PROGRAM, "--backing", self.backing, "--socket", os.path.join(self.dir, "control"), "--subtype", subtype,
                        *(["--cache"] if cache else []), *(["--reopen"] if reopen else []), self.mountpoint]
        self.process = self.control = None

    def __enter__(self):
        os.makedirs(self.backing, exist_ok=True)
        os.makedirs(self.mountpoint, exist_ok=True)
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n", "the volume could not be mounted"
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(os.path.join(self.dir, "control"))
        self.control = sock.makefile("rw")
        sock.close()
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        self.control.close()
        subprocess.run(["umount", "-l", self.mountpoint], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", "--one-file-system", self.dir], check=True)

    def tell(self, line):
        """Says a line and returns the answer's lines behind the "ok"."""
        self.control.write(line + "\n")
        self.control.flush()
        words = self.control.readline().split()
        assert words and words[0] == "ok", f"{line}: {' '.join(words)}"
        return [self.control.readline().rstrip("\n") for _ in range(int(words[1]) if len(words) > 1 else 0)]

    def rule(self, action, call, **keys):
        self.tell(" ".join([action, call, *(f"{k}={v}" for k, v in keys.items())]))

    def hold(self, call, **keys):
        self.rule("hold", call, **keys)

    def fail(self, call, errno, **keys):
        self.rule("fail", call, errno=errno, **keys)

    def delay(self, call, ms, **keys):
        self.rule("delay", call, ms=ms, **keys)

    def mode(self, name, value="on"):
        self.tell(f"mode {name} {value}")

    def release(self):
        self.tell("release")

    def clear(self):
        self.tell("clear")

    def held(self):
        """[(call, ms, path)] of the calls that wait."""
        return [(call, int(ms), path) for call, ms, path in (line.split(" ", 2) for line in self.tell("held"))]

    def calls(self):
        return {call: int(n) for call, n in (line.split() for line in self.tell("calls"))}

    def wait_held(self, call, count=1, timeout=20.0):
        """Waits until so many calls of that kind are held; returns their paths."""
        def there():
            paths = [path for name, _, path in self.held() if name == call]
            return paths if len(paths) >= count else None
        return wait_for(f"{count} held {call}", there, timeout)
