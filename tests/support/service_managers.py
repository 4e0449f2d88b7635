"""Stand-ins for systemctl, launchctl and schtasks. They read the file that they are given and really start its command.

Called as one of the three. ``MANAGER_STATE`` is the folder of what they know: the calls, and of each service its definition and
its process. ``MANAGER_REFUSES`` names a word: a call with it fails.
"""

from __future__ import annotations

import json
import os
import plistlib
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

NAMES = ("systemctl", "launchctl", "schtasks")
_XML = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


def put_on_path(folder: Path) -> str:
    """Make the three programs in a folder and return a PATH that has it first."""
    folder.mkdir(parents=True)
    for name in NAMES:
        program = folder / name
        # -I -S: nothing but Python's own library, which takes half of the time.
        python = f"{shlex.quote(sys.executable)} -I -S {shlex.quote(__file__)}"
        program.write_text(f'#!/bin/sh\nexec {python} {name} "$@"\n')
        program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def words_of_unit(line: str) -> list[str]:
    """Return the words of a line of a unit, unquoted as systemd.syntax(7) says."""
    quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    return [re.sub(r"\\(.)", r"\1", word).replace("%%", "%") for word in quoted]


def definition_of_unit(text: str) -> dict[str, Any]:
    """Return the command and the environment of a unit."""
    command = next(line for line in text.splitlines() if line.startswith("ExecStart=:"))
    assigned = [words_of_unit(line)[0] for line in text.splitlines() if line.startswith("Environment=")]
    environment = dict(each.split("=", 1) for each in assigned)
    return {"command": words_of_unit(command), "environment": environment}


def definition_of_agent(content: bytes) -> dict[str, Any]:
    """Return the command and the environment of a property list."""
    agent = plistlib.loads(content)
    log = agent["StandardErrorPath"]
    return {"command": agent["ProgramArguments"], "environment": agent["EnvironmentVariables"], "log": log}


def definition_of_task(content: bytes) -> dict[str, Any]:
    """Return the command of a task."""
    execution = ET.fromstring(content).find(f".//{_XML}Exec")
    assert execution is not None
    program, arguments = (execution.findtext(f"{_XML}{name}") or "" for name in ("Command", "Arguments"))
    # The quoting of CommandLineToArgvW, for arguments without quotes inside.
    words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', arguments)]
    return {"command": [program, *words], "environment": {}}


class Manager:
    """What a stand-in knows."""

    def __init__(self, state: Path) -> None:
        self._known = state / "known.json"
        self._process = state / "pid"
        self._calls = state / "calls.jsonl"

    def note(self, words: list[str]) -> None:
        with self._calls.open("a") as file:
            file.write(json.dumps(words) + "\n")

    def learn(self, definition: dict[str, Any]) -> None:
        self._known.write_text(json.dumps(definition))

    def forget(self) -> int:
        code = self.stop()
        self._known.unlink(missing_ok=True)
        return code

    def start(self) -> int:
        definition = json.loads(self._known.read_text())
        with open(definition.get("log", os.devnull), "ab") as log:
            process = subprocess.Popen(
                definition["command"],
                env={**os.environ, **definition["environment"]},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._process.write_text(str(process.pid))
        return 0

    def stop(self) -> int:
        if not self._process.exists():
            return 1
        number = int(self._process.read_text())
        os.kill(number, signal.SIGTERM)
        while _runs(number):
            pass
        self._process.unlink()
        return 0

    def tell_to_stop(self) -> int:
        """Return at once, as launchd does; it knows the service until the process has ended."""
        if self.knows():
            return 3
        os.kill(int(self._process.read_text()), signal.SIGTERM)
        return 36  # EINPROGRESS

    def knows(self) -> int:
        if not self._known.exists() or not self._process.exists():
            return 3
        if _runs(int(self._process.read_text())):
            return 0
        self._known.unlink()
        self._process.unlink()
        return 3


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
        # Where nobody waits for it, an ended process stays as a zombie (Linux).
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not os.path.exists("/proc/self/stat")


def systemctl(manager: Manager, words: list[str]) -> int:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path(os.environ["HOME"], ".config")) / "systemd" / "user"
    match words:
        case ["--user", "daemon-reload" | "reset-failed", *_]:
            return 0
        case ["--user", "enable", name]:
            manager.learn(definition_of_unit((folder / name).read_text()))
            return 0
        case ["--user", "restart", _]:
            manager.stop()
            return manager.start()
        case ["--user", "disable", "--now", _]:
            return manager.forget()
        case ["--user", "is-active", _]:
            return manager.knows()
    return 1


def launchctl(manager: Manager, words: list[str]) -> int:
    match words:
        case ["enable", _]:
            return 0
        case ["bootstrap", _, path]:
            if not manager.knows():
                return 5
            manager.learn(definition_of_agent(Path(path).read_bytes()))
            return manager.start()
        case ["bootout", _]:
            return manager.tell_to_stop()
        case ["print", _]:
            return manager.knows()
    return 1


def schtasks(manager: Manager, words: list[str]) -> int:
    match words:
        case ["/Create", "/TN", "vaultwire", "/XML", path, "/F"]:
            manager.learn(definition_of_task(Path(path).read_bytes()))
            return 0
        case ["/Run", "/TN", "vaultwire"]:
            return manager.start()
        case ["/End", "/TN", "vaultwire"]:
            return manager.stop()
        case ["/Delete", "/TN", "vaultwire", "/F"]:
            return manager.forget()
        case ["/Query", "/TN", "vaultwire"]:
            return manager.knows()
    return 1


def main(name: str, *words: str) -> int:
    manager = Manager(Path(os.environ["MANAGER_STATE"]))
    manager.note([name, *words])
    if os.environ.get("MANAGER_REFUSES") in words:
        sys.stderr.write("Failed to connect to bus\n")
        return 1
    return {"systemctl": systemctl, "launchctl": launchctl, "schtasks": schtasks}[name](manager, list(words))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
