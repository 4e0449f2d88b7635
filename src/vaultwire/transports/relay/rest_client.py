"""The methods of a server over another server's REST API, version 1, where that has no MCP. Only tools: it has no more.

The API does not say when the list of tools changes, so it is read every few seconds. A call is sent once.
"""

from __future__ import annotations

import threading
from urllib.parse import quote

from vaultwire import __version__
from vaultwire.protocol import jsonrpc
from vaultwire.server.results import TOOL_NOT_FOUND, Refusal, Result
from vaultwire.server.subscriptions import Subscriptions
from vaultwire.server.tasks import Job
from vaultwire.transports.relay.http_client import ConnectionLost, Unreachable
from vaultwire.transports.relay.in_flight import LOST, MAX_ANSWER_VALUES, REFUSED, UNREACHABLE, Failure
from vaultwire.transports.relay.upstream import START_DELAYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.json_types import JsonObject
    from vaultwire.server.results import Answer
    from vaultwire.server.subscriptions import Listening
    from vaultwire.transports.relay.http_client import ConnectionPool

# The contract's relay: how often it reads the list, and how long it waits for it.
POLL_SECONDS = 5.0
_LIST_SECONDS = 5.0
# For the list while the server is starting: ``START_DELAYS`` add up to 13 minutes. For a call: a little longer than the
# longest call may take (``trust.limits``).
_START_SECONDS = 900.0
_CALL_SECONDS = 65.0
_HEADERS = {"Accept": "application/json", "User-Agent": f"vaultwire/{__version__}"}
# 2026-07-28, "Caching": the list is read so often.
_TTL_MS = int(POLL_SECONDS * 1000)
_OK, _INVALID, _NOT_FOUND, _TOO_LARGE = 200, 400, 404, 413
_CLIENTS_FAULT = range(400, 500)


class RestMethods:
    """As ``server.handlers.Handlers``, over a REST API instead of a vault."""

    methods = ("tools/list", "tools/call", "subscriptions/listen")

    def __init__(self, connections: ConnectionPool, where: str, root: str, say: Callable[[str], None]) -> None:
        """``where`` is the server's name for a person, ``root`` the path of its API; ``say`` takes words for a person."""
        self._connections = connections
        self._where = where
        self._root = root
        self._say = say
        self._closing = threading.Event()
        self._hash: str | None = None  # of the list that was read last
        self.subscriptions = Subscriptions(("toolsListChanged",))

    def handle(self, request: Request, _: Dialect) -> Answer | Job | Listening:
        """Return the answer, the job that makes it, or the request as one that stays open."""
        if request.method == "subscriptions/listen":
            return self.subscriptions.honoured(request.params, request.peer)
        if request.method == "tools/list":
            return Job("tools/list", lambda _: self._list(request), _give_up, _START_SECONDS, changes_vault=False)
        name, arguments = request.params.get("name"), request.params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return Refusal(
                jsonrpc.INVALID_PARAMS, "Invalid params: tools/call takes name, a string, and arguments, an object"
            )
        # The API does not say which tools change something, so all calls go one after another.
        return Job(name, lambda _: self._call(name, arguments), _give_up, _CALL_SECONDS, changes_vault=True)

    def describe(self, _tool: str) -> None:
        """Return nothing: no argument is also a header."""

    def run_background(self) -> None:
        """Read the list of tools every few seconds until ``close``; tell the client when it has changed."""
        while not self._closing.wait(POLL_SECONDS):
            known = self._hash
            try:
                self._get_tools()
            except Failure:  # the next call reports it
                continue
            if known is not None and self._hash != known:
                self.subscriptions.publish("toolsListChanged")

    def close(self) -> None:
        """End ``run_background``, and every wait for a server that cannot be reached."""
        self._closing.set()

    def _list(self, request: Request) -> Answer:
        delays = iter(() if self._hash is not None else START_DELAYS)  # a server that has answered is not starting
        while True:
            try:
                result: JsonObject = {"tools": self._get_tools()}
            except Failure as failure:
                delay = next(delays, None)
                if failure.code == REFUSED or delay is None:
                    return _to_refusal(failure)
                self._say(f"{failure.message} Next try in {delay:g} s")
                if self._closing.wait(delay):
                    return _to_refusal(failure)
                continue
            if request.revision.stateless:
                result |= {"ttlMs": _TTL_MS, "cacheScope": "private"}
            return Result(result)

    def _get_tools(self) -> list[Any]:
        """Return the tools and keep their hash. Raises Failure; REFUSED if another attempt would not help."""
        status, value = self._exchange("GET", "/tools", None, _LIST_SECONDS)
        if status in _CLIENTS_FAULT:
            raise Failure(REFUSED, self._refused("/tools", status, value))
        tools = value.get("tools")
        if status != _OK or not isinstance(tools, list):
            raise Failure(UNREACHABLE, self._refused("/tools", status, value))
        self._hash = str(value.get("hash", ""))
        return tools

    def _call(self, name: str, arguments: JsonObject) -> Answer:
        try:
            body = jsonrpc.to_frame({"arguments": arguments})
            status, value = self._exchange("POST", f"/tools/{quote(name, safe='')}/call", body, _CALL_SECONDS)
        except Failure as failure:
            unsure = " It may have run: look before you call it again." if failure.may_have_run else ""
            return _give_up(failure.code, f"{failure.message}{unsure}")
        message = str(value.get("message", value.get("error", "")))
        if status == _OK and isinstance(value.get("content"), list):
            return Result({"content": value["content"], "isError": value.get("success") is not True})
        if status == _NOT_FOUND and value.get("error") == "Tool not found":
            return Refusal(jsonrpc.INVALID_PARAMS, f"Unknown tool: {message}", {"errorCode": TOOL_NOT_FOUND})
        if status in (_INVALID, _TOO_LARGE):
            return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: {message}")
        return _give_up(REFUSED, self._refused(name, status, value))

    def _exchange(self, method: str, path: str, body: bytes | None, seconds: float) -> tuple[int, JsonObject]:
        """Return an answer's status and JSON object, empty if it has none. Raises Failure."""
        headers = _HEADERS if body is None else {**_HEADERS, "Content-Type": "application/json"}
        try:
            answer = self._connections.request(method, self._root + path, headers, body, seconds)
            text = answer.body()
        except Unreachable as error:
            code = REFUSED if error.is_final else UNREACHABLE
            raise Failure(code, f"{self._where} cannot be reached: {error}.") from None
        except ConnectionLost as error:
            raise Failure(
                LOST,
                f"The connection to {self._where} was lost after the request was sent ({error}).",
                may_have_run=True,
            ) from None
        try:
            value = jsonrpc.parse_json(text, MAX_ANSWER_VALUES)
        except jsonrpc.MessageError:
            value = None
        return answer.status, value if isinstance(value, dict) else {}

    def _refused(self, what: str, status: int, value: JsonObject) -> str:
        said = f": {str(value['message'])[:300]}" if "message" in value else ""
        return f"{self._where} answered {what} with HTTP status {status}{said}"


def _give_up(code: str, message: str) -> Answer:
    return Result({"content": [{"type": "text", "text": message}], "isError": True, "_meta": {"errorCode": code}})


def _to_refusal(failure: Failure) -> Refusal:
    return Refusal(jsonrpc.INTERNAL_ERROR, failure.message, {"errorCode": failure.code})
