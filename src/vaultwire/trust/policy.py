"""Decides whether a call may run: facts about the call in, a refusal or None out. Pure.

``policy_rules`` decides which files it may see and change; ``policy_file`` reads the rules.
"""

from __future__ import annotations

from vaultwire.toolkit.catalog import FORMER_NAMES, MORE, former_name_hint, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

EVERY_OTHER_CLIENT = "*"
READS_ONLY = " (read only)"
"""Ends the principal of a client that may only read (``remote.store.Grant``)."""


class ToolRules:
    """Which tools may be used: those of ``allow``, None for all, without those of ``deny``. Names may contain ``*``.

    To name one of two names of a job is to name both (``names_of``): no rule is got round by the other name. ``more_tools``
    may be used unless it is denied: it does nothing itself, and what it runs is checked under its own name.
    """

    __slots__ = ("allow", "deny")

    def __init__(self, allow: tuple[str, ...] | None = None, deny: tuple[str, ...] = ()) -> None:
        self.allow = allow
        self.deny = deny

    def allows(self, tool: str) -> bool:
        """Tell whether the tool may be used."""
        names = names_of(tool)
        if any(is_named(name, self.deny) for name in names):
            return False
        return self.allow is None or tool == MORE or any(is_named(name, self.allow) for name in names)


def wrong_tool(names: Sequence[str], tools: Collection[str], *, restricts: bool) -> tuple[str, str] | None:
    """Return the first of a rule's names that is wrong, and what is wrong with it; None if all are right.

    ``tools``: the names of all tools. ``restricts``: for a rule that denies or holds. There a pattern that fits a former name,
    and not the tool that does its work now, is wrong, too: the rule would be looser than it was when it was written.
    """
    for name in names:
        if "*" not in name and name not in tools:
            return name, f"there is no tool {name!r}{former_name_hint(name) or _near(name, tools)}"
        for former, now in FORMER_NAMES.items() if restricts and "*" in name else ():
            if is_named(former, (name,)) and not is_named(now, names):
                return (
                    name,
                    f"{name!r} fits {former}, a former tool{former_name_hint(former)}: name {now}, too, or no pattern",
                )
    return None


def _near(name: str, tools: Collection[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a message

    near = get_close_matches(name, tools, 1)
    return f"; did you mean {near[0]!r}?" if near else "; see docs/tools.md for all there are"


class Policy:
    """What the person allows. ``read_only``: no tool that could change the vault is listed or run.

    ``tools`` are the rules for every client, ``clients`` further rules for one client (``rules_for``). Tools may connect to
    ``hosts``, and fetch attachments from ``attachment_hosts``; ``*.`` at the front means all names below.
    """

    __slots__ = ("attachment_hosts", "clients", "hosts", "read_only", "tools")

    def __init__(
        self,
        *,
        read_only: bool = False,
        tools: ToolRules | None = None,
        clients: Mapping[str, ToolRules] | None = None,
        hosts: tuple[str, ...] = (),
        attachment_hosts: tuple[str, ...] = (),
    ) -> None:
        self.read_only = read_only
        self.tools = tools
        self.clients = clients or {}
        self.hosts = hosts
        self.attachment_hosts = attachment_hosts

    @property
    def allows_everything(self) -> bool:
        """Whether any client may call any tool."""
        return self.tools is None and not self.clients and not self.read_only

    def allows(self, annotations: Mapping[str, Any], tool: str = "", client: str = "", principal: str = "") -> bool:
        """Tell whether a client may see and call a tool with these MCP annotations. The client is named as in ``rules_for``."""
        if self.forbids_changes_of(tool, annotations, principal):
            return False
        own = self.rules_for(client, principal)
        return (self.tools is None or self.tools.allows(tool)) and all(rules.allows(tool) for rules in own)

    def forbids_changes_of(self, tool: str, annotations: Mapping[str, Any], principal: str = "") -> bool:
        """Tell whether a tool may not be used because nothing is changed, in this run or by this client."""
        reads_only = self.read_only or principal.endswith(READS_ONLY)
        return reads_only and annotations.get("readOnlyHint") is not True and tool != MORE

    def refusal(self, tool: str, annotations: Mapping[str, Any], client: str = "", principal: str = "") -> str | None:
        """Return why the call is refused, None if it may run."""
        if self.allows(annotations, tool, client, principal):
            return None
        if self.forbids_changes_of(tool, annotations):
            hint = "To allow changes, start vaultwire without --read-only, VAULTWIRE_READ_ONLY and read_only in its policy."
            return f"This vault is served read-only, so {tool} cannot run. {hint}"
        if self.forbids_changes_of(tool, annotations, principal):
            return (
                f"You were allowed to read only, so {tool} cannot run. A person must connect you again to change that."
            )
        return f"The policy of this server does not allow {tool}."

    def rules_for(self, client: str, principal: str = "") -> list[ToolRules]:
        """Return the further rules for one client. All of them apply, and those for every client.

        ``client``: the client's own name; ``principal``: the owner of its key or token, empty for none. With a principal,
        the client's own name can only add rules: a client can give itself any name.
        """
        # Only the owner of an issuer's token has a colon, and may have any name after it.
        names = [(principal if ":" in principal else principal.removesuffix(READS_ONLY)) or client]
        if names[0] not in self.clients:
            names = [EVERY_OTHER_CLIENT]
        if principal and client not in (*names, EVERY_OTHER_CLIENT):
            names.append(client)
        return [self.clients[name] for name in names if name in self.clients]

    def may_reach(self, host: str) -> bool:
        """Tell whether a tool may connect to the host."""
        return _is_host(host, self.hosts)

    def may_fetch_from(self, host: str) -> bool:
        """Tell whether an attachment may be fetched from the host."""
        return _is_host(host, self.attachment_hosts)


def _is_host(host: str, hosts: tuple[str, ...]) -> bool:
    name = host.lower().rstrip(".")
    return any(name == allowed or (allowed.startswith("*.") and name.endswith(allowed[1:])) for allowed in hosts)


def is_named(tool: str, names: Collection[str]) -> bool:
    """Tell whether one of the names is the tool's, or a pattern that it fits."""
    return any(name == tool or ("*" in name and _is_like(tool, name)) for name in names)


def _is_like(tool: str, name: str) -> bool:
    from fnmatch import fnmatchcase  # noqa: PLC0415 - only where a policy says so

    return fnmatchcase(tool, name)
