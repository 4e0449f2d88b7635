"""Runs a call on its worker thread: the tool, its questions to the client, its failure. Not whether and when it may run.

A person's agreement to a change is asked for by elicitation, where the client said that it can. ``Progress.confirm`` is called
in the middle of a change, while nobody else may change the vault. So the work is ended there, the person is asked, and the work
runs again from its beginning: it makes its plan again, and goes on if that is the plan that the person agreed to. If the notes
have changed meanwhile, the plan is another one, and the person is asked again.

In 2026-07-28 ("Multi Round-Trip Requests") questions to the client go out in the result, not while the call waits. The work
runs again with each round of answers. A question that was answered before returns its answer at once, the first question
without an answer ends the round. So a tool that asks is written the same way for every revision. Before its last question it
must change nothing. The client sends the answers of earlier rounds back, signed by us. The server remembers only which rounds
are open, so that each is used once, by the client that began it.

Loaded with the tools.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from vaultwire.protocol.events import Request
from vaultwire.protocol.revisions import MISSING_CLIENT_CAPABILITY
from vaultwire.server.results import Refusal, Result, to_refusal
from vaultwire.server.workers import InputRequired, MustAsk, Task
from vaultwire.toolkit.registry import CLIENT_CANNOT, CLIENT_REFUSED, Ask, CapabilityMissing, Failure, Outcome, invoke
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.holding.sessions import news_for
from vaultwire.vault.value_types import Confirmation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import Json, JsonObject
    from vaultwire.server.results import Answer, AnswerForm
    from vaultwire.toolkit.registry import AnyTool
    from vaultwire.vault.vault import Vault


# A form without fields: the client shows the question, and buttons to agree, to decline and to cancel.
_FORM = {"type": "object", "properties": {}}
_ACCEPT = "accept"
_TOLD = {
    "decline": "The person was asked, and declined",
    "cancel": "The person was asked, and gave no answer: they closed the question",
}
# The value of each type that says that there is nothing.
_EMPTY: dict[str, Any] = {"boolean": False, "integer": 0, "number": 0, "string": "", "array": [], "object": {}}


class _Declined(Exception):  # noqa: N818 - an answer, not a failure
    """``args[0]`` tells a model why nothing was changed."""


def run_confirmed(
    run: Callable[[Task], Outcome[Any] | Failure],
    task: Task,
    description: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> Outcome[Any] | Failure:
    """Run a tool, ask the person what it wants confirmed, and return its outcome: that nothing was changed if they decline."""
    try:
        if not _can_show_forms(task.capabilities):
            return run(task)  # the person agrees to calls in the client itself
        task.agreed = set()
        while True:
            try:
                return run(task)
            except MustAsk as must_ask:
                question = must_ask.question
            _ask_person(task, question)
            task.agreed.add(question.key)
    except Held as held:
        message = str(held)
    except _Declined as declined:
        message = f"{declined}. Nothing was changed. Do not try again unless the person asks for it."
    return _nothing_done(message, description, arguments)


def _ask_person(task: Task, question: Confirmation) -> None:
    """Ask. Raises _Declined, and in 2026-07-28 what ends the round of questions (``run_round``)."""
    form = Ask("elicitation/create", {"message": question.message, "requestedSchema": _FORM})
    try:
        action = task.ask({question.key: form})[question.key]["action"]
    except VaultError as error:
        if error.code != CLIENT_REFUSED:
            raise
        raise _Declined("The person was asked through the client, and no answer came back") from None
    if action != _ACCEPT:
        raise _Declined(_TOLD.get(action, _TOLD["cancel"]))


def _can_show_forms(capabilities: Mapping[str, Any]) -> bool:
    """Tell whether a client can ask by a form: from 2025-11-25 it may say that it can show web pages only (``url``)."""
    elicitation = capabilities.get("elicitation")
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def _nothing_done(message: str, description: Mapping[str, Any], arguments: Mapping[str, Any]) -> Outcome[Any]:
    """Return the outcome of a tool that did nothing. No failure: a model would try to do it in another way.

    The data has what the tool's schema requires (clients check it), empty; a path is the one that was given.
    """
    schema = description.get("outputSchema", {})
    data: dict[str, Any] = {name: _EMPTY[schema["properties"][name]["type"]] for name in schema.get("required", ())}
    if isinstance(data.get("path"), str):
        data["path"] = str(arguments.get("path", ""))
    if "notices" in data:
        data["notices"] = [message]
    return Outcome([message], data)


# Known to this process only: another process does not accept what this one signed.
_KEY = os.urandom(32)
# How long a round stays open: a person may leave the desk between two questions.
_STATE_SECONDS = 900
_OURS = ("inputResponses", "requestState", "_meta")
# Open rounds of all clients. Beyond that the oldest is closed, and its request has to be sent again.
_MOST_OPEN = 10_000
_NUMBER_BYTES = 16


def run_round(run: Callable[[Task], Answer], request: Request, task: Task) -> Answer:
    """Run the work with all answers so far. Raises VaultError for a wrong ``requestState``, and what the work raises."""
    task.answers = answers = _answers_of(request)
    try:
        return run(task)
    except InputRequired as required:
        asked = {key: {"method": ask.method, "params": ask.params} for key, ask in required.questions.items()}
        state = _seal_state(request, answers, list(asked))
        return Result({"resultType": "input_required", "inputRequests": asked, "requestState": state})


def _answers_of(request: Request) -> dict[str, Any]:
    if "requestState" not in request.params and "inputResponses" not in request.params:
        return {}
    state, responses = request.params.get("requestState"), request.params.get("inputResponses", {})
    if not isinstance(responses, dict):
        raise VaultError(INVALID_ARGUMENTS, "inputResponses must be an object")
    if state is None:
        return responses  # a client may know the questions beforehand; the state only holds earlier rounds
    answers, asked = _open_state(state, request)
    return {**answers, **{key: value for key, value in responses.items() if key in asked}}


class _Open:
    """The numbers of the open rounds, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[bytes, float] = {}

    def begin(self) -> tuple[bytes, int]:
        """Open a round; return its number and when it ends."""
        now = time.time()
        number, until = os.urandom(_NUMBER_BYTES), int(now) + _STATE_SECONDS
        with self._lock:
            for oldest in list(itertools.takewhile(lambda each: self._until[each] < now, self._until)):
                del self._until[oldest]
            if len(self._until) >= _MOST_OPEN:
                del self._until[next(iter(self._until))]
            self._until[number] = until
        return number, until

    def end(self, number: bytes) -> bool:
        """Close a round; False if it is not open."""
        with self._lock:
            return self._until.pop(number, None) is not None


