"""A stand-in for the official ``obsidian`` command and the app behind it, for tests only: a program of its own.

It follows the help page "Obsidian CLI", in what the program asks of it, and knows nothing of that program. Vaults are those
of ``obsidian.json``. As with the real one, errors are lines on stdout and the exit code is 0, and what finds nothing says so
in a sentence.

``STAND_IN`` makes it behave badly: not-running, slow, hangs, huge, long, error, ambiguous, unknown-vault, turned-off,
old-installer. Every call is written down, as a JSON line, in the file ``STAND_IN_LOG``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

TYPE_CHECKING = False  # a program that starts for every call imports no more than it needs
if TYPE_CHECKING:
    from typing import NoReturn

NOT_RUNNING = "The CLI is unable to find Obsidian. Please make sure Obsidian is running and try again."
SETTINGS = Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "obsidian"


class Said(Exception):  # noqa: N818 - what the app answers instead
    """An error, as the app reports it."""


class App:
    """One vault as the app sees it."""

    def __init__(self, root: Path, id_: str) -> None:
        self.root = root
        self.kept = SETTINGS / f"recovery-{id_}.json"

    # ------------------------------------------------------------------ files

    def file(self, given: dict[str, str]) -> str:
        if "path" in given:
            if not (self.root / given["path"]).is_file():
                raise Said(f'File "{given["path"]}" not found.')
            return given["path"]
        raise Said("No active file. Use file=<name> or path=<path> to specify a file.")

    def open(self, given: dict[str, str]) -> str:
        return f"Opened: {self.file(given)}"

    def history(self, given: dict[str, str]) -> str:
        kept = self.versions(given)
        lines = [f"{number}\t2026-01-01 12:00:00\t{len(text)} B" for number, text in enumerate(kept, 1)]
        return "\n".join(lines) or "No history found."

    def history_read(self, given: dict[str, str]) -> str:
        kept = self.versions(given)
        number = int(given.get("version", "1"))
        if number > len(kept):
            raise Said(f"Version {number} not found.")
        return kept[number - 1]

    def versions(self, given: dict[str, str]) -> list[str]:
        path = self.file(given)
        found: list[str] = json.loads(self.kept.read_text()).get(path, []) if self.kept.exists() else []
        return found

    # ------------------------------------------------------------------ the app

    def vault(self, given: dict[str, str]) -> str:
        return str(self.root) if given.get("info") == "path" else f"name\t{self.root.name}\npath\t{self.root}"

    def commands(self, given: dict[str, str]) -> str:
        known = ("app:go-back", "app:reload", "editor:toggle-bold", "workspace:new-tab")
        return "\n".join(each for each in known if each.startswith(given.get("filter", "")))

    def workspace(self, _: dict[str, str]) -> str:
        return "main\n└── tabs\n    └── [markdown] Home"

    def eval(self, given: dict[str, str]) -> str:
        return f"=> {given['code']}"

    def version(self, _: dict[str, str]) -> str:
        return "1.12.7 (installer 1.12.7)"


def misbehave(mode: str) -> None:
    if mode == "not-running":
        sys.stderr.write(NOT_RUNNING + "\n")
        sys.exit(1)
    if mode == "slow":
        signal.pause()
    if mode == "hangs":
        import subprocess  # noqa: PLC0415 - as above

        stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
        child = subprocess.Popen([sys.executable, "-c", stubborn])
        Path(os.environ["STAND_IN_LOG"] + ".pids").write_text(f"{os.getpid()} {child.pid}")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
    if mode == "huge":
        try:
            while True:
                sys.stdout.write("x" * 65536)
        except OSError:
            sys.exit(1)
    lines = {
        "long": "x" * 3_000_000,
        "error": "Error: Something went wrong.",
        "ambiguous": 'Error: File "Plan" is ambiguous: Ideas/Plan.md, Projects/Plan.md',
        "unknown-vault": "Vault not found.",
        "turned-off": "Command line interface is not enabled. Please turn it on in Settings > General > Advanced.",
    }
    if mode in lines:
        sys.stdout.write(lines[mode] + "\n")
        sys.exit(0)


def main(argv: list[str]) -> NoReturn:
    with open(os.environ["STAND_IN_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps(argv) + "\n")
    vaults = json.loads((SETTINGS / "obsidian.json").read_text())["vaults"] if SETTINGS.exists() else {}
    wanted = argv.pop(0).removeprefix("vault=") if argv and argv[0].startswith("vault=") else ""
    command, *rest = argv or ["help"]
    if command not in ("vault", "version"):
        misbehave(os.environ.get("STAND_IN", ""))
    ids = [id_ for id_, vault in vaults.items() if wanted in ("", id_, Path(vault["path"]).name)]
    if not ids:
        sys.stdout.write("Vault not found.\n")
        sys.exit(0)
    app = App(Path(vaults[ids[0]]["path"]), ids[0])
    run = getattr(app, command.replace(":", "_"), None)
    given = {name: value if equals else "true" for name, equals, value in (each.partition("=") for each in rest)}
    if run is None:
        sys.stdout.write(f'Error: Command "{command}" not found. It may require a plugin to be enabled.\n')
        sys.exit(0)
    if os.environ.get("STAND_IN") == "old-installer":
        sys.stdout.write("2026-02-11 02:29:05 Loading updated app package /x/obsidian-1.12.1.asar\n")
        sys.stdout.write("Your Obsidian installer is out of date. Please download the latest installer.\n")
    try:
        sys.stdout.write(run(given) + "\n")
    except Said as said:
        sys.stdout.write(f"Error: {said}\n")
    sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
