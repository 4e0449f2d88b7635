"""Tells a session once what the person decided about its changes and proposals, with its next result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.decisions import Decision, DecisionLog
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.own_proposals import is_of
from vaultwire.vault.holding.words import brief

_MOST = 6_000
# What was decided longer ago is not told to a client that comes again: it would not know any more what is meant.
_RECENT_NS = 30 * 86_400 * 1_000_000_000
_HEAD = "What the person decided since your last call:"


def expect_news(caller: Caller, holding: Holding) -> None:
    """Have a session told from now on what the person decides. Called before its first change or proposal is made."""
    if caller.told is None and not caller.lasting:
        try:
            caller.told = holding.decisions.end()
        except OSError:  # then all of the log is read once; no decision in it concerns a new session
            caller.told = 0


def news_for(caller: Caller, holding: Holding) -> str:
    """Return what this session is to be told now, "" for nothing. One look at the log's size while nothing is decided.

    No look for a session that has changed nothing: there is nothing to decide, and the file would be asked in each call.
    """
    if caller.told is None and not caller.lasting:
        return ""
    log = holding.decisions
    try:
        end = log.end()
        if caller.told is None:
            caller.told = _told_before(caller, log)
        caller.told = min(caller.told, end)  # somebody may have removed the log
        if caller.told == end:
            return ""
        decisions, caller.told = log.since(caller.told)
    except OSError:
        return ""
    oldest = time.time_ns() - _RECENT_NS
    recent = [each for each in decisions if each.text and each.kind != "told" and each.time_ns >= oldest]
    concerning = [each for each in recent if is_of(each, caller)]
    texts = _texts(_seen(caller, holding, concerning))
    if not texts:
        return ""
    if caller.lasting:
        _keep(caller, log)
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


def _told_before(caller: Caller, log: DecisionLog) -> int:
    """Return the position up to which a client was told before this program started. Raises OSError."""
    for each in reversed(log.all()):
        if each.kind == "told" and is_of(each, caller):
            return int(each.text) if each.text.isdecimal() else 0
    return 0


def _keep(caller: Caller, log: DecisionLog) -> None:
    """Keep on disk what the client was told, so that it is not told again after a restart."""
    try:
        log.add(Decision("told", caller.session, caller.client, text=str(caller.told)))
    except OSError:  # a full disk: it is told twice
        pass


def _texts(decisions: Iterable[Decision]) -> list[str]:
    """Return what is told, without what a later decision repeats: a proposal is decided once."""
    found: dict[object, str] = {}
    for number, each in enumerate(decisions):
        found[number if each.proposal is None else ("proposal", each.proposal)] = each.text
    return list(found.values())
