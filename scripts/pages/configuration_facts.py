"""What docs/configuration.md says of files and of the policy's keys. Tests compare it with what the program does."""

from __future__ import annotations

from typing import NamedTuple


class UserFolder(NamedTuple):
    """A folder of the program's own, by system."""

    name: str
    variable: str
    linux: str
    macos: str
    windows: str


CACHE = UserFolder(
    "cache", "VAULTWIRE_CACHE", "~/.cache/vaultwire", "~/Library/Caches/vaultwire", r"%LOCALAPPDATA%\vaultwire"
)
STATE = UserFolder(
    "state",
    "VAULTWIRE_STATE",
    "~/.local/state/vaultwire",
    "~/Library/Application Support/vaultwire",
    r"%LOCALAPPDATA%\vaultwire-state",
)


class KnownFile(NamedTuple):
    """A file or folder. ``pattern`` is a place below the folder that its table is about; * stands for any characters."""

    pattern: str
    holds: str
    delete: str


OWN_FILES = {
    "cache": (
        KnownFile(
            "v*-*/",
            "The index of one vault, for one set of rules about what may be seen: words, links, tags, properties. It holds "
            "text of the notes. Indexes that no run has opened for a month are deleted.",
            "Yes, when no server runs. It is built again at the next start.",
        ),
    ),
    "state": (
        KnownFile(
            "journal-*/",
            "The record of the changes of one vault, with the bytes before and after each: what `undo` and `changes` read; "
            "also what waits for you, and what you decided. "
            "Kept for 90 days, and up to 500 MB for each vault.",
            "Only if you never want to undo these changes. Not while a server runs.",
        ),
        KnownFile(
            "keys/key-*.json",
            "The hash of one API key of `serve`. The key itself is not stored.",
            "With `vaultwire keys revoke NAME`: from then on the key is refused.",
        ),
        KnownFile(
            "editor/program.json",
            "How to start this program, for the companion plugin, written by `plugin install`.",
            "Yes. The plugin then starts the program only by the path in its settings.",
        ),
        KnownFile(
            "editor/*.json",
            "Port and secret of a running `ide`, for the companion plugin and for `mention` and `select`; and those of the "
            "last run, so that clients find it again after a restart.",
            "Yes, when no `ide` runs.",
        ),
        KnownFile(
            "desk/cookie-*.json",
            "The hash of the cookie of one browser in which the desk was opened. The cookie itself is not stored.",
            "With `vaultwire desk --sign-out`: from then on these browsers are refused.",
        ),
        KnownFile("desk/code-*.json", "The hash of one link of `vaultwire desk`, which works for ten minutes.", "Yes."),
        KnownFile(
            "desk/keys/key-*.json",
            "The hash of one key of the desk. The key itself is not stored.",
            "With `vaultwire keys revoke NAME`.",
        ),
        KnownFile(
            "desk/server-*",
            "Where a server with a desk runs, and the lock that it holds meanwhile.",
            "Yes, when no server runs.",
        ),
        KnownFile("desk/port-*", "The port of the last `vaultwire desk` of these vaults.", "Yes."),
        KnownFile(
            "editor/*.held", "Locked while an `ide` serves a vault, so that only one does.", "Yes, when no `ide` runs."
        ),
    ),
}

VAULT_FILES = (
    KnownFile(
        ".vaultwireignore",
        "Yours, optional. Lines as in a `.gitignore`: searches and lists leave these files out, beside those that Obsidian "
        "excludes. It keeps a vault tidy and is no protection: for that, use the policy.",
        "Yes.",
    ),
    KnownFile(
        "AGENTS.md`, `CLAUDE.md`, `_vaultwire.md",
        "Yours, optional, in the vault or in any folder: how you want it to be used. Of several in one folder, the first "
        "counts. Assistants are told its beginning, and read the rest with `vault_guide`.",
        "Yes.",
    ),
    KnownFile(
        "the folder of --prompts",
        "Yours, optional. Each note in it is a prompt that clients offer; `{{name}}` in its text is an argument.",
        "Yes.",
    ),
    KnownFile(
        "the folder of --skills-folder",
        "Yours, optional. Each folder in it with a `SKILL.md` is a skill that clients with that extension of MCP find.",
        "Yes.",
    ),
    KnownFile(
        ".trash/",
        "Obsidian's own trash. Deleted notes are moved here.",
        "Yes. `restore_note` may then need the journal.",
    ),
    KnownFile(
        "… (saved meanwhile, N-N).md",
        "A version that another program saved at the very moment of a change. Compare it with the note.",
        "When you have compared it.",
    ),
    KnownFile(
        ".vaultwire-*.tmp",
        "A file of a change that is under way. After a crash the next start removes it.",
        "No. It may hold the only copy of a text until then.",
    ),
    KnownFile(
        ".obsidian/plugins/vaultwire/", "The companion plugin, if you installed it.", "With `vaultwire plugin remove`."
    ),
)

