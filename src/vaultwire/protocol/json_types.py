"""The shapes of what travels, for the type checker only: nothing imports this module when the program runs."""

from __future__ import annotations

from typing import Any, TypeAlias

# Any inside: a precise recursive type makes every access to a checked message a cast, and the checks are at run time.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]
RequestId: TypeAlias = str | int | float
