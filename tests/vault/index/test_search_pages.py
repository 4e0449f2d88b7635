"""Pages of a search: all show the state of the first, whatever is written meanwhile, and only what a page needs is read."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from support.callers import StopsAfter
from support.refusals import refusal
from support.stores import BACKENDS, MAX_BYTES, Backend, open_stored
from vaultwire.vault.disk.files import FileBytes, Files
from vaultwire.vault.errors import CURSOR_EXPIRED, INVALID_ARGUMENTS, TIMEOUT, Stopped, VaultError
from vaultwire.vault.index import searching
from vaultwire.vault.index.index import Index
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault

WORDS = ["red", "Red", "apple", "Apple", "apples", "pear", "plum", "2024-05-01", "x-y", "Äpfel", "#fruit", "日本"]
LINES = ["{} {} {}", "# {} {}", "- [ ] {} {}", "{}-{}", "{}"]
QUERIES = [
    *["apple", "red OR pear", "-plum", '"red apple"', "ap", "tag:#fruit", "日本"],
    *["match-case:Apple", "/app.e|pear/", "/\\d{4}-\\d\\d/", "line:(red apple)", "block:(red -plum)", "x-y"],
    *[
        "section:(red apple)",
        "[colour:green]",
        "[size:>5]",
        "task-todo:red",
        "-/re.d/ apple",
        "äpfel OR match-case:Red",
    ],
]
LONG = "x" * 70_000  # no text index can have it


def note_text(chance: random.Random) -> str:
    front = f"---\ncolour: {chance.choice(['green', 'red'])}\nsize: {chance.randrange(9)}\n---\n"
    lines = [chance.choice(LINES).format(*chance.choices(WORDS, k=3)) for _ in range(chance.randrange(6))]
    return chance.choice([front, ""]) + "\n".join(lines)


def write_notes(root: Path, chance: random.Random, count: int) -> None:
    for number in range(count):
        path = root / f"{number % 7}" / f"{chance.choice(['red', 'note'])} {number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(note_text(chance), encoding="utf-8")


def texts_of(root: Path) -> dict[str, str]:
    """Return all notes."""
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.rglob("*.md")}


def matching(texts: dict[str, str], query: str) -> set[str]:
    """Return the notes that match, by looking into each."""
    matcher = Matcher(parse_query(query))
    return {path for path, text in texts.items() if matcher.match(path, text) is not None}


def pages_of(vault: Vault, query: str, limit: int) -> Iterator[tuple[list[str], int, bool]]:
    """Yield the paths on each page, the total, and whether it is exact."""
    offset, key = 0, ""
    while True:
        found = vault.search(query, "", offset, limit, key=key)
        yield [hit.path for hit in found.hits], found.total, found.total_is_exact
        if not found.has_more:
            return
        key = key or vault.keep_found(query, "", found)
        offset = found.ends[-1]


def change_something(root: Path, chance: random.Random, number: int) -> set[str]:
    """Write, rewrite, remove or rename a note; return the notes that are other ones now."""
    path = chance.choice(sorted(root.rglob("*.md")))
    name = path.relative_to(root).as_posix()
    what = chance.randrange(4)
    if what == 0:
        path.unlink()
    elif what == 1:
        path.rename(path.with_name(f"renamed {number}.md"))
    elif what == 2:
        path.write_text(note_text(chance), encoding="utf-8")
    else:
        (root / f"new {number}.md").write_text("red apple Apple pear 2024-05-01\nx-y #fruit", encoding="utf-8")
        return set()
    return {name}


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_pages_show_the_state_of_the_first_whatever_is_written_meanwhile(tmp_path: Path, backend: Backend) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    root = tmp_path / "vault"
    write_notes(root, chance, 150)
    for name in ("apple", "red"):
        (root / f"{name}.md").write_text(f"red apple match-case Apple 2024-05-01\n{LONG}", encoding="utf-8")
    vault, _, _ = open_stored(root, tmp_path / "cache", backend, 4 * MAX_BYTES)
    for turn, query in enumerate(QUERIES):
        expected = matching(texts_of(root), query)
        seen: list[str] = []
        changed: set[str] = set()
        for page, (paths, total, is_exact) in enumerate(pages_of(vault, query, 15)):
            if page == 0:
                assert total == len(expected) if is_exact else total <= len(expected)
            seen += paths
            for step in range(chance.randrange(4)):
                changed |= change_something(root, chance, turn * 10_000 + page * 100 + step)
        assert len(seen) == len(set(seen)), query
        # A note that has changed since may come to match, or no longer; no other comes, and no other is missing.
        assert set(seen) - expected <= changed, query
        assert expected - set(seen) <= changed, query


def test_callers_at_the_same_time_get_the_same_pages(tmp_path: Path) -> None:
    write_notes(tmp_path, random.Random(os.environ["VAULTWIRE_SEED"]), 150)
    vault, _, _ = open_stored(tmp_path, None)
    for query in ("match-case:Apple", "apple"):
        with ThreadPoolExecutor(4) as pool:
            walks = list(
                pool.map(lambda _, query=query: [paths for paths, _, _ in pages_of(vault, query, 7)], range(8))
            )
        assert all(walk == walks[0] for walk in walks)
        assert {path for page in walks[0] for path in page} == matching(texts_of(tmp_path), query)


def test_a_note_that_was_rewritten_is_shown_as_it_is_now(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.md").write_text("apple")
    vault, _, _ = open_stored(tmp_path, None)
    first = vault.search("apple", "", 0, 1)
    key = vault.keep_found("apple", "", first)
    (tmp_path / "b.md").write_text("pear\napple pie")
    (tmp_path / "c.md").write_text("nothing")
    (tmp_path / "d.md").unlink()
    second = vault.search("apple", "", first.ends[-1], 9, key=key)
    assert [(hit.path, hit.matches, [line.text for line in hit.lines]) for hit in second.hits] == [
        ("b.md", 1, ["apple pie"]),
        ("c.md", 0, []),
    ]
    assert not second.has_more


def test_no_note_gets_the_place_of_a_removed_one(tmp_path: Path) -> None:
    """SQLite gives the last id again, and pages name notes by ids."""
    for name in "abc":
        (tmp_path / f"{name}.md").write_text("apple")
    vault, _, _ = open_stored(tmp_path, None)
    first = vault.search("apple", "", 0, 1)
    key = vault.keep_found("apple", "", first)
    for path in (tmp_path / "b.md", tmp_path / "c.md"):
        path.unlink()
    assert vault.search("apple", "", 0, 9).total == 1
    (tmp_path / "y.md").write_text("apple")
    (tmp_path / "z.md").write_text("apple")
    assert vault.search("apple", "", 0, 9).total == 3
    assert vault.search("apple", "", first.ends[-1], 9, key=key).hits == []


def test_a_note_that_is_excluded_now_is_not_shown(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.md").write_text("apple")
    vault, _, _ = open_stored(tmp_path, None)
    first = vault.search("apple", "", 0, 1)
    key = vault.keep_found("apple", "", first)
    (tmp_path / ".vaultwireignore").write_text("b.md\n")
    assert [hit.path for hit in vault.search("apple", "", first.ends[-1], 9, key=key).hits] == ["c.md"]


def test_a_cursor_ends_with_the_index_that_it_is_of(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.md").write_text("apple")
    vault, index, _ = open_stored(tmp_path, tmp_path / "cache")
    key = vault.keep_found("apple", "", vault.search("apple", "", 0, 1))
    assert refusal(vault.search, "pear", "", 1, 9, key=key).code == INVALID_ARGUMENTS
    assert refusal(vault.search, "apple", "", 1, 9, key="00000000").code == CURSOR_EXPIRED
    index._fresh.parts.catalog.close()  # as if it were broken
    assert refusal(vault.search, "apple", "", 1, 9, key=key).code == CURSOR_EXPIRED
    assert vault.search("apple", "", 0, 9).total == 3


# ---------------------------------------------------------------------- what is read, and what is counted


class CountingFiles(Files):
    """Files that count how often one of them is read."""

    reads = 0

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """Read a file."""
        self.reads += 1
        return super().read(path, max_bytes)


@pytest.fixture
def counted(tmp_path: Path) -> tuple[Vault, Index, CountingFiles]:
    root = tmp_path / "vault"
    for number in range(600):
        path = root / f"{number:03}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"apple {'Pear' if number % 2 else 'pear'}")
        os.utime(path, (1_000_000_000, 1_000_000_000))
    files = CountingFiles(str(root), MAX_BYTES)
    vault, index, _ = open_stored(root, tmp_path / "cache", files=files)
    vault.search("apple", "", 0, 1)
    files.reads = 0
    return vault, index, files


@pytest.mark.parametrize("query", ["match-case:Pear", "/P.*r/", "line:(apple match-case:Pear)"])
def test_a_page_is_read_and_not_the_vault(
    counted: tuple[Vault, Index, CountingFiles], query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, _, files = counted
    monkeypatch.setattr(searching, "_COUNT_SECONDS", 0.0)
    found = vault.search(query, "", 0, 10)
    assert len(found.hits) == 10
    assert not found.total_is_exact
    assert 10 <= found.total < 300
    assert found.has_more
    assert files.reads <= 200
    assert vault.search(query, "", 0, 10, exact_total=True)[1:5] == (300 if "P.*r" not in query else 600, 600, 0, True)


def test_the_next_page_goes_on_where_the_first_ended(
    counted: tuple[Vault, Index, CountingFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, _, files = counted
    monkeypatch.setattr(searching, "_COUNT_SECONDS", 0.0)
    first = vault.search("match-case:Pear", "", 0, 100)
    files.reads = 0
    second = vault.search("match-case:Pear", "", first.ends[-1], 10, key=vault.keep_found("match-case:Pear", "", first))
    assert files.reads <= 80
    assert not {hit.path for hit in first.hits} & {hit.path for hit in second.hits}


def test_a_page_for_which_there_is_no_time_is_cut_and_the_next_ones_read_on(
    counted: tuple[Vault, Index, CountingFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, _, files = counted
    query = r"/\d{3}5/ OR /\b\w*99\b/"
    expected = [hit.path for hit in vault.search(query, "", 0, 1000, exact_total=True).hits]
    query += " "  # the same search, with results of its own
    for name in ("_PAGE_SECONDS", "_COUNT_SECONDS", "_COUNT_SECONDS_OF_FIRST"):
        monkeypatch.setattr(searching, name, -1.0)
    files.reads = 0
    found = vault.search(query, "", 0, 10)
    assert found.read_so_far is not None
    assert files.reads <= 60
    assert found.has_more
    key = vault.keep_found(query, "", found)
    paths = [hit.path for hit in found.hits]
    pages = [found]
    while pages[-1].has_more:
        pages.append(vault.search(query, "", len(paths), 10, key=key))
        paths += [hit.path for hit in pages[-1].hits]
    assert paths == expected
    assert len(pages) > 10
    assert pages[-1].read_so_far is None


def test_alternatives_of_a_pattern_are_looked_up(counted: tuple[Vault, Index, CountingFiles], tmp_path: Path) -> None:
    vault, _, files = counted
    for name, text in (("x", "a quince"), ("y", "two figs"), ("z", "fig leaf")):
        (tmp_path / "vault" / f"{name}.md").write_text(text)
    found = vault.search("/(?:quin[ck]e|figs?\\b) ?/", "", 0, 9)
    assert sorted(hit.path for hit in found.hits) == ["x.md", "y.md", "z.md"]
    assert found.total_is_exact
    assert files.reads <= 12


CATASTROPHE, VICTIM = "/^(a|aa)+$/", "a" * 60 + "!"


def test_a_pattern_that_is_too_slow_for_a_later_note_does_not_take_a_full_page_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "Matcher", partial(Matcher, regex_seconds=0.05))
    for number in range(9):
        (tmp_path / f"{number}.md").write_text("aa")
    (tmp_path / "z victim.md").write_text(VICTIM)
    vault, _, _ = open_stored(tmp_path, None)
    found = vault.search(CATASTROPHE, "", 0, 5)
    assert (len(found.hits), found.total_is_exact, found.has_more) == (5, False, True)
    assert 5 <= found.total <= 9
    for asked in (9, 10):
        error = refusal(vault.search, CATASTROPHE, "", 0, asked, exact_total=True)
        assert (error.code, error.details["path"]) == (TIMEOUT, "z victim.md")


def test_a_search_that_was_stopped_is_taken_further_by_the_next_call(
    counted: tuple[Vault, Index, CountingFiles],
) -> None:
    vault, _, files = counted
    progress = StopsAfter(500)
    with pytest.raises(Stopped):
        vault.search("/Pear nothing|e r/", "", 0, 10, progress)
    assert progress.reports == sorted(progress.reports)
    assert all(done <= total == 600 for done, total in progress.reports)
    files.reads = 0
    assert vault.search("/Pear nothing|e r/", "", 0, 10).total_is_exact
    assert files.reads <= 200


# ---------------------------------------------------------------------- right answers

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
OPERATORS = [
    "",
    "",
    "",
    "-",
    "match-case:",
    "content:",
    "file:",
    "path:",
    "line:",
    "block:",
    "section:",
    "task:",
    "tag:",
]
LEAVES = [*WORDS, '"red apple"', '"x-y"', "app", "re", "note 1", "[colour]", "[colour:red]", "[size:>5]", "[size:<3]"]
PATTERNS = [
    "app",
    "apple",
    "pear",
    "[Rr]ed",
    "plums?",
    "(x|y)",
    "\\d{4}",
    "-0[1-5]",
    "日本",
    ".",
    "\\w",
    "^",
    "$",
    "(?=.*red)",
    "äpfel",
]


def random_query(chance: random.Random, depth: int = 2) -> str:
    """Return a query of any form."""
    form = chance.randrange(6 if depth else 2)
    if form == 0:
        parts = ["".join(chance.choices(PATTERNS, k=chance.randrange(1, 4))) for _ in range(chance.randrange(1, 4))]
        leaf = f"/{'|'.join(parts)}/"
    else:
        leaf = chance.choice(LEAVES)
    if form <= 2:
        return leaf if leaf.startswith("[") else chance.choice(OPERATORS) + leaf
    inner = [random_query(chance, depth - 1) for _ in range(chance.randrange(1, 4))]
    if form == 3:
        return f"{chance.choice(['', '-', 'line:', 'section:', 'content:'])}({' '.join(inner)})"
    return f"({' OR '.join(inner)})" if form == 4 else " ".join(inner)


@pytest.mark.parametrize("backend", BACKENDS[1:], ids=lambda backend: str(backend.__name__))
def test_random_queries_find_what_looking_into_each_note_finds(tmp_path: Path, backend: Backend) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    root = tmp_path / "vault"
    write_notes(root, chance, 2000 if IS_SOAK else 200)
    vault, index, _ = open_stored(root, tmp_path / "cache", backend, 4 * MAX_BYTES)
    texts = texts_of(root)
    for _ in range(300 if IS_SOAK else 80):
        query = random_query(chance)
        try:
            parse_query(query)
        except VaultError:
            continue
        expected = matching(texts, query)
        found = index.search(parse_query(query), None, 0, 20, NO_PROGRESS, exact_total=True)
        assert (found.total, found.total_is_exact) == (len(expected), True), query
        seen = [path for paths, _, _ in pages_of(vault, query, 50) for path in paths]
        assert len(seen) == len(set(seen)), query
        assert set(seen) == expected, query
