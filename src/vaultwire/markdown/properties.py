"""Frontmatter: where the block is and what its plain properties say.

Reads the forms Obsidian itself writes (``key: scalar``, ``key: [a, b]``, block lists). A value in any other YAML form is
left out, not guessed; a line that is no YAML at all is a problem. Values stay text: typing them is the catalog's matter.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# The whole first line, nothing before it; the closing mark at a line start, the file's end allowed (obsidian.d.ts
# getFrontMatterInfo).
_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)(?:^---[ \t]*(?:\n|\Z))", re.DOTALL | re.MULTILINE)
# Possessive (*+): a pattern that does not match must fail in linear time, whatever a note holds.
_QUOTED = re.compile(r"""\s*+("(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')\s*+""")
_COLON = re.compile(r":(?:[ \t]|\Z)")
_NO_KEY = frozenset("#'\"[]{},&*!|>%@`")
_ITEM = re.compile(r"\s*+-(?:[ \t](.*))?\Z")
_PLAIN_ITEM = re.compile(r"""[^,\[\]{}"']*+""")
_COMMENT = re.compile(r"(?:^|\s)#.*\Z")
# A person mends the first few; a file that is no YAML at all has one on every line.
_MAX_PROBLEMS = 10


class Frontmatter(NamedTuple):
    """A note's properties: scalars as text (None for empty), lists as lists of text, in file order."""

    values: dict[str, str | list[str] | None]
    end: int  # offset of the first character after the block; 0 where there is none
    problems: list[str]
    lines: dict[str, list[int]]  # property → the line of each of its texts, counted from 1 in the note

    def texts(self, name: str) -> list[str]:
        """Return a property's values as a list, whatever the case of its name."""
        value = self._value(name)
        return value if isinstance(value, list) else [value] if value else []

    def is_list(self, name: str) -> bool:
        """Tell whether a property is a list, whatever the case of its name."""
        return isinstance(self._value(name), list)

    def _value(self, name: str) -> str | list[str] | None:
        return next((value for key, value in self.values.items() if key.casefold() == name), None)


def parse_frontmatter(text: str) -> Frontmatter:
    """Return the properties of a note whose line ends are ``\\n``."""
    block = _BLOCK.match(text)
    if block is None:
        unclosed = text.startswith("---\n") and _opens(text)
        return Frontmatter({}, 0, ["frontmatter is opened with --- and never closed"] if unclosed else [], {})
    values: dict[str, str | list[str] | None] = {}
    problems: list[str] = []
    lines: dict[str, list[int]] = {}
    key: str | None = None
    opaque = False  # inside a value whose form is left out
    for number, line in enumerate(block[1].split("\n"), start=2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = _ITEM.match(line)
        top = _split_key(line)
        if top is not None:
            key, rest = top
            if key in values:
                problems.append(f"line {number}: property {key!r} is there twice")
            opaque = rest[:1] in ("|", ">", "{", "&", "*", "!")
            value = None if opaque or not rest else _flow_list(rest) if rest.startswith("[") else _scalar(rest)
            values[key] = value
            lines[key] = [number] * (len(value) if isinstance(value, list) else value is not None)
        elif line.startswith("\t"):
            problems.append(f"line {number}: a tab cannot indent YAML")
        elif item is not None and key is not None and not opaque:
            listed = values[key]
            if not isinstance(listed, list):
                values[key] = listed = []
                lines[key] = []
            listed.append(_scalar(item[1] or ""))
            lines[key].append(number)
        elif line[0] != " " or key is None:
            problems.append(f"line {number}: expected 'name: value'")
        else:  # the value goes on in a form we do not read: what stands on its first line is not the whole of it
            opaque = True
            values[key] = None
            lines[key] = []
    return Frontmatter(values, block.end(), problems[:_MAX_PROBLEMS], lines)


def _opens(text: str) -> bool:
    """Tell an unclosed block from a rule at the top: something like a property follows."""
    return _split_key(text.split("\n", 2)[1]) is not None


def _split_key(line: str) -> tuple[str, str] | None:
    """Return a top-level line's key and the text of its value, None if it is no ``key: value``."""
    quoted = _QUOTED.match(line)
    if quoted is not None and line[0] in "\"'":
        return (_scalar(quoted[1]), _uncommented(line[quoted.end() + 1 :])) if line[quoted.end() :][:1] == ":" else None
    colon = _COLON.search(line)
    if not line or colon is None or line[0].isspace() or line[0] in _NO_KEY or line.startswith("- "):
        return None
    return line[: colon.start()].strip(), _uncommented(line[colon.end() :])


def _uncommented(text: str) -> str:
    """Return a value without the comment behind it; ``#`` inside quotes is no comment."""
    quoted = _QUOTED.match(text)
    return quoted[1] if quoted is not None else _COMMENT.sub("", text).strip()


def _flow_list(text: str) -> list[str]:
    items: list[str] = []
    position = 1
    while position < len(text):
        item = _QUOTED.match(text, position) or _PLAIN_ITEM.match(text, position)
        if item is None or text[item.end() : item.end() + 1] not in (",", "]", ""):
            break  # nested lists and maps: left out
        if item[0].strip():
            items.append(_scalar(item[0]))
        if text[item.end() : item.end() + 1] != ",":
            break
        position = item.end() + 1
    return items


def _scalar(text: str) -> str:
    text = _uncommented(text)
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