READ_SETTINGS = {
    ".obsidian/app.json": "excluded files, folder of attachments and new notes, form of links, trash",
    ".obsidian/daily-notes.json": "folder, format and template of daily notes",
    ".obsidian/templates.json": "folder of templates, formats of date and time",
    ".obsidian/types.json": "types of properties",
    ".obsidian/community-plugins.json": "which of the two plugins below are switched on",
    ".obsidian/plugins/periodic-notes/data.json": "folders, formats and templates of weekly and other periodic notes",
    ".obsidian/plugins/obsidian-tasks-plugin/data.json": "form of tasks, and whether a done task gets its date",
    ".obsidian/plugins/dataview/data.json": "how queries of Dataview write dates and null in texts, names of their columns",
    ".obsidian/workspace.json": "which note is active, for `ide`",
}

ELSEWHERE = (
    KnownFile(
        "the file of --policy",
        "The rules for clients. Only read. Keep it outside the vault.",
        "No: the server does not start without it. Remove the option, too.",
    ),
    KnownFile(
        "the file or folder of --audit",
        "The audit log: `audit.jsonl` in a folder, older parts `audit.jsonl.000001` and so on. 10 MB each, the newest 50 stay.",
        "Yes. `vaultwire audit verify` then reports what is missing.",
    ),
    KnownFile(
        "the files of --tls-cert, --tls-key, --key-file, --ca-file",
        "Certificates and keys. Only read.",
        "They are yours.",
    ),
    KnownFile(
        "obsidian.json in Obsidian's own folder",
        "Obsidian's list of vaults. Only read. Linux `~/.config/obsidian` (also Flatpak's and Snap's), macOS "
        r"`~/Library/Application Support/obsidian`, Windows `%APPDATA%\obsidian`.",
        "No: it is Obsidian's.",
    ),
    KnownFile(
        "~/.claude/ide/PORT.lock",
        "By this file Claude Code finds a running `ide`. Removed at its end.",
        "Yes, when no `ide` runs.",
    ),
    KnownFile("~/.qwen/ide/PORT.lock", "The same for Qwen Code, with `ide --qwen`.", "Yes, when no `ide` runs."),
    KnownFile(
        "gemini/ide/gemini-ide-server-*.json in the temporary folder",
        "The same for Gemini CLI, with `ide --gemini`.",
        "Yes, when no `ide` runs.",
    ),
)

POLICY_KEYS = {
    "read_only": (
        "`true` or `false`",
        "`true`: no tool that changes notes is listed or run. The same as `--read-only`.",
    ),
    "write_quiet_seconds": (
        "0 to 60",
        "Edits of one note are written together once it was quiet for so many seconds. 0, the default: each at once.",
    ),
    "symlinks": ("`true` or `false`", "`true`: symbolic links are followed, to files that may be seen."),
    "paths.read": ("list of patterns", "Only these files may be seen."),
    "paths.write": ("list of patterns", "Only these files may be changed."),
    "paths.deny": ("list of patterns", "These files may be neither seen nor changed."),
    "paths.types": ("list of endings", 'Only files of these types may be seen: `["md", "png"]`.'),
    "private.tags": ("list of tags", "Notes with one of these tags, or one below it, are hidden."),
    "private.properties": ("list of `name` or `name=value`", "Notes with one of these properties are hidden."),
    "sizes.note": ("bytes", "The largest note that is read or written. At most {note:,}, which is the default."),
    "sizes.attachment": ("bytes", "The same for an attachment. At most {attachment:,}, which is the default."),
    "tools.allow": ("list of tools", "Only these tools may be used. `*` stands for any characters."),
    "tools.deny": (
        "list of tools",
        "These tools may not be used. It wins over `allow`. For one tool also `--no-tool`.",
    ),
    'clients."NAME".allow': (
        "list of tools",
        "Only these, for one client: the name of its key, or its own. `*` for all others.",
    ),
    'clients."NAME".deny': ("list of tools", "Not these, for one client."),
    "network.hosts": ("list of hosts", "Hosts that `web_search` may ask. The same as `--allow-web`."),
    "network.attachments": (
        "list of hosts",
        "Hosts from which attachments may be fetched, as with `--attachments-from`.",
    ),
    "review.mode": (
        '`"record"`, `"hold"` or `"ask"`',
        "For the changes that a `[[review]]` table matches: make them, let them wait for the person, or ask the person now.",
    ),
    "review.clients": ("list of clients", "Only for these: the names of their keys, or their own. `*` for all."),
    "review.folders": ("list of folders", "Only for changes of a file in one of these, before or after a move."),
    "review.tools": ("list of tools", "Only for these tools. `*` stands for any characters."),
    "review.above_notes": ("number", "Only for changes of more notes than this."),
    "review.above_bytes": ("bytes", "Only for changes that write more bytes than this."),
}
"""The keys of the policy file with their tables, what a value is, and what it does."""

ALSO_IN_POLICY = {
    "--read-only": "read_only",
    "--no-tool": "tools.deny",
    "--allow-web": "network.hosts",
    "--attachments-from": "network.attachments",
}
"""The options that the policy file can give, too, with its keys."""
