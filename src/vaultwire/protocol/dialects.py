"""How each contract spells the same facts: the only module that knows it. Fixed by door and flag, never guessed.

``mcp`` is the specification's own spelling. The others are the letter of contracts that users were promised
(``docs/contracts.md``): a server over Obsidian's command (``obsidian-cli``), one over a vault's files (``filesystem``),
and one whose first concern is safety (``secure``). What a code means is the same in all of them; numbers are theirs.
"""

from __future__ import annotations

from vaultwire.protocol import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

    from vaultwire.protocol.json_types import JsonObject

SNAKE, KEBAB, PREFIXED = "snake", "kebab", "prefixed"
"""How tools' names are listed: ``read_note``, ``read-note``, ``obsidian_read_note``. All are accepted everywhere."""

WHOLE, ENVELOPE, BARE = "whole", "envelope", "bare"
"""What a result holds: text, data and ``_meta``; one text, JSON with ``success`` and ``data``; text and ``isError``."""

_PREFIX = "obsidian_"
# A text in quotes as Python's ``repr`` writes it, or a word that may be a tool's name. A single word is never taken for one.
_QUOTED_OR_NAME = r"""(?<!\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w/.])[a-z]+(?:_[a-z]+)+(?![\w/]|\.\w)"""


class Dialect:
    """The spelling one contract asks for."""

    __slots__ = (
        "capabilities",
        "confirmed",
        "details",
        "early_ping",
        "facts",
        "failed_tools",
        "failures",
        "headlines",
        "instructions",
        "listed",
        "most_seconds",
        "name",
        "naming",
        "not_initialized",
        "only_revision",
        "other_failures",
        "results",
        "server",
        "short_tools",
        "unknown_tool",
    )

    def __init__(  # noqa: PLR0913 - a row of a table, by name
        self,
        name: str,
        *,
        naming: str = SNAKE,
        listed: Mapping[str, tuple[str, str]] | None = None,
        results: str = WHOLE,
        server: tuple[str, str] | None = None,
        capabilities: JsonObject | None = None,
        instructions: bool = True,
        short_tools: bool = False,
        only_revision: str | None = None,
        not_initialized: int = jsonrpc.INVALID_REQUEST,
        early_ping: bool = True,
        confirmed: bool = False,
        most_seconds: float | None = None,
        unknown_tool: int | None = jsonrpc.INVALID_PARAMS,
        failures: Mapping[str, int] | None = None,
        other_failures: int | None = None,
        headlines: Mapping[str, str] | None = None,
        failed_tools: Mapping[str, str] | None = None,
        details: Mapping[str, str] | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Take what differs from the specification.

        ``listed``: names and titles of some tools. ``server``: the name and version it gives itself.
        ``short_tools``: a tool is listed with its name, description and input only. ``only_revision``: no other is
        served. ``early_ping``: before the handshake, too. ``confirmed``: the handshake is complete when the client has
        confirmed it, and not before. ``most_seconds``: no call takes longer. ``unknown_tool``: an error's number; None
        for a result that says so. ``failures``: codes of failed tools that are errors of the protocol, with their
        numbers, beside which ``other_failures`` is that of all others; None for results. ``headlines``: how an error's
        message begins. ``failed_tools``: all of the text that says so of one tool. ``details``: names that an error's
        data has for ours. ``facts``: what of a result's data stands in its ``_meta``, too, and under which name.
        """
        self.name = name
        self.naming = naming
        self.listed = listed or {}
        self.results = results
        self.server = server
        self.capabilities = capabilities
        self.instructions = instructions
        self.short_tools = short_tools
        self.only_revision = only_revision
        # The specification names no number for a request before the handshake; it breaks the lifecycle, so -32600.
        self.not_initialized = not_initialized
        self.early_ping = early_ping
        # Specification, Tools, "Error Handling": unknown tools are protocol errors.
        self.unknown_tool = unknown_tool
        self.failures = failures or {}
        self.other_failures = other_failures
        self.confirmed = confirmed
        self.most_seconds = most_seconds
        self.headlines = headlines or {}
        self.failed_tools = failed_tools or {}
        self.details = details or {}
        self.facts = facts or {}

    def failure(self, code: str) -> int | None:
        """Return the number of the error that a failed tool is answered with, None if it is a result."""
        return self.failures.get(code, self.other_failures)

    def message(self, code: str, message: str, details: Mapping[str, Any]) -> str:
        """Return what an error says: as the contract begins, then ours."""
        headline = self.headlines.get(code)
        if headline is None:
            return message
        return headline.format_map({"path": "", "message": message, **details})

    def spell_tools(self, message: str, known: Container[str]) -> str:
        """Return a message of ours with tools named as they are listed; what stands in quotes is somebody else's."""
        if self.naming == SNAKE or "_" not in message:
            return message
        import re  # noqa: PLC0415 - where a message needs it

        def spelt(found: re.Match[str]) -> str:
            tool = known_name(found[0], known) if found[0][0].isalpha() else None
            return found[0] if tool is None else self.list_name(tool)

        return re.sub(_QUOTED_OR_NAME, spelt, message)

    def list_name(self, name: str) -> str:
        """Return a tool's name as it is listed."""
        if name in self.listed:
            return self.listed[name][0]
        if self.naming == KEBAB:
            return name.replace("_", "-")
        return name if self.naming == SNAKE or name.startswith(_PREFIX) else _PREFIX + name

    def lists(self, name: str, known: Container[str]) -> bool:
        """Tell whether a tool is listed: not if another is known by the name it would be listed under."""
        listed = self.list_name(name)
        return listed == name or listed not in known

    def list_title(self, name: str, title: str) -> str:
        """Return a tool's title as it is listed."""
        return self.listed[name][1] if name in self.listed else title


# Names that contracts use for tools that have another here.
_OTHER_NAMES = {"search_vault": "search_notes", "list_categories": "list_tool_categories"}


def known_name(name: str, known: Container[str]) -> str | None:
    """Return the name under which the tool is known here, however a contract spells it; None if there is none."""
    if name in known:
        return name
    snake = name.replace("-", "_")
    for spelt in (snake, snake.removeprefix(_PREFIX), _PREFIX + snake):
        for candidate in (spelt, _OTHER_NAMES.get(spelt, spelt)):
            if candidate in known:
                return candidate
    return None


MCP = Dialect("mcp")

OBSIDIAN_CLI = Dialect(
    "obsidian-cli",
    naming=PREFIXED,
    results=ENVELOPE,
    server=("obsidian-mcp", "1.0.0"),
    capabilities={"tools": {}},
    instructions=False,
    short_tools=True,
    only_revision="2024-11-05",
    most_seconds=30.0,
    failures={
        "INVALID_ARGUMENTS": jsonrpc.INVALID_PARAMS,
        "INTERNAL": jsonrpc.INTERNAL_ERROR,
        "OBSIDIAN_NOT_RUNNING": -32001,  # its table's number; its example has -32000
        "VAULT_NOT_FOUND": -32002,
        "FILE_NOT_FOUND": -32003,
        "AMBIGUOUS_NAME": -32004,
        "PERMISSION_DENIED": -32005,
        "PATH_OUTSIDE_VAULT": -32005,
        "POLICY_DENIED": -32005,
        "TIMEOUT": -32006,
    },
    other_failures=-32000,
    headlines={"OBSIDIAN_NOT_RUNNING": "Obsidian application is not running. Please start Obsidian and try again."},
)

FILESYSTEM = Dialect(
    "filesystem",
    naming=KEBAB,
    listed={"search_notes": ("search-vault", "Search Vault")},
    failures={
        "INVALID_ARGUMENTS": jsonrpc.INVALID_PARAMS,
        "AMBIGUOUS_NAME": jsonrpc.INVALID_PARAMS,
        "NOTE_EXISTS": jsonrpc.INVALID_PARAMS,
        "TOO_LARGE": jsonrpc.INVALID_PARAMS,
        "FILE_NOT_FOUND": -32002,
        "VAULT_NOT_FOUND": -32002,
        # Its text shows -32602 for a path that leads out, and defines -32003 as "access denied": the one that says it.
        "PATH_OUTSIDE_VAULT": -32003,
        "PERMISSION_DENIED": -32003,
        "POLICY_DENIED": -32003,
        "INTERNAL": jsonrpc.INTERNAL_ERROR,
        "TIMEOUT": jsonrpc.INTERNAL_ERROR,  # it has no number of its own for what took too long
    },
    headlines={
        "FILE_NOT_FOUND": "Note not found: {path}",
        "PATH_OUTSIDE_VAULT": "Path traversal detected: {message}",
        "TOO_LARGE": "File too large: {message}",
    },
    details={"max_size": "maxSize"},
    facts={"notes_searched": "filesSearched", "size": "contentLength"},
)

SECURE = Dialect(
    "secure",
    results=BARE,
    server=("mcp-secure-local", "1.0.0"),
    capabilities={"tools": {"listChanged": True}},
    instructions=False,
    short_tools=True,
    not_initialized=jsonrpc.INTERNAL_ERROR,
    early_ping=False,
    confirmed=True,
    unknown_tool=None,
    failures={"RATE_LIMITED": jsonrpc.INTERNAL_ERROR},
    failed_tools={"web_search": "Search error: {message}"},
)

DIALECTS = {dialect.name: dialect for dialect in (MCP, OBSIDIAN_CLI, FILESYSTEM, SECURE)}
