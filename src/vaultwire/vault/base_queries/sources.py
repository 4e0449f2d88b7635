"""Finds bases: ``.base`` files, ```` ```base ```` blocks of notes, and the text of one that a caller names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from vaultwire.bases.base_blocks import base_blocks, no_block
from vaultwire.bases.parser import Literal, property_text, to_text
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import BASE_SUFFIX, is_base
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.rows import NameEndsWith
from vaultwire.vault.links.note_lookup import locate, locate_file, subpath_of
from vaultwire.vault.search.query import NUMBER, And, Compared, Expression, Not, Null, Or, Property, Within, parse_query
from vaultwire.vault.search.terms import Pattern, Text, is_word_character
from vaultwire.vault.value_types import Progress, VaultPath


class Place(NamedTuple):
    """A base that was found: the file that holds it ("" for a text without a place), its text, and the view in its name."""

    path: str
    text: str
    view: str = ""


def read_source(files: Files, index: Index, source: BaseSource, progress: Progress) -> Place:
    """Return the base that a caller means. ``Name.base#View`` names a view, too.

    Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME, TOO_LARGE, INVALID_ARGUMENTS for a file that is no base, and for a
    block that the note does not have.
    """
    if source.text:
        return Place(_place_of(files, index, source.path, progress) if source.path else "", source.text)
    if not source.path.strip():
        raise VaultError(INVALID_ARGUMENTS, "Name a .base file, or give the text of a base.", argument="path")
    if source.block:
        return _read_block(files, index, source, progress)
    path = locate_base(files, index, source.path, progress)
    view = subpath_of(source.path, path) if "#" in source.path else ""
    return Place(path, plain_text(files.read(path).data), view)


def locate_base(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the ``.base`` file that ``name`` means, with its extension or without.

    Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME, INVALID_ARGUMENTS for another file.
    """
    try:
        path = locate_file(files, index, name, progress)
        if is_base(path):
            return path
    except VaultError as error:
        if error.code != FILE_NOT_FOUND or BASE_SUFFIX in name.casefold():
            raise
        path = None
    stem, mark, view = name.strip().strip("[]!").partition("#")
    if not stem.strip().casefold().endswith((BASE_SUFFIX, ".md", ".canvas")):
        try:
            with_suffix = locate_file(files, index, f"{stem.strip()}{BASE_SUFFIX}{mark}{view}", progress)
        except VaultError as error:
            if error.code != FILE_NOT_FOUND:
                raise
        else:
            if is_base(with_suffix):
                return with_suffix
    if path is None:
        raise VaultError(FILE_NOT_FOUND, f"There is no base {name!r} in the vault.", path=name)
    hint = " Say which of its base blocks is meant (block=1 is the first)." if path.endswith(".md") else ""
    raise VaultError(INVALID_ARGUMENTS, f"{path!r} is no base. Bases end in {BASE_SUFFIX!r}.{hint}", path=path)


def _place_of(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    return locate_base(files, index, name, progress) if is_base(name) else locate_file(files, index, name, progress)


def _read_block(files: Files, index: Index, source: BaseSource, progress: Progress) -> Place:
    path = locate(files, index, source.path, progress)
    blocks = base_blocks(plain_text(files.read(path).data))
    if not 1 <= source.block <= len(blocks):
        raise VaultError(INVALID_ARGUMENTS, f"{path!r} {no_block(len(blocks), source.block)}.", path=path)
    return Place(path, blocks[source.block - 1].text)


def base_files(index: Index, progress: Progress) -> list[VaultPath]:
    """Return the ``.base`` files of the vault that its own rules do not exclude, in path order."""
    return [file.path for file in index.rows(progress).find(NameEndsWith(BASE_SUFFIX), progress)]


# Writes a search in Obsidian's syntax as the filter of a base.
#
# A base knows names, folders, tags and properties of files, and not their text: words of the text, lines, sections and tasks
# cannot be filters. Names and values are compared in any case, as the search does, but letter by letter: ``cafe`` does not find
# ``café``. ``<`` and ``>`` are the base's own: for a property that is one number or one date, both find the same.

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
    expression = property_text(name)
    has = f"file.hasProperty({_text(name)})"
    if value is None:
        return has
    if isinstance(value, Null):
        return f"{has} && {expression}{'.isEmpty()' if value.or_empty else ' == null'}"
    if isinstance(value, Compared):
        return f"{expression} {_compared(value)}"
    if isinstance(value, Text) and value.full_words:
        lower = "" if value.match_case else ".lower()"
        return f"list({expression}).map(value.toString(){lower}).contains({_text(value.text, is_lower=not value.match_case)})"
    if isinstance(value, Pattern):  # its "^" and "$" are the ends of each item
        return f"list({expression}).filter({_contains('value.toString()', value)}).length > 0"
    return _contains(f"{expression}.toString()", value)


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
