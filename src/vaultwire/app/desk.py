"""Composes the desk: which engine it uses for each vault, and what lists, decides and shows there. Opens no door."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from urllib.parse import urlsplit

from vaultwire.app.engine import load_policy, make_policy, open_vault
from vaultwire.config import Config
from vaultwire.desk.access import Access, desk_folder, new_code
from vaultwire.desk.http_endpoint import PATH, DeskEndpoint
from vaultwire.desk.running import Announcement, Running, find
from vaultwire.desk.vaults import DeskVaults
from vaultwire.vault.vault import Vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from vaultwire.review.glance.glance import Glance
    from vaultwire.review.reviewer import Reviewer


def make_desk(config: Config, get_vault: Callable[[str], Vault]) -> DeskEndpoint:
    """Return the desk of a run. ``get_vault`` returns the run's own engine of a vault, by the name that the run gives it."""
    return DeskEndpoint(desk_vaults(config, get_vault), Access(config.state))


def desk_vaults(config: Config, get_vault: Callable[[str], Vault]) -> DeskVaults:
    """Return the vaults as the person reviews them; ``get_vault`` as for ``make_desk``.

    The person sees all notes. If the policy hides some, the desk has engines of its own, without the rules for paths.
    """
    loaded = load_policy(config)
    get = get_vault
    if loaded is not None and loaded.paths is not None:
        whole = loaded._replace(paths=None)

        def get(name: str) -> Vault:
            return open_vault(config.for_vault(name), (), whole)

    openers = {name or os.path.basename(folder) or folder: partial(get, name) for name, folder in config.vaults.items()}
    read_only = make_policy(config, loaded).read_only
    return DeskVaults(openers, _make_reviewer, partial(_make_glance, config), read_only=read_only)


def _make_reviewer(vault: Vault) -> Reviewer:
    from vaultwire.review.reviewer import Reviewer  # noqa: PLC0415 - with the first page, not with every server

    return Reviewer(vault)


def _make_glance(config: Config, vault: Vault) -> Glance:
    from vaultwire.review.glance.glance import Glance  # noqa: PLC0415 - as above

    log = config.limits.audit
    if log is None:
        return Glance(vault)
    from vaultwire.trust.audit import records_since  # noqa: PLC0415 - as above

    def reads(since: datetime) -> Iterator[dict[str, Any]]:
        """Yield the records of this vault: where there are several, a call names its vault."""
        for record in records_since(log, since.timestamp()):
            arguments = record.get("arguments")
            named = arguments.get("vault") if isinstance(arguments, dict) else None
            if named == vault.name or (named is None and len(config.vaults) == 1):
                yield record

    return Glance(vault, reads)


def announce(config: Config, desk: DeskEndpoint, url: str, names: Sequence[str] = ()) -> Announcement:
    """Return what makes ``vaultwire desk`` find a server at this URL; ``names`` are the names that the person gave it."""
    running = Running(desk.access.server, _local_url(url, names), tuple(config.vaults.values()))
    return Announcement(desk_folder(config.state), running)


def new_link(config: Config) -> str | None:
    """Return a link that opens the desk of a running server once, None if none serves these vaults. Raises OSError."""
    running = find(desk_folder(config.state), list(config.vaults.values()))
    return None if running is None else link_to(config, running.server, running.url)


def is_served(config: Config) -> bool:
    """Tell whether the desk of a running server shows these vaults."""
    return find(desk_folder(config.state), list(config.vaults.values())) is not None


def link_to(config: Config, server: str, url: str) -> str:
    """Return a link that opens the desk of a server once, within ten minutes. Raises OSError."""
    return f"{url}{PATH}/enter?code={new_code(desk_folder(config.state), server)}"


def _local_url(url: str, names: Sequence[str]) -> str:
    """Return the URL by which a browser of this computer reaches a server. A certificate is for a name, not an address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" and names:
        host = names[0]
    elif host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "localhost" if parts.scheme == "https" else "127.0.0.1"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port}"
