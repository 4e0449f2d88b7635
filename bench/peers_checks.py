"""What is measured of a server of ``peers``: its list of tools, its start, a search, a read, and what its changes do.

The checks of changes ask what a person would see: whether links follow a renamed note, whether a property is set without
touching other lines, and whether lines that are added at the same time all arrive.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from bench.client import INITIALIZE, INITIALIZED, LIST_TOOLS, Server, call_frame
from bench.peers import Ask
from bench.sample_vault import READ_PATH, queries, write_vault

_PATIENCE = 120.0
_SEARCHES, _READS = 15, 50
APPENDS = 30

# Each line has one link to the note that is renamed, in another form that Obsidian follows. What counts is what is in the line.
LINKS = (
    "- [[Old name]]",
    "- [[Old name|shown]]",
    "- [[Old name#Part]]",
    "- [[Old name#^block]]",
    "- ![[Old name]]",
    "- [[Projects/Old name]]",
    "- [shown](Old%20name.md)",
    "- [shown](Projects/Old%20name.md)",
    "- [shown](<Projects/Old name.md>)",
    "- ![shown](Projects/Old%20name.md#Part)",
)
_CODE = "`[[Old name]]`"
_PROPERTIES = """\
---
# what this is about
title: "A plan: first part"
tags: [work, garden]
due: 2026-05-20
people:
    - Ana
    - "Bo"
text: >-
  folded
  lines
---
# A plan

Text.
"""


class Asked(NamedTuple):
    """What a server answered, and how soon. None where it has no tool for it, or the tool failed."""

    tools: int
    list_bytes: int
    first_search_ms: float | None
    search_ms: float | None
    read_ms: float | None
    memory_mib: float | None


class Found(NamedTuple):
    """What was measured of a server. -1 where it has no tool for it, or the tool failed."""

    initialize_ms: float
    asked: Asked
    links: int
    code_kept: bool
    other_lines: int
    appended: int
    lost: int


class Subject(NamedTuple):
    """A server to be measured: how it is started over a folder, and how it is asked."""

    command: Callable[[Path], list[str]]
    variables: Callable[[Path], dict[str, str]]
    asks: Mapping[str, Ask]


def measure(subject: Subject, starts: int) -> Found:
    """Measure one server, on vaults of its own. Raises RuntimeError and OSError if it does not start."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        root = Path(folder, "notes")
        (root / ".obsidian").mkdir(parents=True)  # some servers ask for it
        write_vault(root)
        asked = _ask(subject, root)  # first: the vault must be new to the server
        taken = []
        for _ in range(starts):
            with _started(subject, root) as server:
                server.ask(INITIALIZE)
                taken.append(server.seconds() * 1000)
    links, code_kept = _renamed(subject)
    appended, lost = _appended(subject)
    return Found(statistics.median(taken), asked, links, code_kept, _other_lines(subject), appended, lost)


class _Watched(Server):
    """A server that is killed if it takes too long."""

    def __enter__(self) -> Self:
        self.overdue = threading.Timer(_PATIENCE, self.process.kill)
        self.overdue.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.overdue.cancel()
        super().__exit__(None, None, None)


def _started(subject: Subject, root: Path) -> _Watched:
    # Our environment's programs have ripgrep, which some of them search with.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    return _Watched(subject.command(root), {"HOME": str(root.parent), "PATH": path, **subject.variables(root)})


def _ask(subject: Subject, root: Path) -> Asked:
    """Return the number and bytes of the tools, and the milliseconds of searches and reads."""
    word = queries()["rare"]
    wanted = [path.stem for path in root.rglob("*.md") if word in path.read_text(encoding="utf-8").lower()]
    with _started(subject, root) as server:
        server.ask(INITIALIZE)
        server.send(INITIALIZED)
        first = _until_found(server, subject, {"word": word}, wanted)
        tools = json.loads(server.ask(LIST_TOOLS))["result"]["tools"]
        search = _median(server, subject, "search", {"word": word}, _SEARCHES)
        read = _median(server, subject, "read", {"path": READ_PATH, "root": str(root)}, _READS)
        memory = (server.memory() or {}).get("VmRSS")
    size = len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode())
    return Asked(len(tools), size, first, search, read, memory)


def _until_found(server: Server, subject: Subject, values: Mapping[str, str], wanted: Sequence[str]) -> float | None:
    """Return the milliseconds from the start to an answer with one of the notes: an index may have to be built first."""
    if "search" not in subject.asks:
        return None
    while server.seconds() < _PATIENCE / 2:
        answer = _call(server, subject.asks["search"], values)
        if any(name in answer for name in wanted):
            return server.seconds() * 1000
        time.sleep(0.05)
    return None


