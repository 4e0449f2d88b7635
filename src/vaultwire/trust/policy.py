"""Whether a call may happen. Pure: facts about the call in, a refusal or None out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Policy:
    """What the person allows. ``read_only``: no tool that could change the vault is listed or run."""

    __slots__ = ("read_only",)

    def __init__(self, *, read_only: bool = False) -> None:
        self.read_only = read_only

    def allows(self, annotations: Mapping[str, Any]) -> bool:
        """Tell whether a tool with these MCP annotations is listed at all."""
        return not self.read_only or annotations.get("readOnlyHint") is True

    def refusal(self, tool: str, annotations: Mapping[str, Any]) -> str | None:
        """Return why the call is refused, None if it may go ahead."""
        if self.allows(annotations):
            return None
        return f"This vault is served read-only, so {tool} cannot run. Start vaultwire without --read-only to allow changes."
