"""From a query to what a text index can answer: which notes may match, and whether those are just the ones that do.

A plan names words, not characters: a typed word becomes all words in use that hold it. What an index of words cannot tell
(lines, case, patterns, punctuation, a property's value) is left open: the plan then finds too much, never too little, and
whoever runs it looks at each note it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.regex_literals import required_literals
from vaultwire.vault.index.store.tokenizer import BREAK, words_of
from vaultwire.vault.index.store.vocabulary import Vocabulary
from vaultwire.vault.search.query import And, Expression, Not, Or, Property, Within
from vaultwire.vault.search.terms import Pattern, Text, bare_text, fold_text, is_unspaced

# Fields of words, with what a word there adds to a note's rank beside one in its text: a name says what a note is about,
# an alias is another name, a heading says what a part is about.
BODY, NAME, ALIAS, HEADING, TAG = "body", "name", "alias", "heading", "tag"
FILE, PATH = "file", "path"
WEIGHTS = {BODY: 1.0, NAME: 8.0, ALIAS: 6.0, HEADING: 3.0, TAG: 3.0, FILE: 8.0, PATH: 1.0}
# A word close to the one typed counts half, one that merely holds it less than any mention.
NEAR_WEIGHT, OTHER_WEIGHT = 0.5, 0.2
# Above any rank: sets notes that match with their diacritics before all others. tantivy's scores have 24 bits.
FIRST = 10_000.0
# Fields of whole values: every tag and those above it, every folder a note lies below, names of properties, kinds.
TAG_PATH, FOLDER, PROPERTY, KIND = "tag_path", "folder", "property", "kind"
HAS_TASK = "task"
# Those of the ngrams that a note's text lacks and that its name holds.
ABSENT_NGRAMS, NAME_NGRAMS = "absent_ngrams", "name_ngrams"

# IndexParts of a note's text, so what stands there is found without them. They only boost a note: what YAML makes of an alias
# need not stand in the text as it is.
_BOOSTING = (ALIAS, HEADING, TAG)
_OF_PATHS = (NAME, FILE, PATH)
# So many words that begin with the one typed are ranked by how rare each is, the shortest first; all others that hold it
# count alike. Ranking a thousand of them takes 3 ms and says no more.
_MAX_NEAR = 4
# So many spellings of a phrase are looked for one by one; a phrase with more is looked up word by word.
_MAX_SPELLINGS = 8


class MatchAll(NamedTuple):
    """Every note."""


class AnyWord(NamedTuple):
    """Notes with any of the words in the field: the very word, words close to it, and others that hold it.

    ``loose`` are words that hold it only where diacritics are left out.
    """

    field: str
    same: tuple[str, ...]
    near: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()


class Phrase(NamedTuple):
    """Notes with the words in this order and nothing between them. ``is_loose``: not with the diacritics asked for."""

    field: str
    words: tuple[str, ...]
    is_loose: bool = False


class ExactValue(NamedTuple):
    """Notes with the value in a field of whole values."""

    field: str
    value: str


class AllOf(NamedTuple):
    """Notes that every part finds."""

    parts: tuple[Plan, ...]


class AnyOf(NamedTuple):
    """Notes that a part finds; none, if there are no parts."""

    parts: tuple[Plan, ...]


class NoneOf(NamedTuple):
    """Notes that the part does not find."""

    part: Plan


class Boosted(NamedTuple):
    """Notes that the plan finds. Those that the other plans find too rank above the rest."""

    plan: Plan
    boosts: tuple[Plan, ...]


Plan: TypeAlias = MatchAll | AnyWord | Phrase | ExactValue | AllOf | AnyOf | NoneOf | Boosted


class Planned(NamedTuple):
    """A plan; ``is_exact``: it finds the notes that match and no others."""

    plan: Plan
    is_exact: bool


class Vocabularies(NamedTuple):
    """The words in use in notes' texts, and in their paths."""

    texts: Vocabulary
    paths: Vocabulary


def make_plan(expression: Expression, vocabularies: Vocabularies, ngrams: NgramFilter) -> Planned:
    """Return which notes may match the expression. ``ngrams`` are those that the notes are marked with."""
    planner = _Planner(vocabularies, ngrams)
    plan = planner.plan(expression)
    return Planned(plan, planner.is_exact)


def has_loose(plan: Plan) -> bool:
    """Tell whether the plan may find notes that match only where diacritics are left out."""
    if isinstance(plan, AnyWord):
        return bool(plan.loose)
    if isinstance(plan, Phrase):
        return plan.is_loose
    if isinstance(plan, (AllOf, AnyOf)):
        return any(map(has_loose, plan.parts))
    return isinstance(plan, Boosted) and has_loose(plan.plan)


def as_written(plan: Plan) -> Plan:
    """Return the plan for those notes that match with their diacritics."""
    if isinstance(plan, AnyWord):
        return plan._replace(loose=())
    if isinstance(plan, Phrase):
        return AnyOf(()) if plan.is_loose else plan
    if isinstance(plan, (AllOf, AnyOf)):
        return type(plan)(tuple(map(as_written, plan.parts)))
    return as_written(plan.plan) if isinstance(plan, Boosted) else plan


