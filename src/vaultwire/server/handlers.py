"""What each method does: request in, answer out. The table at the head of the class is the list of methods served.

Knows the protocol's shapes and the tools; knows no thread and no wire. A handler either answers at once or returns the
job a worker runs. What resources, prompts and completions answer is ``offers``' matter.
"""

from __future__ import annotations

import gc
import threading
import time

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.revisions import MISSING_CLIENT_CAPABILITY
from vaultwire.server.subscriptions import RESOURCE_CHANGES, Listening, Subscriptions, watch
from vaultwire.trust.limits import SECONDS_BY_TIME_CLASS
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VAULT_NOT_FOUND, WRITE_FAILED, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol, TypeAlias

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.messages import JsonObject
    from vaultwire.protocol.revisions import Revision
    from vaultwire.tools.catalog import Toolset
    from vaultwire.tools.registry import AnyTool, Client, Outcome
    from vaultwire.trust.policy import Policy
    from vaultwire.vault.caller import Caller
    from vaultwire.vault.vault import Vault

TOOLS_PER_PAGE = 100  # far above what we have; clients that page are served all the same

# 2026-07-28, "Caching". The list depends on how the server was started and on nothing else.
_TOOLS_TTL_MS = 3_600_000
_TOOLS_CACHE_SCOPE = "private"

INTERNAL = "INTERNAL"
POLICY_DENIED = "POLICY_DENIED"
TOOL_NOT_FOUND = "TOOL_NOT_FOUND"

# Which of what is offered may ask the client something first (2026-07-28, "Multi Round-Trip Requests"); tools may, too.
_MAY_ASK = ("resources/read", "prompts/get")

# What else a vault offers, and which deadline each has.
_OFFERED = {
    "resources/list": "search",
    "resources/templates/list": "file",
    "resources/read": "file",
    "prompts/list": "search",
    "prompts/get": "search",
    "completion/complete": "search",
}


class Result:
    """A method's answer."""

    __slots__ = ("value",)
    __match_args__ = ("value",)

    def __init__(self, value: JsonObject) -> None:
        self.value = value


class Refusal:
    """A JSON-RPC error instead of an answer."""

    __slots__ = ("code", "data", "message")
    __match_args__ = ("code", "message", "data")

    def __init__(self, code: int, message: str, data: JsonObject | None = None) -> None:
        self.code = code
        self.message = message
        self.data = data


class Job:
    """Work for a worker: ``run`` gives the answer; past ``seconds``, or if it crashes, ``give_up`` does.

    ``run`` takes a ``Client``, or any Progress where nobody is there to be asked.

    ``changes_vault``: jobs that do run one at a time, in the order they came. ``is_bounded``: it reads a few files at most.
    """

    __slots__ = ("changes_vault", "give_up", "is_bounded", "name", "run", "seconds")

    def __init__(
        self,
        name: str,
        run: Callable[[Any], Answer],
        give_up: Callable[[str, str], Answer],
        seconds: float,
        *,
        changes_vault: bool,
        is_bounded: bool = False,
    ) -> None:
        self.name = name
        self.run = run
        self.give_up = give_up
        self.seconds = seconds
        self.changes_vault = changes_vault
        self.is_bounded = is_bounded


if TYPE_CHECKING:
    Answer: TypeAlias = Result | Refusal
    _Run: TypeAlias = Callable[[Client], Answer]

    class Offering(Protocol):
        """What a server offers besides tools: resources, prompts, completions."""

        def answer(self, method: str, params: JsonObject, revision: Revision, client: Client) -> JsonObject:
            """Return the result of a request. Raises VaultError, ``Stopped``, and what nobody foresaw."""


