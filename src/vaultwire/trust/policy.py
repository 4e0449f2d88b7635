"""Whether a call may happen. Pure: facts about the call in, a refusal or None out.

Which files it may see and change then is ``policy_paths``' matter; where the rules are written down ``policy_file``'s.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVERY_OTHER_CLIENT = "*"


class ToolRules:
    """Which tools may be used: all, unless some are named; ``deny`` goes before. Names may hold ``*``."""

    __slots__ = ("allow", "deny")

    def __init__(self, allow: tuple[str, ...] | None = None, deny: tuple[str, ...] = ()) -> None:
        self.allow = allow
        self.deny = deny

    def allows(self, tool: str) -> bool:
        """Tell whether the tool may be used."""
        if _is_named(tool, self.deny):
            return False
        return self.allow is None or _is_named(tool, self.allow)


class Policy:
    """What the person allows. ``read_only``: no tool that could change the vault is listed or run.

    ``tools`` are the rules for every client, ``clients`` those for one on top (``rules_for``). ``hosts`` may be reached by
    tools that leave this computer, ``*.`` in front meaning all below; none, if it is empty.
    """

    __slots__ = ("_allows_all", "allows_everything", "clients", "hosts", "read_only", "tools")

    def __init__(
        self,
        *,
        read_only: bool = False,
        tools: ToolRules | None = None,
        clients: Mapping[str, ToolRules] | None = None,
        hosts: tuple[str, ...] = (),
    ) -> None:
        self.read_only = read_only
        self.tools = tools
        self.clients = clients or {}
        self.hosts = hosts
        self._allows_all = tools is None and not clients
        self.allows_everything = self._allows_all and not read_only
        """Whether any client may call any tool."""

    def allows(self, annotations: Mapping[str, Any], tool: str = "", client: str = "", principal: str = "") -> bool:
        """Tell whether a tool with these MCP annotations is listed at all, for a client as ``rules_for`` has it."""
        if self.read_only and annotations.get("readOnlyHint") is not True:
            return False
        if self._allows_all:
            return True
        own = self.rules_for(client, principal)
        return (self.tools is None or self.tools.allows(tool)) and all(rules.allows(tool) for rules in own)

    def refusal(self, tool: str, annotations: Mapping[str, Any], client: str = "", principal: str = "") -> str | None:
        """Return why the call is refused, None if it may go ahead."""
        if self.allows(annotations, tool, client, principal):
            return None
        if self.read_only and annotations.get("readOnlyHint") is not True:
            hint = "Start vaultwire without --read-only, and with no policy that says so, to allow changes."
            return f"This vault is served read-only, so {tool} cannot run. {hint}"
        return f"The policy of this server does not allow {tool}."

    def rules_for(self, client: str, principal: str = "") -> list[ToolRules]:
        """Return the rules for a client on top of those for every client; all of them hold.

        ``client``: the name it gives itself; ``principal``: whose key or token it came with, empty for neither. Beside a
        principal the client's own name only adds rules: it could be any.
        """
        names = [principal or client]
        if names[0] not in self.clients:
            names = [EVERY_OTHER_CLIENT]
        if principal and client not in (*names, EVERY_OTHER_CLIENT):
            names.append(client)
        return [self.clients[name] for name in names if name in self.clients]

    def may_reach(self, host: str) -> bool:
        """Tell whether a tool may connect to the host."""
        name = host.lower().rstrip(".")
        return any(
            name == allowed or (allowed.startswith("*.") and name.endswith(allowed[1:])) for allowed in self.hosts
        )


def _is_named(tool: str, names: tuple[str, ...]) -> bool:
    return any(name == tool or ("*" in name and _is_like(tool, name)) for name in names)


def _is_like(tool: str, name: str) -> bool:
    from fnmatch import fnmatchcase  # noqa: PLC0415 - only where a policy says so

    return fnmatchcase(tool, name)
