"""``vaultwire check --fix``: links that lead nowhere get the name of the only note that can be meant.

That is a note of this very name in another folder, or one whose name differs by a typo. A guess between two is not made.
The notes are changed by the tool that edits notes: one change a note, each of which can be undone.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from vaultwire.cli.terminal import say, say_data
from vaultwire.cli.vault_commands.calling import ALL, DONE, NOT_FOUND, Calls, run
from vaultwire.toolkit.phrases import counted
from vaultwire.vault.disk.paths import fold, stem
from vaultwire.vault.links.checks import UNRESOLVED_EMBED, UNRESOLVED_LINK, Finding
from vaultwire.vault.links.fuzzy_names import FuzzyNames, edit_distance

_LINK = re.compile(r"(!?\[\[)([^\]|#\\\[]+)([^\]]*\]\])")
_IN_NO_LINK = frozenset("#^|[]\\")
_EDITS = 200  # that the tool makes at once
# Shorter names are too similar to each other.
_LEAST_FOR_ONE_TYPO, _LEAST_FOR_TWO_TYPOS = 4, 8


class _Fix(NamedTuple):
    line: int
    column: int
    before: str
    after: str


class _Names:
    """The names of the notes that links can mean."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._stems = [stem(path) for path in paths]
        self._folded = [fold(each) for each in self._stems]
        self._fuzzy = FuzzyNames("\n".join(self._folded))

    def meant(self, linkpath: str) -> str | None:
        """Return the link path of the only note that may be meant, None if there is none or several."""
        typed = fold(stem(linkpath.strip()))
        most = 0 if len(typed) < _LEAST_FOR_ONE_TYPO else 1 if len(typed) < _LEAST_FOR_TWO_TYPOS else 2
        near: dict[int, list[int]] = defaultdict(list)
        for number in self._fuzzy.match(typed):
            typos = edit_distance(typed, self._folded[number], most)
            if typos <= most:
                near[typos].append(number)
        best = near[min(near)] if near else []
        if len(best) != 1 or _IN_NO_LINK.intersection(self._stems[best[0]]):
            return None
        return self._stems[best[0]]


def fix(options: argparse.Namespace, faults: Iterable[tuple[str, Finding]]) -> int:
    """Fix what can be, after the person has seen it and agreed; return 1 if faults are left, else 0."""
    links: dict[str, list[Finding]] = defaultdict(list)
    others = 0
    for path, finding in faults:
        is_link = finding.kind in (UNRESOLVED_LINK, UNRESOLVED_EMBED) and path.lower().endswith(".md")
        if is_link:
            links[path].append(finding)
        others += not is_link

    def work(calls: Calls) -> int:
        _, listed = calls.call_pages("list_notes", "notes", ALL)
        names = _Names([note["path"] for note in listed["notes"]])
        wanted, texts, left = {}, {}, others
        for path, findings in links.items():
            calls.person.check()
            _, texts[path] = calls.call("read_note", path=path, max_characters=10_000_000)
            wanted[path] = _fixes(str(texts[path]["content"]), findings, names)
            left += len(findings) - len(wanted[path])
        fixes = sum(map(len, wanted.values()))
        for path, each in wanted.items():
            if not options.json:
                say(*(f"{path}:{one.line}:{one.column}: {one.before} → {one.after}" for one in each))
        if fixes and not options.dry_run:
            calls.person.agree(f"Change {counted(fixes, 'link')}?")
            for path, each in wanted.items():
                if each:
                    _apply(calls, path, texts[path], each)
        _report(options, wanted, fixes, left)
        return NOT_FOUND if left or (options.dry_run and fixes) else DONE

    return run(options, work)


def _fixes(text: str, findings: Sequence[Finding], names: _Names) -> list[_Fix]:
    lines = text.split("\n")
    fixes = []
    for finding in findings:
        found = _LINK.match(lines[finding.line - 1], finding.column - 1) if finding.line <= len(lines) else None
        meant = names.meant(found[2]) if found else None
        if found and meant:
            fixes.append(_Fix(finding.line, finding.column, found[0], found[1] + meant + found[3]))
    return fixes


def _apply(calls: Calls, path: str, read: dict[str, Any], fixes: Sequence[_Fix]) -> None:
    """Change the lines of one note. It is an error if the note is no longer what was read."""
    lines = str(read["content"]).split("\n")
    changed: dict[int, str] = {}
    for each in sorted(fixes, reverse=True):  # from the right, so that the columns before stay true
        line = changed.get(each.line, lines[each.line - 1])
        start = each.column - 1
        changed[each.line] = line[:start] + each.after + line[start + len(each.before) :]
    edits = [{"action": "replace", "lines": str(number), "content": line} for number, line in sorted(changed.items())]
    etag = read["etag"]
    for start in range(0, len(edits), _EDITS):
        _, data = calls.call("edit_note", path=path, edits=edits[start : start + _EDITS], if_match=etag)
        etag = data["etag"]


def _report(options: argparse.Namespace, wanted: dict[str, list[_Fix]], fixes: int, left: int) -> None:
    if options.json:
        listed = [{"path": path, **one._asdict()} for path, each in wanted.items() for one in each]
        say_data(
            json.dumps({"fixed": not options.dry_run, "fixes": listed, "left": left}, indent=2, ensure_ascii=False)
        )
        return
    verb = "would be fixed" if options.dry_run else "fixed"
    say(f"{counted(fixes, 'link')} {verb}, {counted(left, 'fault')} left")
