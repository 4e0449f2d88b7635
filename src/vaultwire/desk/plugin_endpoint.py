"""The endpoint of the companion plugin in Obsidian, on the editors' port: what the person sees, and what to show them.

It finds the server by a file outside the vault (``transports.lock_file.endpoint_file``) and shows the secret in that file.
It tells nothing before the server has shown the second secret: another program may have the port by now. Its messages are
checked like anybody's; a wrong one is ignored. The messages are JSON objects with a ``type``:

- from the plugin: ``state`` (path, text, start, end, tabs), ``mention`` (path, first, last; lines from 1, 0 for the whole
  note), and of an item with an ``id``: ``show``, ``text`` (file), ``preview`` (file, text), ``hunks`` (file, from), ``decide``
  (action, and perhaps file, hunk, edited, reason), as a page of the desk asks for them;
- to it: ``hello`` (version, answer), ``items`` (items, the latest first; waiting, their number), ``item`` (item, with its
  files), ``text``, ``preview``, ``hunks`` (id, file), ``decided`` (id, message, error, undo; also for a failed request),
  ``open`` (path, line from 1, 0 for none), ``mentioned`` (outcome), ``shared`` (clients, the names of the connected
  assistants; path, the note that they are told, "" for none).

A plugin ignores a type that it does not know. A new type therefore needs no other version.
"""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Callable, Collection, Hashable
from typing import Any, NamedTuple

from vaultwire.desk.api import DeskApi, DeskRefusal, DeskVaults
from vaultwire.editor import EditorState, Mention, Position, Selection, select_lines
from vaultwire.transports.editor_socket import Answer, Opening, WebSocket
from vaultwire.vault.disk.paths import parse_path
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.note_lookup import subpath_of
from vaultwire.vault.vault import Vault

# ---------------------------------------------------------------------- commands
#
# The endpoint of ``vaultwire mention`` and ``select`` on the editors' port. The plugin has its own endpoint.
#
# A command is one request. No web page can send it: it needs a header, and a request with an Origin is refused.

# The names that ``vaultwire mention`` and ``select`` share with their endpoint. Apart from it: commands load no WebSocket.

COMMAND_PATH = "/command"
KEY_HEADER = "x-vaultwire-key"

# The outcomes of a command.
SENT, NOBODY, PRIVATE = "sent", "nobody", "private"


_MAX_LINE_DIGITS = 9


def send_mention(state: EditorState, mention: Mention, clients: Callable[[], Collection[str]]) -> str:
    """Send a mention to the connected assistants; return the outcome."""
    if not clients():
        return NOBODY
    return SENT if state.mention(mention) else PRIVATE


class CommandEndpoint:
    """Takes the commands of other programs on this computer."""

    prefix = COMMAND_PATH

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
        if opening.values("origin") or opening.path != COMMAND_PATH:
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


def _find_lines(vault: Vault, name: str, first: int, last: int) -> tuple[Mention, str]:
    """Return the note or lines that a person named, and the note's text. Raises VaultError, ValueError."""
    note = vault.read(name)
    subpath = subpath_of(name, note.path)
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


# ---------------------------------------------------------------------- the side pane
#
# The side pane of the companion plugin: the items it lists, the one it shows, and what the person decides there. What it asks
# is what a page of the desk asks (``api``).

_MOST_ITEMS = 50
_MAX_REASON = 2_000
# By a message's type: the route of the desk, and the numbers that the message must have.
_ROUTES: dict[str, tuple[str, tuple[str, ...]]] = {
    "show": ("item", ()),
    "text": ("text", ("file",)),
    "preview": ("preview", ("file",)),
    "hunks": ("hunks", ("file", "from")),
    "decide": ("decide", ()),
}


