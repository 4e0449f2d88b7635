"""Edits of a client's file in any of its formats, each checked: read again, the new text differs by our entry alone."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from vaultwire.client_setup import json_text, toml_text
from vaultwire.client_setup.clients import Format
from vaultwire.client_setup.problems import BrokenFileError, NotEditableError, SetupError


def read(text: str, form: Format) -> dict[str, Any]:
    """Return what a file says. Raises BrokenFileError if it is not valid, SetupError if it has no names and values."""
    found = _parse(text, form)
    if not isinstance(found, dict):
        raise SetupError("the file holds a list or a single value. It must have names with values, as an object has")
    return found


def entry_in(data: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """Return what is at a path of keys, None for nothing."""
    here: Any = data
    for key in keys:
        if not isinstance(here, Mapping) or key not in here:
            return None
        here = here[key]
    return here


def with_entry(text: str, form: Format, keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the text with an entry at a path of keys. Raises SetupError if that cannot be done without other changes."""
    expected = copy.deepcopy(read(text, form))
    here = expected
    for depth, key in enumerate(keys[:-1]):
        inner = here.setdefault(key, {})
        if not isinstance(inner, dict):
            raise NotEditableError(f"{'.'.join(keys[: depth + 1])} must have names with values, to have servers in it")
        here = inner
    is_there = keys[-1] in here
    here[keys[-1]] = dict(entry)
    if form == "toml":
        return _checked(toml_text.write(text, keys, entry, is_there=is_there), form, expected)
    return _checked(json_text.write(text, keys, entry), form, expected)


def without_entry(text: str, form: Format, keys: Sequence[str], *, containers: int = 0) -> str:
    """Return the text without the entry at a path of keys, and without so many objects around it, if they are empty then."""
    expected = copy.deepcopy(read(text, form))
    del entry_in(expected, keys[:-1])[keys[-1]]
    remove = toml_text.remove if form == "toml" else json_text.remove
    new = remove(text, keys)
    for depth in range(len(keys) - 1, len(keys) - 1 - containers, -1):
        parent = entry_in(read(new, form), keys[: depth - 1])
        if not isinstance(parent, dict) or parent.get(keys[depth - 1]) != {}:
            break
        new = remove(new, keys[:depth])
    for depth in range(len(keys) - 1, 0, -1):
        # An object that is empty now may be written as such, or be gone.
        parent = entry_in(expected, keys[: depth - 1])
        found = entry_in(read(new, form), keys[:depth])
        if parent[keys[depth - 1]] == {} and found is None:
            del parent[keys[depth - 1]]
    return _checked(new, form, expected)


def _parse(text: str, form: Format) -> Any:
    if form == "toml":
        return toml_text.read(text)
    return json_text.read(text, comments=form == "jsonc")


def _checked(text: str, form: Format, expected: Mapping[str, Any]) -> str:
    """Return the text if it says what is expected. Raises NotEditableError."""
    try:
        is_right = _same(_parse(text, form), expected)
    except BrokenFileError:
        is_right = False
    if not is_right:
        raise NotEditableError("the file is written in a way in which only a person can put the entry in safely")
    return text


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same, also in type: 1, 1.0 and true are equal to Python; and in the order of keys."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))  # noqa: PLR0124 - NaN
