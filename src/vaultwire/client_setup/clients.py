"""The clients in one table: which file each has on which system, under which key, in which form, and where that is written.

Also the entry itself, and the one-click links. ``docs/clients.md`` gets its table from here (``scripts/generate.py``). In the
path of a file, ``{NAME:default}`` is a variable of the environment and what holds without it; ``~`` is the person's home.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

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


class SkillFolders(NamedTuple):
    """Where a client reads skills: in the person's home, and in the folder of a project; and where that is written."""

    user: str
    project: str
    source: str


class Hooks(NamedTuple):
    """Where a client reads hooks, as paths of a file in JSON: in the person's home, and in the folder of a project.

    ``events``: which of ours (``vaultwire memory start|compact|stop``) belongs to which event of the client.
    """

    user: str
    project: str
    events: Mapping[str, str]
    source: str
    then: str = "start a new session"
    in_milliseconds: bool = False


def _shared_skills(source: str) -> SkillFolders:
    """Return the folders that many clients read: one installation there is for all of them."""
    return SkillFolders("~/.agents/skills", ".agents/skills", source)


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
    skills: SkillFolders | None = None
    hooks: Hooks | None = None
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
        skills=SkillFolders(
            "{CLAUDE_CONFIG_DIR:~/.claude}/skills", ".claude/skills", "https://code.claude.com/docs/en/skills"
        ),
        hooks=Hooks(
            "{CLAUDE_CONFIG_DIR:~/.claude}/settings.json",
            ".claude/settings.json",
            {"SessionStart": "start", "PreCompact": "compact", "Stop": "stop"},
            "https://code.claude.com/docs/en/hooks",
        ),
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
        skills=_shared_skills("https://cursor.com/docs/skills"),
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
        skills=_shared_skills("https://code.visualstudio.com/docs/agent-customization/agent-skills"),
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
        skills=_shared_skills("https://developers.openai.com/codex/skills"),
        hooks=Hooks(
            "{CODEX_HOME:~/.codex}/hooks.json",
            ".codex/hooks.json",
            {"SessionStart": "start", "Stop": "stop"},
            "https://developers.openai.com/codex/hooks",
            "start Codex again and trust the hooks in /hooks",
        ),
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
        skills=_shared_skills("https://geminicli.com/docs/cli/using-agent-skills"),
        hooks=Hooks(
            "~/.gemini/settings.json",
            ".gemini/settings.json",
            {"SessionStart": "start", "AfterAgent": "stop"},
            "https://geminicli.com/docs/hooks/reference",
            in_milliseconds=True,
        ),
        then="Start Gemini CLI again; /mcp lists its servers.",
    ),
    "antigravity": Client(
        "Antigravity",
        _everywhere("~/.gemini/config/mcp_config.json"),
        _everywhere("~/.gemini/config", "~/.gemini/antigravity", "~/.gemini/antigravity-cli"),
        "https://antigravity.google/docs/cli/gcli-migration",
        form="jsonc",
        http=_http("serverUrl"),
        skills=SkillFolders("~/.gemini/config/skills", ".agents/skills", "https://antigravity.google/docs/skills"),
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
        skills=SkillFolders(
            "~/.codeium/windsurf/skills", ".windsurf/skills", "https://docs.windsurf.com/windsurf/cascade/skills"
        ),
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
        skills=_shared_skills("https://www.skills.sh/zed-industries/zed/create-skill"),
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
        skills=SkillFolders("~/.cline/skills", ".cline/skills", "https://docs.cline.bot/customization/skills"),
        then="Press the button MCP Servers in Cline: vaultwire must be listed there.",
    ),
    "cline-cli": Client(
        "Cline's command line",
        _everywhere("{CLINE_DIR:~/.cline}/data/settings/cline_mcp_settings.json"),
        _everywhere("{CLINE_DIR:~/.cline}"),
        "https://docs.cline.bot/cli/configuration",
        form="jsonc",
        http=_http(type="streamableHttp"),
        skills=SkillFolders("{CLINE_DIR:~/.cline}/skills", ".cline/skills", "https://docs.cline.bot/cli/configuration"),
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
        skills=SkillFolders("~/.junie/skills", ".junie/skills", "https://www.jetbrains.com/help/air/skills.html"),
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
        skills=_shared_skills("https://opencode.ai/docs/skills"),
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
        skills=_shared_skills("https://block.github.io/goose/docs/guides/context-engineering/using-skills"),
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
        skills=_shared_skills(
            "https://docs.github.com/en/copilot/how-tos/copilot-on-github/customize-copilot/customize-cloud-agent/add-skills"
        ),
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


# ---------------------------------------------------------------------- what can go wrong


class SetupError(Exception):
    """A client cannot be set up; the message is for a person: what is wrong, and what would be right."""


class BrokenFileError(SetupError):
    """A client's file cannot be read as what it should be. Nothing was written."""

    def __init__(self, words: str, line: int, column: int) -> None:
        """Remember what is wrong, and where; lines and columns count from 1."""
        super().__init__(f"line {line}, column {column}: {words}")
        self.line, self.column = line, column


class NotEditableError(SetupError):
    """A file is valid, but written in a form in which our entry cannot be put without changing other bytes."""


# ---------------------------------------------------------------------- where the files are

_VARIABLE = re.compile(r"\{(\w+):([^}]*)\}")


class System(NamedTuple):
    """A computer as far as paths depend on it: ``platform`` is that of ``sys``. Nothing here asks which one it runs on."""

    platform: str
    environment: Mapping[str, str]
    home: str
    folder: str
    """The working directory: the project."""


class ClientFile(NamedTuple):
    """A client's file: its path, and whether the client seems to be installed here."""

    path: str
    is_installed: bool


def find_file(client: Client, scope: Scope, system: System) -> ClientFile:
    """Return where the file of a client is, or would be. Raises SetupError if the client has none of this scope."""
    if client.file is None:
        raise SetupError(f"{client.title} has no file that another program may write")
    if scope == "project" and not client.project:
        raise SetupError(
            f"{client.title} has no file for a project. Leave --scope out: the file for you works everywhere"
        )
    return _place(client, scope, system, shown_path(client, system), client.project)


def find_hooks(client: Client, scope: Scope, system: System) -> ClientFile:
    """Return the file in which a client reads hooks. Raises SetupError if it has none."""
    if client.hooks is None:
        titles = ", ".join(each.title for each in CLIENTS.values() if each.hooks)
        raise SetupError(f"{client.title} runs no hooks that vaultwire knows. These do: {titles}")
    return _place(client, scope, system, _expand(client.hooks.user, system), client.hooks.project)


def find_skills(client: Client, scope: Scope, system: System) -> ClientFile:
    """Return the folder in which a client reads skills. Raises SetupError if it reads none."""
    if client.skills is None:
        titles = ", ".join(each.title for each in CLIENTS.values() if each.skills)
        raise SetupError(f"{client.title} reads no folder of skills. These do: {titles}")
    return _place(client, scope, system, _expand(client.skills.user, system), client.skills.project)


def _place(client: Client, scope: Scope, system: System, user: str, project: str) -> ClientFile:
    if scope == "project":
        return ClientFile(_in_project(project, system), is_installed=True)
    return ClientFile(user, any(_matches(sign, system) for sign in _of(client.signs, system)))


def _in_project(path: str, system: System) -> str:
    """Return a path within the project. Raises SetupError if it leads out of it: a project may come from somebody else."""
    path = os.path.join(system.folder, *path.split("/"))
    folder = os.path.join(os.path.realpath(system.folder), "")
    if not os.path.realpath(path).startswith(folder):
        raise SetupError(f"{path} is a link that leads out of the project, to {os.path.realpath(path)}")
    return path


def shown_path(client: Client, system: System) -> str:
    """Return the path of the person's own file; of several, the one that the client reads."""
    paths = _of(client.file, system) if client.file else ()
    for path in paths:
        matches = _matches(path, system)
        if matches:
            return matches[0]
        package, star, rest = path.partition("*")
        folders = _matches(package + star, system) if star else []
        if folders:  # the package of an app is here, but not yet the file: the app will read it there
            return os.path.normpath(folders[0] + rest)
    return _expand(next(path for path in paths if "*" not in path), system)


def _of(place: Place, system: System) -> tuple[str, ...]:
    return {"darwin": place.darwin, "win32": place.win32}.get(system.platform, place.linux)


def _matches(path: str, system: System) -> list[str]:
    """Return what exists of a path, the last changed first."""
    expanded = _expand(path, system)
    if "*" not in path:
        return [expanded] if os.path.lexists(expanded) else []
    # What comes from the environment may have characters that glob takes for its own.
    fixed, star, rest = path.partition("*")
    found = glob.glob(f"{glob.escape(_expand(fixed, system))}{star}{rest}")
    return sorted(found, key=lambda each: -os.stat(each).st_mtime)


def _expand(path: str, system: System) -> str:
    def value(variable: re.Match[str]) -> str:
        given = system.environment.get(variable[1], "")
        return given if os.path.isabs(given) or given[1:2] == ":" else variable[2]

    expanded = _VARIABLE.sub(value, path)
    if expanded.startswith("~"):
        expanded = system.home + expanded[1:]
    return os.path.normpath(expanded) + ("/" if path.endswith("/") else "")


# ---------------------------------------------------------------------- entries
#
# The entry of a server in a client's file, as plain data: a command that the client starts, or an address over HTTP.

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Http(NamedTuple):
    """A server over HTTP. Its key is the text ``key``, or in the variable of the environment that ``variable`` names."""

    url: str
    key: str = ""
    variable: str = ""
    key_file: str = ""


def stdio_entry(client: Client, name: str, command: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a server that the client starts. Raises SetupError."""
    for word in command:
        if any("\ud800" <= character <= "\udfff" for character in word):  # how Python holds bytes that are not UTF-8
            raise SetupError(
                f"{word!r} is not UTF-8, and files of clients hold no other text. Rename that folder or file"
            )
    program, *arguments = command
    values = {
        NAME: name,
        COMMAND: program,
        ARGUMENTS: arguments,
        COMMAND_LINE: list(command),
    }
    return _filled(client.stdio, values)


def http_entry(client: Client, name: str, server: Http, bridge: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a server over HTTP. ``bridge``: the command of ``vaultwire``. Raises SetupError.

    A client that knows only servers which it starts gets ``vaultwire connect``, which reads the key from its file.
    """
    if client.http is None:
        if server.variable:
            raise SetupError(
                f"{client.title} starts vaultwire connect for a server over HTTP, without your environment: "
                "give --key-file FILE instead of --key-env"
            )
        key_file = ["--key-file", server.key_file] if server.key_file else []
        return stdio_entry(client, name, [*bridge, "connect", server.url, *key_file])
    form = client.http
    headers = {}
    if server.variable:
        if not client.reference:
            raise SetupError(
                f"{client.title} does not read variables of the environment in its file: give --key-file FILE. The key is then "
                "in the client's file, which only you can read"
            )
        form = client.http_with_variable or form
        headers = {"Authorization": "Bearer " + client.reference % server.variable}
    elif server.key:
        headers = {"Authorization": f"Bearer {server.key}"}
    values = {
        NAME: name,
        URL: endpoint(server.url),
        HEADERS: headers or None,
        TOKEN_VARIABLE: server.variable,
    }
    return _filled(form, values)


def _filled(form: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    filled = {member: values.get(value, value) if isinstance(value, str) else value for member, value in form.items()}
    return {member: value for member, value in filled.items() if value is not None}


def renewed(entry: Mapping[str, Any], before: Any) -> dict[str, Any]:
    """Return an entry with what the person had added to the one before, such as ``disabled`` or ``env``."""
    kept = dict(before) if isinstance(before, Mapping) else {}
    return {
        **entry,
        **{key: value for key, value in kept.items() if key not in entry and key not in OUR_MEMBERS},
    }


def endpoint(url: str) -> str:
    """Return the address of a server's MCP endpoint: a bare one gets ``/mcp``. Raises SetupError."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not url.isprintable() or " " in url:
        raise SetupError(
            f"not a URL of a server: {url!r}. Give one such as https://notes.example.org or http://127.0.0.1:3000"
        )
    if parts.username is not None or parts.password is not None:
        raise SetupError("a password in a URL ends in logs. Give the key with --key-env VARIABLE or --key-file FILE")
    return f"{url.rstrip('/')}/mcp" if parts.path in ("", "/") and not parts.query else url


def check_name(name: str) -> None:
    """Raise SetupError unless every client takes the name of a server."""
    if _NAME.fullmatch(name) is None:
        raise SetupError(
            f"not a name that every client takes: {name!r}. Use letters, digits, - and _, at most 64 of them"
        )


def check_variable(name: str) -> None:
    """Raise SetupError unless this can be the name of a variable. A key itself may look like one, so it is not repeated."""
    if _VARIABLE_NAME.fullmatch(name) is None:
        raise SetupError("--key-env takes the name of a variable, such as VAULTWIRE_KEY, and not the key itself")


# ---------------------------------------------------------------------- links
#
# One-click links: a click lets the client ask whether it shall add our server. A link never carries a key.
#
# Sources: https://cursor.com/docs/mcp/install-links, https://code.visualstudio.com/api/extension-guides/ai/mcp,
# https://lmstudio.ai/docs/app/mcp/deeplink, https://block.github.io/goose/docs/getting-started/using-extensions.

# goose refuses links that start any other program.
_GOOSE_STARTS = ("jbang", "npx", "uvx", "goosed", "docker")
_ABOUT = "Reads, searches and safely edits the notes of an Obsidian vault"


def link(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """Return the link that adds an entry to a client. Raises SetupError if the client has no such links."""
    if client.link == "cursor":
        return f"cursor://anysphere.cursor-deeplink/mcp/install?name={quote(name, safe='')}&config={_base64(entry)}"
    if client.link == "vscode":
        config = json.dumps({"name": name, **entry}, ensure_ascii=False, separators=(",", ":"))
        return f"vscode:mcp/install?{quote(config, safe='')}"
    if client.link == "lmstudio":
        return f"lmstudio://add_mcp?name={quote(name, safe='')}&config={_base64(entry)}"
    if client.link == "goose":
        return _goose(name, entry)
    titles = ", ".join(each.title for each in CLIENTS.values() if each.link)
    raise SetupError(f"{client.title} has no one-click links. These have: {titles}")


def _goose(name: str, entry: Mapping[str, Any]) -> str:
    about = [("id", name), ("name", name), ("description", _ABOUT), ("timeout", "300")]
    if "uri" in entry:
        return _query([("url", entry["uri"]), ("type", "streamable_http"), *about])
    command = str(entry["cmd"])
    if os.path.splitext(command)[0] not in _GOOSE_STARTS:
        raise SetupError(
            f"goose takes links only for programs started by {', '.join(_GOOSE_STARTS)}, and this one is {command}. "
            "Run vaultwire client-config goose instead"
        )
    return _query([("cmd", command), *(("arg", each) for each in entry["args"]), *about])


def _query(values: Sequence[tuple[str, str]]) -> str:
    return f"goose://extension?{urlencode(values, quote_via=quote)}"


def _base64(entry: Mapping[str, Any]) -> str:
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    return quote(base64.b64encode(text.encode()).decode(), safe="")
