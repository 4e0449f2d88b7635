"""Texts of bases: one that is edited, in a file or a block of a note; one that is new; and a search as the filter of a base."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence

from vaultwire.bases.base import NotABaseError
from vaultwire.bases.base_blocks import BlockError, edit_block
from vaultwire.bases.base_edits import BaseEditError, ViewEdit, check_base, edit_base, new_base, renamed_views
from vaultwire.bases.parser import Literal, property_text, to_text
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.heading_links import NewSubpath
from vaultwire.vault.search.query import NUMBER, And, Compared, Expression, Not, Null, Or, Property, Within, parse_query
from vaultwire.vault.search.terms import Pattern, Text, is_word_character
from vaultwire.vault.value_types import VaultPath

# Writes a search in Obsidian's syntax as the filter of a base.

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
    clause = _filter(parse_query(query).expression, _condition)
    parts = clause["and"] if isinstance(clause, dict) and "and" in clause else [clause]
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


# A longer list of warnings helps nobody.
_MOST_NOTICES = 10
_NOT_IN_LINKS = "#^[]|"


class BaseText:
    """One edit of a base: of a file, or of the block of that number in a note."""

    def __init__(self, block: int, changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> None:
        self._block = block
        self._changes = changes
        self._views = views
        self._before = self._after = ""

    def edit(self, path: VaultPath, text: str) -> str:
        """Return the text of the file with the edit made. Raises VaultError (INVALID_ARGUMENTS)."""
        if not self._block:
            return self._edit(path, text)
        try:
            return edit_block(text, self._block, lambda block: self._edit(path, block.text))
        except BlockError as error:
            raise VaultError(INVALID_ARGUMENTS, f"{path!r} {error}.", path=path) from None

    def _edit(self, path: VaultPath, base: str) -> str:
        try:
            after = edit_base(base, self._changes, self._views)
        except (BaseEditError, NotABaseError) as error:
            raise VaultError(INVALID_ARGUMENTS, f"{path!r} was not changed: {error}", path=path) from None
        self._before, self._after = base, after
        return after

    def new_subpaths(self, path: VaultPath) -> dict[VaultPath, NewSubpath]:
        """Return what links say that name a view which gets another name, for ``with_heading_links``; a block has no links.

        It raises VaultError for a name that no link can have.
        """
        if self._block or not self.renames:
            return {}
        new_name = renamed_views(self._before, self._views)

        def new_subpath(subpath: str) -> str | None:
            new = new_name(subpath)
            odd = [character for character in _NOT_IN_LINKS if new and character in new]
            if odd:
                reason = f"there is a link to the view, and no link can name {new!r}, because of {' '.join(odd)}"
                raise VaultError(INVALID_ARGUMENTS, f"{path!r} was not changed: {reason}.", path=path)
            return new

        return {path: new_subpath}

    @property
    def renames(self) -> str:
        """Which views get another name, for a sentence; empty if none does."""
        return ", ".join(f"{edit.name!r} to {edit.new_name!r}" for edit in self._views if edit.new_name)

    def notices(self, properties: Collection[str]) -> list[str]:
        """Return what is wrong in the base afterwards and was not before. ``properties``: names in use, in small letters."""
        before = {problem.message for problem in check_base(self._before, 1, properties)}
        messages = (problem.message for problem in check_base(self._after, 1, properties))
        return [*dict.fromkeys(message for message in messages if message not in before)][:_MOST_NOTICES]


def new_base_text(search: str, changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> str:
    """Return the text of a new base. ``search``: a search whose notes it shows; it may be empty. Raises VaultError."""
    if search.strip():
        if "filters" in changes:
            message = "Give either a search or filters: both say which notes the base shows."
            raise VaultError(INVALID_ARGUMENTS, message, argument="search")
        changes = {"filters": filter_of(search), **changes}
    try:
        return new_base(changes, views)
    except BaseEditError as error:
        raise VaultError(INVALID_ARGUMENTS, str(error), argument="set") from None