class _Planner:
    """One walk over an expression."""

    def __init__(self, vocabularies: Vocabularies, ngrams: NgramFilter) -> None:
        self._vocabularies = vocabularies
        self._ngrams = ngrams
        self._found: dict[tuple[Vocabulary, str], list[str]] = {}  # words in use by what they hold
        self.is_exact = True

    def plan(self, part: Expression, fields: tuple[str, ...] = (BODY, NAME)) -> Plan:
        """Return the plan for a part that is looked for in the fields of one note."""
        if isinstance(part, And):
            return AllOf(tuple(self.plan(inner, fields) for inner in part.parts)) if part.parts else MatchAll()
        if isinstance(part, Or):
            return AnyOf(tuple(self.plan(inner, fields) for inner in part.parts))
        if isinstance(part, Not):
            return self._without(part, lambda inner: self.plan(inner, fields))
        if isinstance(part, Text):
            return self._text(part, fields)
        if isinstance(part, Within):
            return self._within(part)
        if isinstance(part, Property):
            return self._property(part)
        return self._pattern(part, fields) if isinstance(part, Pattern) else self._open()

    def _pattern(self, pattern: Pattern, fields: tuple[str, ...]) -> Plan:
        """Return the plan for a regular expression: notes with the words it cannot match without."""
        texts = [
            self._inside(word, fields)
            for text in required_literals(pattern.source)
            for word in words_of(fold_text(text))
            if word != BREAK and bare_text(word)
        ]
        self.is_exact = False
        return AllOf(tuple(texts)) if texts else MatchAll()

    def _open(self) -> Plan:
        self.is_exact = False
        return MatchAll()

    def _without(self, part: Not, plan: Callable[[Expression], Plan]) -> Plan:
        # Without notes that match too much would be without some that should be there.
        before, self.is_exact = self.is_exact, True
        inner = plan(part.part)
        is_exact, self.is_exact = self.is_exact, before
        return NoneOf(inner) if is_exact else self._open()

    def _within(self, within: Within) -> Plan:
        operator, part = within
        if operator == "content":
            return self.plan(part, (BODY,))
        if operator in ("file", "path"):
            return self.plan(part, (FILE if operator == "file" else PATH,))
        if operator == "tag":
            return self._tag(part)
        inner = self._in_piece(part)
        self.is_exact = False
        return AllOf((inner, ExactValue(KIND, HAS_TASK))) if operator.startswith("task") else inner

    def _in_piece(self, part: Expression) -> Plan:
        """Return the plan for a part that must hold in one piece of a note: what is not in one may be in another."""
        if isinstance(part, And):
            return AllOf(tuple(self._in_piece(inner) for inner in part.parts)) if part.parts else MatchAll()
        if isinstance(part, Or):
            return AnyOf(tuple(self._in_piece(inner) for inner in part.parts))
        if isinstance(part, Pattern):
            return self._pattern(part, (BODY,))
        return self._text(part, (BODY,)) if isinstance(part, Text) else self._open()

    def _tag(self, part: Expression) -> Plan:
        if isinstance(part, And):
            return AllOf(tuple(self._tag(inner) for inner in part.parts)) if part.parts else MatchAll()
        if isinstance(part, Or):
            return AnyOf(tuple(self._tag(inner) for inner in part.parts))
        if isinstance(part, Not):
            return self._without(part, self._tag)
        if not isinstance(part, Text):
            return self._open()
        self.is_exact &= not part.match_case
        value = whole_value(part.text)
        return ExactValue(TAG_PATH, value) if value else self._open()

    def _property(self, wanted: Property) -> Plan:
        self.is_exact &= wanted.value is None
        return self._property_name(wanted.name)

    def _property_name(self, name: Expression) -> Plan:
        if isinstance(name, Or):
            return AnyOf(tuple(self._property_name(inner) for inner in name.parts))
        if not isinstance(name, Text):
            return self._open()
        self.is_exact &= not name.match_case
        return ExactValue(PROPERTY, whole_value(name.text))

    # ------------------------------------------------------------------ words

    def _text(self, text: Text, fields: tuple[str, ...]) -> Plan:
        self.is_exact &= not text.match_case
        folded = fold_text(text.text)
        words = words_of(folded)
        solid = [word for word in words if word != BREAK]
        if not solid or not all(map(bare_text, solid)):  # a mark alone: nothing to look for without diacritics
            return self._open()
        if text.full_words:
            return self._phrase(words, fields)
        if len(words) == 1 and not is_unspaced(words[0]):
            return self._inside(words[0], fields)
        if all(map(is_unspaced, words)):
            return _boosted_by_itself(Phrase(field, tuple(words)) for field in fields)
        # Ends lie inside longer words, and what a break is made of only the note can tell.
        self.is_exact = False
        return AllOf(tuple(self._inside(word, fields) for word in dict.fromkeys(solid)))

    def _phrase(self, words: list[str], fields: tuple[str, ...]) -> Plan:
        if BREAK in words:
            self.is_exact = False
            solid = dict.fromkeys(word for word in words if word != BREAK)
            return AllOf(tuple(AnyOf(tuple(self._same(word, field) for field in fields)) for word in solid))
        spellings: list[Phrase] = []
        for field in fields:
            alternatives: list[tuple[str, ...]] = [()]
            for word in words:
                same = self._spellings(word, field)
                alternatives = [(*before, spelling) for before in alternatives for spelling in same]
                if len(alternatives) > _MAX_SPELLINGS:
                    self.is_exact = False
                    return AllOf(tuple(AnyOf(tuple(self._same(word, field) for field in fields)) for word in words))
            wanted = tuple(words)
            spellings += [Phrase(field, spelt, is_loose=spelt != wanted) for spelt in alternatives]
        return _boosted_by_itself(spellings)

    def _same(self, word: str, field: str) -> Plan:
        return AnyWord(field, tuple(self._spellings(word, field)))

    def _spellings(self, word: str, field: str) -> list[str]:
        """Return the words that are the word but for diacritics: that without any, and those in use."""
        if is_unspaced(word):
            return [word]
        bare = bare_text(word)
        return [bare, *self._vocabulary(field).spellings(bare)]

    def _inside(self, word: str, fields: tuple[str, ...]) -> Plan:
        """Return the plan for a word that may lie inside longer ones."""
        if word in self._ngrams and BODY in fields:
            return _usual(word, [self._near(word, field) for field in fields])
        return _boosted_by_itself(self._word(word, field) for field in fields)

    def _word(self, word: str, field: str) -> AnyWord:
        """Return the plan for a word that may lie inside longer ones, in one field."""
        holding = self._holding(bare_text(word), field)
        # Of thousands of words none are copied without need: nearly always all are found as written.
        loose = [other for other in holding if word not in other]
        written = [other for other in holding if word in other] if loose else holding
        same, near = _closest(word, [other for other in written if other.startswith(word)])
        others = [other for other in written if other not in near and other != word]
        return AnyWord(field, same, near, tuple(others), tuple(loose))

    def _near(self, word: str, field: str) -> AnyWord:
        """Return the same without the many words that merely hold it."""
        vocabulary = self._vocabulary(field)
        return AnyWord(
            field, *_closest(word, vocabulary.beginning(word)), loose=tuple(vocabulary.loosely_holding(word))
        )

    def _vocabulary(self, field: str) -> Vocabulary:
        return self._vocabularies.paths if field in _OF_PATHS else self._vocabularies.texts

    def _holding(self, bare: str, field: str) -> list[str]:
        vocabulary = self._vocabulary(field)
        found = self._found.get((vocabulary, bare))
        if found is None:
            found = self._found[vocabulary, bare] = vocabulary.holding(bare)
        return found


