"""Types of arguments that several tools share, with the bounds of texts and numbers."""

from __future__ import annotations

from typing import Annotated

from vaultwire.toolkit.registry import Bounds

# The longest real path fits. Without the bound, a caller's mistake could put a whole document into an error message.
Name = Annotated[str, Bounds(1, 1000)]
OptionalName = Annotated[str, Bounds(0, 1000)]
Folder = OptionalName
Limit = Annotated[int, Bounds(1, 1000)]
IfMatch = Annotated[str | None, Bounds(1, 100)]
