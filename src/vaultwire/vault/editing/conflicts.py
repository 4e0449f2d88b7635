"""Conflict copies joined with their originals, and conflicts that Git left in notes: found, shown, and made one change.

The join is ``markdown.three_way``. Here the best base is found: among what the journal has of the file, and what Git has. No
base is certain: the other device may have had any earlier version. So what one side lacks counts as removed only if a change
on record removed it; else it may as well be an addition that the other device never saw. Where the other has a like line in its
place, it may be that line with other words, or a second one: a clash, which the person decides. A line that a person has
removed may come back so, but none that was added is lost.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vaultwire.markdown.diffs import lines_of
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.merging import items_of, same_item
from vaultwire.markdown.parse import conflict_blocks
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, remove_properties, set_properties, written_properties
from vaultwire.markdown.property_values import same_value
from vaultwire.markdown.three_way import Choice, Clash, Joined, form_of, join
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.disk.conflict_copies import ConflictCopy, conflict_copies, is_version_of
from vaultwire.vault.disk.contents import etag_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_base, is_note, lies_in, text_of
from vaultwire.vault.editing.workbench import Asked, Done, Workbench, writes_of
from vaultwire.vault.editing.writing import free_trash_path
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, STALE_EDIT, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.links.note_lookup import links_lost, locate_file, locate_folder
from vaultwire.vault.value_types import Progress, VaultPath, asking

# The latest versions of a file in Git that may be the base.
_MOST_COMMITS = 50
_GIT_SECONDS = 5
_COMMIT = re.compile(rb"[0-9a-f]{40,64}")
# Two devices may add list items, tasks and rows of one form, and short lines that are alike. Nobody writes so many words twice.
_LEAST_WORDS = 12
_LIST_ITEM = re.compile(r"(?:>\s?)*(?:[-*+]|\d{1,9}[.)])\s")
_UNTICKED = re.compile(r"(?<=\[).(?=\])|\s*\u2705 \d{4}-\d\d-\d\d")


class Conflicting(NamedTuple):
    """Two versions of one file: ``path`` is the original and ``copy`` the other; None where both are in a note's own text.

    ``base`` says what they were compared with, empty if nothing earlier is known. ``etag`` is of both versions. ``done``: the
    change; None while clashes are open.
    """

    path: VaultPath
    copy: ConflictCopy | None
    joined: Joined
    base: str
    etag: str
    done: Done | None


class MarkedFile(NamedTuple):
    """A note, canvas or base in which Git left both versions of some lines: ``lines``, from 1, where each conflict begins."""

    path: VaultPath
    lines: list[int]


def find_conflict_copies(
    files: Files, index: Index, progress: Progress, place: VaultPath | None = None
) -> list[ConflictCopy]:
    """Return the conflict copies of a vault that may be seen, in path order. ``place``: one file, or a folder.

    A file of a name that people give, too, is one only if its text is a version of the other's.
    """
    return _copies_among(index.paths(progress), files, place)


def _copies_among(paths: list[VaultPath], files: Files, place: VaultPath | None) -> list[ConflictCopy]:
    copies = [copy for copy in conflict_copies(paths, files.root) if place is None or lies_in(copy.path, place)]
    return [copy for copy in copies if copy.is_certain or _are_versions(files, copy)]


def _are_versions(files: Files, copy: ConflictCopy) -> bool:
    try:
        one, other = (text_of(path, files.read(path).data) for path in (copy.path, copy.original))
    except VaultError:
        return False
    return one is not None and other is not None and is_version_of(one, other)


class Conflicts:
    """The conflicts of one vault, as one caller joins them."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.files

    def all(self, folder: str, progress: Progress) -> tuple[list[ConflictCopy], list[MarkedFile]]:
        """Return the conflict copies below a folder, and the files with conflicts that Git left, both in path order.

        Files that Git calls a backup are copies. Raises VaultError (FILE_NOT_FOUND) for the folder.
        """
        files, index, place = self._files, self._bench.index, locate_folder(self._files, folder)
        paths = index.paths(progress)
        # The index knows which notes have marks, and nothing of what is in a base.
        suspects = {*index.suspects(place, {}, progress).paths}
        suspects.update(path for path in paths if is_base(path) and (not place or lies_in(path, place)))
        marked: list[MarkedFile] = []
        for path in asking(progress, sorted(suspects)):
            try:
                data = files.read(path).data
            except VaultError:  # it is gone, or too large to be joined
                continue
            lines = [span.first for span, _, _ in _blocks_in(data)]
            marked += [MarkedFile(path, lines)] if lines else []
        return _copies_among(paths, files, place), marked

    def join(
        self, name: str, choices: Sequence[Choice], if_match: str | None, progress: Progress, *, dry_run: bool
    ) -> Conflicting:
        """Join a copy with its original, or the versions in a note that Git left. The copy goes to the trash with it.

        ``name``: the copy, the note with marks, or an original that has one copy. ``choices``: what becomes of each clash in
        order; one for all. ``if_match``: the ``etag`` of what was shown. Nothing is written while a clash is open. Raises
        VaultError: FILE_NOT_FOUND where there is no conflict, INVALID_ARGUMENTS, STALE_EDIT, those of a change.
        """
        bench = self._bench
        with bench.locked(progress, dry_run=dry_run) as context:
            path = locate_file(self._files, bench.index, name, progress)
            copy = self._copy_of(path, progress)
            original = path if copy is None else copy.original
            data = bench.read(original, None) if is_note(original) else self._files.read(original).data
            other = None if copy is None else self._files.read(copy.path).data
            etag = etag_of(hashlib.blake2b(data).digest() + (other or b""))
            if if_match is not None and if_match != etag:
                message = (
                    f"{name!r} or the file it belongs to has changed since it was shown. Look at the conflict again."
                )
                raise VaultError(STALE_EDIT, message, path=path)
            joined, base, new = self._joined(original, data, other, choices, copy)
            if joined.open:
                return Conflicting(original, copy, joined, base, etag, None)
            steps: list[Step] = [Write(original, data, new)]
            notices: list[str] = []
            if copy is not None:
                steps.append(Move(copy.path, free_trash_path(self._files, copy.path)))
                lost = links_lost(bench.index, copy.path, context.progress)
                notices += [f"{len(lost)} links lead to the copy, the first in {lost[0][0]!r}."] if lost else []
            asked = Asked(f"Joining the two versions of {original!r}", named=(original,))
            done = bench.finish(steps, notices, progress, dry_run=dry_run, asked=asked)
            return Conflicting(original, copy, joined, base, etag, done)

    def _copy_of(self, path: VaultPath, progress: Progress) -> ConflictCopy | None:
        """Return the copy that a path names, or the one copy of it; None for a note with marks."""
        all_copies = find_conflict_copies(self._files, self._bench.index, progress)
        copy = next((each for each in all_copies if each.path == path), None)
        if copy is None:
            copies = [each for each in all_copies if each.original == path and each.has_original]
            if len(copies) > 1:
                named = ", ".join(repr(each.path) for each in copies)
                raise VaultError(INVALID_ARGUMENTS, f"{path!r} has {len(copies)} copies: {named}. Name one.", path=path)
            copy = copies[0] if copies else None
        if copy is not None and not copy.has_original:
            raise VaultError(
                FILE_NOT_FOUND,
                f"{copy.path!r} is {copy.words}. Give the copy that name (move_notes), or delete it.",
                path=copy.path,
            )
        if copy is None and (form_of(path) == "text" or not _blocks_in(self._files.read(path).data)):
            raise VaultError(
                FILE_NOT_FOUND, f"{path!r} is no conflict copy, has none, and holds no conflict.", path=path
            )
        return copy

    def _joined(
        self, path: VaultPath, data: bytes, other: bytes | None, choices: Sequence[Choice], copy: ConflictCopy | None
    ) -> tuple[Joined, str, bytes]:
        """Return the join, what it is compared with, and the bytes of the file afterwards."""
        mine, theirs, base, source = _to_text(data), None if other is None else _to_text(other), None, ""
        if copy is None:
            assert mine is not None
            base, mine, theirs = _versions_in(mine)
            source = "the version that Git wrote between them" if base is not None else ""
        if mine is None or theirs is None or _is_backup(copy, theirs):
            assert other is not None
            whole = [] if data == other else [Clash("element", "the whole file", None, "", "", Span(1, 1))]
            chosen = _chosen(choices, len(whole))
            if chosen.get(0) == "both":
                raise VaultError(
                    INVALID_ARGUMENTS, f"{path!r} cannot hold both versions: choose mine or theirs.", path=path
                )
            new = other if chosen.get(0) == "theirs" else data
            return Joined("", whole, chosen), "", new
        doubtful: set[str] = set()
        if copy is not None:
            base, source, doubtful = self._base(path, mine, theirs)
        form = form_of(path)
        count = len(join(base, mine, theirs, form, doubtful=doubtful).clashes)
        joined = join(base, mine, theirs, form, _chosen(choices, count), doubtful=doubtful)
        return joined, source, joined.text.encode()

    # ------------------------------------------------------------------ the base

    def _base(self, path: VaultPath, mine: str, theirs: str) -> tuple[str | None, str, set[str]]:
        """Return the best base and where it is from, None if nothing earlier is known; and its doubtful lines (``join``)."""
        best: tuple[tuple[int, int, int], str, str] | None = None
        versions = [*self._versions(path)]
        removed = {
            line for text, _, newer in versions if newer is not None for line in {*lines_of(text)} - {*lines_of(newer)}
        }
        for text, source, _ in versions:
            if text in (mine, theirs):
                continue  # then one of them is the base of the other, and no program would have made a copy
            fit = _fit(text, mine, theirs, removed)
            if fit is not None and (best is None or fit < best[0]):
                best = fit, text, source
        if best is None:
            return None, "", set()
        is_note = form_of(path) == "note"
        unsure = _unsure_properties(best[1], mine, theirs, versions) if is_note else set()
        base = _without_unknown(best[1], mine, theirs, removed, unsure, is_note=is_note)
        if base is None:
            return None, "", set()
        return base, best[2], _doubtful(base, mine, theirs, removed)

    def _versions(self, path: VaultPath) -> Iterator[tuple[str, str, str | None]]:
        """Yield earlier texts of a file, the latest first: of the journal, then of Git.

        With each: where it is from, and the text that the next change on record made of it.
        """
        for number, step in writes_of(self._bench.changes, path):
            after, before = (None if data is None else _to_text(data) for data in (step.after, step.before))
            if after is not None:
                yield after, f"{path!r} as it was after change {number}", None
            if before is not None:
                yield before, f"{path!r} as it was before change {number}", after
        newer: str | None = None
        for commit, data in versions_in_git(self._files.root, path):
            text = _to_text(data)
            if text is not None:
                yield text, f"{path!r} in Git's commit {commit[:10]}", newer
            newer = text