class Handlers:
    """The methods of one server, over one tool set and one vault."""

    def __init__(
        self,
        toolset: Toolset,
        open_vault: Callable[[], Vault],
        policy: Policy,
        seconds: Mapping[str, float] = SECONDS_BY_TIME_CLASS,
        prompts_folder: str | None = None,
        *,
        open_offers: Callable[[Vault], Offering] | None = None,
        subscriptions: Subscriptions | None = None,
    ) -> None:
        """``open_vault`` is called once, when a call first needs the vault; ``prompts_folder`` is a folder in it.

        ``open_offers`` offers something else than the vault's notes.
        """
        self._loading = threading.Lock()
        self._loaded: tuple[dict[str, AnyTool], Vault, Offering] | None = None
        self._is_closed = False
        self._toolset = toolset
        self._open_vault = open_vault
        self._policy = policy
        self._seconds = seconds
        self._prompts_folder = prompts_folder
        self._open_offers = open_offers
        self.subscriptions = subscriptions or Subscriptions()
        self._table: dict[str, Callable[[Request, Dialect], Answer | Job | Listening]] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            **dict.fromkeys(_OFFERED, self._offer),
            "subscriptions/listen": self._subscribe,
        }
        if RESOURCE_CHANGES in self.subscriptions.kinds:
            self._table |= dict.fromkeys(("resources/subscribe", "resources/unsubscribe"), self._subscribe)

    @property
    def methods(self) -> list[str]:
        """The methods served, besides those the session answers itself."""
        return list(self._table)

    def handle(self, request: Request, dialect: Dialect) -> Answer | Job | Listening:
        """Answer the request, or return the job that will, or that it stays open. Quick: runs on the thread that reads."""
        return self._table[request.method](request, dialect)

    def describe(self, tool: str) -> Mapping[str, Any] | None:
        """Return a tool's description, None if there is none of this name."""
        return self._toolset.descriptions.get(tool)

    def tend(self) -> None:
        """Load what the first call would otherwise wait for, then keep the vault's index true of the files until ``close``."""
        vault = self._engine()[1]
        # What is loaded by now stays. Looking through it takes each full collection 5 ms, in the middle of some call.
        gc.freeze()
        if not self._is_closed:
            vault.tend()

    def close(self) -> None:
        """End ``tend``. Safe from any thread."""
        self._is_closed = True
        loaded = self._loaded
        if loaded is not None:
            loaded[1].close()

    def _engine(self) -> tuple[dict[str, AnyTool], Vault, Offering]:
        """Return the tools' code, the vault and what else it offers, loaded once, by whichever thread asks first.

        The others wait: two vaults would not see each other's edits, and two threads that import at once can be handed
        half a module (CPython 3.13.0, ``collections.abc``).
        """
        with self._loading:
            if self._loaded is None:
                import vaultwire.server.inputs  # noqa: F401, PLC0415 - which else the first stateless call would load

                vault = self._open_vault()
                self._loaded = self._toolset.tools, vault, (self._open_offers or self._our_offers)(vault)
            return self._loaded

    def _our_offers(self, vault: Vault) -> Offering:
        from vaultwire.server.offers import Offers  # noqa: PLC0415 - loaded with the tools, not at start

        return Offers(vault, self._prompts_folder)

    # ------------------------------------------------------------------ tools/list

    def _list_tools(self, request: Request, _: Dialect) -> Answer:
        shown = [
            description
            for description in self._toolset.descriptions.values()
            if self._policy.allows(description["annotations"])
        ]
        cursor = request.params.get("cursor")
        start = 0
        if cursor is not None:
            names = [description["name"] for description in shown]
            if cursor not in names:
                return Refusal(
                    jsonrpc.INVALID_PARAMS, "Invalid params: cursor must be the nextCursor of an earlier answer"
                )
            start = names.index(cursor)
        end = start + TOOLS_PER_PAGE
        result: JsonObject = {"tools": [_to_listed(description, request.revision) for description in shown[start:end]]}
        if end < len(shown):
            result["nextCursor"] = shown[end]["name"]
        if request.revision.stateless:
            result |= {"ttlMs": _TOOLS_TTL_MS, "cacheScope": _TOOLS_CACHE_SCOPE}
        return Result(result)

    # ------------------------------------------------------------------ tools/call

    def _call_tool(self, request: Request, dialect: Dialect) -> Answer | Job:
        name = request.params.get("name")
        arguments = request.params.get("arguments", {})
        if not isinstance(name, str):
            got = jsonrpc.json_type(name) if "name" in request.params else "nothing"
            return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: name must be a string, got {got}")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            got = jsonrpc.json_type(arguments)
            return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: arguments must be an object, got {got}")
        description = self._toolset.descriptions.get(name)
        if description is None:
            known = ", ".join(
                other["name"]
                for other in self._toolset.descriptions.values()
                if self._policy.allows(other["annotations"])
            )
            message = f"Unknown tool: {name[:80]!r} (there are: {known})"
            return Refusal(dialect.unknown_tool, message, {"errorCode": TOOL_NOT_FOUND})
        started = time.perf_counter()

        def give_up(code: str, message: str) -> Answer:
            return _to_failed(code, message, {}, request.revision, started)

        denied = self._policy.refusal(name, description["annotations"])
        if denied is not None:
            return give_up(POLICY_DENIED, denied)

        def run(client: Client) -> Answer:
            tools, vault, _ = self._engine()
            from vaultwire.tools.registry import Failure, invoke  # noqa: PLC0415 - loaded with the tools, not at start

            outcome = invoke(tools[name], description, arguments, vault.used_by(_caller(request), name), client)
            if isinstance(outcome, Failure):
                return _to_failed(outcome.code, outcome.message, outcome.details, request.revision, started)
            return _to_result(outcome, description, request.revision, started)

        return Job(
            name,
            self._asking(run, request, give_up),
            give_up,
            self._seconds[description["timeClass"]],
            changes_vault=not description["annotations"]["readOnlyHint"],
            is_bounded=description["timeClass"] == "file",
        )

    # ------------------------------------------------------------------ resources, prompts, completions

    def _offer(self, request: Request, _: Dialect) -> Job:
        def give_up(code: str, message: str) -> Answer:
            return Refusal(jsonrpc.INTERNAL_ERROR, message, {"errorCode": code})

        def run(client: Client) -> Answer:
            _, _, offers = self._engine()
            try:
                return Result(offers.answer(request.method, request.params, request.revision, client))
            except VaultError as error:
                return _to_refusal(error, request)

        return Job(
            request.method,
            self._asking(run, request, give_up) if request.method in _MAY_ASK else run,
            give_up,
            self._seconds[_OFFERED[request.method]],
            changes_vault=False,
        )

    # ------------------------------------------------------------------ changes

    def _subscribe(self, request: Request, _: Dialect) -> Answer | Listening:
        try:
            if request.method == "subscriptions/listen":
                return self.subscriptions.honoured(request.params)
            watch(request)
        except VaultError as error:
            return _to_refusal(error, request)
        return Result({})

    def _asking(self, run: Callable[[Client], Answer], request: Request, give_up: Callable[[str, str], Answer]) -> _Run:
        """Return the work so that it may ask the client: while it waits, or with its result (2026-07-28)."""

        def run_asking(client: Client) -> Answer:
            self._engine()  # two threads must not import at once
            from vaultwire.tools.registry import CLIENT_CANNOT, CapabilityMissing  # noqa: PLC0415 - loaded with the tools

            try:
                if not request.revision.asks_in_results:
                    return run(client)
                from vaultwire.server.inputs import run_in_rounds  # noqa: PLC0415

                return run_in_rounds(run, client, request)
            except VaultError as error:
                return _to_refusal(error, request)
            except CapabilityMissing as error:
                if not request.revision.asks_in_results:
                    return give_up(CLIENT_CANNOT, f"{error}.")
                data: JsonObject = {"requiredCapabilities": {error.capability: {}}}
                return Refusal(MISSING_CLIENT_CAPABILITY, str(error), data)

        return run_asking


