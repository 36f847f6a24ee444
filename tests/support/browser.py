"""A real headless Chromium, spoken to over a pair of pipes (DevTools protocol): what a page shows, says and asks for."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """messages: what the page says on its console or the browser about it; requests: addresses that were asked for."""

    def __init__(self, *options, width=1200, height=1400):
        self.profile = tempfile.mkdtemp(prefix="lockstep-browser-")
        read_theirs, self.write_fd = os.pipe()
        self.read_fd, write_theirs = os.pipe()
        # Chromium reads descriptor 3 and writes descriptor 4.
        command = f'exec 3<&{read_theirs} 4>&{write_theirs}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "--disable-background-networking",
             "--disable-component-update", "--no-first-run", *options, "about:blank"],
            pass_fds=[read_theirs, write_theirs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_theirs)
        os.close(write_theirs)
        self.buffer, self.number, self.session = b"", 0, None
        self.messages, self.requests, self.answers = [], [], {}
        self.credentials = None
        target = self.wait_page()
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def wait_page(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pages = [t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page"]
            if pages:
                return pages[0]["targetId"]
            time.sleep(0.05)
        raise AssertionError("Chromium opens no page")

    def login(self, name, password):
        self.credentials = {"response": "ProvideCredentials", "username": name, "password": password}
        self.ask("Fetch.enable", handleAuthRequests=True)

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data):]
        return self.number

    def ask(self, method, **params):
        number = self.send(method, **params)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.pump(1)
            if number in self.answers:
                answer = self.answers.pop(number)
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
        raise AssertionError(f"no answer to {method}")

    def pump(self, seconds):
        """Reads what the browser says within that time; returns after the first portion."""
        if not select.select([self.read_fd], [], [], seconds)[0]:
            return
        self.buffer += os.read(self.read_fd, 1 << 20)
        *whole, self.buffer = self.buffer.split(b"\0")
        for text in whole:
            self.take(json.loads(text))

    def take(self, m):
        params = m.get("params", {})
        if "id" in m:
            self.answers[m["id"]] = m
        elif m["method"] == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(a.get("value", a)) for a in params["args"]))
        elif m["method"] == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(params["exceptionDetails"]))
        elif m["method"] == "Log.entryAdded":
            self.messages.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif m["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif m["method"] == "Fetch.requestPaused":
            self.send("Fetch.continueRequest", requestId=params["requestId"])
        elif m["method"] == "Fetch.authRequired":
            self.send("Fetch.continueWithAuth", requestId=params["requestId"], authChallengeResponse=self.credentials)

    def open(self, url):
        self.ask("Page.navigate", url=url)

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression, timeout=30):
        end = time.monotonic() + timeout
        while True:
            # Until the page is there the expression may fail.
            value = self.value(f"(() => {{ try {{ return {expression}; }} catch (e) {{ return null; }} }})()")
            if value:
                return value
            assert time.monotonic() < end, f"not within {timeout} s: {expression}; {self.messages}; {self.value('document.body.innerText')}"
            self.pump(0.1)

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()
