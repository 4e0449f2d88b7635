"""Server features other than tools: resources, prompts and completions. Not loaded before the first answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.protocol.revisions import Revision
    from vaultwire.toolkit.registry import Client


class Features(Protocol):
    """The features of one vault, or of several."""

    def answer(self, method: str, params: JsonObject, revision: Revision, client: Client) -> JsonObject:
        """Return the result of a request. Raises VaultError, ``Stopped``, and what only a bug raises."""
