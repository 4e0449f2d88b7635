"""``vaultwire doctor``: is this computer, this vault and this start-up as it should be?"""

from __future__ import annotations

import json
import platform
import statistics
import sys
from typing import Any

from vaultwire import __version__
from vaultwire.app import engine
from vaultwire.cli.client_config import server_command
from vaultwire.cli.conversation import Conversation, ServerEndedError
from vaultwire.config import Config
from vaultwire.obsidian.known_vaults import known_vaults
from vaultwire.transports.lock_file import gemini_folder, listed, lock_folders, qwen_folder

_STARTS = 5
# More problems than this are counted, not listed: the first ones show what is the matter.
_MAX_PROBLEMS = 20
_CONTRACT_MILLISECONDS = 100  # "initialize response: <100ms"


def run(config: Config, *, as_json: bool) -> int:
    """Print the report, of several vaults one for each; return 1 if something is wrong, else 0."""
    reports = {name: _examine(config.alone(name)) for name in config.vaults}
    if as_json:
        shown: dict[str, Any] = reports if len(reports) > 1 else next(iter(reports.values()))
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        texts = [(f"{name}\n\n" if len(reports) > 1 else "") + _to_text(report) for name, report in reports.items()]
        print("\n\n".join(texts))
    return 0 if all(report["healthy"] for report in reports.values()) else 1


def _examine(config: Config) -> dict[str, Any]:
    found = engine.survey_vault(config)
    problems = [f"{problem.path}: {problem.problem}" for problem in found.problems]
    index = engine.examine_index(config)
    journal = engine.examine_journal(config)
    start: dict[str, Any] = {"runs": _STARTS}
    try:
        times = [_time_start(config) for _ in range(_STARTS)]
    except (ServerEndedError, RuntimeError) as error:
        start["error"] = str(error)
    else:
        start |= {"median_ms": round(statistics.median(times), 1), "slowest_ms": round(max(times), 1)}
    return {
        "healthy": not problems and not journal.problem and "error" not in start,
        "environment": {
            "vaultwire": __version__,
            "python": platform.python_version(),
            "system": platform.platform(terse=True),
            "command": server_command(),
            "file_system_encoding": sys.getfilesystemencoding(),
            "obsidian_vaults": {vault.path: vault.name for vault in known_vaults()},
        },
        "vault": {
            "path": config.vault,
            "notes": found.notes,
            "note_bytes": found.note_bytes,
            "other_files": found.other_files,
            "has_obsidian_folder": found.has_obsidian_folder,
            "writable": found.writable,
            "problems": problems,
        },
        "index": {
            "folder": index.folder,
            "not_kept_because": index.not_kept or None,
            "brought_up_to_date_ms": round(index.seconds * 1000, 1),
            "watched": not index.not_watched,
            "not_watched_because": index.not_watched or None,
        },
        "journal": {
            "folder": journal.folder,
            "changes": journal.changes,
            "not_kept_because": journal.problem or None,
        },
        "policy": config.policy,
        "editors": {
            "folders": lock_folders(),
            "listed": [editor._asdict() for folder in lock_folders() for editor in listed(folder, config.vault)],
        },
        "companions": {
            client: {"folder": folder, "listed": [editor._asdict() for editor in listed(folder, config.vault)]}
            for client, folder in (("Gemini CLI", gemini_folder()), ("Qwen Code", qwen_folder()))
        },
        "start": start,
    }


def _time_start(config: Config) -> float:
    policy = [] if config.policy is None else ["--policy", config.policy]
    with Conversation([*server_command(), "stdio", "--vault", config.vault, *policy]) as talk:
        return talk.initialize()[1]


def _to_text(report: dict[str, Any]) -> str:
    environment, vault, start = report["environment"], report["vault"], report["start"]
    lines = [
        "Environment",
        f"  vaultwire {environment['vaultwire']}, Python {environment['python']}, {environment['system']}",
        f"  started as {' '.join(environment['command'])}",
        "  Obsidian knows "
        + (", ".join(sorted({*environment["obsidian_vaults"].values()})) or "no vaults on this computer"),
        "Vault",
        f"  {vault['path']}",
        f"  {vault['notes']} notes, {vault['note_bytes'] / 1e6:.1f} MB; {vault['other_files']} other files",
        "  "
        + ("an Obsidian vault (.obsidian is there)" if vault["has_obsidian_folder"] else "a plain folder of notes"),
    ]
    if not vault["writable"]:
        lines.append("  the vault's folder cannot be written to: notes can be read, not changed")
    problems = vault["problems"]
    lines.append(f"  {len(problems)} problems" + (":" if problems else ""))
    lines += [f"  - {problem}" for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        lines.append(f"  … and {len(problems) - _MAX_PROBLEMS} more (--json lists all)")
    index = report["index"]
    lines += ["Index", f"  kept in {index['folder'] or 'memory: ' + index['not_kept_because']}"]
    lines.append(f"  brought up to date in {index['brought_up_to_date_ms']} ms")
    lines.append(
        "  changes made by other programs are seen as they happen"
        if index["watched"]
        else f"  every call looks for changes first, because the vault cannot be watched: {index['not_watched_because']}"
    )
    journal = report["journal"]
    lines += ["Journal", f"  {journal['changes']} changes on record in {journal['folder']}"]
    if journal["not_kept_because"]:
        lines.append(f"  notes cannot be changed, because changes cannot be recorded: {journal['not_kept_because']}")
    lines += ["Policy", f"  {report['policy'] or 'none: every client may read and change all notes'}"]
    lines += ["Claude Code", *_editor_lines(report["editors"])]
    lines += ["Gemini CLI and Qwen Code", *_companion_lines(report["companions"]), "Start"]
    if "error" in start:
        lines.append(f"  FAILED: {start['error']}")
    else:
        verdict = "" if start["median_ms"] <= _CONTRACT_MILLISECONDS else f" (should be under {_CONTRACT_MILLISECONDS})"
        lines.append(f"  spawn to initialize: {start['median_ms']} ms, median of {start['runs']}{verdict}")
    lines.append("All is well." if report["healthy"] else "Something needs your attention, see above.")
    return "\n".join(lines)


def _editor_lines(editors: dict[str, Any]) -> list[str]:
    """Return what Claude Code's /ide list has for the vault, and what to do where that is not what one wants."""
    found = editors["listed"]
    lines = [f"  /ide lists {editor['name']} (port {editor['port']}) for this vault" for editor in found]
    if not any(editor["is_ours"] for editor in found):
        lines.append(
            "  /ide does not list this vault: vaultwire ide does not run for it, or with another CLAUDE_CONFIG_DIR"
        )
        lines.append(f"  than this command (what is listed is looked for in {' and '.join(editors['folders'])})")
    if len(found) > 1:
        lines.append("  as there are several, claude --ide connects to none by itself: choose one in /ide")
    return lines


def _companion_lines(companions: dict[str, Any]) -> list[str]:
    """Return what these clients find for the vault."""
    lines = [
        f"  {client} finds {editor['name']} (port {editor['port']}) for this vault"
        for client, editors in companions.items()
        for editor in editors["listed"]
    ]
    for client, editors in companions.items():
        if not any(editor["is_ours"] for editor in editors["listed"]):
            lines.append(f"  no vaultwire ide --{client.split()[0].lower()} for this vault in {editors['folder']}")
        if len(editors["listed"]) > 1:
            lines.append(f"  as there are several, {client} takes one by itself (docs/gemini-cli.md)")
    return lines