def _fit(base: str, mine: str, theirs: str, removed: set[str]) -> tuple[int, int, int] | None:
    """Return how badly a text fits as base: lines that a side lacks altogether though no change on record removed them; then
    the lines that all three have, and those that it has in common with the copy, both negative.

    None if both share less than half of it with each other: another text.
    """
    lines, own, other = (Counter(filter(str.strip, lines_of(each))) for each in (base, mine, theirs))
    common = sum((lines & own & other).values())
    if 2 * common < sum((own & other).values()):
        return None
    lacking = _lacking(lines, own) + _lacking(lines, other)
    unexplained = sum(count for line, count in lacking.items() if line not in removed)
    return unexplained, -common, -sum((lines & other).values())


def _lacking(lines: Counter[str], side: Counter[str]) -> Counter[str]:
    """Return the lines that a side has not, nor a line of its own that may be one of them with other words."""
    reworded = _reworded(lines, side)
    return Counter({line: count for line, count in (lines - side).items() if line not in reworded})


def _reworded(lines: Counter[str], side: Counter[str]) -> dict[str, str]:
    """Return the lines that a side has not, each with the line of its own that may be it with other words.

    It may be only if most words stayed, and if no other was like it: lists are full of lines that begin alike.
    """
    own = [(line, {*line.split()}) for line in (side - lines)]
    alike = {
        line: [place for place, (_, words) in enumerate(own) if 2 * len(words & {*line.split()}) > len({*line.split()})]
        for line in lines - side
    }
    uses = Counter(place for line, places in alike.items() for place in places for _ in range((lines - side)[line]))
    matches = {line: next((place for place in places if uses[place] == 1), None) for line, places in alike.items()}
    return {line: own[place][0] for line, place in matches.items() if place is not None}


