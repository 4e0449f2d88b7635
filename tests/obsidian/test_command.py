"""Running the official command: how it is found, what it is given, and how it is ended."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from support.obsidian_app import Computer
from vaultwire.obsidian.command import Command, is_running
from vaultwire.vault.errors import (
    INVALID_ARGUMENTS,
    OBSIDIAN_NOT_RUNNING,
    TIMEOUT,
    TOO_LARGE,
    Stopped,
    VaultError,
)
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress

ANYTHING = ["vault=00000000000000ab", "workspace"]


class Impatient(NoProgress):
    """A caller who cancels at the look with this number."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        pass


def code_of(command: Command, *arguments: str) -> str:
    with pytest.raises(VaultError) as caught:
        command.run(arguments or ANYTHING, NO_PROGRESS)
    return caught.value.code


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_what_it_says_comes_back(running: Computer) -> None:
    finished = Command(running.command).run(["version"], NO_PROGRESS)
    assert (finished.code, finished.output, finished.errors) == (0, "1.12.7 (installer 1.12.7)\n", "")


@pytest.mark.parametrize(
    "value",
    ["--copy", "a b", "x=y", "open", "q\"u'ote", "$(id); `id` | id & id > f", "-", "", "ü\nz\t\\n", "*.md", "%PATH%"],
)
def test_every_argument_arrives_as_it_is(running: Computer, value: str) -> None:
    Command(running.command).run(["vault=x", "read", f"path={value}"], NO_PROGRESS)
    assert running.calls() == [["vault=x", "read", f"path={value}"]]


def test_a_nul_is_refused_before_anything_is_started(running: Computer) -> None:
    assert code_of(Command(running.command), "read", "path=a\0b") == INVALID_ARGUMENTS
    assert running.calls() == []


def test_the_command_is_not_called_while_the_app_does_not_run(computer: Computer) -> None:
    assert not is_running()
    assert code_of(Command(computer.command)) == OBSIDIAN_NOT_RUNNING
    assert computer.calls() == []


def test_an_app_that_crashed_does_not_run(running: Computer) -> None:
    assert is_running()
    running.stop_app()
    assert (running.folder / ".obsidian-cli.sock").exists()
    assert not is_running()
    assert code_of(Command(running.command)) == OBSIDIAN_NOT_RUNNING
    assert running.calls() == []


def test_the_app_is_found_by_its_socket_at_home_where_there_is_no_run_time_folder(
    running: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert is_running()
    monkeypatch.setenv("HOME", str(running.folder / "elsewhere"))
    assert not is_running()


@pytest.mark.skipif(sys.platform != "linux", reason="where it lies on Linux")
def test_the_command_is_found_where_the_app_puts_it_and_in_the_path(
    running: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert not Command().is_ready()
    monkeypatch.setenv("PATH", str(running.folder))
    assert Command().is_ready()
    monkeypatch.setenv("PATH", "/nowhere")
    registered = running.folder / ".local" / "bin" / "obsidian"
    registered.parent.mkdir(parents=True)
    Path(running.command).rename(registered)
    assert Command().is_ready()


def test_a_command_that_is_not_there_says_how_to_get_it(running: Computer) -> None:
    with pytest.raises(VaultError, match="Command line interface") as caught:
        Command(str(running.folder / "nothing")).run(ANYTHING, NO_PROGRESS)
    assert caught.value.code == OBSIDIAN_NOT_RUNNING


def test_a_command_that_does_not_answer_is_ended(running: Computer) -> None:
    running.behave("slow")
    started = time.monotonic()
    assert code_of(Command(running.command, seconds=0.3)) == TIMEOUT
    assert time.monotonic() - started < 2  # SIGTERM was enough


def test_a_command_that_ignores_the_request_to_end_is_killed_with_all_it_started(running: Computer) -> None:
    running.behave("hangs")
    assert code_of(Command(running.command, seconds=1, grace_seconds=0.2)) == TIMEOUT
    pids = [int(pid) for pid in Path(f"{running.log}.pids").read_text().split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 10  # the child's own end is its new parent's to see
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline
        os.sched_yield()


def test_an_endless_answer_is_cut_off(running: Computer) -> None:
    running.behave("huge")
    assert code_of(Command(running.command, max_output_bytes=100_000)) == TOO_LARGE


def test_a_long_answer_within_the_limit_is_whole(running: Computer) -> None:
    running.behave("long")
    finished = Command(running.command).run(["vault=00000000000000ab", "workspace"], NO_PROGRESS)
    assert len(finished.output) == 3_000_001


def test_who_cancels_waits_no_longer(running: Computer) -> None:
    running.behave("slow")
    with pytest.raises(Stopped):
        Command(running.command).run(ANYTHING, Impatient(2))


def test_who_has_cancelled_before_starts_nothing(running: Computer) -> None:
    with pytest.raises(Stopped):
        Command(running.command).run(ANYTHING, Impatient(0))
    assert running.calls() == []


class Switch(NoProgress):
    """A caller who cancels when told to."""

    def __init__(self) -> None:
        self.is_off = False

    def check(self) -> None:
        if self.is_off:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        pass


def test_one_call_runs_at_a_time_and_who_waits_can_cancel(running: Computer) -> None:
    running.behave("slow")
    command = Command(running.command)
    caller = Switch()

    def call() -> None:
        with pytest.raises(Stopped):
            command.run(ANYTHING, caller)

    first = threading.Thread(target=call)
    first.start()
    while not running.calls():
        os.sched_yield()
    with pytest.raises(Stopped):
        command.run(ANYTHING, Impatient(1))
    assert len(running.calls()) == 1
    caller.is_off = True
    first.join()
