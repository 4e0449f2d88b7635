"""The handlers: a method for each request. They know the protocol's shapes and the tools, but no thread and no wire.

``Handlers._table`` lists the methods served. A handler answers at once, or returns the job that a worker runs. Resources,
prompts and completions are in ``features``.
"""

from __future__ import annotations

import threading

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.dialects import MCP, known_name
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.revisions import LATEST_HANDSHAKE, SKILL_METHODS, TASK_METHODS
from vaultwire.server.results import (
    LISTING,
    POLICY_DENIED,
    READING,
    TASK_PLACE,
    TOOL_NOT_FOUND,
    AnswerForm,
    Refusal,
    Result,
    parse_call,
    to_listed,
    to_refusal,
)
from vaultwire.server.subscriptions import RESOURCE_LIST, RESOURCE_UPDATES, Listening, Subscriptions, watch
from vaultwire.server.vaults import Vaults
from vaultwire.server.workers import Job
from vaultwire.toolkit.catalog import MORE, PROFILES, former_name_hint, work_of
from vaultwire.trust.limits import SECONDS_BY_TIME_CLASS
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.apps import Views
    from vaultwire.server.features import Features
    from vaultwire.server.middleware import Middleware
    from vaultwire.server.polled_tasks import PolledTasks
    from vaultwire.server.results import Answer
    from vaultwire.server.skills import Skills
    from vaultwire.server.workers import Task
    from vaultwire.toolkit.catalog import Toolset
    from vaultwire.trust.limits import Rates
    from vaultwire.trust.policy import Policy
    from vaultwire.vault.index.freshness import OnChange
    from vaultwire.vault.vault import Vault

TOOLS_PER_PAGE = 100  # more than there are

# 2026-07-28, "Caching". The list depends only on how the server was started.
_TOOLS_TTL_MS = 3_600_000
_TOOLS_CACHE_SCOPE = "private"

# Methods of features that may ask the client (2026-07-28, "Multi Round-Trip Requests"); tools may, too.
_MAY_ASK = ("resources/read", "prompts/get")

TASK_SECONDS = 10.0
"""A call that takes longer becomes a task. Clients and proxies give up on a silent answer after 30 to 60 seconds."""

# The methods of features, and the time class of each.
_FEATURES = {
    "resources/list": "search",
    "resources/templates/list": "file",
    "resources/read": "file",
    "prompts/list": "search",
    "prompts/get": "search",
    "completion/complete": "search",
    **dict.fromkeys(SKILL_METHODS, "search"),
}


