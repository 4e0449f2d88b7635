"""Checks of notes and canvases: links that lead nowhere, broken properties. Only certain faults, no style.

A link to a note that does not exist yet is reported too, as Obsidian shows it pale.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.canvas import NotACanvasError, file_nodes
from vaultwire.markdown.link_spans import LinkSpan, link_spans
from vaultwire.markdown.offsets import line_starts
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Link, ParsedNote
from vaultwire.markdown.properties import property_type
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.conflict_copies import conflict_copies
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_canvas, is_note, stem
from vaultwire.vault.errors import SECTION_NOT_FOUND, VaultError
from vaultwire.vault.index.index import Index, Resolve
from vaultwire.vault.index.summaries import Suspects
from vaultwire.vault.links.faults import (
    BROKEN_CANVAS,
    BROKEN_FRONTMATTER,
    MISSING_BLOCK,
    MISSING_HEADING,
    NOT_CHECKED,
    NOTE_CHECKS,
    UNREADABLE,
    UNRESOLVED_EMBED,
    UNRESOLVED_LINK,
    WRONG_PROPERTY,
    Finding,
    Suggestion,
)
from vaultwire.vault.links.likeness import BEGINS, SAME, TYPO, UNLIKE, Names, letters_of, likeness_of
from vaultwire.vault.links.link_resolver import linkpath_of
from vaultwire.vault.links.sections import Sections, parse_structure
from vaultwire.vault.search.note_parts import read_searchable
from vaultwire.vault.value_types import Progress, VaultPath, asking

_REPORT_EVERY = 200
# A longer list of findings in one file does not help to repair it.
_MAX_FINDINGS = 1_000
_NOT_IN_LINKS = re.compile(r"[#^|:%\s]+|\[\[|\]\]")
# Letters of a name that one slip does not make another name.
_LEAST_FOR_SLIP = 8
# How many suggestions a link gets.
_MOST = 3
_AT_LINE = re.compile(r"line (\d+): ")


_Fault: TypeAlias = tuple[str, str, list[Suggestion]]
"""The kind of a fault of a link, the reason, and what may be meant."""


class Checked(NamedTuple):
    """One page of a check of many files: those with findings, in path order; ``position``: how many files were checked so far,
    ``total``: how many there are.
    """

    found: list[tuple[VaultPath, list[Finding]]]
    position: int
    total: int


class Checks:
    """The checks of one vault."""

    def __init__(self, files: Files, index: Index, declared: Mapping[str, str]) -> None:
        """``declared``: the types that Obsidian gives properties, by folded name."""
        self._files = files
        self._index = index
        self._declared = declared

    def one(self, path: VaultPath, progress: Progress) -> list[Finding]:
        """Return what is wrong with a note or canvas."""
        return self._checker(progress).check(path)

    def _checker(self, progress: Progress) -> _FileChecker:
        suggestions = Suggestions(self._index, progress)
        return _FileChecker(self._files, self._declared, self._index.resolver(progress), suggestions, progress)

    def suspects(self, folder: VaultPath | None, progress: Progress) -> Suspects:
        """Return the notes and canvases below the folder that may have a fault, by what the index knows of them.

        Notes that the vault's own rules exclude are left out.
        """
        misfits = {
            name: lambda value, fits=_FITS[declared]: value is not None and not fits(value)
            for name, declared in self._declared.items()
            if declared in _FITS
        }
        return self._index.suspects(folder, misfits, progress)

    def many(self, suspects: Suspects, offset: int, limit: int, progress: Progress) -> Checked:
        """Check the suspects from file number ``offset`` on, until there are ``limit`` findings.

        All findings of the last file are returned.
        """
        total = suspects.total
        checker = self._checker(progress)
        findings_of: list[tuple[VaultPath, list[Finding]]] = []
        left = limit
        start = bisect_left(suspects.numbers, offset)
        for number, path in zip(suspects.numbers[start:], suspects.paths[start:], strict=True):
            progress.check()
            if checker.count % _REPORT_EVERY == 0:
                progress.report(number, total, f"{number} of {total} files")
            findings = checker.check(path)
            if findings:
                findings_of.append((path, findings))
                left -= len(findings)
                if left <= 0:
                    return Checked(findings_of, number + 1, total)
        return Checked(findings_of, total, total)


class _FileChecker:
    """Checks files of one vault, one after another. It reads each target of links once: make one for each request."""

    def __init__(
        self,
        files: Files,
        declared: Mapping[str, str],
        resolve: Resolve,
        suggestions: Suggestions,
        progress: Progress,
    ) -> None:
        self._files = files
        self._declared = declared
        self._resolve = resolve
        self._suggestions = suggestions
        self._progress = progress
        self.count = 0
        self._sections: dict[VaultPath, Sections | None] = {}

    def check(self, path: VaultPath) -> list[Finding]:
        """Return what is wrong with a note or canvas, in line order. Files of other kinds have nothing wrong."""
        self.count += 1
        if not (is_note(path) or is_canvas(path)):
            return []
        try:
            data = self._files.read(path).data
        except VaultError as error:
            return [Finding(UNREADABLE, error.message, 1)]
        text = plain_text(data)
        check = self._note if is_note(path) else self._canvas
        findings = list(islice(check(path, text), _MAX_FINDINGS + 1))
        if len(findings) > _MAX_FINDINGS:
            findings[-1] = findings[-1]._replace(
                kind=NOT_CHECKED, message=f"more than {_MAX_FINDINGS:,} faults; these are the first"
            )
        return sorted(findings, key=lambda finding: finding[2:])

    # ------------------------------------------------------------------ notes

    def _note(self, path: VaultPath, text: str) -> Iterator[Finding]:
        parsed = parse_note(text)
        yield from _frontmatter(parsed, self._declared)
        for check in NOTE_CHECKS:
            yield from check(parsed)
        spans = link_spans(text)
        links = [Link(span.linktext, span.display, span.line, span.is_embed, span.is_markdown) for span in spans]
        targets = self._resolve(path, links)
        starts = line_starts(text)
        for span, target in zip(spans, targets, strict=True):
            self._progress.check()
            fault = self._fault(span.linktext, target, is_embed=span.is_embed)
            if fault is not None:
                line, column, end = _place(span, starts, len(text))
                written = text[span.start : span.start + end - column] or span.linktext
                yield _broken_link(fault, f"{written} leads nowhere", (line, column, end), span.linktext)

    def _fault(self, linktext: str, target: VaultPath | None, *, is_embed: bool) -> _Fault | None:
        """Return the kind of the fault and why the link leads nowhere; None if it leads somewhere."""
        linkpath, _, subpath = linktext.partition("#")
        if target is None:
            kind = UNRESOLVED_EMBED if is_embed else UNRESOLVED_LINK
            return kind, f"there is no file {linkpath.strip()!r}", self._suggestions.for_link(linktext)
        if not subpath.strip() or not is_note(target):
            return None
        sections = self._sections_of(target)
        if sections is None:
            return None
        try:
            sections.span(subpath)
        except VaultError as error:
            if error.code != SECTION_NOT_FOUND:
                raise
            if subpath.strip().startswith("^"):
                return MISSING_BLOCK, error.message, []
            return (
                MISSING_HEADING,
                error.message,
                self._suggestions.for_heading(linktext, target, sections.heading_texts),
            )
        return None

    def _sections_of(self, path: VaultPath) -> Sections | None:
        if path not in self._sections:
            self._progress.check()
            text = read_searchable(self._files, path)
            self._sections[path] = None if text is None else Sections(parse_structure(path, text))
        return self._sections[path]

    # ------------------------------------------------------------------ canvases

    def _canvas(self, path: VaultPath, text: str) -> Iterator[Finding]:
        try:
            nodes = file_nodes(text)
        except NotACanvasError as error:
            yield Finding(BROKEN_CANVAS, f"the canvas {error}", 1)
            return
        links = [Link("/" + node.file, "", line, is_embed=True, is_markdown=False) for node, line in nodes]
        for (node, line), target in zip(nodes, self._resolve(path, links), strict=True):
            self._progress.check()
            fault = self._fault(node.file + node.subpath, target, is_embed=True)
            if fault is not None:
                file = node.file + node.subpath
                yield _broken_link(fault, f"the file {file!r} cannot be shown", (line, 1, 1), file)


def _broken_link(fault: _Fault, what: str, place: tuple[int, int, int], linktext: str) -> Finding:
    kind, reason, suggestions = fault
    meant = " or ".join(f"[[{each.linktext}]]" for each in suggestions)
    hint = f"{' Did' if reason.endswith('.') else '; did'} you mean {meant}?" if meant else ""
    return Finding(kind, f"{what}: {reason}{hint}", *place, linktext, tuple(suggestions))


def _frontmatter(parsed: ParsedNote, declared: Mapping[str, str]) -> Iterator[Finding]:
    for number, problem in enumerate(parsed.problems):
        at = _AT_LINE.match(problem)
        kind = BROKEN_FRONTMATTER if number < len(parsed.frontmatter.problems) else NOT_CHECKED
        yield Finding(kind, problem[at.end() :] if at else problem, int(at[1]) if at else 1)
    for name, value in parsed.frontmatter.values.items():
        declared_type = declared.get(fold(name), "")
        fits = _FITS.get(declared_type)
        if fits is not None and value is not None and not fits(value):
            lines = parsed.frontmatter.lines.get(name)
            is_type = property_type(name, value, {})
            message = (
                f"property {name!r} should be {_IN_WORDS[declared_type]}, and is {_IN_WORDS.get(is_type, is_type)}"
            )
            yield Finding(WRONG_PROPERTY, message, min(lines) if lines else 1)


def _is_day(value: PropertyValue) -> bool:
    return isinstance(value, str) and property_type("", value, {}) in ("date", "datetime")


# Obsidian marks values that fail these with a warning sign in its own view of properties. A text may hold anything; where
# the type is a list, a single value counts as one.
_FITS: dict[str, Callable[[PropertyValue], bool]] = {
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "checkbox": lambda value: isinstance(value, bool),
    "date": _is_day,
    "datetime": _is_day,
    "multitext": lambda value: not isinstance(value, dict),
    "tags": lambda value: not isinstance(value, dict),
    "aliases": lambda value: not isinstance(value, dict),
}
_IN_WORDS = {
    "number": "a number",
    "checkbox": "true or false",
    "date": "a date such as 2026-03-31",
    "datetime": "a date and time such as 2026-03-31T09:00",
    "multitext": "a list",
    "tags": "a list of tags",
    "aliases": "a list of names",
    "text": "text",
    "unknown": "a map",
}


def _place(span: LinkSpan, starts: list[int], length: int) -> tuple[int, int, int]:
    """Return line, column and the column after the end, on the link's first line. ``starts`` are the starts of all lines."""
    if span.end == 0:  # a property in a form that cannot be located
        return span.line, 1, 1
    number = bisect_right(starts, span.start)
    start = starts[number - 1]
    stop = starts[number] - 1 if number < len(starts) else length
    return span.line, span.start - start + 1, min(span.end, stop) - start + 1


