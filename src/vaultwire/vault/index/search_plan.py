"""Turns a query into a search plan: a query that a text index can answer. It reads no note and runs no plan.

A plan names words, not characters: a typed word becomes all words of the vocabulary that contain it. An index of words
cannot tell lines, case, patterns or a property's value. There the plan is not exact: it finds too much, never
too little, and the search reads each note that it found.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple, Protocol, TypeAlias

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.vault.index.words import (
    ANYTHING,
    CUT_SHORT,
    NgramFilter,
    Place,
    Vocabulary,
    code_of,
    find_places,
    is_break,
    sought_inside,
    words_of,
)
from vaultwire.vault.search.query import And, Expression, Not, Or, Property, Within
from vaultwire.vault.search.terms import Pattern, Text, fold_case, is_unspaced, strip_diacritics, translated

# Finds the required literals of a regular expression: texts without which it matches nothing. Pure.
#
# A search then runs the expression only on notes with these texts. In doubt nothing is required: it reads all notes.
# The idea is Russ Cox's ("Regular Expression Matching with a Trigram Index"): a part of the expression matches one of a few
# texts, or too many to name; parts that stand side by side make longer texts.

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
        repeat = _REPEAT.match(source, position)
        if repeat:
            position = repeat.end()
        parts += _repeated(part, repeat) if repeat else [part]
    return _one_of([*branches, _in_sequence(parts)]), position


def _part(source: str, position: int, depth: int) -> tuple[_Part, int]:
    """Read one part: a character, a set, an edge or a group."""
    match = _PART.match(source, position)
    if match is None or match["odd"]:
        raise _UnknownError
    if match["edge"]:
        return _NOTHING, match.end()
    if match["any"]:
        return _ANYTHING, match.end()
    if match["set"]:
        return _in_set(match["set"], is_negated=bool(match["not"])), match.end()
    if match["group"] is None:
        return _Part(frozenset([match["literal"]])), match.end()
    kind = match["kind"] or ""
    inner, end = _alternatives(source, match.end(), depth + 1)
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
    while match := _IN_SET.match(written, end):
        characters.append(match[1] or match[2])
        end = match.end()
    # I and dotless i: where case is ignored, the library takes one for the other.
    if is_negated or end < len(written) or {"I", "\u0131"} & {*characters}:
        return _ANYTHING
    return _Part(frozenset(each.lower() if each.isascii() else each for each in characters))


def _repeated(part: _Part, repeat: re.Match[str]) -> list[_Part]:
    """Return the parts that a repeated part is the same as."""
    if repeat["sign"]:
        least, is_once = int(repeat["sign"] == "+"), repeat["sign"] == "?"
    else:
        if not (repeat["least"] or repeat["most"]):
            raise _UnknownError
        least = int(repeat["least"] or 0)
        most = repeat["most"] if repeat["comma"] else repeat["least"]
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


# Fields of words, and the weight of each for ranking: a name says what a note is about, an alias is another name, a heading
# says what a part is about.
BODY, NAME, ALIAS, HEADING, TAG = "body", "name", "alias", "heading", "tag"
FILE, PATH = "file", "path"
WEIGHTS = {BODY: 1.0, NAME: 8.0, ALIAS: 6.0, HEADING: 3.0, TAG: 3.0, FILE: 8.0, PATH: 1.0}
# The weight of a word that begins with the typed one, and of one that only contains it.
NEAR_WEIGHT, OTHER_WEIGHT = 0.5, 0.2
# Above any score: sorts notes that match with the typed diacritics before all others. tantivy's scores have 24 bits.
FIRST = 10_000.0
# Fields of exact values: tags and their parent tags, the folders above a note, names of properties, kinds.
TAG_PATH, FOLDER, PROPERTY, KIND = "tag_path", "folder", "property", "kind"
HAS_TASK, HAS_ENCODED = "task", "encoded"
# Of the common n-grams: those absent from a note's text, and those in its name. See ``tokenizer``.
ABSENT_NGRAMS, NAME_NGRAMS = "absent_ngrams", "name_ngrams"

# These are parts of a note's text, so the body finds what is there. They only boost a note: YAML may change an alias, so it
# need not be in the text as it is.
_BOOSTING = (ALIAS, HEADING, TAG)
_OF_PATHS = (NAME, FILE, PATH)
# So many words that begin with the typed one are scored by rarity, the shortest first. All other words that contain it count
# the same: scoring a thousand of them takes 3 ms and ranks no better.
_MAX_NEAR = 4
# A phrase that may be spelt in more ways is looked up by patterns: that walks the dictionary for each place, 15 ms for
# 150,000 words.
FEW_SPELLINGS = 64
# A phrase that may be spelt in more ways is not looked for in aliases, headings and tags.
_MAX_BOOSTED = 8
# A phrase with more words in its places, or with a longer pattern, is looked up word by word, which is not exact. tantivy
# takes 16,384 words, and patterns of 1,000 states.
_MAX_PLACE_WORDS, _MAX_PATTERN = 8_000, 300


class MatchAll(NamedTuple):
    """Every note."""


class AnyWord(NamedTuple):
    """Notes with any of the words in the field: the typed word, words that begin with it, others that contain it.

    ``loose`` are words that contain it only when diacritics are left out.
    """

    field: str
    same: tuple[str, ...]
    near: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()


class Phrase(NamedTuple):
    """Notes with words side by side, one for each place. ``is_loose``: some have other diacritics than the typed ones."""

    field: str
    places: tuple[Place, ...]
    is_loose: bool = False

    @property
    def spellings(self) -> int:
        """In how many ways it may be spelt."""
        return prod(len(place.words) for place in self.places)

    @property
    def is_too_large(self) -> bool:
        """Whether a text index may refuse it."""
        return self.spellings > FEW_SPELLINGS and (
            sum(len(place.words) for place in self.places) > _MAX_PLACE_WORDS
            or any(len(place.pattern) > _MAX_PATTERN for place in self.places)
        )


class ExactValue(NamedTuple):
    """Notes with the value in a field of exact values."""

    field: str
    value: str


class TheseNotes(NamedTuple):
    """Notes of these ids."""

    ids: array[int]


class AllOf(NamedTuple):
    """Notes that every part finds; all notes, if there are no parts."""

    parts: tuple[Plan, ...]


class AnyOf(NamedTuple):
    """Notes that a part finds; none, if there are no parts."""

    parts: tuple[Plan, ...]


class NoneOf(NamedTuple):
    """Notes that the part does not find."""

    part: Plan


class Boosted(NamedTuple):
    """Notes that the plan finds. Those that the boosts find, too, rank higher."""

    plan: Plan
    boosts: tuple[Plan, ...]


Plan: TypeAlias = MatchAll | AnyWord | Phrase | ExactValue | TheseNotes | AllOf | AnyOf | NoneOf | Boosted


class Planned(NamedTuple):
    """A plan. ``is_exact``: it finds just the notes that match.

    ``encoded``: what to look for in notes of the kind ``HAS_ENCODED``: the plan says nothing of those that may have it in the
    text that the text index lacks (``encoded.sought_inside``).
    """

    plan: Plan
    is_exact: bool
    encoded: frozenset[bytes]


class Vocabularies(NamedTuple):
    """The words of notes' texts, and those of their paths."""

    texts: Vocabulary
    paths: Vocabulary


