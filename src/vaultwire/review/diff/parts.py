"""The parts of a row: pieces of a line with what happened to each; hidden characters and odd letters as parts of their own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import regex  # type: ignore[import-untyped]

from vaultwire.review.diff.words import Segment

# ---------------------------------------------------------------------- characters that a reader does not see
#
# Many of them are usual where a script needs them; such a place is no mark:
#
# - joiners (ZWJ, ZWNJ) right behind a letter of a script whose letters join or stack, and a ZWJ between two pictographs;
# - a zero-width space behind a letter of Thai, Lao, Khmer or Burmese, which put no spaces between words;
# - left-to-right and right-to-left marks in a line that has letters of a right-to-left script;
# - one variation selector right behind a symbol, a digit of a keycap, or a character of Han or Mongolian;
# - the Braille pattern without dots beside others;
# - the tags that spell the flag of a region;
# - no-break spaces beside a number, a quotation mark or ``: ; ! ? %``, as in French.
#
# Overrides, embeddings and isolates of direction are always marked: they can make a text look like another one.

MarkKind: TypeAlias = Literal["direction", "zero-width", "invisible", "space", "lookalike"]


class Mark(NamedTuple):
    """A place of a line that shows its name instead of its effect: ``kind`` and the name for a reader."""

    start: int
    end: int
    kind: MarkKind
    name: str

    @property
    def is_space(self) -> bool:
        """Whether it is one unusual space: pasted text is full of them, so only a changed one is worth a mark."""
        return self.kind == "space" and self.name.startswith("U+")


_DIRECTION_MARKS = "\u061c\u200e\u200f"
# White space other than space and tab, without the ideographic space, which is as wide as it looks.
_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f"
_NO_BREAK = "\u00a0\u202f"
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Letters and marks that have no shape: fillers of Hangul, a joiner without effect, inherent vowels of Khmer.
_SHAPELESS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800"
# Format characters that are seen: number signs and the like, which stand above or below digits.
_SEEN = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
_HIDDEN = regex.compile(
    rf"[[\p{{Cc}}\p{{Cf}}\p{{Zl}}\p{{Zp}}{_SPACES}{_SELECTORS}{_SHAPELESS}]--[\t\n{_SEEN}]]", regex.VERSION1
)
_JOINING = regex.compile(
    r"[\p{Arabic}\p{Syriac}\p{Nko}\p{Mandaic}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}"
    r"\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Balinese}\p{Javanese}\p{Thaana}]"
)
_UNSPACED = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Tham}\p{New_Tai_Lue}]")
_RIGHT_TO_LEFT = regex.compile(r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}\p{Samaritan}\p{Mandaic}\p{Adlam}]")
_PICTOGRAPH = regex.compile(r"\p{Extended_Pictographic}")
_MODIFIED = regex.compile(r"[\ufe0f\p{Emoji_Modifier}\p{Extended_Pictographic}]")
_VARIED = regex.compile(
    r"[\p{S}\p{Extended_Pictographic}\p{Han}\p{Mongolian}\p{Phags_Pa}\p{Myanmar}#*0-9‼⁉〰〽、。\uff01-\uff1f]"
)
_BESIDE_NO_BREAK = regex.compile(r"[\d:;!?%‰€$£§«»\u2039\u203a„“”\u2013—]")
_CONTROLS = {
    0x00: "null",
    0x07: "bell",
    0x08: "backspace",
    0x0B: "vertical tab",
    0x0C: "form feed",
    0x0D: "carriage return",
    0x1B: "escape",
    0x7F: "delete",
    0x85: "next line",
}


def hidden_in(line: str, start: int = 0, end: int | None = None) -> Iterator[Mark]:
    """Yield the characters of a line, or of a part of it, that are not seen and not usual there, in order."""
    is_right_to_left: bool | None = None
    for match in _HIDDEN.finditer(line, start, len(line) if end is None else end):
        place = match.start()
        character = line[place]
        if character in _DIRECTION_MARKS:
            if is_right_to_left is None:  # asked once a line
                is_right_to_left = _RIGHT_TO_LEFT.search(line) is not None
            is_usual = is_right_to_left
        else:
            is_usual = _is_usual(character, line, place)
        if not is_usual:
            yield Mark(place, place + 1, _kind(character), name_of(character))


def may_hide(text: str) -> bool:
    """Tell whether a text has any character that ``hidden_in`` looks at."""
    return _HIDDEN.search(text) is not None


@cache
def name_of(character: str) -> str:
    """Return a character's number and name, such as ``U+202E right-to-left override``."""
    name = _CONTROLS.get(ord(character)) or unicodedata.name(character, "").lower()
    if not name:
        name = "control character" if unicodedata.category(character) == "Cc" else "character without a name"
    return f"U+{ord(character):04X} {name}"


