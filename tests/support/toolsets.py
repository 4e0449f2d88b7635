"""A tool set for tests: tools that echo, wait, crash, count and report, and the switches that control them.

``hang``, ``wait_soon`` and ``change_soon`` are of the time class "file", all others "search": a test shortens one
and not the other.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, TypedDict

from scripts.pages.schema import describe

from vaultwire.toolkit.catalog import Toolset
from vaultwire.toolkit.registry import AnyTool, Outcome, tool
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

PATIENCE = 30.0
"""Seconds after which a test gives up on something that should have happened long ago."""


def toolset_of(tools: Sequence[AnyTool]) -> Toolset:
    """Return these tools as a server has them."""
    by_name = {tool.name: tool for tool in tools}
    return Toolset(lambda: [describe(tool) for tool in tools], lambda description: by_name[description["name"]])


class Said(TypedDict):
    """What a test tool says."""

    text: str


def said(text: str) -> Outcome[Said]:
    return Outcome([text], Said(text=text))


class Gate:
    """A place where a call waits: the test notices its arrival and lets it continue."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.released = threading.Event()

    def wait_for_arrival(self) -> None:
        assert self.arrived.acquire(timeout=PATIENCE), "the call did not start"


class Stage:
    """The tools of one test and what they remember. Every gate is named by the test that uses it."""

    def __init__(self) -> None:
        self.gates: dict[str, Gate] = {}
        self.order: list[str] = []
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._changed = threading.Condition()

    def gate(self, name: str) -> Gate:
        with self._lock:
            return self.gates.setdefault(name, Gate())

    def open_all(self) -> None:
        """Let every call continue: a failed test must leave no threads behind."""
        with self._lock:
            for gate in self.gates.values():
                gate.released.set()

    def pass_gate(self, name: str, progress: Progress | None) -> None:
        """Wait at the gate; with ``progress``, stop as the real engine does."""
        gate = self.gate(name)
        gate.arrived.release()
        if progress is None:
            assert gate.released.wait(PATIENCE)
            return
        try:
            while not gate.released.wait(0.001):
                progress.check()
        except Exception:
            self.stopped.set()
            raise

    def change(self, name: str, gate: str) -> Outcome[Said]:
        if gate:
            self.pass_gate(gate, None)
        with self._changed:
            self.order.append(name)
            self._changed.notify_all()
        return said(name)

    def wait_for_change(self, name: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: name in self.order, PATIENCE)

    def toolset(self) -> Toolset:
        tools = self._tools()
        return toolset_of(tools)

    def _tools(self) -> list[AnyTool]:
        stage = self

        @tool(title="Echo", time_class="search", read_only=True)
        def echo(vault: Vault, progress: Progress, /, text: str = "") -> Outcome[Said]:
            """Say it again.

            Args:
                text: What to say.
            """
            return said(text)

        @tool(title="Wait", time_class="search", read_only=True)
        def wait(vault: Vault, progress: Progress, /, gate: str) -> Outcome[Said]:
            """Wait at a gate, and stop when told to.

            Args:
                gate: Which.
            """
            stage.pass_gate(gate, progress)
            return said("waited")

        @tool(title="Wait soon", time_class="file", read_only=True)
        def wait_soon(vault: Vault, progress: Progress, /, gate: str) -> Outcome[Said]:
            """Wait as wait does, but with the short deadline.

            Args:
                gate: Which.
            """
            stage.pass_gate(gate, progress)
            return said("waited")

        @tool(title="Hang", read_only=True)
        def hang(vault: Vault, progress: Progress, /, gate: str) -> Outcome[Said]:
            """Wait at a gate and hear nothing.

            Args:
                gate: Which.
            """
            stage.pass_gate(gate, None)
            return said("hung")

        @tool(title="Change", time_class="search")
        def change(vault: Vault, progress: Progress, /, name: str, gate: str = "") -> Outcome[Said]:
            """Change something, after a gate if one is named, and hear nothing meanwhile.

            Args:
                name: What to remember.
                gate: Where to wait.
            """
            return stage.change(name, gate)

        @tool(title="Change soon", time_class="file")
        def change_soon(vault: Vault, progress: Progress, /, name: str, gate: str = "") -> Outcome[Said]:
            """Change something as change does, but with the short deadline.

            Args:
                name: What to remember.
                gate: Where to wait.
            """
            return stage.change(name, gate)

        @tool(title="Crash", time_class="search", read_only=True)
        def crash(vault: Vault, progress: Progress, /) -> Outcome[Said]:
            """Crash."""
            raise RuntimeError("the secret reason")

        @tool(title="Count", time_class="search", read_only=True)
        def count(vault: Vault, progress: Progress, /, gate: str = "") -> Outcome[Said]:
            """Report progress, some of it twice, and wait at a gate if one is named.

            Args:
                gate: Where to wait.
            """
            for done in (0, 1, 1, 2):
                progress.report(done, 2, f"{done} of 2")
            if gate:
                stage.pass_gate(gate, None)
                progress.report(3, 3, "too late")
            return said("counted")

        @tool(title="Babble", time_class="search", read_only=True)
        def babble(vault: Vault, progress: Progress, /) -> Outcome[Said]:
            """Say what JSON cannot hold."""
            nonsense: Any = {1, 2}
            return said(nonsense)

        return [echo, wait, wait_soon, hang, change, change_soon, crash, count, babble]
