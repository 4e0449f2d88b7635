"""The commands for editors: ``ide``; ``mention`` and ``select``, which show a note to its assistants; ``plugin``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from vaultwire.cli import run_options
from vaultwire.cli.command import EDITORS, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.installation import server_command
from vaultwire.obsidian.plugin_files import PluginFilesError, install_plugin, remove_plugin
from vaultwire.transports.lock_file import LockFileError, program_file, read_endpoint

# The clients other than Claude Code, by their options.
_COMPANIONS = {"gemini": "Gemini CLI", "qwen": "Qwen Code"}


def _add_ide(parser: argparse.ArgumentParser) -> None:
    run_options.add_vault(parser)
    run_options.add_policy(parser)
    add_companions(parser)
    parser.add_argument("--no-browser", action="store_true", help="do not open the desk, only print links to it")
    parser.add_argument("--debug", action="store_true", help="print connections and messages on stderr")


def add_companions(parser: run_options.Options) -> None:
    """Add an option for each client other than Claude Code."""
    for option, name in _COMPANIONS.items():
        parser.add_argument(f"--{option}", action="store_true", help=f"also connect {name} (docs/editors.md)")


def companions(options: argparse.Namespace) -> list[str]:
    """Return the clients that the options name."""
    return [option for option in _COMPANIONS if getattr(options, option)]


@command(
    "ide",
    EDITORS,
    "connect Claude Code to a vault as its editor: open note, selection, review of changes",
    "vaultwire ide --vault ~/Notes --gemini",
    options=_add_ide,
)
def ide(options: argparse.Namespace) -> int:
    """Serve until told to end; return the exit code. Raises ConfigError."""
    from vaultwire.app.editors import open_editors, run_ide  # noqa: PLC0415 - 150 ms, which no other command should pay

    config = make_config(options.vault, policy=options.policy)
    asked = companions(options)
    log = complain if options.debug else lambda _: None
    shows = not options.no_browser
    doors = open_editors(config, announce, asked, log, opens_browser=shows, on_running=say_running)
    if doors:  # else each vault is in the list already, which is what was asked for
        run_ide(doors, make_on_ready(asked))
    return 0


def make_on_ready(asked: Sequence[str]) -> Callable[[str, int, str, int], None]:
    """Return the function that prints where clients find a vault."""
    names = " and ".join(_COMPANIONS[each] for each in asked)

    def tell(vault: str, port: int, page: str, companion_port: int) -> None:
        say(f"{vault} is in Claude Code's /ide list (port {port})")
        if companion_port:
            say(f"{names}, started in that folder, find it as Obsidian (port {companion_port}): /ide enable")
        say(f"Open the desk with this link, once and within ten minutes: {page}", flush=True)

    return tell


def say_running(vault: str, page: str) -> None:
    """Print that a vault has its bridge already."""
    where = f". Open the desk with this link, once and within ten minutes: {page}" if page else ""
    say(f"{vault} is in Claude Code's /ide list already: its bridge runs{where}", flush=True)


def announce(path: str, page: str) -> None:
    """Print that a change waits for the person."""
    with contextlib.suppress(OSError):  # nobody may read the output any more
        say(f"A change to {path} waits for you: {page}", flush=True)


# ---------------------------------------------------------------------- mention, select

_LINES = re.compile(r"(.+?)(?:#L([1-9][0-9]*)(?:-L?([1-9][0-9]*))?)?", re.DOTALL)
_SECONDS = 10.0
_MAX_ANSWER = 1 << 16


def _add_note(parser: argparse.ArgumentParser) -> None:
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
    options=_add_note,
)
def mention(options: argparse.Namespace) -> int:
    """Mention a note and return the exit code."""
    return _tell(options, "mention")


@command(
    "select",
    EDITORS,
    "tell the assistants that use a running vaultwire ide which note is active",
    "vaultwire select 'Garden plan' --vault ~/Notes",
    options=_add_note,
)
def select(options: argparse.Namespace) -> int:
    """Name the active note and return the exit code."""
    return _tell(options, "select")


def _tell(options: argparse.Namespace, do: str) -> int:
    """Send the command and return the exit code: 1 if no assistant got it. Raises ConfigError. ``do``: mention or select."""
    from vaultwire.desk.plugin_endpoint import NOBODY, PRIVATE  # noqa: PLC0415 - loads WebSockets, as below

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

    from vaultwire.desk.plugin_endpoint import COMMAND_PATH, KEY_HEADER  # noqa: PLC0415

    link = read_endpoint(os.path.join(config.state, "editor"), "commands", config.vault)
    if link is None:
        return None
    connection = http.client.HTTPConnection("127.0.0.1", link.port, timeout=_SECONDS)
    try:
        connection.request("GET", f"{COMMAND_PATH}?{urlencode(command)}", headers={KEY_HEADER: link.token})
        answer = json.loads(connection.getresponse().read(_MAX_ANSWER))
    except (OSError, http.client.HTTPException, ValueError):  # the server is gone, or another program has its port
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None


def _fail(words: str) -> int:
    complain(words)
    return 1


# ---------------------------------------------------------------------- plugin


def _add_plugin(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    for name, text in (
        ("install", "put the plugin into the vault, or renew it there; you enable it in Obsidian"),
        ("remove", "remove the plugin from the vault"),
    ):
        run_options.add_vault(actions.add_parser(name, help=text))


@command(
    "plugin",
    EDITORS,
    "install the companion plugin in a vault's Obsidian, or remove it",
    "vaultwire plugin install --vault ~/Notes",
    options=_add_plugin,
)
def plugin(options: argparse.Namespace) -> int:
    """Do it for each vault and return the exit code: 1 if it failed. Raises ConfigError."""
    config = make_config(options.vault)
    if options.action == "install" and not _note_program(config.state):
        return 1
    for vault in config.vaults.values():
        try:
            if options.action == "install":
                say(f"The plugin is in {install_plugin(vault)}")
                say("Enable it in Obsidian: Settings, Community plugins, Vaultwire. If it was enabled before, turn it")
                say("off and on again, or restart Obsidian.")
            elif remove_plugin(vault):
                say(f"The plugin is no longer in {vault}: restart Obsidian if it runs")
            else:
                say(f"There is no plugin in {vault}")
        except PluginFilesError as error:
            complain(str(error))
            return 1
    return 0


def _note_program(state: str) -> bool:
    """Note for the plugin how to start this program, which it does only if the person asks for that; False if it failed."""
    try:
        program_file(os.path.join(state, "editor"), server_command()).write()
    except LockFileError as error:
        complain(str(error))
        return False
    return True
