"""Runs the calls of ``sample_calls`` on their vault, each on a fresh copy, and returns what a model would see."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from scripts.pages.sample_calls import CALLS, CHANGED, VAULT, SampleCall

from vaultwire.app import make_handlers
from vaultwire.config import CACHE_VARIABLE, STATE_VARIABLE, make_config
from vaultwire.protocol.dialects import MCP
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server.handlers import Handlers
from vaultwire.server.results import Result
from vaultwire.server.workers import Job
from vaultwire.toolkit.registry import Ask
from vaultwire.vault.value_types import NoProgress

_AUTHOR = "Claude"
# When the example's changes were made: in reality, when the page was generated.
_SHOWN_DAY, _SHOWN_TIME = "2026-05-04", "10:15:00"
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:([T ])\d\d:\d\d(:\d\d)?)?")


def run_examples() -> dict[str, str]:
    """Return the answer of each tool's example, by the tool's name."""
    before = {name: os.environ.get(name) for name in (CACHE_VARIABLE, STATE_VARIABLE, "TZ")}
    try:
        _set_time_zone("UTC")
        return {tool: _run(tool, call) for tool, call in CALLS.items()}
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _set_time_zone(before["TZ"])


def write_sample_vault(root: Path) -> None:
    """Write the vault of the examples below the folder ``root``."""
    for path, content in VAULT.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(target, (CHANGED, CHANGED))


def _set_time_zone(name: str | None) -> None:
    if name is not None:
        os.environ["TZ"] = name
    if sys.platform != "win32":
        time.tzset()


def _run(tool: str, call: SampleCall) -> str:
    with tempfile.TemporaryDirectory(prefix="vaultwire-pages-") as folder:
        root = Path(folder, "Notes")
        write_sample_vault(root)
        os.environ[CACHE_VARIABLE] = os.path.join(folder, "cache")
        os.environ[STATE_VARIABLE] = os.path.join(folder, "state")
        began = time.time()
        with closing(make_handlers(make_config(str(root)))) as handlers:
            for earlier, arguments in call.earlier:
                _answer(handlers, earlier, arguments)
            text = _answer(handlers, tool, call.arguments)
    if folder in text:
        raise ValueError(f"{tool}: the answer names a folder of this computer: {text}")
    return _with_fixed_times(text, began)


def _answer(handlers: Handlers, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the text of an answer. Raises ValueError if the call fails: no example may show what is wrong."""
    peer = Peer()
    peer.name = _AUTHOR
    params = {"name": tool, "arguments": dict(arguments)}
    answer = handlers.handle(Request(0, "tools/call", params, LATEST_HANDSHAKE, peer), MCP)
    if isinstance(answer, Job):
        answer = answer.run(_Model(answer))
    if not isinstance(answer, Result) or answer.failed is not None:
        raise ValueError(f"{tool}: the example fails: {answer}")
    return "\n".join(block["text"] for block in answer.value["content"] if block["type"] == "text")


def _with_fixed_times(text: str, began: float) -> str:
    """Return the text with other times in the place of those since ``began``, which differ from run to run."""
    days = {time.strftime("%Y-%m-%d", time.gmtime(moment)) for moment in (began, time.time())}

    def fixed(found: re.Match[str]) -> str:
        _, between, seconds = found.groups()
        if found[1] not in days:
            return found[0]
        clock = _SHOWN_TIME if seconds else _SHOWN_TIME[:5]
        return f"{_SHOWN_DAY}{between}{clock}" if between else _SHOWN_DAY

    return _MOMENT.sub(fixed, text)


class _Model(NoProgress):
    """The client of the calls, a ``toolkit.registry.Client`` that is never asked anything."""

    def __init__(self, job: Job) -> None:
        self._job = job

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """None: it cannot be asked."""
        return {}

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Ignore log messages."""

    def ask(self, questions: Mapping[str, Ask]) -> dict[str, dict[str, Any]]:
        """Raise ValueError: no example may need a person."""
        raise ValueError(f"an example asks the person: {questions}")

    def tools(self) -> Sequence[dict[str, Any]]:
        """Return all tools that it may call."""
        return self._job.offered()

    def listed(self) -> Collection[str]:
        """Return the tools that are listed to it."""
        return self._job.listed()

    def show(self, tools: Collection[str]) -> bool:  # noqa: ARG002 - see the protocol
        """List nothing more."""
        return False

    def hang_up(self) -> None:
        """Stay: there is no connection."""
