"""docs/tools.md: fields of fields, a real call for each tool, and nothing that is true on one computer only."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from scripts.pages.examples import run_examples
from scripts.pages.sample_calls import CALLS, NOT_SHOWN

from vaultwire.toolkit.catalog import load_catalog, standard_set

STANDARD = standard_set()

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
CATALOG = load_catalog()
SECTIONS = dict(re.findall(r"^## ([a-z_]+)\n(.*?)(?=^## [a-z_]+$|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_every_tool_has_an_example_or_a_reason_for_none() -> None:
    assert {each["name"] for each in CATALOG} == {*CALLS, *NOT_SHOWN}
    for name, call in CALLS.items():
        shown = re.findall(r"^```json\n(.*?)\n```$", SECTIONS[name], re.MULTILINE | re.DOTALL)
        assert json.loads(shown[0]) == call.arguments
        assert "```text\n" in SECTIONS[name]


def test_an_example_is_what_the_tool_answers() -> None:
    for name, answer in run_examples().items():
        assert f"```text\n{answer.rstrip(chr(10))}\n```" in SECTIONS[name], name


def test_examples_hold_nothing_of_this_day_and_this_computer() -> None:
    assert time.strftime("%Y-%m-%d") not in PAGE
    assert not re.search(r"/tmp|/home|/Users|[A-Z]:\\", PAGE)


def test_fields_of_fields_are_in_the_table_of_arguments() -> None:
    for description in CATALOG:
        for name, field in description["inputSchema"]["properties"].items():
            for inner, schema in field.get("items", {}).get("properties", {}).items():
                assert f"| `{name}[].{inner}` |" in SECTIONS[description["name"]]
                assert schema["description"] in SECTIONS[description["name"]]


def test_the_contents_name_every_tool_once_the_standard_set_first() -> None:
    contents = PAGE.partition("\n## search_notes\n")[0]
    listed = re.findall(r"\[`(\w+)`\]\(#\1\)", contents)
    assert listed[: len(STANDARD)] == STANDARD
    assert sorted(listed) == sorted(each["name"] for each in CATALOG)
