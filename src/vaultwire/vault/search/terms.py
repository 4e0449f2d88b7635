"""What a search looks for in one text: a word, a phrase, a regular expression; and the forms in which texts are compared.

Knows neither notes nor operators (``vault.search.matching``) nor how queries are written (``vault.search.query``).
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from vaultwire.vault.errors import TIMEOUT, VaultError

# A regular expression of a careful author takes milliseconds on thousands of notes; two seconds are a pattern that
# backtracks without end, and short enough that a person who typed one tries again.
REGEX_SECONDS = 2.0

EXACT, FOLDED, BARE = range(3)
"""The forms of a text: as written, NFC; without case; without case and diacritics."""

# The characters of scripts written without blanks between words, from and to. Each is a word of its own: a full-word match
# has no edge to look for there. No pattern: this one would take 4 ms to compile, at every start.
_UNSPACED: Final = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u2e80", "\ua4cf"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
)


class Text(NamedTuple):
    """A word (found inside longer words too) or, with ``full_words``, a phrase."""

    text: str
    full_words: bool
    match_case: bool


class Pattern(NamedTuple):
    """A regular expression and where in the query it stands. That comes first: so none equals a Text, as tuples do."""

    position: int
    source: str
    match_case: bool


Leaf: TypeAlias = Text | Pattern


def fold_text(text: str) -> str:
    """Return the text in the form in which search compares: without case, NFC, same lines."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def bare_text(folded: str) -> str:
    """Return a folded text without diacritics, same lines.

    Character by character, so that what is part of a text stays part of it. Only the diacritics of Latin, Greek and
    Cyrillic: in other scripts such marks are letters (``か`` and ``が``).
    """
    if folded.isascii() or not folded.encode("utf-8", "surrogatepass").translate(None, _OTHER_BYTES):
        return folded
    marked, bases = _diacritics()
    return marked.sub(lambda match: bases[match[0]], folded)


# All bytes but those with which UTF-8 begins U+00C0 to U+053F and U+1000 to U+1FFF. Removing them shows ten times faster
# than a pattern that a text of Latin letters, CJK and typographic signs has nothing to strip.
_OTHER_BYTES: Final = bytes(set(range(256)) - {*range(0xC3, 0xD5), 0xE1})


def _diacritics() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return what finds a character with diacritics, and what is left of each."""
    global _table  # noqa: PLW0603 - made once, when a text first has anything but ASCII
    if _table is None:
        bases = {chr(code): "" for code in range(0x300, 0x370)}
        for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000)):
            decomposed = unicodedata.normalize("NFD", chr(code))
            base = "".join(character for character in decomposed if character not in bases)
            if base != decomposed:
                bases[chr(code)] = base
        _table = re.compile(f"[{''.join(bases)}]"), bases
    return _table


_table: tuple[re.Pattern[str], dict[str, str]] | None = None


ASCII_BYTES: Final = bytes(range(128))
_JAMO = re.compile(r"[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")


def is_composed(character: str) -> bool:
    """Tell whether the character may be one with the one before it, in the composed form. Variation selectors never are."""
    if "\ufe00" <= character <= "\ufe0f":
        return False
    return unicodedata.category(character)[0] == "M" or _JAMO.match(character) is not None


class _Bases(dict[str, str | None]):
    """What is left of a character in the bare form; None if that depends on the characters beside it."""

    def __missing__(self, character: str) -> str | None:
        base = self[character] = None if is_composed(character) else bare_text(fold_text(character))
        return base


BASES: Final = _Bases()


def letters_beyond_ascii(text: str) -> set[str]:
    """Return the characters of the text that are not ASCII. Four times as fast as any way that looks at each character."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, ASCII_BYTES)
    return set(rest.decode("utf-8", "surrogatepass"))


def bare_folded(text: str) -> str:
    """Return ``bare_text(fold_text(text))``, in less than half the time: a text has few kinds of letters beyond ASCII."""
    if text.isascii():
        return text.lower()
    bare = text
    for character in letters_beyond_ascii(text):
        base = BASES[character]
        if base is None:
            return bare_text(fold_text(text))
        if base != character:
            bare = bare.replace(character, base)
    # bytes.lower changes ASCII alone, and takes a twentieth of str.lower.
    return bare.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