class PluginReview:
    """The list and the decisions of one vault. Safe to use from several threads."""

    def __init__(self, vaults: DeskVaults, on_decided: Callable[[], None] = lambda: None) -> None:
        """``vaults`` has the one vault. ``on_decided`` is called after a decision."""
        self._vaults = vaults
        self._api = DeskApi(vaults)
        self._on_decided = on_decided
        self._lock = threading.Lock()
        self._stamp: Hashable = None
        # Which state of the notes the plugin was shown, and which one the texts are of that it was given to edit.
        self._basis: dict[str, str] = {}
        self._text_basis: dict[str, str] = {}
        self._items: dict[str, Any] | None = None

    def items(self) -> dict[str, Any]:
        """Return the message with the latest items; the same object until something has changed. Raises OSError."""
        with self._lock:
            reviewer = self._vaults.reviewer(self._vaults.name(None))
            stamp = reviewer.stamp()
            if self._items is None or stamp != self._stamp:
                page = reviewer.items(limit=_MOST_ITEMS)
                self._items = {"type": "items", "items": page["items"], "waiting": page["waiting"]}
                self._stamp = stamp
            return self._items

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message, None for one that is none of these or is malformed."""
        kind, id_ = message.get("type"), message.get("id")
        if not isinstance(id_, str) or not isinstance(kind, str) or kind not in _ROUTES:
            return None
        route, needed = _ROUTES[kind]
        numbers = {name: message[name] for name in ("file", "hunk", "from") if message.get(name) is not None}
        if not numbers.keys() >= {*needed} or any(type(each) is not int or each < 0 for each in numbers.values()):
            return None  # bool is an int, too
        try:
            if kind == "decide":
                return self._decide(id_, message, numbers)
            given: dict[str, Any] = {"id": id_, **{name: str(number) for name, number in numbers.items()}}
            if kind == "preview":
                given = {"id": id_, **numbers, "text": message.get("text")}
            return self._shown(kind, id_, numbers.get("file", 0), self._api.call(route, given).run())
        except DeskRefusal as refusal:
            if refusal.code == INVALID_ARGUMENTS:  # not a message of a plugin of this version
                return None
            return {"type": "decided", "id": id_, "message": refusal.message, "error": True}
        except VaultError as error:
            return {"type": "decided", "id": id_, "message": error.message, "error": True}
        except OSError as error:
            return {"type": "decided", "id": id_, "message": error.strerror or str(error), "error": True}

    def _shown(self, kind: str, id_: str, file: int, answer: Any) -> dict[str, Any]:
        """Return the desk's answer as the plugin gets it."""
        if kind == "show":
            self._basis[id_] = answer["basis"]
            return {"type": "item", "item": answer}
        if kind == "text":
            self._text_basis[id_] = answer["basis"]
            return {"type": "text", "id": id_, "file": file, "text": answer["text"]}
        return {"type": kind, "id": id_, "file": answer if kind == "hunks" else answer["file"]}

    def _decide(self, id_: str, message: dict[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
        action, edited, reason = message.get("action"), message.get("edited") or None, message.get("reason") or ""
        given = {"id": id_, **numbers, "action": action, "edited": edited}
        given["reason"] = reason[:_MAX_REASON] if isinstance(reason, str) else reason
        seen = self._text_basis if edited else self._basis
        given["basis"] = seen.get(id_, "") if action == "accept" else ""
        call = self._api.call("decide", given)
        if action == "accept":
            seen.pop(id_, None)
        result = call.run()
        self._on_decided()
        return {"type": "decided", "id": id_, "message": result["message"], "error": False, "undo": result.get("undo")}


PATH = "/plugin"
# Of the messages; main.js has the same number. A plugin of another version says that it must be updated.
VERSION = 2
# The origin of Obsidian's own pages, on every desktop.
OBSIDIAN = "app://obsidian.md"

# The plugin cuts a selection at so many characters; clients show their model 2,000.
MAX_SELECTED = 100_000
_MAX_TABS = 500
_MAX_LINE = 1 << 31


class Seen(NamedTuple):
    """What the plugin says the person sees."""

    selection: Selection
    tabs: tuple[str, ...]


class PluginEndpoint:
    """Takes the plugin of one vault; several windows of Obsidian may connect."""

    prefix = PATH

    def __init__(
        self,
        state: EditorState,
        review: PluginReview,
        secrets: tuple[str, str],
        clients: Callable[[], Collection[str]],
        watchers: Callable[[], Collection[str]] = tuple,
        on_gone: Callable[[], None] = lambda: None,
    ) -> None:
        """``secrets``: the plugin's and ours. ``clients`` returns the connected assistants; ``watchers`` further ones, which
        take no mentions. ``on_gone`` is called when a plugin disconnects: then perhaps nobody sees the changes that wait.
        """
        self._state = state
        self._review = review
        self._lock = threading.Lock()
        self._plugins: list[WebSocket] = []
        self._token, self._answer = secrets
        self._clients = clients
        self._watchers = watchers
        self._on_gone = on_gone
        self.origins: Collection[str] = (OBSIDIAN,)
        self._telling = threading.Lock()  # so that the latest state is sent last
        self._told: dict[WebSocket, str] = {}  # what each plugin was told last of what is shared
        self._listed: dict[WebSocket, dict[str, Any]] = {}  # and of the items

    @property
    def is_open(self) -> bool:
        """Whether a plugin is connected. It shows changes, and knows better than files what the person sees."""
        return bool(self._plugins)

    def open(self, path: str, line: int) -> bool:
        """Show a file at a line (from 1; 0 for anywhere); False if no plugin is connected."""
        plugins = list(self._plugins)
        return bool(plugins) and _send(plugins[-1], type="open", path=path, line=line)

    def admit(self, opening: Opening) -> Answer | None:
        """Return the refusal of a request, None to accept the plugin."""
        secret = opening.query.get("key", [""])[0]
        if opening.path != PATH or opening.values("origin") not in [[origin] for origin in self.origins]:
            return Answer(403, "This is for vaultwire's plugin in Obsidian.\n")
        if not hmac.compare_digest(secret.encode(), self._token.encode()):
            return Answer(401, "Missing or wrong key\n")
        return None

    def join(self, plugin: WebSocket) -> None:
        """Begin to serve a plugin."""
        _send(plugin, type="hello", version=VERSION, answer=self._answer)
        with self._lock:
            self._plugins.append(plugin)
        self.tell_items()

    def leave(self, plugin: WebSocket) -> None:
        """Forget a plugin that has disconnected. The proposals stay: the person also has the page."""
        with self._lock:
            self._plugins.remove(plugin)
        with self._telling:
            self._told.pop(plugin, None)
            self._listed.pop(plugin, None)
        self._on_gone()

    def tell_items(self) -> None:
        """Tell the plugins the latest items, if they have changed, by whatever process."""
        if not self._plugins:
            return
        with self._telling:
            try:
                items = self._review.items()
            except (OSError, VaultError):  # the next look tries again
                return
            for plugin in list(self._plugins):
                if self._listed.get(plugin) is not items:
                    self._listed[plugin] = items
                    _send(plugin, **items)

    def tell_shared(self) -> None:
        """Tell the plugins which assistants are connected, and which note these are told, if that has changed."""
        with self._telling:
            clients = [*self._clients(), *self._watchers()]
            shared = json.dumps({"type": "shared", "clients": clients, "path": self._state.selection.path})
            for plugin in list(self._plugins):
                if self._told.get(plugin) != shared:
                    self._told[plugin] = shared
                    plugin.send(shared)

    def receive(self, plugin: WebSocket, message: str | bytes) -> None:
        """Handle a plugin's message."""
        seen = parse_message(message) if isinstance(message, str) else None
        if isinstance(seen, Seen):
            self._state.open_tabs(seen.tabs)
            self._state.select(seen.selection)
            self.tell_shared()
        elif isinstance(seen, Mention):
            _send(plugin, type="mentioned", outcome=send_mention(self._state, seen, self._clients))
        elif seen is not None and (answered := self._review.answer(seen)) is not None:
            _send(plugin, **answered)
            if answered["type"] == "decided":
                self.tell_items()


def _send(plugin: WebSocket, **message: Any) -> bool:
    return plugin.send(json.dumps(message))


def parse_message(said: str) -> Seen | Mention | dict[str, Any] | None:
    """Return a plugin's message: what is seen or mentioned, or what concerns an item as it is; None for anything else."""
    try:
        message = json.loads(said)
        if message["type"] == "state":
            return _parse_state(message)
        if message["type"] == "mention":
            first, last = message["first"], message["last"]
            if not _is_line(first) or not _is_line(last) or first > last:
                return None
            return Mention(_path(message["path"]), first, last)
        if isinstance(message["id"], str):
            return dict(message)
    except (ValueError, TypeError, KeyError, RecursionError, VaultError):
        return None
    return None


def _parse_state(message: dict[str, Any]) -> Seen | None:
    tabs, text = message["tabs"], message["text"]
    if not isinstance(tabs, list) or not isinstance(text, str):
        return None
    path = _path(message["path"]) if message["path"] != "" else ""
    start, end = _spot(message["start"]), _spot(message["end"])
    if start > end:
        return None
    selection = Selection(path, text[:MAX_SELECTED], start, end) if path else Selection("")
    return Seen(selection, tuple(_path(tab) for tab in tabs[:_MAX_TABS]))


def _path(value: Any) -> str:
    """Return a path in the vault. Raises VaultError, and TypeError for what is no text."""
    if not isinstance(value, str):
        raise TypeError
    return parse_path(value)


def _spot(value: Any) -> Position:
    if not isinstance(value, list) or len(value) != len(Position._fields) or not all(map(_is_line, value)):
        raise TypeError
    return Position(*value)


def _is_line(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MAX_LINE  # bool is an int, too
