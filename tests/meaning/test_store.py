"""The store of vectors: exact, whole after every kill, and never more than what can be made again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vaultwire.meaning.store import Embedded, Near, VectorStore, dot_products
from vaultwire.vault.value_types import NoteStat, VaultPath

SEED = int(os.environ["VAULTWIRE_SEED"])


def random_vectors(source: np.random.Generator, count: int, dimensions: int = 8) -> NDArray[np.float32]:
    rows = source.standard_normal((count, dimensions)).astype(np.float32)
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def stat(name: str, modified: int = 1) -> NoteStat:
    return NoteStat(VaultPath(f"{name}.md"), 10, modified, 3)


def by_hand(notes: dict[VaultPath, NDArray[np.float32]], vector: NDArray[np.float32]) -> list[Near]:
    """Compare every chunk with the vector, one after another, as the numbers are stored."""
    found = []
    for path, vectors in sorted(notes.items()):
        products = [float(np.dot(row.astype(np.float16).astype(np.float64), vector)) for row in vectors]
        found.append(Near(path, int(np.argmax(products)), max(products)))
    return sorted(found, key=lambda near: (-near.likeness, near.path))


def vectors_of(store: VectorStore, path: str) -> NDArray[np.float16] | None:
    """Return the rows of a note, None if it has none."""
    loaded = store._load()
    position = loaded.position_of.get(VaultPath(path))
    return None if position is None else loaded.rows[loaded.places[slice(*loaded.starts[position : position + 2])]]


@pytest.mark.parametrize("seed", range(5))
def test_random_changes_give_what_a_comparison_by_hand_gives(tmp_path: Path, seed: int) -> None:
    chance, source = random.Random(SEED + seed), np.random.default_rng(SEED + seed)
    store = VectorStore(str(tmp_path), "m")
    notes: dict[VaultPath, NDArray[np.float32]] = {}
    for step in range(60):
        if chance.random() < 0.3 and notes:
            gone = chance.sample(sorted(notes), min(3, len(notes)))
            store.remove([*gone, VaultPath("never there.md")])
            notes = {path: rows for path, rows in notes.items() if path not in gone}
        else:
            names = {f"note {chance.randrange(20)}" for _ in range(chance.randrange(1, 5))}
            put = [Embedded(stat(name, step), random_vectors(source, chance.randrange(1, 6))) for name in sorted(names)]
            store.put(put)
            notes |= {each.stat.path: each.vectors for each in put}
        if chance.random() < 0.2:
            store.close()
            store = VectorStore(str(tmp_path), "m")
        vector = random_vectors(source, 1)[0]
        found, expected = [*store.near(vector)], by_hand(notes, vector)
        assert [near.path for near in found] == [near.path for near in expected]
        assert [near.number for near in found] == [near.number for near in expected]
        assert np.allclose([near.likeness for near in found], [near.likeness for near in expected], atol=1e-6)
        assert set(store.stats()) == set(notes) == set(store.known())
    store.close()


def test_products_are_exact_for_every_float16() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    rows = every[np.isfinite(every)][:, None]
    assert np.array_equal(dot_products(rows, np.array([1.0], np.float32)), rows[:, 0].astype(np.float32))


def test_equally_near_notes_come_in_path_order(tmp_path: Path) -> None:
    store = VectorStore(str(tmp_path), "m")
    row = random_vectors(np.random.default_rng(1), 1)
    store.put([Embedded(stat(name), row) for name in ("b", "c", "a")])
    assert [near.path for near in store.near(row[0])] == ["a.md", "b.md", "c.md"]
    assert not [*store.near(np.zeros(8, np.float32))]
    assert not [*store.near(np.ones(9, np.float32))]


def test_nothing_is_left_of_a_removed_note(tmp_path: Path) -> None:
    store = VectorStore(str(tmp_path), "m")
    secret, kept = random_vectors(np.random.default_rng(2), 2)
    store.put([Embedded(stat("secret"), secret[None]), Embedded(stat("kept"), kept[None])])
    store.put([Embedded(stat("secret", 2), secret[None])])
    store.remove([VaultPath("secret.md")])
    (file,) = tmp_path.glob("vectors-*")
    assert secret.astype("<f2").tobytes() not in file.read_bytes()
    assert kept.astype("<f2").tobytes() in file.read_bytes()
    assert vectors_of(store, "secret.md") is None


def test_another_process_sees_what_is_stored_and_removed(tmp_path: Path) -> None:
    source = np.random.default_rng(3)
    writer, reader = VectorStore(str(tmp_path), "m"), VectorStore(str(tmp_path), "m")
    one, other = random_vectors(source, 2)
    writer.put([Embedded(stat("one"), one[None])])
    assert [near.path for near in reader.near(one)] == ["one.md"]
    writer.put([Embedded(stat("other"), other[None])])
    assert [near.path for near in reader.near(other)] == ["other.md", "one.md"]
    writer.remove([VaultPath("one.md")])
    assert [near.path for near in reader.near(one)] == ["other.md"]


def test_the_file_is_written_anew_when_most_rows_are_nobodys(tmp_path: Path) -> None:
    source = np.random.default_rng(4)
    store, reader = VectorStore(str(tmp_path), "m"), VectorStore(str(tmp_path), "m")
    kept = random_vectors(source, 3)
    store.put([Embedded(stat("kept"), kept)])
    sizes = []
    for step in range(12):
        store.put([Embedded(stat("long", step), random_vectors(source, 500))])
        assert next(iter(reader.near(kept[1])))[:2] == ("kept.md", 1)
        sizes.append(sum(file.stat().st_size for file in tmp_path.glob("vectors-*")))
    assert max(sizes) > sizes[-1]
    assert len([*tmp_path.glob("vectors-*")]) == 1


@pytest.mark.parametrize("how", ["model", "dimensions", "vectors gone", "vectors cut", "table gone", "table damaged"])
def test_what_does_not_fit_is_dropped_and_can_be_made_again(tmp_path: Path, how: str) -> None:
    source = np.random.default_rng(5)
    store = VectorStore(str(tmp_path), "m")
    store.put([Embedded(stat("a"), random_vectors(source, 2)), Embedded(stat("b"), random_vectors(source, 2))])
    if how == "dimensions":
        rows = random_vectors(source, 2, 5)
        store.put([Embedded(stat("a"), rows)])
        assert [near.path for near in store.near(rows[0])] == ["a.md"]
        return
    store.close()
    (vectors,) = tmp_path.glob("vectors-*")
    if how == "vectors gone":
        vectors.unlink()
    elif how == "vectors cut":
        vectors.write_bytes(vectors.read_bytes()[:-1])
    elif how == "table gone":
        for file in tmp_path.glob("table*"):
            file.unlink()
    elif how == "table damaged":
        (tmp_path / "table.sqlite3").write_bytes(b"no database at all" * 500)
    store = VectorStore(str(tmp_path), "another" if how == "model" else "m")
    assert store.stats() == {}
    rows = random_vectors(source, 2)
    store.put([Embedded(stat("c"), rows)])
    assert [near.path for near in store.near(rows[0])] == ["c.md"]
    store.close()


def test_vectors_deleted_while_it_is_open_are_made_again(tmp_path: Path) -> None:
    store = VectorStore(str(tmp_path), "m")
    rows = random_vectors(np.random.default_rng(6), 2)
    store.put([Embedded(stat("a"), rows)])
    (vectors,) = tmp_path.glob("vectors-*")
    vectors.unlink()
    assert store.stats() == {}
    store.put([Embedded(stat("a"), rows)])
    assert [near.path for near in store.near(rows[0])] == ["a.md"]


# Each note has rows that say which note and which version they are of.
WRITER = """
import sys
import numpy as np
from vaultwire.meaning.store import Embedded, VectorStore
from vaultwire.vault.value_types import NoteStat
store = VectorStore(sys.argv[1], "m")
for step in range(int(sys.argv[2]), 100_000):
    note, version = step % 7, step % 1000
    rows = np.tile(np.array([note, version, 1, 0], np.float32), (200 + note, 1))
    store.put([Embedded(NoteStat(f"{note}.md", 1, version, 1), rows)])
    if step % 5 == 4:
        store.remove([f"{(note + 3) % 7}.md"])
    print(step, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_process_killed_at_any_moment_leaves_whole_notes(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    step = 0
    for _ in range(12):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(step)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in islice(process.stdout, chance.randrange(1, 40)):
                step = int(line) + 1
            process.kill()
            for line in process.stdout:
                step = int(line) + 1
        store = VectorStore(str(tmp_path), "m")
        stats = store.stats()
        assert stats
        for path, each in stats.items():
            rows = vectors_of(store, path)
            assert rows is not None
            is_being_removed = not rows.any(axis=1).all()  # the zeros are written before the table forgets it
            right = np.tile(np.array([int(path[0]), each.modified_ns, 1, 0], np.float32), (200 + int(path[0]), 1))
            assert is_being_removed or np.array_equal(rows, right)
            if is_being_removed:
                assert len(rows) == len(right)
        assert len([*store.near(np.array([1, 1, 1, 0], np.float32))]) == len(stats)
        store.close()
