"""A property that gets another name in a base: what names it follows, and every other byte stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.calls import call
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.bases.base import read_base, read_expression
from vaultwire.bases.parser import SyntaxProblem, parse
from vaultwire.bases.renaming import NotRenamedError, PropertyRenaming, TagRenaming, rename_in_base
from vaultwire.markdown.offsets import apply_replacements
from vaultwire.markdown.yaml_core import read_yaml

BASE = """# my base
filters:
  and:
    - status == "open" # keep
    - 'note.Status != "x"'
    - "note[\\"status\\"].contains('status')"
formulas:
  a: |
    if(status, 1,
      status)
  b: list(status).map(value + status)
properties:
  note.status:
    displayName: status
views:
  - type: cards
    name: status
    image: note.status
    order: [file.name, status, note.status, formula.status]
    sort:
      - property: note.status
        direction: ASC
    groupBy: {property: status}
    summaries: {note.status: Filled}
    filters: file.hasProperty('status') && this.status == file.properties.status
    odd: status
"""


def renamed_in(text: str, old: str, new: str) -> str:
    """Return an expression in which a property has another name; one that cannot be read stays."""
    try:
        return apply_replacements(text, PropertyRenaming(old, new).edits(text, parse(text)))
    except SyntaxProblem:
        return text


def text_in(base: str, formula: str) -> str:
    """Return the text of a formula as YAML has it."""
    formulas = read_yaml(base, 1).values["formulas"]
    assert isinstance(formulas, dict)
    return str(formulas[formula])


RENAMED = """# my base
filters:
  and:
    - state == "open" # keep
    - 'note.state != "x"'
    - "note[\\"state\\"].contains('status')"
formulas:
  a: |
    if(state, 1,
      state)
  b: list(state).map(value + state)
properties:
  note.state:
    displayName: status
views:
  - type: cards
    name: status
    image: note.state
    order: [file.name, state, note.state, formula.status]
    sort:
      - property: note.state
        direction: ASC
    groupBy: {property: state}
    summaries: {note.state: Filled}
    filters: file.hasProperty('state') && this.state == file.properties.state
    odd: status
