"""Changes by what a base shows: properties of all notes of a view, and a new note in a view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.bases.base import read_base
from vaultwire.bases.base_edits import new_note_in
from vaultwire.trust.policy_rules import ReviewRule, ReviewRules
from vaultwire.vault.caller import Caller
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.vault import Vault

VAULT = """=== Tasks/Plan.md
---
status: open # soon
---
Text.
=== Tasks/Call.md
---
status: open
due: 2026-01-01
---
=== Tasks/Done.md
---
status: done
---
=== Tasks/Picture.pdf
x
=== Tasks.base
filters: {and: ['file.inFolder("Tasks")', '!file.hasTag("x")']}
views:
  - {type: table, name: Open, filters: status == "open"}
  - {type: table, name: All}
  - {type: table, name: None, filters: status == "never"}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


def test_properties_of_all_notes_of_a_view_are_one_change(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    dry = call(vault, "set_properties_in_view", base="Tasks", view="open", set={"status": "late"}, dry_run=True)
    assert "2 notes of the view 'Open'" in dry.texts[0]
    assert snapshot(root) == before
    call(vault, "set_properties_in_view", base="Tasks", view="Open", set={"status": "late"}, remove=["due"])
    assert (root / "Tasks/Plan.md").read_text() == "---\nstatus: late # soon\n---\nText.\n"
    assert (root / "Tasks/Call.md").read_text() == "---\nstatus: late\n---\n"
    assert "done" in (root / "Tasks/Done.md").read_text()
    call(vault, "undo_changes", changes=[1])
    assert snapshot(root) == before


def test_files_that_are_no_notes_stay(vault: Vault, root: Path) -> None:
    done = call(vault, "set_properties_in_view", base="Tasks", view="All", set={"seen": True})
    assert "left 1 other file as they are" in done.texts[0]
    assert (root / "Tasks/Picture.pdf").read_text() == "x\n"


def test_what_cannot_be_done_changes_nothing(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    assert "what to set" in refusal(vault, "set_properties_in_view", base="Tasks")[1]
    assert "shows no note" in refusal(vault, "set_properties_in_view", base="Tasks", view="None", set={"a": 1})[1]
    assert "It has 'Open', 'All'" in refusal(vault, "set_properties_in_view", base="Tasks", view="x", set={"a": 1})[1]
    assert "It has 'Open', 'All'" in refusal(vault, "create_note_in_view", base="Tasks", view="x")[1]
    assert snapshot(root) == before


_READABLE = st.sampled_from(['status == "open"', 'file.inFolder("Tasks")', 'status != "x"'])
_LISTS = st.lists(_READABLE, min_size=1, max_size=2)
_KEYS = st.sampled_from(["And", "OR", "xor", "filter", "all", "and "])
_NOT_UNDERSTOOD = st.one_of(
    _LISTS,
    st.builds(lambda key, items: {key: items}, _KEYS, _LISTS),
    st.builds(lambda items: {"and": items, "or": items}, _LISTS),
    st.sampled_from([5, 1.5, "status == 'open' or status == 'done'", "status >", "status = 'open'", "nosuch(status)"]),
    st.sampled_from(["status.nosuch()", "formula.nosuch != 1", "formula.broken != 1", "formula.indirect != 1"]),
)
_NESTED = st.recursive(
    _NOT_UNDERSTOOD,
    lambda inner: st.builds(lambda kind, each: {kind: [each]}, st.sampled_from(["and", "or", "not"]), inner),
    max_leaves=2,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(_NESTED, st.sampled_from(["filters", "view", "both"]))
@example(['status == "open"'], "filters")
@example({"not": ["status >"]}, "view")
def test_nothing_is_written_by_a_filter_that_is_not_understood(
    vault: Vault, root: Path, wanted: Any, where: str
) -> None:
    view = {"type": "table", "name": "Open"} | ({"filters": wanted} if where != "filters" else {})
    base = {"formulas": {"broken": "1 +", "indirect": "formula.broken"}, "views": [view]}
    base |= {"filters": wanted} if where != "view" else {}
    (root / "Q.base").write_text(json.dumps(base))
    before = snapshot(root)
    assert "it is open which files" in refusal(vault, "set_properties_in_view", base="Q", set={"a": 1})[1]
    assert "it is open which files" in refusal(vault, "create_note_in_view", base="Q", name="New")[1]
    assert snapshot(root) == before
    shown = call(vault, "query_base", base="Q")
    assert shown.data["problems"]
    assert shown.data["problems"][0] in shown.texts[0]


@pytest.mark.parametrize("key", ["filter", "Filters", "FILTER"])
def test_a_key_that_is_nearly_filters_is_a_problem(vault: Vault, root: Path, key: str) -> None:
    for text in (f"{key}: status == 'open'", f"views: [{{type: table, name: A, {key}: status == 'open'}}]"):
        (root / "Q.base").write_text(text)
        assert "the name is 'filters'" in refusal(vault, "set_properties_in_view", base="Q", set={"a": 1})[1]
        assert "the name is 'filters'" in call(vault, "query_base", base="Q").data["problems"][0]


def test_notes_for_which_a_filter_fails_stay_and_are_named(vault: Vault, root: Path) -> None:
    (root / "Q.base").write_text(
        "filters: {not: ['file.ext != \"md\"', 'date(status) < today()', 'due < \"2020-01-01\"']}"
    )
    (root / "Tasks/Done.md").write_text("---\nstatus: 2999-01-01\n---\n")
    done = call(vault, "set_properties_in_view", base="Q", set={"a": 1})
    assert [name for name in ("Plan", "Call", "Done") if "a: 1" in (root / f"Tasks/{name}.md").read_text()] == ["Done"]
    assert "failed for 2 files, first 'Tasks/Call.md': Unable to parse \"open\" as a date." in done.texts[0]


def test_a_new_note_that_is_not_in_the_view_is_said_to_be_missing_there(vault: Vault) -> None:
    made = call(vault, "create_note_in_view", base="Tasks", view="Open", name="A", properties={"status": "late"})
    assert 'The new note is not in the view: view: status == "open" gave false.' in made.texts[0]
    made = call(vault, "create_note_in_view", base="Tasks", view="Open", name="Elsewhere/B")
    assert 'base: file.inFolder("Tasks") gave false' in made.texts[0]
    assert "not in the view" not in call(vault, "create_note_in_view", base="Tasks", view="Open", name="C").texts[0]


_NEW = "---\nkind: 7\ndue: 2026-01-01\ntags: [a/b]\nup: '[[Plan]]'\n---\n# Head\n[[Done|d]] ![[Picture.pdf]] #c\n"


@pytest.mark.parametrize(
    "wanted",
    [
        *("kind == 7", 'kind == "7"', "KIND > 6", "due < today()", 'due.date() == date("2026-01-01")', "none == null"),
        *('file.hasTag("a")', 'file.hasTag("b")', 'file.tags.contains("c")', 'file.hasProperty("Up")', "up == this"),
        *('file.hasLink("Plan")', 'file.hasLink("Call")', "file.links.length == 2", "file.embeds.length == 1"),
        *('file.links.map(value.asFile().name).contains("Done.md")', 'up == link("Plan")', 'up.asFile().ext == "md"'),
        *("file.backlinks.length == 1", 'file.backlinks.contains(link("Asks"))', 'link("New").asFile() == file'),
        *('file.inFolder("Tasks")', 'file.folder == "Tasks"', 'file.name == "New.md"', 'file.ext == "canvas"'),
        *(
            "file.size > 10",
            "file.size == 0",
            "file.ctime > now() - '1h'",
            "file.mtime < now() - '1d'",
            "formula.f == 14",
        ),
        *("list(file.properties).length == 4", 'note["no"]', '!note["no"]', 'file.path.startsWith("Skipped")'),
        '{or: ["kind == 8", {not: [\'file.hasTag("c")\']}]}',
    ],
)
@pytest.mark.parametrize("folder", ["Tasks", "Skipped"])
def test_a_dry_run_and_a_held_note_tell_as_the_note_itself_if_it_is_missing(
    vault: Vault, root: Path, wanted: str, folder: str
) -> None:
    (root / "Asks.md").write_text("[[New]]\n")
    (root / ".obsidian").mkdir()
    (root / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["Skipped/"]}')
    (root / "Q.base").write_text(
        f"formulas: {{f: kind * 2}}\nfilters: {wanted if wanted[0] == '{' else json.dumps(wanted)}"
    )
    given = {"base": "Q", "name": f"{folder}/New", "content": _NEW}
    before = call(vault, "create_note_in_view", **given, dry_run=True).texts[0].splitlines()[1:]
    held_vault = open_vault(root, state=root.parent / "held")
    held_vault._bench.review = ReviewRules([ReviewRule("hold")])
    with pytest.raises(Held) as held:
        call(held_vault.used_by(Caller("a"), "create_note_in_view"), "create_note_in_view", **given)
    made = call(vault, "create_note_in_view", **given).texts[0].splitlines()[1:]
    assert str(held.value).splitlines()[1:] == before == made
    rows = call(vault, "query_base", base="Q").data["rows"]
    assert (f"{folder}/New.md" in [row["path"] for row in rows]) == (not made)
    assert not made or made[0].startswith("The new note is not in the view: ")


def test_a_new_note_has_what_the_filters_ask_for(vault: Vault, root: Path) -> None:
    made = call(vault, "create_note_in_view", base="Tasks", view="Open", name="New", content="Hello.\n")
    assert made.data["path"] == "Tasks/New.md"
    assert (root / "Tasks/New.md").read_text() == "---\nstatus: open\n---\nHello.\n"
    shown = call(vault, "query_base", base="Tasks", view="Open").data["rows"]
    assert "Tasks/New.md" in [row["path"] for row in shown]
    again = call(vault, "create_note_in_view", base="Tasks", view="Open", name="New", properties={"status": "late"})
    assert again.data["path"] == "Tasks/New 1.md"
    assert "status: late" in (root / "Tasks/New 1.md").read_text()


@pytest.mark.parametrize("value", ['"3"', "3", "true", '"true"', '"2026-01-01"', '["a", "b"]', "null", '"[[Plan]]"'])
def test_a_new_note_is_in_its_view_whatever_the_type(vault: Vault, root: Path, value: str) -> None:
    (root / "Typed.base").write_text(f"views: [{{type: table, name: T, filters: 'note.kind == {value}'}}]")
    made = call(vault, "create_note_in_view", base="Typed", name="New")
    rows = call(vault, "query_base", base="Typed").data["rows"]
    assert made.data["path"] in [row["path"] for row in rows], (root / made.data["path"]).read_text()


@pytest.mark.parametrize(
    ("filters", "properties", "folder"),
    [
        ("status == 'open' && 3 == note.rating", {"status": "open", "rating": 3}, None),
        ("{and: [a == true, {and: ['b == \"x\"']}]}", {"a": True, "b": "x"}, None),
        ("{or: [a == 1, b == 2]}", {}, None),
        ("{not: [a == 1]}", {}, None),
        ("!(a == 1)", {}, None),
        ("a == 1 || b == 2", {}, None),
        ("a > 3", {}, None),
        ("a == b", {}, None),
        ("file.hasTag('work') && tags.contains('#now')", {"tags": ["work", "now"]}, None),
        ("file.hasTag('a', 'b')", {}, None),
        ("file.hasProperty('due')", {"due": None}, None),
        ("file.inFolder('A') && file.inFolder('A/B')", {}, "A/B"),
        ("file.folder == 'A/B'", {}, "A/B"),
        ("note['space key'] == null", {"space key": None}, None),
        ("kinds == ['a', 'b']", {"kinds": ["a", "b"]}, None),
        ("file.name == 'x' && formula.a == 1 && this.b == 2", {}, None),
        ("a ==", {}, None),
    ],
)
def test_what_filters_ask_of_a_new_note(filters: str, properties: dict[str, object], folder: str | None) -> None:
    base = read_base(
        f"filters: {filters}\nviews: [{{type: table, name: T}}]"
        if filters[0] == "{"
        else f'filters: "{filters}"\nviews: [{{type: table, name: T}}]'
    )
    wanted = new_note_in(base, base.views[0])
    assert (wanted.properties, wanted.folder) == (properties, folder)