def _caller(request: Request) -> Caller:
    """Return what is kept of this client, from the first of its calls on."""
    peer = request.peer
    if peer.memory is None:
        from vaultwire.vault.caller import Caller  # noqa: PLC0415 - not before the first answer

        peer.memory = Caller()
    caller: Caller = peer.memory
    caller.client = peer.name
    return caller


def _to_refusal(error: VaultError, request: Request) -> Refusal:
    """Return the engine's refusal as an error of the protocol; a resource's says which one was asked for."""
    data: JsonObject = {"errorCode": error.code, **error.details}
    if isinstance(request.params.get("uri"), str):
        data["uri"] = request.params["uri"]
    if error.code == FILE_NOT_FOUND and request.method == "resources/read":
        return Refusal(request.revision.resource_not_found, f"Resource not found: {error.message}", data)
    if error.code in (VAULT_NOT_FOUND, WRITE_FAILED):  # nothing the caller could have said better
        return Refusal(jsonrpc.INTERNAL_ERROR, error.message, data)
    return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: {error.message}", data)


def _to_listed(description: Mapping[str, Any], revision: Revision) -> JsonObject:
    """Return a tool as a client of this revision knows tools."""
    listed: JsonObject = {"name": description["name"]}
    if revision.tool_output:
        listed["title"] = description["title"]
    listed["description"] = description["description"]
    listed["inputSchema"] = {"$schema": revision.schema_dialect, **description["inputSchema"]}
    if revision.tool_output and "outputSchema" in description:
        listed["outputSchema"] = {"$schema": revision.schema_dialect, **description["outputSchema"]}
    if revision.tool_annotations:
        listed["annotations"] = description["annotations"]
    return listed


def _to_result(outcome: Outcome[Any], description: Mapping[str, Any], revision: Revision, started: float) -> Answer:
    content: list[Mapping[str, Any]] = [{"type": "text", "text": text} for text in outcome.texts]
    content += outcome.more
    result: JsonObject = {"content": content}
    if revision.tool_output and "outputSchema" in description:
        result["structuredContent"] = outcome.data
    result["isError"] = False
    result["_meta"] = _to_meta(started)
    return Result(result)


def _to_failed(code: str, message: str, details: Mapping[str, Any], revision: Revision, started: float) -> Answer:
    """Return a tool's failure: a result the model reads. Wrong arguments were protocol errors before 2025-11-25."""
    if code == INVALID_ARGUMENTS and not revision.tool_errors_for_arguments:
        return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: {message}", {"errorCode": code, **details})
    meta: JsonObject = {**_to_meta(started), "errorCode": code}
    if details:
        meta["errorDetails"] = dict(details)
    return Result({"content": [{"type": "text", "text": f"{code}: {message}"}], "isError": True, "_meta": meta})


def _to_meta(started: float) -> JsonObject:
    """Return how long the call took, in milliseconds, and when it ended, in UTC."""
    now = time.time()
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    return {
        "executionTime": round((time.perf_counter() - started) * 1000, 3),
        "timestamp": f"{seconds}.{int(now % 1 * 1000):03}Z",
    }
