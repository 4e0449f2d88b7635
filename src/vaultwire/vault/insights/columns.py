"""Columns for a list of notes: what each note says of itself, by name. Pure: the notes are read elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vaultwire.markdown.block_parser import Body, read_body
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import fold, stem
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
