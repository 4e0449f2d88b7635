"""Types of arguments that several tools share: the bounds of texts and numbers, and the text that a model reads.

A tool's docstring describes an argument again where it means something else there.
"""

from __future__ import annotations

from typing import Annotated

from vaultwire.toolkit.registry import Bounds

# The longest real path fits. Without the bound, a caller's mistake could put a whole document into an error message.
Name = Annotated[str, Bounds(1, 1000)]
OptionalName = Annotated[str, Bounds(0, 1000)]
NoteName = Annotated[Name, "The note, named as for read_note."]
Folder = Annotated[OptionalName, "Look only below this folder. Empty for the whole vault."]
Limit = Annotated[int, Bounds(1, 1000), "How many notes to return."]
IfMatch = Annotated[
    str | None, Bounds(1, 100), "Etag from read_note. The note is changed only if it still is what was read."
]
DryRun = Annotated[bool, "Only show what would be changed."]
