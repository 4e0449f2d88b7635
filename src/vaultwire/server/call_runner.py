"""Runs a call on its worker thread: the tool, its questions to the client, its failure. Not whether and when it may run.

Loaded with the tools.
"""

from __future__ import annotations

from vaultwire.protocol.revisions import MISSING_CLIENT_CAPABILITY
from vaultwire.server.confirmation import run_confirmed
from vaultwire.server.multi_round_trip import run_round
from vaultwire.server.results import Refusal, to_refusal
from vaultwire.toolkit.registry import CLIENT_CANNOT, CapabilityMissing, Failure, Outcome, invoke
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.holding.feedback import news_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.events import Request
    from vaultwire.protocol.json_types import JsonObject
    from vaultwire.server.results import Answer, Wording
    from vaultwire.toolkit.registry import AnyTool, Client
    from vaultwire.vault.vault import Vault


def run_tool(
    tool: AnyTool,
    description: dict[str, Any],
    arguments: JsonObject,
    vault: Vault,
    wording: Wording,
    hint: str,
    client: Client,
) -> Answer:
    """Run a tool and return its answer. ``hint`` ends the message for a file that is not there."""
    caller = vault.caller

    def run(client: Client) -> Outcome[Any] | Failure:
        answer = invoke(tool, description, arguments, vault, client, is_strict=wording.is_strict)
        if caller.may_read_notes:
            return answer
        from vaultwire.tools.changes import without_text  # noqa: PLC0415 - loads the code that changes notes

        return without_text(answer, description)

    outcome = run_confirmed(run, client, description, arguments)
    news = "" if caller.is_person else news_for(caller, vault.holding)
    news = "\n".join(filter(None, (news, vault.building_index())))
    if isinstance(outcome, Failure):
        message = outcome.message + (hint if outcome.code == FILE_NOT_FOUND else "")
        message += f"\n\n{news}" if news else ""
        return wording.failure(outcome.code, message, outcome.details)
    if news:
        outcome = _with_news(outcome, news)
    return wording.result(outcome, description)


def _with_news(outcome: Outcome[Any], news: str) -> Outcome[Any]:
    """Return the outcome with a text at its end; also among its notices, because some clients show a model only the data."""
    data = outcome.data
    if isinstance(data.get("notices"), list):
        data = {**data, "notices": [*data["notices"], news]}
    return Outcome(outcome.texts, data, (*outcome.more, {"type": "text", "text": news}))


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