def _doubtful(base: str, mine: str, theirs: str, removed: set[str]) -> set[str]:
    """Return the lines of a base that one side may have added, and the other a like one: nobody knows that from the words.

    A task that was only ticked off is no other, nor is a paragraph of which most stayed: nobody writes one twice by chance.
    """
    lines, own, other = (Counter(filter(str.strip, lines_of(each))) for each in (base, mine, theirs))
    pairs = [*_reworded(lines, own).items(), *_reworded(lines, other).items()]
    pairs = [(line.strip(), now.strip()) for line, now in pairs if line not in removed]
    return {line for line, now in pairs if not _is_surely_reworded(line, now)}


def _is_surely_reworded(line: str, now: str) -> bool:
    if _LIST_ITEM.match(line) or line.startswith("|"):
        return _UNTICKED.sub("", line) == _UNTICKED.sub("", now)
    words, stayed = line.split(), Counter(line.split()) & Counter(now.split())
    return len(words) >= _LEAST_WORDS and 4 * stayed.total() >= 3 * len(words)


def _unsure_properties(base: str, mine: str, theirs: str, versions: Sequence[tuple[str, str, str | None]]) -> set[str]:
    """Return the names, case folded, of values that one side may have set without the other's knowledge.

    Such a value is the base's and one side's, the other side has another one, and a version on record had another one, too:
    both may have changed that. Not if ``mine`` has the other value and a change on record replaced the base's.
    """
    old, own, other = (_properties_of(text) for text in (base, mine, theirs))
    changed = {
        name: same_value(own[name], value)
        for name, value in old.items()
        if name in own
        and name in other
        and not isinstance(value, list)
        and same_value(own[name], value) is not same_value(other[name], value)
    }
    if not changed:
        return set()
    steps = [(_properties_of(text), None if newer is None else _properties_of(newer)) for text, _, newer in versions]
    return {
        name
        for name, is_of_theirs in changed.items()
        if any(not _has(before, name, old[name]) for before, _ in steps)
        and (
            is_of_theirs
            or not any(
                after is not None and _has(before, name, old[name]) and not _has(after, name, old[name])
                for before, after in steps
            )
        )
    }


