"""Tells subscribers which notes have changed, and that some came or went, whichever program did it. Not who subscribed.

The index's watch loop reports where to look, and calls on its own thread. This module decides what subscribers are told: a
note is reported if its file differs from the last look, and only if this run may see it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

from vaultwire.server.subscriptions import RESOURCE_LIST, RESOURCE_UPDATES, Subscriptions
from vaultwire.tools.resources import path_of
from vaultwire.vault.disk.paths import fold, lies_in
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat
from vaultwire.vault.vault import Vault


class ResourceChanges:
    """The changes of one vault's notes and attachments, as subscribers hear of them."""

    def __init__(self, vault: Vault, subscriptions: Subscriptions) -> None:
        self._vault = vault
        self._subscriptions = subscriptions
        self._listing: Hashable | None = None  # None before the first report
        self._seen: dict[str, NoteStat | None] = {}  # by the path that a subscriber gave

    def report(self, paths: Collection[str], folders: Collection[str]) -> None:
        """Tell subscribers what has changed of these files, and below these folders; ``""`` is the whole vault."""
        listing = self._vault.listing_version(NO_PROGRESS)
        is_first = self._listing is None
        if not is_first and listing != self._listing:
            self._subscriptions.publish(RESOURCE_LIST)
        self._listing = listing
        watched = self._watched()
        self._seen = {path: stat for path, stat in self._seen.items() if path in watched}
        folded_paths, folded_folders = set(map(fold, paths)), list(map(fold, folders))
        for path, uris in watched.items():
            folded = fold(path)
            is_meant = folded in folded_paths or any(not each or lies_in(folded, each) for each in folded_folders)
            if is_meant and self._has_changed(path) and not is_first:
                for uri in uris:
                    self._subscriptions.publish(RESOURCE_UPDATES, uri)

    def _watched(self) -> dict[str, list[str]]:
        """Return the paths that somebody subscribed to, each with its URIs: one path may be encoded in several ways."""
        watched: dict[str, list[str]] = {}
        for uri in self._subscriptions.watched():
            try:
                watched.setdefault(path_of(self._vault, uri), []).append(uri)
            except VaultError:  # of another vault, or of none
                continue
        return watched

    def _has_changed(self, path: str) -> bool:
        """Tell whether the file differs from the last look, and look at it."""
        now, before = self._vault.look_at(path), self._seen.get(path)
        is_new = path not in self._seen
        self._seen[path] = now
        if (
            is_new
        ):  # no look since it was subscribed to; a file that seems missing may be one that this run must not see
            return now is not None or not self._vault.hides_some
        return now != before
