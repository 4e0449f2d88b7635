"""A process that is forked from a loaded one (``support.forking``) is to a test as one that loads the program itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.forking import Loaded, loaded, run, start


@pytest.mark.parametrize(
    "arguments", [("--version",), ("read", "--no-such"), ("read", "Note", "--vault", "."), ("stdio", "--vault", "none")]
)
def test_it_says_and_ends_as_a_process_that_loads_all_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Note.md").write_text("a note")
    command = loaded("vaultwire", *arguments)
    itself = start([sys.executable, "-m", "vaultwire", *arguments], (), {})
    out, err = itself.communicate(b"")
    ended = run(command)
    assert (ended.returncode, ended.stdout, ended.stderr) == (itself.wait(), out.decode(), err.decode())


def test_it_has_its_own_environment_folder_input_signals_and_end(tmp_path: Path) -> None:
    (tmp_path / "echo_it.py").write_text(
        "import os, sys\nprint(os.environ['OWN'], sys.argv[1:], sys.stdin.readline().strip(), flush=True)\nos.abort()\n"
    )
    process = start(Loaded("echo_it"), ["b", "c"], {"OWN": "a"}, folder=tmp_path)
    out, _ = process.communicate(b"d\n")
    assert (out, process.poll(), process.wait()) == (b"a ['b', 'c'] d\n", -signal.SIGABRT, -signal.SIGABRT)
    waiting = start(loaded("vaultwire", "stdio"), ["--vault", str(tmp_path)], {})
    assert waiting.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(0)
    waiting.kill()
    assert waiting.wait() == -signal.SIGKILL
    waiting.communicate()
