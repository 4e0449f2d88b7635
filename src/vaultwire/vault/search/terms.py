"""What a search looks for in one text: a word, a phrase, a regular expression.

It knows neither notes nor operators (``vault.search.matching``) nor how queries are written (``vault.search.query``).
"""

from __future__ import annotations

import time
import unicodedata
from functools import cache
from math import log
from typing import Any, Final, NamedTuple, TypeAlias

from vaultwire.markdown.patterns import Piece, javascript_pieces
from vaultwire.vault.errors import TIMEOUT, VaultError

# The forms in which search compares texts: as written, without case, without case and diacritics; and what a word is.
#
# Pure. It knows no query and no note.

EXACT, FOLDED, UNACCENTED = range(3)
"""The forms of a text: as written, in NFC; without case; without case and diacritics. Each has the same lines."""

# The ranges of the scripts that put no spaces between words. Each of their characters is a word of its own: a search for
# full words finds no word's edge there. This is no pattern, because compiling it takes 4 ms, at every start.
_UNSPACED: Final = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u2e80", "\ua4cf"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
)
_ASCII_BYTES: Final = bytes(range(128))


def fold_case(text: str) -> str:
    """Return the text without case, in NFC."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def strip_diacritics(folded: str) -> str:
    """Return a text that ``fold_case`` made, without diacritics.

    Each character is replaced on its own, so a part of a text stays a part of it. Only diacritics of Latin, Greek and
    Cyrillic letters are stripped: in other scripts such marks make other letters (``か`` and ``が``).
    """
    if folded.isascii():
        return folded
    bases = _bases()
    # One replacement for each of them takes a third of the time of a pattern for all.
    for accented in non_ascii_characters(folded) & bases.keys():
        folded = folded.replace(accented, bases[accented])
    return folded


@cache
def _bases() -> dict[str, str]:
    """Return what is left of each character with diacritics; nothing of a diacritic."""
    bases = {chr(code): "" for code in range(0x300, 0x370)}
    for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000)):
        decomposed = unicodedata.normalize("NFD", chr(code))
        base = "".join(character for character in decomposed if character not in bases)
        if base != decomposed:
            bases[chr(code)] = base
    return bases


class TextForms:
    """One text in each form, made when first asked for."""

    __slots__ = ("_forms", "_lines", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._forms: list[str | None] = [None, None, None]
        self._lines: list[list[str] | None] = [None, None, None]

    def get(self, form: int) -> str:
        """Return the text in one form."""
        text = self._forms[form]
        if text is None:
            text = self._forms[form] = self._make(form)
        return text

    def lines(self, form: int) -> list[str]:
        """Return the lines of one form."""
        lines = self._lines[form]
        if lines is None:
            lines = self._lines[form] = self.get(form).split("\n")
        return lines

    def part(self, first: int, last: int) -> TextForms:
        """Return the lines from ``first`` to ``last``, counted from 1."""
        return _Part(self, first, last)

    def _make(self, form: int) -> str:
        if form == UNACCENTED:
            return strip_diacritics(self.get(FOLDED))
        if form == FOLDED:
            return fold_case(self._text)
        return self._text if self._text.isascii() else unicodedata.normalize("NFC", self._text)


class _Part(TextForms):
    """Some lines of a text, cut from the whole text's forms: so a note is folded once, not line by line."""

    __slots__ = ("_first", "_last", "_whole")

    def __init__(self, whole: TextForms, first: int, last: int) -> None:
        super().__init__("")
        self._whole, self._first, self._last = whole, first, last

    def _make(self, form: int) -> str:
        return "\n".join(self._whole.lines(form)[self._first - 1 : self._last])


def non_ascii_characters(text: str) -> set[str]:
    """Return the characters of the text that are not ASCII. Four times as fast as a look at each character."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, _ASCII_BYTES)
    return set(rest.decode("utf-8", "surrogatepass"))


def is_full_word(text: str, start: int, end: int) -> bool:
    """Tell whether no word continues beyond this part of the text."""
    return not (
        (start > 0 and is_word_character(text[start]) and is_word_character(text[start - 1]))
        or (end < len(text) and is_word_character(text[end - 1]) and is_word_character(text[end]))
    )


def is_word_character(character: str) -> bool:
    """Tell whether the character makes a word with the one beside it: letters, digits, marks and ``_`` do."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if is_unspaced(character):
        return False
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def is_unspaced(character: str) -> bool:
    """Tell whether the character is a word of its own, because its script puts no spaces between words."""
    return not character.isascii() and any(first <= character[:1] <= last for first, last in _UNSPACED)


# How much a word says by the number of notes that have it. Pure.


def rarity(count: int, notes: int) -> float:
    """Return how much a word says that ``count`` of all notes have: near 0 if most have it, and more the rarer it is.

    It is the inverse document frequency of BM25. It knows the little words of every language without a list of them.
    """
    count = min(count, notes)  # a text index may count notes that are gone
    return log(1 + (notes - count + 0.5) / (count + 0.5))


# A regular expression takes far less than a millisecond for nearly every note. One that needs two seconds for a single note
# backtracks without end. Two seconds are also short enough for the person who typed it to try again.
REGEX_SECONDS = 2.0


class Text(NamedTuple):
    """A word (found inside longer words too) or, with ``full_words``, a phrase."""

    text: str
    full_words: bool
    match_case: bool


class Pattern(NamedTuple):
    """A regular expression and its position in the query. The position comes first, so that no Pattern equals a Text."""

    position: int
    source: str
    match_case: bool


Leaf: TypeAlias = Text | Pattern


