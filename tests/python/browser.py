# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, spoken to over its debugging pipe: pages, sizes, real keys and clicks, and what it complains about."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile

KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, " ": 32, "Tab": 9}
PATIENCE = 120  # seconds without any answer: the browser is broken, not slow


class Browser:
    def __init__(self, calm=True):
        self.profile = tempfile.mkdtemp(prefix="hierax-browser-")
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()
        words = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            "--no-first-run",
            f"--user-data-dir={self.profile}",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "about:blank",
        ]

        def pipes():  # Chromium reads its descriptor 3, and writes 4
            high = [os.dup(fd) if fd < 5 else fd for fd in (theirs_read, theirs_write)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.log = open(os.path.join(self.profile, "log"), "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            words, preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        os.close(theirs_read)
        os.close(theirs_write)
        self.read_fd, self.write_fd, self.buffer, self.number, self.session = ours_read, ours_write, b"", 0, None
        self.complaints, self.events = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        if calm:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for fd in (self.read_fd, self.write_fd):
            os.close(fd)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- messages

    def _next(self):
        while b"\0" not in self.buffer:
            if not select.select([self.read_fd], [], [], PATIENCE)[0]:
                raise TimeoutError("chromium does not answer")
            part = os.read(self.read_fd, 1 << 20)
            if not part:
                self.log.seek(0)
                raise EOFError(f"chromium has ended: {self.log.read()[-2000:]}")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        self._note(message)
        return message

    def _note(self, message):
        """Keep what the page complains about."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and params["request"]["url"].split(":")[0] not in ("file", "data", "about"):
            self.complaints.append(f"asks the network for {params['request']['url']}")
        if method:
            self.events.append(method)

    def call(self, method, **params):
        self.number += 1
        number, message = self.number, {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    # ---- pages

    def size(self, width, height=900, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)

    def open(self, path, fragment=""):
        """Load a page and wait for it; what it complains about from here on is in `complaints`."""
        for url in ("about:blank", f"file://{os.path.abspath(path)}{fragment}"):  # so that another fragment loads the page again
            self.complaints, self.events = [], []
            self.call("Page.navigate", url=url)
            while "Page.loadEventFired" not in self.events:
                self._next()
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, code):
        result = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(f"{code}: {details.get('exception', {}).get('description') or details['text']}")
        return result["result"].get("value")

    def until(self, condition):
        """Wait until an expression is true."""
        self.run(f"new Promise(done => {{ const look = () => {condition} ? done() : setTimeout(look, 20); look(); }})")

    def key(self, name):
        words = {"key": name, "code": "Space" if name == " " else name, "windowsVirtualKeyCode": KEYS[name]}
        self.call("Input.dispatchKeyEvent", type="keyDown", **words, **({"text": " "} if name == " " else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **words)

    def click(self, selector):
        """A real click in the middle of an element, which must be there and not be covered."""
        place = self.run(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}});
            const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
            const top = document.elementFromPoint(x, y);
            return [x, y, top && (e === top || e.contains(top) || top.contains(e))];
        }})()""")
        if not place[2]:
            raise RuntimeError(f"{selector} is covered by another element")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def picture(self, path, whole=True):
        clip = {}
        if whole:
            content = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {
                "clip": {"x": 0, "y": 0, "width": content["width"], "height": min(content["height"], 4000), "scale": 1},
                "captureBeyondViewport": True,
            }
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"]))
