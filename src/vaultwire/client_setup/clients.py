"""The clients in one table: which file each has on which system, under which key, in which form, and where that is written.

Only data. ``docs/clients.md`` gets its table from here (``scripts/generate.py``). In the path of a file, ``{NAME:default}``
is a variable of the environment and what holds without it; ``~`` is the person's home.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

Format: TypeAlias = Literal["json", "jsonc", "toml", "yaml"]
"""In ``yaml`` an entry is only printed: no file of that form is read or written."""
Scope: TypeAlias = Literal["user", "project"]
Link: TypeAlias = Literal["cursor", "vscode", "lmstudio", "goose"]

SCOPES: tuple[Scope, ...] = ("user", "project")

# Values in the form of an entry that stand for what is set up.
COMMAND, ARGUMENTS, COMMAND_LINE, URL, HEADERS, NAME = (
    "<command>",
    "<args>",
    "<command line>",
    "<url>",
    "<headers>",
    "<name>",
)
TOKEN_VARIABLE = "<variable of the key>"  # noqa: S105 - no password
"""In place of headers: the name of the variable that holds the key."""

_APP_DATA = "{APPDATA:~/AppData/Roaming}"
_LOCAL_APP_DATA = "{LOCALAPPDATA:~/AppData/Local}"
_XDG = "{XDG_CONFIG_HOME:~/.config}"
_MAC = "~/Library/Application Support"

_STDIO: Mapping[str, Any] = {"command": COMMAND, "args": ARGUMENTS}


class Place(NamedTuple):
    """Paths of a client's file, by system; the first that exists counts, else the first. ``*`` matches names."""

    linux: tuple[str, ...]
    darwin: tuple[str, ...]
    win32: tuple[str, ...]


def _everywhere(*paths: str) -> Place:
    return Place(paths, paths, paths)


class Client(NamedTuple):
    """A client: ``file`` is the person's own, ``project`` one in the folder of a project, empty for none.

    ``signs``: one of these folders or files is there if the client was ever started; none means that nobody can tell.
    ``reference``: how a value refers to a variable of the environment; empty if the client knows no such references.
    ``http``: the form of an entry for a server over HTTP; None if our own bridge (``vaultwire connect``) has to stand between.
    """

    title: str
    file: Place | None
    signs: Place
    source: str
    project: str = ""
    form: Format = "json"
    keys: tuple[str, ...] = ("mcpServers",)
    stdio: Mapping[str, Any] = _STDIO
    http: Mapping[str, Any] | None = None
    http_with_variable: Mapping[str, Any] | None = None
    reference: str = ""
    link: Link | None = None
    then: str = "Restart it."
    by_hand: str = ""

    @property
    def is_written(self) -> bool:
        """Whether ``install`` writes the client's file; else a person puts the entry in."""
        return self.file is not None and self.form != "yaml"


def _http(url: str = "url", **first: str) -> Mapping[str, Any]:
    return {**first, url: URL, "headers": HEADERS}


