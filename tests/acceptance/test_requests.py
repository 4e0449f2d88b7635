"""What people ask for is done, in few calls and few tokens: the requests of ``make bench ARGS=--agents``, over stdio."""

from __future__ import annotations

from bench.agents_command import missed_bounds, replay
from bench.agents_requests import REQUESTS

THREE_VAULTS = {"daily", "projects", "research"}


def test_requests_of_people_are_done_within_their_budgets() -> None:
    assert {request.vault for request in REQUESTS} == THREE_VAULTS
    assert missed_bounds([replay(request) for request in REQUESTS]) == []
