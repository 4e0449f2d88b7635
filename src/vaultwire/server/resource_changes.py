"""Tells subscribers which notes have changed, and that some came or went, whichever program did it. Not who subscribed.

The index's watch loop reports where to look, and calls on its own thread. This module decides what subscribers are told: a
note is reported if its file differs from the last look, and only if this run may see it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable

from vaultwire.server.subscriptions import RESOURCE_LIST, RESOURCE_UPDATES, Subscriptions
from vaultwire.tools.base_views import split_view, view_page
from vaultwire.tools.resources import path_of
from vaultwire.vault.disk.paths import fold, lies_in
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress, Progress, VaultPath
from vaultwire.vault.vault import Vault

# A view is run again for each report of changes.
_MOST_VIEWS = 20
_MOST_SECONDS = 2.0


class ResourceChanges:
    """The changes of one vault's notes and attachments, as subscribers hear of them."""

    def __init__(self, vault: Vault, subscriptions: Subscriptions) -> None:
        self._vault = vault
        self._subscriptions = subscriptions
        self._listing: Hashable | None = None  # None before the first report
        self._seen: dict[str, Hashable] = {}  # by the path that a subscriber gave

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
        views = sorted(path for path in watched if split_view(path) is not None)
        patience = _Patience()
        for path, uris in watched.items():
            folded = fold(path)
            is_meant = folded in folded_paths or any(not each or lies_in(folded, each) for each in folded_folders)
            if path in views:  # any note may come into a view, or go
                is_meant = path in views[:_MOST_VIEWS]
            if is_meant and self._has_changed(path, patience) and not is_first:
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

    def _has_changed(self, path: str, patience: Progress) -> bool:
        """Tell whether the file differs from the last look, and look at it."""
        now, before = self._look_at(path, patience), self._seen.get(path)
        is_new = path not in self._seen
        self._seen[path] = now
        if is_new and isinstance(now, int):  # the rows before are not known: a change of a hidden note must not be told
            return not self._vault.hides_some
        # No look since it was subscribed to: a file that seems missing may be one that this run must not see.
        if is_new:
            return now is not None or not self._vault.hides_some
        return now != before

    def _look_at(self, path: str, patience: Progress) -> Hashable:
        """Return what tells this state of a file, or of the rows of a view, from another; None if it is not there.

        A view that takes too long counts as it was.
        """
        found = self._vault.look_at(path)
        named = None if found is not None else split_view(path)
        if named is None:
            return found
        try:
            return hash(view_page(self._vault, VaultPath(named[0]), named[1], patience))
        except VaultError:
            return None
        except Stopped:
            return self._seen.get(path)


class _Patience(NoProgress):
    """Ends the work on the views of one report when it has taken too long: the index waits meanwhile."""

    def __init__(self) -> None:
        self._end = time.monotonic() + _MOST_SECONDS

    def check(self) -> None:
        """Raise ``Stopped`` after the last second."""
        if time.monotonic() > self._end:
            raise Stopped
