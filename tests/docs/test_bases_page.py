"""The page on bases names every function and field that there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from vaultwire.bases.functions import ANY, FILE_FIELDS, GLOBALS, LAMBDAS, METHODS
from vaultwire.bases.value_functions import DATE_FIELDS, DURATION_FIELDS

FIELDS = {
    "String": ("length",),
    "List": ("length",),
    "Date": DATE_FIELDS,
    "Duration": DURATION_FIELDS,
    "File": FILE_FIELDS,
}
PAGE = Path(__file__).parents[2] / "docs" / "bases.md"


def test_the_page_has_every_function_and_field() -> None:
    rows = re.findall(r"^\| ([a-zA-Z ]+) \|(.*)\|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    written = {
        of: (set(re.findall("`(.+?)`", fields)), set(re.findall("`(.+?)`", names))) for of, fields, names in rows
    }
    assert written.pop("any value") == (set(), set(ANY))
    assert written.pop("no value") == (set(), set(GLOBALS))
    for of, functions in METHODS.items():
        more = set(LAMBDAS) if of == "List" else set()
        fields = set(FIELDS.get(of, ()))
        assert written[of] == (fields, set(functions) | more), of
