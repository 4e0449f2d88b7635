"""Makes the pictures of the documents from the real program: ``make pictures``. Linux and macOS; needs Chromium.

The vault is the sample vault of ``vaultwire demo``, the home is empty, and an MCP client plays the assistant. What differs
from run to run is replaced: the home is shown as /home/ada, and times, versions and measurements are always the same.
"""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from scripts.first_hour import CALLS
from websockets.sync.client import connect

from support.chromium import open_tab

SHOWN_HOME = "/home/ada"
NOTE = "Projects/Garden 2026.md"
TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "first-hour.md"
_ANSI = [
    (40, 44, 52),
    (190, 40, 50),
    (30, 120, 50),
    (150, 95, 0),
    (30, 90, 180),
    (140, 50, 160),
    (0, 115, 130),
    (90, 90, 90),
]
_BRIGHT = [
    (76, 82, 94),
    (240, 110, 115),
    (120, 200, 130),
    (225, 175, 85),
    (110, 165, 245),
    (205, 130, 225),
    (95, 195, 205),
]
# The pictures of the desk: their names, and which item of the list they show.
DESK = (("desk", "c3"), ("desk-waits", "p1"))
WINDOW = 1100, 700
# Gives all times on the page the same text in each run. Only texts are replaced: the page keeps its elements.
SAME_TIMES = """{
const put = (element, text) => { element.firstChild.nodeValue = text; };
for (const time of document.querySelectorAll("#list time")) put(time, "09:30");
for (const time of document.querySelectorAll("#right time")) put(time, "Sunday, May 3, 2026 at 9:30:00 AM");
for (const group of document.querySelectorAll("#list .session .muted")) put(group, "09:30");
}"""
CLIENT = {"name": "claude-code", "version": "2.1.330"}
THEMES = {
    "light": TerminalTheme((250, 250, 252), (36, 41, 47), _ANSI, _ANSI),
    "dark": TerminalTheme((27, 29, 36), (222, 226, 232), [*_BRIGHT, (222, 226, 232)], [*_BRIGHT, (255, 255, 255)]),
}
# A window with a title. rich's own form loads a font from a CDN.
FORM = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; white-space: pre; }}
.{unique_id}-title {{ font: bold 18px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Terminal(NamedTuple):
    """A picture of a terminal: the command as a person types it, and how much of it is shown."""

    name: str
    command: str
    columns: int = 76
    lines: int = 40


BEFORE = (
    Terminal("demo", "vaultwire demo", 104, lines=30),
    Terminal("doctor", "vaultwire doctor --vault ~/Practice", 104),
    Terminal("install", "vaultwire install claude-desktop --vault ~/Practice", 104),
    Terminal("search", "vaultwire search tomatoes --vault ~/Practice"),
)
AFTER = (
    Terminal("changes", "vaultwire changes --vault ~/Practice"),
    Terminal("show", "vaultwire show 3 --vault ~/Practice"),
    Terminal("undo", "vaultwire undo 4 --vault ~/Practice"),
    Terminal(
        "private",
        "vaultwire policy explain read_notes Journal/2026-05-03.md --policy ~/policy.toml --vault ~/Practice",
        104,
    ),
)


class Home:
    """An empty home, in which the program runs as if it was installed there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = folder / "Practice"
        command = Path(sys.executable).with_name("vaultwire")
        (folder / ".local" / "bin").mkdir(parents=True)
        self.command = folder / ".local" / "bin" / "vaultwire"
        self.command.symlink_to(command)
        self.environment = {
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PATH": f"{self.command.parent}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "TMPDIR": str(folder / "tmp"),
            "TZ": "UTC",
        }
        (folder / "tmp").mkdir()
        (folder / ".config" / "Claude").mkdir(parents=True)  # the app was started once
        policy = TUTORIAL.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
        (folder / "policy.toml").write_text(policy, encoding="utf-8")

    def shown(self, text: str) -> str:
        """Return what is printed as it is on each computer and at any time."""
        text = text.replace(str(self.folder.resolve()), SHOWN_HOME).replace(str(self.folder), SHOWN_HOME)
        text = text.replace(str(Path(sys.executable).with_name("vaultwire")), f"{SHOWN_HOME}/.local/bin/vaultwire")
        for pattern, replacement in (
            (r"/home/ada/tmp/vaultwire-demo-\w+", "/tmp/vaultwire-demo"),  # noqa: S108 - only shown
            (r"/home/ada/tmp/gemini", "/tmp/gemini"),  # noqa: S108 - only shown
            (r"(?<=/v)\d+-[0-9a-f]{24}|(?<=journal-)[0-9a-f]{24}", "…"),
            (r"Python 3\.[\d.]+, [^\n\x1b\r]+", "Python 3.14.0, Linux"),
            (r"(?<=etag )[0-9a-f]{24}", "5f3a…"),
            (r"[\d.]+ ms from spawn", "25 ms from spawn"),
            (r"  \x1b\[2m[\d.]+ ms\x1b\[0m(?=\n)", ""),  # the times of the demo's calls
            (r"up to date in [\d.]+ ms", "up to date in 3 ms"),
            (r"(?:~ )?(spawn to initialize:) [\d.]+ ms(, median of \d+)[^\n\x1b]*", r"\1 25 ms\2"),
        ):
            text = re.sub(pattern, replacement, text)
        # A change, by its number: one every two minutes.
        return re.sub(
            r"(\d+)((?:\x1b\[\d*m| )+)20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d\+00:00)?",
            lambda found: (
                f"{found[1]}{found[2]}2026-05-03 09:{2 * int(found[1]) + 22}{':00+00:00' if found[3] else ''}"
            ),
            text,
        )

    def run(self, terminal: Terminal) -> str:
        """Run a command at a terminal of its own, and return what it prints."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, terminal.columns, 0, 0))
        process = subprocess.Popen(
            ["/bin/sh", "-c", terminal.command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.folder,
            env=self.environment,
        )
        os.close(theirs)
        printed = b""
        try:
            while chunk := os.read(ours, 65536):
                printed += chunk
        except OSError:  # Linux says so where other systems give an empty text
            pass
        os.close(ours)
        process.wait()
        return self.shown(printed.decode().replace("\r\n", "\n"))


def draw(terminal: Terminal, printed: str, folder: Path) -> None:
    """Save a picture of a terminal, light and dark."""
    lines = printed.rstrip("\n").split("\n")
    lines = [re.sub(r".*\r(?!$)(?:\x1b\[2?K)?", "", line) for line in lines]  # progress that was overwritten
    if len(lines) > terminal.lines:
        lines = [*lines[: terminal.lines], "", "\x1b[2m…\x1b[0m"]
    for kind, theme in THEMES.items():
        console = Console(
            record=True, file=io.StringIO(), width=terminal.columns, force_terminal=True, color_system="truecolor"
        )
        console.print(Text.assemble(("$ ", "dim"), (terminal.command, "bold")))
        for line in lines:
            console.print(Text.from_ansi(line), soft_wrap=False, overflow="fold", highlight=False)
        console.print()  # the last line's descenders would be cut
        svg = console.export_svg(title="Terminal", theme=theme, code_format=FORM, unique_id=terminal.name)
        svg = svg.replace('stroke="rgba(255,255,255,0.35)"', 'stroke="rgba(128,128,128,0.5)"')  # seen on white, too
        (folder / f"{terminal.name}-{kind}.svg").write_text(svg, encoding="utf-8")


async def play_assistant(home: Home) -> None:
    """Make the changes of the first hour, as a client named claude-ai: so Claude Desktop names itself."""
    server = StdioServerParameters(
        command=str(home.command), args=["stdio", "--vault", str(home.vault)], env=home.environment
    )
    client = types.Implementation(name="claude-ai", version="0.1.0")
    async with (
        stdio_client(server) as (reading, writing),
        ClientSession(reading, writing, client_info=client) as session,
    ):
        await session.initialize()
        for tool, arguments in CALLS:
            result = await session.call_tool(tool, arguments)
            assert not result.is_error, result


@contextmanager
def waiting_change(home: Home) -> Iterator[str]:
    """Run ``vaultwire ide``, propose a change to it as Claude Code does, and yield a link of its desk."""
    command = [str(home.command), "ide", "--no-browser", "--vault", str(home.vault)]
    with subprocess.Popen(command, env=home.environment, stdout=subprocess.PIPE, text=True) as bridge:
        try:
            assert bridge.stdout is not None
            next(line for line in bridge.stdout if "desk" in line)
            (lock,) = (home.folder / ".claude" / "ide").glob("*.lock")
            token = json.loads(lock.read_text(encoding="utf-8"))["authToken"]
            headers = {"x-claude-code-ide-authorization": token}
            address = f"ws://127.0.0.1:{lock.stem}"
            with connect(address, additional_headers=headers, subprotocols=["mcp"], proxy=None) as socket:  # type: ignore[list-item]
                old = (home.vault / NOTE).read_text(encoding="utf-8")
                new = old.replace("- [ ] buy seeds\n", "- [x] buy seeds\n- [ ] fill the water barrel\n")
                names = {"old_file_path": str(home.vault / NOTE), "new_file_path": str(home.vault / NOTE)}
                asked = {**names, "new_file_contents": new, "tab_name": "[Claude Code] Garden 2026.md"}
                for number, (method, params) in enumerate(
                    (
                        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}),
                        ("tools/call", {"name": "openDiff", "arguments": asked}),
                    )
                ):
                    socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
                yield next(line for line in bridge.stdout if "waits for you" in line).rsplit(": ", 1)[1].strip()
        finally:
            bridge.terminate()


def photograph(link: str, folder: Path) -> None:
    """Save pictures of the desk, light and dark: its list with a change, and a change that waits."""
    with open_tab() as tab:
        tab.resize(*WINDOW)
        tab.go(link)
        tab.wait_for("document.querySelector('#list a[data-id=p1]')")
        for name, item in DESK:
            tab.click(f"#list a[data-id={item}]")
            shown = f".toolbar [data-decides^='{item} ']"
            tab.wait_for(f'document.querySelector("{shown}") && document.querySelector(".hunk")')
            tab.evaluate("document.activeElement.blur()")
            for kind in ("light", "dark"):
                tab.be_dark(kind == "dark")
                tab.evaluate(SAME_TIMES)
                (folder / f"{name}-{kind}.png").write_bytes(tab.capture())


def main(folder: Path) -> None:
    """Make all pictures."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vaultwire-pictures-") as scratch:
        home = Home(Path(scratch))
        home.run(Terminal("practice", "vaultwire demo --keep ~/Practice"))
        for terminal in BEFORE:
            draw(terminal, home.run(terminal), folder)
        asyncio.run(play_assistant(home))
        for terminal in AFTER:
            draw(terminal, home.run(terminal), folder)
        with waiting_change(home) as link:
            photograph(link, folder)
        shutil.rmtree(home.vault)
    made = sorted(folder.glob("*-*.*"))
    print(f"{len(made)} pictures in {folder}, {sum(path.stat().st_size for path in made) / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
