"""Pointing notes out to assistants: what the plugin and commands ask for, and the commands' door on the editors' socket.

A command is one request. It is a GET, because the socket's library answers no other; no web page can send it, since it
needs a header, and whatever has an Origin is refused.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection

from vaultwire.desk.agreed import KEY_HEADER, NOBODY, PATH, PRIVATE, SENT
from vaultwire.desk.serving import answer
from vaultwire.editor.state import EditorState, Mention, Selection, Spot
from vaultwire.vault.errors import VaultError
from vaultwire.vault.vault import Vault

_MAX_LINE_DIGITS = 9


class Lines(NamedTuple):
    """Some lines of a note, counted from 1, or 0 and 0 for the whole."""

    first: int = 0
    last: int = 0


def point_out(state: EditorState, mention: Mention, clients: Callable[[], int]) -> str:
    """Point something out to the assistants there are; return what came of it."""
    if not clients():
        return NOBODY
    return SENT if state.mention(mention) else PRIVATE


class CommandLink:
    """The commands' door: ``mention`` and ``select`` from elsewhere on this computer."""

    prefix = PATH

    def __init__(
        self,
        state: EditorState,
        vault: Callable[[], Vault],
        token: str,
        clients: Callable[[], int],
        lookers: Callable[[], int] = lambda: 0,
    ) -> None:
        """``clients`` tells how many assistants are connected; ``lookers`` how many besides, which know no mentions."""
        self._state = state
        self._vault = vault
        self._token = token.encode()
        self._clients = clients
        self._lookers = lookers

    def admit(self, request: Request) -> Response | None:
        """Return what came of a command: JSON with ``outcome`` and ``path``, or ``message`` where it cannot be."""
        where = urlsplit(request.path)
        shown = request.headers.get_all(KEY_HEADER)
        if "Origin" in request.headers or where.path != PATH:
            return answer(HTTPStatus.FORBIDDEN, "This is for vaultwire's own commands.\n")
        if len(shown) != 1 or not hmac.compare_digest(shown[0].encode(), self._token):
            return answer(HTTPStatus.UNAUTHORIZED, f"Missing or wrong {KEY_HEADER}\n")
        asked = {name: values[0] for name, values in parse_qs(where.query).items()}
        try:
            path, outcome = self._carry_out(asked)
        except VaultError as error:
            return _told(HTTPStatus.BAD_REQUEST, message=error.message)
        except ValueError as error:
            return _told(HTTPStatus.BAD_REQUEST, message=str(error))
        return _told(HTTPStatus.OK, path=path, outcome=outcome)

    def serve(self, connection: ServerConnection) -> None:
        """End a socket: there is none here."""
        connection.close()

    def _carry_out(self, asked: dict[str, str]) -> tuple[str, str]:
        """Return the note's path and what came of it. Raises VaultError, and ValueError for what makes no sense."""
        lines = Lines(_number(asked.get("first", "0")), _number(asked.get("last", "0")))
        note = self._vault().read(asked.get("note", ""))
        shown = note.text.split("\n")
        if lines.first > lines.last:
            raise ValueError(f"line {lines.first} comes after line {lines.last}: give the first line first")
        if lines.last > len(shown):
            raise ValueError(f"{note.path} has lines 1 to {len(shown)}")
        do = asked.get("do")
        if do == "mention":
            return note.path, point_out(self._state, Mention(note.path, *lines), self._clients)
        if do != "select":
            raise ValueError("do must be mention or select")
        self._state.select(_selection(note.path, shown, lines))
        if self._state.selection.path != note.path:
            return note.path, PRIVATE
        return note.path, SENT if self._clients() + self._lookers() else NOBODY


def _selection(path: str, shown: list[str], lines: Lines) -> Selection:
    if not lines.first:
        return Selection(path)
    chosen = shown[lines.first - 1 : lines.last]
    return Selection(path, "\n".join(chosen), Spot(lines.first - 1, 0), Spot(lines.last - 1, len(chosen[-1])))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_LINE_DIGITS):
        raise ValueError(f"{text[:_MAX_LINE_DIGITS]!r} is no line")
    return int(text)


def _told(status: HTTPStatus, **values: str) -> Response:
    return answer(status, json.dumps(values), "application/json")