def _closest(word: str, beginning: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return, of the words that begin with the word, itself and those next to it."""
    # Of equal length by letter: which words are near does not depend on the order in which they came into use.
    ordered = sorted(sorted(beginning), key=len)
    same, near = (ordered[:1], ordered[1:]) if word in ordered[:1] else ([], ordered)
    return tuple(same), tuple(near[:_MAX_NEAR])


def _boosted_by_itself(parts: Iterable[AnyWord | Phrase]) -> Plan:
    """Return the plan for what any of the parts finds, lifted where that is what the note is about."""
    found = tuple(parts)
    return _boosted(AnyOf(found), _boosts_of(found))


def _boosted(found: Plan, boosts: Iterable[Plan]) -> Plan:
    lifted_by = tuple(boosts)
    return Boosted(found, lifted_by) if lifted_by else found


def _boosts_of(parts: Iterable[AnyWord | Phrase]) -> Iterator[Plan]:
    """Yield the plans for what is found in a text, in those parts of it that say what it is about."""
    for part in parts:
        if part.field != BODY:
            continue
        if isinstance(part, Phrase):
            yield from (part._replace(field=field) for field in _BOOSTING)
        elif part.same or part.near:
            yield from (AnyWord(field, part.same, part.near) for field in _BOOSTING)


def _usual(ngram: str, parts: Sequence[AnyWord]) -> Plan:
    """Return the plan for a word that is a ngram: all notes but those marked as absent it."""
    named = [ExactValue(NAME_NGRAMS, ngram) for part in parts if part.field == NAME]
    found: Plan = NoneOf(AllOf((ExactValue(ABSENT_NGRAMS, ngram), *map(NoneOf, named))))
    loose = [AnyWord(part.field, (), loose=part.loose) for part in parts if part.loose]
    ranks = [AnyWord(part.field, part.same, part.near) for part in parts if part.same or part.near]
    return _boosted(AnyOf((found, *loose)) if loose else found, [*ranks, *named, *_boosts_of(parts)])


def whole_value(text: str) -> str:
    """Return a tag, folder or property name in the form in which a field of whole values holds it."""
    return bare_text(fold_text(text)).strip()
