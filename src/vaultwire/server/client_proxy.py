"""A client as the work on a call sees it, with some of its answers given by others. The base of what stands in between."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from vaultwire.toolkit.registry import Ask, Client
from vaultwire.vault.value_types import Confirmation


class ClientProxy:
    """Hands everything on to a client."""

    __slots__ = ("_client",)

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """As the client's."""
        return self._client.capabilities

    def check(self) -> None:
        """As the client's."""
        self._client.check()

    def report(self, done: int, total: int, message: str) -> None:
        """As the client's."""
        self._client.report(done, total, message)

    def confirm(self, question: Confirmation) -> None:
        """As the client's."""
        self._client.confirm(question)

    def log(self, level: str, data: Any, logger: str = "vaultwire.tools") -> None:
        """As the client's."""
        self._client.log(level, data, logger)

    def ask(self, wanted: Mapping[str, Ask]) -> dict[str, dict[str, Any]]:
        """As the client's."""
        return self._client.ask(wanted)

    def tools(self) -> Sequence[dict[str, Any]]:
        """As the client's."""
        return self._client.tools()

    def listed(self) -> Collection[str]:
        """As the client's."""
        return self._client.listed()

    def hang_up(self) -> None:
        """As the client's."""
        self._client.hang_up()
