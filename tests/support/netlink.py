"""A process in a network namespace of its own, on a link that can be cut without a word (nftables drops), as a pulled cable or a switch would."""
import itertools
import os
import subprocess
import threading

numbers = itertools.count()
lock = threading.Lock()


def missing():
    """Why there can be none here, or None."""
    if os.geteuid() != 0:
        return "not root"
    name = f"lsp{os.getpid()}"
    try:
        for words in (["ip", "netns", "add", name], ["ip", "netns", "exec", name, "nft", "add", "table", "inet", "cut"]):
            if subprocess.run(words, check=False, capture_output=True).returncode != 0:
                return "no network namespaces or no nftables"
    except OSError as e:
        return str(e)
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
    return None


class Link:
    """near: the address on this side; far: that of who is started with wrap."""

    def __init__(self):
        with lock:
            n = next(numbers)
        self.name = f"lsl{os.getpid()}x{n}"
        self.veth = f"l{os.getpid() % 100000}x{n}"
        net = f"10.{64 + os.getpid() % 64}.{n // 64 % 256}.{n % 64 * 4}"
        base, last = net.rsplit(".", 1)
        self.near, self.far = f"{base}.{int(last) + 1}", f"{base}.{int(last) + 2}"
        self.wrap = ["ip", "netns", "exec", self.name]

    def __enter__(self):
        for words in (["netns", "add", self.name], ["link", "add", self.veth, "type", "veth", "peer", "name", "eth0", "netns", self.name],
                      ["addr", "add", f"{self.near}/30", "dev", self.veth], ["link", "set", self.veth, "up"],
                      ["-n", self.name, "addr", "add", f"{self.far}/30", "dev", "eth0"], ["-n", self.name, "link", "set", "eth0", "up"],
                      ["-n", self.name, "link", "set", "lo", "up"]):
            subprocess.run(["ip", *words], check=True)
        return self

    def __exit__(self, kind, value, trace):
        subprocess.run(["ip", "netns", "del", self.name], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self.veth], check=False, stderr=subprocess.DEVNULL)

    def nft(self, text):
        subprocess.run([*self.wrap, "nft", "-f", "-"], input=text, text=True, check=True)

    def cut(self):
        chain = "chain {0} {{\ntype filter hook {0} priority 0\n{1} eth0 drop\n}}\n"
        self.nft("table inet cut {\n" + chain.format("input", "iifname") + chain.format("output", "oifname") + "}\n")

    def heal(self):
        self.nft("delete table inet cut\n")
