"""How well questions with known answers are answered, beside plain BM25 over whole notes.

Three vaults of the project: the sample of ``vaultwire demo``, the pages in ``docs``, and a household's notes in German. Half of
the questions are kept aside: ranking is never changed for one of them.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import tomllib
from collections import Counter
from math import log
from pathlib import Path
from typing import NamedTuple

from bench.report import environment, write_result

from vaultwire.app.engine import open_vault
from vaultwire.cli.demo import write_sample
from vaultwire.config import make_config
from vaultwire.tools.search import search_notes
from vaultwire.vault.search.questions import LANGUAGES, bare, words_of
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

SETS = Path(__file__).parent / "question_sets"
_DOCS = Path(__file__).parents[1] / "docs"
_AMONG = (1, 3, 10)
_MOST_TOKENS = 500


class Asked(NamedTuple):
    """A question, with the place of its first answer among our results and among those of BM25, 0 if it is not there."""

    vault: str
    question: str
    ours: int
    bm25: int
    tokens: float


class Bm25:
    """BM25 over names and texts of whole notes, without the little words of the languages that we know."""

    def __init__(self, notes: dict[str, str]) -> None:
        self._notes = {path: Counter(self._words(f"{Path(path).stem} {text}")) for path, text in notes.items()}
        self._lengths = {path: sum(counts.values()) for path, counts in self._notes.items()}
        self._usual = statistics.mean(self._lengths.values())
        self._having = Counter(word for counts in self._notes.values() for word in counts)

    @staticmethod
    def _words(text: str) -> list[str]:
        little = frozenset[str]().union(*(words_of(language).little for language in LANGUAGES[:2]))
        return [word for word in re.findall(r"\w+", bare(text)) if word not in little]

    def best(self, question: str) -> list[str]:
        """Return the paths of the best ten notes."""
        scores = {path: sum(self._score(path, word) for word in self._words(question)) for path in self._notes}
        return sorted((path for path in scores if scores[path]), key=lambda path: (-scores[path], path))[:10]

    def _score(self, path: str, word: str) -> float:
        count, having = self._notes[path][word], self._having[word]
        rare = log(1 + (len(self._notes) - having + 0.5) / (having + 0.5))
        return rare * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self._lengths[path] / self._usual))


def write_notes(text: str, target: Path) -> None:
    """Write notes from one text in which each begins with a line ``=== PATH``."""
    for note in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        path, _, body = note.partition("\n")
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(body, encoding="utf-8")


def write_vaults(target: Path) -> dict[str, Path]:
    """Write the three vaults; return their folders."""
    folders = {name: target / name for name in ("demo", "docs", "haushalt")}
    folders["demo"].mkdir(parents=True)
    write_sample(str(folders["demo"]))
    folders["docs"].mkdir()
    for page in _DOCS.glob("*.md"):
        (folders["docs"] / page.name).write_bytes(page.read_bytes())
    write_notes((SETS / "haushalt.notes").read_text(encoding="utf-8"), folders["haushalt"])
    return folders


def first_place(results: list[str], answers: list[str]) -> int:
    """Return the place of the first answer among the results, from 1; 0 if none is there."""
    return next((place for place, path in enumerate(results, 1) if path in answers), 0)


def results_of(data: dict[str, object], text: str) -> list[str]:
    """Return the paths of an answer in the order in which a model reads them."""
    paths = {note["path"] for key in ("notes", "partial_matches") for note in data.get(key, [])}  # type: ignore[attr-defined]
    lines = [line.split(" (", 1)[0] for line in text.split("\n")]
    return [line for line in lines if line in paths]


def ask(vault: Vault, root: Path, name: str, questions: dict[str, list[str]]) -> list[Asked]:
    """Ask each question as a client would, and BM25."""
    rival = Bm25({note.relative_to(root).as_posix(): note.read_text(encoding="utf-8") for note in root.rglob("*.md")})
    asked: list[Asked] = []
    for question, answers in questions.items():
        outcome = search_notes(vault, NO_PROGRESS, question)
        text = "\n".join(outcome.texts)
        ours = first_place(results_of(dict(outcome.data), text), answers)
        tokens = len(text.encode()) / 4
        asked.append(Asked(name, question, ours, first_place(rival.best(question), answers), tokens))
    return asked


def share(places: list[int], among: int) -> float:
    """Return the share of the places that are among the first."""
    return sum(0 < place <= among for place in places) / len(places)


def run(path: Path) -> list[str]:
    """Ask all questions, print the result, write JSON; return the missed targets."""
    sets = tomllib.loads((SETS / "questions.toml").read_text(encoding="utf-8"))
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        own = Path(folder)
        os.environ.update(VAULTWIRE_CACHE=str(own / "cache"), VAULTWIRE_STATE=str(own / "state"))
        for name, root in write_vaults(own / "vaults").items():
            vault = open_vault(make_config(str(root)))
            for kind in (name, f"{name}_aside"):
                asked += ask(vault, root, kind, sets[kind])
            vault.close()
    result: dict[str, dict[str, float]] = {}
    missed: list[str] = []
    asides = [each for each in asked if each.vault.endswith("_aside")]
    for title, some in (("all", asked), ("kept aside", asides)):
        ours, bm25 = [each.ours for each in some], [each.bm25 for each in some]
        print(f"{len(some)} questions ({title})")
        for among in _AMONG:
            figures = {"ours": share(ours, among), "bm25": share(bm25, among)}
            result[f"{title} R@{among}"] = figures
            print(f"  R@{among}: {figures['ours']:.3f}, BM25 {figures['bm25']:.3f}")
            if title == "all" and figures["ours"] <= figures["bm25"]:
                missed.append(f"R@{among} {figures['ours']:.3f}, BM25 {figures['bm25']:.3f}")
    tokens = statistics.median(each.tokens for each in asked)
    print(f"tokens, median {tokens:.0f}")
    for each in asked:
        if each.ours != 1 and not each.vault.endswith("_aside"):
            print(f"  place {each.ours or '-'} (BM25 {each.bm25 or '-'}): {each.vault}: {each.question}")
    write_result(path, {"environment": environment(), "questions": result, "tokens": tokens})
    return [*missed, *([f"{tokens:.0f} tokens, not {_MOST_TOKENS}"] if tokens > _MOST_TOKENS else [])]
