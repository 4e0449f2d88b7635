"""``vaultwire mention`` and ``vaultwire select``: show a note to the assistants at a running ``vaultwire ide``."""

from __future__ import annotations

import argparse
import json
import os
import re
from typing import Any

from vaultwire.cli import run_options
from vaultwire.cli.command import EDITORS, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.desk.command_api import KEY_HEADER, NOBODY, PATH, PRIVATE

_LINES = re.compile(r"(.+?)(?:#L([1-9][0-9]*)(?:-L?([1-9][0-9]*))?)?", re.DOTALL)
_SECONDS = 10.0
_MAX_ANSWER = 1 << 16


def _add_options(parser: argparse.ArgumentParser) -> None:
    run_options.add_vault(parser)
    parser.add_argument(
        "note",
        metavar="NOTE[#PART]",
        help="the note: a path in the vault or a name; and perhaps lines: #L2-L5 (counted from 1), #Heading or #^block",
    )


@command(
    "mention",
    EDITORS,
    "mention a note to the assistants that use a running vaultwire ide",
    "vaultwire mention 'Garden plan#L2-L5' --vault ~/Notes",
    options=_add_options,
)
def mention(options: argparse.Namespace) -> int:
    """Mention a note and return the exit code."""
    return _run(options, "mention")


@command(
    "select",
    EDITORS,
    "tell the assistants that use a running vaultwire ide which note is active",
    "vaultwire select 'Garden plan' --vault ~/Notes",
    options=_add_options,
)
def select(options: argparse.Namespace) -> int:
    """Name the active note and return the exit code."""
    return _run(options, "select")


def _run(options: argparse.Namespace, do: str) -> int:
    """Send the command and return the exit code: 1 if no assistant got it. Raises ConfigError. ``do``: mention or select."""
    config = make_config(options.vault)
    if len(config.vaults) > 1:
        raise ConfigError("give one vault: the one that holds the note")
    parts = _LINES.fullmatch(options.note)
    if parts is None:
        raise ConfigError("which note? Give its path in the vault, such as Folder/Note.md")
    note, first, last = parts[1], int(parts[2] or 0), int(parts[3] or parts[2] or 0)
    answer = _ask(config, {"do": do, "note": _in_vault(note, config.vault), "first": first, "last": last})
    if answer is None:
        return _fail(f"nothing serves {config.vault} to editors: start it with vaultwire ide --vault {config.vault}")
    if "message" in answer:
        return _fail(str(answer["message"]))
    if answer.get("outcome") == NOBODY:
        return _fail("no assistant is connected: in Claude Code, type /ide and choose Obsidian")
    if answer.get("outcome") == PRIVATE:
        return _fail(f"{answer.get('path')} is private, so no assistant was told")
    first_line, last_line = answer.get("first"), answer.get("last")  # also of a heading or block
    lines = "" if not first_line else f", lines {first_line} to {last_line}"
    if first_line == last_line and first_line:
        lines = f", line {first_line}"
    say(f"{'Mentioned' if do == 'mention' else 'Selected'} {answer.get('path')}{lines}")
    return 0


def _in_vault(note: str, vault: str) -> str:
    """Return an absolute path as a path in the vault; anything else as it is."""
    if not os.path.isabs(note):
        return note
    real, root = os.path.realpath(note), os.path.realpath(vault)
    if not real.startswith(os.path.join(root, "")):
        raise ConfigError(f"{note} is not in {vault}")
    return os.path.relpath(real, root).replace(os.sep, "/")


def _ask(config: Config, command: dict[str, Any]) -> dict[str, Any] | None:
    """Return the server's answer, None if there is no server."""
    import http.client  # noqa: PLC0415 - this module is loaded for every command, here and below
    from urllib.parse import urlencode  # noqa: PLC0415

    from vaultwire.transports.lock_file import read_endpoint  # noqa: PLC0415

    link = read_endpoint(os.path.join(config.state, "editor"), "commands", config.vault)
    if link is None:
        return None
    connection = http.client.HTTPConnection("127.0.0.1", link.port, timeout=_SECONDS)
    try:
        connection.request("GET", f"{PATH}?{urlencode(command)}", headers={KEY_HEADER: link.token})
        answer = json.loads(connection.getresponse().read(_MAX_ANSWER))
    except (OSError, http.client.HTTPException, ValueError):  # the server is gone, or another program has its port
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None


def _fail(words: str) -> int:
    complain(words)
    return 1
