"""The words of a line, as units of a comparison: words, numbers, spaces, punctuation; links, addresses and tags as one.

Scripts that put no spaces between words are compared by character.
"""

from __future__ import annotations

import regex  # type: ignore[import-untyped]

from vaultwire.markdown.inline import read_inline
from vaultwire.review.diff.line_kinds import LineKind

# A word holds its accents and vowel signs, and an apostrophe between letters; a number its separators (dates, times).
_TOKEN = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*+"
    r"|\p{N}++(?:[.,:/\-]\p{N}++)*+[\p{L}\p{M}]*+"
    r"|[\p{L}_][\p{L}\p{N}\p{M}_]*+(?:['’]\p{L}[\p{L}\p{M}]*+)*+"  # noqa: RUF001 - the typographic apostrophe
    r"|[ ]++|\t++|\X"
)
# An address ends before the punctuation of the sentence. A tag: see ``markdown.inline``.
_WHOLE = regex.compile(
    r"https?://[^\s<>\"|\[\]]*(?<![.,;:!?)'])"
    r"|(?<![^\s>|*_(\[])#[^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]++"
)
_KEY = regex.compile(r"[^\s\-#:][^:]*+:(?=\s|\Z)")
_WORD = regex.compile(r"[\p{L}\p{N}]")


def tokens_of(line: str, kind: LineKind) -> list[str]:
    """Return the tokens of a line, which joined are the line again. In code nothing is a link."""
    if kind == "code":
        return list(_TOKEN.findall(line))
    found: list[str] = []
    position = 0
    for start, end in _units(line, kind):
        if start >= position:
            found += _TOKEN.findall(line, position, start)
            found.append(line[start:end])
            position = end
    found += _TOKEN.findall(line, position)
    return found


def is_word(token: str) -> bool:
    """Tell whether a token has a letter or a digit."""
    return _WORD.search(token) is not None


def _units(line: str, kind: LineKind) -> list[tuple[int, int]]:
    """Return the spans of a line that are one token each, in order; those within another one come behind it."""
    spans: list[tuple[int, int]] = []
    if kind == "properties" and (key := _KEY.match(line)):
        spans.append(key.span())
    if "[[" in line or "](" in line:
        for link in read_inline(line)[1]:
            if link.is_markdown:  # the text by words, the target as one
                spans.append((link.shown_end, link.end))
                continue
            start = link.start - link.is_embed
            bar = line.find("|", link.target, link.target_end)
            spans.append((start, link.end) if bar < 0 else (start, bar + 1))
    if "://" in line or "#" in line:
        spans += [found.span() for found in _WHOLE.finditer(line)]
    return sorted(spans)
