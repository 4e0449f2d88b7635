"""A vault at a glance: searches, one note, the graph of links, activity and problems, as plain dicts. Read only, no wire."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

from vaultwire.review.rendering import file_address, marked, note_address, to_tree, words_of
from vaultwire.vault.changes.change import Change
from vaultwire.vault.disk.paths import is_base, is_canvas, is_note
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.links.faults import CONFLICT_COPY, CONFLICT_MARKS
from vaultwire.vault.value_types import Hit, VaultPath
from vaultwire.vault.vault import Vault

if TYPE_CHECKING:
    from vaultwire.review.base_views import BaseViews


# ---------------------------------------------------------------------- activity

MAX_ROWS = 200
_PATH_ARGUMENTS = ("path", "note", "source", "folder")
_NO_NAME = "unknown client"


def folder_of(path: str) -> str:
    """Return the folder of a file, of at most two levels; "" for the vault's own."""
    return "/".join(path.split("/")[:-1][:2])


def writes(changes: Iterable[Change], zone: tzinfo | None) -> Counter[tuple[str, str, str]]:
    """Return how many files were written, by client, day and folder."""
    found: Counter[tuple[str, str, str]] = Counter()
    for change in changes:
        day = datetime.fromtimestamp(change.time_ns / 1e9, zone).date().isoformat()
        for file in change.files:
            found[change.author.client or _NO_NAME, day, folder_of(file.target or file.path)] += 1
    return found


def reads(records: Iterable[Mapping[str, Any]], zone: tzinfo | None, may_see: Any) -> Counter[tuple[str, str, str]]:
    """Return how many calls read a note or folder, by client, day and folder. ``records``: of the audit log."""
    found: Counter[tuple[str, str, str]] = Counter()
    for record in records:
        tool = record.get("tool_name")
        if (
            record.get("type") != "request"
            or not isinstance(tool, str)
            or not tool.startswith(("read_", "search_", "list_"))
        ):
            continue
        try:
            day = datetime.fromisoformat(str(record.get("timestamp"))).astimezone(zone).date().isoformat()
        except ValueError:
            continue
        arguments = record.get("arguments")
        given = arguments if isinstance(arguments, Mapping) else {}
        path = next((given[name] for name in _PATH_ARGUMENTS if isinstance(given.get(name), str)), "")
        folder = folder_of(path) if path and may_see(VaultPath(path)) else ""
        found[str(record.get("client") or _NO_NAME), day, folder] += 1
    return found


