"""The methods and tools of an editor's socket, for Claude Code and others. No socket here: frames come in and go out.

One ``Bridge`` for each vault, one ``Peer`` for each connection. An answer may come later, on another thread: a diff waits for
the person.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from vaultwire import __version__
from vaultwire.editor import (
    NOTHING,
    TOOL,
    Decision,
    Diff,
    EditorState,
    Mention,
    Position,
    Proposals,
    Selection,
    select_lines,
)
from vaultwire.protocol import jsonrpc
from vaultwire.protocol.revisions import LATEST_HANDSHAKE, negotiate
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.changes.change import Author
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.links.faults import Finding
from vaultwire.vault.vault import Vault

# ---------------------------------------------------------------------- notifications
#
# What clients do with them was measured (``docs/editors.md``). Paths are absolute: a client passes a wrong one on to its model.


class Quirks(NamedTuple):
    """Where a client differs: it counts lines from 1, needs lines in every mention, wants no quotes around paths, or
    compares diagnostics (``Diagnostics``). ``name`` is for people.
    """

    name: str = "an assistant"
    first_line: int = 0
    whole_needs_lines: bool = False
    quotes: bool = True
    compares: bool = False


_QUIRKS = {
    "claude-code": Quirks("Claude Code", compares=True),
    "opencode": Quirks("opencode", first_line=1, whole_needs_lines=True, quotes=False),
}

# With one of these in its path no form of a mention attaches the file.
_UNMENTIONABLE = ('"', "#")


def quirks_of(client: str) -> Quirks:
    """Return where a client differs, by its name in the handshake."""
    return _QUIRKS.get(client, Quirks())


class ClientPaths:
    """Turns the paths of one vault into those of clients, and back."""

    def __init__(self, root: str) -> None:
        """``root`` is the vault's folder as the person named it."""
        self.root = os.path.abspath(root)
        self._real = os.path.realpath(root)

    def absolute(self, path: str) -> str:
        """Return the absolute path of a file."""
        return os.path.join(self.root, *path.split("/"))

    def uri(self, path: str) -> str:
        """Return a file's URI."""
        return Path(self.absolute(path)).as_uri()

    def vault_path(self, client_path: str) -> str | None:
        """Return the path in the vault for a client's name of a file; None if it is outside the vault.

        The name is a URI, percent-encoded or not, an absolute path or, as the contract has it, a path from the vault's root.
        """
        text = client_path.removeprefix("_claude_fs_right:").removeprefix("_claude_fs_left:")
        texts = [text]
        if text.startswith("file://"):
            bare = text.removeprefix("file://").removeprefix("localhost")
            texts = [bare] if "%" not in bare else [bare, unquote(bare)]  # a file name may have a percent sign itself
        found = [path for each in texts if (path := self._below(each)) is not None]
        there = [path for path in found if os.path.lexists(self.absolute(path))]
        return next(iter([*there, *found[::-1]]), None)

    def _below(self, text: str) -> str | None:
        if os.name == "nt" and text[:1] == "/" and text[2:3] == ":":  # file:///C:/…
            text = text[1:]
        if not os.path.isabs(text):
            return _inner(text)
        for root in (self.root, self._real):
            relative = (
                os.path.relpath(text, root) if os.path.splitdrive(text)[0] == os.path.splitdrive(root)[0] else ".."
            )
            if relative != ".." and not relative.startswith(".." + os.sep):
                return relative.replace(os.sep, "/")
        # From the vault's root, as the contract has it, if there is such a file.
        inner = _inner(text.lstrip("/"))
        return inner if inner is not None and os.path.lexists(self.absolute(inner)) else None

    def selection(self, selection: Selection, quirks: Quirks) -> dict[str, Any]:
        """Return the parameters of ``selection_changed``. An empty path clears what the client shows."""
        if not selection.path:
            return {"text": "", "filePath": "", "fileUrl": "", "selection": _range(selection, 0)}
        return {
            "text": selection.text,
            "filePath": self.absolute(selection.path),
            "fileUrl": self.uri(selection.path),
            "selection": _range(selection, quirks.first_line),
        }

    def mention(self, mention: Mention, quirks: Quirks) -> dict[str, Any] | None:
        """Return the parameters of ``at_mentioned``; None where no form of it attaches the file."""
        place = self.absolute(mention.path)
        quoted = quirks.quotes and any(map(str.isspace, place))  # wide and no-break spaces, too
        if any(sign in (place if quoted else mention.path) for sign in _UNMENTIONABLE):
            return None
        first, last = mention.first_line, max(mention.last_line, mention.first_line)
        if quoted:
            # Without quotes the client attaches nothing. With them, it reads lines only inside the quotes, from 1.
            lines = f"#L{first}" + (f"-{last}" if last != first else "") if first else ""
            return {"filePath": f'"{place}{lines}"'}
        if not first:
            if not quirks.whole_needs_lines:
                return {"filePath": place}
            first = last = 1
        shift = quirks.first_line - 1
        return {"filePath": place, "lineStart": first + shift, "lineEnd": last + shift}


