"""The text form of the official command: its arguments, errors and lists. Pure; it does not run the command.

Sources: the help page "Obsidian CLI" for commands and parameters, and observed outputs of versions 1.12 and 1.13 for the
rest: errors are lines that begin with ``Error:``, and the exit code is 0; an empty result is a sentence, also where JSON was
asked for; numbers in JSON may be texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.obsidian.command import NOT_RUNNING, Finished
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    OBSIDIAN_FAILED,
    OBSIDIAN_NOT_RUNNING,
    VAULT_NOT_FOUND,
    VaultError,
)

# Linux takes no argument of 128 KiB or more, Windows no command line above 32,767 characters; a newline takes two.
MAX_CONTENT_CHARACTERS = 15_000

_ERROR = "Error: "
# An app with an old installer prints this on stdout before its answer.
_PREAMBLE = re.compile(
    r"\A(?:(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Loading updated app package|Your Obsidian installer is out of date)"
    r"[^\n]*(?:\n|$))+"
)
_TURNED_OFF = "Command line interface is not enabled"
# "No tags found.", "No matches found.", "No workspaces saved."
_NOTHING = re.compile(r"No [a-z -]+ (?:found|saved)\.(?: [^\n]*)?")
_UNESCAPED = re.compile(r"\\[nt]")
_MISSING = re.compile(r'(?:File|Folder|Template|Property|Tag|Base|View|Heading) "[^"]*" not found\.')
_UNKNOWN_VAULT = re.compile(r"(?:Error: )?Vault (?:\"[^\"]*\" )?not found", re.IGNORECASE)
_AMBIGUOUS = re.compile(r"ambiguous|matches (?:multiple|several|\d+) files", re.IGNORECASE)
_CANDIDATE = re.compile(r"[^\s,;:\"'][^,;:\"'\n]*\.\w+")


def to_arguments(vault: str, command: str, values: Mapping[str, str], flags: Sequence[str]) -> list[str]:
    """Return the command line after the program's name; the vault must come first.

    Each value comes after its own ``name=``, so that no value looks like a flag, an option or another parameter.
    """
    return [f"vault={vault}", command, *(f"{name}={value}" for name, value in values.items()), *flags]


def to_content(text: str) -> str | None:
    r"""Return a text for ``content=``: ``\n`` for a newline, ``\t`` for a tab. None if that cannot express it.

    The command has no escape for the backslash: a text with a backslash before n or t, as in formulas (``\nu``,
    ``\times``), would be changed.
    """
    if _UNESCAPED.search(text) or "\0" in text or len(text) > MAX_CONTENT_CHARACTERS:
        return None
    return text.replace("\n", "\\n").replace("\t", "\\t")


def check(finished: Finished, text: str | None = None) -> str:
    """Return the command's output without its last line end. Raises VaultError for an error.

    ``text``: the answer should be this text of a note, which may itself begin like an error. Another answer that begins so
    is an error if it is a single line.
    """
    said = to_plain(finished.output).removesuffix("\n")
    if said != text:
        said = _PREAMBLE.sub("", said)
    if finished.code != 0:
        _fail(to_plain(finished.errors).strip() or said.strip() or f"it ended with exit code {finished.code}")
    may_be_error = text is None or (said != text and "\n" not in said)
    if may_be_error and (said.startswith((_ERROR, _TURNED_OFF)) or _UNKNOWN_VAULT.match(said)):
        _fail(said.removeprefix(_ERROR))
    return said


def _fail(why: str) -> None:
    """Raise the VaultError for an error text."""
    if "unable to find Obsidian" in why:
        raise VaultError(OBSIDIAN_NOT_RUNNING, NOT_RUNNING)
    if _UNKNOWN_VAULT.match(why):
        raise VaultError(
            VAULT_NOT_FOUND, "The running Obsidian does not know this vault. Open it there, then try again."
        )
    if why.startswith(_TURNED_OFF):
        raise VaultError(
            OBSIDIAN_FAILED,
            "Obsidian's command is turned off. Turn it on in Settings, General, Command line interface.",
        )
    if _MISSING.search(why):
        raise VaultError(FILE_NOT_FOUND, f"Obsidian says: {why}")
    if _AMBIGUOUS.search(why):
        candidates = [match.strip() for match in _CANDIDATE.findall(why.partition(":")[2] or why)]
        raise VaultError(AMBIGUOUS_NAME, f"Obsidian says: {why}", candidates=candidates)
    raise VaultError(OBSIDIAN_FAILED, f"Obsidian says: {why}")


def to_lines(said: str) -> list[str]:
    """Return the lines of a list; none for the sentence of an empty list."""
    return [] if _NOTHING.fullmatch(said) else [line for line in said.split("\n") if line.strip()]


def to_objects(said: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON list. Raises VaultError (OBSIDIAN_FAILED) for anything else."""
    value = to_json(said)
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return value
    raise _not_understood(said)


def to_json(said: str) -> Any:
    """Return a JSON value; an empty list for the sentence of an empty result. Raises VaultError."""
    if not said.strip() or _NOTHING.fullmatch(said.strip()):
        return []
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        raise _not_understood(said) from None


def to_properties(said: str) -> dict[str, Any]:
    """Return a note's properties from JSON, or from YAML, which early versions always print."""
    if not said.strip() or _NOTHING.fullmatch(said.strip()):
        return {}
    if said.lstrip().startswith("{"):
        value = to_json(said)
        if isinstance(value, dict):
            return value
        raise _not_understood(said)
    found = parse_frontmatter(f"---\n{said}\n---\n")
    if found.problems:
        raise _not_understood(said)
    return dict(found.values)


def to_int(value: Any) -> int:
    """Return a number that may come as a text. Raises VaultError (OBSIDIAN_FAILED)."""
    try:
        return int(value)
    except (TypeError, ValueError):
        raise _not_understood(str(value)) from None


def _not_understood(said: str) -> VaultError:
    start = said if len(said) <= 200 else f"{said[:200]}…"  # noqa: PLR2004 - enough to recognize it
    return VaultError(OBSIDIAN_FAILED, f"Obsidian answered in an unknown form: {start!r}.")
