"""All functions by the type that has them."""

from __future__ import annotations

from collections.abc import Mapping

from vaultwire.bases.functions.arguments import Function
from vaultwire.bases.functions.files import FILE, LINK
from vaultwire.bases.functions.globals import ANY, CHOICE, GLOBAL
from vaultwire.bases.functions.lists import LIST, OBJECT
from vaultwire.bases.functions.numbers import DATE, DURATION, NUMBER
from vaultwire.bases.functions.strings import REGEXP, STRING

# What a list's function evaluates for each item, with ``value`` and ``index``, ``reduce`` with ``acc``, too.
LAMBDAS = ("filter", "map", "reduce")
METHODS: Mapping[str, Mapping[str, Function]] = {
    "String": STRING,
    "Number": NUMBER,
    "Date": DATE,
    "Duration": DURATION,
    "List": LIST,
    "Object": OBJECT,
    "Link": LINK,
    "File": FILE,
    "Regexp": REGEXP,
}
GLOBALS: tuple[str, ...] = (*GLOBAL, CHOICE)
METHOD_NAMES = frozenset((*ANY, *LAMBDAS, *(name for functions in METHODS.values() for name in functions)))


def method(name: str, type_name: str) -> Function | None:
    """Return a function of a type, or of any type; None if there is none."""
    return METHODS.get(type_name, {}).get(name) or ANY.get(name)
