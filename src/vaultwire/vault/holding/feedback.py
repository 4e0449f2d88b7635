"""Tells a session once what the person decided about its changes and proposals, with its next result."""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.vault.caller import Caller
from vaultwire.vault.holding.decisions import Decision, DecisionLog

_MOST = 6_000
_HEAD = "What the person decided since your last call:"


def news_for(caller: Caller, log: DecisionLog) -> str:
    """Return what this session is to be told now, "" for nothing. One look at the log's size while nothing is decided."""
    try:
        end = log.end()
        if caller.told is None or caller.told > end:  # no decision is older than the session's first call
            caller.told = end
        if caller.told == end:
            return ""
        decisions, caller.told = log.since(caller.told)
    except OSError:
        return ""
    texts = _texts(each for each in decisions if each.session == caller.session and each.text)
    if not texts:
        return ""
    told = "\n".join(texts)
    if len(told) > _MOST:
        told = f"{told[:_MOST]}\n… (there is more: pending_changes lists all proposals, list_changes what was undone)"
    return f"{_HEAD}\n{told}"


def _texts(decisions: Iterable[Decision]) -> list[str]:
    """Return what is told, without what a later decision repeats: a proposal is decided once."""
    found: dict[object, str] = {}
    for number, each in enumerate(decisions):
        found[number if each.proposal is None else ("proposal", each.proposal)] = each.text
    return list(found.values())
