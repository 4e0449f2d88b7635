"""The command line without a process of its own: for what a command says and does, not for how a process starts and ends.

Starting Python and loading the program takes ten times as long as most commands.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from vaultwire.__main__ import main


def run_command(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``vaultwire`` with these arguments in a pipe, as a shell would, and return how it ended."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdin", "stdout", "stderr")}
    streams["stdin"].buffer.write(stdin.encode())
    streams["stdin"].buffer.seek(0)
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            code: object = main(arguments)
        except SystemExit as ending:  # as argparse ends, after help or on wrong options
            code = ending.code or 0
        for stream in streams.values():
            stream.flush()
    out, err = (_text(streams[name]) for name in ("stdout", "stderr"))
    assert isinstance(code, int)
    return subprocess.CompletedProcess(arguments, code, out, err)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode().replace(os.linesep, "\n")