def visible(text: str) -> str:
    """Return a text in which the names of hidden characters, in brackets, stand in their places: for words and labels."""
    if not may_hide(text):
        return text
    pieces: list[str] = []
    position = 0
    for mark in hidden_in(text):
        pieces += text[position : mark.start], f"[{mark.name}]"
        position = mark.end
    return "".join([*pieces, text[position:]])


def _kind(character: str) -> MarkKind:
    number = ord(character)
    if number in (0x061C, 0x200E, 0x200F) or 0x202A <= number <= 0x202E or 0x2066 <= number <= 0x2069:  # noqa: PLR2004
        return "direction"
    if 0x200B <= number <= 0x200D or number in (0x2060, 0xFEFF):  # noqa: PLR2004
        return "zero-width"
    return "space" if unicodedata.category(character) == "Zs" else "invisible"


def _is_usual(character: str, line: str, place: int) -> bool:
    """Tell whether a hidden character, no mark of direction, is usual where it stands (see the module's text)."""
    before = line[place - 1] if place else ""
    after = line[place + 1] if place + 1 < len(line) else ""
    if character == "\u200d" and _MODIFIED.match(before) and _PICTOGRAPH.match(after):
        return True
    if character in "\u200c\u200d":
        return _JOINING.match(before) is not None
    if character == "\u200b":
        return _UNSPACED.match(before) is not None
    if character in _NO_BREAK:
        return _BESIDE_NO_BREAK.match(before) is not None or _BESIDE_NO_BREAK.match(after) is not None
    if character == "\u2800":
        return any(0x2800 < ord(each) <= 0x28FF for each in before + after)  # noqa: PLR2004 - Braille
    if unicodedata.category(character) == "Mn":
        return character not in "\u034f\u17b4\u17b5" and _VARIED.match(before) is not None
    return 0xE0020 <= ord(character) <= 0xE007F and _is_flag(line, place)  # noqa: PLR2004 - tags


def _is_flag(line: str, place: int) -> bool:
    """Tell whether a tag belongs to the flag of a region: a black flag, up to six tags and their end."""
    start = line.rfind("\U0001f3f4", max(0, place - 7), place)
    return start >= 0 and all(0xE0020 <= ord(each) <= 0xE007F for each in line[start + 1 : place])  # noqa: PLR2004


# ---------------------------------------------------------------------- letters that look like others
#
# A word is marked if it mixes Latin with Cyrillic or Greek letters, one of which looks like a letter of the other script, or if
# it replaces a word that looks the same. Words of one script are usual.

# A small choice from Unicode's table of confusables (UTS 39): letters that most fonts draw alike.
_CYRILLIC = dict(zip("асеорхуіјѕһԁԛԝӏАВЕКМНОРСТХУІЈЅԌӀ", "aceopxyijshdqwlABEKMHOPCTXYIJSGI", strict=True))  # noqa: RUF001
_GREEK = dict(zip("ονρυιϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovpuicjABEZHIKMNOPTYX", strict=True))  # noqa: RUF001
_LATIN_OF = {**_CYRILLIC, **_GREEK}
# Signs that look alike within Latin text: only where a changed word differs by nothing else.
_SIGNS = {"I": "l", "1": "l", "0": "O"}
_SKELETON = str.maketrans({**_LATIN_OF, **_SIGNS})
_OTHER_SCRIPT = regex.compile(r"[\p{Cyrillic}\p{Greek}]")
_MAY_SWAP = re.compile("[" + "".join(_LATIN_OF) + "".join(_SIGNS) + "]")  # one of two words that look alike has one
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LATIN = regex.compile(r"\p{Latin}")
NONE_SWAPPED: Mapping[str, list[int]] = MappingProxyType({})
# A hunk with more text is not searched for words that replace others.
_MOST_COMPARED = 200_000


