"""Checks of notes and canvases: links that lead nowhere, broken properties. Only certain faults, no style.

A link to a note that does not exist yet is reported too, as Obsidian shows it pale.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from vaultwire.markdown.canvas import NotACanvasError, file_nodes
from vaultwire.markdown.link_spans import LinkSpan, link_spans
from vaultwire.markdown.parse import parse_note, property_tag
from vaultwire.markdown.parsed_note import Link, ParsedNote
from vaultwire.markdown.properties import property_type
from vaultwire.markdown.property_values import one_line
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_canvas, is_note
from vaultwire.vault.errors import SECTION_NOT_FOUND, VaultError
from vaultwire.vault.index.port import Index, Resolve
from vaultwire.vault.links.sections import Sections, parse_structure
from vaultwire.vault.links.suggestions import Suggestion, Suggestions
from vaultwire.vault.listed import PathKeys, size_of
from vaultwire.vault.value_types import Progress, VaultPath

KINDS: list[str] = []
"""The kinds of faults in notes, canvases and bases. Tools describe them from this list."""

ERRORS: set[str] = set()
"""The kinds that keep Obsidian from showing the file as it was meant. The other kinds are warnings."""


def _kind(name: str, *, is_error: bool = False) -> str:
    """Declare a kind of fault."""
    KINDS.append(name)
    if is_error:
        ERRORS.add(name)
    return name


UNRESOLVED_LINK = _kind("unresolved-link")
UNRESOLVED_EMBED = _kind("unresolved-embed")
MISSING_HEADING = _kind("missing-heading")
MISSING_BLOCK = _kind("missing-block")
BROKEN_FRONTMATTER = _kind("broken-frontmatter", is_error=True)
WRONG_PROPERTY = _kind("wrong-property")
NOT_A_TAG = _kind("not-a-tag")
DUPLICATE_BLOCK = _kind("duplicate-block")
BROKEN_CANVAS = _kind("broken-canvas", is_error=True)
BROKEN_BASE = _kind("broken-base", is_error=True)
BASE_PROBLEM = _kind("base-problem")
EMPTY_VIEW = _kind("empty-view")
NOT_CHECKED = _kind("not-looked-into")
UNREADABLE = _kind("unreadable", is_error=True)

UNUSABLE_FILE = "unusable-file"
"""A fault of a file by itself, found by ``disk.inspection``: its name, its bytes, or where it is."""
ERRORS.add(UNUSABLE_FILE)

_REPORT_EVERY = 200
# A longer list of findings in one file does not help to repair it.
_MAX_FINDINGS = 1_000
# Of a property's text in a message: characters, and words of the example.
_MAX_SHOWN, _MAX_WORDS = 200, 5

_BETWEEN_TAGS = re.compile(r"[,\s]+")
_AT_LINE = re.compile(r"line (\d+): ")


class Finding(NamedTuple):
    """A fault. Lines and columns count from 1; ``end`` is the column after its last character.

    Of a link that leads nowhere, ``linktext`` is the link and ``suggestions`` are those that may be meant, best first.
    """

    kind: str
    message: str
    line: int
    column: int = 1
    end: int = 1
    linktext: str = ""
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def is_error(self) -> bool:
        """Whether it is an error, not a warning."""
        return self.kind in ERRORS


_Fault: TypeAlias = tuple[str, str, list[Suggestion]]
"""The kind of a fault of a link, the reason, and what may be meant."""


NoteCheck: TypeAlias = Callable[[ParsedNote], Iterator[Finding]]
NOTE_CHECKS: list[NoteCheck] = []
"""The checks of a note's own text, whatever the vault holds besides."""


def note_check(check: NoteCheck) -> NoteCheck:
    """Declare a check of a note's own text. The index runs it, too, so as to know which notes may have faults."""
    NOTE_CHECKS.append(check)
    return check


def may_have_faults(parsed: ParsedNote) -> bool:
    """Tell whether a note's own text may have a fault besides its ``problems``."""
    names = parsed.frontmatter.values
    # Of names that differ only in case the index's properties have one, so the types of the others are not known.
    return len({fold(name) for name in names}) < len(names) or any(True for check in NOTE_CHECKS for _ in check(parsed))


