"""Where a person's programs meet: found by name, closed to everybody else, left tidy."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultwire.transports import rendezvous

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets in the file system here")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("m") / "serving"


@pytest.fixture
def place(folder: Path) -> str:
    path = rendezvous.socket_path(str(folder), {"a": 1}, None)
    assert path is not None
    return path


@pytest.fixture
def met(place: str) -> Iterator[rendezvous.Listener]:
    listener = rendezvous.listen(place)
    assert listener is not None
    listener.socket.listen()
    yield listener
    listener.close()


def test_other_settings_are_another_place(folder: Path) -> None:
    policy = folder.parent / "policy"
    policy.write_text("some")
    places = [
        rendezvous.socket_path(str(folder), {"a": 1}, None),
        rendezvous.socket_path(str(folder), {"a": 2}, None),
        rendezvous.socket_path(str(folder), {"a": 1}, str(policy)),
    ]
    assert rendezvous.socket_path(str(folder), {"a": 1}, str(policy)) == places[-1]
    policy.write_text("another")
    places.append(rendezvous.socket_path(str(folder), {"a": 1}, str(policy)))
    assert len(set(places)) == 4


def test_a_path_that_no_socket_can_have_is_no_place(folder: Path) -> None:
    assert rendezvous.socket_path(str(folder / ("x" * 100)), {}, None) is None


def test_nobody_is_found_where_nobody_is(place: str) -> None:
    assert not rendezvous.find(place)
    assert not rendezvous.find(None)


def test_who_listens_is_found_and_others_may_neither_look_nor_enter(place: str, met: rendezvous.Listener) -> None:
    assert rendezvous.find(place) == place
    assert os.stat(os.path.dirname(place)).st_mode & 0o777 == 0o700
    assert os.stat(place).st_mode & 0o777 == 0o600


def test_a_second_one_does_not_take_the_place_of_the_first(place: str, met: rendezvous.Listener) -> None:
    assert rendezvous.listen(place) is None
    assert rendezvous.find(place)


def test_who_leaves_is_gone(place: str, met: rendezvous.Listener) -> None:
    met.close()
    assert not os.path.exists(place)


def test_the_place_of_one_that_was_killed_is_free(place: str, met: rendezvous.Listener) -> None:
    met.socket.close()
    assert not rendezvous.find(place)
    again = rendezvous.listen(place)
    assert again is not None
    again.socket.listen()
    assert rendezvous.find(place)
    met.close()  # which was not killed after all, and leaves the other one in place
    assert rendezvous.find(place)
    again.close()


class Setting:
    def __init__(self, value: int) -> None:
        self.value = value


def test_settings_may_have_settings_in_them(folder: Path) -> None:
    places = [rendezvous.socket_path(str(folder), {"a": Setting(value)}, None) for value in (1, 1, 2)]
    assert places[0] == places[1] != places[2]


@pytest.mark.parametrize("mode", [0o750, 0o707, 0o711])
def test_a_folder_that_others_can_enter_is_not_trusted(place: str, met: rendezvous.Listener, mode: int) -> None:
    os.chmod(os.path.dirname(place), mode)
    assert not rendezvous.find(place)
    met.close()
    assert rendezvous.listen(place) is None


def test_a_linked_folder_is_not_trusted(place: str, met: rendezvous.Listener, tmp_path: Path) -> None:
    os.symlink(os.path.dirname(place), tmp_path / "link")
    assert not rendezvous.find(str(tmp_path / "link" / os.path.basename(place)))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_somebody_else_is_not_trusted(place: str, met: rendezvous.Listener) -> None:
    os.chown(place, 12345, -1)
    assert not rendezvous.find(place)
    os.chown(place, 0, -1)
    os.chown(os.path.dirname(place), 12345, -1)
    assert not rendezvous.find(place)


def test_a_file_in_the_way_is_left_alone(place: str, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    Path(place).write_text("mine")
    assert rendezvous.listen(place) is None
    assert Path(place).read_text() == "mine"
