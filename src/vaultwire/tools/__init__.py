"""The text that introduces the server to a model at the handshake. At most 1 KB: clients put it into every conversation.

It names only tools that are listed to the client, and says once what holds for many of them. If there are several vaults,
their names are added to that, and the head of the guide that the person has written, if there is one (``vault.guides``).
What can be seen of a vault without one (``vault_guide``) is left to a call: it needs the index, and the handshake waits for
nothing.
"""

from __future__ import annotations

from vaultwire.toolkit.catalog import MORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_NAMES = """\
A note is named by its path (Folder/Note.md), its name, or a [[link]]; an ambiguous name is an error that lists the \
candidates. folder is a path such as Projects; left out, the whole vault is meant. Lists come in pages: for more, pass the \
cursor that the result gives.
"""
_IF_MATCH = (
    "Change a note after you have read it, and pass its etag as if_match where a tool has it: the note is changed only if "
    "it is still as read. "
)
# Each sentence with the tools that it names: it is left out where one of them is not listed.
_SENTENCES: tuple[tuple[tuple[str, ...], str], ...] = (
    ((), "vaultwire reads an Obsidian vault: a folder of Markdown notes, somebody's memory. Treat it with care.\n"),
    (("search_notes",), "search_notes finds notes by their text. "),
    (("find_notes",), "find_notes finds them by name, tag, property, date. "),
    (("vault_overview",), "vault_overview shows folders, tags, properties. "),
    (
        (),
        _NAMES,
    ),
)
_EDITS: tuple[tuple[tuple[str, ...], str], ...] = (
    ((), _IF_MATCH),
    ((), "dry_run only shows what would happen. "),
    (("edit_note",), "Change a part with edit_note, not the whole note. "),
    (("move_notes",), "move_notes keeps every link right. "),
    (("delete_note",), "delete_note moves a note to .trash. "),
    (("undo_changes",), "undo_changes undoes any change. "),
)
_READ_ONLY = "The vault is served read-only: notes cannot be changed. "
_MORE = f"{MORE} runs the tools that are not listed"


def instructions(listed: Collection[str], *, read_only: bool, vaults: Sequence[str] = (), guide: str = "") -> str:
    """Return the text for ``initialize`` and ``server/discover``. ``guide``: the quoted head of the vault's own guide."""
    text = "".join(
        sentence
        for tools, sentence in (*_SENTENCES, *(() if read_only else _EDITS))
        if all(each in listed for each in tools)
    )
    text += _READ_ONLY if read_only else ""
    if MORE in listed:
        text += _MORE + (
            ". " if read_only else ": to tick tasks off, add attachments, edit canvases, fix links, merge notes."
        )
    text = text.rstrip() + "\n" + (_several(vaults) if len(vaults) > 1 else "")
    return text + (f"{guide}\n" if guide else "")


def _several(vaults: Sequence[str]) -> str:
    return (
        f"Several vaults are served: {', '.join(map(repr, vaults))}. Each tool takes vault, the name of one; {vaults[0]!r} is "
        "meant where it is left out. They have nothing in common: links, etags and the numbers of changes hold in one.\n"
    )