class Suspects(NamedTuple):
    """The notes and canvases of a folder, in path order, and the numbers of those that may have a fault."""

    paths: PathKeys
    numbers: Sequence[int]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.paths.size + size_of(self.numbers)


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
        return Suspects(*self._index.suspects(folder, misfits, progress))

    def many(self, suspects: Suspects, offset: int, limit: int, progress: Progress) -> Checked:
        """Check the suspects from file number ``offset`` on, until there are ``limit`` findings.

        All findings of the last file are returned.
        """
        total = len(suspects.paths)
        paths = suspects.paths.part(0, total)
        checker = self._checker(progress)
        found: list[tuple[VaultPath, list[Finding]]] = []
        left = limit
        for number in suspects.numbers[bisect_left(suspects.numbers, offset) :]:
            progress.check()
            if checker.count % _REPORT_EVERY == 0:
                progress.report(number, total, f"{number} of {total} files")
            findings = checker.check(paths[number])
            if findings:
                found.append((paths[number], findings))
                left -= len(findings)
                if left <= 0:
                    return Checked(found, number + 1, total)
        return Checked(found, total, total)


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
        found = list(islice(check(path, text), _MAX_FINDINGS + 1))
        if len(found) > _MAX_FINDINGS:
            found[-1] = found[-1]._replace(
                kind=NOT_CHECKED, message=f"more than {_MAX_FINDINGS:,} faults; these are the first"
            )
        return sorted(found, key=lambda finding: finding[2:])

    # ------------------------------------------------------------------ notes

    def _note(self, path: VaultPath, text: str) -> Iterator[Finding]:
        parsed = parse_note(text)
        yield from _frontmatter(parsed, self._declared)
        for check in NOTE_CHECKS:
            yield from check(parsed)
        spans = link_spans(text)
        links = [Link(span.linktext, span.display, span.line, span.is_embed, span.is_markdown) for span in spans]
        targets = self._resolve(path, links)
        starts = [0, *(found.end() for found in re.finditer("\n", text))]
        for span, target in zip(spans, targets, strict=True):
            self._progress.check()
            fault = self._fault(span.linktext, target, is_embed=span.is_embed)
            if fault is not None:
                line, column, end = _place(span, starts, len(text))
                shown = text[span.start : span.start + end - column] or span.linktext
                yield _broken_link(fault, f"{shown} leads nowhere", (line, column, end), span.linktext)

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
            try:
                text = plain_text(self._files.read(path).data)
            except VaultError:
                self._sections[path] = None
            else:
                self._sections[path] = Sections(parse_structure(path, text))
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
                shown = node.file + node.subpath
                yield _broken_link(fault, f"the file {shown!r} cannot be shown", (line, 1, 1), shown)


def _broken_link(fault: _Fault, shown: str, place: tuple[int, int, int], linktext: str) -> Finding:
    kind, reason, suggestions = fault
    meant = " or ".join(f"[[{each.linktext}]]" for each in suggestions)
    hint = f"{' Did' if reason.endswith('.') else '; did'} you mean {meant}?" if meant else ""
    return Finding(kind, f"{shown}: {reason}{hint}", *place, linktext, tuple(suggestions))


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


@note_check
def _no_tags(parsed: ParsedNote) -> Iterator[Finding]:
    """Yield the texts of the ``tags`` property that look like tags and are none; until Obsidian 1.9.2 they were tags."""
    for name, texts in parsed.frontmatter.written.items():
        if name.casefold() != "tags":
            continue
        for text, line in zip(texts, parsed.frontmatter.lines[name], strict=True):
            if not _BETWEEN_TAGS.search(text.strip()):
                continue
            words = [tag for word in _BETWEEN_TAGS.split(text) if (tag := property_tag(word))]
            if words:
                shown = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
                example = one_line(list(words[:_MAX_WORDS]))
                rule = "a tag has no spaces and no commas. For several tags write a list, such as"
                yield Finding(NOT_A_TAG, f"{shown!r} is no tag: {rule} {example}", line)


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


@note_check
def _duplicates(parsed: ParsedNote) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for block in parsed.block_ids:
        key = fold(block.name)
        if key in first:
            message = f"block id ^{block.name} is on line {first[key]} too; links lead there"
            yield Finding(DUPLICATE_BLOCK, message, block.line)
        first.setdefault(key, block.line)


def _place(span: LinkSpan, starts: list[int], length: int) -> tuple[int, int, int]:
    """Return line, column and the column after the end, on the link's first line. ``starts`` are the starts of all lines."""
    if span.end == 0:  # a property in a form that cannot be located
        return span.line, 1, 1
    number = bisect_right(starts, span.start)
    start = starts[number - 1]
    stop = starts[number] - 1 if number < len(starts) else length
    return span.line, span.start - start + 1, min(span.end, stop) - start + 1
