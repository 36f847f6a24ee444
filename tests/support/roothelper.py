"""The root helper behind a socket of its own, as lockstep-helper.socket would start it: a process for each connection."""
import os
import socket
import subprocess
import sys
import threading

from cluster import program

START = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
         "os.execv(sys.argv[2], sys.argv[2:])")


class RootHelper:
    def __init__(self, folder, lines, wrap=()):
        """folder: where configuration and socket are made; lines: of helper.conf; wrap: command words put in front of the program."""
        os.makedirs(folder, exist_ok=True)
        self.config = os.path.join(folder, "helper.conf")
        self.socket = os.path.join(folder, "helper.sock")
        self.wrap = list(wrap)
        self.write(lines)
        self.log = open(os.path.join(folder, "helper.log"), "ab")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.socket)
        os.chmod(self.socket, 0o660)
        self.listener.listen(8)
        self.started = []
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def write(self, lines):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write("\n".join(["[helper]", *lines, ""]))
        os.chmod(self.config, 0o644)

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            command = [*self.wrap, sys.executable, "-c", START, str(connection.fileno()), program("lockstep-helper"), "--config", self.config]
            self.started.append(subprocess.Popen(command, pass_fds=[connection.fileno()], stdout=self.log, stderr=self.log,
                                                 stdin=subprocess.DEVNULL))
            connection.close()

    def ask(self, *packets):
        """The answers to these packets over one connection; None where it was closed instead."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(self.socket)
            answers = []
            for packet in packets:
                try:
                    s.send(packet.encode())
                    answers.append(s.recv(65536).decode() or None)
                except OSError:
                    answers.append(None)
            return answers if len(packets) > 1 else answers[0]

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        for process in self.started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
