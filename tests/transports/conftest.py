"""A stage of test tools that ask the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.asking import AskingStage


@pytest.fixture
def stage() -> Iterator[AskingStage]:
    made = AskingStage()
    yield made
    made.open_all()
