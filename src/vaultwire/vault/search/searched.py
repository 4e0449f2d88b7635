"""Which files a search looks into, and what of them: of a note its text, of a canvas that of its cards and groups.

As in Obsidian's own search (engine facts §2.6). A canvas's text is laid out on the lines of its file, so that a line found
is the line that is read; tags, tasks and links in cards do not count, as in Obsidian's cache.
"""

from __future__ import annotations

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import ParsedNote, Span
from vaultwire.markdown.properties import Frontmatter
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import CANVAS_SUFFIX, is_canvas, is_note, stem
from vaultwire.vault.disk.plain import plain_text
from vaultwire.vault.errors import VaultError
from vaultwire.vault.model import VaultPath


def is_searched(path: str) -> bool:
    """Tell whether searches look into a file of this path."""
    return is_note(path) or is_canvas(path)


def searched_name(path: str) -> str:
    """Return the name under which a search finds a note or canvas: the last part without the extension."""
    return path.rsplit("/", 1)[-1][: -len(CANVAS_SUFFIX)] if is_canvas(path) else stem(path)


def searched_text(path: str, data: bytes) -> str:
    """Return what a search looks into."""
    text = plain_text(data)
    if not is_canvas(path):
        return text
    from vaultwire.markdown.canvas import cards_text  # noqa: PLC0415 - only where there is one

    return cards_text(text)


def read_searched(files: Files, path: VaultPath) -> str | None:
    """Return what a search looks into, None if the file cannot be read."""
    try:
        return searched_text(path, files.read(path).data)
    except VaultError:
        return None


def parse_searched(path: str, text: str) -> ParsedNote:
    """Return the structure of what is searched: of a canvas each card is a block, and there is nothing else."""
    if not is_canvas(path):
        return parse_note(text)
    blocks = [Span(number, number) for number, line in enumerate(text.split("\n"), 1) if line]
    return ParsedNote(Frontmatter({}, 0, [], {}, {}), [], [], [], [], [], blocks, [])
