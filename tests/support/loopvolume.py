"""A loop-mounted ext4 with an fstab of its own: a real file system that tests may unmount."""
import os
import shutil
import subprocess


def missing():
    """Why there is none here, or None."""
    if os.geteuid() != 0:
        return "needs root to mount"
    for tool in ("mkfs.ext4", "mount", "umount"):
        if not shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            return f"needs {tool}"
    if not os.path.exists("/dev/loop-control"):
        return "no loop devices here"
    return None


class LoopVolume:
    def __init__(self, folder, size_mib=64, options="rw,relatime"):
        self.path = os.path.join(folder, "mnt")
        self.fstab = os.path.join(folder, "fstab")
        image = os.path.join(folder, "image")
        os.makedirs(self.path)
        with open(image, "wb") as f:
            f.truncate(size_mib << 20)
        subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-F", image], check=True, capture_output=True)
        with open(self.fstab, "w", encoding="utf-8") as f:
            f.write(f"{image} {self.path} ext4 loop,{options} 0 0\n")
        os.chmod(self.fstab, 0o644)
        self.mount()

    def mount(self):
        subprocess.run(["mount", "--fstab", self.fstab, "--", self.path], check=True)

    def mounts(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return [line.split()[0] for line in f if line.split()[4] == self.path]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounts():
            subprocess.run(["umount", "--", self.path], check=True)


def cached_bytes(path):
    """Of a file, as the kernel says it: fincore asks mincore."""
    done = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "RES", path], check=True, capture_output=True, text=True)
    return int(done.stdout)
