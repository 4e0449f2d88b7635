"""Finding notes by facts: what conditions and times mean, how names match, and that the index finds what reading finds."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.memory_text import MemoryText
from support.vaults import write_vault
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.days import Days, parse_days
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.index_folder import IndexFolder
from vaultwire.vault.index.text_index import TextIndex
from vaultwire.vault.links.likeness import FuzzyNames, edit_distance
from vaultwire.vault.search.filters import (
    Condition,
    NoteFilter,
    NoteFilterText,
    TaskFilter,
    parse_conditions,
    parse_note_filter,
    parse_task_status,
    parse_time,
    property_types,
)
from vaultwire.vault.search.terms import strip_diacritics
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.visibility.excludes import Excludes

TODAY = date(2026, 3, 10)  # a Tuesday


def the_days(text: str) -> Days:
    return parse_days(text, TODAY)


BACKENDS: list[Callable[[str | None], TextIndex]] = [MemoryText, TextIndex]
VAULT = """
=== Garden.md
---
aliases: [Back yard, Plot]
tags: [outdoor]
status: done
rating: 4
due: 2026-03-09
---
# Beds
- [ ] water #home/daily
## Later
- [x] dig
- [/] Größe messen #home
=== Projects/Alpha plan.md
---
status: [draft, Done]
rating: 2.5
due: 2026-04-01T10:00
---
#outdoor/wet
- [ ] call `#home` them
=== Projects/Beta.md
---
Status:
done: true
---
=== Projects/Über.md
- [-] dropped #homework
=== Excluded/Secret.md
---
status: done
aliases: Garden
tags: outdoor
---
- [ ] excluded #home
=== picture.PNG
"""


def open_over(root: Path, backend: Callable[[str | None], TextIndex] = MemoryText) -> Index:
    files = Files(str(root), 10_000)
    return Index(files, IndexFolder(files.root, None, open_text=backend), lambda: Excludes(("Excluded/",)))


@pytest.fixture(params=BACKENDS, ids=lambda backend: str(backend.__name__))
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    return open_over(write_vault(tmp_path, VAULT), request.param)


def find(index: Index, folder: str | None = None, **asked: Any) -> list[str]:
    wanted = parse_note_filter(NoteFilterText(**asked), the_days)
    found = index.find(wanted, VaultPath(folder) if folder else None, NO_PROGRESS)
    notes = found.all()
    assert len(found) == len(notes)
    return [note.stat.path for note in notes]


ALL = ["Garden.md", "Projects/Alpha plan.md", "Projects/Beta.md", "Projects/Über.md"]
FOUND: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ALL),
    ({"folder": "Projects"}, ALL[1:]),
    ({"tags": ["#Outdoor"]}, ALL[:2]),
    ({"tags": ["outdoor/wet", "outdoor"]}, [ALL[1]]),
    ({"tags": ["out"]}, []),
    ({"alias": "back YARD"}, [ALL[0]]),
    ({"alias": "back"}, []),
    ({"properties": ["status"]}, ALL[:3]),
    ({"properties": ["!status"]}, ALL[3:]),
    ({"properties": ["STATUS = Done"]}, ALL[:2]),
    ({"properties": ["status!=done"]}, ALL[2:]),
    ({"properties": ["status="]}, [ALL[2]]),
    ({"properties": ["status!="]}, [ALL[0], ALL[1], ALL[3]]),
    ({"properties": ["rating>=4"]}, [ALL[0]]),
    ({"properties": ["rating<4"]}, [ALL[1]]),
    ({"properties": ['rating>"text"']}, []),
    ({"properties": ["due<today"]}, [ALL[0]]),
    ({"properties": ["due=yesterday"]}, [ALL[0]]),
    ({"properties": ["due<=2026-04-01"]}, ALL[:2]),
    ({"properties": ["due=2026-04"]}, [ALL[1]]),
    ({"properties": ["due=2026"]}, ALL[:2]),
    ({"properties": ["due>2026-04-01"]}, []),
    ({"properties": ["due>2026-04-01T09:59"]}, [ALL[1]]),
    ({"properties": ["done=true"]}, [ALL[2]]),
    ({"properties": ["status", "rating>1"], "folder": "Projects"}, [ALL[1]]),
    ({"name": "garden"}, [ALL[0]]),
    ({"name": "plot", "tags": ["outdoor"]}, [ALL[0]]),
    ({"name": "uber"}, [ALL[3]]),
    ({"name": "garden", "folder": "Projects"}, []),
    ({"name": "plan alp"}, [ALL[1]]),
    ({"name": "secret"}, []),
]


@pytest.mark.parametrize(("asked", "expected"), FOUND, ids=str)
def test_notes_are_found_by_their_facts(index: Index, asked: dict[str, Any], expected: list[str]) -> None:
    assert find(index, **asked) == expected


def test_an_alias_that_matched_is_shown_as_written_and_a_name_goes_before_it(tmp_path: Path) -> None:
    index = open_over(write_vault(tmp_path, "=== B.md\n---\naliases: [x, Zoé]\n---\n#t/u #v\n=== Zoe.md\n"))
    notes = index.find(NoteFilter("ZOE"), None, NO_PROGRESS).all()
    assert [(note.stat.path, note.alias, note.tags) for note in notes] == [
        ("Zoe.md", None, []),
        ("B.md", "Zoé", ["t/u", "v"]),
    ]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("path", ["a/C.md", "a/b.md", "d.md"]),
        ("relevance", ["a/C.md", "a/b.md", "d.md"]),
        ("name", ["a/b.md", "a/C.md", "d.md"]),
        ("size", ["d.md", "a/b.md", "a/C.md"]),
        ("modified", ["a/b.md", "d.md", "a/C.md"]),
    ],
)
def test_notes_come_in_the_order_asked_for_and_pages_hold_each_once(
    tmp_path: Path, sort: Any, expected: list[str]
) -> None:
    write_vault(tmp_path, "=== a/C.md\n1\n=== a/b.md\n12\n=== d.md\n123\n")
    for path, seconds in (("a/C.md", 100), ("a/b.md", 300), ("d.md", 200)):
        os.utime(tmp_path / path, (0, seconds))
    index = open_over(tmp_path)
    assert find(index, sort=sort) == expected
    found = index.find(NoteFilter(sort=sort), None, NO_PROGRESS)
    assert [note.stat.path for offset in range(4) for note in found.page(offset, 1)] == expected
    assert len(found) == 3


@pytest.mark.parametrize("sort", ["relevance", "modified"])
def test_pages_of_notes_found_by_name_hold_each_once(tmp_path: Path, sort: Any) -> None:
    index = open_over(write_vault(tmp_path, "".join(f"=== {number}/Same {number}.md\n" for number in range(7))))
    found = index.find(NoteFilter("same", sort=sort), None, NO_PROGRESS)
    whole = found.all()
    assert [note for offset in (0, 3, 6) for note in found.page(offset, 3)] == whole
    assert len(found) == len(whole) == 7


def test_times_of_change_limit_what_is_found(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== old.md\n=== mid.md\n=== new.md\n")
    for path, day in (("old.md", 1), ("mid.md", 5), ("new.md", 9)):
        os.utime(tmp_path / path, (0, datetime(2026, 3, day, 12).astimezone().timestamp()))
    index = open_over(tmp_path)
    assert find(index, modified_after="2026-03-05") == ["mid.md", "new.md"]
    assert find(index, modified_before="2026-03-05") == ["old.md"]
    assert find(index, modified_after="2026-03-05T12:00", modified_before="2026-03-05T12:01") == ["mid.md"]


def test_names_are_true_of_the_files_after_a_change(tmp_path: Path) -> None:
    index = open_over(write_vault(tmp_path, "=== One.md\n"))
    assert find(index, name="one") == ["One.md"]
    (tmp_path / "One.md").rename(tmp_path / "Other.md")
    assert (find(index, name="other"), find(index, name="one")) == (["Other.md"], [])


# ---------------------------------------------------------------------- names

NAMES = [
    "Garden",
    "Garden plan",
    "My garden",
    "Plan for the garden",
    "Kindergarden",
    "Project Alpha",
    "Straße",
    "日本語",
]
MATCHES = {
    # exactly, at the start, a word's start, within; shorter first
    "garden": ["Garden", "Garden plan", "My garden", "Plan for the garden", "Kindergarden"],
    "gard": ["Garden", "Garden plan", "My garden", "Plan for the garden", "Kindergarden"],
    "gar pl": ["Garden plan", "Plan for the garden"],
    "arden an": ["Garden plan", "Plan for the garden"],
    "  GARDEN   Plan ": ["Garden plan", "Plan for the garden"],
    "strasse": ["Straße"],
    "本": ["日本語"],
    "gardne": ["Garden", "My garden", "Garden plan", "Plan for the garden"],
    "kindrgardem": ["Kindergarden"],
    "projct alhpa": ["Project Alpha"],
    "prjalp": ["Project Alpha"],
    "pfg": ["Plan for the garden"],
    "plam": ["Garden plan", "Plan for the garden"],
    "cat": [],
    "nothing like": [],
    "": [],
    "\u0301": [],
}


@pytest.mark.parametrize("typed", MATCHES)
def test_the_best_name_comes_first_and_slips_count_only_if_nothing_holds_what_was_typed(typed: str) -> None:
    found = FuzzyNames("\n".join(map(fold, NAMES))).match(typed)
    assert [NAMES[entry] for entry in found] == MATCHES[typed]


def test_only_names_that_may_be_found_are_and_slips_are_looked_for_among_them() -> None:
    names = FuzzyNames("plan\nplane\nplant")
    assert names.match("plan", lambda entry: entry != 0) == [1, 2]
    assert names.match("plqnt", lambda entry: entry != 2) == []


@given(data=st.data())
def test_names_that_were_added_and_removed_match_as_if_the_others_had_been_there_from_the_start(
    data: st.DataObject,
) -> None:
    some = st.lists(st.sampled_from([fold(name) for name in NAMES] + ["plan", "plam", "café au lait", ""]), max_size=5)
    all_names, gone = data.draw(some), set[int]()
    kept = FuzzyNames("")
    if all_names:
        kept.add("\n".join(all_names))
    for _ in range(data.draw(st.integers(1, 4))):
        kept.match("plna")  # its words are known now
        added = data.draw(some)
        if added:
            kept.add("\n".join(added))
            all_names += added
        removed = data.draw(st.lists(st.sampled_from(range(len(all_names))), max_size=3)) if all_names else []
        kept.remove(removed)
        gone.update(removed)
    left = [entry for entry in range(len(all_names)) if entry not in gone]
    fresh = FuzzyNames("\n".join(all_names[entry] for entry in left))
    for typed in [*MATCHES, "plan"]:
        assert kept.match(typed) == [left[entry] for entry in fresh.match(typed) if left]
    assert [kept[entry] for entry in left] == [strip_diacritics(all_names[entry]) for entry in left]
    assert len(kept) == len(all_names)


WORDS = st.text("abcd", min_size=4, max_size=9)


@given(
    name=WORDS,
    place=st.integers(0, 8),
    letter=st.sampled_from("abcd"),
    kind=st.sampled_from(["in", "out", "for", "swap"]),
)
def test_a_name_with_one_slip_is_found(name: str, place: int, letter: str, kind: str) -> None:
    place %= len(name)
    typed = {
        "in": name[:place] + letter + name[place:],
        "out": name[:place] + name[place + 1 :],
        "for": name[:place] + letter + name[place + 1 :],
        "swap": name[:place] + name[place : place + 2][::-1] + name[place + 2 :],
    }[kind]
    assert edit_distance(typed, name, 2) <= 1
    if len(typed) >= 4:
        found = FuzzyNames(f"xyz\n{name}\nother").match(typed)
        assert 1 in found or len(typed) >= 8  # of longer words two letters at one end must be right


@given(
    names=st.lists(st.text(st.characters(blacklist_characters="\n\r"), max_size=12), max_size=6),
    typed=st.text(max_size=6),
)
def test_any_text_may_be_typed_and_a_whole_name_is_found_first(names: list[str], typed: str) -> None:
    matcher = FuzzyNames("\n".join(map(fold, names)))
    assert all(0 <= entry < max(len(names), 1) for entry in matcher.match(typed))
    for name in names:
        cleaned = fold(name)
        if cleaned.isascii() and cleaned.isalnum():
            assert strip_diacritics(fold(names[matcher.match(name)[0]])) == cleaned


# ---------------------------------------------------------------------- conditions

WRONG = {
    "": "expected 'status'",
    "=done": "expected 'status'",
    "status:done": "write 'status=done'",
    "rating>": "no value after >",
    "a=>b": "expected 'status'",
    "a<>b": "expected 'status'",
    "a=~b": "expected 'status'",
    "!status=done": "write 'status!=done'",
    "due before today": "write 'due<today'",
    "next step since 2026-01": "write 'next step>=2026-01'",
    "status is done": "write 'status=done'",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_bad_condition_says_what_was_wrong_and_what_would_be_right(text: str) -> None:
    with pytest.raises(VaultError) as caught:
        parse_conditions([text], the_days)
    assert caught.value.code == "INVALID_ARGUMENTS"
    assert caught.value.message.startswith(f"properties: {text!r} is no condition: ")
    assert WRONG[text] in caught.value.message


@pytest.mark.parametrize("value", ["next fryday", "30d", "01.01.2027", "soon"])
def test_what_is_neither_date_nor_number_is_compared_as_text_only_in_quotes(value: str) -> None:
    with pytest.raises(VaultError) as caught:
        parse_conditions([f"due <{value}"], the_days)
    assert caught.value.code == "INVALID_ARGUMENTS"
    assert caught.value.message == (
        f"properties: {value!r} in 'due <{value}' is neither a date nor a number. Write 2026-03-10, today or +7. "
        f'To compare as text, quote it: due<"{value}".'
    )
    (condition,) = parse_conditions([caught.value.message.rpartition(": ")[2].rstrip(".")], the_days)
    assert condition.accepts("A text") is (value > "a text")


def test_a_name_in_quotes_may_look_like_a_comparison() -> None:
    (condition,) = parse_conditions(['"status is done"'], the_days)
    assert (condition.name, condition.sign) == ("status is done", "")
    with pytest.raises(VaultError, match='quote it: "a=b"<"soon"'):
        parse_conditions(['"a=b"<soon'], the_days)


VALUES: list[tuple[str, PropertyValue, bool]] = [
    ("a=x", ["y", ["X"]], True),
    ("a=x", {"deep": "x"}, True),
    ("a=1", "1.0", True),
    ("a=1", True, False),
    ('a="1"', 1, False),
    ("a='1'", "1", True),
    ('a>"b"', "C", True),
    ('a>"b"', 7, False),
    ("a>7", "c", False),
    ("a=Alpha", "[[Alpha|the first]]", True),
    ("a=[[alpha]]", "[[Alpha]]", True),
    ("a=", [], True),
    ("a=", None, True),
    ("a=", "x", False),
    ("a<2026-01-02", "2026-01-01 23:59", True),
    ("a=2026-01-01", "2026-01-01T10:00:00+02:00", True),
    ("a>=2026-01-01T10:30:00", "2026-01-01T10:30", True),
    ("a<=2026-01", "2026-01-31", True),
    ("a<2026-01-02", "soon", False),
    ("a=tomorrow", "2026-03-11", True),
    ("a=today", "Today", True),
    ("a<=+7", "2026-03-17", True),
    ("a<=+7", "2026-03-18", False),
    ("a<=+7", 7, True),
    ("a>=-1", "2026-03-09", True),
    ("a<next week", "2026-03-15", True),
    ("a<next week", "2026-03-16", False),
    ("a<=Next  Week", "2026-03-22T10:00", True),
    ("a>next week", "2026-03-22", False),
    ("a>= this month", "2026-03-01", True),
    ("a>2026-Q1", "2026-03-31", False),
    ("a>2026-Q1", "2026-04-01", True),
    ("a=this week", "This week", True),
    ('"a=b"="x y"', "X y", True),
    ("a=b=c", "b=c", True),
    ("a=STRASSE", "Straße", True),
]


@pytest.mark.parametrize(("text", "value", "expected"), VALUES, ids=str)
def test_values_compare_by_type(text: str, value: PropertyValue, expected: bool) -> None:
    (condition,) = parse_conditions([text], the_days)
    assert condition.accepts(value) is expected


SCALARS = st.sampled_from(
    ["done", "Done", "draft", "4", "4.5", "-1", "true", "2026-01-05", "2026-01-05T10:00", "", "'4'"]
)
BLOCKS = st.dictionaries(
    st.sampled_from(["status", "Status", "n"]), SCALARS | st.lists(SCALARS.filter(bool), max_size=2), max_size=3
)
SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
CONDITIONS = st.sampled_from(["status", "!status", "n", "!n"]) | st.tuples(
    st.sampled_from(["status", "n"]), SIGNS, SCALARS.filter(lambda text: text.strip("'") != "")
).map(lambda parts: "".join(parts[:2]) + (f'"{parts[2]}"' if parts[2].isalpha() else parts[2]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(blocks=st.lists(BLOCKS, max_size=5), texts=st.lists(CONDITIONS, min_size=1, max_size=3))
def test_conditions_find_what_looking_into_each_note_finds(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[dict[str, Any]], texts: list[str]
) -> None:
    root = tmp_path_factory.mktemp("vault")
    notes = {
        f"{number}.md": "---\n"
        + "".join(
            f"{name}: {value if isinstance(value, str) else '[' + ', '.join(value) + ']'}\n"
            for name, value in block.items()
        )
        + "---\n"
        for number, block in enumerate(blocks)
    }
    for path, text in notes.items():
        (root / path).write_text(text, encoding="utf-8")
    conditions = parse_conditions(texts, the_days)
    expected = [path for path, text in notes.items() if all(holds(condition, text) for condition in conditions)]
    assert find(open_over(root), properties=texts) == expected


def holds(condition: Condition, text: str) -> bool:
    """Tell whether a note holds the condition, by reading it."""
    frontmatter = parse_frontmatter(text)
    named = [value for name, value in frontmatter.values.items() if name.casefold() == condition.name][:1]
    return any(condition.accepts(value) for value in named) is not condition.is_negated


def test_a_property_with_very_many_values_is_compared_as_one_with_few(tmp_path: Path) -> None:
    index = open_over(write_vault(tmp_path, "".join(f"=== {n:03}.md\n---\nn: {n}\n---\n" for n in range(700))))
    assert find(index, properties=["n>=697"]) == ["697.md", "698.md", "699.md"]
    wanted = parse_note_filter(NoteFilterText(properties=["n>=10"]), the_days)
    assert len(index.find(wanted, None, NO_PROGRESS)) == 690


# ---------------------------------------------------------------------- times

NOW = datetime(2026, 3, 10, 15, 30, tzinfo=UTC)
TIMES = {
    "2026-01-31T18:00Z": datetime(2026, 1, 31, 18, tzinfo=UTC),
    "2026-01-31T18:00+02:00": datetime(2026, 1, 31, 16, tzinfo=UTC),
    "12h": datetime(2026, 3, 10, 3, 30, tzinfo=UTC),
    "7d": datetime(2026, 3, 3, 15, 30, tzinfo=UTC),
    "2W": datetime(2026, 2, 24, 15, 30, tzinfo=UTC),
    "2026-01-31": datetime(2026, 1, 31).astimezone(),
    "9999-12-31T00:00Z": datetime.max.replace(tzinfo=UTC),
    " today ": datetime(2026, 3, 10).astimezone(),
    "Yesterday": datetime(2026, 3, 9).astimezone(),
    "last week": datetime(2026, 3, 2).astimezone(),
    "2026-02": datetime(2026, 2, 1).astimezone(),
}


@pytest.mark.parametrize("text", TIMES)
def test_a_time_is_a_date_a_word_or_how_long_ago(text: str) -> None:
    expected = int(TIMES[text].timestamp()) * 10**9
    assert parse_time(text, "modified_after", NOW) == min(expected, 2**63 - 1)  # what a catalog can compare with


@pytest.mark.parametrize("text", ["soon", "2026-13-01", "7", "7y", "-1d", "2026-01-31T25:00"])
def test_a_text_that_is_no_time_is_refused_with_the_arguments_name(text: str) -> None:
    with pytest.raises(VaultError) as caught:
        parse_time(text, "modified_before", NOW)
    assert caught.value.code == "INVALID_ARGUMENTS"
    assert caught.value.message.startswith("modified_before: expected a date")
    assert repr(text) in caught.value.message


# ---------------------------------------------------------------------- properties, tasks, numbers


def test_properties_are_counted_once_a_note_without_hidden_ones(index: Index) -> None:
    used = [(each.name.lower(), each.notes) for each in index.properties("", None, NO_PROGRESS)]
    assert used == [("status", 3), ("due", 2), ("rating", 2), ("aliases", 1), ("done", 1), ("tags", 1)]
    below = index.properties("", VaultPath("Projects"), NO_PROGRESS)
    assert [(each.name.lower(), each.notes) for each in below][:1] == [("status", 2)]
    assert [each.notes for each in index.properties("STATUS", None, NO_PROGRESS)] == [3]
    assert index.properties("nothing", None, NO_PROGRESS) == []


def test_values_are_counted_one_by_one_and_an_empty_one_shows(index: Index) -> None:
    values = index.property_values("Status", None, NO_PROGRESS)
    assert [(value.text, value.notes) for value in values] == [("", 1), ("Done", 1), ("done", 1), ("draft", 1)]


@pytest.mark.parametrize(
    ("values", "declared", "expected"),
    [
        (["text", 4], {}, ["text", "number"]),
        ([None, "2026-01-05"], {}, ["date"]),
        ([None], {}, ["text"]),
        (["2026-01-05", 4], {"STATUS": "number"}, ["number"]),
        ([["x"], True, "2026-01-05T10:00"], {}, ["multitext", "checkbox", "datetime"]),
    ],
)
def test_a_property_has_the_type_declared_or_those_of_its_values(
    values: list[PropertyValue], declared: dict[str, str], expected: list[str]
) -> None:
    assert property_types("status", values, declared) == expected


KINDS = [
    "x",
    "12",
    "-1",
    ".5",
    "true",
    "false",
    "2026-01-05",
    "2026-01-05T10:00",
    "2026-01-05T10:00:30",
    "[a]",
    "",
    "{a: b}",
]


@pytest.mark.parametrize(
    "values", [[kind] for kind in KINDS] + [["2026-01-05", "x"], ["1", "x"], ["", "2"], ["true", "false"]]
)
def test_the_types_the_index_gives_are_those_of_all_values(tmp_path: Path, values: list[str]) -> None:
    write_vault(tmp_path, "".join(f"=== {n}.md\n---\nkey: {value}\n---\n" for n, value in enumerate(values)))
    ((_, kinds, notes),) = open_over(tmp_path).properties("", None, NO_PROGRESS)
    every = [parse_frontmatter(f"---\nkey: {value}\n---\n").values["key"] for value in values]
    assert set(property_types("key", kinds, {})) == set(property_types("key", every, {}))
    assert notes == len(values)


TASKS: list[tuple[TaskFilter, str | None, str | None, list[tuple[str, int]]]] = [
    (
        parse_task_status("any"),
        None,
        None,
        [("Garden.md", 9), ("Garden.md", 11), ("Garden.md", 12), (ALL[1], 7), (ALL[3], 1)],
    ),
    (parse_task_status("todo"), None, None, [("Garden.md", 9), (ALL[1], 7)]),
    (parse_task_status("Done"), None, None, [("Garden.md", 11), ("Garden.md", 12), (ALL[3], 1)]),
    (parse_task_status("/"), None, None, [("Garden.md", 12)]),
    (parse_task_status("[-]"), None, None, [(ALL[3], 1)]),
    (parse_task_status(" "), None, None, [("Garden.md", 9), (ALL[1], 7)]),
    (TaskFilter(tag="#HOME"), None, None, [("Garden.md", 9), ("Garden.md", 12)]),
    (TaskFilter(tag="home/daily"), None, None, [("Garden.md", 9)]),
    (TaskFilter(text="GROSSE"), None, None, [("Garden.md", 12)]),
    (TaskFilter(text="größe"), None, None, [("Garden.md", 12)]),
    (TaskFilter(text="Di"), None, None, [("Garden.md", 11)]),
    (TaskFilter(text="DROP"), None, "Projects", [(ALL[3], 1)]),
    (TaskFilter(), None, "Projects", [(ALL[1], 7), (ALL[3], 1)]),
    (TaskFilter(), "Projects/Über.md", None, [(ALL[3], 1)]),
    (TaskFilter(tag="home"), "Excluded/Secret.md", None, [("Excluded/Secret.md", 6)]),
]


@pytest.mark.parametrize(("wanted", "path", "folder", "expected"), TASKS, ids=str)
def test_tasks_are_found_in_path_and_line_order(
    index: Index, wanted: TaskFilter, path: str | None, folder: str | None, expected: list[tuple[str, int]]
) -> None:
    note, below = VaultPath(path) if path else None, VaultPath(folder) if folder else None
    tasks = index.tasks(wanted, note, below, NO_PROGRESS)
    found = tasks.all()
    assert [(task.path, task.line) for task in found] == expected
    assert len(tasks) == len(expected)
    assert [task for offset in range(0, len(expected) + 1, 2) for task in tasks.page(offset, 2)] == found


def test_a_task_is_shown_with_its_mark_its_text_and_the_heading_above(index: Index) -> None:
    found = index.tasks(TaskFilter(), None, None, NO_PROGRESS).all()
    assert [(task.mark, task.text, task.heading) for task in found] == [
        (" ", "water #home/daily", "Beds"),
        ("x", "dig", "Later"),
        ("/", "Größe messen #home", "Later"),
        (" ", "call `#home` them", ""),
        ("-", "dropped #homework", ""),
    ]


def test_the_vault_in_numbers_leaves_hidden_notes_out(index: Index, tmp_path: Path) -> None:
    (tmp_path / "broken.md").write_text("---\na: [\n---\n[[link]]\n")
    (tmp_path / "large.md").write_bytes(b"x" * 10_001)
    found = index.stats(2, NO_PROGRESS)
    assert (found.notes, found.excluded, found.unreadable, found.odd) == (6, 1, 1, 1)
    assert (found.links, found.tags, found.properties, found.tasks_open, found.tasks_done) == (1, 5, 6, 2, 3)
    assert found.attachments == [("png", 1, 0)]
    assert [(each.folder, each.notes) for each in found.folders] == [("", 3), ("Projects", 3)]
    assert [problem.path for problem in found.problems] == ["large.md", "broken.md"]
    visible = [path for path in tmp_path.rglob("*.md") if "Excluded" not in path.parts]
    assert found.size == sum(path.stat().st_size for path in visible)
    assert found.modified_ns == max(path.stat().st_mtime_ns for path in visible)
    assert not found.is_watched


def test_an_empty_vault_has_nothing(tmp_path: Path) -> None:
    index = open_over(tmp_path)
    assert index.stats(5, NO_PROGRESS)[:12] == (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, None, [])
    assert find(index, name="x") == []
    assert index.properties("", None, NO_PROGRESS) == []
    assert index.property_values("x", None, NO_PROGRESS) == []
    assert index.tasks(TaskFilter(), None, None, NO_PROGRESS).all() == []


@pytest.mark.parametrize("text", ["", "opened", "[xx]", "to be"])
def test_a_status_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(VaultError) as caught:
        parse_task_status(text)
    assert caught.value.code == "INVALID_ARGUMENTS"
    assert "'todo', 'done', 'any'" in caught.value.message
