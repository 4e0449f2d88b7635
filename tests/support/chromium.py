"""A person at a browser: a headless Chromium, controlled by its own protocol: keys, mouse, and what it shows."""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("VAULTWIRE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
WHY_NOT = f"no browser: install Chromium (one of {', '.join(NAMES)}), or say where with VAULTWIRE_CHROMIUM"
# ``make test`` starts no browser, whatever is installed: these run in ``make plugin``, and fail there without one.
in_browser = pytest.mark.browser
PATIENCE = 30.0
MODIFIERS = {"Alt": 1, "Control": 2, "Shift": 8}
# What keys are called, and their codes as Windows has them, which the browser's protocol takes.
KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
}


class Tab:
    """One page."""

    def __init__(self, socket: ClientConnection, domains: tuple[str, ...] = ("Runtime", "Page", "Network")) -> None:
        self._socket = socket
        self._last = 0
        self.errors: list[str] = []
        self.requested: list[str] = []
        """The addresses that pages have asked for."""
        self._pointer = 0.0, 0.0
        for domain in domains:
            self.do(f"{domain}.enable")

    def do(self, method: str, **params: Any) -> Any:
        """Ask the browser by its own protocol."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(message["params"]["exceptionDetails"]))
            elif message.get("method") == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            if message.get("id") == self._last:
                assert "error" not in message, message
                return message["result"]

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression; wait for it if it is a promise."""
        found = self.do("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def go(self, url: str) -> None:
        self.do("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def frames(self) -> list[str]:
        """Return the addresses of the frames in the page; of one that was refused, the browser's own."""
        found = self.do("Page.getFrameTree")["frameTree"].get("childFrames", [])
        return [each["frame"]["url"] for each in found]

    def wait_for(self, holds: str) -> None:
        """Wait until an expression is true, also on the page that comes next."""
        deadline = int(PATIENCE * 800)
        look = (
            f"new Promise((done) => {{ const begun = Date.now(); const look = () => {{ let met = false;"
            f"try {{ met = Boolean({holds}); }} catch {{}}"
            f"if (met || Date.now() - begun > {deadline}) done(met); else setTimeout(look, 10); }}; look(); }})"
        )
        while True:
            try:
                met = self.evaluate(look)
            except AssertionError as error:
                if "Inspected target navigated" not in str(error):
                    raise
            else:
                break
        assert met, (holds, self.evaluate("document.body.innerText"), self.errors)

    def wait_for_title(self, title: str) -> None:
        """Wait for a page that a form leads to. It is not asked itself: a page that is being left answers nothing."""
        deadline = time.monotonic() + PATIENCE
        titles: list[str] = []
        while titles[-1:] != [title]:
            assert time.monotonic() < deadline, titles
            with suppress(AssertionError):  # between two pages the browser refuses to answer
                titles = [entry["title"] for entry in self.do("Page.getNavigationHistory")["entries"]]
        self.wait_for("document.readyState === 'complete'")

    def add_authenticator(self) -> None:
        """Have a device with passkeys, whose owner unlocks it at once whenever a page asks."""
        self.do("WebAuthn.enable")
        self.do(
            "WebAuthn.addVirtualAuthenticator",
            options={
                "protocol": "ctap2",
                "transport": "internal",
                "hasResidentKey": True,
                "hasUserVerification": True,
                "isUserVerified": True,
                "automaticPresenceSimulation": True,
            },
        )

    def texts(self, selector: str) -> list[str]:
        """Return the texts of the elements that can be seen."""
        found: list[str] = self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            ".filter((e) => e.checkVisibility()).map((e) => e.textContent)"
        )
        return found

    def click(self, selector: str, text: str = "", times: int = 1, at: float = 0.5, button: str = "left") -> None:
        """Click the first element that can be seen and has this text; ``at`` is how far from left to right in it."""
        find = (
            f"[...document.querySelectorAll({json.dumps(selector)})].find((e) => e.checkVisibility()"
            f" && (!{json.dumps(text)} || e.textContent.trim() === {json.dumps(text)}))"
        )
        self.wait_for(find)
        x, y = self.evaluate(
            f"(() => {{ const e = {find}; e.scrollIntoView({{ block: 'nearest' }}); const r = e.getBoundingClientRect();"
            f"return [r.x + r.width * {at}, r.y + r.height / 2]; }})()"
        )
        self.move(x, y)
        for count in range(1, times + 1):
            self._mouse("mousePressed", x, y, button=button, clickCount=count)
            self._mouse("mouseReleased", x, y, button=button, clickCount=count)

    def move(self, x: float, y: float) -> None:
        """Move the pointer."""
        self._pointer = x, y
        self._mouse("mouseMoved", x, y)

    def click_again(self, count: int = 1) -> None:
        """Click where the pointer is, without moving it; ``count`` of 2 is the second click of a double click."""
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, *self._pointer, button="left", clickCount=count)

    def _mouse(self, kind: str, x: float, y: float, **params: Any) -> None:
        self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, **params)

    def press(self, keys: str, times: int = 1) -> None:
        """Press keys together, such as ``Control+Alt+k``."""
        *held, key = keys.split("+")
        modifiers = sum(MODIFIERS[name] for name in held)
        letter = key if len(key) == 1 else ""
        params = {
            "key": key,
            "code": f"Key{key.upper()}" if letter else key,
            "modifiers": modifiers,
            "windowsVirtualKeyCode": ord(key.upper()) if letter else KEYS[key],
        }
        text = {"text": "\r"} if key == "Enter" else {}
        for _ in range(times):
            self.do("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **params, **text)
            self.do("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text: str) -> None:
        """Press the key of each character."""
        for each in text:
            if each == "\n":
                self.press("Enter")
                continue
            self.do("Input.dispatchKeyEvent", type="keyDown", key=each, text=each, unmodifiedText=each)
            self.do("Input.dispatchKeyEvent", type="keyUp", key=each)

    def run_first(self, script: str) -> None:
        """Run a script in each page that is opened from now on, before the page's own."""
        self.do("Page.addScriptToEvaluateOnNewDocument", source=script)

    def be_dark(self, dark: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])

    def resize(self, width: int, height: int) -> None:
        """Make the page as wide and as high as this."""
        self.do(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def shoot(self, name: str) -> None:
        """Save screenshots, light and dark, if ``VAULTWIRE_PICTURES`` names a folder for them."""
        folder = os.environ.get("VAULTWIRE_PICTURES")
        if not folder:
            return
        for dark in (True, False):
            self.be_dark(dark)
            Path(folder, f"{name}-{'dark' if dark else 'light'}.png").write_bytes(self.capture())

    def capture(self) -> bytes:
        """Return a picture of the page, as a PNG, when it has been drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"])


class Browser:
    """One browser for a whole process of tests."""

    def __init__(self) -> None:
        assert CHROMIUM, WHY_NOT
        self._profile = tempfile.TemporaryDirectory(prefix="vaultwire-browser-", ignore_cleanup_errors=True)
        options = (
            "--headless",
            "--no-sandbox",  # it refuses to run as root otherwise, and sees no page but ours
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-port=0",
            "--window-size=1000,700",
            # A frame of another site or without an origin has a process of its own otherwise, into which the tests
            # could not see.
            "--disable-site-isolation-trials",
            # Whether a page may reach this computer at all is asked of the person in some versions and not in others.
            "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,IsolateSandboxedIframes",
            f"--user-data-dir={self._profile.name}",
        )
        self._process = subprocess.Popen(
            [CHROMIUM, *options, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stderr is not None
        lines = (line.decode(errors="replace") for line in self._process.stderr)
        url = next(line for line in lines if "DevTools listening on" in line).split()[-1]
        self.address = url.split("/devtools/")[0]
        # What it prints is read all the time: a full pipe would stop it.
        threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
        self._open = ExitStack()
        control = self._open.enter_context(connect(url, compression=None, proxy=None, max_size=None))
        self._control = Tab(control, domains=())

    @contextmanager
    def context(self) -> Iterator[str]:
        """Yield the address of an empty page in a context of its own: no cookie, no storage, no cache of another test."""
        context = self._control.do("Target.createBrowserContext")["browserContextId"]
        target = self._control.do("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        try:
            yield f"{self.address}/devtools/page/{target}"
        finally:
            self._control.do("Target.disposeBrowserContext", browserContextId=context)

    def close(self) -> None:
        self._open.close()
        os.killpg(self._process.pid, signal.SIGKILL)  # it starts others, which outlive it
        self._process.wait()
        self._profile.cleanup()


@cache
def browser() -> Browser:
    """Return this process's browser, which ends with it."""
    started = Browser()
    atexit.register(started.close)
    return started


@contextmanager
def open_tab() -> Iterator[Tab]:
    """Open an empty page in a fresh context. At the end, fail for errors on the page that no test noticed."""
    with browser().context() as url, connect(url, compression=None, proxy=None, max_size=None) as socket:
        tab = Tab(socket)
        tab.be_dark(False)
        yield tab
        assert tab.evaluate("1") == 1
        assert tab.errors == []