class RegexBudget:
    """The time that the regular expressions of one search may use for one note, and how much of it is left."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self.left = seconds
        self._path = ""

    def begin(self, path: str) -> None:
        """Begin with a note."""
        self.left = self._seconds
        self._path = path

    def refusal(self, position: int) -> VaultError:
        """Return the error for a regular expression that exceeds the budget."""
        return VaultError(
            TIMEOUT,
            f"query: the regular expression at character {position + 1} needs too much time or memory for one note, "
            f"{self._path!r} (more than {self._seconds:g} s), so the search was stopped. Avoid repetitions inside "
            "repetitions such as (a+)+, or search for words.",
            argument="query",
            position=position,
            path=self._path,
        )


class Needle:
    """A word or phrase, ready to be looked for."""

    def __init__(self, term: Text) -> None:
        exact = unicodedata.normalize("NFC", term.text)
        folded = fold_case(exact)
        unaccented = strip_diacritics(folded)
        self.forms: Final = (exact, folded, unaccented)
        self._full_words = term.full_words
        self._match_case = term.match_case
        self._is_diacritics_only = not unaccented  # nothing would be left of it, so it is compared with diacritics

    def form(self, form: int) -> int:
        """Return the form of the text in which to look for the needle when ``form`` is asked for."""
        if self._match_case:
            return EXACT
        return FOLDED if form == UNACCENTED and self._is_diacritics_only else form

    def find(self, text: TextForms, form: int) -> int:
        """Return the needle's first position in the text, -1 if it is not there."""
        form = self.form(form)
        return self.find_in(text.get(form), form)

    def find_in(self, whole: str, form: int, start: int = 0) -> int:
        """Return the needle's first position from ``start`` on in a text that is in ``form``, -1 if it is not there."""
        sought = self.forms[form]
        position = whole.find(sought, start)
        if self._full_words and sought:
            while position >= 0 and not is_full_word(whole, position, position + len(sought)):
                position = whole.find(sought, position + 1)
        return position

    def equals(self, text: TextForms, form: int) -> bool:
        """Tell whether the needle is the whole text."""
        form = self.form(form)
        return text.get(form).strip() == self.forms[form]


class RegexNeedle:
    """A regular expression, ready to be looked for within the time budget of a note."""

    def __init__(self, term: Pattern, budget: RegexBudget) -> None:
        self._compiled = _compile(translated(term.source), match_case=term.match_case)
        self._budget = budget
        self._position = term.position

    def form(self, form: int) -> int:  # noqa: ARG002 - as Needle's
        """Return the form of the text in which it looks: the expression itself says whether case matters."""
        return EXACT

    def find(self, text: TextForms, form: int) -> int:
        """Return the position of the first match, -1 if there is none. Raises VaultError (TIMEOUT)."""
        return self.find_in(text.get(EXACT), form)

    def find_in(self, whole: str, form: int, start: int = 0) -> int:  # noqa: ARG002 - as Needle's
        """Return the position of the first match from ``start`` on, -1 if there is none. Raises VaultError (TIMEOUT)."""
        budget = self._budget
        if budget.left <= 0:
            raise budget.refusal(self._position)
        # This thread's own time: the expression is not to blame for waiting while a busy server answers other calls.
        started = time.thread_time()
        try:
            # concurrent: other threads run meanwhile. The library counts its limit in the process's time.
            match = self._compiled.search(whole, start, timeout=budget.left, concurrent=True)
        except (TimeoutError, MemoryError):
            budget.left = 0
            raise budget.refusal(self._position) from None
        budget.left -= time.thread_time() - started
        return match.start() if match else -1

    def equals(self, text: TextForms, form: int) -> bool:
        """Tell whether the expression matches: its own anchors say whether it means the whole text."""
        return self.find(text, form) >= 0


AnyNeedle: TypeAlias = Needle | RegexNeedle


class BadRegexError(Exception):
    """A pattern that cannot be compiled: ``reason``, and ``position`` in the pattern."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def check_regex(source: str) -> None:
    """Raise BadRegexError if the pattern cannot be compiled."""
    regex = _library()
    pieces = _pieces(source)
    try:
        _compile("".join(new for _, new in pieces), match_case=False)
    except regex.error as error:
        raise BadRegexError(str(error.msg), _position_in_source(pieces, error.pos or 0)) from None
    except RecursionError:
        raise BadRegexError("it is nested too deeply", 0) from None
    except (ValueError, OverflowError, KeyError, IndexError, TypeError, AttributeError) as error:
        # The library raises these for some invalid patterns, such as contradicting flags.
        raise BadRegexError(str(error) or "it cannot be read", 0) from None


def _library() -> Any:
    # Importing it takes 20 ms, which only a search with a regular expression should pay.
    import regex  # type: ignore[import-untyped] # noqa: PLC0415

    return regex


def _compile(pattern: str, *, match_case: bool) -> Any:
    regex = _library()
    # VERSION0 is closer to JavaScript, which Obsidian uses: VERSION1 reads [[, --, && and || in a set as set
    # operations and lets "ss" match "ß" where case is ignored.
    flags = regex.VERSION0 | regex.MULTILINE | (0 if match_case else regex.IGNORECASE)
    return regex.compile(pattern, flags, cache_pattern=False)


def _pieces(source: str) -> list[Piece]:
    # As Obsidian since 0.8.1: ^ and $ match at every line.
    return javascript_pieces(source, is_multiline=True, is_dotall=False)


def translated(source: str) -> str:
    """Return the pattern as the library writes it."""
    return "".join(new for _, new in _pieces(source))


def _position_in_source(pieces: list[Piece], position: int) -> int:
    start = 0
    for old, new in pieces:
        if position < len(new):
            return start + (position if old == new else 0)
        position -= len(new)
        start += len(old)
    return start
