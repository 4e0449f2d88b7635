"""The plain words of a query, and the query for notes that have only some of them. Pure. It knows no vault.

A query of words is often a question: "how do I resolve conflicts between devices?". No note need have all of its words.
Operators, negations, alternatives and regular expressions stay conditions: every note that is found meets them.
"""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.vault.search.query import And, Expression, Or, Query
from vaultwire.vault.search.query_hints import CONNECTIVES
from vaultwire.vault.search.terms import Text
from vaultwire.vault.search.text_forms import fold_case, is_word_character

# What ends a sentence or a part of it. Hardly anybody looks for it.
_SENTENCE_MARKS = "?!.,;"
# Of longer texts the longest words count: they tell more.
_MAX_WORDS = 20
# So many words are a sentence.
_SENTENCE = 2


class PlainWords(NamedTuple):
    """The words and phrases that a query asks for, each once, and its other conditions."""

    words: tuple[Text, ...]
    conditions: tuple[Expression, ...]

    def any_of(self, query: Query, sought: tuple[Text, ...], words: tuple[Text, ...]) -> Query:
        """Return the query for notes that meet the conditions and have one of the words ``sought``.

        What is found says which of ``words`` it lacks.
        """
        return Query(query.text, And((*self.conditions, Or(sought))), words)


def plain_words(query: Query) -> PlainWords:
    """Return the plain words of a query. Words lose the punctuation around them: ``devices?`` stands for ``devices``.

    The ``AND`` and ``NOT`` of other searches are no words: hints say how to write them.
    """
    words: dict[str, Text] = {}
    conditions: list[Expression] = []
    for part in _all_parts(query.expression):
        if not isinstance(part, Text) or part.match_case:
            conditions.append(part)
            continue
        if not part.full_words and part.text in CONNECTIVES:
            continue
        word = part if part.full_words else part._replace(text=_without_punctuation(part.text))
        if word.text:
            words.setdefault(fold_case(word.text), word)
    longest = sorted(words.values(), key=lambda word: -len(word.text))[:_MAX_WORDS]
    return PlainWords(tuple(word for word in words.values() if word in longest), tuple(conditions))


def without_sentence_marks(query: Query) -> Query:
    """Return the query of a sentence without the marks after its words: ``which devices?`` finds ``devices`` as well.

    One word alone stays as it is, and so do phrases and all other parts.
    """
    parts = _all_parts(query.expression)
    if sum(_is_word(part) for part in parts) < _SENTENCE:
        return query
    bare = [
        part._replace(text=part.text.rstrip(_SENTENCE_MARKS) or part.text)
        if isinstance(part, Text) and _is_word(part)
        else part
        for part in parts
    ]
    return query if bare == parts else query._replace(expression=And(tuple(bare)))


def _is_word(part: Expression) -> bool:
    return isinstance(part, Text) and not part.full_words and not part.match_case


def _all_parts(expression: Expression) -> list[Expression]:
    """Return the parts that must all be true."""
    if not isinstance(expression, And):
        return [expression]
    return [inner for part in expression.parts for inner in _all_parts(part)]


def _without_punctuation(word: str) -> str:
    start, end = 0, len(word)
    while start < end and not _is_in_words(word[start]):
        start += 1
    while end > start and not _is_in_words(word[end - 1]):
        end -= 1
    return word[start:end]


def _is_in_words(character: str) -> bool:
    """Tell whether the character is a part of words: a letter, digit or mark, also of scripts without spaces."""
    return is_word_character(character) or character.isalnum()
