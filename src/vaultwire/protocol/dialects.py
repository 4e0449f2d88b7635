"""The spelling that each contract asks for: names, numbers and shapes. The only module that knows it.

``mcp`` is the specification's own spelling. The others follow contracts that users were promised (``docs/contracts.md``): a
server over Obsidian's command (``obsidian-cli``), one over a vault's files (``filesystem``), and one that puts safety first
(``secure``). An error code in words means the same in all of them; the numbers differ. A door's flag chooses the dialect; it
is never guessed.
"""

from __future__ import annotations

from vaultwire.protocol import jsonrpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any, ClassVar

    from vaultwire.protocol.jsonrpc import JsonObject

SNAKE, KEBAB, PREFIXED = "snake", "kebab", "prefixed"
"""How tool names are listed: ``read_note``, ``read-note``, ``obsidian_read_note``. Calls may use any of them."""

WHOLE, ENVELOPE, BARE = "whole", "envelope", "bare"
"""What a result holds: text, data and ``_meta``; one text, JSON with ``success`` and ``data``; text and ``isError``."""

_PREFIX = "obsidian_"
# A text in quotes as Python's ``repr`` writes it, or several words joined by ``_``, which may be a tool's name.
_QUOTED_OR_NAME = r"""(?<!\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w/.])[a-z]+(?:_[a-z]+)+(?![\w/]|\.\w)"""


class Dialect:
    """The spelling of the specification. A subclass overrides what its contract wants otherwise."""

    name = "mcp"
    naming = SNAKE
    listed: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Names and titles under which some tools are listed."""
    strict = False
    """Whether arguments are taken only as the schema has them: a contract answers others with an error."""
    notes_only: ClassVar[Container[str]] = ()
    """Tools whose ``path`` is a note's: a path with another extension is a wrong argument."""
    defaults: ClassVar[Mapping[str, JsonObject]] = {}
    """Arguments that tools get where the client leaves them out: a contract knows no reason to refuse what they allow."""
    short_tools = False
    """Whether a tool is listed with its name, description and input only."""

    server: tuple[str, str] | None = None
    """The name and version that the server gives itself; None for our own."""
    capabilities: ClassVar[JsonObject | None] = None
    """What the server says it can do; None for all that it can."""
    instructions = True
    only_revision: str | None = None
    """The only revision that is served; None for all."""
    early_ping = True
    """Whether a ping is answered before the handshake."""
    confirmed = False
    """Whether the handshake is complete only when the client has confirmed it."""
    most_seconds: float | None = None
    """The longest time that a call may take; None for our own deadlines."""

    results = WHOLE
    structured = False
    """Whether tools are listed with all of their schemas, and results carry their data besides the text."""
    is_contract = False
    """Whether clients are promised tools by their names. They are listed single tools, where others get the standard set."""
    facts: ClassVar[Mapping[str, str]] = {}
    """Fields of a result's data that its ``_meta`` repeats, with their names there."""

    # The specification names no number for a request before the handshake. It breaks the lifecycle, so -32600.
    not_initialized = jsonrpc.INVALID_REQUEST
    # Specification, Tools, "Error Handling": unknown tools are protocol errors.
    unknown_tool: int | None = jsonrpc.INVALID_PARAMS
    """The error number for an unknown tool; None for a result that says so."""
    failures: ClassVar[Mapping[str, int]] = {}
    """Codes of tool failures that are protocol errors, with their numbers."""
    other_failures: int | None = None
    """The error number of all other tool failures; None for results."""
    headlines: ClassVar[Mapping[str, str]] = {}
    """How error messages begin, by code."""
    failed_tools: ClassVar[Mapping[str, str]] = {}
    """The whole text of a failure, for some tools."""
    details: ClassVar[Mapping[str, str]] = {}
    """Names that an error's data has in place of ours."""

    def failure(self, code: str) -> int | None:
        """Return the error number for a failed tool; None if the answer is a result."""
        return self.failures.get(code, self.other_failures)

    def message(self, code: str, message: str, details: Mapping[str, Any]) -> str:
        """Return the message of an error: ours, or what the contract has for this code."""
        headline = self.headlines.get(code)
        if headline is None:
            return message
        return headline.format_map({"path": "", "message": message, **details})

    def spell_tools(self, message: str, known: Container[str]) -> str:
        """Return a message of ours with tool names as they are listed. Text in quotes is not ours and stays."""
        if self.naming == SNAKE or "_" not in message:
            return message
        import re  # noqa: PLC0415 - few messages need it

        def spelt(found: re.Match[str]) -> str:
            tool = known_name(found[0], known) if found[0][0].isalpha() else None
            return found[0] if tool is None else self.list_name(tool)

        return re.sub(_QUOTED_OR_NAME, spelt, message)

    def list_name(self, name: str) -> str:
        """Return the name under which a tool is listed."""
        if name in self.listed:
            return self.listed[name][0]
        if self.naming == KEBAB:
            return name.replace("_", "-")
        return name if self.naming == SNAKE or name.startswith(_PREFIX) else _PREFIX + name

    def lists(self, name: str, known: Container[str]) -> bool:
        """Tell whether a tool is listed. It is not if another tool has the name that it would get."""
        listed = self.list_name(name)
        return listed == name or listed not in known

    def list_title(self, name: str, title: str) -> str:
        """Return the title under which a tool is listed."""
        return self.listed[name][1] if name in self.listed else title


