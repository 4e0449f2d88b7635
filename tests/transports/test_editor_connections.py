"""How connections of the editors' socket come and go: those that say nothing, those that do not go, files that run out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.editor_door import PATIENCE, EditorDoor
from support.vaults import write_vault
from vaultwire.editor import Selection
from vaultwire.transports.editor_socket import Bounds
from vaultwire.transports.http_server import Limits

HOUR = 3600.0
# A close frame of code 1000 and a ping, as clients send them: masked, with a mask of zeros.
GOODBYE = bytes([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
PING = bytes([0x89, 0x80, 0, 0, 0, 0])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\ntext\n")


def is_ended(connection: socket.socket) -> bool:
    """Tell whether the other side has ended a connection on which nothing was said; waits for that."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_of_those_who_say_nothing_the_oldest_are_ended(root: Path) -> None:
    door = EditorDoor(root, limits=Limits(connections=3, head=HOUR))
    with ExitStack() as opened:
        silent = [opened.enter_context(socket.create_connection(("127.0.0.1", door.port))) for _ in range(10)]
        assert all(is_ended(connection) for connection in silent[:7])
        client = opened.enter_context(door.knock())
        assert is_ended(silent[7])
        # Who has shown the token keeps its connection, however many come and go.
        for _ in range(10):
            door.knock().close()
        client.sendall(PING)
        assert client.recv(2) == b"\x8a\x00"
    door.close()


def test_one_who_says_nothing_is_ended_after_a_while(root: Path) -> None:
    door = EditorDoor(root, limits=Limits(head=0.05))
    with socket.create_connection(("127.0.0.1", door.port)) as silent:
        assert is_ended(silent)
    door.close()


def test_a_client_that_said_goodbye_is_gone_though_its_connection_stays_open(root: Path) -> None:
    door = EditorDoor(root)
    with door.knock() as client:
        client.sendall(GOODBYE)
        while door.bridge.peers:
            threading.Event().wait(0.001)
    door.close()


def test_the_end_waits_for_no_client_that_does_not_go(root: Path) -> None:
    door = EditorDoor(root, bounds=Bounds(ready=0.0, quiet=0.0), limits=Limits(stalled=HOUR, head=HOUR))
    with ExitStack() as opened:
        opened.enter_context(socket.create_connection(("127.0.0.1", door.port)))  # says nothing
        said = opened.enter_context(door.knock())  # says goodbye, and stays
        said.sendall(GOODBYE)
        opened.enter_context(door.knock())  # ignores the goodbye
        while len(door.bridge.peers) != 1:
            threading.Event().wait(0.001)
        full = opened.enter_context(door.knock())  # reads nothing
        while len(door.bridge.peers) < 2:
            threading.Event().wait(0.001)
        for peer in door.bridge._peers:
            peer.is_ready = True
        for number in range(20):
            door.state.select(Selection("Note.md", str(number) * 1_000_000))
        door.close()
        assert not door.bridge.peers
        assert full.fileno() != -1


# Takes all files there are, so that there is none for who comes, ends the first that said nothing, and gives them back.
WITHOUT_FILES = """
import resource, socket, sys
from pathlib import Path
from support.editor_door import EditorDoor

door = EditorDoor(Path(sys.argv[1]))
door.knock().close()  # what is loaded for the first one is
first = socket.create_connection(("127.0.0.1", door.port), 60)
first.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
assert first.recv(1000).startswith(b"HTTP/1.1 403 ")
others = [socket.socket() for _ in range(3)]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError:
    pass
for other in others:
    other.connect(("127.0.0.1", door.port))
while first.recv(1000):
    pass
for file in (*held, *others):
    file.close()
door.knock().close()
door.close()
print("well")
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no limit of files there")
def test_the_door_opens_again_once_there_are_files(root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FILES, str(root)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
    )
    assert (done.stdout, done.stderr) == ("well\n", "")
