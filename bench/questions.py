"""How well searches answer questions: does the search for a note's description find the note, without that property?

It works on any vault whose notes have a property ``description``. The descriptions are taken out of a copy of the notes, and
each is asked as it is written. What counts is the place of its note among the results.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.report import environment, write_result

from vaultwire.app.engine import open_vault
from vaultwire.config import make_config
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, remove_properties
from vaultwire.tools.search import search_notes
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

PROPERTY = "description"
_LEAST_R5 = 0.93
_FIRST = 5
_PAGE = 10
_MOST_CHARACTERS = 1000  # of a query
# What has a meaning in a query, and none in a sentence.
_SYNTAX = re.compile(r"[()\[\]\"/\\]|(?<!\S)-")


class Answered(NamedTuple):
    """A question, its note, and the note's place among the results, from 1; None if it is not on the first page."""

    path: str
    question: str
    place: int | None
    seconds: float
    characters: int


class Score(NamedTuple):
    """The shares of questions whose note is the first result, and among the first five; the mean reciprocal rank."""

    first: float
    among_five: float
    reciprocal: float


def copy_notes(vault: Path, target: Path) -> dict[str, str]:
    """Copy the notes of a vault without their descriptions; return the questions by the paths of their notes."""
    questions: dict[str, str] = {}
    for note in sorted(vault.rglob("*.md")):
        path = note.relative_to(vault).as_posix()
        if any(part.startswith(".") for part in path.split("/")):
            continue
        text = note.read_text(encoding="utf-8", errors="replace")
        description = parse_frontmatter(text).values.get(PROPERTY)
        if isinstance(description, str) and description.strip():
            try:
                text = remove_properties(text, [PROPERTY])
            except PropertyEditError:
                continue  # it cannot be taken out, and so it would be found
            questions[path] = plain(description)
        copy = target / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")
    return questions


def plain(question: str) -> str:
    """Return a question without what has a meaning in a query only."""
    return " ".join(_SYNTAX.sub(" ", question).split())[:_MOST_CHARACTERS]


def ask(vault: Vault, questions: dict[str, str]) -> list[Answered]:
    """Ask each question as a client would."""
    answered: list[Answered] = []
    for path, question in questions.items():
        started = time.perf_counter()
        outcome = search_notes(vault, NO_PROGRESS, question, limit=_PAGE, max_tokens=100_000)
        seconds = time.perf_counter() - started
        found = [*outcome.data["notes"], *outcome.data.get("partial_matches", [])]
        paths = [note["path"] for note in sorted(found, key=lambda note: -note["score"])]
        place = paths.index(path) + 1 if path in paths else None
        answered.append(Answered(path, question, place, seconds, sum(map(len, outcome.texts))))
    return answered


def score(answered: list[Answered]) -> Score:
    """Return how well the questions were answered."""
    return score_of([each.place for each in answered])


def score_of(places: list[int | None]) -> Score:
    """Return how well questions were answered whose notes have these places among the results."""
    count = len(places)
    return Score(
        sum(place == 1 for place in places) / count,
        sum(place is not None and place <= _FIRST for place in places) / count,
        sum(1 / place for place in places if place) / count,
    )


def run(vault: Path, path: Path) -> list[str]:
    """Measure a vault, print the result, write JSON; return the missed target."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        own = Path(folder)
        os.environ.update(VAULTWIRE_CACHE=str(own / "cache"), VAULTWIRE_STATE=str(own / "state"))
        questions = copy_notes(vault, own / "vault")
        if not questions:
            return [f"no note of {vault} has a property {PROPERTY}"]
        opened = open_vault(make_config(str(own / "vault")))
        opened.search("a", "", 0, 1)  # builds the index
        answered = ask(opened, questions)
        opened.close()
    result = score(answered)
    places = {each.question: each.place for each in answered}
    print(f"{len(answered)} questions to {vault}")
    print(f"R@1 {result.first:.3f}  R@5 {result.among_five:.3f}  MRR {result.reciprocal:.3f}")
    tokens = statistics.median(each.characters for each in answered) / 4
    print(f"ms, median {statistics.median(each.seconds for each in answered) * 1e3:.1f}; tokens, median {tokens:.0f}")
    for each in answered:
        if each.place is None or each.place > _FIRST:
            print(f"  place {each.place or '-'}: {each.path}: {each.question[:90]}")
    write_result(path, {"environment": environment(), "questions": {**result._asdict(), "places": places}})
    return [] if result.among_five >= _LEAST_R5 else [f"R@5 {result.among_five:.3f}, not {_LEAST_R5}"]