_open = _Open()


def _seal_state(request: Request, answers: Mapping[str, Any], asked: list[str]) -> str:
    number, until = _open.begin()
    content = json.dumps([number.hex(), until, _digest(request), dict(answers), asked]).encode()
    return base64.urlsafe_b64encode(_sign(content) + content).decode("ascii")


def _open_state(state: Json, request: Request) -> tuple[dict[str, Any], list[str]]:
    """Return the answers of earlier rounds and the questions of the last. Raises VaultError."""
    message = "requestState: not the one that this server gave for this request; send the request again without it"
    try:
        sealed = base64.b64decode(state, altchars=b"-_", validate=True)
    except (TypeError, ValueError):
        raise VaultError(INVALID_ARGUMENTS, message) from None
    signature, content = sealed[:32], sealed[32:]
    if not hmac.compare_digest(signature, _sign(content)):
        raise VaultError(INVALID_ARGUMENTS, message)
    number, until, digest, answers, asked = json.loads(content)
    if not hmac.compare_digest(digest, _digest(request)):
        raise VaultError(INVALID_ARGUMENTS, message)
    if time.time() > until:
        raise VaultError(INVALID_ARGUMENTS, "requestState: too old; send the request again without it")
    if not _open.end(bytes.fromhex(number)):
        used = "requestState: used already, or too many were given since; send the request again without it"
        raise VaultError(INVALID_ARGUMENTS, used)
    return answers, asked


def _sign(content: bytes) -> bytes:
    return hmac.digest(_KEY, content, "sha256")


def _digest(request: Request) -> str:
    """Return a digest of the request: its principal, method and params."""
    params = {key: value for key, value in request.params.items() if key not in _OURS}
    text = json.dumps([request.peer.principal, request.method, params], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def run_tool(
    tool: AnyTool,
    description: dict[str, Any],
    arguments: JsonObject,
    vault: Vault,
    form: AnswerForm,
    hint: str,
    task: Task,
) -> Answer:
    """Run a tool and return its answer. ``hint`` ends the message for a file that is not there."""
    caller = vault.caller

    def run(task: Task) -> Outcome[Any] | Failure:
        answer = invoke(tool, description, arguments, vault, task)
        if caller.may_read_notes:
            return answer
        from vaultwire.tools.changes import without_text  # noqa: PLC0415 - loads the code that changes notes

        return without_text(answer, description)

    outcome = run_confirmed(run, task, description, arguments)
    news = "" if caller.is_person else news_for(caller, vault.holding)
    news = "\n".join(filter(None, (news, vault.building_index())))
    if isinstance(outcome, Failure):
        message = outcome.message + (hint if outcome.code == FILE_NOT_FOUND else "")
        message += f"\n\n{news}" if news else ""
        return form.failure(outcome.code, message, outcome.details)
    if news:
        outcome = _with_news(outcome, news)
    return form.result(outcome, description)


def _with_news(outcome: Outcome[Any], news: str) -> Outcome[Any]:
    """Return the outcome with a text at its end; also among its notices, because some clients show a model only the data."""
    data = outcome.data
    if isinstance(data.get("notices"), list):
        data = {**data, "notices": [*data["notices"], news]}
    return Outcome(outcome.texts, data, (*outcome.more, {"type": "text", "text": news}))


def run_asking(
    run: Callable[[Task], Answer], request: Request, give_up: Callable[[str, str], Answer], task: Task
) -> Answer:
    """Run work that may ask the client: by requests of ours, or by its result (2026-07-28).

    Raises ``Stopped``, and what only a bug raises.
    """
    try:
        return run_round(run, request, task) if request.revision.asks_in_results else run(task)
    except VaultError as error:
        return to_refusal(error, request)
    except CapabilityMissing as error:
        if not request.revision.asks_in_results:
            return give_up(CLIENT_CANNOT, f"{error}.")
        return Refusal(MISSING_CLIENT_CAPABILITY, str(error), {"requiredCapabilities": {error.capability: {}}})
