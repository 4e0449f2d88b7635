"""The endpoint of ``vaultwire mention`` and ``select`` on the editors' port. The plugin has its own endpoint.

A command is one request. No web page can send it: it needs a header, and a request with an Origin is refused.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Collection

from vaultwire.desk.command_api import KEY_HEADER, NOBODY, PATH, PRIVATE, SENT
from vaultwire.editor.state import EditorState, Mention, select_lines
from vaultwire.transports.editor_socket import Answer, Opening
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.links.note_lookup import subpath_of
from vaultwire.vault.vault import Vault

_MAX_LINE_DIGITS = 9


def send_mention(state: EditorState, mention: Mention, clients: Callable[[], Collection[str]]) -> str:
    """Send a mention to the connected assistants; return the outcome."""
    if not clients():
        return NOBODY
    return SENT if state.mention(mention) else PRIVATE


class CommandEndpoint:
    """Takes the commands of other programs on this computer."""

    prefix = PATH

    def __init__(
        self,
        state: EditorState,
        vault: Callable[[], Vault],
        token: str,
        clients: Callable[[], Collection[str]],
        watchers: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """``clients`` returns the connected assistants; ``watchers`` further ones, which take no mentions."""
        self._state = state
        self._vault = vault
        self._token = token.encode()
        self._clients = clients
        self._watchers = watchers

    def answer(self, opening: Opening) -> Answer:
        """Carry out a command; return JSON with ``outcome`` and ``path``, or with ``message`` for an error."""
        secrets = opening.values(KEY_HEADER)
        if opening.values("origin") or opening.path != PATH:
            return Answer(403, "This is for vaultwire's own commands.\n")
        if len(secrets) != 1 or not hmac.compare_digest(secrets[0].encode(), self._token):
            return Answer(401, f"Missing or wrong {KEY_HEADER}\n")
        command = {name: values[0] for name, values in opening.query.items()}
        try:
            mention, outcome = self._carry_out(command)
        except VaultError as error:
            return _json_answer(400, message=_to_text(error))
        except ValueError as error:
            return _json_answer(400, message=str(error))
        return _json_answer(200, path=mention.path, first=mention.first_line, last=mention.last_line, outcome=outcome)

    def _carry_out(self, command: dict[str, str]) -> tuple[Mention, str]:
        """Return the mention and the outcome. Raises VaultError, and ValueError for a wrong command."""
        mention, text = _find_lines(
            self._vault(), command.get("note", ""), _line_number(command, "first"), _line_number(command, "last")
        )
        do = command.get("do")
        if do == "mention":
            return mention, send_mention(self._state, mention, self._clients)
        if do != "select":
            raise ValueError("do must be mention or select")
        self._state.select(select_lines(mention.path, text, mention.first_line, mention.last_line))
        if self._state.selection.path != mention.path:
            return mention, PRIVATE
        return mention, SENT if self._clients() or self._watchers() else NOBODY


def _find_lines(vault: Vault, given: str, first: int, last: int) -> tuple[Mention, str]:
    """Return the note or lines that a person named, and the note's text. Raises VaultError, ValueError."""
    note = vault.read(given)
    subpath = subpath_of(given, note.path)
    if subpath and first:
        raise ValueError(f"give lines or a part of the note, not both: #L{first} or #{subpath}")
    if subpath:
        _, span = vault.read_part(note.path, subpath, None)
        first, last = span.first, span.last
    if first > last:
        raise ValueError(f"line {first} comes after line {last}: give the first line first")
    if last > (total := note.text.count("\n") + 1):
        raise ValueError(f"{note.path} has lines 1 to {total}")
    return Mention(note.path, first, last), note.text


def _to_text(error: VaultError) -> str:
    """Return an error for a person at a terminal: the engine's messages name the tools of assistants."""
    near = error.details.get("near")
    if error.code != FILE_NOT_FOUND or near is None:
        return error.message
    hint = f"Did you mean: {', '.join(near)}?" if near else "Give its path as Obsidian shows it, such as Folder/Note.md"
    return f"no note is named {error.details.get('name')!r}. {hint}"


def _line_number(command: dict[str, str], name: str) -> int:
    text = command.get(name, "0")
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_LINE_DIGITS):
        raise ValueError(f"{text[:_MAX_LINE_DIGITS]!r} is not a line")
    return int(text)


def _json_answer(status: int, **values: str | int) -> Answer:
    return Answer(status, json.dumps(values), "application/json")
