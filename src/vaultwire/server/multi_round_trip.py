"""Questions to a client that cannot be asked while it waits (2026-07-28, "Multi Round-Trip Requests").

The work is started again with each round of answers: what it asked before, it gets from the answers at once, and what it
asks for the first time ends the round. So a tool that asks reads the same in every revision. It must do nothing it cannot
do again before it has asked all it wants to know.

What a client answered in earlier rounds travels with it, signed; the server keeps only which rounds are open, so that each
is gone on with once, by whom it was begun. Loaded when somebody asks.
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
from vaultwire.server.client_proxy import ClientProxy
from vaultwire.server.results import Result
from vaultwire.toolkit.registry import Ask, Client, check_capabilities, is_answer
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.messages import Json, JsonObject
    from vaultwire.server.results import Answer

# Known to this process only: what it signed means nothing to the next one.
_KEY = os.urandom(32)
# A person may be asked several things and leave the desk in between; the vault may have changed by then.
_STATE_SECONDS = 900
_OURS = ("inputResponses", "requestState", "_meta")
# Rounds that wait for their client; beyond that the oldest is forgotten, and has to be begun anew.
_MOST_OPEN = 10_000
_NUMBER_BYTES = 16


class InputRequired(Exception):  # noqa: N818 - an answer, not a failure
    """The work cannot go on before the client has answered these."""

    def __init__(self, wanted: Mapping[str, Ask]) -> None:
        super().__init__(", ".join(wanted))
        self.wanted = wanted


class Rounds(ClientProxy):
    """A client whose questions are answered from earlier rounds."""

    __slots__ = ("_answers", "_capabilities")

    def __init__(self, client: Client, request: Request, answers: Mapping[str, Any]) -> None:
        super().__init__(client)
        self._answers = answers
        self._capabilities = request.capabilities

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the request says that its client can do: it can always be asked with the result."""
        return self._capabilities

    def ask(self, wanted: Mapping[str, Ask]) -> dict[str, JsonObject]:
        """Return the client's answers. Raises InputRequired while some are missing, and CapabilityMissing."""
        check_capabilities(wanted, self.capabilities)
        missing = {key: ask for key, ask in wanted.items() if not is_answer(ask, self._answers.get(key))}
        if missing:
            raise InputRequired(missing)
        return {key: self._answers[key] for key in wanted}


def run_round(run: Callable[[Client], Answer], client: Client, request: Request) -> Answer:
    """Run the work with all answers given so far. Raises VaultError for a state that does not count, and as ``Client.ask``."""
    answers = _answers_of(request)
    try:
        return run(Rounds(client, request, answers))
    except InputRequired as required:
        asked = {key: {"method": ask.method, "params": ask.params} for key, ask in required.wanted.items()}
        state = _seal_state(request, answers, list(asked))
        return Result({"resultType": "input_required", "inputRequests": asked, "requestState": state})


def _answers_of(request: Request) -> dict[str, Any]:
    if "requestState" not in request.params and "inputResponses" not in request.params:
        return {}
    state, given = request.params.get("requestState"), request.params.get("inputResponses", {})
    if not isinstance(given, dict):
        raise VaultError(INVALID_ARGUMENTS, "inputResponses must be an object")
    if state is None:
        return given  # a client may know what will be asked; the state vouches for earlier rounds only
    answers, asked = _open_state(state, request)
    return {**answers, **{key: value for key, value in given.items() if key in asked}}


class _Open:
    """The rounds that are open: their numbers, in the order in which they began."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[bytes, float] = {}

    def begin(self) -> tuple[bytes, int]:
        """Return the number of a new round, and when it ends."""
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
    """Return the answers of earlier rounds and what was asked in the last. Raises VaultError."""
    message = "requestState: not as this server gave it out for this request; send the request anew without it"
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
        raise VaultError(INVALID_ARGUMENTS, "requestState: too old; send the request anew without it")
    if not _open.end(bytes.fromhex(number)):
        used = "requestState: used already, or too many were given out since; send the request anew without it"
        raise VaultError(INVALID_ARGUMENTS, used)
    return answers, asked


def _sign(content: bytes) -> bytes:
    return hmac.digest(_KEY, content, "sha256")


def _digest(request: Request) -> str:
    """Return what tells this request from others: who asks, the method and all it was called with."""
    params = {key: value for key, value in request.params.items() if key not in _OURS}
    told = json.dumps([request.peer.principal, request.method, params], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()
