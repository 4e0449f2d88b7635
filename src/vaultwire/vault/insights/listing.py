"""What is shown of many notes: columns of a list, the tree of folders, why a search found nothing. Pure.

A column is what each note says of itself, by name; the notes are read elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple

from vaultwire.markdown.block_parser import Body, read_body
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import fold, stem
from vaultwire.vault.index.summaries import FolderFiles
from vaultwire.vault.search.filters import Condition
from vaultwire.vault.value_types import VaultPath

TITLE, DESCRIPTION = "title", "description"
"""Columns that a note has without a property of the name: its first heading if of level 1, else its name; its first text."""

_OTHER_NAME_OF_DESCRIPTION = "summary"
# So much of a note is looked at for its first heading and its first paragraph.
_LOOKED_AT = 8_000
_MAX_DESCRIPTION = 160
_NO_TEXT = re.compile(r"\s*(?:```|~~~|\$\$|%%|<|\||[-*_](?:\s*[-*_]){2,}\s*$)")
_MARKS = re.compile(r"^\s*(?:>\s*)*(?:\[![^\]]*\][-+]?\s*)?(?:[-*+]\s+|\d{1,9}[.)]\s+)?(?:\[.\]\s+)?")


def columns_of(path: VaultPath, text: str, names: Iterable[str]) -> dict[str, PropertyValue]:
    """Return the columns of a note that it has, by the names asked for; case does not matter in them.

    A column is the property of the name. ``title`` and ``description`` are found in every note that has any text.
    """
    frontmatter = parse_frontmatter(text)
    by_name = {fold(name): value for name, value in frontmatter.values.items()}
    found: dict[str, PropertyValue] = {}
    body: Body | None = None
    for name in names:
        key = fold(name)
        if key in by_name:
            found[name] = by_name[key]
            continue
        if key not in (TITLE, DESCRIPTION):
            continue
        if key == DESCRIPTION and by_name.get(_OTHER_NAME_OF_DESCRIPTION):
            found[name] = by_name[_OTHER_NAME_OF_DESCRIPTION]
            continue
        start = text[frontmatter.end : frontmatter.end + _LOOKED_AT]
        body = body or read_body(start, 1)
        if key == TITLE:
            # A heading of a lower level is that of a section.
            found[name] = next((each.text for each in body.headings[:1] if each.level == 1), stem(path))
        elif description := _description(start, body):
            found[name] = description
    return found


def _description(text: str, body: Body) -> str:
    """Return the first block of text that is no heading, code, table or comment, shortened and without its marks."""
    headings = {line for heading in body.headings for line in range(heading.line, heading.line + heading.more + 1)}
    lines = text.split("\n")
    for span in body.blocks:
        block = lines[span.first - 1 : span.last]
        if span.first in headings or _NO_TEXT.match(block[0]):
            continue
        whole = " ".join(_MARKS.sub("", line).strip() for line in block).strip()
        if whole:
            return whole if len(whole) <= _MAX_DESCRIPTION else f"{whole[: _MAX_DESCRIPTION - 1].rstrip()}…"
    return ""


# The tree of a vault's folders with counts, cut to a depth and a number of folders. Pure.


class Branch(NamedTuple):
    """A folder of the tree: its path (``""`` is the vault's root), and what is right in it and in it and all below.

    ``folders`` is how many folders are right in it, ``unshown`` how many of these the tree does not show.
    """

    folder: str
    depth: int
    notes: int
    notes_below: int
    attachments_below: int
    folders: int
    unshown: int


def folder_tree(found: Iterable[FolderFiles], root: str, depth: int, limit: int) -> list[Branch]:
    """Return the folders from ``root`` down to a depth, each before those in it, in path order; at most ``limit``.

    Where there are more, whole levels are left out from the deepest on; of the level that does not fit, the folders with the
    most notes are shown. Every count includes the folders that are not shown.
    """
    own: dict[str, FolderFiles] = {}
    below: dict[str, list[int]] = {root: [0, 0]}  # notes, attachments
    children: dict[str, set[str]] = {root: set()}
    for each in found:
        own[each.folder] = each
        folder = each.folder
        while True:
            counts = below.setdefault(folder, [0, 0])
            counts[0] += each.notes
            counts[1] += each.attachments
            children.setdefault(folder, set())
            if folder == root:
                break
            above = folder.rpartition("/")[0]
            children.setdefault(above, set()).add(folder)
            folder = above
    shown = _shown(root, depth, limit, children, below)
    return [
        Branch(
            folder,
            _depth_of(folder, root),
            own[folder].notes if folder in own else 0,
            below[folder][0],
            below[folder][1],
            len(children[folder]),
            sum(child not in shown for child in children[folder]),
        )
        for folder in sorted(shown, key=lambda path: path.split("/") if path else [])
    ]


def _shown(root: str, depth: int, limit: int, children: dict[str, set[str]], below: dict[str, list[int]]) -> set[str]:
    """Return the folders that fit: level by level, of the last level those with the most notes."""
    shown = {root}
    level = [root]
    for _ in range(depth):
        level = [child for folder in level for child in children[folder]]
        level.sort(key=lambda folder: (-below[folder][0], -below[folder][1], folder))
        shown.update(level[: max(limit - len(shown), 0)])
        if not level or len(shown) >= limit:
            break
    return shown


def _depth_of(folder: str, root: str) -> int:
    inside = folder[len(root) :].strip("/")
    return inside.count("/") + 1 if inside else 0


# Why conditions on tags and properties find no note: a name that no note has, or a value that the property never has. Pure.

# How many names or values are told, and how similar names must be.
_MOST, _LEAST_SIMILAR = 5, 0.7


class Unmet(NamedTuple):
    """A condition that no note meets. ``there``: similar names, the most similar first; or the property's values."""

    kind: Literal["tag", "property", "value"]
    name: str
    there: list[str]


def unmet_tags(asked: Iterable[str], known: Sequence[str]) -> list[Unmet]:
    """Return those of the tags that no note has. A tag counts as there if one below it is."""
    folded = {fold(tag): tag for tag in known}
    parents = {tag.rsplit("/", depth)[0] for tag in folded for depth in range(tag.count("/") + 1)}
    wanted = (tag.removeprefix("#").strip("/") for tag in asked)
    return [Unmet("tag", tag, _similar(tag, folded)) for tag in wanted if fold(tag) not in parents]


def unmet_conditions(
    asked: Iterable[Condition], known: Sequence[str], values_of: Callable[[str], Sequence[str]]
) -> list[Unmet]:
    """Return the conditions that name a property which no note has, or ask for a value that no note has in it.

    ``values_of`` returns a property's values, the most frequent first.
    """
    folded = {fold(name): name for name in known}
    unmet = []
    for condition in asked:
        if condition.is_negated:
            continue
        name = folded.get(fold(condition.name))
        if name is None:
            unmet.append(Unmet("property", condition.name, _similar(condition.name, folded)))
        elif condition.sign == "=" and condition.text:
            values = values_of(name)
            if not any(condition.accepts(value) for value in values):
                unmet.append(Unmet("value", name, list(values[:_MOST])))
    return unmet


def _similar(asked: str, folded: dict[str, str]) -> list[str]:
    found = get_close_matches(fold(asked), folded, n=_MOST, cutoff=_LEAST_SIMILAR)
    return [folded[each] for each in found]