class Known(Protocol):
    """What is known of notes beside their text (``known_notes``)."""

    def with_property(self, sought: Property) -> array[int] | None:
        """Return the ids of the notes with the property and its value, None if that is not known."""

    def with_task(self, sought: Within) -> array[int] | None:
        """Return the ids of the notes with a task that matches, None if that is not known."""


def make_plan(
    expression: Expression, vocabularies: Vocabularies, ngrams: NgramFilter, known: Known | None = None
) -> Planned:
    """Return the plan for an expression. ``ngrams`` is the text index's n-gram filter."""
    planner = _Planner(vocabularies, ngrams, known)
    plan = planner.plan(expression)
    return Planned(plan, planner.is_exact, frozenset(planner.encoded))


def has_loose(plan: Plan) -> bool:
    """Tell whether the plan may find notes that match only when diacritics are left out."""
    if isinstance(plan, AnyWord):
        return bool(plan.loose)
    if isinstance(plan, Phrase):
        return plan.is_loose
    if isinstance(plan, (AllOf, AnyOf)):
        return any(map(has_loose, plan.parts))
    return isinstance(plan, Boosted) and has_loose(plan.plan)


def as_written(plan: Plan) -> Plan:
    """Return the plan for the notes that match with the typed diacritics."""
    if isinstance(plan, AnyWord):
        return plan._replace(loose=())
    if isinstance(plan, Phrase):
        return AnyOf(()) if plan.is_loose else plan
    if isinstance(plan, (AllOf, AnyOf)):
        return type(plan)(tuple(map(as_written, plan.parts)))
    return as_written(plan.plan) if isinstance(plan, Boosted) else plan


