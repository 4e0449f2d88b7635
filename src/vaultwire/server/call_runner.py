"""Runs a call on its worker thread: the tool, its questions to the client, its failure. Not whether and when it may run.

Loaded with the tools.
"""

from __future__ import annotations

import functools

from vaultwire.protocol.revisions import MISSING_CLIENT_CAPABILITY
from vaultwire.server.confirmation import run_confirmed
from vaultwire.server.multi_round_trip import run_round
from vaultwire.server.results import Refusal, to_refusal
from vaultwire.toolkit.registry import CLIENT_CANNOT, CapabilityMissing, Failure, invoke
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from vaultwire.protocol.events import Request
    from vaultwire.protocol.json_types import JsonObject
    from vaultwire.server.results import Answer, Wording
    from vaultwire.server.vaults import Vaults
    from vaultwire.toolkit.catalog import Toolset
    from vaultwire.toolkit.registry import Client

    class Call(Protocol):
        """A tool call (``handlers.ToolCall``)."""

        name: str
        request: Request
        vault: str
        description: dict[str, Any]
        arguments: JsonObject
        wording: Wording

        def give_up(self, code: str, message: str) -> Answer:
            """Return the answer for work that crashed or was not done in time."""


def run_tool(call: Call, vaults: Vaults, toolset: Toolset, client: Client) -> Answer:
    """Run a tool and answer its call. Raises what ``run_asking`` does."""
    return run_asking(functools.partial(_run, call, vaults, toolset), call.request, call.give_up, client)


def _run(call: Call, vaults: Vaults, toolset: Toolset, client: Client) -> Answer:
    name = call.name
    vault = vaults.used_by(call.request.peer, call.vault, name)
    run = functools.partial(invoke, toolset.tool(name), call.description, call.arguments, vault)
    outcome = run_confirmed(run, client, call.description, call.arguments)
    if isinstance(outcome, Failure):
        message = outcome.message + (vaults.hint(call.vault) if outcome.code == FILE_NOT_FOUND else "")
        return call.wording.failure(outcome.code, message, outcome.details)
    return call.wording.result(outcome, call.description)


def run_asking(
    run: Callable[[Client], Answer], request: Request, give_up: Callable[[str, str], Answer], client: Client
) -> Answer:
    """Run work that may ask the client: by requests of ours, or by its result (2026-07-28).

    Raises ``Stopped``, and what only a bug raises.
    """
    try:
        if request.revision.asks_in_results:
            return run_round(run, client, request)
        return run(client)
    except VaultError as error:
        return to_refusal(error, request)
    except CapabilityMissing as error:
        if not request.revision.asks_in_results:
            return give_up(CLIENT_CANNOT, f"{error}.")
        return Refusal(MISSING_CLIENT_CAPABILITY, str(error), {"requiredCapabilities": {error.capability: {}}})
