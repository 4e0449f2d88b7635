"""Results and errors of methods, in the shape of the client's revision and dialect; and where their frames go (``FrameSink``).

Pure: no I/O, no calls of tools.
"""

from __future__ import annotations

import json
import time

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.dialects import BARE, ENVELOPE
from vaultwire.toolkit.catalog import lean_hints, lean_schema, lean_text
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    SERVER_BUSY,
    VAULT_NOT_FOUND,
    WRITE_FAILED,
    VaultError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from typing import Any, TypeAlias

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.protocol.revisions import Revision
    from vaultwire.toolkit.registry import Outcome


INTERNAL = "INTERNAL"
POLICY_DENIED = "POLICY_DENIED"
TOOL_NOT_FOUND = "TOOL_NOT_FOUND"

# The tools that give what resources give: who may not call them gets neither.
READING, LISTING, QUERYING = "read_note", "list_notes", "query_base"


class Result:
    """A method's result. ``failed`` is the error code of a tool that failed; not every dialect shows it."""

    __slots__ = ("failed", "value")
    __match_args__ = ("value",)

    def __init__(self, value: JsonObject, failed: str | None = None) -> None:
        self.value = value
        self.failed = failed


class Refusal:
    """A JSON-RPC error instead of a result."""

    __slots__ = ("code", "data", "message")
    __match_args__ = ("code", "message", "data")

    def __init__(self, code: int, message: str, data: JsonObject | None = None) -> None:
        self.code = code
        self.message = message
        self.data = data


if TYPE_CHECKING:
    Answer: TypeAlias = Result | Refusal


class AnswerForm:
    """Makes the answer of one call, by its revision and dialect, with the time that it took."""

    __slots__ = ("_dialect", "_known", "_path", "_revision", "_started", "_tool", "view")

    def __init__(
        self, revision: Revision, dialect: Dialect, tool: str | None, known: Container[str], path: Any = None
    ) -> None:
        """The time is counted from here. ``tool`` is the tool's name, None for one that is not among the ``known``.

        ``path`` is the call's argument of that name, if it has one.
        """
        self._tool = tool
        self._known = known
        self._path = path
        self._revision = revision
        self._dialect = dialect
        self._started = time.perf_counter()
        self.view: Callable[[Mapping[str, Any]], JsonObject] | None = None
        """Makes of the tool's data what ``_meta`` has for the tool's view; None where there is no view."""

    def result(self, outcome: Outcome[Any], description: Mapping[str, Any]) -> Result:
        """Return the result for a tool's outcome."""
        if self._dialect.results == ENVELOPE:
            text = json.dumps({"success": True, "data": outcome.data}, ensure_ascii=False, separators=(",", ":"))
            return Result({"content": [{"type": "text", "text": text}, *outcome.more]})
        texts, data, more = outcome
        result: JsonObject = {"content": [*({"type": "text", "text": text} for text in texts), *more]}
        if self._dialect.results == BARE:
            return Result(result | {"isError": False})
        if (
            (self._dialect.structured or description.get("structured"))
            and self._revision.tool_output
            and "outputSchema" in description
        ):
            result["structuredContent"] = data
        result["isError"] = False
        meta = result["_meta"] = self._meta()
        if self._dialect.facts:
            meta |= {name: data[fact] for fact, name in self._dialect.facts.items() if fact in data}
        if self.view is not None:
            meta |= self.view(data)
        return Result(result)

    def failure(self, code: str, message: str, details: Mapping[str, Any]) -> Answer:
        """Return the answer for a tool's failure: a result for the model, or a JSON-RPC error where the dialect wants one."""
        number = self._dialect.failure(code)
        if self._dialect.headlines and isinstance(self._path, str):
            details = {"path": self._path, **details}
        message = self._dialect.spell_tools(message, self._known)
        message = self._dialect.message(code, message, details)
        if self._dialect.details:
            details = {self._dialect.details.get(name, name): value for name, value in details.items()}
        if number is not None:
            return Refusal(number, message, {"errorCode": code, **details})
        # Wrong arguments were JSON-RPC errors before 2025-11-25, unless the dialect has its own errors.
        if code == INVALID_ARGUMENTS and self._dialect.results != BARE and not self._revision.tool_errors_for_arguments:
            return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: {message}", {"errorCode": code, **details})
        text = self._dialect.failed_tools.get(self._tool or "", f"{code}: {{message}}").format(message=message)
        result: JsonObject = {"content": [{"type": "text", "text": text}], "isError": True}
        if self._dialect.results != BARE:
            result["_meta"] = {**self._meta(), "errorCode": code}
            if details:
                result["_meta"]["errorDetails"] = dict(details)
        return Result(result, code)

    def _meta(self) -> JsonObject:
        """Return how long the call took, in milliseconds, and when it ended, in UTC."""
        now = time.time()
        return {
            "executionTime": int((time.perf_counter() - self._started) * 1e6) / 1000,
            "timestamp": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z",
        }


