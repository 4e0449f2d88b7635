"""The catalog of a server's tools: their descriptions, and their code, which is loaded when it is needed.

The descriptions of our own tools are generated ahead of time (``catalog.json``; a test compares it with the code). So the
handshake and ``tools/list`` are answered before the code is loaded.
"""

from __future__ import annotations

import json
import os
from functools import cached_property

from vaultwire.toolkit.lean import VAULT
from vaultwire.toolkit.tool_sets import OUTSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vaultwire.toolkit.registry import AnyTool, Description

CATALOG = os.path.join(os.path.dirname(__file__), "catalog.json")
APP_CATALOG = os.path.join(os.path.dirname(__file__), "app_catalog.json")
EVAL = "obsidian_eval"
"""The tool that can do everything the app can: offered only where the person's rules name it."""


def load_catalog(place: str = CATALOG) -> list[Description]:
    """Return the descriptions of our own tools; with ``APP_CATALOG`` those of the ``obsidian_*`` family."""
    with open(place, encoding="utf-8") as file:
        catalog: list[Description] = json.load(file)
    return catalog


class Toolset:
    """The tools of one server: descriptions and code, each loaded on first use."""

    def __init__(
        self,
        load_descriptions: Callable[[], Sequence[Description]],
        load_tools: Callable[[], Sequence[AnyTool]],
        load_first: Callable[[], Sequence[AnyTool]] = tuple,
    ) -> None:
        """Take loaders. ``load_first`` loads some of the tools, ``load_tools`` all, with the first call of another one."""
        self._load_descriptions = load_descriptions
        self._load_tools = load_tools
        self._load_first = load_first

    def over(self, vaults: Sequence[str]) -> Toolset:
        """Return the tools for these vaults. If there are several, each tool takes a vault's name, which ``Vaults`` reads."""
        if len(vaults) == 1:
            return self
        return Toolset(
            lambda: [_with_vault(each, vaults) for each in self.descriptions.values()],
            self._load_tools,
            self._load_first,
        )

    @cached_property
    def descriptions(self) -> dict[str, Description]:
        """Every tool's description by its name, in the order in which they are listed."""
        return {description["name"]: description for description in self._load_descriptions()}

    def describe(self, name: str) -> Description | None:
        """Return a tool's description; None if there is no such tool."""
        return self.descriptions.get(name)

    def tool(self, name: str) -> AnyTool:
        """Return a tool's code."""
        return self.tools[name]

    @cached_property
    def tools(self) -> dict[str, AnyTool]:
        """The code of each tool by its name: for look-ups only, since not all may be loaded yet."""
        return _Code(self._load_tools, self._load_first())


class _Code(dict["str", "AnyTool"]):
    """Tools by name. A look-up of a missing one loads all."""

    def __init__(self, load: Callable[[], Sequence[AnyTool]], first: Sequence[AnyTool]) -> None:
        super().__init__({tool.name: tool for tool in first})
        self._load = load

    def __missing__(self, name: str) -> AnyTool:
        loaded = {tool.name: tool for tool in self._load()}
        self.update(loaded)
        return loaded[name]


def _with_vault(description: Description, vaults: Sequence[str]) -> Description:
    if description["name"] in OUTSIDE:
        return description
    schema = description["inputSchema"]
    vault: Description = {"type": "string", "enum": list(vaults)}
    if "change" in schema["properties"] or "changes" in schema["properties"]:
        vault["description"] = "Which vault. Needed with the number of a change, because each vault counts its own."
    else:
        vault |= {"description": VAULT, "default": vaults[0]}
    return {**description, "inputSchema": {**schema, "properties": {**schema["properties"], "vault": vault}}}
