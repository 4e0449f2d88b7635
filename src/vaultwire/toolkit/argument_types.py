"""Types of arguments that several tools share: the bounds of texts and numbers, and the text that a model reads.

A tool's docstring describes an argument again where it means something else there.
"""

from __future__ import annotations

from typing import Annotated

from vaultwire.toolkit import lean
from vaultwire.toolkit.registry import Bounds

# The longest real path fits. Without the bound, a caller's mistake could put a whole document into an error message.
Name = Annotated[str, Bounds(1, 1000)]
OptionalName = Annotated[str, Bounds(0, 1000)]
NoteName = Annotated[Name, lean.NOTE_NAME]
Folder = Annotated[OptionalName, lean.FOLDER]
Limit = Annotated[int, Bounds(1, 1000), lean.LIMIT]
IfMatch = Annotated[str | None, Bounds(1, 100), lean.IF_MATCH]
DryRun = Annotated[bool, lean.DRY_RUN]
AllowBroken = Annotated[bool, "Write even if properties (frontmatter) could not be read any more."]