class _Planner:
    """One walk over an expression."""

    def __init__(self, vocabularies: Vocabularies, ngrams: NgramFilter, known: Known | None) -> None:
        self._vocabularies = vocabularies
        self._known = known
        self._ngrams = ngrams
        self._found: dict[tuple[Vocabulary, str], list[str]] = {}  # words by the text they contain
        self.is_exact = True
        self.encoded: set[bytes] = set()

    def plan(self, part: Expression, fields: tuple[str, ...] = (BODY, NAME)) -> Plan:
        """Return the plan for a part that is looked for in the fields of one note."""
        if isinstance(part, (And, Or)):
            return _combined(part, lambda inner: self.plan(inner, fields))
        if isinstance(part, Not):
            return self._without(part, lambda inner: self.plan(inner, fields))
        if isinstance(part, Text):
            return self._text(part, fields)
        if isinstance(part, Within):
            return self._within(part)
        if isinstance(part, Property):
            return self._property(part)
        return self._pattern(part, fields) if isinstance(part, Pattern) else self._not_exact()

    def _pattern(self, pattern: Pattern, fields: tuple[str, ...]) -> Plan:
        """Return the plan for a regular expression: notes with its required literals."""
        if BODY in fields:
            self.encoded.add(ANYTHING)
        literals = [[self._literal(text, fields) for text in place] for place in required_literals(pattern.source)]
        self.is_exact = False
        places = tuple(AnyOf(tuple(place)) for place in literals if MatchAll() not in place)
        return AllOf(places) if places else MatchAll()

    def _literal(self, text: str, fields: tuple[str, ...]) -> Plan:
        """Return the plan for notes with all words of a text. A single letter is in nearly every note."""
        words = [word for word in words_of(fold_case(text)) if not is_break(word) and strip_diacritics(word)]
        rare = [word for word in words if len(word) > 1 or is_unspaced(word)]
        return AllOf(tuple(self._inside(word, fields) for word in dict.fromkeys(rare))) if rare else MatchAll()

    def _not_exact(self) -> Plan:
        self.is_exact = False
        return MatchAll()

    def _without(self, part: Not, plan: Callable[[Expression], Plan]) -> Plan:
        # A plan that finds too much cannot be negated: it would leave out notes that match.
        before, self.is_exact = self.is_exact, True
        inner = plan(part.part)
        is_exact, self.is_exact = self.is_exact, before
        return NoneOf(inner) if is_exact else self._not_exact()

    def _within(self, within: Within) -> Plan:
        operator, part = within
        if operator == "content":
            return self.plan(part, (BODY,))
        if operator in ("file", "path"):
            return self.plan(part, (FILE if operator == "file" else PATH,))
        if operator == "tag":
            return self._tag(part)
        ids = self._known.with_task(within) if self._known and operator.startswith("task") else None
        if ids is not None:
            return TheseNotes(ids)
        inner = self._in_piece(part)
        self.is_exact = False
        return AllOf((inner, ExactValue(KIND, HAS_TASK))) if operator.startswith("task") else inner

    def _in_piece(self, part: Expression) -> Plan:
        """Return the plan for a part that must match one line, block, section or task; the plan only sees the whole note."""
        if isinstance(part, (And, Or)):
            return _combined(part, self._in_piece)
        if isinstance(part, Pattern):
            return self._pattern(part, (BODY,))
        return self._text(part, (BODY,)) if isinstance(part, Text) else self._not_exact()

    def _tag(self, part: Expression) -> Plan:
        if isinstance(part, (And, Or)):
            return _combined(part, self._tag)
        if isinstance(part, Not):
            return self._without(part, self._tag)
        if not isinstance(part, Text):
            return self._not_exact()
        self.is_exact &= not part.match_case
        value = exact_value(part.text)
        return ExactValue(TAG_PATH, value) if value else self._not_exact()

    def _property(self, sought: Property) -> Plan:
        ids = self._known.with_property(sought) if self._known and sought.value is not None else None
        if ids is not None:
            return TheseNotes(ids)
        self.is_exact &= sought.value is None
        return self._property_name(sought.name)

    def _property_name(self, name: Expression) -> Plan:
        if isinstance(name, Or):
            return _combined(name, self._property_name)
        if not isinstance(name, Text):
            return self._not_exact()
        self.is_exact &= not name.match_case
        return ExactValue(PROPERTY, exact_value(name.text))

    # ------------------------------------------------------------------ words

    def _text(self, text: Text, fields: tuple[str, ...]) -> Plan:
        self.is_exact &= not text.match_case
        folded = fold_case(text.text)
        words = words_of(folded)
        bare = strip_diacritics(folded)
        if BODY in fields and (inside := sought_inside(bare)) is not None:
            self.encoded.add(inside)
        if not words or bare != bare.strip() or not all(map(strip_diacritics, words)):
            return self._not_exact()  # nothing is left without diacritics, or a space at an end, which is no word
        if len(words) == 1 and is_break(words[0]):
            return self._inside_break(code_of(words[0]), fields)
        if len(words) == 1 and not text.full_words and not is_unspaced(words[0]):
            return self._inside(words[0], fields)
        phrases = [phrase for field in fields for phrase in self._phrases(words, field, is_open=not text.full_words)]
        if any(phrase.is_too_large for phrase in phrases):
            self.is_exact = False
            solid = dict.fromkeys(word for word in words if not is_break(word))
            return AllOf(tuple(self._inside(word, fields) for word in solid))
        return _boosted_by_itself(phrases)

    def _phrases(self, words: list[str], field: str, *, is_open: bool) -> list[Phrase]:
        """Return the phrases that find the words side by side. ``is_open``: the first and last may lie inside longer words."""
        places = find_places(words, self._vocabulary(field), is_open=is_open)
        self.is_exact &= places.is_exact
        written = Phrase(field, places.written)
        loose = [Phrase(field, each, is_loose=True) for each in places.loose]
        if any(phrase.spellings > FEW_SPELLINGS for phrase in loose):
            loose = [Phrase(field, places.every, is_loose=True)]  # one lookup by patterns is quicker than several
        return [phrase for phrase in (written, *loose) if phrase.spellings]

    def _inside_break(self, code: str, fields: tuple[str, ...]) -> Plan:
        """Return the plan for text that lies inside a break."""
        parts: list[AnyWord] = []
        for field in fields:
            vocabulary = self._vocabulary(field)
            breaks = vocabulary.containing(code)
            cut_short = [each for each in vocabulary.containing(CUT_SHORT) if code not in each]
            self.is_exact &= not cut_short and CUT_SHORT not in code
            parts.append(AnyWord(field, (), (), (*breaks, *cut_short)))
        return AnyOf(tuple(parts))

    def _inside(self, word: str, fields: tuple[str, ...]) -> Plan:
        """Return the plan for a word that may lie inside longer ones."""
        if word in self._ngrams and BODY in fields:
            return _common_ngram(word, [self._near_words(word, field) for field in fields])
        return _boosted_by_itself(self._word(word, field) for field in fields)

    def _word(self, word: str, field: str) -> AnyWord:
        """Return the plan for a word that may lie inside longer ones, in one field."""
        containing = self._containing(strip_diacritics(word), field)
        # Nearly always all are found as written: then thousands of words need not be copied.
        loose = [other for other in containing if word not in other]
        written = [other for other in containing if word in other] if loose else containing
        same, near = _closest(word, [other for other in written if other.startswith(word)])
        others = [other for other in written if other not in near and other != word]
        return AnyWord(field, same, near, tuple(others), tuple(loose))

    def _near_words(self, word: str, field: str) -> AnyWord:
        """Return the same without the many words that only contain it."""
        vocabulary = self._vocabulary(field)
        return AnyWord(
            field, *_closest(word, vocabulary.beginning(word)), loose=tuple(vocabulary.loosely_containing(word))
        )

    def _vocabulary(self, field: str) -> Vocabulary:
        return self._vocabularies.paths if field in _OF_PATHS else self._vocabularies.texts

    def _containing(self, bare: str, field: str) -> list[str]:
        vocabulary = self._vocabulary(field)
        words = self._found.get((vocabulary, bare))
        if words is None:
            words = self._found[vocabulary, bare] = vocabulary.containing(bare)
        return words


