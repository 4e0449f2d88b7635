"""Questions to the client in 2026-07-28 ("Multi Round-Trip Requests"): in the result, not while the call waits.

The work runs again with each round of answers. A question that was answered before returns its answer at once, the first
question without an answer ends the round. So a tool that asks is written the same way for every revision. Before its last
question it must change nothing.

The client sends the answers of earlier rounds back, signed by us. The server remembers only which rounds are open, so that
each is used once, by the client that began it.
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
from vaultwire.server.results import Result
from vaultwire.server.tasks import InputRequired, Task
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import Json
    from vaultwire.server.results import Answer

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
    state, given = request.params.get("requestState"), request.params.get("inputResponses", {})
    if not isinstance(given, dict):
        raise VaultError(INVALID_ARGUMENTS, "inputResponses must be an object")
    if state is None:
        return given  # a client may know the questions beforehand; the state only holds earlier rounds
    answers, asked = _open_state(state, request)
    return {**answers, **{key: value for key, value in given.items() if key in asked}}


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
