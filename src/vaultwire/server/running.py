"""Calls on the thread that works on them: the tool is run, its questions get to the client, what went wrong is told.

Loaded with the tools. Which call is allowed and when it runs has been decided elsewhere.
"""

from __future__ import annotations

import functools

from vaultwire.protocol.revisions import MISSING_CLIENT_CAPABILITY
from vaultwire.server.answers import Refusal, to_refusal
from vaultwire.server.inputs import run_in_rounds
from vaultwire.tools.registry import CLIENT_CANNOT, CapabilityMissing, Failure, invoke
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.events import Request
    from vaultwire.server.answers import Answer
    from vaultwire.server.handlers import Handlers, ToolCall
    from vaultwire.tools.registry import Client


def run_tool(call: ToolCall, handlers: Handlers, client: Client) -> Answer:
    """Run a tool and answer its call. Raises what ``run_asking`` does."""
    return run_asking(functools.partial(_run, call, handlers), call.request, call.give_up, client)


def _run(call: ToolCall, handlers: Handlers, client: Client) -> Answer:
    name = call.name
    vault = handlers.vaults.used_by(call.request.peer, call.vault, name)
    outcome = invoke(handlers.toolset.tool(name), call.description, call.arguments, vault, client)
    if isinstance(outcome, Failure):
        message = outcome.message + (handlers.vaults.aside(call.vault) if outcome.code == FILE_NOT_FOUND else "")
        return call.wording.failure(outcome.code, message, outcome.details)
    return call.wording.result(outcome, call.description)


def run_asking(
    run: Callable[[Client], Answer], request: Request, give_up: Callable[[str, str], Answer], client: Client
) -> Answer:
    """Run work that may ask the client: while it waits, or with its result (2026-07-28).

    Raises only ``Stopped`` and what nobody foresaw.
    """
    try:
        if request.revision.asks_in_results:
            return run_in_rounds(run, client, request)
        return run(client)
    except VaultError as error:
        return to_refusal(error, request)
    except CapabilityMissing as error:
        if not request.revision.asks_in_results:
            return give_up(CLIENT_CANNOT, f"{error}.")
        return Refusal(MISSING_CLIENT_CAPABILITY, str(error), {"requiredCapabilities": {error.capability: {}}})
