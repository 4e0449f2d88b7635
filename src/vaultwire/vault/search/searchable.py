"""Which files search looks into, and their searchable text: a note's text, the cards and groups of a canvas.

As in Obsidian's own search (engine facts §2.6). A canvas's text keeps the line numbers of its file, so that a line that is
found is the line that is read. Tags, tasks and links in cards do not count, as in Obsidian's cache.
"""

from __future__ import annotations

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import ParsedNote, Span
from vaultwire.markdown.properties import Frontmatter
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.note_text import plain_text
from vaultwire.vault.disk.paths import CANVAS_SUFFIX, is_canvas, is_note, stem
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath


def is_searchable(path: str) -> bool:
    """Tell whether search looks into a file of this path."""
    return is_note(path) or is_canvas(path)


def searchable_name(path: str) -> str:
    """Return the name under which search finds a note or canvas: its file name without the extension."""
    return path.rsplit("/", 1)[-1][: -len(CANVAS_SUFFIX)] if is_canvas(path) else stem(path)


def searchable_text(path: str, data: bytes) -> str:
    """Return the text that search looks into."""
    text = plain_text(data)
    if not is_canvas(path):
        return text
    from vaultwire.markdown.canvas import cards_text  # noqa: PLC0415 - only for a canvas

    return cards_text(text)


def read_searchable(files: Files, path: VaultPath) -> str | None:
    """Return the text that search looks into, None if the file cannot be read."""
    try:
        return searchable_text(path, files.read(path).data)
    except VaultError:
        return None


def parse_searchable(path: str, text: str) -> ParsedNote:
    """Return the structure of the searchable text: of a canvas, one block for each card, and nothing else."""
    if not is_canvas(path):
        return parse_note(text)
    blocks = [Span(number, number) for number, line in enumerate(text.split("\n"), 1) if line]
    return ParsedNote(Frontmatter({}, 0, [], {}, {}), [], [], [], [], [], blocks, [])
