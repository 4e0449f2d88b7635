"""What each method does: request in, answer out. The table at the head of the class is the list of methods served.

Knows the protocol's shapes and the tools; knows no thread and no wire. A handler either answers at once or returns the
job a worker runs. What resources, prompts and completions answer is ``offers``' matter.
"""

from __future__ import annotations

import gc

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.dialects import known_name
from vaultwire.protocol.revisions import MISSING_CLIENT_CAPABILITY
from vaultwire.server.answers import POLICY_DENIED, TOOL_NOT_FOUND, Refusal, Result, Wording, to_listed, to_refusal
from vaultwire.server.subscriptions import RESOURCE_CHANGES, Listening, Subscriptions, watch
from vaultwire.server.vaults import Vaults
from vaultwire.trust.limits import SECONDS_BY_TIME_CLASS
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, Protocol, TypeAlias

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.messages import JsonObject
    from vaultwire.protocol.revisions import Revision
    from vaultwire.server.answers import Answer
    from vaultwire.server.gate import Gate
    from vaultwire.tools.catalog import Toolset
    from vaultwire.tools.registry import Client
    from vaultwire.trust.policy import Policy
    from vaultwire.vault.vault import Vault

TOOLS_PER_PAGE = 100  # far above what we have; clients that page are served all the same

# 2026-07-28, "Caching". The list depends on how the server was started and on nothing else.
_TOOLS_TTL_MS = 3_600_000
_TOOLS_CACHE_SCOPE = "private"

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


class Job:
    """Work for a worker: ``run`` gives the answer; past ``seconds``, or if it crashes, ``give_up`` does.

    ``run`` takes a ``Client``, or any Progress where nobody is there to be asked.

    ``changes_vault``: jobs that do run one at a time, in the order they came. ``is_bounded``: it reads a few files at most.
    ``offered`` and ``show`` are what ``Client.tools`` and ``Client.show`` do.
    """

    __slots__ = ("changes_vault", "give_up", "is_bounded", "name", "offered", "run", "seconds", "show")

    def __init__(
        self,
        name: str,
        run: Callable[[Any], Answer],
        give_up: Callable[[str, str], Answer],
        seconds: float,
        *,
        changes_vault: bool,
        is_bounded: bool = False,
        offered: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
        show: Callable[[Collection[str]], bool] = lambda _: False,
    ) -> None:
        self.name = name
        self.run = run
        self.give_up = give_up
        self.seconds = seconds
        self.changes_vault = changes_vault
        self.is_bounded = is_bounded
        self.offered = offered
        self.show = show


if TYPE_CHECKING:
    _Run: TypeAlias = Callable[[Client], Answer]

    class Offering(Protocol):
        """What a server offers besides tools: resources, prompts, completions."""

        def answer(self, method: str, params: JsonObject, revision: Revision, client: Client) -> JsonObject:
            """Return the result of a request. Raises VaultError, ``Stopped``, and what nobody foresaw."""