class Handlers:
    """The methods of one server, over one tool set and its vaults."""

    def __init__(  # noqa: PLR0913 - the parts that the composition root puts together, most by name
        self,
        toolset: Toolset,
        open_vault: Callable[[], Vault] | dict[str, Callable[[], Vault]],
        policy: Policy,
        seconds: Mapping[str, float] = SECONDS_BY_TIME_CLASS,
        prompts_folder: str | None = None,
        *,
        subscriptions: Subscriptions | None = None,
        middleware: Middleware | None = None,
        lists: Callable[..., bool] = lambda *_, **__: True,
        read_guide: Callable[[], str] = str,
        skills_folder: str | None = None,
        task_seconds: float = TASK_SECONDS,
    ) -> None:
        """``open_vault`` is called once, when a call first needs the vault; for named vaults it is a table of such functions.

        ``prompts_folder`` and ``skills_folder`` are folders in a vault. ``lists`` tells which tools are listed to every client
        (``ToolSelection``); the others can be called, too. ``read_guide`` returns the head of the vault's own guide, quickly.
        ``task_seconds``: a call that takes longer becomes a task, for clients that declare these.
        """
        self.vaults = Vaults(open_vault if isinstance(open_vault, dict) else {"": open_vault}, self._load)
        self.toolset = toolset.over(self.vaults.names)
        self._features: Features | None = None
        self._views: Views | None = None
        self._skills: Skills | None = None
        self._policy = policy
        self._seconds = seconds
        self._prompts_folder = prompts_folder
        self._skills_folder = skills_folder
        self._task_seconds = task_seconds
        self._polled_tasks: PolledTasks | None = None
        self._polled_tasks_lock = threading.Lock()
        self.subscriptions = subscriptions or Subscriptions((RESOURCE_LIST, RESOURCE_UPDATES))
        self.subscriptions.may_hear = self._may_hear
        self._middleware = middleware
        self._lists = lists
        self._read_guide = read_guide
        self.guide = read_guide()
        """The head of the first vault's own guide, quoted, as it was when one of the files beside it last changed."""
        self._table: dict[str, Callable[[Request, Dialect], Answer | Job | Listening]] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            **dict.fromkeys(_FEATURES, self._answer_feature),
            **dict.fromkeys(TASK_METHODS, self._answer_task),
            "subscriptions/listen": self._subscribe,
        }
        if RESOURCE_UPDATES in self.subscriptions.kinds:
            self._table |= dict.fromkeys(("resources/subscribe", "resources/unsubscribe"), self._subscribe)

        self.methods = frozenset(self._table)
        """The methods served, without those that the session answers itself."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed in this run."""
        return self._policy.read_only

    @property
    def rates(self) -> Rates | None:
        """Counts the calls of each client, None where nobody has a limit."""
        return None if self._middleware is None else self._middleware.rates

    def handle(self, request: Request, dialect: Dialect) -> Answer | Job | Listening:
        """Return the answer, the job that makes it, or a ``Listening``. Quick: it runs on the thread that reads."""
        handle = self._table[request.method]
        if request.method == "tools/call":
            self._read_arguments(request, dialect)
            self._unwrap(request, dialect)
        if self._middleware is None:
            return handle(request, dialect)
        return self._middleware.handle(request, dialect, handle, self.toolset.descriptions)

    def describe(self, tool: str) -> dict[str, Any] | None:
        """Return a tool's description by its name in any dialect, None if there is no such tool."""
        return self.toolset.descriptions.get(known_name(tool, self.toolset.descriptions) or "")

    def run_background(self) -> None:
        """Load the code that the first call needs, then run the index updaters of the vaults until ``close``."""
        self.vaults.get(self.vaults.names[0])
        self.vaults.run_index_updaters(self._report_changes)

    def serve(self, vault: str) -> None:
        """Serve one of the vaults that several servers share, in place of ``run_background``, until it is left or closed."""
        self.vaults.serve(vault, self._report_changes)

    def vault_of(self, method: str, params: JsonObject) -> str | None:
        """Return the name of the vault that a request is about, None if it is about none, or about all.

        Quick, and raises nothing: what is wrong with the request is said where it is answered.
        """
        try:
            if method == "tools/call":
                arguments = self._as_run(params).get("arguments")
                return self.vaults.pick(arguments if isinstance(arguments, dict) else {})[0]
            if method in TASK_METHODS:
                number = str(params.get("taskId")).partition(TASK_PLACE)[2]
                return self.vaults.names[int(number)]
            return self._all_features().vault_of(method, params) if method in _FEATURES else None
        except (VaultError, ValueError, IndexError):
            return None

    def only_reads(self, method: str, params: JsonObject) -> bool:
        """Tell whether a request changes nothing in a vault, whatever becomes of it. Quick, and raises nothing."""
        if method != "tools/call":
            return method in _FEATURES
        name = self._as_run(params).get("name")
        description = (self.toolset.describe(name) or self.describe(name)) if isinstance(name, str) else None
        return description is not None and bool(description["annotations"]["readOnlyHint"])

    def is_of_all(self, method: str) -> bool:
        """Tell whether the answer to a method lists what is in the notes of all vaults, where there are several."""
        folders = {"prompts/list": self._prompts_folder, "skills/list": self._skills_folder}
        return self.vaults.are_several and folders.get(method) is not None

    def _as_run(self, params: JsonObject) -> JsonObject:
        """Return the params of a call as they are when the tool runs: read, and those of the tool that ``more_tools`` names."""
        request = Request(0, "tools/call", params, LATEST_HANDSHAKE, Peer(), {})
        self._read_arguments(request, MCP)
        self._unwrap(request, MCP)
        return request.params

    def close(self) -> None:
        """End ``run_background``. Safe from any thread."""
        self.vaults.close()

    def _report_changes(self, vault: Vault) -> OnChange:
        """Return the function that tells subscribers of a vault's changes."""
        from vaultwire.server.features import ResourceChanges  # noqa: PLC0415 - loaded with the tools

        report = ResourceChanges(vault, self.subscriptions).report
        if not self.vaults.is_first(vault):
            return report

        def report_first(paths: Collection[str], folders: Collection[str]) -> None:
            if "" in folders or any("/" not in path for path in paths):
                self.guide = self._read_guide()
            report(paths, folders)

        return report_first

    def _run_asking(
        self, run: Callable[[Task], Answer], request: Request, give_up: Callable[[str, str], Answer], task: Task
    ) -> Answer:
        """Run work that may ask the client, once the code for that is loaded."""
        self.vaults.load()  # two threads must not import at once
        from vaultwire.server.call_runner import run_asking  # noqa: PLC0415 - loaded by now

        return run_asking(run, request, give_up, task)

    def _load(self) -> None:
        """Load the code that calls need, on one thread at a time."""
        import vaultwire.server.call_runner  # noqa: PLC0415 - not at start, here and below
        import vaultwire.server.features  # noqa: F401, PLC0415

    def _all_features(self) -> Features:
        self.vaults.load()
        if self._features is None:  # two threads may make one each; they are equal
            from vaultwire.server.features import Features  # noqa: PLC0415 - loaded by now

            self._features = Features(self.vaults, self._prompts_folder)
        return self._features

    def _views_for(self, request: Request, dialect: Dialect) -> Views | None:
        """Return the views inside clients, None for a client that did not declare that it shows them."""
        if request.capabilities.get("extensions"):
            from vaultwire.server.apps import Views, has_apps  # noqa: PLC0415 - only for clients with extensions

            if has_apps(request, dialect):
                self._views = self._views or Views(self.vaults, self.describe, self._may_read_by)  # as above
                return self._views
        return None

    def _skill_answer(self, request: Request, dialect: Dialect, task: Task) -> JsonObject | None:
        """Return the result of a request about skills, None if it is about something else. Raises VaultError."""
        named = request.params.get("uri")
        is_skill = isinstance(named, str) and named.startswith("skill:")
        if dialect.is_contract or not (request.method in SKILL_METHODS or is_skill) or not request.revision.extensions:
            return None
        from vaultwire.server.skills import Skills  # noqa: PLC0415 - few clients know the extension

        self._skills = self._skills or Skills(self.vaults, self._skills_folder)  # as the features
        return self._skills.answer(request, lambda tool: self._may_read_by(tool, request), task)

    def offered(self, peer: Peer) -> list[dict[str, Any]]:
        """Return the tools that the client may call."""
        tools = self.toolset.descriptions.values()
        return [
            each for each in tools if self._policy.allows(each["annotations"], each["name"], peer.name, peer.authority)
        ]

    def _listed(self, peer: Peer, dialect: Dialect) -> list[dict[str, Any]]:
        """Return the tools that ``tools/list`` shows to the client."""
        offered, known = self.offered(peer), self.toolset.descriptions
        is_contract = dialect.is_contract
        listed = [each for each in offered if self._lists(each, peer.name, peer.authority, is_contract=is_contract)]
        if len(listed) == len(offered):  # there are no more
            listed = [each for each in listed if each["name"] != MORE]
        return [each for each in listed if dialect.lists(each["name"], known)]

    def listed_to(self, peer: Peer) -> list[str]:
        """Return the names of the tools that ``tools/list`` shows to the client."""
        return [each["name"] for each in self._listed(peer, MCP)]

    # ------------------------------------------------------------------ tools/list

    def _list_tools(self, request: Request, dialect: Dialect) -> Answer:
        listed = self._listed(request.peer, dialect)
        cursor = request.params.get("cursor")
        start = 0
        if cursor is not None:
            names = [description["name"] for description in listed]
            if cursor not in names:
                return Refusal(
                    jsonrpc.INVALID_PARAMS, "Invalid params: cursor must be the nextCursor of an earlier answer"
                )
            start = names.index(cursor)
        end = start + TOOLS_PER_PAGE
        tools = [to_listed(each, request.revision, dialect) for each in listed[start:end]]
        self._name_unlisted(tools, request.peer, {each["name"] for each in listed})
        views = self._views_for(request, dialect)
        result: JsonObject = {"tools": tools if views is None else views.listed(tools, listed[start:end])}
        if end < len(listed):
            result["nextCursor"] = listed[end]["name"]
        if request.revision.stateless:
            result |= {"ttlMs": _TOOLS_TTL_MS, "cacheScope": _TOOLS_CACHE_SCOPE}
        return Result(result)

    def _name_unlisted(self, tools: list[JsonObject], peer: Peer, listed: Collection[str]) -> None:
        """Name the standard tools that are not listed in what is said of ``more_tools``: its own text names the others."""
        more = next((each for each in tools if each["name"] == MORE), None)
        hidden = [
            each["name"]
            for each in (self.offered(peer) if more is not None else ())
            if each["listed"] in ("core", "standard") and each["name"] not in (*listed, MORE)
        ]
        if more is not None and hidden:
            more["description"] = str(more["description"]).replace(": ", f": {', '.join(hidden)}, ", 1)

    # ------------------------------------------------------------------ tools/call

    def _read_arguments(self, request: Request, dialect: Dialect) -> None:
        """Put the arguments into the request as the tool's schema wants them, as far as they can be read.

        It is done first, so that the choice of a vault, the audit log and the tool see the same arguments: a path under
        another name, or in JSON within a text, gets past none of them. What is wrong is said where the tool runs.
        """
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if dialect.strict or not isinstance(name, str) or not isinstance(arguments, dict):
            return
        description = self.toolset.describe(name) or self.describe(name)
        if description is None:
            return
        from vaultwire.toolkit.arguments import read_arguments  # noqa: PLC0415 - not needed before the first call

        read, _ = read_arguments(description["inputSchema"], arguments)
        request.params = {**request.params, "arguments": read}

    def _unwrap(self, request: Request, dialect: Dialect) -> None:
        """Make a call of ``more_tools`` the call of the tool that it names, as if the client had called that.

        It is done before everything else, so that policy, limits, audit log and confirmation see the tool that runs.
        """
        if known_name(str(request.params.get("name")), self.toolset.descriptions) != MORE:
            return
        wrapped = request.params.get("arguments")
        wanted = wrapped.get("tool") if isinstance(wrapped, dict) else None
        named = self.describe(wanted) if isinstance(wanted, str) else None
        peer = request.peer
        is_allowed = self._policy.allows({"readOnlyHint": True}, MORE, peer.name, peer.authority)
        if wrapped is None or named is None or named["name"] == MORE or named["listed"] in PROFILES or not is_allowed:
            return
        inner = wrapped.get("arguments") or {}
        if isinstance(inner, dict):
            beside = {name: value for name, value in wrapped.items() if name not in ("tool", "arguments")}
            request.params = {**request.params, "name": named["name"], "arguments": {**beside, **inner}}
            self._read_arguments(request, dialect)

    def _call_tool(self, request: Request, dialect: Dialect) -> Answer | Job:
        call = parse_call(request.params)
        if isinstance(call, Refusal):
            return call
        name, arguments = call
        description = self.toolset.describe(name) or self.describe(name)
        tool = None if description is None else description["name"]
        form = AnswerForm(request.revision, dialect, tool, self.toolset.descriptions, arguments.get("path"))
        if description is None:
            known = ", ".join(dialect.list_name(other["name"]) for other in self._listed(request.peer, dialect))
            hint = former_name_hint(name.replace("-", "_"))
            message = f"Unknown tool: {name[:80]!r}{hint} (there are: {known})"
            if dialect.unknown_tool is None:
                return form.failure(TOOL_NOT_FOUND, message, {})
            return Refusal(dialect.unknown_tool, message, {"errorCode": TOOL_NOT_FOUND})
        peer = request.peer
        refusal = self._policy.refusal(description["name"], description["annotations"], peer.name, peer.authority)
        if refusal is not None:
            return form.failure(POLICY_DENIED, refusal, {})
        for used in work_of(description["name"], arguments):
            if self.describe(used) is None or not self._may_read_by(used, request):
                return form.failure(POLICY_DENIED, f"This call does the work of {used}, which is not allowed.", {})
        arguments = {**dialect.defaults.get(description["name"], {}), **arguments}
        try:
            if description["name"] in dialect.notes_only:
                _check_is_note(arguments.get("path"))
            vault, arguments = self.vaults.pick(arguments)
        except VaultError as error:
            return form.failure(error.code, error.message, error.details)
        job = self._tool_job(request, description, vault, arguments, form, self._views_for(request, dialect))
        if request.capabilities.get("extensions") and not dialect.is_contract:
            from vaultwire.server.polled_tasks import declares_tasks  # noqa: PLC0415 - only for clients with extensions

            job.polled_tasks = self._tasks() if declares_tasks(request) else None
        return job

    def _tool_job(
        self,
        request: Request,
        description: dict[str, Any],
        vault: str,
        arguments: JsonObject,
        form: AnswerForm,
        views: Views | None,
    ) -> Job:
        """Return the call of a tool. ``vault`` is the vault's name; ``arguments`` are the tool's own."""
        name = description["name"]

        def run(task: Task) -> Answer:
            from vaultwire.server.call_runner import run_tool  # noqa: PLC0415 - loaded by now

            may_read = self.toolset.describe("read_note") is not None and self._may_read_by("read_note", request)
            also = tuple(work_of(name, arguments))
            used = self.vaults.used_by(request.peer, vault, name, also, may_read_notes=may_read)
            hint = self.vaults.hint(vault)
            form.view = None if views is None else views.shown_by(description, vault, arguments, request)
            return run_tool(self.toolset.tool(name), description, arguments, used, form, hint, task)

        def give_up(code: str, message: str) -> Answer:
            return form.failure(code, message, {})

        job = Job(
            name,
            lambda task: self._run_asking(run, request, give_up, task),
            give_up,
            self._seconds[description["timeClass"]],
            changes_vault=not description["annotations"]["readOnlyHint"],
            vault=vault,
        )
        job.offered = lambda: self.offered(request.peer)
        job.listed = lambda: self.listed_to(request.peer)
        return job

    def _tasks(self) -> PolledTasks:
        from vaultwire.server.polled_tasks import PolledTasks  # noqa: PLC0415 - few clients know the extension

        with self._polled_tasks_lock:  # two would each know some of the tasks only
            self._polled_tasks = self._polled_tasks or PolledTasks(self._task_seconds, self.vaults.names)
        return self._polled_tasks

    def _answer_task(self, request: Request, _: Dialect) -> Answer:
        try:
            return self._tasks().answer(request)
        except VaultError as error:
            return to_refusal(error, request)

    # ------------------------------------------------------------------ resources, prompts, completions

    def _answer_feature(self, request: Request, dialect: Dialect) -> Job:
        def give_up(code: str, message: str) -> Answer:
            return Refusal(jsonrpc.INTERNAL_ERROR, message, {"errorCode": code})

        views = self._views_for(request, dialect)

        def run(task: Task) -> Answer:
            features = self._all_features()
            asked = (request.method, request.params, request.revision, task)
            try:
                page = (views.page(request) if views else None) or self._skill_answer(request, dialect, task)
                if page is not None:
                    return Result(page)
                if self._policy.allows_everything:
                    return Result(features.answer(*asked))
                from vaultwire.server.features import answer_if_allowed  # noqa: PLC0415 - only under a policy

                return Result(answer_if_allowed(features, *asked, lambda tool: self._may_read_by(tool, request)))
            except VaultError as error:
                return to_refusal(error, request)

        may_ask = request.method in _MAY_ASK
        return Job(
            request.method,
            (lambda task: self._run_asking(run, request, give_up, task)) if may_ask else run,
            give_up,
            self._seconds[_FEATURES[request.method]],
            changes_vault=False,
        )

    def _may_read_by(self, tool: str, request: Request) -> bool:
        """Tell whether the client may call a tool that reads."""
        return self._policy.allows({"readOnlyHint": True}, tool, request.peer.name, request.peer.authority)

    # ------------------------------------------------------------------ changes

    def _may_hear(self, peer: Peer, kind: str) -> bool:
        """Tell whether a client may hear of changes: of a resource only if it may read it, of the list if it may list."""
        tool = {RESOURCE_UPDATES: READING, RESOURCE_LIST: LISTING}.get(kind)
        return tool is None or self._policy.allows({"readOnlyHint": True}, tool, peer.name, peer.authority)

    def _refuse_tasks(self, request: Request) -> Refusal | None:
        """Return the refusal of a listener that names tasks and did not declare their extension. Of no task we tell more."""
        notifications = request.params.get("notifications")
        if not isinstance(notifications, dict) or "taskIds" not in notifications:
            return None
        from vaultwire.server.polled_tasks import declares_tasks, undeclared  # noqa: PLC0415 - few clients name tasks

        return None if declares_tasks(request) else undeclared(request)

    def _subscribe(self, request: Request, _: Dialect) -> Answer | Listening:
        try:
            if request.method == "subscriptions/listen":
                return self._refuse_tasks(request) or self.subscriptions.honoured(request.params, request.peer)
            watch(request, self._may_hear)
        except VaultError as error:
            return to_refusal(error, request)
        return Result({})


def _check_is_note(path: Any) -> None:
    """Raise VaultError (INVALID_ARGUMENTS) for the path of a folder or of another kind of file than a note."""
    from vaultwire.vault.disk.paths import parse_note_path  # noqa: PLC0415 - few clients need it

    try:
        parse_note_path(path if isinstance(path, str) else "x")
    except VaultError as error:
        if error.code == INVALID_ARGUMENTS:  # all else the tool says better
            raise
