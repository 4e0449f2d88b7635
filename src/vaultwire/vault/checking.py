"""Checks of all kinds of files: notes and canvases (``links.checks``), then bases, then copies that sync programs made."""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.bases.base_edits import check_base
from vaultwire.vault.base_queries.bases import Bases
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.disk.conflict_copies import ConflictCopy
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_base, is_canvas, is_note, parse_path
from vaultwire.vault.editing.conflicts import find_conflict_copies
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.summaries import Suspects
from vaultwire.vault.links.checks import Checked, Checks
from vaultwire.vault.links.faults import BASE_PROBLEM, BROKEN_BASE, CONFLICT_COPY, EMPTY_VIEW, UNREADABLE, Finding
from vaultwire.vault.links.note_lookup import locate, locate_folder
from vaultwire.vault.value_types import Progress, VaultPath

# Each view is a query. A base with more views than this was not written by a person.
_MOST_VIEWS = 50


class AllSuspects(NamedTuple):
    """Notes and canvases that may have a fault, all bases of a folder, and its conflict copies."""

    notes: Suspects
    bases: list[VaultPath]
    copies: list[ConflictCopy]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.notes.size + sum(map(len, self.bases)) + sum(2 * len(copy.path) for copy in self.copies)


def _to_finding(copy: ConflictCopy) -> Finding:
    return Finding(CONFLICT_COPY, copy.words, 1)


class Checking:
    """The checks of one vault."""

    def __init__(self, files: Files, index: Index, checks: Checks, bases: Bases) -> None:
        self._files = files
        self._index = index
        self._checks = checks
        self._bases = bases

    def one(self, name: str, progress: Progress, *, exactly: bool) -> tuple[VaultPath, list[Finding]]:
        """Return the path of the file that ``name`` means, and what is wrong with it. See ``Vault.check``."""
        if exactly or is_canvas(name) or is_base(name):
            path, exists = self._files.spell(parse_path(name))
            if not exists:
                raise VaultError(FILE_NOT_FOUND, f"There is no file {name!r} in the vault.", path=name)
        else:
            path = locate(self._files, self._index, name, progress)
        findings = self._base(path, progress) if is_base(path) else self._checks.one(path, progress)
        if is_note(path) and not any(finding.kind == UNREADABLE for finding in findings):
            findings += self._blocks(path, progress)
        findings += [_to_finding(copy) for copy in find_conflict_copies(self._files, self._index, progress, path)]
        return path, findings

    def suspects(self, folder: str, progress: Progress) -> AllSuspects:
        """Return the files below a folder that may have faults."""
        place = locate_folder(self._files, folder)
        bases = [path for path in self._bases.files(progress) if not place or path.startswith(f"{place}/")]
        copies = find_conflict_copies(self._files, self._index, progress, place)
        return AllSuspects(self._checks.suspects(place, progress), bases, copies)

    def many(self, suspects: AllSuspects, offset: int, limit: int, progress: Progress) -> Checked:
        """Check files from number ``offset`` on, until there are ``limit`` findings. See ``Checks.many``."""
        notes = suspects.notes.total
        others = notes + len(suspects.bases)
        total = others + len(suspects.copies)
        by_path: list[tuple[VaultPath, list[Finding]]] = []
        if offset < notes:
            by_path, position, _ = self._checks.many(suspects.notes, offset, limit, progress)
            if position < notes:
                return Checked(by_path, position, total)
        left = limit - sum(len(findings) for _, findings in by_path)
        for number, path in enumerate(suspects.bases):
            if notes + number < offset:
                continue
            if left <= 0:
                return Checked(by_path, notes + number, total)
            progress.check()
            if findings := self._base(path, progress):
                by_path.append((path, findings))
                left -= len(findings)
        for number, copy in enumerate(suspects.copies, others):
            if number < offset:
                continue
            if left <= 0:
                return Checked(by_path, number, total)
            by_path.append((copy.path, [_to_finding(copy)]))
            left -= 1
        return Checked(by_path, total, total)

    def _base(self, path: VaultPath, progress: Progress) -> list[Finding]:
        try:
            text = plain_text(self._files.read(path).data)
        except VaultError as error:
            return [Finding(UNREADABLE, error.message, 1)]
        findings = self._problems(text, 1, progress)
        if not any(finding.kind == BROKEN_BASE for finding in findings):
            findings += self._empty_views(path, text, progress)
        return sorted(findings, key=lambda finding: finding.line)

    def _blocks(self, path: VaultPath, progress: Progress) -> list[Finding]:
        return [
            finding
            for block in self._bases.blocks(path, progress)
            for finding in self._problems(block.text, block.line, progress)
        ]

    def _problems(self, text: str, first_line: int, progress: Progress) -> list[Finding]:
        properties = {each.name.casefold() for each in self._index.properties("", None, progress)}
        problems = check_base(text, first_line, properties)
        return [Finding(BROKEN_BASE if each.is_error else BASE_PROBLEM, each.message, each.line) for each in problems]

    def _empty_views(self, path: VaultPath, text: str, progress: Progress) -> list[Finding]:
        lines = text.split("\n")
        findings: list[Finding] = []
        for view in self._bases.views(BaseSource(path), progress)[:_MOST_VIEWS]:
            progress.check()
            if self._bases.query(BaseSource(path), view.name, progress=progress).total == 0:
                line = next((number for number, each in enumerate(lines, 1) if view.name in each), 1)
                findings.append(
                    Finding(EMPTY_VIEW, f"The view {view.name!r} shows nothing: no file meets its filters.", line)
                )
        return findings
