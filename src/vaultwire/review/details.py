"""One item with the differences of its files, and the parts of them that are asked for later."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from vaultwire.review.deciding import edited_bytes
from vaultwire.review.diff import file_diff, unchanged_rows
from vaultwire.review.entries import Entry
from vaultwire.review.timeline import Timeline
from vaultwire.review.undoing import Undoing
from vaultwire.vault.changes.change import DetailedChange, Move, Step, Write
from vaultwire.vault.changes.rebasing import Rebased
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import TRASH, kind_of, lies_in, media_type_of
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import VaultPath
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


class Details:
    """The items of one vault with their differences."""

    def __init__(self, vault: Vault, timeline: Timeline, undoing: Undoing) -> None:
        self._vault = vault
        self._timeline = timeline
        self._undoing = undoing

    def item(self, entry: Entry) -> dict[str, Any]:
        """Return an item with the difference of each file, and whether it can be undone."""
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
            obstacle = self._undoing.obstacle(entry)
            if obstacle is None:
                found["can_undo"] = True
            else:
                found["conflict"] = obstacle.message
                found["blocked_by"] = [f"c{number}" for number in obstacle.details.get("changes", [])]
                back = self._undoing.way_back(entry)
                found["way_back"] = "" if back is None else back.target
        elif now is not None and entry.proposal is not None:
            obstacle = self._vault.holding.obstacle(entry.proposal, now)
            found["conflict"] = "" if obstacle is None else obstacle.message
        return found

    def hunks(self, entry: Entry, file: int, first: int) -> dict[str, Any]:
        """Return the difference of one file from a hunk on."""
        sides = self._file(entry, file)
        return self._view(entry, file, sides, max(0, first), _MAX_ROWS)

    def lines(self, entry: Entry, file: int, first: int, last: int) -> dict[str, Any]:
        """Return unchanged lines of the new text as rows, from one line to another, for what was folded."""
        if first < 1 or last < first:
            raise VaultError(
                INVALID_ARGUMENTS, "Lines count from 1, and the first comes before the last.", argument="from"
            )
        sides = self._file(entry, file)
        return {"rows": unchanged_rows(sides.before, sides.after, first, last)}

    def text(self, entry: Entry, file: int) -> dict[str, Any]:
        """Return the new text of a file, to edit: where it and the file as it is now overlap, with both. See ``Overlap``."""
        sides = self._file(entry, file)
        now = self._timeline.rebased(entry)
        overlap = None if now is None else now.overlaps.get(file)
        text = sides.after if overlap is None or overlap.both is None else overlap.both
        if text is None:
            raise VaultError(INVALID_ARGUMENTS, f"{sides.path!r} has no new text.", argument="file")
        lines = () if overlap is None else overlap.lines
        both = [[span.first, span.last] for span in lines]
        return {"text": plain_text(text), "overlaps": both, "basis": "" if now is None else now.basis}

    def bytes_of(self, entry: Entry, file: int, side: str) -> tuple[str, bytes | None]:
        """Return the path and bytes of a file before ("old") or after ("new"); None where it is not there."""
        if side not in ("old", "new"):
            raise VaultError(INVALID_ARGUMENTS, f"{side!r} is no side: give old or new.", argument="side")
        sides = self._file(entry, file)
        return (sides.path, sides.before) if side == "old" else (sides.target or sides.path, sides.after)

    def picture(self, entry: Entry, file: int, side: str) -> tuple[str, bytes]:
        """Return the media type and bytes of a picture. Raises VaultError for other files, and where there is none."""
        path, data = self.bytes_of(entry, file, side)
        if kind_of(path) != "image":
            raise VaultError(INVALID_ARGUMENTS, f"{path!r} is no picture.", argument="file")
        if data is None:
            raise VaultError(FILE_NOT_FOUND, f"{path!r} is not there on that side.", path=path)
        return media_type_of(path) or "application/octet-stream", data

    def preview(self, entry: Entry, file: int, text: str) -> dict[str, Any]:
        """Return the difference that accepting an edited text would make."""
        sides = self._file(entry, file)
        if entry.proposal is None or not entry.waits:
            raise VaultError(INVALID_ARGUMENTS, "Only a proposal that waits can be edited.", argument="id")
        now = self._timeline.rebased(entry)
        data = edited_bytes(entry.proposal, now, {str(file): text}).get(file, sides.after)
        if now is not None and file in now.overlaps:
            sides = sides._replace(before=self._vault.holding.bytes_at(sides.path))
        return {"file": self._view(entry, file, sides._replace(after=data), 0, _MAX_ROWS)}

    # ------------------------------------------------------------------ parts

    def _steps(self, entry: Entry) -> tuple[Sequence[Step], DetailedChange | None, Rebased | None]:
        """Return what was done or, of a proposal that waits, what accepting it does now."""
        if entry.change is not None:
            detailed = next(self._vault.reviewing.detailed([entry.change.id]))
            return detailed.steps, detailed, None
        now = self._timeline.rebased(entry)
        steps = entry.proposal.steps if entry.proposal is not None else ()
        is_diff = entry.proposal is not None and entry.proposal.kind == "diff"
        return (steps if now is None or is_diff else now.steps), None, now

    def _file(self, entry: Entry, file: int) -> FileSides:
        steps, detailed, _ = self._steps(entry)
        if not 0 <= file < len(steps):
            raise VaultError(INVALID_ARGUMENTS, f"{entry.id} has no file {file}; they count from 0.", argument="file")
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
            resolve=self._vault.reviewing.resolver(),
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


def _follow(moved: dict[str, str], files: Sequence[dict[str, Any]]) -> None:
    """Say of links to what was moved that they follow it: where the old link led cannot be looked up after the move."""
    for link in (link for view in files for link in view["links"]):
        if link["old"] is None and link["new"] in moved:
            link |= {"old": moved[link["new"]], "follows": True, "words": f"follows the move to {link['new']}"}
