"""``vaultwire memory start|compact|stop``: the commands that a client runs at events of a session (``--hooks`` installs them).

Whatever goes wrong, the client goes on: the exit code is 0, nothing is on stdout, and at most one line is on stderr. Another
code would stop a turn of Claude Code. No index is opened: the client waits.
"""

from __future__ import annotations

import os
import sys
import threading

from vaultwire.cli import run_options
from vaultwire.cli.command import NOTES, command
from vaultwire.config import make_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

# A disk or a cloud folder may hang. The client would wait for its own time limit.
_SECONDS = 5.0
_MOST_INPUT = 4_000_000


def run(arguments: Sequence[str]) -> int:
    """Answer one event of a client's session, and return 0. ``arguments``: the action and the options of a run."""
    timer = threading.Timer(_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()
    try:
        text = _answer(arguments)
        if text:
            sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - see the head
        _complain(str(error) or type(error).__name__)
    finally:
        timer.cancel()
    return 0


def _answer(arguments: Sequence[str]) -> str:
    from vaultwire.memory import hooks  # noqa: PLC0415 - a wrong option is told first

    settings = run_options.read_quickly(arguments[1:])
    if settings is None:
        settings = _read_slowly(arguments[1:])
    stdin = sys.stdin
    if stdin is None or stdin.isatty():
        _complain("a client runs this command at an event of a session, and gives a JSON object on stdin")
        return ""
    event = hooks.parse_event(stdin.buffer.read(_MOST_INPUT).decode("utf-8", "replace"))
    if event is None:
        _complain("stdin has no JSON object, as a client gives it")
        return ""
    from datetime import datetime  # noqa: PLC0415 - as above, here and below

    from vaultwire.app import engine  # noqa: PLC0415
    from vaultwire.memory.entries import read_folder  # noqa: PLC0415

    config = make_config(**settings)
    files = engine.open_files(config, engine.load_policy(config))
    subjects = read_folder(files, config.memory_folder or "Memory")
    name = next(iter(config.vaults)) or files.name
    return hooks.answer(event, arguments[0], subjects, name, config.state, datetime.now().astimezone().date())


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("start", "compact", "stop"), help="the event of the session")
    run_options.add_memory(parser)


@command(
    "memory",
    NOTES,
    "answer an event of a client's session from memory; clients run it as a hook",
    "vaultwire memory start --vault ~/Notes",
    options=_add_options,
    codes="exit code: 0 whatever happens: a client must not be stopped",
)
def run_command(options: argparse.Namespace) -> int:
    """Answer an event, when options stand before the command."""
    words = [options.action]
    for name in ("vault", "policy", "memory_folder"):
        value = getattr(options, name)
        for each in value if isinstance(value, list) else [value] if value else []:
            words += [f"--{name.replace('_', '-')}", each]
    return run(words)


def _read_slowly(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the settings of options that only argparse can read. Raises ValueError for wrong ones."""
    import argparse  # noqa: PLC0415 - few hooks have such options

    parser = argparse.ArgumentParser(prog="vaultwire memory", add_help=False, exit_on_error=False)
    run_options.add_all(parser)
    try:
        options, unknown = parser.parse_known_args(arguments)
    except (argparse.ArgumentError, SystemExit) as error:
        raise ValueError(f"wrong options: {error}") from None
    if unknown:
        raise ValueError(f"there is no option {unknown[0]!r}")
    return run_options.read_all(options)


def _complain(words: str) -> None:
    if sys.stderr is not None:
        from vaultwire.cli.terminal import complain  # noqa: PLC0415 - only to complain

        complain(f"memory: {words.splitlines()[0]}")