def _properties_of(text: str) -> dict[str, PropertyValue]:
    return {name.casefold(): value for name, value in written_properties(text).items()}


def _has(properties: dict[str, PropertyValue], name: str, value: PropertyValue) -> bool:
    return name in properties and same_value(properties[name], value)


def _without_unknown(
    base: str, mine: str, theirs: str, removed: set[str], unsure: set[str], *, is_note: bool
) -> str | None:
    """Return a base without ``unsure`` properties and without what one side lacks and no change on record removed.

    None if it cannot be written so.
    """
    lines, own, other = (Counter(filter(str.strip, lines_of(each))) for each in (base, mine, theirs))
    lacking = _lacking(lines, own) | _lacking(lines, other)
    if not is_note:
        return None if any(line not in removed for line in lacking) else base
    head_end = len(lines_of(to_plain(base)[: parse_frontmatter(to_plain(base)).end]))
    base_lines = lines_of(base)
    body = [line for line in base_lines[head_end:] if line in removed or line not in lacking]
    head = "".join(base_lines[:head_end])
    if not head:
        return "".join(body)
    values = written_properties(head)
    sides = [_properties_of(text) for text in (mine, theirs)]
    shared: dict[str, PropertyValue] = {}
    for name, value in values.items():
        if name.casefold() not in unsure and all(name.casefold() in side for side in sides):
            items = [[*items_of(side[name.casefold()])] for side in sides]
            shared[name] = (
                [item for item in value if all(any(same_item(name, item, each) for each in side) for side in items)]
                if isinstance(value, list)
                else value
            )
    try:
        head = set_properties(remove_properties(head, [name for name in values if name not in shared]), shared, None)
    except PropertyEditError:
        return None
    return head + "".join(body)


