"""Tells a session once what the person decided about its changes and proposals, with its next result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.decisions import Decision
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.words import brief

_MOST = 6_000
_HEAD = "What the person decided since your last call:"


def news_for(caller: Caller, holding: Holding) -> str:
    """Return what this session is to be told now, "" for nothing. One look at the log's size while nothing is decided."""
    log = holding.decisions
    try:
        end = log.end()
        if caller.told is None or caller.told > end:  # no decision is older than the session's first call
            caller.told = end
        if caller.told == end:
            return ""
        decisions, caller.told = log.since(caller.told)
    except OSError:
        return ""
    texts = _texts(_seen(caller, holding, [each for each in decisions if each.session == caller.session and each.text]))
    if not texts:
        return ""
    told = "\n".join(texts)
    if len(told) > _MOST:
        told = f"{told[:_MOST]}\n… (there is more: pending_changes lists all proposals, list_changes what was undone)"
    return f"{_HEAD}\n{told}"


def _seen(caller: Caller, holding: Holding, decisions: Sequence[Decision]) -> list[Decision]:
    """Return the decisions without what this session may not see: names of notes, and the person's text in differences."""
    try:
        may_tell = holding.may_tell(decisions)
    except (OSError, VaultError):
        may_tell = [False] * len(decisions)
    return [
        each if may and (caller.may_read_notes or not _quotes(each)) else each._replace(text=brief(each))
        for each, may in zip(decisions, may_tell, strict=True)
    ]


def _quotes(decision: Decision) -> bool:
    """Tell whether the text of a decision has lines of a note."""
    return decision.kind == "edited" or decision.hunk is not None


def _texts(decisions: Iterable[Decision]) -> list[str]:
    """Return what is told, without what a later decision repeats: a proposal is decided once."""
    found: dict[object, str] = {}
    for number, each in enumerate(decisions):
        found[number if each.proposal is None else ("proposal", each.proposal)] = each.text
    return list(found.values())
