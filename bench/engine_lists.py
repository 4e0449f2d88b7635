"""Measures of lists, names, tags, statistics and the graph: pages of answers, each compared with the notes themselves."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from bench.engine_corpus import Corpus, composed
from bench.engine_facts import Facts
from bench.engine_session import EngineSamples, Session
from bench.engine_vault import COMMON_PROPERTY, MOVED_FOLDER, SCRATCH, tags

_SEED = 20260731
_CALLS = 40
_MOST_SECONDS = 3.0
_CHANGES = 3
_LEAST_LETTERS = 6  # of a name in which a letter is left out
_PAGE = 100
FAILS = "fails: "
"""How the rows of calls that must fail begin."""

Arguments = dict[str, Any]
Check = Callable[[Arguments, dict[str, Any]], bool]


class List(NamedTuple):
    """A list: its row in the table, and for each call whether the answer is right."""

    row: str
    tool: str
    arguments: list[Arguments]
    is_right: Check
    after_changes: bool = False
    error: str = ""  # with which it must fail


def measure_lists(session: Session, corpus: Corpus, samples: EngineSamples) -> None:
    """Measure each list, then some again after a note has changed."""
    lists = [*_lists(corpus, Facts(corpus)), *_failing(corpus)]
    for each in lists:
        _measure(session, each, samples)
    _measure_next_page(session, corpus, samples)
    for number in range(_CHANGES):
        for each in lists:
            if each.after_changes:
                _measure_after_change(session, each, number, samples)


def _measure(session: Session, each: List, samples: EngineSamples) -> None:
    replies = session.calls(each.tool, each.arguments, _MOST_SECONDS)
    for number, (arguments, reply) in enumerate(zip(each.arguments, replies, strict=False)):
        samples.take("list ms", each.row, reply.seconds * 1e3)
        if number == 0:
            samples.take("list for the first time ms", each.row, reply.seconds * 1e3)
        if each.error:
            if each.error not in reply.error:
                samples.fail(each.row, f"WRONG: {each.tool} {arguments} did not fail with {each.error}: {reply.error}")
        elif reply.data is None:
            samples.fail(each.row, f"failed: {reply.error}")
        elif not each.is_right(arguments, reply.data):
            samples.fail(each.row, f"WRONG: {each.tool} {arguments} gave {str(reply.data)[:200]}")


def _measure_next_page(session: Session, corpus: Corpus, samples: EngineSamples) -> None:
    """Follow the pages of all notes."""
    row = "list_notes, the next page"
    shown: list[str] = []
    arguments: Arguments = {}
    for _ in range(_CALLS):
        reply = session.call("list_notes", arguments)
        if reply.data is None:
            samples.fail(row, f"failed: {reply.error}")
            return
        shown += [note["path"] for note in reply.data["notes"]]
        if arguments:
            samples.take("list ms", row, reply.seconds * 1e3)
        if "next_cursor" not in reply.data:
            break
        arguments = {"cursor": reply.data["next_cursor"]}
    if shown != corpus.paths[: len(shown)]:
        samples.fail(row, "WRONG: the pages together are not the first notes")


def _measure_after_change(session: Session, each: List, number: int, samples: EngineSamples) -> None:
    path = f"{SCRATCH}/Changed before lists.md"
    session.call("write_note", {"path": path, "content": f"{each.row} {number}\n", "mode": "overwrite"})
    session.call("read_notes", {"paths": [path], "part": "outline"})  # the index has the change now
    reply = session.call(each.tool, each.arguments[0])
    samples.take("list after a change ms", each.row, reply.seconds * 1e3)
    if reply.data is None:
        samples.fail(each.row, f"failed after a change: {reply.error}")


def _lists(corpus: Corpus, facts: Facts) -> list[List]:
    chance = random.Random(_SEED)  # noqa: S311 - every run must have the same calls
    paths = corpus.paths
    same: list[Arguments] = [{}] * _CALLS
    below = [path for path in paths if path.startswith(f"{MOVED_FOLDER}/")]
    recent = [note.path for note in sorted(corpus.notes, key=lambda note: -note.modified_ns)]
    names = [note.name for note in chance.sample(corpus.notes, _CALLS)]
    long_names = [name for name in names if len(max(name.split(), key=len)) >= _LEAST_LETTERS]
    by_tag = [{"tags": [tag]} for tag in chance.sample(tags(), _CALLS)]
    hubs = sorted(((-notes, path) for path, notes in facts.linked_by.items()))
    return [
        List("list_notes", "list_notes", same, lambda _, data: _is_page(data, paths), after_changes=True),
        List(
            "list_notes of a folder",
            "list_notes",
            [{"folder": MOVED_FOLDER}] * _CALLS,
            lambda _, data: _is_page(data, below),
        ),
        List(
            "find_notes, the latest",
            "find_notes",
            [{"sort": "modified"}] * _CALLS,
            lambda _, data: data["total"] == len(paths) and _paths(data) == recent[: len(_paths(data))],
        ),
        List(
            "tags",
            "vault_overview",
            [{"what": "tags"}] * _CALLS,
            lambda _, data: _are_tags(data, facts),
            after_changes=True,
        ),
        List(
            "properties",
            "vault_overview",
            [{"what": "properties"}] * _CALLS,
            lambda _, data: {each["name"]: each["notes"] for each in data["properties"]} == facts.properties,
            after_changes=True,
        ),
        List(
            "values of a property",
            "vault_overview",
            [{"what": "values", "name": "status"}] * _CALLS,
            lambda _, data: {each["value"]: each["notes"] for each in data["values"]} == facts.statuses,
        ),
        List("list_tasks", "list_tasks", same, lambda _, data: _are_tasks(data, facts), after_changes=True),
        List("find_notes, exact name", "find_notes", [{"name": name} for name in names], _is_first),
        List(
            "find_notes, mistyped name",
            "find_notes",
            [{"name": mistyped(name, chance), "limit": 50} for name in long_names],
            _has_corrected,
        ),
        List(
            "find_notes by property",
            "find_notes",
            [{"properties": [COMMON_PROPERTY, f"status={status}"]} for status in ("draft", "active", "done")] * 10,
            lambda arguments, data: (
                data["total"] == facts.common_statuses[arguments["properties"][1].partition("=")[2]]
            ),
        ),
        List(
            "search_by_tags",
            "search_by_tags",
            by_tag,
            lambda arguments, data: _has_tag(data, facts.tagged.get(arguments["tags"][0].lower(), set())),
        ),
        List(
            "the vault in numbers",
            "vault_overview",
            same,
            lambda _, data: _are_stats(data["stats"], facts, corpus),
            after_changes=True,
        ),
        List(
            "graph orphans",
            "list_links",
            [{"what": "orphans"}] * _CALLS,
            lambda _, data: _is_page(data, facts.orphans, "files"),
            after_changes=True,
        ),
        List(
            "graph hubs",
            "list_links",
            [{"what": "hubs"}] * _CALLS,
            lambda _, data: _is_page(data, [path for _, path in hubs], "files"),
            after_changes=True,
        ),
        List(
            "graph dead ends",
            "list_links",
            [{"what": "dead_ends"}] * _CALLS,
            lambda _, data: _is_page(data, facts.dead_ends, "files"),
            after_changes=True,
        ),
    ]


def _failing(corpus: Corpus) -> list[List]:
    """Return calls of each kind that must fail. What is asked for differs from call to call: nothing is remembered."""
    chance = random.Random(_SEED)  # noqa: S311 - every run must have the same calls
    notes = chance.sample(corpus.notes, _CALLS)
    none = [f"Xq nowhere {number}" for number in range(_CALLS)]
    longest = [max(note.name.split(), key=len) for note in notes]
    typed = [
        mistyped(note.name, chance) for note, word in zip(notes, longest, strict=True) if len(word) >= _LEAST_LETTERS
    ]
    calls: list[tuple[str, str, list[Arguments], str]] = [
        ("a note that is not there", "read_note", [{"path": name} for name in none], "FILE_NOT_FOUND"),
        ("a mistyped name", "read_note", [{"path": name} for name in typed], "FILE_NOT_FOUND"),
        ("an attachment", "read_note", [{"path": f"{name}.png"} for name in none], "FILE_NOT_FOUND"),
        ("links of a note", "list_links", [{"path": name} for name in none], "FILE_NOT_FOUND"),
        ("a change of a note", "set_properties", [{"path": name, "set": {"a": 1}} for name in none], "FILE_NOT_FOUND"),
        ("a heading", "read_note", [{"path": note.path, "section": none[0]} for note in notes], "SECTION_NOT_FOUND"),
        ("a block", "read_note", [{"path": note.path, "section": "^none"} for note in notes], "SECTION_NOT_FOUND"),
        ("a folder", "find_notes", [{"folder": name} for name in none], "FILE_NOT_FOUND"),
        ("a change", "undo_changes", [{"ids": [number + 900_000]} for number in range(_CALLS)], "FILE_NOT_FOUND"),
        ("a query", "search_notes", [{"query": f"[{name}"} for name in none], "never closed"),
    ]
    return [List(FAILS + what, tool, asked, lambda *_: True, error=error) for what, tool, asked, error in calls]


def mistyped(name: str, chance: random.Random) -> str:
    """Return a name with a letter left out of its longest word."""
    word = max(name.split(), key=len)
    place = chance.randrange(1, len(word) - 1)
    return name.replace(word, word[:place] + word[place + 1 :], 1)


def _paths(data: dict[str, Any], key: str = "notes") -> list[str]:
    return [each["path"] for each in data[key]]


def _is_page(data: dict[str, Any], expected: list[str], key: str = "notes") -> bool:
    return data["total"] == len(expected) and _paths(data, key) == expected[:_PAGE]


def _are_tags(data: dict[str, Any], facts: Facts) -> bool:
    counts = {composed(each["tag"]).lower(): each["notes"] for each in data["tags"]}
    return data["total"] == len(facts.tags) and all(facts.tags[tag] == notes for tag, notes in counts.items())


def _are_tasks(data: dict[str, Any], facts: Facts) -> bool:
    shown = [(each["path"], each["line"], composed(each["text"])) for each in data["tasks"]]
    return data["total"] == len(facts.open_tasks) and shown == facts.open_tasks[: len(shown)]


def _is_first(arguments: Arguments, data: dict[str, Any]) -> bool:
    return bool(data["notes"]) and data["notes"][0]["name"] == arguments["name"]


def _has_corrected(arguments: Arguments, data: dict[str, Any]) -> bool:
    """Tell whether a note is found whose name has the same number and words with one letter more at most."""
    number = arguments["name"].split()[-1]
    return any(name.split()[-1] == number for name in (each["name"] for each in data["notes"]))


def _has_tag(data: dict[str, Any], expected: set[str]) -> bool:
    return data["total"] == len(expected) and set(_paths(data)) <= expected


def _are_stats(data: dict[str, Any], facts: Facts, corpus: Corpus) -> bool:
    expected = {
        "notes": len(corpus.paths),
        "note_bytes": corpus.bytes,
        "links": facts.links,
        "tags": len(facts.tags),
        "properties": len(facts.properties),
        "tasks_open": len(facts.open_tasks),
        "tasks_done": facts.tasks_done,
    }
    return all(data[name] == value for name, value in expected.items())
