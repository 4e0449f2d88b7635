"""The methods and tools of an editor's socket, for Claude Code and others. No socket here: frames come in and go out.

One ``Bridge`` for each vault, one ``Peer`` for each connection. An answer may come later, on another thread: a diff waits for
the person.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable
from typing import Any

from vaultwire import __version__
from vaultwire.editor.proposals import TOOL, Decision, Diff, Proposals
from vaultwire.editor.state import NOTHING, EditorState, Mention, Selection, select_lines
from vaultwire.protocol import jsonrpc
from vaultwire.protocol.revisions import LATEST_HANDSHAKE, negotiate
from vaultwire.server.editors.notifications import MODELS_CALL, ClientPaths, Diagnostics, Quirks, make_diff, quirks_of
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.changes.change import Author
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.links.faults import Finding
from vaultwire.vault.vault import Vault

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


# Parses frames of editors' clients. It also refuses text with half of a surrogate pair, which JSON-RPC would allow.

_SURROGATE = b"\\ud"  # how JSON escapes begin, of half a surrogate pair and of whole ones
_HALF_PAIR = "Invalid params: half of a surrogate pair is no text, and no file can hold it; send whole characters"


def parse_frame(frame: bytes) -> dict[str, Any]:
    """Return the message that a frame holds. Raises MessageError."""
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
            handle = self._methods.get(method, _unknown(method))
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

    def _visible(self, given: str) -> str:
        """Return the path in the vault of a file that the client may see.

        Raises VaultError: the same for a file that is not there, is hidden or private, or is outside the vault.
        """
        path = self.paths.vault_path(given)
        if path is None or not self._vault().has_file(path):
            raise VaultError(FILE_NOT_FOUND, f"There is no file {given[:_MAX_NAME]!r} in the vault.")
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
            answer(_told({"success": False, "message": error.message}))
        except ValueError as error:
            raise MethodError(jsonrpc.INVALID_PARAMS, f"Invalid params: {error}") from None
        if name == "closeAllDiffTabs" and peer.told is not None:
            # The client does so at the beginning of each turn: a good time to repeat what is in front.
            self._tell(peer, peer.told, again=True)

    def _open_diff(self, peer: Peer, arguments: dict[str, Any], answer: Callable[..., None]) -> None:
        given = name_argument(arguments, "new_file_path", default=arguments.get("old_file_path"))
        new = argument(arguments, "new_file_contents")
        label = name_argument(arguments, "tab_name", default=given)

        def decided(decision: Decision) -> None:
            # Never TAB_CLOSED: clients take that for acceptance.
            if decision.text is None:
                answer("DIFF_REJECTED", label)
            else:
                answer("FILE_SAVED", decision.text)

        self.proposals.propose(self.diff(given, label, new), Author(peer.client, TOOL, peer.session), peer, decided)

    def diff(self, given: str, label: str, new: str) -> Diff:
        """Return what a client proposes for a file. ``given`` is the client's name of the file."""
        return make_diff(self._vault(), self.paths, given, label, new)

    def _close_tab(self, peer: Peer, arguments: dict[str, Any]) -> str:
        self.proposals.withdraw(peer, argument(arguments, "tab_name"))
        return "TAB_CLOSED"

    def _close_all(self, peer: Peer, _arguments: dict[str, Any]) -> str:
        return f"CLOSED_{self.proposals.withdraw(peer)}_DIFF_TABS"

    def _diagnostics(self, peer: Peer, arguments: dict[str, Any], *, is_models: bool = False) -> str:
        uri, compares = arguments.get("uri"), peer.quirks.compares
        if not (isinstance(uri, str) and uri):
            return _told(peer.diagnostics.of_all(self._findings, compares=compares, is_models=is_models))
        # A file that may not be seen has no problems, like a file that is not there.
        path = self.paths.vault_path(uri) or uri
        found = self._findings(path)
        return _told([peer.diagnostics.of_file(path, uri, found, compares=compares, is_models=is_models)])

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
            return _told(
                {"success": False, "message": f"{path} cannot be shown: vaultwire's plugin in Obsidian is off"}
            )
        if arguments.get("makeFrontmost", True) is False:
            return _told({"success": True, "filePath": self.paths.absolute(path), "languageId": "markdown"})
        return f"Opened file: {self.paths.absolute(path)}"

    def _current_selection(self, _peer: Peer, _arguments: dict[str, Any]) -> str:
        selection = self.state.selection
        if not selection.path:
            return _told({"success": False, "message": "No note is open"})
        return _told({"success": True, **self.paths.selection(selection, quirks_of(""))})

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
        return _told({"tabs": tabs})

    def _folders(self, _peer: Peer, _arguments: dict[str, Any]) -> str:
        root = self.paths.root
        folder = {"name": self._vault().name, "uri": self.paths.uri("").rstrip("/"), "path": root}
        return _told({"success": True, "folders": [folder], "rootPath": root})

    def _is_dirty(self, _peer: Peer, arguments: dict[str, Any]) -> str:
        place = self._place(arguments)  # Obsidian writes as one types
        return _told({"success": True, "filePath": place, "isDirty": False, "isUntitled": False})

    def _save(self, _peer: Peer, arguments: dict[str, Any]) -> str:
        place = self._place(arguments)
        return _told(
            {"success": True, "filePath": place, "saved": True, "message": "Obsidian saves notes as they change"}
        )

    def _place(self, arguments: dict[str, Any]) -> str:
        return self.paths.absolute(self._visible(argument(arguments, "filePath")))


def _unknown(method: str) -> Callable[[Peer, dict[str, Any]], dict[str, Any]]:
    def refuse(_peer: Peer, _params: dict[str, Any]) -> dict[str, Any]:
        raise MethodError(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method[:_MAX_NAME]!r}")

    return refuse


def _told(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