def versions_in_git(root: str, path: VaultPath) -> Iterator[tuple[str, bytes]]:
    """Yield the latest commits that changed a file, each with its bytes there; none without Git, or outside a repository.

    Only plumbing is run, which runs no hook, filter or program of the repository's settings.
    """
    git = shutil.which("git")
    if git is None or not _is_in_repository(root):
        return
    log = _run_git(
        [git, "-C", root, "rev-list", f"--max-count={_MOST_COMMITS}", "HEAD", "--", f":(literal){path}"], b""
    )
    commits = [line.decode() for line in log.split() if _COMMIT.fullmatch(line)]
    if not commits:
        return
    prefix = _run_git([git, "-C", root, "rev-parse", "--show-prefix"], b"").decode("utf-8", "replace").strip("\r\n")
    wanted = "".join(f"{commit}:{prefix}{path}\n" for commit in commits).encode()
    answer = _run_git([git, "-C", root, "cat-file", "--batch"], wanted)
    for commit in commits:
        head, _, rest = answer.partition(b"\n")
        parts = head.split()
        if len(parts) == 3 and parts[1] == b"blob" and parts[2].isdigit():  # noqa: PLR2004 - name, kind, size
            size = int(parts[2])
            yield commit, rest[:size]
            answer = rest[size + 1 :]
        else:  # it was deleted there
            answer = rest


def _is_in_repository(root: str) -> bool:
    while not os.path.exists(os.path.join(root, ".git")):
        above = os.path.dirname(root)
        if above == root:
            return False
        root = above
    return True


def _run_git(command: Sequence[str], asked: bytes) -> bytes:
    settings = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.devnull, "--no-pager", "--no-optional-locks"]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        ended = subprocess.run(  # noqa: S603 - the program was looked up, and no argument is a shell's
            [command[0], *settings, *command[1:]],
            input=asked,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return ended.stdout if ended.returncode == 0 else b""


# ---------------------------------------------------------------------- texts


def _versions_in(text: str) -> tuple[str | None, str, str]:
    """Return the base, if Git wrote it, and the two versions of a text with its marks."""
    lines = lines_of(text)
    sides: list[list[str]] = [[], [], []]
    blocks = conflict_blocks(text.replace("\r\n", "\n"))
    position = 0
    for span, base, middle in blocks:
        for side in sides:
            side.extend(lines[position : span.first - 1])
        sides[0] += lines[base : middle - 1] if base is not None else []
        sides[1] += lines[span.first : (base or middle) - 1]
        sides[2] += lines[middle : span.last - 1]
        position = span.last
    base_text, mine, theirs = ("".join([*side, *lines[position:]]) for side in sides)
    return (base_text if all(base is not None for _, base, _ in blocks) else None), mine, theirs


def _blocks_in(data: bytes) -> list[tuple[Span, int | None, int]]:
    """Return the conflicts that Git left in a file, as ``conflict_blocks``."""
    if b"<<<<<<<" not in data:
        return []
    return conflict_blocks((_to_text(data) or "").replace("\r\n", "\n"))


def _is_backup(copy: ConflictCopy | None, text: str) -> bool:
    """Tell whether a copy is what Git kept of a file before a person joined it: it holds both versions with their marks."""
    return copy is not None and copy.program == "Git" and bool(conflict_blocks(text.replace("\r\n", "\n")))


def _to_text(data: bytes) -> str | None:
    if b"\x00" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _chosen(choices: Sequence[Choice], count: int) -> dict[int, Choice]:
    """Return the choices by the number of the clash. Raises VaultError if they are not one for all, or one for each."""
    if not choices or not count:
        return {}
    if len(choices) not in (1, count):
        raise VaultError(
            INVALID_ARGUMENTS,
            f"There are {count} clashes and {len(choices)} choices. Give one for each in their order, or one for all.",
            argument="choose",
        )
    return dict(enumerate(choices if len(choices) == count else [*choices] * count))
