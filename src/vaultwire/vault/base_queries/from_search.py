"""Writes a search in Obsidian's syntax as the filter of a base.

A base knows names, folders, tags and properties of files, and not their text: words of the text, lines, sections and tasks
cannot be filters. Names and values are compared in any case, as the search does, but letter by letter: ``cafe`` does not find
``café``. ``<`` and ``>`` are the base's own: for a property that is one number or one date, both find the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from vaultwire.bases.parser import Literal, property_text, to_text
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.search.query import NUMBER, And, Compared, Expression, Not, Null, Or, Property, Within, parse_query
from vaultwire.vault.search.terms import Pattern, Text
from vaultwire.vault.search.text_forms import is_word_character

_FILE_FIELDS = {"file": "file.name", "path": "file.path"}
# A search looks at a name with its extension, which a note's name in a base has not.
_FULL_NAME = '(file.name + ".md")'
_EXTENSION = ".md"
# Beyond the ends of a phrase no word goes on.
_BEFORE, _BEHIND = (rf"(?:{end}|[^\p{{L}}\p{{M}}\p{{N}}_])" for end in "^$")
_SYNTAX = compile_pattern(r"[\^$\\.*+?()\[\]{}|/]")

_Condition = Callable[[Expression], str]


def filter_of(query: str) -> PropertyValue:
    """Return the filter that finds the notes that a search finds. Raises VaultError for what no filter can say."""
    found = _filter(parse_query(query).expression, _condition)
    parts = found["and"] if isinstance(found, dict) and "and" in found else [found]
    assert isinstance(parts, list)
    return {"and": ['file.ext == "md"', *parts]}


def _filter(part: Expression, condition: _Condition) -> PropertyValue:
    """Return the filter of a part, and, or and not as groups."""
    if isinstance(part, (And, Or)):
        return {"and" if isinstance(part, And) else "or": [_filter(each, condition) for each in part.parts]}
    if isinstance(part, Not):
        return {"not": [_filter(part.part, condition)]}
    if isinstance(part, Within) and isinstance(part.part, (And, Or, Not)):
        operator = part.operator
        return _filter(part.part, lambda each: condition(Within(operator, each)))
    if isinstance(part, Property) and isinstance(part.value, (And, Or, Not)):
        name = part.name
        value = _filter(part.value, lambda each: condition(Property(name, each)))
        return {"and": [condition(Property(name, None)), value]}  # else "not" would hold for notes without the property
    return condition(part)


def _condition(part: Expression) -> str:
    if isinstance(part, Within) and part.operator in _FILE_FIELDS:
        is_full = part.operator == "file" and _may_meet_extension(part.part)
        return _has_words(_FULL_NAME if is_full else _FILE_FIELDS[part.operator], part.part)
    if isinstance(part, Within) and part.operator == "tag" and isinstance(part.part, Text):
        return f"file.hasTag({_text(part.part.text.removeprefix('#'))})"
    if isinstance(part, Property) and isinstance(part.name, Text):
        return _property(part.name.text, part.value)
    what = f"{part.operator}:" if isinstance(part, Within) else "words of the text"
    if isinstance(part, Property):
        what = "several names of a property, or a regular expression for one"
    raise VaultError(
        INVALID_ARGUMENTS,
        f"A base filters by names, folders, tags and properties, not by {what}. Use file:, path:, tag: and [property:value].",
        argument="search",
    )


def _property(name: str, value: Expression | None) -> str:
    shown = property_text(name)
    has = f"file.hasProperty({_text(name)})"
    if value is None:
        return has
    if isinstance(value, Null):
        return f"{has} && {shown}{'.isEmpty()' if value.or_empty else ' == null'}"
    if isinstance(value, Compared):
        return f"{shown} {_compared(value)}"
    if isinstance(value, Text) and value.full_words:
        lower = "" if value.match_case else ".lower()"
        return (
            f"list({shown}).map(value.toString(){lower}).contains({_text(value.text, is_lower=not value.match_case)})"
        )
    if isinstance(value, Pattern):  # its "^" and "$" are the ends of each item
        return f"list({shown}).filter({_contains('value.toString()', value)}).length > 0"
    return _contains(f"{shown}.toString()", value)


def _may_meet_extension(part: Expression) -> bool:
    if not isinstance(part, Text):
        return True
    ends = [_EXTENSION[:length] for length in range(1, len(_EXTENSION) + 1)]
    return part.text.lower() in _EXTENSION or part.text.lower().endswith((*ends,))


def _has_words(of: str, part: Expression) -> str:
    if not (isinstance(part, Text) and part.full_words):
        return _contains(of, part)
    before = _BEFORE if is_word_character(part.text[:1]) else ""
    behind = _BEHIND if is_word_character(part.text[-1:]) else ""
    words = _SYNTAX.sub(r"\\\g<0>", part.text)
    return f"/{before}{words}{behind}/{'' if part.match_case else 'i'}u.matches({of})"


def _contains(of: str, part: Expression) -> str:
    if isinstance(part, Pattern):
        return f"/{part.source}/{'' if part.match_case else 'i'}.matches({of})"
    assert isinstance(part, Text)
    lower = "" if part.match_case else ".lower()"
    return f"{of}{lower}.contains({_text(part.text, is_lower=not part.match_case)})"


def _compared(limit: Compared) -> str:
    if NUMBER.match(limit.value):
        return f"{limit.sign} {to_text(Literal(float(limit.value)))}"
    if len(limit.value) > len("2026-01"):
        return f"{limit.sign} date({_text(limit.value)})"
    # A month stands before each of its days.
    return f"{'<' if limit.sign[0] == '<' else '>='} date({_text(f'{limit.value}-01')})"


def _text(text: str, *, is_lower: bool = False) -> str:
    return json.dumps(text.lower() if is_lower else text, ensure_ascii=False)
