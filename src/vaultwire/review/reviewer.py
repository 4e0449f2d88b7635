"""The façade of the room: what the desk shows and does with one vault, in plain dicts. Safe to call from several threads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from vaultwire.review.deciding import Deciding
from vaultwire.review.details import Details
from vaultwire.review.entries import Entry
from vaultwire.review.timeline import Filters, Timeline
from vaultwire.review.undoing import Undoing
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.vault import Vault


class Reviewer:
    """The desk of one vault. All methods raise VaultError for wrong input, and change nothing then."""

    def __init__(self, vault: Vault) -> None:
        """``vault``: as the person uses it, with a caller that ``is_person``."""
        self._vault = vault
        self._timeline = Timeline(vault)
        self._undoing = Undoing(vault, self._timeline)
        self._details = Details(vault, self._timeline, self._undoing)
        self._deciding = Deciding(vault, self._timeline, self._undoing)

    def stamp(self) -> Hashable:
        """Return a value that differs once the list may differ. Cheap: a few looks at the disk."""
        return self._timeline.stamp()

    def counts(self) -> dict[str, int]:
        """Return ``waiting`` and ``unreviewed``."""
        return self._timeline.counts()

    def items(self, *, before: str = "", limit: int = 100, folds: bool = False, **filters: str) -> dict[str, Any]:
        """Return a page of the items, the latest first, with counts. ``before``: the id of the last item of the page before.

        ``folds``: see ``Timeline.page``. ``filters``: client, session, folder, kind, state, text, since, as in ``Filters``;
        empty ones do not count.
        """
        unknown = sorted(filters.keys() - set(Filters._fields))
        if unknown:
            raise VaultError(INVALID_ARGUMENTS, f"{unknown[0]!r} is no filter.", argument=unknown[0])
        return self._timeline.page(Filters(**filters), before, limit, folds=folds)

    def item(self, id: str) -> dict[str, Any]:  # noqa: A002 - the name in the API
        """Return one item with the differences of its files."""
        return self._details.item(self._entry(id))

    def diff(self, id: str) -> str:  # noqa: A002
        """Return what a proposal would change, as a unified diff. Raises VaultError for what is none."""
        return self._deciding.diff(self._entry(id))

    def hunks(self, id: str, file: int, first: int = 0) -> dict[str, Any]:  # noqa: A002
        """Return the difference of one file from a hunk on."""
        return self._details.hunks(self._entry(id), file, first)

    def lines(self, id: str, file: int, first: int, last: int) -> dict[str, Any]:  # noqa: A002
        """Return ``rows``: unchanged lines of the new text from one line to another, both from 1 and included."""
        return self._details.lines(self._entry(id), file, first, last)

    def text(self, id: str, file: int) -> dict[str, Any]:  # noqa: A002
        """Return ``text``: the new text of a file, to edit."""
        return self._details.text(self._entry(id), file)

    def bytes_of(self, id: str, file: int, side: str) -> tuple[str, bytes | None]:  # noqa: A002
        """Return the path and bytes of a file, ``side`` "old" or "new"; None where it is not there."""
        return self._details.bytes_of(self._entry(id), file, side)

    def picture(self, id: str, file: int, side: str) -> tuple[str, bytes]:  # noqa: A002
        """Return the media type and bytes of a picture, ``side`` "old" or "new"."""
        return self._details.picture(self._entry(id), file, side)

    def preview(self, id: str, file: int, text: str) -> dict[str, Any]:  # noqa: A002
        """Return ``file``: the difference that accepting this text would make."""
        return self._details.preview(self._entry(id), file, text)

    def decide(  # noqa: PLR0913 - the fields of a request
        self,
        id: str,  # noqa: A002
        action: str,
        *,
        file: int | None = None,
        hunk: int | None = None,
        edited: Mapping[str, str] | None = None,
        reason: str = "",
        basis: str = "",
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Decide one item or a part of it. A conflict is a VaultError with ``conflicts``; of a dry run, in the result.

        ``basis``: of the item as it was shown. Nothing is accepted if what it would do differs by now.
        """
        return self._deciding.decide(
            self._entry(id), action, (file, hunk), edited or {}, reason, basis=basis, dry_run=dry_run
        )

    def decide_many(
        self,
        *,
        action: str,
        ids: Sequence[str] | None = None,
        session: str = "",
        since: str = "",
        reason: str = "",
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Decide the items with these ids, those of a session, or the changes since a time: all of them or none."""
        if (ids is not None) + bool(session) + bool(since) != 1:
            raise VaultError(INVALID_ARGUMENTS, "Give one of ids, session and since.", argument="ids")
        if ids is not None:
            chosen = list({entry.id: entry for entry in map(self._entry, ids)}.values())
        else:
            chosen = self._chosen(action, session, since)
        return self._deciding.decide_many(chosen, action, reason, dry_run=dry_run)

    def _chosen(self, action: str, session: str, since: str) -> list[Entry]:
        if action == "undo" and since:
            return [self._entry(f"c{change.id}") for change in self._vault.reviewing.since(since)]
        start = self._vault.reviewing.parse_time(since) if since else 0
        entries = [
            entry
            for entry in self._timeline.entries()
            if entry.key[0] >= start and (not session or entry.author.session == session)
        ]
        if action in ("accept", "refuse"):
            return [entry for entry in entries if entry.waits]
        made = [(entry, entry.change) for entry in entries if entry.change is not None]
        if action == "undo":
            effective = {change.id for change in self._vault.reviewing.in_effect(change for _, change in made)}
            return [entry for entry, change in made if change.id in effective]
        wanted = action == "unkeep"
        return [entry for entry, change in made if change.undone_by is None and entry.is_reviewed is wanted]

    def _entry(self, id_: str) -> Entry:
        return self._timeline.entry(id_)