CLIENTS: dict[str, Client] = {
    "claude-desktop": Client(
        "Claude Desktop",
        Place(
            (f"{_XDG}/Claude/claude_desktop_config.json",),
            (f"{_MAC}/Claude/claude_desktop_config.json",),
            # The installer is an MSIX package since February 2026: such an app sees a copy of %APPDATA% of its own.
            (
                f"{_LOCAL_APP_DATA}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
                f"{_APP_DATA}/Claude/claude_desktop_config.json",
            ),
        ),
        Place(
            (f"{_XDG}/Claude",), (f"{_MAC}/Claude",), (f"{_LOCAL_APP_DATA}/Packages/Claude_*", f"{_APP_DATA}/Claude")
        ),
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers and, for Windows, "
        "https://github.com/anthropics/claude-code/issues/25579",
        then="Quit Claude Desktop (closing its window is not enough) and start it again.",
    ),
    "claude-code": Client(
        "Claude Code",
        _everywhere("{CLAUDE_CONFIG_DIR:~}/.claude.json"),
        _everywhere("{CLAUDE_CONFIG_DIR:~}/.claude.json", "~/.claude"),
        "https://code.claude.com/docs/en/mcp",
        project=".mcp.json",
        stdio={"type": "stdio", **_STDIO},
        http=_http(type="http"),
        reference="${%s}",
        then="Start a new session; /mcp lists its servers.",
    ),
    "cursor": Client(
        "Cursor",
        _everywhere("~/.cursor/mcp.json"),
        _everywhere("~/.cursor"),
        "https://cursor.com/docs/mcp",
        project=".cursor/mcp.json",
        form="jsonc",
        http=_http(),
        reference="${env:%s}",
        link="cursor",
        then="Restart Cursor, or switch vaultwire on under Settings, MCP.",
    ),
    "vscode": Client(
        "VS Code",
        Place((f"{_XDG}/Code/User/mcp.json",), (f"{_MAC}/Code/User/mcp.json",), (f"{_APP_DATA}/Code/User/mcp.json",)),
        Place((f"{_XDG}/Code",), (f"{_MAC}/Code",), (f"{_APP_DATA}/Code",)),
        "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
        project=".vscode/mcp.json",
        form="jsonc",
        keys=("servers",),
        stdio={"type": "stdio", **_STDIO},
        http=_http(type="http"),
        reference="${env:%s}",
        link="vscode",
        then="Run MCP: List Servers in VS Code, and start vaultwire there.",
    ),
    "codex": Client(
        "Codex",
        _everywhere("{CODEX_HOME:~/.codex}/config.toml"),
        _everywhere("{CODEX_HOME:~/.codex}"),
        "https://developers.openai.com/codex/mcp",
        project=".codex/config.toml",
        form="toml",
        keys=("mcp_servers",),
        http={"url": URL, "http_headers": HEADERS},
        http_with_variable={"url": URL, "bearer_token_env_var": TOKEN_VARIABLE},
        reference="%s",
        then="Start Codex again; /mcp lists its servers.",
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        _everywhere("~/.gemini/settings.json"),
        _everywhere("~/.gemini"),
        "https://geminicli.com/docs/tools/mcp-server",
        project=".gemini/settings.json",
        form="jsonc",
        http=_http("httpUrl"),
        reference="${%s}",
        then="Start Gemini CLI again; /mcp lists its servers.",
    ),
    "antigravity": Client(
        "Antigravity",
        _everywhere("~/.gemini/config/mcp_config.json"),
        _everywhere("~/.gemini/config", "~/.gemini/antigravity", "~/.gemini/antigravity-cli"),
        "https://antigravity.google/docs/cli/gcli-migration",
        form="jsonc",
        http=_http("serverUrl"),
        then="Restart Antigravity, or press Refresh under Manage MCP Servers.",
    ),
    "windsurf": Client(
        "Windsurf",
        _everywhere("~/.codeium/windsurf/mcp_config.json"),
        _everywhere("~/.codeium/windsurf"),
        "https://docs.windsurf.com/windsurf/cascade/mcp",
        form="jsonc",
        http=_http("serverUrl"),
        reference="${env:%s}",
        then="Press Refresh in Cascade's list of MCP servers.",
    ),
    "zed": Client(
        "Zed",
        Place((f"{_XDG}/zed/settings.json",), ("~/.config/zed/settings.json",), (f"{_APP_DATA}/Zed/settings.json",)),
        Place((f"{_XDG}/zed",), ("~/.config/zed",), (f"{_APP_DATA}/Zed",)),
        "https://zed.dev/docs/ai/mcp",
        form="jsonc",
        keys=("context_servers",),
        http=_http(),
        then="Zed reads the file at once: the dot beside vaultwire in the Agent Panel's settings turns green.",
    ),
    "lm-studio": Client(
        "LM Studio",
        _everywhere("~/.lmstudio/mcp.json"),
        _everywhere("~/.lmstudio"),
        "https://lmstudio.ai/docs/app/mcp",
        form="jsonc",
        http=_http(),
        link="lmstudio",
        then="Switch vaultwire on in LM Studio: Program, in the right sidebar.",
    ),
    "cline": Client(
        "Cline in VS Code",
        Place(
            *(
                (f"{base}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",)
                for base in (_XDG, _MAC, _APP_DATA)
            )
        ),
        Place(*((f"{base}/Code/User/globalStorage/saoudrizwan.claude-dev",) for base in (_XDG, _MAC, _APP_DATA))),
        "https://docs.cline.bot/mcp/mcp-overview",
        form="jsonc",
        http=_http(type="streamableHttp"),
        then="Press the button MCP Servers in Cline: vaultwire must be listed there.",
    ),
    "cline-cli": Client(
        "Cline's command line",
        _everywhere("{CLINE_DIR:~/.cline}/data/settings/cline_mcp_settings.json"),
        _everywhere("{CLINE_DIR:~/.cline}"),
        "https://docs.cline.bot/cli/configuration",
        form="jsonc",
        http=_http(type="streamableHttp"),
        then="Start Cline again; cline mcp lists its servers.",
    ),
    "jetbrains": Client(
        "JetBrains AI Assistant",
        None,
        _everywhere(),
        "https://www.jetbrains.com/help/ai-assistant/mcp.html",
        http=_http(),
        by_hand="It keeps its servers inside the IDE. Settings, Tools, AI Assistant, Model Context Protocol (MCP): press Add, "
        "and paste it as JSON.",
        then="Press Apply there; the icon in the column Status lists the tools.",
    ),
    "junie": Client(
        "Junie",
        _everywhere("~/.junie/mcp/mcp.json"),
        _everywhere("~/.junie"),
        "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
        project=".junie/mcp/mcp.json",
        http=_http(),
        then="Restart the IDE, or start the Junie command again.",
    ),
    "opencode": Client(
        "opencode",
        _everywhere(f"{_XDG}/opencode/opencode.json", f"{_XDG}/opencode/opencode.jsonc"),
        _everywhere(f"{_XDG}/opencode"),
        "https://opencode.ai/docs/mcp-servers and https://opencode.ai/docs/migrate-v1 (version 2 reads both forms)",
        project="opencode.json",
        form="jsonc",
        keys=("mcp",),
        stdio={"type": "local", "command": COMMAND_LINE},
        http=_http(type="remote"),
        reference="{env:%s}",
        then="Start opencode again; opencode mcp list shows its servers.",
    ),
    "goose": Client(
        "goose",
        Place(
            (f"{_XDG}/goose/config.yaml",),
            ("~/.config/goose/config.yaml",),
            (f"{_APP_DATA}/Block/goose/config/config.yaml",),
        ),
        Place((f"{_XDG}/goose",), ("~/.config/goose",), (f"{_APP_DATA}/Block/goose",)),
        "https://block.github.io/goose/docs/guides/config-files",
        form="yaml",
        keys=("extensions",),
        stdio={"enabled": True, "type": "stdio", "name": NAME, "cmd": COMMAND, "args": ARGUMENTS, "timeout": 300},
        http={"enabled": True, "type": "streamable_http", "name": NAME, "uri": URL, "headers": HEADERS, "timeout": 300},
        link="goose",
        then="Start a new goose session; goose configure lists its extensions.",
    ),
    "copilot-cli": Client(
        "GitHub Copilot CLI",
        _everywhere("{COPILOT_HOME:~/.copilot}/mcp-config.json"),
        _everywhere("{COPILOT_HOME:~/.copilot}"),
        "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
        form="jsonc",
        stdio={"type": "local", **_STDIO, "tools": ["*"]},
        http={**_http(type="http"), "tools": ["*"]},
        reference="${%s}",
        then="Start copilot again; /mcp show lists its servers.",
    ),
}
"""The clients, by the name that a person types."""

OUR_MEMBERS = frozenset(
    (
        "type",
        "command",
        "args",
        "url",
        "httpUrl",
        "serverUrl",
        "uri",
        "headers",
        "http_headers",
        "bearer_token_env_var",
        "cmd",
    )
)
"""Members of an entry that say how a server is reached. All others are the person's own and stay when it is renewed."""