def lookalikes_in(line: str, swapped: Mapping[str, list[int]] = NONE_SWAPPED) -> Iterator[Mark]:
    """Yield the letters of a line that look like others, in order: in words of two scripts, and those of ``swapped``."""
    if not swapped and _OTHER_SCRIPT.search(line) is None:
        return
    for match in _WORD.finditer(line):
        word = match[0]
        if word in swapped:
            odd = swapped[word]
        elif word.isascii() or _LATIN.search(word) is None:
            continue
        else:
            letters = _odd_letters(word)
            odd = [place for place, letter in enumerate(word) if letter in letters]
        for place in odd:
            yield Mark(match.start() + place, match.start() + place + 1, "lookalike", label_of(word[place]))


def swapped_words(old: Iterable[str], new: Iterable[str]) -> dict[str, list[int]]:
    """Return the words of a hunk that look like a word of its other side and are not the same, with the letters that differ.

    ``old`` and ``new`` are the changed lines.
    """
    old_text, new_text = "\n".join(old), "\n".join(new)
    if not old_text or not new_text or len(old_text) + len(new_text) > _MOST_COMPARED:
        return {}
    if _MAY_SWAP.search(old_text) is None and _MAY_SWAP.search(new_text) is None:
        return {}
    old_words, new_words = set(_WORD.findall(old_text)), set(_WORD.findall(new_text))
    removed, added = old_words - new_words, new_words - old_words
    seen = {word.translate(_SKELETON): word for word in removed}
    swapped: dict[str, list[int]] = {}
    for word in added:
        other = seen.get(word.translate(_SKELETON))
        if other is not None and not (word.isdecimal() or other.isdecimal()):
            differing = [place for place, letter in enumerate(word) if letter != other[place]]
            strangers = {each: [place for place in differing if each[place] in _LATIN_OF] for each in (word, other)}
            # In a word of usual letters none is marked, if the other word has the odd ones.
            swapped.update(strangers if any(strangers.values()) else {word: differing, other: differing})
    return swapped


def label_of(letter: str) -> str:
    """Return what a letter is: its script and itself."""
    if letter in _CYRILLIC:
        return f"Cyrillic {letter}"
    if letter in _GREEK:
        return f"Greek {letter}"
    if letter.isdecimal():
        return f"digit {letter}"
    return f"Latin {'capital' if letter.isupper() else 'small'} {letter}" if letter in "IlO" else f"Latin {letter}"


def _odd_letters(word: str) -> set[str]:
    """Return the letters of a word of two scripts that look like the script of its other letters."""
    others = [each for each in word if _OTHER_SCRIPT.match(each)]
    if not others:
        return set()
    latin = [each for each in word if _LATIN.match(each)]
    alike = {each for each in others if each in _LATIN_OF}
    if len(others) > len(latin):  # the Latin letters are the strangers
        return {each for each in latin if each in _LATIN_OF.values()}
    return alike


def same_letters(old: str, new: str) -> bool:
    """Tell whether two different texts are the same letters in another Unicode form: composed or decomposed."""
    return old != new and unicodedata.normalize("NFC", old) == unicodedata.normalize("NFC", new)


Part = dict[str, Any]
# Of a longer line the middle of long parts is left out: no screen has room for more.
MAX_LINE = 20_000
# Characters that are kept at each end of a part of such a line.
_KEPT = 400


class Marking(NamedTuple):
    """What is marked in a line beside hidden characters: letters of swapped words, spaces at its end, its indentation."""

    swapped: Mapping[str, list[int]] = NONE_SWAPPED
    show_end: bool = False
    show_indent: bool = False


PLAIN = Marking()


