"""Base files: the texts in formulas and filters that name files or folders, and their positions.

Only certain names count: the argument of ``link``, ``file``, ``hasLink`` and ``inFolder``, a comparison with ``file.path`` or
``file.folder``, and ``[[links]]``. The YAML around them stays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Literal, TypeAlias

from vaultwire.markdown.bounds import MOST_PROPERTIES
from vaultwire.markdown.link_spans import Rewriting, Rewritten
from vaultwire.markdown.offsets import Replacement, apply_replacements, line_starts
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.yaml_core import NotYamlError, read_yaml

Kind: TypeAlias = Literal["link", "wiki", "path", "folder"]
"""How a text names a file: like a link, within ``[[`` and ``]]``, by its path; or a folder by its path."""

# Quotes as they may be written in a YAML text: plain, escaped, doubled.
_TEXT = r"""(?P<{0}q>\\"|''|"|')(?P<{0}>(?!\[\[)(?:(?!(?P={0}q))[^\\\n])++)(?P={0}q)"""
_NAMES = compile_pattern(
    rf"\b(?:link|file|hasLink)\(\s*+{_TEXT.format('link')}"
    rf"|\binFolder\(\s*+{_TEXT.format('folder')}"
    rf"|\bfile\.folder\s*+[!=]=\s*+{_TEXT.format('equal')}"
    rf"|\bfile\.path\s*+[!=]=\s*+{_TEXT.format('path')}"
    # A single bracket does not end it, as in a note (engine facts §2.1).
    r"|\[\[(?!\[)(?P<wiki>(?:[^\[\]|\\\n]++|\[(?!\[)|\](?!\]))++)(?=\||\]\])"
)
_KINDS: dict[str, Kind] = {"link": "link", "wiki": "wiki", "path": "path", "folder": "folder", "equal": "folder"}


class NotABaseError(ValueError):
    """The text is not YAML, or a name in it cannot be replaced by another."""


def base_edits(text: str, decide: Callable[[Kind, str], str | None]) -> Rewriting:
    """Return the edits that replace names by the texts that ``decide`` returns; names for which it returns None stay.

    Raises NotABaseError.
    """
    if len(text) > MOST_PROPERTIES:
        raise NotABaseError(f"has more than {MOST_PROPERTIES:,} characters")
    plain = _edits(text, decide, {})
    if not plain:
        return Rewriting([], [])
    wanted = [apply_replacements(said, _edits(said, decide, {})) for said in _texts(text)]
    for escapes in ({}, {"'": "''"}, {'"': '\\"'}):
        edits = _edits(text, decide, escapes)
        try:
            if _texts(apply_replacements(text, edits)) == wanted:
                break
        except NotABaseError:
            continue
    else:
        raise NotABaseError("holds a name in quotes that cannot hold the new one")
    starts = line_starts(text)
    return Rewriting(
        edits,
        [Rewritten(bisect_right(starts, edit.start), text[edit.start : edit.end], edit.text) for edit in edits],
    )


def _edits(text: str, decide: Callable[[Kind, str], str | None], escapes: dict[str, str]) -> list[Replacement]:
    edits: list[Replacement] = []
    for found in _NAMES.finditer(text):
        group = next(name for name in _KINDS if found[name] is not None)
        written = found[group]
        name = decide(_KINDS[group], written.strip())
        if name is None and "''" in written:
            name = decide(_KINDS[group], written.replace("''", "'").strip())
        if name is not None:
            for character, escaped in escapes.items():
                name = name.replace(character, escaped)
            edits.append(Replacement(*found.span(group), name))
    return edits


def _texts(text: str) -> list[str]:
    try:
        read = read_yaml(text.replace("\r\n", "\n"), 1)
    except NotYamlError as error:
        raise NotABaseError(f"is not YAML: {error}") from None
    return [said for texts in read.texts.values() for said in texts]
