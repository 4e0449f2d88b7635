"""What the official command is told and what it says, as text: arguments, errors, lists. Pure.

Sources: the help page "Obsidian CLI" for commands and parameters, and observed outputs of versions 1.12 and 1.13 where it
is silent: errors are lines that begin with ``Error:`` and the exit code is 0; what finds nothing says so in a sentence,
also where JSON was asked for; numbers in JSON may be texts.
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
# What an app whose installer is old says on stdout before its answer.
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
    """Return the command line behind the program's name; the vault comes first, as the command wants it.

    Every value stands behind its own ``name=``, so that none is taken for a flag, an option or another parameter.
    """
    return [f"vault={vault}", command, *(f"{name}={value}" for name, value in values.items()), *flags]


def to_content(text: str) -> str | None:
    r"""Return a text as ``content=`` takes it: ``\n`` for a newline, ``\t`` for a tab. None if it cannot be said so.

    The command knows no escape for its escapes: a text that holds a backslash before n or t, as formulas do (``\nu``,
    ``\times``), would come out as another one.
    """
    if _UNESCAPED.search(text) or "\0" in text or len(text) > MAX_CONTENT_CHARACTERS:
        return None
    return text.replace("\n", "\\n").replace("\t", "\\t")


def check(finished: Finished, text: str | None = None) -> str:
    """Return what the command said, without the line end it puts behind that. Raises VaultError for what is an error.

    ``text``: the answer is a note's own text, as far as is known this one, which may itself begin like an error; what is
    another text is one if it is a single line.
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
    """Raise the VaultError that fits."""
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
    """Return the lines of a list, none for a sentence that says there are none."""
    return [] if _NOTHING.fullmatch(said) else [line for line in said.split("\n") if line.strip()]


def to_objects(said: str) -> list[dict[str, Any]]:
    """Return the objects of a list in JSON. Raises VaultError (OBSIDIAN_FAILED) for what is none."""
    value = to_json(said)
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return value
    raise _not_understood(said)


def to_json(said: str) -> Any:
    """Return what stands in JSON, an empty list for a sentence that says there is nothing. Raises VaultError."""
    if not said.strip() or _NOTHING.fullmatch(said.strip()):
        return []
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        raise _not_understood(said) from None


def to_properties(said: str) -> dict[str, Any]:
    """Return a note's properties, which come in JSON or, from early versions, in YAML whatever is asked for."""
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
    shown = said if len(said) <= 200 else f"{said[:200]}…"  # noqa: PLR2004 - enough to see what it is
    return VaultError(OBSIDIAN_FAILED, f"Obsidian answered in a form that is not known here: {shown!r}.")
