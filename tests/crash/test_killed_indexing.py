"""A program killed at any step of keeping the index leaves one that the next opens, and that answers as a new one does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.stores import BACKENDS, Backend, answers, answers_of_new, difference, open_stored

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")

# Indexes a vault, then applies changes, in a process that kills itself right before the n-th step that changes
# catalog or text index, for each n until it gets through: each time in a fresh copy, in a fresh child.
CHILD = r"""
import os, signal, sys
from pathlib import Path
from support import stores
from support.vaults import write_vault
from vaultwire.vault.index import updater
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.index.catalog import Catalog
from vaultwire.vault.index.index_folder import VocabularyStore

where, backend = sys.argv[1:]
(text,) = (one for one in stores.BACKENDS if one.__name__ == backend)
updater._BATCH = updater.MOST_READ = 2  # several batches of few notes
updater._ONE_COMMIT, updater._FIRST, updater._MERGED = 3, 1, 3  # and several commits
STEPS = [
    (Catalog, "_create create_sql_indexes store touch forget mark_indexed add_words set_meta"),
    (VocabularyStore, "store replace_all"),
    (text, "start_writing put remove commit stop_writing"),
]
VAULT = "".join(f"=== sub/{number}.md\nred apple {number} #n{number} [[{number + 1}]]\n" for number in range(4))

def counted(owner, name, steps):
    real = getattr(owner, name)
    def call(*args, **kwargs):
        if next(steps) == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    setattr(owner, name, call)

step = 0
while True:
    place = Path(where) / str(step)
    root = write_vault(place / "vault", VAULT)
    child = os.fork()
    if child == 0:
        steps = iter(range(step, -10**9, -1))
        for owner, names in STEPS:
            for name in names.split():
                if hasattr(owner, name):
                    counted(owner, name, steps)
        _, index, _ = stores.open_stored(root, place / "cache", text)
        index.search(parse_query("red"), None, 0, 9, NO_PROGRESS)
        (root / "sub/0.md").write_text("green pear #late [[2]]\n")
        (root / "sub/1.md").unlink()
        (root / "sub/2.md").rename(root / "moved.md")
        index.search(parse_query("red"), None, 0, 9, NO_PROGRESS)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(step, status)
    if not os.WIFSIGNALED(status):
        break
    step += 1
"""
QUERIES = ["red", "-red", "pear", "#late", "file:moved"]


@pytest.mark.parametrize("backend", BACKENDS[1:], ids=lambda backend: str(backend.__name__))
def test_a_killed_indexing_costs_no_answer(tmp_path: Path, backend: Backend) -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path, backend.__name__],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert run.returncode == 0, run.stderr
    results = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    assert results[-1][1] == 0, results
    assert {status for _, status in results[:-1]} == {signal.SIGKILL}, results
    assert len(results) > 25, "too few steps were seen: does the child still count the right calls?"
    for step, _ in results:
        root, cache = tmp_path / str(step) / "vault", tmp_path / str(step) / "cache"
        _, index, home = open_stored(root, cache, backend)
        assert difference(answers(index, QUERIES), answers_of_new(root, QUERIES)) == {}, step
        assert home.problem == ""
        index.close()
