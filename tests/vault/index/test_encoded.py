"""Encoded text in notes: it is not in the text index, and a search finds in it what looking into each note finds."""

from __future__ import annotations

import base64
import json
import os
import random
from pathlib import Path

import pytest

from support.stores import note_facts, open_stored
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.search_plan import BODY, HAS_ENCODED, KIND
from vaultwire.vault.index.text_index import TextIndex, to_fields
from vaultwire.vault.index.words import NgramFilter, without_encoded
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.note_parts import searchable_text
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS

BYTES = random.Random(15).randbytes(9000)
BASE64 = base64.b64encode(BYTES).decode()


def lines(text: str, length: int, between: str = "\n") -> str:
    return between.join(text[start : start + length] for start in range(0, len(text), length))


ENCODED = {
    "compressed-json": f"```compressed-json\n{lines(BASE64, 256, between=chr(10) * 2)}\n```\n",
    "MIME": lines(BASE64, 76),
    "key": lines(BASE64, 64),
    "base64url": lines(base64.urlsafe_b64encode(BYTES).decode(), 100),
    "data URL": f"See ![x](data:image/png;base64,{BASE64}) here.",
    "hex": lines(BYTES.hex().upper(), 128),
    "minified JSON": json.dumps(
        [{"type": "line", "id": f"x{n}", "points": [[0, 0], [n, n / 7]]} for n in range(200)], separators=(",", ":")
    ),
    "beside words": f"größe中{BASE64}é word {BASE64[:5000]}|x",
}
PLAIN = {
    "few": BASE64[:3000],
    "addresses": "\n".join(
        f"https://example.com/2026/05/a-long-article-about-the-best-of-many-words-and-{n}-more-of-them"
        for n in range(99)
    ),
    "rules": "\n".join(["-" * 80, "=" * 80, "_" * 80] * 40),
    "JSON with spaces": json.dumps([{"name": f"word{n}", "of": [1, 2]} for n in range(300)], indent=1),
    "words": "the quick brown fox jumps over it " * 300,
}


@pytest.mark.parametrize("kind", ENCODED)
def test_encoded_text_is_left_out(kind: str) -> None:
    text = f"# Plan\n{ENCODED[kind]}\nthe end\n"
    words, values = to_fields("n.md", text, note_facts(text), NgramFilter())
    assert len(words[BODY]) < 500
    assert {"plan", "end"} <= {*words[BODY].split()}
    assert HAS_ENCODED in values[KIND]


@pytest.mark.parametrize("kind", PLAIN)
def test_other_text_is_not(kind: str) -> None:
    assert without_encoded(PLAIN[kind]) is PLAIN[kind]


def queries(chance: random.Random, texts: list[str]) -> list[str]:
    """Return searches for pieces of the texts, from within and from the edges of what is encoded, and for what is not there."""
    found: list[str] = []
    for _ in range(150):
        text = chance.choice(texts)
        length = chance.choice([1, 2, 3, 4, 6, 10, 15, 16, 17, 40])
        start = chance.choice([0, chance.randrange(len(text)), chance.randrange(len(text)), max(0, len(text) - 60)])
        if chance.random() < 0.3:
            start = max(0, text.find(chance.choice(["\n", "base64,", "中", ") here", " word"])) - chance.randrange(20))
        piece = text[start : start + length].replace("\\", "").replace('"', "").strip()
        piece = chance.choice([piece, piece.lower(), piece.swapcase()]) + chance.choice(["", "", "", "q"])
        form = chance.choice(['"{}"', "/{}/", "-{}", "{}", "{}", "line:{}", "match-case:{}", 'content:"{}"', "plan {}"])
        found.append(form.format(piece))
    return found


def test_a_search_finds_what_looking_into_each_note_finds(tmp_path: Path) -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    root = tmp_path / "vault"
    root.mkdir()
    for kind, text in (ENCODED | PLAIN).items():
        ending = chance.choice(["\n", "\r\n"])
        (root / f"{kind}.md").write_text(f"# Plan {kind}\n{text}\nthe end\n", encoding="utf-8", newline=ending)
    card = {"type": "text", "id": "a", "text": f"Plan\n{BASE64}", "x": 0, "y": 0, "width": 9, "height": 9}
    board = json.dumps({"nodes": [card], "edges": []}).replace("/", "\\/")  # as some programs write it
    (root / "board.canvas").write_text(board, encoding="utf-8")
    _, index, _ = open_stored(root, tmp_path / "cache", TextIndex)
    texts = {path.name: searchable_text(path.name, path.read_bytes()) for path in root.iterdir()}
    for asked in queries(chance, [*texts.values()]):
        try:
            query = parse_query(asked)
        except VaultError:
            continue
        matcher = Matcher(query)
        expected = {name for name, text in texts.items() if matcher.match(name, text) is not None}
        found = index.search(query, None, 0, 50, NO_PROGRESS)
        assert {hit.path for hit in found.hits} == expected, asked
        assert found.total == len(expected), asked


def test_a_search_follows_encoded_text_that_comes_and_goes(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    note, inside = root / "note.md", parse_query(BASE64[700:712])
    note.write_text("plan\n")
    _, index, _ = open_stored(root, tmp_path / "cache", TextIndex)
    for text, total in (("plan\n", 0), (f"{ENCODED['MIME']}\n", 1), (ENCODED["data URL"], 1), ("end\n", 0)):
        note.write_text(text)
        found = [index.search(inside, None, 0, 5, NO_PROGRESS) for _ in range(2)]
        assert [each.total for each in found] == [total] * 2, text[:80]