# What may be meant by a link that leads nowhere: files and headings with nearly its name.


class Suggestions:
    """The suggestions of one request. All names of the vault are read when the first one is asked for."""

    def __init__(self, index: Index, progress: Progress) -> None:
        self._index = index
        self._progress = progress
        self._found: dict[str, list[Suggestion]] = {}
        self._headings: dict[VaultPath, Names[str]] = {}

    def for_link(self, linktext: str) -> list[Suggestion]:
        """Return what may be meant by a link to a file that is not there, best first. A subpath stays as it is."""
        linkpath = linkpath_of(linktext).strip()
        key = fold(linkpath)
        if key not in self._found:
            self._progress.check()
            self._found[key] = self._alike(stem(linkpath))
        subpath = linktext[len(linkpath_of(linktext)) :]
        return [each._replace(linktext=each.linktext + subpath) for each in self._found[key]]

    def for_heading(self, linktext: str, target: VaultPath, headings: Callable[[], Iterable[str]]) -> list[Suggestion]:
        """Return what may be meant by a link to a heading that is not in its target, best first."""
        linkpath, _, subpath = linktext.partition("#")
        if target not in self._headings:
            by_letters: dict[str, list[str]] = {}
            for heading in dict.fromkeys(headings()):
                by_letters.setdefault(letters_of(heading), []).append(heading)
            self._headings[target] = Names(by_letters)
        names = self._headings[target]
        letters = letters_of(subpath.rpartition("#")[2])
        headings_near = [
            (heading, likeness_of(letters, other)) for other in names.near(letters) for heading in names.named[other]
        ]
        near = sorted((likeness, heading) for heading, likeness in headings_near if likeness < UNLIKE)
        sure = [likeness for likeness, _ in near if likeness < BEGINS]
        return [
            Suggestion(f"{linkpath}#{_NOT_IN_LINKS.sub(' ', heading).strip()}", len(sure) == 1 and likeness < BEGINS)
            for likeness, heading in near[:_MOST]
        ]

    def _alike(self, name: str) -> list[Suggestion]:
        letters = letters_of(name)
        if not letters:
            return []
        near: dict[VaultPath, int] = {}
        for other in self._names.near(letters):
            likeness = likeness_of(letters, other)
            for path in self._names.named[other]:
                near[path] = min(near.get(path, UNLIKE), likeness)
        return _ranked(name, [(path, likeness) for path, likeness in near.items() if likeness < UNLIKE])

    @cached_property
    def _names(self) -> Names[VaultPath]:
        paths: dict[str, list[VaultPath]] = {}
        copies = {copy.path for copy in conflict_copies(self._index.paths(self._progress)) if copy.has_original}
        for name, path in asking(self._progress, self._index.names_and_aliases(self._progress)):
            if path not in copies and (letters := letters_of(name)):
                paths.setdefault(letters, []).append(path)
        return Names(paths)