class Handlers:
    """The methods of one server, over one tool set and its vaults."""

    def __init__(  # noqa: PLR0913 - the parts of a server, by name
        self,
        toolset: Toolset,
        open_vault: Callable[[], Vault] | dict[str, Callable[[], Vault]],
        policy: Policy,
        seconds: Mapping[str, float] = SECONDS_BY_TIME_CLASS,
        prompts_folder: str | None = None,
        *,
        open_offers: Callable[[Vault], Offering] | None = None,
        subscriptions: Subscriptions | None = None,
        gate: Gate | None = None,
        lists: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """``open_vault`` is called once, when a call first needs the vault; of named vaults there is one for each.

        ``prompts_folder`` is a folder in a vault. ``open_offers`` offers something else than the first vault's notes.
        ``gate`` is what every request passes, ``lists`` which tools are listed to everybody; the others can be called, too.
        """
        self._vaults = Vaults(open_vault if isinstance(open_vault, dict) else {"": open_vault}, self._load)
        self._toolset = toolset.over(self._vaults.names)
        self._offers: Offering | None = None
        self._policy = policy
        self._seconds = seconds
        self._prompts_folder = prompts_folder
        self._open_offers = open_offers
        self.subscriptions = subscriptions or Subscriptions()
        self._gate = gate
        self._lists = lists
        self._table: dict[str, Callable[[Request, Dialect], Answer | Job | Listening]] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            **dict.fromkeys(_OFFERED, self._offer),
            "subscriptions/listen": self._subscribe,
        }
        if RESOURCE_CHANGES in self.subscriptions.kinds:
            self._table |= dict.fromkeys(("resources/subscribe", "resources/unsubscribe"), self._subscribe)

        self.methods = frozenset(self._table)
        """The methods served, besides those the session answers itself."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed in this run."""
        return self._policy.read_only

    def handle(self, request: Request, dialect: Dialect) -> Answer | Job | Listening:
        """Answer the request, or return the job that will, or that it stays open. Quick: runs on the thread that reads."""
        handle = self._table[request.method]
        if self._gate is None:
            return handle(request, dialect)
        return self._gate.handle(request, dialect, handle, self._toolset.descriptions)

    def describe(self, tool: str) -> dict[str, Any] | None:
        """Return a tool's description, however its name is spelt; None if there is none of this name."""
        return self._toolset.descriptions.get(known_name(tool, self._toolset.descriptions) or "")

    def tend(self) -> None:
        """Load what the first call would otherwise wait for, then keep the vault's index true of the files until ``close``."""
        self._vaults.get(self._vaults.names[0])
        # What is loaded by now stays. Looking through it takes each full collection 5 ms, in the middle of some call.
        gc.freeze()
        self._vaults.tend()

    def close(self) -> None:
        """End ``tend``. Safe from any thread."""
        self._vaults.close()

    def _load(self) -> None:
        """Load the code that calls need, on one thread at a time."""
        import vaultwire.server.inputs  # noqa: PLC0415 - which else the first stateless call would load

        self._toolset.tools  # noqa: B018 - loads them
        if self._open_offers is None:
            import vaultwire.server.joined_offers  # noqa: F401, PLC0415 - as the tools, not at start

    def _offering(self) -> Offering:
        self._vaults.load()
        if self._offers is None:  # if two threads make one each, they are alike
            if self._open_offers is not None:
                self._offers = self._open_offers(self._vaults.get(self._vaults.names[0]))
            else:
                from vaultwire.server.joined_offers import make_offers  # noqa: PLC0415 - loaded by now

                self._offers = make_offers(self._vaults, self._prompts_folder)
        return self._offers

    def _offered(self, request: Request) -> list[dict[str, Any]]:
        """Return the tools that whoever asks may call."""
        names = (request.peer.name, request.peer.principal)
        tools = self._toolset.descriptions.values()
        return [each for each in tools if self._policy.allows(each["annotations"], each["name"], *names)]

    def _listed(self, request: Request) -> list[dict[str, Any]]:
        """Return those of them that ``tools/list`` shows."""
        also = request.peer.shown
        return [each for each in self._offered(request) if self._lists(each["name"]) or each["name"] in also]

    def _show(self, request: Request, names: Collection[str]) -> bool:
        """List these tools to the session from now on; False where the list is the same for everybody."""
        peer = request.peer
        more = frozenset(name for name in names if not self._lists(name)) - peer.shown
        if request.revision.stateless:
            return False
        peer.shown |= more
        return not more or self.subscriptions.tell(peer, "toolsListChanged")

    # ------------------------------------------------------------------ tools/list

    def _list_tools(self, request: Request, dialect: Dialect) -> Answer:
        known = self._toolset.descriptions
        shown = [each for each in self._listed(request) if dialect.lists(each["name"], known)]
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
        result: JsonObject = {"tools": [to_listed(each, request.revision, dialect) for each in shown[start:end]]}
        if end < len(shown):
            result["nextCursor"] = shown[end]["name"]
        if request.revision.stateless:
            result |= {"ttlMs": _TOOLS_TTL_MS, "cacheScope": _TOOLS_CACHE_SCOPE}
        return Result(result)

    # ------------------------------------------------------------------ tools/call

    def _call_tool(self, request: Request, dialect: Dialect) -> Answer | Job:
        call = _parse_call(request.params)
        if isinstance(call, Refusal):
            return call
        name, arguments = call
        wording = Wording(request.revision, dialect, arguments.get("path"))
        description = self.describe(name)
        if description is None:
            known = ", ".join(dialect.list_name(other["name"]) for other in self._listed(request))
            message = f"Unknown tool: {name[:80]!r} (there are: {known})"
            if dialect.unknown_tool is None:
                return wording.failure(TOOL_NOT_FOUND, message, {})
            return Refusal(dialect.unknown_tool, message, {"errorCode": TOOL_NOT_FOUND})
        name = description["name"]

        def give_up(code: str, message: str) -> Answer:
            return wording.failure(code, message, {})

        denied = self._policy.refusal(name, description["annotations"], request.peer.name, request.peer.principal)
        if denied is not None:
            return give_up(POLICY_DENIED, denied)
        try:
            vault_name, arguments = self._vaults.pick(arguments)
        except VaultError as error:
            return wording.failure(error.code, error.message, error.details)

        def run(client: Client) -> Answer:
            vault = self._vaults.used_by(request.peer, vault_name, name)
            from vaultwire.tools.registry import Failure, invoke  # noqa: PLC0415 - loaded with the tools, not at start

            outcome = invoke(self._toolset.tools[name], description, arguments, vault, client)
            if isinstance(outcome, Failure):
                message = outcome.message + (self._vaults.aside(vault_name) if outcome.code == FILE_NOT_FOUND else "")
                return wording.failure(outcome.code, message, outcome.details)
            return wording.result(outcome, description)

        return Job(
            name,
            self._asking(run, request, give_up),
            give_up,
            self._seconds[description["timeClass"]],
            changes_vault=not description["annotations"]["readOnlyHint"],
            is_bounded=description["timeClass"] == "file" and self._vaults.is_open(vault_name),
            offered=lambda: self._offered(request),
            show=lambda names: self._show(request, names),
        )

    # ------------------------------------------------------------------ resources, prompts, completions

    def _offer(self, request: Request, _: Dialect) -> Job:
        def give_up(code: str, message: str) -> Answer:
            return Refusal(jsonrpc.INTERNAL_ERROR, message, {"errorCode": code})

        def run(client: Client) -> Answer:
            offers = self._offering()
            try:
                return Result(offers.answer(request.method, request.params, request.revision, client))
            except VaultError as error:
                return to_refusal(error, request)

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
            return to_refusal(error, request)
        return Result({})

    def _asking(self, run: Callable[[Client], Answer], request: Request, give_up: Callable[[str, str], Answer]) -> _Run:
        """Return the work so that it may ask the client: while it waits, or with its result (2026-07-28)."""

        def run_asking(client: Client) -> Answer:
            self._vaults.load()  # two threads must not import at once
            from vaultwire.tools.registry import CLIENT_CANNOT, CapabilityMissing  # noqa: PLC0415 - loaded with the tools

            try:
                if not request.revision.asks_in_results:
                    return run(client)
                from vaultwire.server.inputs import run_in_rounds  # noqa: PLC0415

                return run_in_rounds(run, client, request)
            except VaultError as error:
                return to_refusal(error, request)
            except CapabilityMissing as error:
                if not request.revision.asks_in_results:
                    return give_up(CLIENT_CANNOT, f"{error}.")
                data: JsonObject = {"requiredCapabilities": {error.capability: {}}}
                return Refusal(MISSING_CLIENT_CAPABILITY, str(error), data)

        return run_asking


def _parse_call(params: JsonObject) -> tuple[str, JsonObject] | Refusal:
    """Return the tool's name and its arguments, or what is wrong with the call itself."""
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
