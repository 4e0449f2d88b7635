"""A text that a caller gives for a property stays that text, in every tool that writes properties.

It becomes a number, true or false only where the vault or the caller says so, and only if it is written so again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.calls import call, refusal
from support.vaults import open_vault, write_vault
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, set_properties
from vaultwire.markdown.property_values import one_line
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.editing.revising import GivenProperty, to_value
from vaultwire.vault.errors import VaultError
from vaultwire.vault.vault import Vault

TEXTS = ["+41790000000", "1.20", "008", "01234", "5", "-0", "1e3", "0x1F", ".5", "5.", "true", "NO", "null", "~", "1_0"]
# What begins like a number, a word of YAML, a date, or a sign of YAML.
NUMBERS = st.from_regex(r"[-+]?(0[xob])?[0-9]{0,12}[._]?[0-9]{0,6}([eE][-+]?[0-9]{1,3})?", fullmatch=True)
WORDS = st.sampled_from(
    ["true", "True", "FALSE", "yes", "off", "null", "Null", "~", ".inf", "-.INF", ".nan", "<<", "="]
)
OTHERS = st.from_regex(
    r"[0-9]{2}:[0-9]{2}|[0-9]{4}-[0-9]{2}-[0-9]{2}|[#&*!|>'\"%@`:,?\[{-][ 0-9a-z:#]{0,5}", fullmatch=True
)
LIKE_OTHERS = st.one_of(NUMBERS, WORDS, OTHERS, st.sampled_from(TEXTS)).filter(bool)
NOW = [
    "",
    "---\na:\n---\n",
    "---\na: 4\n---\n",
    "---\na: 'x'\n---\n",
    '---\na: "008" # c\n---\n',
    "---\na: [1, x]\n---\n",
]
TODAY = date(2026, 3, 31)


def written(before: str, given: GivenProperty, types: dict[str, str]) -> PropertyValue:
    """Return the value that a note has after a property was set."""
    value = to_value(given, types, TODAY)
    return parse_frontmatter(
        set_properties(before, {"a": value}, types, untyped=() if given.kind == "number" else ("a",))
    ).values["a"]


@given(LIKE_OTHERS, st.sampled_from(NOW), st.booleans())
def test_a_text_of_json_is_read_back_as_that_text(text: str, before: str, in_list: bool) -> None:
    value: PropertyValue = ["x", text] if in_list else text
    assert written(before, GivenProperty("a", value, "text"), {}) == value


@given(LIKE_OTHERS, st.sampled_from(NOW), st.sampled_from(["auto", "number", "list"]))
def test_a_value_written_as_text_is_converted_only_if_it_is_written_so_again(text: str, before: str, kind: Any) -> None:
    try:
        value = written(before, GivenProperty("a", text, kind), {})
    except VaultError:
        assert kind == "number"
        return
    (item,) = value if isinstance(value, list) else [value]
    assert text in (item, one_line(item))
    assert kind == "number" or '"' not in before or isinstance(item, str)


@given(LIKE_OTHERS, st.sampled_from(NOW), st.sampled_from(["number", "checkbox", "text", "multitext"]))
def test_a_declared_type_converts_nothing_that_is_written_otherwise(text: str, before: str, declared: str) -> None:
    try:
        value = written(before, GivenProperty("a", text, "text"), {"a": declared})
    except PropertyEditError:
        return
    (item,) = value if isinstance(value, list) else [value]
    assert text in (item, one_line(item))
    assert declared in ("number", "checkbox") or isinstance(item, str)
    assert '"' not in before or isinstance(item, str)


@given(st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans()))
def test_a_number_does_not_take_the_place_of_a_text_in_quotes(value: Any) -> None:
    for before, new, after in (
        ("'x'", value, one_line(value)),
        ('["01", "x"]', ["01", value], ["01", one_line(value)]),
    ):
        text = f"---\na: {before}\n---\n"
        assert written(text, GivenProperty("a", new, "text"), {}) == after
        assert written(text, GivenProperty("a", new, "number"), {}) == new
    assert written("---\na: '4'\n---\n", GivenProperty("a", 5, "text"), {"a": "number"}) == 5


VAULT = """=== Note.md
---
status: open
p: old
l: [x]
---
=== Tasks.base
filters: status == "open" && code == "008"
=== Open.base
filters: status == "open"
=== Templates/T.md
---
made: 1.20
---
=== .obsidian/templates.json
{"folder": "Templates"}
"""
JSON = {"p": TEXTS[0], "q": TEXTS[2], "l": TEXTS}


def _obsidian(vault: Vault, **given: str) -> None:
    for name, text in given.items():
        call(vault, "obsidian_set_property", path="Note.md", name=name, value=text)


def _pairs(vault: Vault) -> None:
    pairs = [{"name": name, "value" if isinstance(v, str) else "values": v, "type": "text"} for name, v in JSON.items()]
    call(vault, "set_properties", paths=["Note"], properties=pairs)


def _edits(vault: Vault) -> None:
    call(
        vault, "edit_note", path="Note", edits=[{"action": "replace", "property": n, "content": JSON[n]} for n in "pq"]
    )
    for text in TEXTS:
        call(vault, "edit_note", path="Note", edits=[{"action": "append", "property": "l", "content": text}])


DOORS: dict[str, tuple[str, Callable[[Vault], object]]] = {
    "set_properties": ("Note", lambda vault: call(vault, "set_properties", paths=["Note"], set=JSON)),
    "pairs": ("Note", _pairs),
    "edit_note": ("Note", _edits),
    "create_note": ("New", lambda vault: call(vault, "create_note", path="New", properties=JSON)),
    "template": ("New", lambda vault: call(vault, "create_note", path="New", properties=JSON, template="T")),
    "in view": ("Note", lambda vault: call(vault, "set_properties_in_view", base="Open", set=JSON)),
    "new in view": (
        "New",
        lambda vault: call(vault, "create_note_in_view", base="Tasks", name="New", properties=JSON),
    ),
    "obsidian": (
        "Note",
        lambda vault: _obsidian(vault, p=JSON["p"], q=JSON["q"], l=str(TEXTS).replace("'", '"')),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_tool_that_writes_properties_keeps_the_texts_of_json(tmp_path: Path, door: str) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT))
    path, use = DOORS[door]
    use(vault)
    values = parse_frontmatter((tmp_path / f"{path}.md").read_text()).values
    # A tool whose values are all texts reads those that are written so again.
    read = {"5": 5} if door == "edit_note" else {}
    texts = [read.get(text, text) for text in TEXTS]
    assert (values["p"], values["q"]) == (JSON["p"], JSON["q"])
    assert values["l"] == [*(["x"] if door == "edit_note" else []), *texts]
    assert values.get("code", "008") == "008"


def test_the_answer_says_where_a_number_became_a_text_and_how_a_number_would_be_written(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, '=== A.md\n---\nid: "008"\n---\n'))
    outcome = call(vault, "set_properties", paths=["A"], set={"id": 9})
    assert outcome.data["notices"] == ["A.md: id was a text in quotes, and still is one."]
    assert (tmp_path / "A.md").read_text() == '---\nid: "9"\n---\n'
    call(vault, "set_properties", paths=["A"], properties=[{"name": "id", "value": "9", "type": "number"}])
    assert (tmp_path / "A.md").read_text() == "---\nid: 9\n---\n"
    _, message = refusal(
        vault, "set_properties", paths=["A"], properties=[{"name": "n", "value": "1.20", "type": "number"}]
    )
    assert message == "n: expected a number, not '1.20', which would become 1.2: give that if it is meant."
