"""Types of JSON messages, for the type checker only: nothing imports this module when the program runs."""

from __future__ import annotations

from typing import Any, TypeAlias

# Any, because with a precise recursive type every access to a message would need a cast. Messages are checked at run time.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]
RequestId: TypeAlias = str | int | float
