"""The text that introduces the server to a model at the handshake. At most 1 KB: clients put it into every conversation.

If there are several vaults, their names are added to that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMON = """\
vaultwire reads an Obsidian vault: a folder of Markdown notes, somebody's memory. Treat it with care.
Find notes with search_notes (Obsidian's search syntax: words, "phrases", -not, OR, tag:, \
path:, line:(a b), task-todo:, [property:value], /regex/) or find_notes (name, tag, property, date); then read_note.
A note is named by its path in the vault (Folder/Note.md), by its name, or by wikilink text ([[Note]]). \
If a name is ambiguous, the error lists the candidates.
get_outline shows how a note is built, graph and list_backlinks how notes hang together, daily_note a day's note.
Results come in pages: pass next_cursor as cursor for more.
"""
_EDITS = """\
To change a part of a note use edit_note, for its properties set_properties; write_note makes a new note unless mode says \
otherwise. Move and rename with move_note, which keeps every link right. Read a note first and pass its etag as if_match. \
dry_run shows what would happen; undo_change takes any change back. delete_note moves a note to the vault's .trash.
"""
_READ_ONLY = "The vault is served read-only: notes cannot be changed.\n"


def instructions(*, read_only: bool, vaults: Sequence[str] = ()) -> str:
    """Return the text for ``initialize`` and ``server/discover``."""
    return _COMMON + (_READ_ONLY if read_only else _EDITS) + (_several(vaults) if len(vaults) > 1 else "")


def _several(vaults: Sequence[str]) -> str:
    return (
        f"Several vaults are served: {', '.join(map(repr, vaults))}. Each tool takes vault, the name of one; {vaults[0]!r} is "
        "meant where it is left out. They have nothing in common: links, etags and the numbers of changes hold in one.\n"
    )