def summed(counts: Counter[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the counts by client and day, by folder, and all together. Clients and folders: the most active first."""
    days: dict[str, Counter[str]] = {}
    folders: Counter[str] = Counter()
    for (client, day, folder), count in counts.items():
        days.setdefault(client, Counter())[day] += count
        folders[folder] += count
    ranked = sorted(days.items(), key=lambda item: (-item[1].total(), item[0]))
    return {
        "total": counts.total(),
        "clients": [
            {"name": name, "total": by.total(), "days": dict(sorted(by.items()))} for name, by in ranked[:MAX_ROWS]
        ],
        "folders": [
            {"folder": folder, "count": count}
            for folder, count in sorted(folders.items(), key=lambda item: (-item[1], item[0]))[:MAX_ROWS]
        ],
    }


# ---------------------------------------------------------------------- the places of notes in the graph

Point = tuple[float, float]

_ROUNDS = 12
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
_TO_NEIGHBOURS, _TO_FOLDER = 0.35, 0.05


def sunflower(count: int, radius: float) -> list[Point]:
    """Return points that fill a disc evenly, from its middle outwards."""
    return [
        (
            radius * math.sqrt((number + 0.5) / count) * math.cos(number * _GOLDEN_ANGLE),
            radius * math.sqrt((number + 0.5) / count) * math.sin(number * _GOLDEN_ANGLE),
        )
        for number in range(count)
    ]


def lay_out(folders: Sequence[int], links: Sequence[tuple[int, int]]) -> list[Point]:
    """Return the place of each note. ``folders``: the number of its folder; ``links``: pairs of places in that list."""
    sizes = Counter(folders)
    centres = _centres(sizes)
    places = {folder: iter(sunflower(size, math.sqrt(size))) for folder, size in sizes.items()}
    points = []
    for folder in folders:
        (x, y), (left, top) = next(places[folder]), centres[folder]
        points.append((x + left, y + top))
    for _ in range(_ROUNDS):
        points = _spread(_pulled(points, [centres[folder] for folder in folders], links))
    return [(round(x, 2), round(y, 2)) for x, y in points]


def _centres(sizes: Counter[int]) -> dict[int, Point]:
    """Return the middle of each folder: the largest in the middle, others in rings around it."""
    ranked = sorted(sizes, key=lambda folder: (-sizes[folder], folder))
    spots = sunflower(len(ranked), 1.6 * math.sqrt(sizes.total()))
    return dict(zip(ranked, spots, strict=True))


def _pulled(points: list[Point], centres: list[Point], links: Sequence[tuple[int, int]]) -> list[Point]:
    """Move each note some way to the middle of the notes it is linked with, and a little to its folder's."""
    across, down, count = [0.0] * len(points), [0.0] * len(points), [0] * len(points)
    for one, other in links:
        for here, there in ((one, other), (other, one)):
            x, y = points[there]
            across[here] += x
            down[here] += y
            count[here] += 1
    moved = []
    for number, (x, y) in enumerate(points):
        if count[number]:
            # A note that many link to stays about where it is: else all would fall onto it.
            part = _TO_NEIGHBOURS / math.sqrt(count[number])
            x += part * (across[number] / count[number] - x)  # noqa: PLW2901 - it moves
            y += part * (down[number] / count[number] - y)  # noqa: PLW2901 - as above
        left, top = centres[number]
        moved.append((x + _TO_FOLDER * (left - x), y + _TO_FOLDER * (top - y)))
    return moved


def _spread(points: list[Point]) -> list[Point]:
    """Move notes that lie in one cell of a grid apart, away from the cell's middle of weight."""
    cells: dict[tuple[int, int], list[int]] = {}
    for number, (x, y) in enumerate(points):
        cells.setdefault((int(x // 3), int(y // 3)), []).append(number)
    moved = [*points]
    for numbers in cells.values():
        if len(numbers) == 1:
            continue
        size = len(numbers)
        middle_x = sum(points[number][0] for number in numbers) / size
        middle_y = sum(points[number][1] for number in numbers) / size
        force = min(2.0, math.sqrt(size) / 4)
        for number, (x, y) in zip(numbers, sunflower(size, 1.0), strict=True):
            moved[number] = (
                points[number][0] + force * (0.5 * (points[number][0] - middle_x) + x),
                points[number][1] + force * (0.5 * (points[number][1] - middle_y) + y),
            )
    return moved


Records = Callable[[datetime], Iterable[Mapping[str, Any]]]
"""Returns the records of the audit log since a time, at least."""

_Drawing = tuple[list[VaultPath], list[tuple[int, int]]]

MOST_LINKS = 200
"""Backlinks and outgoing links of a note that are shown."""
MOST_NODES, MOST_EDGES = 20_000, 100_000
"""Of the graph. A larger one has the notes with the most links."""
_MOST_CHANGES = 20_000
_ACTIVITY_DAYS = 7
_MOST_HITS, _MOST_PROBLEMS = 100, 500
_MOST_QUERY = 1_000
_MOST_CANVAS = 20_000


class Glance:
    """Answers the person's questions about one vault."""

    def __init__(self, vault: Vault, audit: Records | None = None) -> None:
        """``audit``: the audit log, None if none is kept."""
        self._vault = vault
        self._audit = audit
        self._drawn: tuple[_Drawing, dict[str, Any]] | None = None

    @cached_property
    def bases(self) -> BaseViews:
        """The bases of the vault."""
        from vaultwire.review.base_views import BaseViews  # noqa: PLC0415 - few pages ask for it

        return BaseViews(self._vault)

    def search(self, q: str, limit: int = 30) -> dict[str, Any]:
        """Return the notes that match, with their lines in parts. Without a query: the notes that changed last.

        A query that cannot be read is no error here, because a person is still typing: ``problem`` says what is wrong.
        """
        limit = max(1, min(limit, _MOST_HITS))
        answer: dict[str, Any] = {"query": q, "notes": [], "total": 0, "is_exact": True, "problem": "", "hints": []}
        if not q.strip():
            recent = self._vault.overview.recent("", limit)
            answer["notes"] = [self._found(note.path) for note in recent.notes]
            return answer | {"total": recent.total, "is_recent": True}
        if len(q) > _MOST_QUERY:
            return answer | {"problem": f"A search has at most {_MOST_QUERY:,} characters."}
        try:
            asked = self._vault.ask(q, "", limit)
            found = asked.result if asked else self._vault.search(q, "", 0, limit)
            given = asked.help if asked else self._vault.search_help(q, "", limit, found)
        except VaultError as error:
            return answer | {"problem": error.message}
        words = words_of(q)
        hits = given.hits if given and given.hits else found.hits
        answer["notes"] = [self._hit(hit, words) for hit in hits]
        if given:
            answer["hints"] = [*given.hints, *[f"Did you mean the note {path}?" for path in given.names]]
        if found.so_far:
            so_far = f"{found.so_far.indexed:,} of {found.so_far.notes:,} notes can be found so far."
            answer["hints"] = [so_far, *answer["hints"]]
        return answer | {"total": found.total, "is_exact": found.total_is_exact}

    def _found(self, path: str) -> dict[str, Any]:
        return {"path": path, "href": self._address(path), "lines": [], "matches": 0, "missing": []}

    def _hit(self, hit: Hit, words: list[str]) -> dict[str, Any]:
        lines = [
            {"line": line.number, "href": self._address(hit.path, line.number), "parts": marked(line.text, words)}
            for line in hit.lines
        ]
        return self._found(hit.path) | {"lines": lines, "matches": hit.matches, "missing": [*hit.missing]}

    def _address(self, path: str, line: int = 0) -> str:
        return note_address(self._vault.name, path, line)

    def note(self, path: str) -> dict[str, Any]:
        """Return one note, rendered, with its links in both directions. Raises VaultError as ``Vault.read`` does."""
        if not path:
            raise VaultError(FILE_NOT_FOUND, "Give the path of a note.", path=path)
        note = self._vault.read(path)
        outgoing = [] if is_canvas(note.path) else self._vault.links(note.path)[1]
        backlinks = self._vault.backlinks(note.path)
        targets = {link.linktext: link.target for link in outgoing}
        if is_canvas(note.path):
            tree: list[Any] = [["pre", {}, [["code", {}, [note.text[:_MOST_CANVAS]]]]]]
        else:
            tree = to_tree(note.text, targets.get, vault=self._vault.name, note=note.path)
        changed = datetime.fromtimestamp(note.modified_ns / 1e9).astimezone()
        return {
            "path": note.path,
            "name": note.path.rpartition("/")[2].removesuffix(".md"),
            "tree": tree,
            "problems": note.problems[:MOST_LINKS],
            "changed": changed.isoformat(timespec="seconds"),
            "backlinks": [
                {
                    "path": link.source,
                    "line": link.line,
                    "href": self._address(link.source, link.line),
                    "text": link.text[:300],
                }
                for link in backlinks.page(0, MOST_LINKS)
            ],
            "backlink_count": len(backlinks),
            "links": [
                {
                    "text": link.display or link.linktext,
                    "path": link.target,
                    "line": link.line,
                    "href": file_address(self._vault.name, link.target) if _is_shown(link.target) else None,
                }
                for link in outgoing[:MOST_LINKS]
            ],
            "link_count": len(outgoing),
            "obsidian": self._address(note.path),
        }

    def graph(self) -> dict[str, Any]:
        """Return notes with their places on a plane, and the links between them; the same as long as no link changes."""
        drawing = self._vault.overview.link_graph().between_notes()
        drawn = self._drawn
        if drawn is None or drawn[0] != drawing:
            drawn = self._drawn = (drawing, _drawn(*drawing))
        return drawn[1]

    def activity(self) -> dict[str, Any]:
        """Return who wrote what in the last days, and who read what, as far as that is on record."""
        now = datetime.now().astimezone()
        first = (now - timedelta(days=_ACTIVITY_DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
        since = int(first.timestamp() * 1e9)
        latest = self._vault.history.latest("", _MOST_CHANGES, None)
        changes = [change for change in latest if change.time_ns >= since]
        answer: dict[str, Any] = {
            "days": [(first.date() + timedelta(number)).isoformat() for number in range(_ACTIVITY_DAYS)],
            "written": summed(writes(changes, None)),
            "changes": len(changes),
            "read": None,
            "note": "Reads are recorded only when the server runs with --audit.",
        }
        if self._audit is not None:
            shown = set(answer["days"])
            found = reads(self._audit(first), None, self._may_see)
            kept = {key: count for key, count in found.items() if key[1] in shown}
            answer["read"] = summed(type(found)(kept))
            answer["note"] = ""
        return answer

    def _may_see(self, path: VaultPath) -> bool:
        return not self._vault.hides_some or self._vault.has_file(path)

    def problems(self, offset: int = 0, limit: int = 200) -> dict[str, Any]:
        """Return what is wrong in notes and canvases, from file number ``offset`` on. ``next``: the offset to go on from."""
        limit = max(1, min(limit, _MOST_PROBLEMS))
        suspects = self._vault.files_to_check("")
        found, position, total = self._vault.check_all(suspects, max(0, offset), limit)
        kinds: dict[str, list[dict[str, Any]]] = {}
        count = 0
        for path, findings in found:
            for finding in findings:
                if count == 2 * limit:  # all findings of the last file may be a thousand
                    break
                count += 1
                kinds.setdefault(finding.kind, []).append(
                    {
                        "path": path,
                        "line": finding.line,
                        "href": self._address(path, finding.line),
                        "message": finding.message,
                        "is_error": finding.is_error,
                        "can_join": finding.kind in (CONFLICT_COPY, CONFLICT_MARKS),
                    }
                )
        ranked = sorted(kinds.items(), key=lambda item: (not item[1][0]["is_error"], item[0]))
        return {
            "kinds": [{"kind": kind, "problems": problems} for kind, problems in ranked],
            "count": count,
            "files": total,
            "checked": position,
            "next": position if position < total else None,
        }


def _is_shown(path: str | None) -> TypeGuard[str]:
    """Tell whether the page can show a file."""
    return path is not None and (is_note(path) or is_base(path))


def _drawn(paths: list[VaultPath], links: list[tuple[int, int]]) -> dict[str, Any]:
    counts = [0] * len(paths)
    for one, other in links:
        counts[one] += 1
        counts[other] += 1
    kept = sorted(sorted(range(len(paths)), key=lambda number: -counts[number])[:MOST_NODES])
    places = {number: place for place, number in enumerate(kept)}
    shown = [(places[one], places[other]) for one, other in links if one in places and other in places][:MOST_EDGES]
    tops = [paths[number].partition("/")[0] if "/" in paths[number] else "" for number in kept]
    folders = sorted(set(tops))
    numbers = {folder: number for number, folder in enumerate(folders)}
    points = lay_out([numbers[top] for top in tops], shown)
    return {
        "folders": folders,
        "nodes": [
            [paths[number], numbers[top], *point, counts[number]]
            for number, top, point in zip(kept, tops, points, strict=True)
        ],
        "edges": [end for pair in shown for end in pair],
        "notes": len(paths),
        "links": len(links),
        "is_cut": len(kept) < len(paths) or len(shown) < len(links),
    }
