"""What a search asks for: query text to terms, and terms against a note. Pure text.

Served: words (substring, any case), ``"phrases"`` (full words), ``-not``, ``OR`` between alternatives. Obsidian's
operators are recognised and refused, so that nobody mistakes "no result" for "not there".
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.model import Line
from vaultwire.vault.paths import stem

_TOKEN = re.compile(r'\s*(-?)(?:"((?:[^"\\]|\\.)*+)(")?|(\S++))')
_OPERATOR = re.compile(
    r"(?:file|path|content|tag|line|block|section|task|task-todo|task-done|match-case|ignore-case):", re.IGNORECASE
)
_REGEX = re.compile(r"/.+/")
# Scripts written without blanks between words: there a full-word match has no edge to look for.
_NO_WORD_EDGE = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]")

# Shown per note; all matching lines are counted. A line is cut around its match to this many characters.
MAX_LINES_SHOWN = 5
_MAX_LINE_CHARACTERS = 200
# A name says what a note is about, a heading what a part is about; plain mentions count up to a point.
_NAME_WEIGHT, _HEADING_WEIGHT, _MAX_MENTIONS = 10.0, 3.0, 10


class Term(NamedTuple):
    """One word or phrase to look for, folded. ``pattern`` is set where plain substring search is not enough."""

    text: str
    excluded: bool
    pattern: re.Pattern[str] | None

    def in_text(self, folded: str) -> bool:
        """Tell whether the folded text holds the term."""
        if self.text not in folded:
            return False
        return self.pattern is None or self.pattern.search(folded) is not None

    def position(self, folded: str) -> int:
        """Return where the term first stands in the folded text, -1 if nowhere."""
        if self.pattern is None:
            return folded.find(self.text)
        match = self.pattern.search(folded)
        return match.start() if match else -1


class Query(NamedTuple):
    """Alternatives, of which one must match; within one, every term must."""

    alternatives: list[list[Term]]


class Match(NamedTuple):
    """How well a note matches: its score, how many lines do, and the first few of them."""

    score: float
    matches: int
    lines: list[Line]


def parse_query(text: str) -> Query:
    """Return what the query text asks for. Raises VaultError (INVALID_ARGUMENTS) that names the character at fault."""
    alternatives: list[list[Term]] = [[]]
    position = 0
    while token := _TOKEN.match(text, position):
        minus, phrase, closing, word = token.groups()
        start = token.end(1) - len(minus)
        position = token.end()
        if word == "OR" and not minus:
            if not alternatives[-1]:
                raise _bad(text, start, "OR needs a word before it")
            alternatives.append([])
            continue
        if word is not None:
            _refuse_operator(text, start + len(minus), word)
        elif closing is None:
            raise _bad(text, start, "this quotation mark is never closed")
        wanted = fold_text(word if word is not None else re.sub(r"\\(.)", r"\1", phrase)).strip()
        if not wanted:
            raise _bad(text, start, "nothing to look for here")
        alternatives[-1].append(Term(wanted, bool(minus), None if word is not None else _full_words(wanted)))
    if not alternatives[-1]:
        raise _bad(text, len(text), "OR needs a word after it" if len(alternatives) > 1 else "the query is empty")
    return Query(alternatives)


def _refuse_operator(text: str, position: int, word: str) -> None:
    operator = _OPERATOR.match(word)
    if operator is not None:
        advice = "use search_by_tags" if operator[0].lower() == "tag:" else "use plain words, or the folder argument"
        raise _bad(text, position, f"the operator {operator[0]} is not supported; {advice}")
    if word[0] in "([":
        raise _bad(
            text, position, f"{word[0]!r} starts a group or property, which is not supported; quote it to search for it"
        )
    if _REGEX.fullmatch(word):
        raise _bad(text, position, "regular expressions are not supported; quote the text to search for it as it is")


def _bad(text: str, position: int, reason: str) -> VaultError:
    return VaultError(
        INVALID_ARGUMENTS,
        f"query: {reason} (character {position + 1} of {text!r}).",
        argument="query",
        position=position,
    )


def _full_words(text: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if _has_word_edge(text[0]) else ""
    after = r"(?!\w)" if _has_word_edge(text[-1]) else ""
    return re.compile(before + re.escape(text) + after)


def _has_word_edge(character: str) -> bool:
    return re.match(r"\w", character) is not None and _NO_WORD_EDGE.match(character) is None


def fold_text(text: str) -> str:
    """Return the text in the form in which search compares: without case, NFC, same lines."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def match_note(query: Query, path: str, text: str) -> Match | None:
    """Return how the note matches the query, None if it does not. A term counts in the note's name and in its text."""
    name = fold_text(stem(path))
    folded = fold_text(text)
    for terms in query.alternatives:
        if all((term.in_text(folded) or term.in_text(name)) is not term.excluded for term in terms):
            break
    else:
        return None
    wanted = [term for terms in query.alternatives for term in terms if not term.excluded]
    score = _NAME_WEIGHT * sum(term.in_text(name) for term in wanted)
    shown: list[Line] = []
    count = 0
    if any(term.in_text(folded) for term in wanted):
        plain_lines = text.split("\n")
        for number, line in enumerate(folded.split("\n")):
            found = [position for term in wanted if (position := term.position(line)) >= 0]
            if not found:
                continue
            count += 1
            score += _HEADING_WEIGHT if line.startswith("#") else 0
            if len(shown) < MAX_LINES_SHOWN:
                shown.append(Line(number + 1, _excerpt(plain_lines[number], min(found))))
    return Match(score + min(count, _MAX_MENTIONS), count, shown)


def _excerpt(line: str, position: int) -> str:
    """Return the line, cut around ``position`` if it is long. Folding may shift positions a little; the cut is roomy."""
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line.strip()
    start = max(0, min(position - _MAX_LINE_CHARACTERS // 3, len(line) - _MAX_LINE_CHARACTERS))
    end = start + _MAX_LINE_CHARACTERS
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")