# Names that contracts use for tools that have another name here.
_OTHER_NAMES = {"search_vault": "search_notes"}


def known_name(name: str, known: Container[str]) -> str | None:
    """Return our name of the tool that a contract spells so; None if there is none."""
    if name in known:
        return name
    snake = name.replace("-", "_")
    for spelt in (snake, snake.removeprefix(_PREFIX), _PREFIX + snake):
        for candidate in (spelt, _OTHER_NAMES.get(spelt, spelt)):
            if candidate in known:
                return candidate
    return None


class _Structured(Dialect):
    structured = True


class _ForPrograms(_Structured):
    """Of REST, and of our own command: programs read the data, and call tools by their names."""

    is_contract = True


class _ObsidianCli(Dialect):
    name = "obsidian-cli"
    is_contract = True
    strict = True
    naming = PREFIXED
    results = ENVELOPE
    server = ("obsidian-mcp", "1.0.0")
    capabilities: ClassVar = {"tools": {}}
    instructions = False
    short_tools = True
    only_revision = "2024-11-05"
    most_seconds = 30.0
    failures: ClassVar = {
        "INVALID_ARGUMENTS": jsonrpc.INVALID_PARAMS,
        "CURSOR_EXPIRED": jsonrpc.INVALID_PARAMS,
        "INTERNAL": jsonrpc.INTERNAL_ERROR,
        "OBSIDIAN_NOT_RUNNING": -32001,  # the number in its table; its example has -32000
        "VAULT_NOT_FOUND": -32002,
        "FILE_NOT_FOUND": -32003,
        "AMBIGUOUS_NAME": -32004,
        "PERMISSION_DENIED": -32005,
        "PATH_OUTSIDE_VAULT": -32005,
        "POLICY_DENIED": -32005,
        "TIMEOUT": -32006,
    }
    other_failures = -32000
    headlines: ClassVar = {
        "OBSIDIAN_NOT_RUNNING": "Obsidian application is not running. Please start Obsidian and try again."
    }


class _Filesystem(Dialect):
    name = "filesystem"
    is_contract = True
    strict = True
    structured = True
    naming = KEBAB
    listed: ClassVar = {"search_notes": ("search-vault", "Search Vault")}
    # Its search is one of notes.
    defaults: ClassVar = {"write_note": {"allow_broken": True}, "search_notes": {"attachments": False}}
    notes_only: ClassVar = ("read_note", "write_note", "delete_note")
    failures: ClassVar = {
        "INVALID_ARGUMENTS": jsonrpc.INVALID_PARAMS,
        "CURSOR_EXPIRED": jsonrpc.INVALID_PARAMS,
        "AMBIGUOUS_NAME": jsonrpc.INVALID_PARAMS,
        "NOTE_EXISTS": jsonrpc.INVALID_PARAMS,
        "TOO_LARGE": jsonrpc.INVALID_PARAMS,
        "FILE_NOT_FOUND": -32002,
        "VAULT_NOT_FOUND": -32002,
        # The contract's text shows -32602 for a path that leads out, and defines -32003 as "access denied", which fits better.
        "PATH_OUTSIDE_VAULT": -32003,
        "PERMISSION_DENIED": -32003,
        "POLICY_DENIED": -32003,
        "INTERNAL": jsonrpc.INTERNAL_ERROR,
        "TIMEOUT": jsonrpc.INTERNAL_ERROR,  # the contract has no number for it
    }
    headlines: ClassVar = {
        "FILE_NOT_FOUND": "Note not found: {path}",
        "PATH_OUTSIDE_VAULT": "Path traversal detected: {message}",
        "TOO_LARGE": "File too large: {message}",
    }
    details: ClassVar = {"max_size": "maxSize"}
    facts: ClassVar = {"notes_searched": "filesSearched", "size": "contentLength"}


class _Secure(Dialect):
    name = "secure"
    is_contract = True
    strict = True
    results = BARE
    server = ("mcp-secure-local", "1.0.0")
    capabilities: ClassVar = {"tools": {"listChanged": True}}
    instructions = False
    short_tools = True
    not_initialized = jsonrpc.INTERNAL_ERROR
    early_ping = False
    confirmed = True
    unknown_tool = None
    failures: ClassVar = {"RATE_LIMITED": jsonrpc.INTERNAL_ERROR}
    failed_tools: ClassVar = {"web_search": "Search error: {message}"}


MCP = Dialect()
STRUCTURED = _Structured()
FOR_PROGRAMS = _ForPrograms()
OBSIDIAN_CLI = _ObsidianCli()
FILESYSTEM = _Filesystem()
SECURE = _Secure()
DIALECTS = {dialect.name: dialect for dialect in (MCP, OBSIDIAN_CLI, FILESYSTEM, SECURE)}