def _is_slip(name: str, path: VaultPath) -> bool:
    """Tell whether a long name only lacks or repeats a letter within it, or has two of them in the wrong order.

    It is known to differ by one slip from the name of the file, or by another letter.
    """
    names = name, stem(path)
    extensions = {each.rpartition(".")[2] for each in names}
    if len(extensions) == 1:  # of attachments
        names = name.rpartition(".")[0], stem(path).rpartition(".")[0]
    shorter, longer = sorted(map(letters_of, names), key=len)
    if len(longer) < _LEAST_FOR_SLIP:
        return False
    if len(shorter) < len(longer):
        return longer[-1] == shorter[-1]  # else it may be a plural
    swapped = [at for at, (one, other) in enumerate(zip(shorter, longer, strict=True)) if one != other]
    return len(swapped) == 2  # noqa: PLR2004 - two letters


def _ranked(name: str, near: Sequence[tuple[VaultPath, int]]) -> list[Suggestion]:
    ranked = sorted(near, key=lambda each: (each[1], len(each[0]), each[0]))
    best = [each for each in ranked if each[1] == ranked[0][1]]
    names = [path.removesuffix(".md") for path, _ in ranked]
    is_sure = len(best) == 1 and (best[0][1] == SAME or (best[0][1] == TYPO and _is_slip(name, best[0][0])))
    return [Suggestion(name, is_sure and not number) for number, name in enumerate(names[:_MOST])]
