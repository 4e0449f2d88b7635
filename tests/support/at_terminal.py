"""The command line as a person has it: at a pseudo-terminal of some width, with an answer typed at each question."""

from __future__ import annotations

import os
import re
import struct
import sys
from typing import NamedTuple

_STYLE = re.compile(r"\x1b\[\d+(;\d+)*m")
_OVERWRITTEN = re.compile(r"\r\x1b\[K[^\r\n]*(?=\r)|\r\x1b\[K")
_QUESTION = b"[y/N] "
_START = "import sys; from vaultwire.__main__ import main; sys.exit(main())"


class Shown(NamedTuple):
    """What a command showed at a terminal, and its exit code."""

    text: str
    code: int

    @property
    def left(self) -> str:
        """The text without the lines of progress that were written over: a busy computer shows more of them."""
        return _OVERWRITTEN.sub("", self.text)

    @property
    def plain(self) -> str:
        """What is left, without colours."""
        return _STYLE.sub("", self.left)


def at_terminal(*arguments: str, columns: int = 80, answer: str = "", before: str = "", **environment: str) -> Shown:
    """Run ``vaultwire`` at a new terminal, after the Python code ``before``. Not on Windows."""
    import fcntl  # noqa: PLC0415 - Windows has none of the three
    import pty  # noqa: PLC0415
    import termios  # noqa: PLC0415

    main, command_end = pty.openpty()
    fcntl.ioctl(command_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    given = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", f"{before}\n{_START}", *arguments],
        {**given, "TERM": "xterm", "PYTHONUTF8": "1", **environment},
        file_actions=[(os.POSIX_SPAWN_DUP2, command_end, number) for number in (0, 1, 2)],
    )
    os.close(command_end)
    shown = bytearray()
    answered = 0
    while True:
        try:
            read = os.read(main, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not read:
            break
        shown += read
        if shown.count(_QUESTION) > answered:
            answered += 1
            os.write(main, f"{answer}\n".encode())
    os.close(main)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Shown(shown.decode().replace("\r\n", "\n"), code)
