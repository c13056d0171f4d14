"""A headless Chromium, driven through two pipes (`--remote-debugging-pipe`).

The DevTools protocol is JSON with a NUL after each message, so the standard library is all that is needed: no driver
program that has to fit the browser's version, no port that another process could reach, nothing to download.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")

FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)

SECONDS: Final = 60.0
"""Until something that does not happen is a failure; a machine under load starts a browser slowly."""

_STEP: Final = 0.05


def find_chromium() -> str | None:
    """The browser: `CHROMIUM` of the environment, else what is on the path."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One page of a running browser, and what it noticed meanwhile."""

    def __init__(self, process: subprocess.Popen[bytes], to_browser: int, from_browser: int) -> None:
        self._process = process
        self._to_browser = to_browser
        self._messages: Queue[dict[str, Any] | None] = Queue()
        self._last_id = 0
        self._session: str | None = None
        self._context: str | None = None
        self.requests: list[str] = []
        """Addresses that were asked for."""
        self.complaints: list[str] = []
        """Errors and warnings of the console, exceptions, violations of the page's policy."""
        Thread(target=self._read, args=(from_browser,), daemon=True).start()

    def new_page(self) -> None:
        """Turn to a page of its own, which knows nothing of the last one, and listen to it alone."""
        self._session = None
        if self._context is not None:
            self.call("Target.disposeBrowserContext", browserContextId=self._context)
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self.requests.clear()
        self.complaints.clear()
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def open(self, address: str) -> None:
        """Go to an address and wait until it is loaded."""
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until it is true in the page."""
        end = time.monotonic() + SECONDS
        while not self.run(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(_STEP)

    def text(self, selector: str) -> str:
        """The text of the first element that fits."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent"))

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of the first element that fits."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'nearest'}})")
        box = self.run(f"JSON.stringify({found}.getBoundingClientRect())")
        place = json.loads(box)
        at = {"x": place["left"] + place["width"] / 2, "y": place["top"] + place["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def press(self, key: str) -> None:
        """Press a key."""
        typed = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        """Write where the page's focus is."""
        self.call("Input.insertText", text=text)

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the page, and which colours its user likes."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        wanted = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def picture(self) -> bytes:
        """What the page looks like, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def printed(self) -> bytes:
        """What the printer would get, as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask the browser, and take its answer."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to_browser, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._last_id:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._notice(answer)

    def _next(self) -> dict[str, Any]:
        try:
            message = self._messages.get(timeout=SECONDS)
        except Empty:
            raise AssertionError("the browser does not answer") from None
        assert message is not None, "the browser has ended"
        return message

    def _notice(self, event: dict[str, Any]) -> None:
        if event.get("sessionId") != self._session:
            return
        params: dict[str, Any] = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(str(params["entry"]))

    def _read(self, from_browser: int) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while data := os.read(from_browser, 1 << 20):
                *messages, rest = (rest + data).split(b"\0")
                for message in messages:
                    self._messages.put(json.loads(message))
        self._messages.put(None)


@contextlib.contextmanager
def running_chromium(program: str, profile: Path) -> Iterator[Chromium]:
    """A browser with an empty profile, which is ended with all its processes."""
    reads_commands, writes_commands = os.pipe()
    reads_answers, writes_answers = os.pipe()
    command = [program, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # The browser reads commands on 3 and writes on 4.
        preexec_fn=_as(3, reads_commands, 4, writes_answers),
        close_fds=False,
        start_new_session=True,
    )
    os.close(reads_commands)
    os.close(writes_answers)
    try:
        browser = Chromium(process, writes_commands, reads_answers)
        browser.new_page()
        yield browser
    finally:
        os.close(writes_commands)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _as(first: int, one: int, second: int, other: int) -> Callable[[], None]:
    """Give the child two files under the numbers it expects, whatever numbers they have here."""

    def renumber() -> None:
        spare_one, spare_other = os.dup(one), os.dup(other)
        os.dup2(spare_one, first)
        os.dup2(spare_other, second)
        os.close(spare_one)
        os.close(spare_other)

    return renumber