def _inner(text: str) -> str | None:
    """Return a path from the vault's root, None if it leads out of the vault."""
    path = text.replace(os.sep, "/")
    return None if os.path.isabs(path) or posixpath.normpath(path).split("/")[0] == ".." else path


def _range(selection: Selection, first_line: int) -> dict[str, Any]:
    def spot(place: Position) -> dict[str, int]:
        return {"line": place.line + first_line, "character": place.character}

    return {"start": spot(selection.start), "end": spot(selection.end), "isEmpty": selection.start == selection.end}


# Answers ``getDiagnostics`` for one client, which compares answers. Finding the problems is ``vault.links.checks``.
#
# Claude Code asks about a file just before it writes it, and about all these files when a round of edits is over. It tells its
# model what is new. Measured, it makes two mistakes, which are corrected here: it takes a problem that has moved for a new one,
# and after two edits of a file in one round it has forgotten the first answer.

MODELS_CALL = "claudecode/toolUseId"  # in the ``_meta`` of a call that the client makes for its model
_MAX_FILES = 50  # it asks about all of them each time the person says something


class Diagnostics:
    """The diagnostics that one client has seen."""

    def __init__(self) -> None:
        # By path, the latest last: the URI that the client uses for the file, and what was wrong with it then.
        self._asked: dict[str, tuple[str, list[Finding]]] = {}
        self._this_round: set[str] = set()

    def of_file(self, path: str, uri: str, now: list[Finding], *, compares: bool, is_models: bool) -> dict[str, Any]:
        """Return the problems of a file. ``compares``: the client compares them with a later answer.

        ``is_models``: its model asks, for the present state.
        """
        if is_models and path in self._asked:
            return _to_json(uri, now)
        if compares and path in self._this_round:
            now = self._asked[path][1]
        self._asked.pop(path, None)
        self._asked[path] = uri, now
        if not is_models:
            self._this_round.add(path)
        if len(self._asked) > _MAX_FILES:
            oldest = next(iter(self._asked))
            del self._asked[oldest]
            self._this_round.discard(oldest)
        return _to_json(uri, now)

    def of_all(self, check: Callable[[str], list[Finding]], *, compares: bool, is_models: bool) -> list[dict[str, Any]]:
        """Return the problems of all files that the client has asked about. See ``of_file``."""
        if not is_models:
            self._this_round.clear()
        answers: list[dict[str, Any]] = []
        for path, (uri, before) in self._asked.items():
            found = check(path)
            answers.append(_to_json(uri, _at_old_places(found, before) if compares and not is_models else found))
        return answers


