"""The façade of the room: what the desk shows and does with one vault, in plain dicts. Safe to call from several threads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from vaultwire.markdown.three_way import Choice
from vaultwire.review.deciding import Deciding, check_file, edited_bytes
from vaultwire.review.diff import file_diff, unchanged_rows
from vaultwire.review.entries import Entry, Filters, Timeline
from vaultwire.vault.changes.change import DetailedChange, Move, Step, Write, diff_of
from vaultwire.vault.changes.projected_tree import Rebased
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault

# All files of an item together have so many rows at first; more come with ``hunks``.
_MAX_ROWS = 2000
# Of an item with more files, the first ones are shown.
_MAX_FILES = 200
_MAX_LOST = 200


class FileSides(NamedTuple):
    """One file of an item before and after; ``target``: its new path if it is moved."""

    path: VaultPath
    before: bytes | None
    after: bytes | None
    target: VaultPath | None = None


def is_deletion(step: Step) -> bool:
    """Tell whether a step deletes a file, permanently or to the trash."""
    return lies_in(step.target, TRASH) if isinstance(step, Move) else step.old is not None and step.new is None


class Reviewer:
    """The desk of one vault. All methods raise VaultError for wrong input, and change nothing then."""

    def __init__(self, vault: Vault) -> None:
        """``vault``: as the person uses it, with a caller that ``is_person``."""
        self._vault = vault
        self._timeline = Timeline(vault)
        self._deciding = Deciding(vault, self._timeline)

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
        entry = self._timeline.entry(id)
        found = self._timeline.item(entry)
        steps, contents, now = self._steps(entry)
        rows, files = _MAX_ROWS, []
        for index in range(min(len(steps), _MAX_FILES)):
            view = self._view(entry, index, self._sides(steps, contents, index), 0, rows)
            if entry.waits and is_deletion(steps[index]):
                view["lost_links"] = self._lost_links(view["path"])
            rows = max(0, rows - sum(len(hunk["rows"]) for hunk in view["hunks"]))
            overlap = None if now is None else now.overlaps.get(index)
            if overlap is not None:
                view["now"] = self._now(steps[index])
                view["can_edit"] = overlap.both is not None
            files.append(view)
        moves = [view for view in files if view["action"] == "move"]
        if len(moves) == 1:
            moves[0]["rewritten_links"] = sum(len(view["links"]) for view in files)
        _follow({view["to"]: view["path"] for view in moves}, files)
        found |= {"files": files, "can_undo": False, "blocked_by": [], "conflict": ""}
        found |= {"basis": "" if now is None else now.basis, "is_merged": now is not None and now.is_moved_on}
        if entry.change is not None:
            obstacle = self._deciding.obstacle(entry)
            if obstacle is None:
                found["can_undo"] = True
            else:
                found["conflict"] = obstacle.message
                found["blocked_by"] = [f"c{number}" for number in obstacle.details.get("changes", [])]
                back = self._deciding.way_back(entry)
                found["way_back"] = "" if back is None else back.target
        elif now is not None and entry.proposal is not None:
            obstacle = self._vault.holding.obstacle(entry.proposal, now)
            found["conflict"] = "" if obstacle is None else obstacle.message
        return found

    def hunks(self, id: str, file: int, first: int = 0) -> dict[str, Any]:  # noqa: A002
        """Return the difference of one file from a hunk on."""
        entry = self._timeline.entry(id)
        sides = self._file(entry, file)
        return self._view(entry, file, sides, max(0, first), _MAX_ROWS)

    def lines(self, id: str, file: int, first: int, last: int) -> dict[str, Any]:  # noqa: A002
        """Return ``rows``: unchanged lines of the new text from one line to another, both from 1 and included."""
        entry = self._timeline.entry(id)
        if first < 1 or last < first:
            raise VaultError(
                INVALID_ARGUMENTS, "Lines count from 1, and the first comes before the last.", argument="from"
            )
        sides = self._file(entry, file)
        return {"rows": unchanged_rows(sides.before, sides.after, first, last)}

    def text(self, id: str, file: int) -> dict[str, Any]:  # noqa: A002
        """Return ``text``: the new text of a file, to edit; where it and the file as it is now overlap, with both."""
        entry = self._timeline.entry(id)
        sides = self._file(entry, file)
        now = self._timeline.rebased(entry)
        overlap = None if now is None else now.overlaps.get(file)
        text = sides.after if overlap is None or overlap.both is None else overlap.both
        if text is None:
            raise VaultError(INVALID_ARGUMENTS, f"{sides.path!r} has no new text.", argument="file")
        lines = () if overlap is None else overlap.lines
        both = [[span.first, span.last] for span in lines]
        return {"text": plain_text(text), "overlaps": both, "basis": "" if now is None else now.basis}

    def bytes_of(self, id: str, file: int, side: str) -> tuple[str, bytes | None]:  # noqa: A002
        """Return the path and bytes of a file, ``side`` "old" or "new"; None where it is not there."""
        entry = self._timeline.entry(id)
        if side not in ("old", "new"):
            raise VaultError(INVALID_ARGUMENTS, f"{side!r} is no side: give old or new.", argument="side")
        sides = self._file(entry, file)
        return (sides.path, sides.before) if side == "old" else (sides.target or sides.path, sides.after)

    def preview(self, id: str, file: int, text: str) -> dict[str, Any]:  # noqa: A002
        """Return ``file``: the difference that accepting this text would make."""
        entry = self._timeline.entry(id)
        sides = self._file(entry, file)
        if entry.proposal is None or not entry.waits:
            raise VaultError(INVALID_ARGUMENTS, "Only a proposal that waits can be edited.", argument="id")
        now = self._timeline.rebased(entry)
        data = edited_bytes(entry.proposal, now, {str(file): text}).get(file, sides.after)
        if now is not None and file in now.overlaps:
            sides = sides._replace(before=self._vault.holding.bytes_at(sides.path))
        return {"file": self._view(entry, file, sides._replace(after=data), 0, _MAX_ROWS)}

    def diff(self, id: str) -> str:  # noqa: A002
        """Return what a proposal would change, as a unified diff. Raises VaultError for what is none."""
        return self._deciding.diff(self._timeline.entry(id))

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
            self._timeline.entry(id), action, (file, hunk), edited or {}, reason, basis=basis, dry_run=dry_run
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
            chosen = list({entry.id: entry for entry in map(self._timeline.entry, ids)}.values())
        else:
            chosen = self._chosen(action, session, since)
        return self._deciding.decide_many(chosen, action, reason, dry_run=dry_run)

    def conflict(
        self, path: str, choices: Sequence[Choice] = (), etag: str | None = None, *, join: bool = False
    ) -> dict[str, Any]:
        """Return the two versions of a file that a sync program or Git left, and what they come to; ``join`` writes it.

        ``clashes``: what both changed differently, with both sides; ``choices`` say what becomes of each. ``diff``: what would
        change, empty while a clash is open (``is_open``). ``change``: the number of the change. See ``Conflicts.join``.
        """
        found = self._vault.conflicts.join(path, choices, etag, NO_PROGRESS, dry_run=not join)
        view: dict[str, Any] = {
            "path": found.path,
            "copy": "" if found.copy is None else found.copy.path,
            "made": "Git left both versions in the note" if found.copy is None else found.copy.made,
            "compared_with": found.base,
            "etag": found.etag,
            "clashes": [
                {"name": clash.name, "line": clash.span.first, "mine": clash.mine, "theirs": clash.theirs}
                for clash in found.joined.clashes
            ],
            "is_open": found.done is None,
            "diff": "" if found.done is None else diff_of(found.done.steps),
        }
        made = None if found.done is None else found.done.change
        return view | {"change": made.id if made is not None and join else None}

    # ------------------------------------------------------------------ parts

    def _steps(self, entry: Entry) -> tuple[Sequence[Step], DetailedChange | None, Rebased | None]:
        """Return what was done or, of a proposal that waits, what accepting it does now."""
        if entry.change is not None:
            detailed = next(self._vault.history.detailed([entry.change.id]))
            return detailed.steps, detailed, None
        now = self._timeline.rebased(entry)
        steps = entry.proposal.steps if entry.proposal is not None else ()
        is_diff = entry.proposal is not None and entry.proposal.kind == "diff"
        return (steps if now is None or is_diff else now.steps), None, now

    def _file(self, entry: Entry, file: int) -> FileSides:
        steps, detailed, _ = self._steps(entry)
        check_file(entry.id, steps, file)
        return self._sides(steps, detailed, file)

    def _sides(self, steps: Sequence[Step], detailed: DetailedChange | None, index: int) -> FileSides:
        step = steps[index]
        if isinstance(step, Write):
            return FileSides(step.path, step.before, step.after)
        content = None if detailed is None else detailed.contents[index]
        data = None if content is None else content.data
        if detailed is None and is_deletion(step):
            with suppress(VaultError):  # a folder, or too large
                data = self._vault.holding.bytes_at(step.source)
        return FileSides(step.source, data, data, step.target)

    def _lost_links(self, path: str) -> list[dict[str, Any]]:
        """Return the links that lead nowhere once a file is gone: the first ones, by note and line."""
        try:
            lost = self._vault.links_lost(path)
        except VaultError:  # it is gone already
            return []
        return [{"path": note, "line": line} for note, line in lost[:_MAX_LOST]]

    def _view(self, entry: Entry, index: int, sides: FileSides, first: int, rows: int) -> dict[str, Any]:
        is_deleted = sides.target is not None and lies_in(sides.target, TRASH) and sides.before is not None
        view = file_diff(
            sides.path,
            sides.before,
            None if is_deleted else sides.after,
            resolve=self._vault.history.resolver(),
            first_hunk=first,
            max_rows=rows,
            target=None if is_deleted else sides.target,
        )
        view |= {"index": index, "to": sides.target}
        view["state"] = self._state(entry, index, None)
        for hunk in view["hunks"]:
            hunk["state"] = self._state(entry, index, hunk["index"])
        if view["hunk_count"] and view["state"] == "made" and view["next_hunk"] is None and not first:
            states = {hunk["state"] for hunk in view["hunks"]}
            if len(states) == 1:
                view["state"] = states.pop()
        return view

    def _state(self, entry: Entry, file: int, hunk: int | None) -> str:
        if entry.change is None:
            return "waiting"
        if entry.change.undone_by is not None:
            return "undone"
        if any(part.file == file and part.hunk in (None, hunk) for part in entry.parts):
            return "undone"
        return "kept" if self._timeline.kept(entry.change.id, file, hunk) else "made"

    def _now(self, step: Step) -> dict[str, Any] | None:
        """Return what was changed, since a proposal was made, in the file that it began with; None for nothing."""
        if isinstance(step, Move):
            return None
        try:
            now = self._vault.holding.bytes_at(step.path)
        except VaultError:
            return None
        return None if step.before == now else file_diff(step.path, step.before, now)

    def _chosen(self, action: str, session: str, since: str) -> list[Entry]:
        if action == "undo" and since:
            return [self._timeline.entry(f"c{change.id}") for change in self._vault.history.since(since)]
        start = self._vault.history.parse_time(since) if since else 0
        entries = [
            entry
            for entry in self._timeline.entries()
            if entry.key[0] >= start and (not session or entry.author.session == session)
        ]
        if action in ("accept", "refuse"):
            return [entry for entry in entries if entry.waits]
        made = [(entry, entry.change) for entry in entries if entry.change is not None]
        if action == "undo":
            effective = {change.id for change in self._vault.history.in_effect(change for _, change in made)}
            return [entry for entry, change in made if change.id in effective]
        wanted = action == "unkeep"
        return [entry for entry, change in made if change.undone_by is None and entry.is_reviewed is wanted]


def _follow(moved: dict[str, str], files: Sequence[dict[str, Any]]) -> None:
    """Say of links to what was moved that they follow it: where the old link led cannot be looked up after the move."""
    for link in (link for view in files for link in view["links"]):
        if link["old"] is None and link["new"] in moved:
            link |= {"old": moved[link["new"]], "follows": True, "words": f"follows the move to {link['new']}"}
