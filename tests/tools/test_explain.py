"""Why a note is where it is: the parts that are told add up to the score, and their order is the order of the results."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bench.random_queries import QueryMaker

from support.calls import attempt, call, refusal
from support.random_notes import NoteMaker
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.registry import Failure
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, TIMEOUT
from vaultwire.vault.search.note_parts import searchable_text
from vaultwire.vault.vault import Vault

FILLER = "".join(f"=== Log/{number}.md\nnothing of note on this day, in the garden {number}\n" for number in range(14))
VAULT = f"""
=== Tomatoes.md
---
aliases: [Love apples]
---
# Growing tomatoes
Tomatoes need warmth. See the café.
=== Soup.md
A soup of tomatoes and a tomato, at the cafe. #tomato
=== Garden.md
Where tomatoland is: two red tomatoes in the garden.
=== Archive/Old.md
tomato of old
=== Secret/Plan.md
tomato plan
=== .obsidian/app.json
{{"userIgnoreFilters": ["Archive/"]}}
{FILLER}"""


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return open_vault(write_vault(tmp_path_factory.mktemp("vault"), VAULT))


def explained(vault: Vault, query: str, explain: str = "hits", **options: Any) -> dict[str, Any]:
    return dict(call(vault, "search_notes", query=query, explain=explain, **options).data["explained"])


def check_sums(notes: list[dict[str, Any]]) -> None:
    """Check that the parts of each score add up to it, and that the scores are in order."""
    for note in notes:
        total = sum(part["score"] for part in note["parts"])
        assert total == pytest.approx(note["score"], rel=1e-3, abs=0.02), note
    scores = [note["score"] for note in notes]
    assert all(first >= second - 1e-3 for first, second in pairwise(scores)), scores


@pytest.mark.parametrize(
    "query",
    [
        *("tomato", "tomatoes garden", "toma", "omat", "to", "love", "café", "cafe", "café tomato", '"red tomatoes"'),
        *(
            "tomato -red",
            "red OR café",
            "tag:#tomato",
            "tag:#tomato soup",
            "file:soup",
            "path:log garden",
            "/tomat\\w+/",
        ),
        *("line:(soup tomato)", "section:(tomatoes warmth)", "match-case:Tomatoes", '"red tomatoes" OR cafe'),
        *("Where do tomatoes need warmth?", "What did I write about the garden and tomatoes?"),
        "soup warmth red garden tomatoes",  # no note has all
    ],
)
def test_the_order_follows_from_the_parts(vault: Vault, query: str) -> None:
    outcome = call(vault, "search_notes", query=query, explain="hits", limit=30)
    why = outcome.data["explained"]["notes"]
    assert why
    shown = [*outcome.data["notes"], *outcome.data.get("partial_matches", ())]
    assert {note["path"] for note in why} == {note["path"] for note in shown}
    assert [note["place"] for note in why] == [*range(1, len(why) + 1)]
    assert all(note["parts"] for note in why)
    if not outcome.data.get("partial_matches"):  # they rank in two classes
        check_sums(why)
        recomputed = sorted(why, key=lambda note: -sum(part["score"] for part in note["parts"]))
        assert [round(note["score"], 1) for note in recomputed] == [round(note["score"], 1) for note in why]
        scores = {note["path"]: note["score"] for note in shown}
        assert all(scores[note["path"]] == pytest.approx(note["score"], abs=0.51) for note in why)


def test_what_a_word_gives_is_told_by_field(vault: Vault) -> None:
    first = explained(vault, "tomatoes")["notes"][0]
    assert first["path"] == "Tomatoes.md"
    by_place = {(part["what"], part["where"]): part for part in first["parts"]}
    assert by_place[("tomatoes", "name")]["score"] > by_place[("tomatoes", "heading")]["score"]
    assert by_place[("tomatoes", "text")]["times"] == 2
    assert by_place[("tomatoes", "text")]["rarity"] > 0


def test_only_without_diacritics_is_a_reason(vault: Vault) -> None:
    notes = {note["path"]: note for note in explained(vault, "café")["notes"]}
    assert "only without the typed diacritics" in [part["where"] for part in notes["Soup.md"]["parts"]]
    assert notes["Soup.md"]["score"] < 10


def test_a_question_says_what_it_leaves_out(vault: Vault) -> None:
    outcome = call(vault, "search_notes", query="What do I know about tomatoes?", explain="hits")
    assert {"What", "do", "I", "about"} <= {*outcome.data["explained"]["left_out"]}
    assert "left out: What" in outcome.texts[0]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("tomatoes warmth", "it has no warmth"),
        ('file:soup "red soup"', 'it has no "red soup"'),
        ("tomatoes -cafe", "it has what -cafe leaves out"),
        ("tag:#other tomatoes", "it has no tag:other"),
        ("[status:done] tomatoes", "it has no [status:done]"),
        ("red OR warmth", "it has no (red OR warmth)"),
        ("line:(soup warmth)", "it has no line:(soup warmth)"),
        ("/zebra/", "it has no /zebra/"),
        ("Where do the zebras live?", "it has no (zebras OR zebra)"),
    ],
)
def test_a_note_that_is_not_found_is_told_why(vault: Vault, query: str, reason: str) -> None:
    note = explained(vault, query, "Soup.md")["note"]
    assert (note["path"], note["place"]) == ("Soup.md", 0)
    assert any(reason in each for each in note["reasons"]), note["reasons"]


def test_a_note_without_all_words_says_which_it_lacks(vault: Vault) -> None:
    note = explained(vault, 'tomatoes "red soup"', "Soup.md")["note"]
    assert note["place"] > 0
    assert note["reasons"] == ["it lacks red soup"]
    assert note["parts"][-1]["where"] == "words that it lacks"


def test_a_note_outside_the_folder_or_excluded_is_told_why(vault: Vault) -> None:
    assert explained(vault, "tomato", "Soup.md", folder="Log")["note"]["reasons"] == ["it is not in the folder 'Log'"]
    assert explained(vault, "tomato", "Archive/Old.md")["note"]["reasons"] == [
        "the vault's settings exclude it from searches"
    ]


def test_a_note_behind_the_first_is_told_its_place_and_what_is_before_it(vault: Vault) -> None:
    found = explained(vault, "garden", "Log/13.md", limit=3)
    note = found["note"]
    paths = [each["path"] for each in explained(vault, "garden", limit=30)["notes"]]
    assert note["place"] == paths.index("Log/13.md") + 1 > 3
    check_sums([found["notes"][-1], note])
    assert note["reasons"] == [f"number 3, {paths[2]}, has {found['notes'][2]['score']:.2f}"]


def test_hidden_notes_are_unknown_and_change_no_explanation(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", VAULT)
    hidden = open_vault(root, rules=PathRules(deny=(Rule("deny", "Secret/", 1),)))
    assert refusal(hidden, "search_notes", query="tomato", explain="Secret/Plan.md")[0] == FILE_NOT_FOUND
    told = explained(hidden, "tomato", "Log/1.md")
    (root / "Secret" / "Plan.md").unlink()
    without = open_vault(root)
    assert explained(without, "tomato", "Log/1.md") == told


def test_random_searches_are_explained_by_sums(tmp_path: Path) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    paths = NoteMaker(chance).write(tmp_path, 100)
    vault = open_vault(tmp_path)
    queries = QueryMaker(chance, [(path, searchable_text(path, (tmp_path / path).read_bytes())) for path in paths])
    checked = 0
    for make in [*queries.kinds.values()] * 6:
        query = make()
        outcome = attempt(vault, "search_notes", query=query, explain="hits", limit=20)
        if isinstance(outcome, Failure):  # no query, or a regular expression that takes too long
            assert outcome.code in (INVALID_ARGUMENTS, TIMEOUT), outcome
            continue
        if outcome.data.get("partial_matches"):
            continue
        check_sums(outcome.data["explained"]["notes"])
        checked += len(outcome.data["explained"]["notes"])
    assert checked
