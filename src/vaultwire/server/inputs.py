"""Questions to a client that cannot be asked while it waits (2026-07-28, "Multi Round-Trip Requests").

The work is started again with each round of answers: what it asked before, it gets from the answers at once, and what it
asks for the first time ends the round. So a tool that asks reads the same in every revision. It must do nothing it cannot
do again before it has asked all it wants to know.

What a client answered in earlier rounds travels with it, signed: the server keeps nothing. Loaded when somebody asks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from vaultwire.protocol.events import Request
from vaultwire.server.handlers import Result
from vaultwire.tools.registry import Ask, Client, check_capabilities, is_answer
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.messages import Json, JsonObject
    from vaultwire.server.handlers import Answer

# Known to this process only: what it signed means nothing to the next one.
_KEY = os.urandom(32)
# A person may be asked several things and leave the desk in between; the vault may have changed by then.
_STATE_SECONDS = 900
_OURS = ("inputResponses", "requestState", "_meta")


class InputRequired(Exception):  # noqa: N818 - an answer, not a failure
    """The work cannot go on before the client has answered these."""

    def __init__(self, wanted: Mapping[str, Ask]) -> None:
        super().__init__(", ".join(wanted))
        self.wanted = wanted


class Rounds:
    """What the work of one request sees of its client: all as ever, but questions are answered from earlier rounds."""

    def __init__(self, client: Client, request: Request, answers: Mapping[str, Any]) -> None:
        self._client = client
        self._answers = answers
        self.capabilities = request.capabilities
        self.check, self.report, self.log, self.hang_up = client.check, client.report, client.log, client.hang_up

    def ask(self, wanted: Mapping[str, Ask]) -> dict[str, JsonObject]:
        """Return the client's answers. Raises InputRequired while some are missing, and CapabilityMissing."""
        check_capabilities(wanted, self.capabilities)
        missing = {key: ask for key, ask in wanted.items() if not is_answer(ask, self._answers.get(key))}
        if missing:
            raise InputRequired(missing)
        return {key: self._answers[key] for key in wanted}


def run_in_rounds(run: Callable[[Client], Answer], client: Client, request: Request) -> Answer:
    """Run the work with all answers given so far. Raises VaultError for a state that is not ours, and as ``Client.ask``."""
    answers = _answers_of(request)
    try:
        return run(Rounds(client, request, answers))
    except InputRequired as required:
        asked = {key: {"method": ask.method, "params": ask.params} for key, ask in required.wanted.items()}
        state = _seal_state(request, answers, list(asked))
        return Result({"resultType": "input_required", "inputRequests": asked, "requestState": state})


def _answers_of(request: Request) -> dict[str, Any]:
    state, given = request.params.get("requestState"), request.params.get("inputResponses", {})
    if not isinstance(given, dict):
        raise VaultError(INVALID_ARGUMENTS, "inputResponses must be an object")
    if state is None:
        return given  # a client may know what will be asked; the state vouches for earlier rounds only
    answers, asked = _open_state(state, request)
    return {**answers, **{key: value for key, value in given.items() if key in asked}}


def _seal_state(request: Request, answers: Mapping[str, Any], asked: list[str]) -> str:
    content = json.dumps([int(time.time()) + _STATE_SECONDS, _digest(request), dict(answers), asked]).encode()
    return base64.urlsafe_b64encode(_sign(content) + content).decode("ascii")


def _open_state(state: Json, request: Request) -> tuple[dict[str, Any], list[str]]:
    message = "requestState: not as this server gave it out for this request; send the request anew without it"
    try:
        sealed = base64.b64decode(state, altchars=b"-_", validate=True)
    except (TypeError, ValueError):
        raise VaultError(INVALID_ARGUMENTS, message) from None
    signature, content = sealed[:32], sealed[32:]
    if not hmac.compare_digest(signature, _sign(content)):
        raise VaultError(INVALID_ARGUMENTS, message)
    until, digest, answers, asked = json.loads(content)
    if digest != _digest(request):
        raise VaultError(INVALID_ARGUMENTS, message)
    if time.time() > until:
        raise VaultError(INVALID_ARGUMENTS, "requestState: too old; send the request anew without it")
    return answers, asked


def _sign(content: bytes) -> bytes:
    return hmac.digest(_KEY, content, "sha256")


def _digest(request: Request) -> str:
    """Return what tells this request from others: the method and all it was called with."""
    params = {key: value for key, value in request.params.items() if key not in _OURS}
    return hashlib.sha256(json.dumps([request.method, params], sort_keys=True).encode()).hexdigest()
