"""Each request of the cookbook is one that ``tests/acceptance/test_requests.py`` makes, with the tools that the page names."""

from __future__ import annotations

import re
from pathlib import Path

from bench.agents_requests import REQUESTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cookbook.md"


def test_the_cookbook_tells_what_is_tested() -> None:
    text = PAGE.read_text(encoding="utf-8")
    told = {
        wish: re.findall(r"`(\w+)`", calls)
        for wish, calls in re.findall(r'^### "(.+)"\n\nCalls: (.+)$', text, re.MULTILINE)
    }
    tested = {request.wish: list(dict.fromkeys(tool for tool, _ in request.calls)) for request in REQUESTS}
    assert len(told) == text.count("\n### ") == 20
    for wish, tools in told.items():
        assert tools == tested.get(wish), wish