def parts_of(line: str, segments: list[Segment], marking: Marking = PLAIN) -> list[Part]:
    """Return the parts of a line: its segments, cut at the marks. The texts of all parts are the line.

    Unusual spaces are marked only where they changed. A part in place of characters that are left out has their count in
    ``left_out``.
    """
    if len(line) > MAX_LINE:
        return list(_long_parts(line, segments))
    marks = marks_of(line, marking)
    parts: list[Part] = []
    start = number = 0
    for op, text in segments:
        end = start + len(text)
        while number < len(marks) and marks[number].start < end:
            mark = marks[number]
            if op == "=" and mark.is_space:
                number += 1
                continue
            if mark.start > start:
                parts.append({"t": line[start : mark.start], "op": op})
                start = mark.start
            stop = min(mark.end, end)
            parts.append({"t": line[start:stop], "op": op, _key(mark): mark.name})
            start = stop
            if mark.end > end:
                break
            number += 1
        if start < end:
            parts.append({"t": line[start:end], "op": op})
        start = end
    return parts


def _long_parts(line: str, segments: list[Segment]) -> Iterator[Part]:
    """Yield the parts of a line that is too long, with the middle of its long segments left out."""
    start = 0
    for op, text in segments:
        end = start + len(text)
        ends = [(start, end)] if len(text) <= 3 * _KEPT else [(start, start + _KEPT), (end - _KEPT, end)]
        for first, last in ends:
            if first != start:
                yield {"t": "…", "op": op, "left_out": first - start}
            start = first
            for mark in hidden_in(line, first, last):
                if op == "=" and mark.is_space:
                    continue
                if mark.start > start:
                    yield {"t": line[start : mark.start], "op": op}
                yield {"t": line[mark.start : mark.end], "op": op, "hidden": mark.name}
                start = mark.end
            if start < last:
                yield {"t": line[start:last], "op": op}
            start = last


def _key(mark: Mark) -> str:
    return "lookalike" if mark.kind == "lookalike" else "hidden"


def marks_of(line: str, marking: Marking = PLAIN) -> list[Mark]:
    """Return what is marked in a line, in order and not overlapping."""
    marks: list[Mark] = []
    body = 0
    if marking.show_indent and line[:1] in (" ", "\t"):
        body = len(line) - len(line.lstrip(" \t"))
        marks.append(Mark(0, body, "space", blanks(line[:body])))
    marks += hidden_in(line, body)
    if marking.swapped or not line.isascii():
        marks += lookalikes_in(line, marking.swapped)
        marks.sort()
    end = len(line.rstrip(" \t"))
    if marking.show_end and max(end, body) < len(line):
        end = max(end, body)
        marks.append(Mark(end, len(line), "space", f"{blanks(line[end:])} at the end"))
    return marks


def blanks(text: str) -> str:
    """Return how many tabs and spaces a text has, in words."""
    counts = ((text.count("\t"), "tab"), (text.count(" "), "space"))
    return " and ".join(counted(count, name) for count, name in counts if count)


def counted(count: int, name: str) -> str:
    """Return a count and a name, with an s for more than one."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def merged(old: list[Part], new: list[Part]) -> list[Part]:
    """Return the parts of an old and a new text as one list: what was removed, what was added, and once what is in both."""
    result: list[Part] = []
    position = ahead = (
        0  # in ``new``; characters of equal parts that were taken from ``old`` and not yet passed in ``new``
    )
    for part in old:
        if part["op"] == "=":
            position, ahead = _pass_equal(new, position, ahead, result)
            ahead += part.get("left_out", len(part["t"]))
        result.append(part)
    position, _ = _pass_equal(new, position, ahead, result)
    return result


def _pass_equal(new: list[Part], position: int, ahead: int, result: list[Part]) -> tuple[int, int]:
    """Pass the equal parts of ``new`` that ``result`` has already, then take its added ones."""
    while position < len(new):
        part = new[position]
        if part["op"] == "=":
            if ahead <= 0:
                break
            ahead -= part.get("left_out", len(part["t"]))
        else:
            result.append(part)
        position += 1
    return position, ahead
