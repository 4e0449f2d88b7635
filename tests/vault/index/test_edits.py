"""Whatever happens to a vault and to the program, the kept index says what a newly made one says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from support.memory_text import MemoryText
from support.stores import BACKENDS, QUERIES, Backend, answers, answers_of_new, difference, open_stored
from support.vaults import write_vault
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index import tokenizer
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS

MAX_BYTES = 3000

NAMES = [
    "a.md",
    "b.md",
    "Café.md",
    "日本.md",
    "sub/a.md",
    "sub/c d.md",
    "sub/deep/b.md",
    "other/a.md",
    "p.png",
    "sub/q.pdf",
]
FOLDERS = ["sub", "sub/deep", "other", "new"]
CONTENTS = [
    "",
    "red apple",
    "red apples\n#fruit/apple [[b]] ![[p.png]]",
    "---\ntags: [fruit, Café]\naliases: [pear tree]\ncolour: green\n---\n# Pear\n[[sub/a|x]] [[a]]\n- [ ] pick",
    "日本語のメモ #メモ [[日本]]",
    "crème brûlée, cafe\u0301 [m](other/a.md)",
    "x-y z_z\nred\napple",
    "---\nbroken: [\n---\n#late",
    "b\xff".encode("latin-1"),
    "long " * 700,
]


class _Life(RuleBasedStateMachine):
    """A vault that people and programs work on, and one index that is kept all the while, closed and opened again."""

    backend: Backend = MemoryText
    folder: Path  # of all examples of one test

    def __init__(self) -> None:
        super().__init__()
        place = self.folder / os.urandom(6).hex()
        self.root, self.cache = place / "vault", place / "cache"
        self.root.mkdir(parents=True)
        self._open()

    def _open(self) -> None:
        self.vault, self.index, _ = open_stored(self.root, self.cache, type(self).backend, MAX_BYTES)

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.root.parent)

    # What other programs do.

    @rule(name=st.sampled_from(NAMES), content=st.sampled_from(CONTENTS))
    def save(self, name: str, content: str | bytes) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    @rule(name=st.sampled_from(NAMES), content=st.sampled_from(CONTENTS))
    def save_by_replacing(self, name: str, content: str | bytes) -> None:
        self.save("temporary", content)
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / "temporary").replace(self.root / name)

    @rule(name=st.sampled_from(NAMES))
    def remove(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    @rule(old=st.sampled_from(NAMES), new=st.sampled_from(NAMES))
    def rename(self, old: str, new: str) -> None:
        if (self.root / old).exists():
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / old).replace(self.root / new)

    @rule(old=st.sampled_from(FOLDERS), new=st.sampled_from(FOLDERS))
    def rename_folder(self, old: str, new: str) -> None:
        if (self.root / old).is_dir() and not (self.root / new).exists() and not new.startswith(f"{old}/"):
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / old).rename(self.root / new)

    @rule(folder=st.sampled_from(FOLDERS))
    def remove_folder(self, folder: str) -> None:
        shutil.rmtree(self.root / folder, ignore_errors=True)

    @rule(count=st.sampled_from([3, 3, 220]), content=st.sampled_from(CONTENTS[1:3]))
    def bring_many(self, count: int, content: str) -> None:
        write_vault(self.root, "".join(f"=== many/{number}.md\n{content}{number % 3}\n" for number in range(count)))

    @rule()
    def remove_many(self) -> None:
        shutil.rmtree(self.root / "many", ignore_errors=True)

    @rule(rules=st.sampled_from(["", "sub/\n", "*.png\nother\n", "a.md\n"]))
    def exclude(self, rules: str) -> None:
        (self.root / ".vaultwireignore").write_text(rules)

    # What this program does.

    @rule(
        name=st.sampled_from(NAMES[:8]),
        content=st.sampled_from([content for content in CONTENTS if isinstance(content, str)]),
        mode=st.sampled_from(["create", "overwrite", "append", "prepend"]),
    )
    def write(self, name: str, content: str, mode: Any) -> None:
        try:
            self.vault.writing.write(name, content, mode)
        except VaultError:
            return

    @rule(name=st.sampled_from(NAMES[:8]), permanent=st.booleans())
    def delete(self, name: str, *, permanent: bool) -> None:
        try:
            self.vault.writing.delete(name, permanent=permanent)
        except VaultError:
            return

    @rule(query=st.sampled_from(QUERIES))
    def call(self, query: str) -> None:
        self.index.search(parse_query(query), None, 0, 5, NO_PROGRESS)

    @rule()
    def open_again(self) -> None:
        self.index.close()
        self._open()

    @rule()
    def compare(self) -> None:
        assert difference(answers(self.index), answers_of_new(self.root, max_bytes=MAX_BYTES)) == {}


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_whatever_happens_the_kept_index_says_what_a_new_one_says(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that a few notes have common n-grams, as thousands have; the new index has others.
    monkeypatch.setattr(tokenizer, "_MIN_WORDS", 1)
    monkeypatch.setattr(tokenizer, "_WORD_SHARE", 0.1)
    monkeypatch.setattr(tokenizer, "_NOTE_SHARE", 0.3)

    class Life(_Life):
        pass

    Life.backend, Life.folder = staticmethod(backend), tmp_path
    # An example is a dozen looks over a vault: 0.5 s.
    few = settings().max_examples // 50
    run_state_machine_as_test(Life, settings=settings(max_examples=few, stateful_step_count=12))
