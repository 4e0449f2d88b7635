"""``vaultwire mention`` and ``vaultwire select``: point a note out to the assistants at a running ``vaultwire ide``."""

from __future__ import annotations

import argparse
import json
import os
import re
from typing import Any

from vaultwire.cli.terminal import complain, say
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.desk.command_api import KEY_HEADER, NOBODY, PATH, PRIVATE

_LINES = re.compile(r"(.+?)(?:#L([1-9][0-9]*)(?:-L?([1-9][0-9]*))?)?", re.DOTALL)
_SECONDS = 10.0
_MAX_ANSWER = 1 << 16


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which note, and which lines of it."""
    parser.add_argument(
        "note",
        metavar="NOTE[#PART]",
        help="the note: a path in the vault or a name; and its lines, as #L2-L5 (counted from 1), #Heading or #^block",
    )


def run(options: argparse.Namespace, do: str) -> int:
    """Have it done and return the exit code: 1 if nobody heard of it. Raises ConfigError. ``do``: mention or select."""
    config = make_config(options.vault)
    if len(config.vaults) > 1:
        raise ConfigError("give one vault: the note is in that")
    parts = _LINES.fullmatch(options.note)
    if parts is None:
        raise ConfigError("which note? Give its path in the vault, such as Folder/Note.md")
    note, first, last = parts[1], int(parts[2] or 0), int(parts[3] or parts[2] or 0)
    told = _ask(config, {"do": do, "note": _in_vault(note, config.vault), "first": first, "last": last})
    if told is None:
        return _fail(f"nothing serves {config.vault} to editors: start it with vaultwire ide --vault {config.vault}")
    if "message" in told:
        return _fail(str(told["message"]))
    if told.get("outcome") == NOBODY:
        return _fail("no assistant is connected: in Claude Code, type /ide and choose Obsidian")
    if told.get("outcome") == PRIVATE:
        return _fail(f"{told.get('path')} is private, so nobody was told")
    begin, end = told.get("first"), told.get("last")  # those of a heading or block, too
    lines = "" if not begin else f", line {begin}" if end == begin else f", lines {begin} to {end}"
    say(f"{'Mentioned' if do == 'mention' else 'Selected'} {told.get('path')}{lines}")
    return 0


def _in_vault(note: str, vault: str) -> str:
    """Return a path from the file system's root as one in the vault; anything else as it is."""
    if not os.path.isabs(note):
        return note
    real, root = os.path.realpath(note), os.path.realpath(vault)
    if not real.startswith(os.path.join(root, "")):
        raise ConfigError(f"{note} is not in {vault}")
    return os.path.relpath(real, root).replace(os.sep, "/")


def _ask(config: Config, command: dict[str, Any]) -> dict[str, Any] | None:
    """Return the server's answer, None if there is no server."""
    import http.client  # noqa: PLC0415 - the options of all commands are read before one is run, here and below
    from urllib.parse import urlencode  # noqa: PLC0415

    from vaultwire.transports.lock_file import read_endpoint  # noqa: PLC0415

    link = read_endpoint(os.path.join(config.state, "editor"), "commands", config.vault)
    if link is None:
        return None
    connection = http.client.HTTPConnection("127.0.0.1", link.port, timeout=_SECONDS)
    try:
        connection.request("GET", f"{PATH}?{urlencode(command)}", headers={KEY_HEADER: link.token})
        told = json.loads(connection.getresponse().read(_MAX_ANSWER))
    except (OSError, http.client.HTTPException, ValueError):  # gone, or another program has the port by now
        return None
    finally:
        connection.close()
    return told if isinstance(told, dict) else None


def _fail(words: str) -> int:
    complain(words)
    return 1