class Forms:
    """One text in each form, made when first asked for."""

    __slots__ = ("_forms", "_lines", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._forms: list[str | None] = [None, None, None]
        self._lines: list[list[str] | None] = [None, None, None]

    def get(self, form: int) -> str:
        """Return the text in one form. Every form has the same lines."""
        text = self._forms[form]
        if text is None:
            text = self._forms[form] = _MAKE[form](self._text)
        return text

    def part(self, first: int, last: int) -> Forms:
        """Return the lines from ``first`` to ``last``, counted from 1."""
        return _Part(self, first, last)

    def lines(self, form: int) -> list[str]:
        """Return the lines of one form."""
        lines = self._lines[form]
        if lines is None:
            lines = self._lines[form] = self.get(form).split("\n")
        return lines


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


_MAKE: Final = (_composed, fold_text, bare_folded)


class _Part(Forms):
    """Some lines of a text, cut from the whole in the form asked for: a note's lines are not folded one by one."""

    __slots__ = ("_first", "_last", "_whole")

    def __init__(self, whole: Forms, first: int, last: int) -> None:  # the parent's forms are made in get
        self._forms = [None, None, None]
        self._lines = [None, None, None]
        self._whole, self._first, self._last = whole, first, last

    def get(self, form: int) -> str:
        text = self._forms[form]
        if text is None:
            text = self._forms[form] = "\n".join(self._whole.lines(form)[self._first - 1 : self._last])
        return text


class Budget:
    """The regular expressions' time in one search."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def refusal(self, position: int) -> VaultError:
        """Return the error for a regular expression that goes beyond it."""
        return VaultError(
            TIMEOUT,
            f"query: the regular expression at character {position + 1} needs too much time or memory, so the search was "
            "stopped. Avoid repetitions inside repetitions such as (a+)+, or search for words.",
            argument="query",
            position=position,
        )


class Needle:
    """A word or phrase ready to be looked for."""

    def __init__(self, term: Text) -> None:
        exact = unicodedata.normalize("NFC", term.text)
        folded = fold_text(exact)
        bare = bare_text(folded)
        self.forms: Final = (exact, folded, bare)
        self._full_words = term.full_words
        self._match_case = term.match_case
        self._marks_only = not bare  # nothing would be left of it: compare with diacritics

    def form(self, form: int) -> int:
        """Return the form of the text in which to look for it when ``form`` is asked for."""
        if self._match_case:
            return EXACT
        return FOLDED if form == BARE and self._marks_only else form

    def find(self, text: Forms, form: int, start: int = 0) -> int:
        """Return where it first stands in the text from ``start`` on, -1 if nowhere."""
        form = self.form(form)
        return self.find_in(text.get(form), form, start)

    def find_in(self, whole: str, form: int, start: int = 0) -> int:
        """Return where it first stands in a text that is in ``form``, from ``start`` on, -1 if nowhere."""
        wanted = self.forms[form]
        position = whole.find(wanted, start)
        if self._full_words and wanted:
            while position >= 0 and not _is_full_word(whole, position, position + len(wanted)):
                position = whole.find(wanted, position + 1)
        return position

    def finder(self, whole: str, form: int) -> Callable[[int], int]:
        """Return what takes a start as ``find_in`` does, for a text that is in ``form``."""
        return partial(self.find_in, whole, form) if self._full_words else partial(whole.find, self.forms[form])

    def equals(self, text: Forms, form: int) -> bool:
        """Tell whether the whole text is it."""
        form = self.form(form)
        return text.get(form).strip() == self.forms[form]


class RegexNeedle:
    """A regular expression ready to be looked for, on the time its query has left."""

    def __init__(self, term: Pattern, budget: Budget) -> None:
        self._compiled = _compile(_translated(term.source), match_case=term.match_case)
        self._budget = budget
        self._position = term.position

    def form(self, form: int) -> int:  # noqa: ARG002 - as Needle's
        """Return the form of the text in which it looks: case is the expression's own matter."""
        return EXACT

    def find(self, text: Forms, form: int, start: int = 0) -> int:
        """Return where it first matches from ``start`` on, -1 if nowhere. Raises VaultError (TIMEOUT)."""
        return self.find_in(text.get(EXACT), form, start)

    def find_in(self, whole: str, form: int, start: int = 0) -> int:  # noqa: ARG002 - as Needle's
        """Return where it first matches in a text as written from ``start`` on, -1 if nowhere. Raises VaultError (TIMEOUT)."""
        budget = self._budget
        if budget.left <= 0:
            raise budget.refusal(self._position)
        # This thread's own time: waiting for other calls of a busy server is not the expression's fault.
        started = time.thread_time()
        try:
            # concurrent: other calls go on meanwhile. The limit is counted in the process's time by the library.
            match = self._compiled.search(whole, start, timeout=budget.left, concurrent=True)
        except (TimeoutError, MemoryError):
            budget.left = 0
            raise budget.refusal(self._position) from None
        budget.left -= time.thread_time() - started
        return match.start() if match else -1

    def finder(self, whole: str, form: int) -> Callable[[int], int]:
        """Return what takes a start as ``find_in`` does."""
        return partial(self.find_in, whole, form)

    def equals(self, text: Forms, form: int) -> bool:
        """Tell whether the text has it: anchors say whether the whole is meant."""
        return self.find(text, form) >= 0


AnyNeedle: TypeAlias = Needle | RegexNeedle


class BadRegexError(Exception):
    """A pattern that is none: ``reason``, and ``position`` in the pattern."""

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
        # What the library raises for some patterns that are none, such as contradicting flags.
        raise BadRegexError(str(error) or "it cannot be read", 0) from None


def _library() -> Any:
    # 20 ms, which only a search with a regular expression should pay.
    import regex  # type: ignore[import-untyped] # noqa: PLC0415

    return regex


def _compile(pattern: str, *, match_case: bool) -> Any:
    regex = _library()
    # VERSION0 is closer to JavaScript, which Obsidian speaks: VERSION1 reads [[, --, && and || in a set as set
    # operations and lets "ss" match "ß" where case is ignored. MULTILINE: as Obsidian since 0.8.1.
    flags = regex.VERSION0 | regex.MULTILINE | (0 if match_case else regex.IGNORECASE)
    return regex.compile(pattern, flags, cache_pattern=False)


# What JavaScript writes differently. Escapes and sets come first, so that nothing inside them is taken for it.
_JAVASCRIPT = re.compile(r"\\k<(\w++)>|\\.|(\[\^\])|(\[\])|\[\^?(?:[^\]\\]|\\.)++\]", re.DOTALL)


def _pieces(source: str) -> list[tuple[str, str]]:
    """Return the pattern in pieces: each as JavaScript writes it and as the library does."""
    pieces: list[tuple[str, str]] = []
    end = 0
    for match in _JAVASCRIPT.finditer(source):
        pieces.append((source[end : match.start()],) * 2)
        name, anything, nothing = match.groups()
        new = f"(?P={name})" if name else r"[\s\S]" if anything else "(?!)" if nothing else match[0]
        pieces.append((match[0], new))
        end = match.end()
    pieces.append((source[end:],) * 2)
    return [(unicodedata.normalize("NFC", old), unicodedata.normalize("NFC", new)) for old, new in pieces]


def _translated(source: str) -> str:
    return "".join(new for _, new in _pieces(source))


def _position_in_source(pieces: list[tuple[str, str]], position: int) -> int:
    start = 0
    for old, new in pieces:
        if position < len(new):
            return start + (position if old == new else 0)
        position -= len(new)
        start += len(old)
    return start


def _is_full_word(text: str, start: int, end: int) -> bool:
    """Tell whether no word goes on beyond the part: letters, digits, marks and ``_`` make words."""
    return not (
        (start > 0 and is_in_word(text[start]) and is_in_word(text[start - 1]))
        or (end < len(text) and is_in_word(text[end - 1]) and is_in_word(text[end]))
    )


def is_unspaced(character: str) -> bool:
    """Tell whether the character is a word of its own: its script puts no blanks between words."""
    return any(first <= character[:1] <= last for first, last in _UNSPACED)


def is_in_word(character: str) -> bool:
    """Tell whether the character makes a word with the one beside it."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if is_unspaced(character):
        return False
    return character.isalnum() or unicodedata.category(character)[0] == "M"
