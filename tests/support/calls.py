"""Calls of real tools by name, with the checks that apply to every result."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from vaultwire.app.engine import load_tools
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.vault.value_types import NO_PROGRESS, Progress
from vaultwire.vault.vault import Vault

TOOLS = {tool.name: tool for tool in load_tools()}
DESCRIPTIONS = {description["name"]: description for description in load_catalog()}


def attempt(vault: Vault, tool: str, progress: Progress = NO_PROGRESS, **arguments: Any) -> Outcome[Any] | Failure:
    """Call a tool and return its result."""
    return invoke(TOOLS[tool], DESCRIPTIONS[tool], arguments, vault, progress)


def call(vault: Vault, tool: str, **arguments: Any) -> Outcome[Any]:
    """Call a tool that must succeed, and check its result as all results are checked."""
    outcome = attempt(vault, tool, **arguments)
    assert isinstance(outcome, Outcome), outcome
    jsonschema.validate(outcome.data, DESCRIPTIONS[tool]["outputSchema"])
    assert json.loads(json.dumps(outcome.data)) == outcome.data
    assert outcome.texts
    for text in outcome.texts:
        assert text.strip()  # a model's API refuses a block that says nothing
        assert not text.startswith(("{", "["))
    return outcome


def refusal(vault: Vault, tool: str, **arguments: Any) -> tuple[str, str]:
    """Call a tool that must fail and return code and message."""
    outcome = attempt(vault, tool, **arguments)
    assert isinstance(outcome, Failure), outcome
    return outcome.code, outcome.message
