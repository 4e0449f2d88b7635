"""The text form of the official command: its arguments, errors and lists. Pure; it does not run the command.

Sources: the help page "Obsidian CLI" for commands and parameters, and observed outputs of versions 1.12 and 1.13 for the
rest: errors are lines that begin with ``Error:``, and the exit code is 0; an empty result is a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vaultwire.markdown.edits import to_plain
from vaultwire.obsidian.command import NOT_RUNNING, Finished
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    OBSIDIAN_FAILED,
    OBSIDIAN_NOT_RUNNING,
    VAULT_NOT_FOUND,
    VaultError,
)

_ERROR = "Error: "
# An app with an old installer prints this on stdout before its answer.
_PREAMBLE = re.compile(
    r"\A(?:(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Loading updated app package|Your Obsidian installer is out of date)"
    r"[^\n]*(?:\n|$))+"
)
_TURNED_OFF = "Command line interface is not enabled"
# "No tags found.", "No matches found.", "No workspaces saved."
_NOTHING = re.compile(r"No [a-z -]+ (?:found|saved)\.(?: [^\n]*)?")
_MISSING = re.compile(r'(?:File|Folder|Template|Property|Tag|Base|View|Heading) "[^"]*" not found\.')
_UNKNOWN_VAULT = re.compile(r"(?:Error: )?Vault (?:\"[^\"]*\" )?not found", re.IGNORECASE)
_AMBIGUOUS = re.compile(r"ambiguous|matches (?:multiple|several|\d+) files", re.IGNORECASE)
_CANDIDATE = re.compile(r"[^\s,;:\"'][^,;:\"'\n]*\.\w+")


def to_arguments(vault: str, command: str, values: Mapping[str, str], flags: Sequence[str]) -> list[str]:
    """Return the command line after the program's name; the vault must come first.

    Each value comes after its own ``name=``, so that no value looks like a flag, an option or another parameter.
    """
    return [f"vault={vault}", command, *(f"{name}={value}" for name, value in values.items()), *flags]


def check_answer(finished: Finished, text: str | None = None) -> str:
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
