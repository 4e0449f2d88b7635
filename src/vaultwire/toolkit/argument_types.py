"""Kinds of arguments that several tools have: how long a text may be, and how large a number."""

from __future__ import annotations

from typing import Annotated

from vaultwire.toolkit.registry import Bounds

# A cap on names keeps a confused caller's document out of error messages; the longest real path fits.
Name = Annotated[str, Bounds(1, 1000)]
OptionalName = Annotated[str, Bounds(0, 1000)]
Folder = OptionalName
Limit = Annotated[int, Bounds(1, 1000)]
IfMatch = Annotated[str | None, Bounds(1, 100)]