def parse_call(params: JsonObject) -> tuple[str, JsonObject] | Refusal:
    """Return the tool's name and its arguments, or the error if the request has none."""
    name = params.get("name")
    arguments = params.get("arguments", {})
    if not isinstance(name, str):
        got = jsonrpc.json_type(name) if "name" in params else "nothing"
        return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: name must be a string, got {got}")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        got = jsonrpc.json_type(arguments)
        return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: arguments must be an object, got {got}")
    return name, arguments


def to_listed(description: Mapping[str, Any], revision: Revision, dialect: Dialect) -> JsonObject:
    """Return a tool's entry in ``tools/list``, for a revision and dialect."""
    name = description["name"]
    listed: JsonObject = {"name": dialect.list_name(name)}
    if "meta" in description and revision.tool_output:
        listed["_meta"] = description["meta"]
    if not dialect.structured and not dialect.is_contract:
        return listed | _to_lean(description, revision)
    is_long = not dialect.short_tools
    if revision.tool_output and is_long:
        listed["title"] = dialect.list_title(name, description["title"])
    listed["description"] = description["description"]
    listed["inputSchema"] = description["inputSchema"]
    if is_long:
        listed["inputSchema"] = {"$schema": revision.schema_dialect, **description["inputSchema"]}
        if revision.tool_output and "outputSchema" in description:
            listed["outputSchema"] = {"$schema": revision.schema_dialect, **description["outputSchema"]}
        if revision.tool_annotations:
            listed["annotations"] = description["annotations"]
    return listed


def _to_lean(description: Mapping[str, Any], revision: Revision) -> JsonObject:
    lean: JsonObject = {"title": description["title"]} if revision.tool_output else {}
    lean["description"] = lean_text(description["description"])
    lean["inputSchema"] = lean_schema(description)
    if revision.tool_output and description.get("structured"):
        lean["outputSchema"] = description["outputSchema"]
    if revision.tool_annotations:
        lean["annotations"] = lean_hints(description["annotations"])
    return lean


def to_refusal(error: VaultError, request: Request) -> Refusal:
    """Return a VaultError as a JSON-RPC error; for a resource with its URI."""
    data: JsonObject = {"errorCode": error.code, **error.details}
    if isinstance(request.params.get("uri"), str):
        data["uri"] = request.params["uri"]
    is_unknown = error.code == FILE_NOT_FOUND or "vaults" in error.details  # no vault has this name
    if is_unknown and request.method == "resources/read":
        return Refusal(request.revision.resource_not_found, f"Resource not found: {error.message}", data)
    if error.code in (VAULT_NOT_FOUND, WRITE_FAILED) and not is_unknown:  # no fault of the request
        return Refusal(jsonrpc.INTERNAL_ERROR, error.message, data)
    if error.code == SERVER_BUSY:  # no fault of it, either: in the words for a call that was not begun
        return Refusal(jsonrpc.INTERNAL_ERROR, f"{SERVER_BUSY}: {error.message}", data)
    return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: {error.message}", data)


TASK_PLACE = "-"
"""In the id of a task: between its random part and the number of its vault, whose server has it."""


class FrameSink:
    """Takes the frames of one exchange. It is called while the workers' lock is held: it must not wait for long."""

    __slots__ = ()

    can_ask: bool
    """Whether a request of ours would reach the client."""

    def send(self, frame: bytes) -> None:
        """Send a frame that is not the last. A peer that is gone is no error."""
        raise NotImplementedError

    def answer(self, frame: bytes, code: int | None) -> None:  # noqa: ARG002 - for doors that need it
        """Send the answer; ``code`` is that of a JSON-RPC error, None for a result."""
        self.send(frame)

    def abandon(self) -> None:
        """Note that there will be no answer: the request was cancelled. Nothing to do where the connection goes on."""

    def hang_up(self) -> None:
        """Let the client fetch the rest later, where it can (2025-11-25, "Sending Messages to the Server")."""


# ---------------------------------------------------------------------- what a request gives


def text_in(params: JsonObject, name: str, where: str = "") -> str:
    """Return a text of the request. Raises VaultError if there is none."""
    value = params.get(name)
    if not isinstance(value, str):
        raise VaultError(INVALID_ARGUMENTS, f"{where}{name} must be a string, got {_got(params, name)}")
    return value


def object_in(params: JsonObject, name: str) -> JsonObject:
    """Return an object of the request. Raises VaultError if there is none."""
    value = params.get(name)
    if not isinstance(value, dict):
        raise VaultError(INVALID_ARGUMENTS, f"{name} must be an object, got {_got(params, name)}")
    return value


def _got(params: JsonObject, name: str) -> str:
    return jsonrpc.json_type(params[name]) if name in params else "nothing"
