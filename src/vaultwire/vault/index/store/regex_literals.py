"""Finds the required literals of a regular expression: texts without which it matches nothing. Pure.

A search then runs the expression only on notes with these texts. In doubt nothing is required, and the search reads all notes.
The idea is Russ Cox's ("Regular Expression Matching with a Trigram Index"): a part of the expression matches one of a few
texts, or too many to name; parts that stand side by side make longer texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.vault.search.terms import translated
from vaultwire.vault.search.text_forms import is_unspaced

# Nearly every note has shorter ones, except in scripts where a character is a word.
_MIN_LENGTH = 3
# Alternatives of one place, and places of one expression. More of them find hardly fewer notes, and take longer.
_MAX_TEXTS, _MAX_PLACES = 16, 8
# So many equal parts are spelt out for ``{n}``.
_MAX_REPEATED = 3
_MAX_DEPTH = 50

_PART = compile_pattern(
    r"(?P<edge>\\[bBAZ]|[\^$])"  # matches no character
    r"|(?P<any>\(\?\(\w+\)(?:\\[1-9][0-9]?|\(\?P=\w+\))\|\)"  # a reference to a group
    r"|\\[tnrfv]|\\[pP]\{[^}]*\}|[.I\u0131])"  # I: see ``_in_set``
    r"|\[(?P<not>\^?)(?P<set>(?:[^\]\\]|\\.)++)\]"
    r"|(?P<odd>\\[A-Za-z0-9]|[*+?\[{])"  # escaped codes; what only the library's own syntax allows
    r"|\((?:\?(?P<kind>a?:|>|<?[=!]|P?<\w+>))?(?!\?)(?P<group>)"
    r"|\\?(?P<literal>[^()|])",
    re.DOTALL,
)
_REPEAT = compile_pattern(r"(?:(?P<sign>[*+?])|\{(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})[?+]?")
_IN_SET = compile_pattern(r"\\(?![A-Za-z0-9])(.)|([^\\\-\[&|~])", re.DOTALL)


class _Part(NamedTuple):
    """What a part of an expression matches: one of ``texts`` (None: too many to name), where one text of each place is."""

    texts: frozenset[str] | None
    places: tuple[frozenset[str], ...] = ()


class _UnknownError(Exception):
    """The expression has something that this module does not know."""


_NOTHING = _Part(frozenset([""]))
_ANYTHING = _Part(None)


def required_literals(source: str) -> list[list[str]]:
    """Return lists of texts: in every text that the expression matches, in any case, is one text of each list."""
    try:
        pattern = translated(source)
        whole, end = _alternatives(pattern, 0, 0)
    except _UnknownError:
        return []
    return [sorted(place) for place in _places(whole)] if end == len(pattern) else []


def _alternatives(source: str, position: int, depth: int) -> tuple[_Part, int]:
    """Read alternatives up to a closing bracket or the end; return what they match and where they end."""
    if depth > _MAX_DEPTH:
        raise _UnknownError
    branches: list[_Part] = []
    parts: list[_Part] = []
    while position < len(source) and source[position] != ")":
        if source[position] == "|":
            branches.append(_in_sequence(parts))
            parts, position = [], position + 1
            continue
        part, position = _part(source, position, depth)
        found = _REPEAT.match(source, position)
        if found:
            position = found.end()
        parts += _repeated(part, found) if found else [part]
    return _one_of([*branches, _in_sequence(parts)]), position


def _part(source: str, position: int, depth: int) -> tuple[_Part, int]:
    """Read one part: a character, a set, an edge or a group."""
    found = _PART.match(source, position)
    if found is None or found["odd"]:
        raise _UnknownError
    if found["edge"]:
        return _NOTHING, found.end()
    if found["any"]:
        return _ANYTHING, found.end()
    if found["set"]:
        return _in_set(found["set"], is_negated=bool(found["not"])), found.end()
    if found["group"] is None:
        return _Part(frozenset([found["literal"]])), found.end()
    kind = found["kind"] or ""
    inner, end = _alternatives(source, found.end(), depth + 1)
    if source[end : end + 1] != ")":
        raise _UnknownError
    if kind in ("!", "<!"):
        return _NOTHING, end + 1
    return (_Part(_NOTHING.texts, _places(inner)) if kind in ("=", "<=") else inner), end + 1


def _in_set(written: str, *, is_negated: bool) -> _Part:
    """Return what a set of characters matches, if they are listed one by one."""
    if "[:" in written:  # a named class of the library, which ends elsewhere
        raise _UnknownError
    characters, end = [], 0
    while found := _IN_SET.match(written, end):
        characters.append(found[1] or found[2])
        end = found.end()
    # I and dotless i: where case is ignored, the library takes one for the other.
    if is_negated or end < len(written) or {"I", "\u0131"} & {*characters}:
        return _ANYTHING
    return _Part(frozenset(each.lower() if each.isascii() else each for each in characters))


def _repeated(part: _Part, found: re.Match[str]) -> list[_Part]:
    """Return the parts that a repeated part is the same as."""
    if found["sign"]:
        least, is_once = int(found["sign"] == "+"), found["sign"] == "?"
    else:
        if not (found["least"] or found["most"]):
            raise _UnknownError
        least = int(found["least"] or 0)
        most = found["most"] if found["comma"] else found["least"]
        if most and least == int(most) <= _MAX_REPEATED:
            return [part] * least
        is_once = most == "1"
    if least == 0:
        is_named = is_once and part.texts is not None
        return [_Part(part.texts | {""}) if is_named and part.texts is not None else _ANYTHING]
    return [part] * min(least, _MAX_REPEATED) + [_ANYTHING]


def _in_sequence(parts: Iterable[_Part]) -> _Part:
    """Return what parts match that stand side by side."""
    run: frozenset[str] = frozenset([""])
    places: list[frozenset[str]] = []
    is_named = True
    for part in parts:
        places += part.places
        if part.texts is not None and len(run) * len(part.texts) <= _MAX_TEXTS:
            run = frozenset(first + second for first in run for second in part.texts)
            continue
        is_named = False
        places += _worthwhile(run)
        run = part.texts if part.texts is not None else frozenset([""])
    if is_named:
        return _Part(run, tuple(places[:_MAX_PLACES]))
    return _Part(None, tuple([*places, *_worthwhile(run)][:_MAX_PLACES]))


def _one_of(branches: list[_Part]) -> _Part:
    """Return what alternatives match."""
    if len(branches) == 1:
        return branches[0]
    named = [branch.texts for branch in branches if branch.texts is not None and not branch.places]
    if len(named) == len(branches):
        texts: frozenset[str] = frozenset().union(*named)
        if len(texts) <= _MAX_TEXTS:
            return _Part(texts)
    first, *others = map(_places, branches)
    for places in others:
        joined = (_without_longer(one | other) for one in first for other in places)
        first = tuple([place for place in joined if len(place) <= _MAX_TEXTS][:_MAX_PLACES])
    return _Part(None, first)


def _places(part: _Part) -> tuple[frozenset[str], ...]:
    return (*part.places, *_worthwhile(part.texts or frozenset([""])))


def _worthwhile(texts: frozenset[str]) -> list[frozenset[str]]:
    """Return the texts as a place, if each of them leaves out many notes."""
    shortest = _without_longer(texts)
    return [shortest] if all(len(text) >= _MIN_LENGTH or any(map(is_unspaced, text)) for text in shortest) else []


def _without_longer(texts: frozenset[str]) -> frozenset[str]:
    """Return the texts without those that hold another one."""
    return frozenset(text for text in texts if not any(other in text and other != text for other in texts))
