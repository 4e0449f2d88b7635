"""A new tool is one file: its declaration says all that the catalog, the lists and the page of tools need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.pages.schema import declared_tools, describe
from scripts.pages.tools_page import page_text

from support.toolsets import toolset_of
from support.vaults import open_vault
from vaultwire import tools
from vaultwire.app.engine import make_outside
from vaultwire.protocol.dialects import MCP
from vaultwire.protocol.events import Peer
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.catalog import ToolSelection, load_catalog
from vaultwire.toolkit.registry import Outcome, invoke, load_tool
from vaultwire.trust.policy import Policy
from vaultwire.vault.value_types import NO_PROGRESS

TRIAL = '''
from typing import Annotated, TypedDict

from vaultwire.toolkit.registry import Name, Outcome, tool
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Greeted(TypedDict):
    """What was said."""

    text: Annotated[str, "The greeting"]


@tool(title="Greet", category="read", listed="standard", read_only=True, rare=("loud",), plain=("name",))
def trial_greeting(_vault: Vault, _progress: Progress, /, name: Name, loud: bool = False) -> Outcome[Greeted]:
    """Greet somebody.

    Args:
        name: Whom.
        loud: Louder.
    """
    text = f"Hello {name}" + ("!" if loud else "")
    return Outcome([text], Greeted(text=text))
'''


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a module with the tool beside the others."""
    (tmp_path / "trial.py").write_text(TRIAL)
    monkeypatch.setattr(tools, "__path__", [*tools.__path__, str(tmp_path)])
    yield
    sys.modules.pop("vaultwire.tools.trial", None)
    vars(tools).pop("trial", None)


@pytest.mark.usefixtures("trial")
def test_a_tool_in_a_file_of_its_own_is_described_listed_and_called(tmp_path: Path) -> None:
    declared = declared_tools(tools, make_outside())
    described = [describe(each) for each in declared]
    names = [each["name"] for each in described]
    place = names.index("trial_greeting")
    assert names[:place] + names[place + 1 :] == [each["name"] for each in load_catalog()]
    assert [each["category"] for each in described[place - 1 : place + 1]] == ["read", "read"]

    vault = open_vault(tmp_path)
    served = Handlers(toolset_of(declared), lambda: vault, Policy(), lists=ToolSelection().lists)
    assert "trial_greeting" in served.listed_to(Peer())
    (trial,) = (each for each in described if each["name"] == "trial_greeting")
    outcome = invoke(load_tool(trial, make_outside()), trial, {"name": "Ana", "loud": True}, vault, NO_PROGRESS)
    assert isinstance(outcome, Outcome)
    assert outcome.texts == ["Hello Ana!"]
    assert MCP.list_name("trial_greeting") in page_text(described)
