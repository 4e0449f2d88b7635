"""The notes of Obsidian's own help, where a copy lies beside the repository: what is found there is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import ParsedNote

HELP = Path(__file__).parents[3] / "shared" / "vaults" / "obsidian-help"


@pytest.fixture(scope="module")
def notes() -> dict[str, tuple[str, ParsedNote]]:
    texts = {path.stem: to_plain(path.read_text("utf-8")) for path in sorted(HELP.rglob("*.md"))}
    if not texts:
        pytest.skip("no copy of obsidian-help")
    return {name: (text, parse_note(text)) for name, text in texts.items()}


def test_no_line_of_a_real_note_is_in_two_blocks_and_no_prose_in_none(
    notes: dict[str, tuple[str, ParsedNote]],
) -> None:
    rule = re.compile(r"[-*_ ]+")
    for name, (text, note) in notes.items():
        numbers = [number for span in note.blocks for number in range(span.first, span.last + 1)]
        assert len(numbers) == len(set(numbers)), name
        held = set(numbers)
        first = text.count("\n", 0, note.frontmatter.end) + 1
        for number, line in enumerate(text[note.frontmatter.end :].split("\n"), start=first):
            assert number in held or not line.strip() or rule.fullmatch(line), (name, number)


def test_links_of_real_notes_are_those_their_text_shows_outside_code(
    notes: dict[str, tuple[str, ParsedNote]],
) -> None:
    """Counted a second way, for notes without code: there a plain pattern is enough."""
    counted = 0
    for name, (text, note) in notes.items():
        if "`" in text or "<!--" in text or "$" in text or "\n    " in text or "\n\t" in text:
            continue
        shown = re.findall(r"(!?)\[\[([^\n|\]\\]+)", text[note.frontmatter.end :])
        found = [("!" * link.is_embed, link.linktext) for link in note.links if not link.is_markdown]
        assert found == [(mark, linktext.strip()) for mark, linktext in shown], name
        counted += len(found)
    assert counted > 200


def test_most_links_of_real_notes_lead_to_a_note_there(notes: dict[str, tuple[str, ParsedNote]]) -> None:
    names = {name.casefold() for name in notes}
    linked = [
        link.linktext.partition("#")[0].rpartition("/")[2].removesuffix(".md").casefold()
        for _, note in notes.values()
        for link in note.links
        if not link.is_embed
    ]
    assert len(linked) > 1_000
    assert sum(not name or name in names for name in linked) > 0.97 * len(linked)
