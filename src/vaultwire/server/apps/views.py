"""The views as ``handlers`` uses them: entries of tools, what a result carries, and the pages as resources."""

from __future__ import annotations

from vaultwire.server.apps.extension import DATA, has_apps, listed_meta, view_in, view_of
from vaultwire.server.results import POLICY_DENIED, READING
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.apps.view_data import ViewData
    from vaultwire.server.vaults import Vaults

__all__ = ("Views", "has_apps")

_PAGE_TTL_MS = 3_600_000  # a page changes only with the program


class Views:
    """The views of one server. Safe to call from several threads."""

    def __init__(
        self, vaults: Vaults, describe: Callable[[str], object], may_read_by: Callable[[str, Request], bool]
    ) -> None:
        """``describe`` returns None for a tool that this run does not have.

        ``may_read_by`` tells whether the client of a request may call a tool that reads.
        """
        self._vaults = vaults
        self._describe = describe
        self._may_read_by = may_read_by
        self._data: ViewData | None = None

    def listed(self, tools: Sequence[JsonObject], descriptions: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
        """Return the entries of ``tools/list`` with the views of the tools."""
        return [tool | listed_meta(description) for tool, description in zip(tools, descriptions, strict=True)]

    def shown_by(
        self, description: Mapping[str, Any], vault: str, arguments: Mapping[str, Any], request: Request
    ) -> Callable[[Mapping[str, Any]], JsonObject] | None:
        """Return the function that makes of a tool's data what ``_meta`` has for its view; None if the tool has none."""
        view = view_of(description)
        if view is None:
            return None

        def make(data: Mapping[str, Any]) -> JsonObject:
            if self._data is None:  # two threads may make one each; they are equal
                from vaultwire.server.apps.view_data import ViewData  # noqa: PLC0415 - with the first result that is shown

                self._data = ViewData(self._vaults)
            shown = self._data.of(view, vault, arguments, data, lambda tool: self._may(tool, request))
            return {} if shown is None else {DATA: shown}

        return make

    def _may(self, tool: str, request: Request) -> bool:
        return self._describe(tool) is not None and self._may_read_by(tool, request)

    def page(self, request: Request) -> JsonObject | None:
        """Return the result for a request that reads the page of a view, None for another. Raises VaultError.

        A page holds no note. It is there for who may read notes, as every resource is.
        """
        view = view_in(request.params.get("uri")) if request.method == "resources/read" else None
        if view is None:
            return None
        if not self._may(READING, request):
            refused = f"The policy of this server does not allow {READING}, so it does not allow resources/read here."
            raise VaultError(POLICY_DENIED, refused)
        from vaultwire.server.apps.pages import contents_of  # noqa: PLC0415 - with the first page
        from vaultwire.server.features.one_vault import caching  # noqa: PLC0415

        contents = contents_of(view, request.params["uri"])
        return {"contents": [contents], **caching(request.revision, _PAGE_TTL_MS)}
