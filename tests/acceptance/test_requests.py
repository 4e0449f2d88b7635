"""What people ask for is done, in few calls and few tokens: the requests of ``make bench ARGS=--agents``, over stdio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.agents_command import missed_bounds, replay
from bench.agents_requests import REQUESTS

from support.forking import loaded, start

THREE_VAULTS = {"daily", "projects", "research"}


def forked(command: Sequence[str], *, env: Mapping[str, str], **streams: Any) -> Any:
    """Start ``python -m MODULE ARGUMENT...`` in a process that need not load the program."""
    return start(loaded(*command[2:]), (), env, **streams)


def test_requests_of_people_are_done_within_their_budgets() -> None:
    assert {request.vault for request in REQUESTS} == THREE_VAULTS
    assert missed_bounds([replay(request, forked) for request in REQUESTS]) == []
