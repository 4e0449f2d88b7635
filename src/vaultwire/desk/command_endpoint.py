"""Pointing notes out to assistants: what the plugin and commands ask for, and the commands' door on the editors' socket.

A command is one request. It is a GET, because the socket's library answers no other; no web page can send it, since it
needs a header, and whatever has an Origin is refused.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection

from vaultwire.desk.command_api import KEY_HEADER, NOBODY, PATH, PRIVATE, SENT
from vaultwire.desk.review_endpoint import answer
from vaultwire.editor.state import EditorState, Mention, select_lines
from vaultwire.markdown.links import split_display
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.model import Note
from vaultwire.vault.vault import Vault

_MAX_LINE_DIGITS = 9


def point_out(state: EditorState, mention: Mention, clients: Callable[[], int]) -> str:
    """Point something out to the assistants there are; return what came of it."""
    if not clients():
        return NOBODY
    return SENT if state.mention(mention) else PRIVATE


class CommandEndpoint:
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
            mention, outcome = self._carry_out(asked)
        except VaultError as error:
            return _told(HTTPStatus.BAD_REQUEST, message=_for_a_person(error))
        except ValueError as error:
            return _told(HTTPStatus.BAD_REQUEST, message=str(error))
        return _told(
            HTTPStatus.OK, path=mention.path, first=mention.first_line, last=mention.last_line, outcome=outcome
        )

    def serve(self, connection: ServerConnection) -> None:
        """End a socket: there is none here."""
        connection.close()

    def _carry_out(self, asked: dict[str, str]) -> tuple[Mention, str]:
        """Return what was meant and what came of it. Raises VaultError, and ValueError for what makes no sense."""
        mention, text = _meant(self._vault(), asked.get("note", ""), _number(asked, "first"), _number(asked, "last"))
        do = asked.get("do")
        if do == "mention":
            return mention, point_out(self._state, mention, self._clients)
        if do != "select":
            raise ValueError("do must be mention or select")
        self._state.select(select_lines(mention.path, text, mention.first_line, mention.last_line))
        if self._state.selection.path != mention.path:
            return mention, PRIVATE
        return mention, SENT if self._clients() + self._lookers() else NOBODY


def _meant(vault: Vault, given: str, first: int, last: int) -> tuple[Mention, str]:
    """Return the note, or the lines of it, that a person means, and the note's text. Raises VaultError, ValueError."""
    note, subpath = _note_of(vault, given)
    if subpath and first:
        raise ValueError(f"give lines or a part of the note, and not both: #L{first} or #{subpath}")
    if subpath:
        _, span = vault.read_part(note.path, subpath, None)
        first, last = span.first, span.last
    if first > last:
        raise ValueError(f"line {first} comes after line {last}: give the first line first")
    if last > (total := note.text.count("\n") + 1):
        raise ValueError(f"{note.path} has lines 1 to {total}")
    return Mention(note.path, first, last), note.text


def _note_of(vault: Vault, given: str) -> tuple[Note, str]:
    """Return the note that is meant, and of which part: a heading, or ``^id`` for a block. Raises VaultError.

    A name may have a ``#`` in it: the longest name that is a note's is meant, and what follows is the part.
    """
    text = given.strip()
    if text.startswith(("[[", "![[")) and text.endswith("]]"):
        text = split_display(text.removeprefix("!")[2:-2])[0]
    name = text
    while "#" in name:
        try:
            note = vault.read(name)
        except VaultError as error:
            if error.code != FILE_NOT_FOUND:
                raise
        else:
            if fold(name.removesuffix(NOTE_SUFFIX)) in fold(note.path):  # else it was found by the part before the #
                return note, text[len(name) + 1 :]
        name = name.rpartition("#")[0]
    return vault.read(name), text[len(name) + 1 :]


def _for_a_person(error: VaultError) -> str:
    """Return what is wrong, for a person at a terminal: the engine names tools of assistants."""
    near = error.details.get("near")
    if error.code != FILE_NOT_FOUND or near is None:
        return error.message
    hint = f"Did you mean: {', '.join(near)}?" if near else "Give its path as Obsidian shows it, such as Folder/Note.md"
    return f"no note is named {error.details.get('name')!r}. {hint}"


def _number(asked: dict[str, str], name: str) -> int:
    text = asked.get(name, "0")
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_LINE_DIGITS):
        raise ValueError(f"{text[:_MAX_LINE_DIGITS]!r} is no line")
    return int(text)


def _told(status: HTTPStatus, **values: str | int) -> Response:
    return answer(status, json.dumps(values), "application/json")
