"""Transcripts: a session's conversation as text, played against a real ``Session`` with the test as its driver.

A file holds sections, each headed ``## what it shows``. Lines of a section, in order::

    -> TEXT            the peer sends this frame
    reply NAME JSON    the driver answers the call of that name with this result
    refuse NAME CODE   the driver answers it with this error
    report NAME P T M  the driver reports progress P of T with message M (T may be null)
    log NAME LEVEL     the driver logs "hello" at this level on behalf of the call
    oversized LIMIT    the driver threw away a frame longer than this

and after each of these lines everything that follows from it, which may be nothing::

    <- JSON            this frame goes out; "…" stands for any text
    call NAME          a request goes to the driver; NAME is its id as JSON, or what stands behind ``as``
    cancel NAME        the driver is told to stop working on it
    exit               the driver is told that the peer wants the process to end

Lines that begin with ``#`` are remarks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaultwire.protocol.events import Answered, Cancel, Exit, Identity, Request, Send
from vaultwire.protocol.session import Session

if TYPE_CHECKING:
    from vaultwire.protocol.events import Event

METHODS = ("tools/list", "tools/call")


def make_session() -> Session:
    """Return a session of a server called ``test`` that serves two methods."""
    return Session(Identity("test", "Test", "1", {"tools": {}}, "Be kind."), METHODS)


def read_transcripts(folder: Path) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield each section's title and its lines with their numbers."""
    for path in sorted(folder.glob("*.txt")):
        title, lines = "", list[tuple[int, str]]()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("## "):
                if lines:
                    yield title, lines
                title, lines = f"{path.stem}: {line[3:]}", []
            elif line.strip() and not line.startswith("#"):
                lines.append((number, line))
        yield title, lines


class Player:
    """Plays one section."""

    def __init__(self) -> None:
        self.session = make_session()
        self._calls: dict[str, Request] = {}
        self._names: dict[Request, str] = {}
        self._came: list[str] = []

    def play(self, lines: list[tuple[int, str]]) -> None:
        """Play the lines; fail at the first that differs."""
        for number, line in lines:
            verb, _, rest = line.partition(" ")
            if verb in ("<-", "call", "cancel", "exit"):
                assert self._came, f"line {number}: nothing came, expected {line}"
                self._compare(number, line, self._came.pop(0))
            else:
                assert not self._came, f"before line {number}: unexpected {self._came}"
                self._came = [self._shown(event) for event in self._do(verb, rest)]
        assert not self._came, f"at the end: unexpected {self._came}"

    def _do(self, verb: str, rest: str) -> list[Event]:
        if verb == "->":
            return self.session.receive(rest.encode("utf-8", "surrogatepass"))
        if verb == "oversized":
            return self.session.receive_oversized(int(rest))
        name, _, rest = rest.partition(" ")
        request = self._calls[name]
        match verb:
            case "reply":
                frame = self.session.reply(request, json.loads(rest))
            case "refuse":
                frame = self.session.refuse(request, int(rest), "no")
            case "report":
                progress, total, message = rest.split(" ", 2)
                frame = self.session.report(request, float(progress), json.loads(total), json.loads(message))
            case "log":
                frame = self.session.log(request, rest, "test", "hello")
            case _:
                raise AssertionError(f"no such line: {verb}")
        return [] if frame is None else [Send(frame)]

    def _shown(self, event: Event) -> str:
        match event:
            case Send(frame):
                assert frame.endswith(b"\n")
                assert frame.count(b"\n") == 1
                return "<- " + frame.decode().rstrip("\n")
            case Request() as request:
                name = json.dumps(request.id)
                self._calls[name] = request
                self._names[request] = name
                return f"call {name} {request.method}"
            case Cancel(request):
                return f"cancel {self._names[request]}"
            case Answered(question):
                return f"answered {question.id}"
            case Exit():
                return "exit"

    def _compare(self, number: int, expected: str, came: str) -> None:
        if expected.startswith("<- "):
            assert came.startswith("<- "), f"line {number}: {came}"
            wanted, got = json.loads(expected[3:]), json.loads(came[3:])
            assert _with_gaps(wanted, got) == got, f"line {number}"
        elif expected.startswith("call "):
            what, _, name = expected.partition(" as ")
            assert came == what, f"line {number}"
            if name:
                request = self._calls.pop(what.split(" ")[1])
                self._calls[name] = request
                self._names[request] = name
        else:
            assert came == expected, f"line {number}"


def _with_gaps(wanted: Any, got: Any) -> Any:
    """Return the expected text, with each "…" replaced by the actual text."""
    if wanted == "…" and isinstance(got, str):
        return got
    if isinstance(wanted, dict) and isinstance(got, dict):
        return {key: _with_gaps(value, got.get(key)) for key, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        return [_with_gaps(value, other) for value, other in zip(wanted, got, strict=True)]
    return wanted
