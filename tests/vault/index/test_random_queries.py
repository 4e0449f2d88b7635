"""Every operator of the query language finds in the index what looking into each note finds; also right after changes."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path

from bench.random_queries import QueryMaker

from support.random_notes import NoteMaker
from support.stores import open_stored
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.search.matching import Match, Matcher
from vaultwire.vault.search.note_parts import searchable_text
from vaultwire.vault.search.query import Query, parse_query
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
NOTES, QUERIES_A_KIND = (2000, 25) if IS_SOAK else (300, 5)
CHANGED = 20
SECONDS = 600.0  # of one regular expression here: what is compared is what it finds

parsed = cache(parse_note)


def query_of(text: str) -> Query | None:
    try:
        return parse_query(text)
    except VaultError:
        return None


def brute_force(query: Query, texts: dict[str, str]) -> dict[str, Match]:
    matcher = Matcher(query, SECONDS, parsed)
    return {path: match for path, text in texts.items() if (match := matcher.match(path, text)) is not None}


def texts_of(root: Path, paths: list[str]) -> dict[str, str]:
    return {path: searchable_text(path, (root / path).read_bytes()) for path in paths if (root / path).exists()}


def check(vault: Vault, texts: dict[str, str], kind: str, asked: str) -> bool:
    """Compare one query's answer with brute force. Returns whether there is such a query."""
    query = query_of(asked)
    if query is None:
        return False
    expected = brute_force(query, texts)
    found = vault.search(asked, "", 0, len(texts) + 1)
    shown = {str(hit.path): (hit.matches, hit.lines) for hit in found.hits}
    assert shown == {path: (match.matches, match.lines) for path, match in expected.items()}, (kind, asked)
    assert (found.total, found.searched, found.skipped) == (len(expected), len(texts), 0), (kind, asked)
    page = vault.search(asked, "", 0, 5)
    assert len(page.hits) == min(5, len(expected)), (kind, asked)
    assert {str(hit.path) for hit in page.hits} <= expected.keys(), (kind, asked)
    return True


def test_random_queries_find_what_looking_into_each_note_finds(tmp_path: Path) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    root = tmp_path / "vault"
    maker = NoteMaker(chance)
    paths = maker.write(root, NOTES)
    vault, index, _ = open_stored(root, tmp_path / "cache")
    texts = texts_of(root, paths)
    queries = QueryMaker(chance, list(texts.items()))
    asked: dict[str, int] = {}
    for turn in range(QUERIES_A_KIND):
        for kind, make in queries.kinds.items():
            asked[kind] = asked.get(kind, 0) + check(vault, texts, kind, make())
        if turn % 3 == 2:  # the text index does not have these yet
            change_some(chance, maker, root, paths, index)
            texts = texts_of(root, paths)
    assert all(asked.values()), asked


def change_some(chance: random.Random, maker: NoteMaker, root: Path, paths: list[str], index: Index) -> None:
    for path in chance.sample(paths, CHANGED):
        if chance.random() < 0.2:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).write_bytes(maker.text(path).encode())
        index.queue_changes([VaultPath(path)])