def _median(server: Server, subject: Subject, what: str, values: Mapping[str, str], times: int) -> float | None:
    if what not in subject.asks:
        return None
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        answer = _call(server, subject.asks[what], values)
        taken.append((time.perf_counter() - before) * 1000)
        if answer.startswith("Error"):
            return None
    return statistics.median(taken)


def _call(server: Server, ask: Ask, values: Mapping[str, str]) -> str:
    tool, arguments = ask
    return _text_of(server.ask(call_frame(0, tool, filled(arguments, values))))


def _text_of(line: bytes) -> str:
    """Return what a result says, or "Error" and why."""
    answer = json.loads(line)
    if "error" in answer:
        return f"Error {answer['error'].get('message')}"
    result = answer["result"]
    text = json.dumps(result.get("structuredContent", "")) + "".join(
        block.get("text", "") for block in result.get("content", ())
    )
    return f"Error {text}" if result.get("isError") else text


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Return arguments with the values in the place of their names."""
    if isinstance(value, dict):
        return {name: filled(each, values) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, values) for each in value]
    if isinstance(value, str):
        for name, each in values.items():
            value = value.replace(f"{{{name}}}", each)
    return value


# ---------------------------------------------------------------------- changes


def _with_notes(subject: Subject, notes: Mapping[str, str], work: Callable[[Server, Path], None]) -> dict[str, str]:
    """Do something in a small vault, and return its notes as they are then. None of them if the server fails."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        root = Path(folder, "notes")
        (root / ".obsidian").mkdir(parents=True)
        for path, text in notes.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="\n")
        try:
            with _started(subject, root) as server:
                server.open()
                work(server, root)
        except (OSError, RuntimeError, ValueError):
            return {}
        return {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.md"))
        }


def _renamed(subject: Subject) -> tuple[int, bool]:
    """Rename a note; return how many links lead to its new name (-1 without a tool), and whether code kept its text."""
    if "rename" not in subject.asks:
        return -1, True
    old, new = "Projects/Old name.md", "Projects/New name.md"

    def work(server: Server, root: Path) -> None:
        _call(server, subject.asks["rename"], {"path": old, "new": new, "new_name": "New name", "root": str(root)})

    source = "# Links\n\n" + "\n".join(LINKS) + f"\n\nIn code: {_CODE}\n"
    notes = _with_notes(subject, {old: "# Part\n\nText. ^block\n", "Links.md": source}, work)
    if new not in notes:
        return -1, True
    wanted = [line.replace("Old name", "New name").replace("Old%20name", "New%20name") for line in source.splitlines()]
    pairs = zip(source.splitlines(), wanted, notes["Links.md"].splitlines(), strict=False)
    leading = sum(line in LINKS and _bare(now) == _bare(expected) for line, expected, now in pairs)
    return leading, _CODE in notes["Links.md"]


def _bare(link: str) -> str:
    """Return a link without its folder and its spelling of spaces: the name is unique, so Obsidian follows either form."""
    return link.replace("Projects/", "").replace("%20", " ").replace("<", "").replace(">", "")


def _other_lines(subject: Subject) -> int:
    """Set a property that is not there yet; return how many other lines changed or went, -1 without a tool."""
    if "property" not in subject.asks:
        return -1

    def work(server: Server, _root: Path) -> None:
        _call(server, subject.asks["property"], {"path": "Plan.md"})

    text = _with_notes(subject, {"Plan.md": _PROPERTIES}, work).get("Plan.md", "")
    if "status: done" not in text:
        return -1
    left = text.splitlines()
    changed = 0
    for line in _PROPERTIES.splitlines():
        if line in left:
            left.remove(line)
        else:
            changed += 1
    return changed


def _appended(subject: Subject) -> tuple[int, int]:
    """Add lines to one note, all asked for before the first answer.

    Return how many are there, and how many are missing though the answer said that they were added; -1 without a tool.
    """
    if "append" not in subject.asks:
        return -1, -1
    tool, arguments = subject.asks["append"]

    refused: list[bool] = []

    def work(server: Server, _root: Path) -> None:
        for number in range(APPENDS):
            values = {"path": "Log.md", "line": f"- entry {number:02}"}
            server.send(call_frame(number, tool, filled(arguments, values)))
        refused.extend(_text_of(server.receive()).startswith("Error") for _ in range(APPENDS))

    text = _with_notes(subject, {"Log.md": "# Log\n"}, work).get("Log.md")
    if text is None:
        return -1, -1
    there = sum(f"- entry {number:02}" in text for number in range(APPENDS))
    return there, max(0, refused.count(False) - there)
