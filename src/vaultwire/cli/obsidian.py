"""``vaultwire obsidian``: Obsidian's own command line, on the files of a vault."""

from __future__ import annotations

import os

from vaultwire import __version__
from vaultwire.cli import run_options
from vaultwire.cli.command import NOTES, command
from vaultwire.cli.terminal import complain, say, say_text
from vaultwire.config import VAULT_VARIABLE, ConfigError, make_config, settings_of_commands
from vaultwire.obsidian.known_vaults import known_vaults, open_vaults, vaults_named
from vaultwire.obsidian_cli.commands import COPY, FILES, NOWHERE, Line, OfficialError, help_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from vaultwire.config import Config

_DONE, _NOT_DONE = 0, 1
_OPTIONS = ("--vault", "--policy")
_CODES = (
    "exit code: 0 done, and for the errors of Obsidian's own command, as there; 1 not done for another reason, and stderr "
    "says which; 2 wrong use"
)
_NO_VAULT = (
    f"which vault? Give vault=<name>, work in the vault's folder, or set {VAULT_VARIABLE} to a folder of Markdown notes"
)
# Programs that take a text for the clipboard from their input.
_CLIPBOARDS = (["pbcopy"], ["wl-copy"], ["xclip", "-selection", "clipboard"], ["clip.exe"])


def _add_obsidian(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="as Obsidian's command takes it: read path=Home.md")
    parser.add_argument("--install-shim", action="store_true", help="put a program named obsidian on the PATH")
    parser.add_argument("--remove-shim", action="store_true", help="remove that program")
    group = parser.add_argument_group("vault")
    run_options.add_vault(group)
    run_options.add_policy(group)


@command(
    "obsidian",
    NOTES,
    "run a command of Obsidian's own, without the app",
    "vaultwire obsidian help",
    "vaultwire obsidian read file=Home",
    "vaultwire obsidian vault=Notes tasks daily todo",
    "vaultwire obsidian --install-shim",
    options=_add_obsidian,
    codes=_CODES,
)
def obsidian(options: argparse.Namespace) -> int:
    """Run a command that argparse has read. ``run`` reads it without, in a third of the time."""
    shims = [f"--{name}-shim" for name in ("install", "remove") if getattr(options, f"{name}_shim")]
    vaults = [word for vault in options.vault or () for word in ("--vault", vault)]
    policy = ["--policy", options.policy] if options.policy else []
    return run([*vaults, *policy, *shims, *options.words])


def run(words: Sequence[str]) -> int:
    """Run a command line and return its exit code. Options of vaultwire's stand before the command. Raises ConfigError."""
    rest = list(words)
    options: dict[str, str] = {}
    while rest and rest[0].partition("=")[0] in _OPTIONS:
        name, equals, value = rest.pop(0).partition("=")
        if not equals and not rest:
            raise ConfigError(f"{name} needs a value")
        options[name] = value if equals else rest.pop(0)
    if rest[:1] in (["--install-shim"], ["--remove-shim"]):
        return _shim(installs=rest[0] == "--install-shim")
    try:
        line = Line(rest)
        line.check()
        text, code = _answer(line, options)
    except OfficialError as error:
        text, code = f"Error: {error}", _DONE
    if code == _DONE:
        say_text(f"{text}\n")
        if COPY in rest:
            _copy(text)
    return code


def _answer(line: Line, options: dict[str, str]) -> tuple[str, int]:
    """Return what a command prints, and its exit code."""
    name = line.command.name
    if name == "help":
        return help_text(line.topic), _DONE
    if name == "version":
        return f"{__version__} (vaultwire)", _DONE
    if name == "vaults":
        return _vaults(line), _DONE
    if line.command.where == NOWHERE:
        complain(f"{name} works only in the terminal of Obsidian itself; give vault=<name> before a command instead")
        return "", _NOT_DONE
    vault = _vault(line.vault, options.get("--vault"))
    return ("Vault not found.", _DONE) if vault is None else _run(line, vault, options.get("--policy"))


def _vaults(line: Line) -> str:
    vaults = known_vaults()
    if "total" in line.given:
        return str(len(vaults))
    return "\n".join(f"{each.name}\t{each.path}" if "verbose" in line.given else each.name for each in vaults)


def _vault(name: str | None, option: str | None) -> str | None:
    """Return the value of ``--vault`` for a command; None for the name of a vault that nobody knows. Raises ConfigError."""
    usual = option or _folder_above(os.getcwd()) or os.environ.get(VAULT_VARIABLE)
    if name is None:
        opened = [] if usual else open_vaults()
        if not usual and len(opened) != 1:
            raise ConfigError(_NO_VAULT)
        return usual or opened[0]
    if usual and os.path.basename(os.path.normpath(usual)).casefold() == name.casefold():
        return usual
    folders = vaults_named(name) or [name] * (os.path.basename(name) != name and os.path.isdir(name))
    if len(folders) > 1:
        raise ConfigError(f"several vaults are named {name!r}: give vault=<path>, {' or '.join(folders)}")
    return folders[0] if folders else None