"""


def test_what_names_the_property_follows_and_all_else_stays() -> None:
    assert rename_in_base(BASE, PropertyRenaming("status", "state")) == RENAMED
    assert rename_in_base(BASE.replace("\n", "\r\n"), PropertyRenaming("STATUS", "state")) == RENAMED.replace(
        "\n", "\r\n"
    )
    assert rename_in_base(BASE, PropertyRenaming("other", "state")) is BASE


def test_a_name_that_is_no_word_stands_in_brackets_and_quotes() -> None:
    after = rename_in_base(BASE, PropertyRenaming("status", 'my "state", or: so'))
    base = read_base(after)
    assert base.problems == ()
    assert base.views[0].order[1] == 'note.my "state", or: so'
    again = rename_in_base(after, PropertyRenaming('my "state", or: so', "status"))
    assert read_base(again).views[0].order == read_base(BASE).views[0].order


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a + note.a + note['a'] + property.a", "b + note.b + note['b'] + property.b"),
        ("file.a + x.a + a(1) + formula.a + 'a'", "file.a + x.a + a(1) + formula.a + 'a'"),
        ("this.a.a", "this.b.a"),
        ("A == 1", "b == 1"),
        ("a ==", "a =="),
        ("list(1).reduce(acc + a, a)", "list(1).reduce(acc + b, b)"),
    ],
)
def test_only_the_property_itself_is_renamed(text: str, after: str) -> None:
    assert renamed_in(text, "a", "b") == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("file.hasTag('a', \"b\", 'A/c')", "file.hasTag('x/y', \"b\", 'x/y/c')"),
        ("file.tags.contains('#a') && tags == 'a'", "file.tags.contains('#x/y') && tags == 'x/y'"),
        ("note['tags'].containsAny('b', 'a')", "note['tags'].containsAny('b', 'x/y')"),
        ("list(tags).filter(value == 'a').length > 0", "list(tags).filter(value == 'x/y').length > 0"),
        ("this.file.tags.containsAll(['a'])", "this.file.tags.containsAll(['x/y'])"),
        (
            "['a', 'ab'].contains(file.tags[0]) || ['a'] == tags",
            "['a', 'ab'].contains(file.tags[0]) || ['x/y'] == tags",
        ),
        ("if(file.hasTag('a'), 'a', status == 'a')", "if(file.hasTag('x/y'), 'a', status == 'a')"),
        ("formula.tags == 'a' + '#a'", "formula.tags == 'a' + '#x/y'"),
        ("file.name.contains('a') && file.hasTag('ab', 'b/a')", "file.name.contains('a') && file.hasTag('ab', 'b/a')"),
    ],
)
def test_a_text_that_is_compared_with_tags_follows_a_tag(text: str, after: str) -> None:
    assert apply_replacements(text, TagRenaming("a", "x/y").edits(text, parse(text))) == after
    base = f"# a\nfilters:\n  and:\n    - {json.dumps(text)}\nviews:\n  - {{type: table, name: a, order: [note.a]}}\n"
    assert rename_in_base(base, TagRenaming("a", "x/y")) == base.replace(json.dumps(text), json.dumps(after))


def test_what_cannot_be_read_is_named() -> None:
    base = "filters:\n  and:\n    - status ==\n    - status\nformulas: {a: 'statuses ==', b: 'hasTag(\"status'}\n"
    unread: list[str] = []
    after = rename_in_base(base, PropertyRenaming("status", "state"), unread)
    assert after == base.replace("    - status\n", "    - state\n")
    assert unread == ["status ==", 'hasTag("status']
    unread = []
    assert rename_in_base(base, TagRenaming("status", "state"), unread) == base
    assert unread == ["status ==", 'hasTag("status']


def test_names_of_items_in_lists_stay() -> None:
    assert renamed_in("value + list(1).map(value)", "value", "b") == "b + list(1).map(value)"
    assert renamed_in("a + 1", "a", "value") == 'note["value"] + 1'
    assert renamed_in("list(1).reduce(acc, acc)", "acc", "b") == "list(1).reduce(acc, b)"


def test_the_file_of_this_stays_and_so_do_the_values_of_a_summary() -> None:
    assert renamed_in("this.file.name + this['file'] + note.file", "file", "doc") == (
        "this.file.name + this['file'] + note.doc"
    )
    base = "formulas:\n  a: values\nsummaries:\n  b: values.mean()\n"
    assert rename_in_base(base, PropertyRenaming("values", "x")) == base.replace("a: values", "a: x")


def test_anchors_and_tags_before_a_text_stay() -> None:
    base = "filters: &all !!str status == 1\nviews:\n  - filters: *all\n"
    assert rename_in_base(base, PropertyRenaming("status", "state")) == base.replace("status", "state")


def test_a_base_with_many_texts_is_renamed_in_proportion_to_its_length() -> None:
    base = f"views:\n  - order: [{', '.join(['a', 'b'] * 25_000)}]\n"
    assert rename_in_base(base, PropertyRenaming("b", "c")).count("c") == 25_000


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ("formulas: [status: : x", "is not YAML"),
        ("filters: status\n" + "# x\n" * 60_000, "has more than"),
        ("filters: status\r\nformulas: {a: status}\n", "mixes line ends"),
        ("properties:\n  note.status: {}\n  note.state: {}\n", "has 'state' beside 'status' already"),
    ],
)
def test_a_base_that_cannot_follow_is_refused(base: str, why: str) -> None:
    with pytest.raises(NotRenamedError, match=why):
        rename_in_base(base, PropertyRenaming("status", "state"))


def test_deeper_lines_of_a_folded_formula_are_renamed() -> None:
    base = "formulas:\n  a: >\n    1\n      + status\n\n      + 2\n"
    assert rename_in_base(base, PropertyRenaming("status", "state")) == base.replace("status", "state")


@pytest.mark.parametrize("head", [">", ">-", ">+", ">2", "> # why"])
@pytest.mark.parametrize("ends", ["\n", "\n\n\n", ""])
def test_a_folded_formula_keeps_its_lines(head: str, ends: str) -> None:
    base = (
        f"formulas:\n  a: {head}\n    if(status,\n    note.status  +\n    'status',\n\n\n    note['my status']\n"
        f"    + status){ends}"
    )
    if ends:
        base += "views:\n  - {type: table, name: V}\n"
    after = base.replace("if(status", "if(state").replace("note.status", "note.state").replace("+ status", "+ state")
    assert rename_in_base(base, PropertyRenaming("status", "state")) == after
    assert rename_in_base(base.replace("\n", "\r\n"), PropertyRenaming("status", "state")) == after.replace(
        "\n", "\r\n"
    )
    mine = base.replace("my status", "my own")
    assert rename_in_base(base, PropertyRenaming("my status", "my own")) == mine
    assert read_base(after).formulas.keys() == {"a"}


@given(
    st.lists(st.sampled_from(["status", "+", " ", "\n    ", "\n\n    ", "\n      ", "'status'", "1", "note.status"]))
)
def test_a_folded_text_is_renamed_right_or_not_at_all(pieces: list[str]) -> None:
    base = f"formulas:\n  a: >\n    {''.join(pieces)}\n  b: status\n"
    try:
        after = rename_in_base(base, PropertyRenaming("status", "state"))
    except NotRenamedError:
        return
    before = read_base(base).formulas
    assert read_base(after).formulas == {
        name: read_expression(renamed_in(text_in(base, name), "status", "state")) for name in before
    }


_VALUES = st.sampled_from(["", "open", "done", "3", "[a, b]", "2026-01-01", "'[[Note 1]]'"])
_FILTERS = st.sampled_from(
    [
        "status == 'open'",
        "status",
        "!status",
        "note.status > 2",
        "file.hasProperty('status')",
        "list(status).contains('a')",
    ]
)
_NAMES = st.sampled_from(["state", "my state", "Status", "étät", "a.b", "true", "file", "x'y", 'x"y'])


@settings(max_examples=25)  # each makes a vault
@given(
    st.lists(_VALUES, min_size=1, max_size=4),
    st.lists(_FILTERS, min_size=1, max_size=3),
    st.sampled_from(["and", "or", "not"]),
    _NAMES,
)
def test_the_rows_are_the_same_after_a_property_was_renamed(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], filters: list[str], kind: str, name: str
) -> None:
    root = tmp_path_factory.mktemp("vault")
    notes = "".join(f"=== Note {number}.md\n---\nstatus: {value}\n---\n" for number, value in enumerate(values))
    rename = {"what": "property", "old": "status", "new": name}
    check_rows(write_vault(root, f"{notes}=== Other.md\n"), filters, kind, "[status, formula.f]", "status", rename)


_TAG_FILTERS = st.sampled_from(
    [
        "file.hasTag('work')",
        "file.hasTag('a/b', 'work/x')",
        "!file.tags.contains('#Work')",
        "tags.contains('work')",
        "list(note.tags).filter(value == 'work').length == 1",
        "file.name != 'work'",
    ]
)


@settings(max_examples=20)  # each makes a vault
@given(
    st.lists(st.sampled_from(["#work", "#Work/x", "#a/b #work", "#works", "---"]), min_size=1, max_size=4),
    st.lists(_TAG_FILTERS, min_size=1, max_size=3),
    st.sampled_from(["and", "or", "not"]),
    st.sampled_from(["job", "a/c", "Work", "jöb/1"]),
)
def test_the_rows_are_the_same_after_a_tag_was_renamed(
    tmp_path_factory: pytest.TempPathFactory, tags: list[str], filters: list[str], kind: str, name: str
) -> None:
    texts = [tag if tag.startswith("#") else "---\ntags: [work, b]\n---" for tag in tags]
    notes = "".join(f"=== Note {number}.md\n{text}\n" for number, text in enumerate(texts))
    root = write_vault(tmp_path_factory.mktemp("vault"), f"=== Work.md\n#work\n{notes}")
    rename = {"what": "tag", "old": "work", "new": name}
    check_rows(root, filters, kind, "[file.name]", "file.hasTag('work')", rename)


def check_rows(root: Path, filters: list[str], kind: str, order: str, formula: str, rename: dict[str, str]) -> None:
    """Check that a base shows the same before and after: as a file, in a note, also an excluded one, in a card."""
    lines = "".join(f'    - "{each}"\n' for each in filters)
    view = f"{{name: V, type: table, order: {order}}}"
    base = f'filters:\n  {kind}:\n{lines}formulas: {{f: "{formula}"}}\nviews:\n  - {view}\n'
    block = "".join(f"> {line}\n" for line in ["```base", *base.splitlines(), "```"])
    settings_file = '=== .obsidian/app.json\n{"userIgnoreFilters": ["Excluded/"]}\n'
    write_vault(
        root,
        f"{settings_file}=== Some.base\n{base}=== In.md\n{block}=== Excluded/In.md\n{block}=== Excluded/B.base\n{base}",
    )
    node = {"id": "1", "type": "text", "text": block, "x": 0, "y": 0, "width": 1, "height": 1}
    canvas = root / "Cards.canvas"
    canvas.write_text(json.dumps({"nodes": [node], "edges": []}))
    places: list[dict[str, Any]] = [{"base": name} for name in ("Some.base", "Excluded/B.base")]
    places += [{"base": name, "block": 1} for name in ("In.md", "Excluded/In.md")]
    vault = open_vault(root)

    def rows(place: dict[str, Any]) -> list[tuple[str, list[object]]]:
        shown = call(vault, "query_base", **place).data
        columns = [column["id"] for column in shown["columns"]]
        return [(row["path"], [row["values"][each] for each in columns]) for row in shown["rows"]]

    before = [rows(place) for place in places]
    snapshots = snapshot(root)
    call(vault, "rename", **rename)
    assert [rows(place) for place in places] == before
    assert json.loads(canvas.read_text())["nodes"] == [{**node, "text": (root / "In.md").read_text()}]
    call(vault, "undo_changes", changes=[1])
    assert snapshot(root) == snapshots
