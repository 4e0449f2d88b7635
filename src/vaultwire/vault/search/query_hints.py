"""Hints for queries written in the syntax of another search. Pure. They are for queries that find little."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultwire.vault.search.query import And, Expression, Not, Or, Query
from vaultwire.vault.search.terms import Text

_OPERATOR = re.compile(r"([^\W\d_][\w-]*):(?!/)(.*)", re.DOTALL)
# What operators of other programs are called here.
_NAMES = {
    **dict.fromkeys(("title", "name", "filename", "note", "intitle"), "file:"),
    **dict.fromkeys(("tags", "hashtag"), "tag:#"),
    **dict.fromkeys(("folder", "dir", "directory", "in"), "path:"),
    **dict.fromkeys(("text", "body"), "content:"),
    **dict.fromkeys(("heading", "under"), "section:"),
}
CONNECTIVES = {
    "AND": "AND is searched as a word: leave it out, all words must occur",
    "&&": "&& is searched as text: leave it out, all words must occur",
    "NOT": "NOT is searched as a word: to leave notes out write -word",
    "||": "|| is searched as text: write OR",
}
"""What joins words in other searches, each with how to write it here."""


def query_hints(query: Query) -> list[str]:
    """Return how to write what parts of the query seem to mean, a sentence without its full stop for each."""
    return list(dict.fromkeys(hint for word in _words(query.expression) if (hint := _hint(word))))


def _hint(word: str) -> str:
    operator = _OPERATOR.fullmatch(word)
    if operator:
        name, value = operator[1], operator[2].strip("\"'#")
        ours = _NAMES.get(name.lower())
        if ours:
            return (
                f"{name}: is no operator; write {ours}{value or 'word'}, or for a property [{name}:{value or 'value'}]"
            )
        return f"{name}: is no operator; for a property write [{name}:{value or 'value'}]"
    bare = word.strip("*")
    if bare != word and bare:
        return f"* is no wildcard; write {bare}: words are found inside longer ones, too"
    return CONNECTIVES.get(word, "")


def _words(part: Expression) -> Iterator[str]:
    """Yield the words that are looked for in notes, not in properties or by an operator."""
    if isinstance(part, Text) and not part.full_words:
        yield part.text
    elif isinstance(part, (And, Or)):
        for inner in part.parts:
            yield from _words(inner)
    elif isinstance(part, Not):
        yield from _words(part.part)