def _at_old_places(findings: Iterable[Finding], before: Sequence[Finding]) -> list[Finding]:
    """Return the problems found. Those that were there before have the place that they had then."""
    places: dict[tuple[str, str], list[Finding]] = {}
    for finding in reversed(before):
        places.setdefault((finding.kind, finding.message), []).append(finding)
    return [earlier.pop() if (earlier := places.get((each.kind, each.message))) else each for each in findings]


def _to_json(uri: str, findings: Iterable[Finding]) -> dict[str, Any]:
    return {"uri": uri, "diagnostics": [_diagnostic(finding) for finding in findings]}


def _diagnostic(finding: Finding) -> dict[str, Any]:
    line = finding.line - 1
    return {
        "message": finding.message,
        "severity": "Error" if finding.is_error else "Warning",
        "range": {
            "start": {"line": line, "character": finding.column - 1},
            "end": {"line": line, "character": max(finding.end, finding.column) - 1},
        },
        "source": "obsidian",
        "code": finding.kind,
    }


# The list of tools on an editor's socket, and checks of their arguments. Clients call these tools themselves.
#
# Clients show their model ``getDiagnostics`` only: its description is product text. There is no ``executeCode``.

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TEXT = {"type": "string"}


def _tool(name: str, description: str, *required: str, **optional: dict[str, Any]) -> dict[str, Any]:
    properties = {**dict.fromkeys(required, _TEXT), **optional}
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": True}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    _tool(
        "openDiff",
        "Show the person a change to a note; they accept it, edit it or refuse it",
        *("old_file_path", "new_file_path", "new_file_contents", "tab_name"),
    ),
    _tool("close_tab", "Close a change that is shown", "tab_name"),
    _tool("closeAllDiffTabs", "Close all changes that are shown"),
    _tool(
        "getDiagnostics",
        "What is broken in a note: links, embeds and headings that lead nowhere, broken frontmatter, properties of a "
        "wrong type, block ids used twice, broken canvases",
        uri={
            **_TEXT,
            "description": "The note: its path or file:// URI. Without it, the notes that were asked about before",
        },
    ),
    _tool(
        "openFile",
        "Show the person a note",
        "filePath",
        startLine={"type": "integer"},
        makeFrontmost={"type": "boolean"},
    ),
    _tool("getCurrentSelection", "What is selected in the note in front"),
    _tool("getLatestSelection", "What was selected last"),
    _tool("getOpenEditors", "The notes that are open"),
    _tool("getWorkspaceFolders", "The vault's folder"),
    _tool("checkDocumentDirty", "Whether a note has changes that are not saved", "filePath"),
    _tool("saveDocument", "Save a note", "filePath"),
]

# For Gemini CLI and Qwen Code (``ide_companion``).
COMPANION_TOOLS = [
    _tool(
        "openDiff", "Show the person a change to a note; they accept it, edit it or refuse it", "filePath", "newContent"
    ),
    _tool("closeDiff", "Close a change that is shown", "filePath", suppressNotification={"type": "boolean"}),
]


def argument(arguments: dict[str, Any], name: str, default: Any = None) -> str:
    """Return an argument that is a text. Raises ValueError, with a message for the client."""
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text")  # noqa: TRY004 - an argument's, not a programmer's, mistake
    return value


def name_argument(arguments: dict[str, Any], name: str, default: Any = None) -> str:
    """Return an argument that names a file or a tab: one line, because a person sees it. See ``argument``."""
    value = argument(arguments, name, default)
    if _CONTROL.search(value):
        raise ValueError(f"{name} must be one line of whole characters, without control characters")
    return value


_SURROGATE = b"\\ud"  # how JSON escapes begin, of half a surrogate pair and of whole ones
_HALF_PAIR = "Invalid params: half of a surrogate pair is no text, and no file can hold it; send whole characters"


