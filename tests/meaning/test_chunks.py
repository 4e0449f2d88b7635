"""Chunks: every line of text is in one, none is too long, and each says where it is from."""

from __future__ import annotations

import os
import random

from support.random_notes import NoteMaker
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.meaning.chunks import MAX_CHARACTERS, MAX_CHUNKS, chunks_of

NOTE = """---
aliases: [Beds, The garden]
secret: property
---
Before all headings, a few words of what this is about.

# Spring
{spring}

## Mint
{mint}

# Autumn
Rake leaves.
"""


def test_a_chunk_has_the_name_and_the_headings_in_front() -> None:
    chunks = chunks_of("Home/Garden.md", NOTE.format(spring="Sow early. " * 40, mint="Keep it in a pot. " * 30))
    name = "Garden · Beds · The garden"
    heads = [chunk.text.partition("\n")[0] for chunk in chunks]
    assert heads[0].startswith(name)
    assert f"{name} > Spring > Mint" in heads
    assert not any("property" in chunk.text for chunk in chunks)
    assert all(len(chunk.text) <= MAX_CHARACTERS for chunk in chunks)


def test_short_parts_share_a_chunk() -> None:
    (chunk,) = chunks_of("a.md", "# One\nshort\n# Two\nalso short\n")
    assert chunk.text == "a\n# One\nshort\n# Two\nalso short"
    assert (chunk.first, chunk.last) == (1, 4)


def test_a_note_without_text_has_a_chunk_with_its_name() -> None:
    assert [chunk.text for chunk in chunks_of("Plans/Empty.md", "")] == ["Empty"]
    assert [chunk.text for chunk in chunks_of("Plans/Empty.md", "---\na: 1\n---\n\n")] == ["Empty"]


def test_huge_notes_and_lines_are_cut() -> None:
    chunks = chunks_of("a.md", "x" * 5_000 + " " + "word " * 400_000)
    assert len(chunks) == MAX_CHUNKS
    assert max(len(chunk.text) for chunk in chunks) <= MAX_CHARACTERS


def test_random_notes_lose_no_line() -> None:
    maker = NoteMaker(random.Random(os.environ["VAULTWIRE_SEED"]))
    for _ in range(300):
        text = maker.text("Folder/Name.md")
        chunks = chunks_of("Folder/Name.md", text)
        assert all(len(chunk.text) <= MAX_CHARACTERS for chunk in chunks)
        assert [chunk.first for chunk in chunks] == sorted(chunk.first for chunk in chunks)
        covered = {line for chunk in chunks for line in range(chunk.first, chunk.last + 1)}
        top = text.count("\n", 0, parse_frontmatter(text).end)
        for number, line in enumerate(text.split("\n"), 1):
            assert number <= top or number in covered or not line.strip(), (text, number)