def _combined(part: And | Or, plan: Callable[[Expression], Plan]) -> Plan:
    parts = tuple(map(plan, part.parts))
    return AllOf(parts) if isinstance(part, And) else _any_of(parts)


def _any_of(alternatives: Iterable[Plan]) -> Plan:
    """Return the plan for what any of the plans finds. Not nested: a text index walks one list of words faster than two."""
    parts: list[Plan] = []
    boosts: list[Plan] = []
    for plan in alternatives:
        inner = plan.plan if isinstance(plan, Boosted) else plan
        parts += inner.parts if isinstance(inner, AnyOf) else (inner,)
        boosts += plan.boosts if isinstance(plan, Boosted) else ()
    return _boosted(AnyOf(tuple(parts)), boosts)


def _closest(word: str, beginning: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the word itself, if it is among those that begin with it, and the shortest others."""
    # Equal lengths in alphabetical order: the result must not depend on the order in which words were added.
    ordered = sorted(sorted(beginning), key=len)
    same, near = (ordered[:1], ordered[1:]) if word in ordered[:1] else ([], ordered)
    return tuple(same), tuple(near[:_MAX_NEAR])


def _boosted_by_itself(parts: Iterable[AnyWord | Phrase]) -> Plan:
    """Return the plan for what any of the parts finds, boosted if it is in an alias, a heading or a tag."""
    alternatives = tuple(parts)
    return _boosted(AnyOf(alternatives), _boosts_of(alternatives))


def _boosted(plan: Plan, boosts: Iterable[Plan]) -> Plan:
    lifted_by = tuple(boosts)
    return Boosted(plan, lifted_by) if lifted_by else plan


def _boosts_of(parts: Iterable[AnyWord | Phrase]) -> Iterator[Plan]:
    """Yield the same words and phrases of the body for aliases, headings and tags."""
    for part in parts:
        if part.field != BODY:
            continue
        if isinstance(part, Phrase):
            if part.spellings <= _MAX_BOOSTED:
                yield from (part._replace(field=field) for field in _BOOSTING)
        elif part.same or part.near:
            yield from (AnyWord(field, part.same, part.near) for field in _BOOSTING)


def _common_ngram(ngram: str, parts: Sequence[AnyWord]) -> Plan:
    """Return the plan for a word that is a common n-gram: all notes but those from which it is absent."""
    named = [ExactValue(NAME_NGRAMS, ngram) for part in parts if part.field == NAME]
    notes: Plan = NoneOf(AllOf((ExactValue(ABSENT_NGRAMS, ngram), *map(NoneOf, named))))
    loose = [AnyWord(part.field, (), loose=part.loose) for part in parts if part.loose]
    ranks = [AnyWord(part.field, part.same, part.near) for part in parts if part.same or part.near]
    return _boosted(AnyOf((notes, *loose)) if loose else notes, [*ranks, *named, *_boosts_of(parts)])


def exact_value(text: str) -> str:
    """Return a tag, folder or property name as fields of exact values store it."""
    return strip_diacritics(fold_case(text)).strip()
