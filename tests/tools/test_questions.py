"""Questions in plain words: which notes answer them, in which order, and what is said; other queries stay as they are."""

from __future__ import annotations

import os
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bench.known_answers import SETS, Bm25, first_place, results_of, write_vaults

from support.random_notes import NoteMaker
from support.vaults import open_vault, write_vault
from vaultwire.tools.search import search_notes
from vaultwire.vault.search.query import Word, occurrences, parse_query
from vaultwire.vault.search.questions import LANGUAGES, question_in
from vaultwire.vault.search.terms import UNACCENTED, TextForms
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

NOTES = """
=== People/Lima.md
---
aliases: [Ana, Ana Lima]
---
Neighbour, lends the tools and grows basil.
=== Log/Organ.md
Who is to manage the organ? What is the plan, and when do we banana?
=== Log/Walk.md
Met Ana at the station. She has a dog.
=== Garden/Tomatoes.md
They go to the south wall.
=== Garden/Beds.md
What did I write? What did I write about this and that, and about it again?
Tomatoes beside basil.
=== Garden/Tomatoe soup.md
Mint and cream.
=== Sheds/Near.md
The blue door of the shed squeaks.
=== Sheds/Far.md
The door is open. It was warm.

Much later in the day we looked at other things and had tea and cake.

A blue sky.
=== Trips/Station.md
---
tags: [railway]
---
Timetables, and the railway to the coast.
=== Trips/Trams.md
The railway was once here. The trams are gone, too.
"""


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return open_vault(write_vault(tmp_path_factory.mktemp("vault"), NOTES))


def ask(vault: Vault, query: str, **options: Any) -> tuple[list[str], str, dict[str, Any]]:
    """Return the paths in their order, the text, and the data of an answer."""
    outcome = search_notes(vault, NO_PROGRESS, query, **options)
    text = "\n".join(outcome.texts)
    return results_of(dict(outcome.data), text), text, dict(outcome.data)


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("What did I write about tomatoes?", ["Garden/Tomatoes.md", "Garden/Beds.md", "Garden/Tomatoe soup.md"]),
        ("Who is Ana?", ["People/Lima.md", "Log/Walk.md"]),  # an alias, and never "banana" or "manage"
        ("Where is the blue door?", ["Sheds/Near.md", "Sheds/Far.md"]),
        ("what is about the railway", ["Trips/Station.md", "Trips/Trams.md"]),
        ("which trams are gone? path:Trips", ["Trips/Trams.md"]),
        ("Where is the blue door? -squeaks", ["Sheds/Far.md"]),
    ],
)
def test_the_notes_that_say_most_come_first(vault: Vault, query: str, paths: list[str]) -> None:
    assert ask(vault, query)[0] == paths


def test_the_limit_never_changes_who_is_first(vault: Vault) -> None:
    for query in (
        "What did I write about tomatoes?",
        "Who has the basil and the tools?",
        "is the door of the shed blue?",
    ):
        paths = ask(vault, query, limit=100)[0]
        assert paths
        assert [ask(vault, query, limit=limit)[0] for limit in (1, 2, 3)] == [paths[:1], paths[:2], paths[:3]]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_little_words_never_count(vault: Vault, language: Any) -> None:
    chance = random.Random(f"{os.environ['VAULTWIRE_SEED']} {language.name}")
    little = [word for word in [*language.little.split(), *language.asking.split()] if len(word) > 1]
    expected = ask(vault, "Who is by the shed with Ana?")[0]
    assert expected
    for _ in range(5):
        words = [*chance.sample(little, 6), "shed", "Ana"]
        chance.shuffle(words)
        paths, _, data = ask(vault, f"{' '.join(words)}?")
        assert paths == expected, words
        assert "absent_words" not in data