def _folder_above(folder: str) -> str | None:
    """Return the vault that a folder is, or lies in: the nearest one with Obsidian's settings."""
    while not os.path.isdir(os.path.join(folder, ".obsidian")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _run(line: Line, vault: str, policy: str | None) -> tuple[str, int]:
    """Run a command as a call of the tool whose rules hold for it: policy, journal and undo are as for that tool."""
    config = make_config([vault], policy=policy)
    tool = line.command.tool_for(line.given)
    data = _answer_of_server(line, config) if config.policy is None and line.command.where == FILES else None
    if data is None:
        return _run_here(line, config, tool)
    if "output" in data:
        return data["output"], _DONE
    from vaultwire.cli.calling import for_person  # noqa: PLC0415 - loads the tools, for an error only

    complain(for_person(data["failure"]))
    return "", _NOT_DONE


def _run_here(line: Line, config: Config, tool: str) -> tuple[str, int]:
    from contextlib import closing  # noqa: PLC0415 - help needs none of it

    from vaultwire.app.engine import load_descriptions, load_policy  # noqa: PLC0415
    from vaultwire.cli.calling import Calls, FailedCallError, Person, for_person  # noqa: PLC0415
    from vaultwire.obsidian_cli.asking import toolset_for  # noqa: PLC0415
    from vaultwire.toolkit.catalog import EVAL  # noqa: PLC0415

    config.search_attachments = False  # the app's command searches notes only
    if tool == EVAL and config.policy is not None:
        config.backend = "auto"
        if all(each["name"] != EVAL for each in load_descriptions(config, load_policy(config))):
            complain(
                f"the policy does not allow {line.command.name}: it must name {EVAL}, which can do all that the app can"
            )
            return "", _NOT_DONE
    toolset = toolset_for(line, config.obsidian, may_show=config.policy is None)
    try:
        with closing(Calls(config, Person(for_person, says_yes=True), toolset)) as calls:
            return calls.call(tool)[1]["output"], _DONE
    except FailedCallError as error:
        complain(str(error))
        return "", _NOT_DONE


def _answer_of_server(line: Line, config: Config) -> dict[str, Any] | None:
    """Return the answer of a server of this person that runs with the same settings; None if the command must run here.

    Such a server has the vault open already. Raises ConfigError if it ended before it answered.
    """
    from vaultwire.desk.running import CODE_HEADER, desk_folder, find, new_code  # noqa: PLC0415 - help needs none of it

    folder = desk_folder(config.state)
    running = find(folder, [config.vault])
    scheme, _, address = ("", "", "") if running is None else running.url.partition("://")
    if running is None or scheme != "http":  # TLS takes longer to load than is won
        return None
    import json  # noqa: PLC0415 - as above, here and below
    import socket  # noqa: PLC0415

    body = json.dumps({"words": line.words, "vault": config.vault, "settings": settings_of_commands(config)}).encode()
    host, _, port = address.rpartition(":")
    try:
        code = new_code(folder, running.server)
        # As bytes: for a text, Python would load the codec of international names first.
        connection = socket.create_connection((host.strip("[]").encode(), int(port)))  # type: ignore[arg-type]
    except (OSError, ValueError):
        return None
    head = (
        f"POST /desk/command HTTP/1.1\r\nHost: {address}\r\nOrigin: {running.url}\r\n{CODE_HEADER}: {code}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with connection:
        try:
            connection.sendall(head.encode() + body)
            answer = connection.makefile("rb").read()
        except OSError:
            answer = b""
    status, _, rest = answer.partition(b"\r\n")
    if b" 4" in status[:10] or b" 503" in status:
        return None  # it was refused, or the server is full: nothing was done
    try:
        data: Any = json.loads(rest.partition(b"\r\n\r\n")[2])
    except ValueError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("output", data.get("failure")), str):
        raise ConfigError(f"the server at {running.url} gave no answer. vaultwire changes lists what was changed")
    return data


def _shim(*, installs: bool) -> int:
    from vaultwire.installation import running_command  # noqa: PLC0415 - only here, as below
    from vaultwire.obsidian_cli import shim  # noqa: PLC0415

    try:
        place = shim.install(running_command()) if installs else shim.remove()
    except shim.ShimError as error:
        complain(str(error))
        return _NOT_DONE
    say(
        f"{place} runs vaultwire obsidian. To remove it: vaultwire obsidian --remove-shim"
        if installs
        else f"{place} is removed."
    )
    if installs and not shim.is_on_path(place):
        say(f"{os.path.dirname(place)} is not on the PATH of this shell; put it there.", to_stderr=True)
    return _DONE


def _copy(text: str) -> None:
    """Put a text onto the clipboard."""
    import shutil  # noqa: PLC0415 - only here
    import subprocess  # noqa: PLC0415

    for program, *arguments in _CLIPBOARDS:
        found = shutil.which(program)
        if found and subprocess.run([found, *arguments], input=text.encode(), check=False).returncode == 0:
            return
    complain("the answer was not copied: no program for the clipboard works here")