def parse_frame(frame: bytes) -> dict[str, Any]:
    """Return the message that a frame holds. Raises MessageError, also for half of a surrogate pair, which JSON-RPC allows."""
    message = jsonrpc.check_message(jsonrpc.parse_json(frame))
    if _SURROGATE in frame.lower() and not _is_text(message):
        id_ = message.get("id")
        raise jsonrpc.MessageError(jsonrpc.INVALID_PARAMS, _HALF_PAIR, id_ if _is_text(id_) else None)
    return message


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_MAX_NAME = 100
_INITIALIZED = ("notifications/initialized", "initialized")  # the protocol's name and the contract's


class MethodError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Peer:
    """One connection. ``send`` sends a message; it may be called from any thread and raises nothing.

    ``on_ready`` has ``Bridge.make_ready`` called a moment later. ``lists_tools``: the client has asked for the tools, after
    which it heeds notifications; else it has only said that it is initialized, and may never ask for them.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None], on_ready: Callable[[], None]) -> None:
        self.send = send
        self.on_ready = on_ready
        self.is_ready = False
        self.lists_tools = False
        self.quirks: Quirks = quirks_of("")
        self.client = ""  # its name for the journal
        self.session = secrets.token_hex(4)  # tells the sessions of one client apart
        self.diagnostics = Diagnostics()
        self.told: Selection | None = None
        self.waiting: list[Mention] = []  # until it is ready


class Bridge:
    """The methods over one vault and its editor. Safe to use from several threads."""

    def __init__(
        self,
        vault: Callable[[], Vault],
        paths: ClientPaths,
        state: EditorState,
        proposals: Proposals,
        open_file: Callable[[str, int], bool],
    ) -> None:
        """``vault`` opens the vault when it is first needed. ``open_file`` shows the person a file at a line, counted from 1
        (0: anywhere), and tells whether it could.
        """
        self._vault = vault
        self.paths = paths
        self.state = state
        self.proposals = proposals
        self._open_file = open_file
        self._lock = threading.Lock()
        self._peers: list[Peer] = []
        self._methods: dict[str, Callable[[Peer, dict[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "ping": lambda _peer, _params: {},
            **dict.fromkeys(_INITIALIZED, lambda _peer, _params: {}),
            "tools/list": self._list_tools,
            "files/read": self._read_file,
            "workspace/selection": self._workspace_selection,
            "resources/list": lambda _peer, _params: {"resources": []},
            "prompts/list": lambda _peer, _params: {"prompts": []},
        }
        self._tools: dict[str, Callable[[Peer, dict[str, Any]], str]] = {
            "close_tab": self._close_tab,
            "closeAllDiffTabs": self._close_all,
            "getDiagnostics": self._diagnostics,
            "openFile": self._open,
            "getCurrentSelection": self._current_selection,
            "getLatestSelection": self._current_selection,
            "getOpenEditors": self._open_editors,
            "getWorkspaceFolders": self._folders,
            "checkDocumentDirty": self._is_dirty,
            "saveDocument": self._save,
        }

    # ------------------------------------------------------------------ connections

    @property
    def peers(self) -> list[str]:
        """The names of the connected clients, for people."""
        return [peer.quirks.name for peer in self._peers]

    def join(self, peer: Peer) -> None:
        """Add a connection."""
        with self._lock:
            self._peers.append(peer)

    def leave(self, peer: Peer) -> None:
        """Remove a connection and withdraw its diffs: nobody would hear of the answer."""
        with self._lock:
            self._peers.remove(peer)
        self.proposals.withdraw(peer)

    def tell_selection(self, selection: Selection) -> None:
        """Tell every client that is ready which note is in front."""
        for peer in self._ready():
            self._tell(peer, selection)

    def tell_mention(self, mention: Mention) -> int:
        """Send a mention to every client; one that is not ready gets it later. Return how many got it now."""
        with self._lock:
            ready = [peer for peer in self._peers if peer.is_ready]
            for peer in self._peers:
                if not peer.is_ready:
                    peer.waiting.append(mention)
        for peer in ready:
            self._point(peer, mention)
        return len(ready)

    def make_ready(self, peer: Peer) -> int:
        """Send a client what it has missed; return how many mentions. In its first half second with tools it hears nothing."""
        with self._lock:
            peer.is_ready = True
            waiting, peer.waiting = peer.waiting, []
        self._tell(peer, self.state.selection)
        for mention in waiting:
            self._point(peer, mention)
        return len(waiting)

    def _ready(self) -> list[Peer]:
        with self._lock:
            return [peer for peer in self._peers if peer.is_ready]

    def _tell(self, peer: Peer, selection: Selection, *, again: bool = False) -> None:
        if not again and (peer.told or NOTHING) == selection:
            return  # a client that was told nothing shows nothing
        peer.told = selection
        peer.send(jsonrpc.notification_message("selection_changed", self.paths.selection(selection, peer.quirks)))

    def _point(self, peer: Peer, mention: Mention) -> None:
        params = self.paths.mention(mention, peer.quirks)
        if params is None:  # its path cannot be mentioned: the note is told as the one in front
            self._tell(peer, self._selected(mention), again=True)
        else:
            peer.send(jsonrpc.notification_message("at_mentioned", params))

    def _selected(self, mention: Mention) -> Selection:
        try:
            text = self._text_of(mention.path)
        except VaultError:
            text = ""
        return select_lines(mention.path, text, mention.first_line, mention.last_line)

    # ------------------------------------------------------------------ messages

    def receive(self, peer: Peer, frame: bytes) -> str:
        """Handle one frame of a client and send the answer. Never raises.

        Return the method for the log, of a tool call with the tool's name; "" for anything else.
        """
        try:
            message = parse_frame(frame)
        except jsonrpc.MessageError as error:
            peer.send(jsonrpc.error_message(error.id, error.code, error.message))
            return ""
        if jsonrpc.is_response(message):
            return ""  # we ask nothing
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if "id" in message:
            self._answer(peer, message["method"], message["id"], params)
        if message["method"] in _INITIALIZED and not peer.lists_tools:
            peer.on_ready()
        name = params.get("name") if message["method"] == "tools/call" else None
        said = message["method"] if name is None else f"{message['method']} {name}"
        return said[:_MAX_NAME] if said.isprintable() else ""

    def _answer(self, peer: Peer, method: str, request_id: Any, params: dict[str, Any]) -> None:
        try:
            if method == "tools/call":
                self._call(peer, request_id, params)
                return
            handle = self._methods.get(method)
            if handle is None:
                text = f"Method not found: {method[:_MAX_NAME]!r}"
                peer.send(jsonrpc.error_message(request_id, jsonrpc.METHOD_NOT_FOUND, text))
                return
            result = handle(peer, params)
        except MethodError as error:
            peer.send(jsonrpc.error_message(request_id, error.code, error.message))
        except VaultError as error:
            peer.send(
                jsonrpc.error_message(request_id, jsonrpc.INTERNAL_ERROR, error.message, {"errorCode": error.code})
            )
        except Exception as error:  # noqa: BLE001 - one request must not end what the others wait for
            peer.send(
                jsonrpc.error_message(request_id, jsonrpc.INTERNAL_ERROR, f"Internal error: {type(error).__name__}")
            )
        else:
            peer.send(jsonrpc.result_message(request_id, result))
            if method == "tools/list":
                peer.on_ready()

    def _initialize(self, peer: Peer, params: dict[str, Any]) -> dict[str, Any]:
        client = params.get("clientInfo")
        name = client.get("name") if isinstance(client, dict) else None
        peer.quirks = quirks_of(name if isinstance(name, str) else "")
        peer.client = name[:_MAX_NAME] if isinstance(name, str) else ""
        proposed = params.get("protocolVersion")
        revision = negotiate(proposed) if isinstance(proposed, str) else LATEST_HANDSHAKE
        return {
            "protocolVersion": revision.name,
            "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "Obsidian", "version": __version__},
        }

    def _list_tools(self, peer: Peer, _params: dict[str, Any]) -> dict[str, Any]:
        with self._lock:  # it may not have heard what it was told before
            peer.lists_tools, peer.is_ready, peer.told = True, False, None
        return {"tools": TOOLS}

    def _read_file(self, _peer: Peer, params: dict[str, Any]) -> dict[str, Any]:
        path = params.get("path")
        if not isinstance(path, str) or not path:
            raise MethodError(jsonrpc.INVALID_PARAMS, "Invalid params: path must name a file, such as /Folder/Note.md")
        return {"content": self._text_of(self._visible(path))}

    def _visible(self, client_path: str) -> str:
        """Return the path in the vault of a file that the client may see.

        Raises VaultError: the same for a file that is not there, is hidden or private, or is outside the vault.
        """
        path = self.paths.vault_path(client_path)
        if path is None or not self._vault().has_file(path):
            raise VaultError(FILE_NOT_FOUND, f"There is no file {client_path[:_MAX_NAME]!r} in the vault.")
        return path

    def _workspace_selection(self, _peer: Peer, _params: dict[str, Any]) -> dict[str, Any]:
        selection = self.state.selection
        if not selection.path:
            raise MethodError(jsonrpc.INTERNAL_ERROR, "No note is open")
        return {"selection": selection.text, "cursor": {"line": selection.end.line, "ch": selection.end.character}}

    # ------------------------------------------------------------------ tools

    def _call(self, peer: Peer, request_id: Any, params: dict[str, Any]) -> None:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise MethodError(jsonrpc.INVALID_PARAMS, "Invalid params: name must be a text and arguments an object")

        def answer(*texts: str) -> None:
            peer.send(
                jsonrpc.result_message(request_id, {"content": [{"type": "text", "text": text} for text in texts]})
            )

        try:
            if name == "openDiff":
                self._open_diff(peer, arguments, answer)
                return
            run = self._tools.get(name)
            if run is None:
                known = ", ".join(sorted((*self._tools, "openDiff")))
                raise MethodError(jsonrpc.INVALID_PARAMS, f"Unknown tool: {name[:_MAX_NAME]!r} (there are: {known})")
            meta = params.get("_meta")
            is_models = name == "getDiagnostics" and isinstance(meta, dict) and MODELS_CALL in meta
            answer(self._diagnostics(peer, arguments, is_models=True) if is_models else run(peer, arguments))
        except VaultError as error:
            answer(_json({"success": False, "message": error.message}))
        except ValueError as error:
            raise MethodError(jsonrpc.INVALID_PARAMS, f"Invalid params: {error}") from None
        if name == "closeAllDiffTabs" and peer.told is not None:
            # The client does so at the beginning of each turn: a good time to repeat what is in front.
            self._tell(peer, peer.told, again=True)

    def _open_diff(self, peer: Peer, arguments: dict[str, Any], answer: Callable[..., None]) -> None:
        client_path = name_argument(arguments, "new_file_path", default=arguments.get("old_file_path"))
        new = argument(arguments, "new_file_contents")
        label = name_argument(arguments, "tab_name", default=client_path)

        def decided(decision: Decision) -> None:
            # Never TAB_CLOSED: clients take that for acceptance.
            if decision.text is None:
                answer("DIFF_REJECTED", label)
            else:
                answer("FILE_SAVED", decision.text)

        self.proposals.propose(
            self.diff(client_path, label, new), Author(peer.client, TOOL, peer.session), peer, decided
        )

    def diff(self, client_path: str, label: str, new: str) -> Diff:
        """Return what a client proposes for a file. ``client_path`` is the client's name of the file.

        Of a file outside the vault, or one that is hidden or private, nothing is read.
        """
        vault, path = self._vault(), self.paths.vault_path(client_path)
        place = os.path.abspath(client_path) if path is None else self.paths.absolute(path)
        if path is not None:
            try:
                found, file = vault.read_file(path, MAX_NOTE_BYTES)
                return Diff(found, label, file.data, new)
            except VaultError:
                if not os.path.lexists(place) and vault.may_have(path):
                    return Diff(path, label, None, new)
        return Diff(os.path.basename(place) or place, label, None, new, outside=place)

    def _close_tab(self, peer: Peer, arguments: dict[str, Any]) -> str:
        self.proposals.withdraw(peer, argument(arguments, "tab_name"))
        return "TAB_CLOSED"

    def _close_all(self, peer: Peer, _arguments: dict[str, Any]) -> str:
        return f"CLOSED_{self.proposals.withdraw(peer)}_DIFF_TABS"

    def _diagnostics(self, peer: Peer, arguments: dict[str, Any], *, is_models: bool = False) -> str:
        uri, compares = arguments.get("uri"), peer.quirks.compares
        if not (isinstance(uri, str) and uri):
            return _json(peer.diagnostics.of_all(self._findings, compares=compares, is_models=is_models))
        # A file that may not be seen has no problems, like a file that is not there.
        path = self.paths.vault_path(uri) or uri
        found = self._findings(path)
        return _json([peer.diagnostics.of_file(path, uri, found, compares=compares, is_models=is_models)])

    def _findings(self, path: str) -> list[Finding]:
        try:
            return self._vault().check(path, exactly=True)[1]
        except VaultError:  # not written yet, or nobody's business
            return []

    def _text_of(self, path: str) -> str:
        """Return the text of exactly this file, whatever other notes have its name."""
        return plain_text(self._vault().read_file(path, MAX_NOTE_BYTES)[1].data)

    def _open(self, _peer: Peer, arguments: dict[str, Any]) -> str:
        path = self._visible(argument(arguments, "filePath"))
        line = arguments.get("startLine")
        if not self._open_file(path, line if isinstance(line, int) and line > 0 else 0):
            problem = f"{path} cannot be shown: vaultwire's plugin in Obsidian is off"
            return _json({"success": False, "message": problem})
        if arguments.get("makeFrontmost", True) is False:
            return _json({"success": True, "filePath": self.paths.absolute(path), "languageId": "markdown"})
        return f"Opened file: {self.paths.absolute(path)}"

    def _current_selection(self, _peer: Peer, _arguments: dict[str, Any]) -> str:
        selection = self.state.selection
        if not selection.path:
            return _json({"success": False, "message": "No note is open"})
        return _json({"success": True, **self.paths.selection(selection, quirks_of(""))})

    def _open_editors(self, _peer: Peer, _arguments: dict[str, Any]) -> str:
        front = self.state.selection.path
        tabs = [
            {
                "uri": self.paths.uri(path),
                "isActive": path == front,
                "label": path.rpartition("/")[2],
                "languageId": "markdown",
                "isDirty": False,
            }
            for path in self.state.tabs
        ]
        return _json({"tabs": tabs})

    def _folders(self, _peer: Peer, _arguments: dict[str, Any]) -> str:
        root = self.paths.root
        folder = {"name": self._vault().name, "uri": self.paths.uri("").rstrip("/"), "path": root}
        return _json({"success": True, "folders": [folder], "rootPath": root})

    def _is_dirty(self, _peer: Peer, arguments: dict[str, Any]) -> str:
        place = self._place(arguments)  # Obsidian writes as one types
        return _json({"success": True, "filePath": place, "isDirty": False, "isUntitled": False})

    def _save(self, _peer: Peer, arguments: dict[str, Any]) -> str:
        place = self._place(arguments)
        saved = {"saved": True, "message": "Obsidian saves notes as they change"}
        return _json({"success": True, "filePath": place, **saved})

    def _place(self, arguments: dict[str, Any]) -> str:
        return self.paths.absolute(self._visible(argument(arguments, "filePath")))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