def test_a_question_in_another_language_is_said_so(vault: Vault) -> None:
    paths, text, data = ask(vault, "Wo steht etwas über Versicherungen und Heizung?")
    assert paths == []
    assert data["hints"] == ["the question is in German, the notes are in English: ask in the language of the notes"]
    assert "In no note: Versicherungen, Heizung" in text
    assert ask(vault, "Wer ist Ana?")[0] == ["People/Lima.md", "Log/Walk.md"]  # a name is the same


def test_the_first_notes_have_three_lines_and_the_others_one(tmp_path: Path) -> None:
    body = "\n\n".join(f"Line {number} about the garden, and more." for number in range(6))
    notes = "".join(f"=== {name}.md\n{body}\n" for name in "abcdefghijkl")
    vault = open_vault(write_vault(tmp_path, notes + "=== other.md\nnothing\n=== some.md\nof this\n"))
    paths, text, data = ask(vault, "What is it about the garden?")
    assert paths == [f"{name}.md" for name in "abcdefghij"]
    assert [len(note["matches"]) for note in data["notes"]] == [3, 3, 3, *[1] * 7]
    assert data["hints"] == ["search 'garden' for all 12 notes with these words"]
    assert data["total"] == 12
    assert len(text) < 4 * 500


def test_the_number_of_notes_with_all_words_is_that_of_those_shown(tmp_path: Path) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    root = tmp_path / "vault"
    NoteMaker(chance).write(root, 50)
    notes = [note.read_text(encoding="utf-8", errors="replace") for note in sorted(root.rglob("*.md"))]
    words = sorted({word for text in notes for word in text.split() if word.isalpha() and len(word) > 1})
    vault = open_vault(root)
    for _ in range(40):
        query = f"What is the {' '.join(chance.sample(words, chance.randint(1, 2)))}?"
        if question_in(parse_query(query)) is None:  # of little words alone
            continue
        _, _, data = ask(vault, query, limit=100, exact_total=True)
        partial = [note["path"] for note in data.get("partial_matches", []) if "missing" not in note]
        assert not partial, query
        assert len(data["notes"]) <= data["total"], query


@pytest.mark.parametrize(
    "query",
    [
        "garden tomatoes",
        "the door of",
        "blue?",
        "tomatoes OR basil",
        '"who is"',
        "what",
        "line:(who is it)",
        "to do list",
    ],
)
def test_other_queries_mean_what_they_mean_in_obsidian(vault: Vault, query: str) -> None:
    assert vault.ask(query, "", 10) is None


@pytest.mark.parametrize(
    ("asked", "text", "likeness"),
    [
        ("ana", "banana ana's Ana anas", [1.0, 1.0, 0.8]),
        ("tomatoes", "tomatoes tomato Tomatoe tomatoessalad cherrytomatoes tomatillo", [1.0, 0.8, 0.8, 0.5, 0.3, 0.15]),
        ("straße", "Strasse Landstraße", [1.0, 0.3]),
        ("庭の", "この庭の本", [1.0]),
    ],
)
def test_whole_words_count_most_and_parts_only_of_long_ones(asked: str, text: str, likeness: list[float]) -> None:
    bare = TextForms(asked).get(UNACCENTED)
    found = occurrences(Word(asked, bare), TextForms(text).get(UNACCENTED))
    assert sorted((value for _, value, _ in found), reverse=True) == likeness


def test_the_bench_has_sixty_questions_and_their_notes(tmp_path: Path) -> None:
    roots = write_vaults(tmp_path)
    sets = tomllib.loads((SETS / "questions.toml").read_text(encoding="utf-8"))
    assert sum(map(len, sets.values())) == 60
    for name, questions in sets.items():
        root = roots[name.removesuffix("_aside")]
        assert all((root / path).is_file() for answers in questions.values() for path in answers)
    rival = Bm25({"a.md": "red apple", "b.md": "red pear and red plum", "c.md": "green"})
    assert rival.best("Which is red, and a pear?") == ["b.md", "a.md"]
    assert first_place(["b.md", "a.md"], ["a.md", "c.md"]) == 2
