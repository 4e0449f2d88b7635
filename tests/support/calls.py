"""Calls of real tools by name, with the checks that apply to every result."""

from __future__ import annotations

import json
from typing import Any

from scripts.pages.schema import declared_tools

from support.schemas import hold_to
from vaultwire import tools
from vaultwire.app.engine import make_outside
from vaultwire.obsidian.command import Backend
from vaultwire.toolkit.arguments import read_arguments
from vaultwire.toolkit.catalog import APP_CATALOG, load_catalog
from vaultwire.toolkit.registry import AnyTool, Failure, Outcome, invoke
from vaultwire.tools.obsidian_cli.family import make_family
from vaultwire.vault.value_types import NO_PROGRESS, Progress
from vaultwire.vault.vault import Vault


def load_tools() -> list[AnyTool]:
    """Return our own tools in the order of the list."""
    return declared_tools(tools, make_outside())


TOOLS = {tool.name: tool for tool in load_tools()}
DESCRIPTIONS = {description["name"]: description for description in load_catalog()}
# With the tools that do as the app, on the files.
_ALL = {**TOOLS, **{tool.name: tool for tool in make_family(Backend)}}
_ALL_DESCRIPTIONS = {**DESCRIPTIONS, **{description["name"]: description for description in load_catalog(APP_CATALOG)}}


def attempt(vault: Vault, tool: str, progress: Progress = NO_PROGRESS, **arguments: Any) -> Outcome[Any] | Failure:
    """Call a tool and return its result. The arguments are read as those of a client are."""
    read, _ = read_arguments(_ALL_DESCRIPTIONS[tool]["inputSchema"], arguments)
    return invoke(_ALL[tool], _ALL_DESCRIPTIONS[tool], read, vault, progress)


def call(vault: Vault, tool: str, **arguments: Any) -> Outcome[Any]:
    """Call a tool that must succeed, and check its result as all results are checked."""
    outcome = attempt(vault, tool, **arguments)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, _ALL_DESCRIPTIONS[tool]["outputSchema"])
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
