"""The comparison's part of the bench: other servers for Markdown vaults, installed at pinned versions, beside ours.

docs/comparison.md shows its table. The figures of one run compare with each other only: they depend on the computer.
"""

from __future__ import annotations

import importlib.metadata
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.client import compile_sources
from bench.peers import OUR_ASKS, OURS, PEERS, Peer
from bench.peers_checks import APPENDS, LINKS, Found, Subject, filled, measure
from bench.peers_install import CannotInstallError, install
from bench.report import environment, number, write_result

_NOTHING = "-"
"""Stands where a server has no tool for it, or the tool failed."""
_COSTS = ("server", "tools", "list, bytes", "start, ms", "first search, ms", "search, ms", "read, ms", "memory, MiB")
_CHANGES = ("server", f"links right of {len(LINKS)}", "code kept", "other lines", f"lines of {APPENDS}", "lost")


def run(starts: int, path: Path) -> list[str]:
    """Install, measure, print the table as Markdown, write the JSON. It has no targets to miss."""
    facts = environment(date=time.strftime("%Y-%m-%d"), starts=str(starts), notes="1,000")
    print("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n", flush=True)
    compile_sources()
    found: dict[str, Found | str] = {}
    for name, prepare in _subjects():
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            found[name] = measure(prepare(), starts)
        except (CannotInstallError, OSError, RuntimeError, ValueError) as error:
            found[name] = f"not measured: {str(error)[:100]}"
    print("\n".join(tables(found)))
    servers = {
        name: each if isinstance(each, str) else {**each._asdict(), "asked": each.asked._asdict()}
        for name, each in found.items()
    }
    write_result(path, {"environment": facts, "servers": servers})
    return []


def tables(found: Mapping[str, Found | str]) -> Iterator[str]:
    """Yield the lines of two tables in Markdown: what a server costs, and what its changes do."""
    for headings, cells in ((_COSTS, _costs), (_CHANGES, _changes)):
        yield f"| {' | '.join(headings)} |"
        yield f"|---{'|---:' * (len(headings) - 1)}|"
        for name, each in found.items():
            shown = [each, *[""] * (len(headings) - 2)] if isinstance(each, str) else cells(each)
            yield f"| {' | '.join([name, *shown])} |"
        yield ""


def _subjects() -> Iterator[tuple[str, Callable[[], Subject]]]:
    yield f"{OURS} {importlib.metadata.version('vaultwire')}", _our_subject
    for peer in PEERS:
        yield f"{peer.name} {peer.version}", lambda peer=peer: _subject(peer)  # type: ignore[misc]


def _our_subject() -> Subject:
    def command(root: Path) -> list[str]:
        return [str(Path(sys.executable).parent / "vaultwire"), "stdio", "--vault", str(root)]

    def variables(root: Path) -> dict[str, str]:
        own = {"VAULTWIRE_CACHE": str(root.parent / "cache"), "VAULTWIRE_STATE": str(root.parent / "state")}
        return {**own, "VAULTWIRE_STRUCTURED": "0"}  # as a client gets it that asks for nothing

    return Subject(command, variables, OUR_ASKS)


def _subject(peer: Peer) -> Subject:
    installed = install(peer)

    def command(root: Path) -> list[str]:
        return [*installed, *filled(list(peer.options), {"root": str(root)})]

    return Subject(command, lambda root: filled(dict(peer.variables), {"root": str(root)}), peer.asks)


def _costs(found: Found) -> list[str]:
    asked = found.asked
    figures = (found.initialize_ms, asked.first_search_ms, asked.search_ms, asked.read_ms, asked.memory_mib)
    return [
        str(asked.tools),
        f"{asked.list_bytes:,}",
        *(_NOTHING if figure is None else number(figure) for figure in figures),
    ]


def _changes(found: Found) -> list[str]:
    links, *others = [
        str(count) if count >= 0 else _NOTHING for count in (found.links, found.other_lines, found.appended, found.lost)
    ]
    return [links, _NOTHING if found.links < 1 else "yes" if found.code_kept else "no", *others]
