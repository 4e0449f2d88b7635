"""Questions about a vault as a whole: lists, counts, conditions, daily notes, the graph of links. It changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.days import Days, days_between, parse_day_range, parse_days
from vaultwire.vault.disk.conflict_copies import conflict_copies
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.paths import BASE_SUFFIX, CANVAS_SUFFIX, fold, is_note, lies_in, parse_set_folder
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.guides import find_guide
from vaultwire.vault.index.link_graph import LinkGraph
from vaultwire.vault.index.rows import AnyOf, NameEndsWith
from vaultwire.vault.insights.listing import Branch, columns_of, folder_tree
from vaultwire.vault.links.note_lookup import locate, locate_folder
from vaultwire.vault.listed import Listed, listed
from vaultwire.vault.search.filters import NoteFilterText, TaskFilter, parse_note_filter, property_types
from vaultwire.vault.value_types import (
    NO_PROGRESS,
    Listing,
    NamedNote,
    NoteStat,
    PeriodicNote,
    Progress,
    PropertyUse,
    Related,
    TagCount,
    Tagged,
    TaskPlace,
    ValueUse,
    VaultPath,
    VaultStats,
    asking,
)

if TYPE_CHECKING:
    from vaultwire.vault.attachments import Attachment, AttachmentFilter
    from vaultwire.vault.insights.listing import Unmet
    from vaultwire.vault.insights.similar import SimilarNotes, SimilarTags, SuggestedLink

# Related notes among which those that are not linked yet are looked for.
_ALL_RELATED = 1_000
_MAX_DAYS = 366
"""Of daily notes that are asked for at once."""


class Overview:
    """Answers one caller's questions about one vault, mostly from its index."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.files
        self._index = bench.index
        self._settings = bench.settings

    def list_notes(self, folder: str, progress: Progress = NO_PROGRESS) -> Listed[NoteStat]:
        """Return the notes below ``folder`` in path order, with those that this session has proposed.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        place = locate_folder(self._files, folder)
        notes = self._index.notes(place, progress)
        pending = self._files.pending
        if not pending:
            return notes
        on_disk = {note.path: note for note in notes.all(progress)}
        paths = [
            path
            for path in self._files.with_pending_paths(on_disk)
            if is_note(path) and (place is None or lies_in(path, place))
        ]
        seen = [self._files.look_at(path) if path in pending else on_disk[path] for path in paths]
        return listed(sorted(note for note in seen if note is not None))

    def notes_now(self, folder: str, limit: int, progress: Progress = NO_PROGRESS) -> list[NoteStat]:
        """Return the first notes below a small folder, in path order, from the disk and not from the index.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        notes = []
        for note in self._files.walk(locate_folder(self._files, folder)):
            progress.check()
            notes.append(note)
        return sorted(notes)[:limit]

    def list_files(self, after: str, limit: int, progress: Progress = NO_PROGRESS) -> tuple[list[NoteStat], bool]:
        """Return notes and attachments in path order, beginning after the path ``after``, and whether more follow."""
        later = self._index.files_after(after, limit + 1, progress)
        if later is None:  # looking through the folders is quicker than waiting for the index of a large vault
            later = sorted(file for file in asking(progress, self._files.walk(attachments=True)) if file.path > after)
        return later[:limit], len(later) > limit

    def attachments(self, asked: AttachmentFilter, folder: str, progress: Progress = NO_PROGRESS) -> Listed[Attachment]:
        """Return the attachments below ``folder``, each with the files that use it. See ``list_attachments``."""
        from vaultwire.vault import attachments  # noqa: PLC0415 - only such questions need it

        place = locate_folder(self._files, folder)
        return attachments.list_attachments(self._files, self._index, place, asked, progress)

    def count_attachments(self, folder: str, progress: Progress = NO_PROGRESS) -> int:
        """Return how many attachments lie below ``folder``."""
        place = locate_folder(self._files, folder)
        paths = self._index.paths(progress)
        return sum(not is_note(path) and (place is None or lies_in(path, place)) for path in paths)

    def paths(self, progress: Progress = NO_PROGRESS) -> list[VaultPath]:
        """Return the path of every note and attachment, in path order."""
        paths = self._index.paths(progress)
        return sorted(self._files.with_pending_paths(paths)) if self._files.pending else paths

    def recent(self, folder: str, limit: int, progress: Progress = NO_PROGRESS) -> Listing:
        """Return the latest changed notes below ``folder``, the latest first."""
        notes, total = self._index.recent(locate_folder(self._files, folder), limit, progress)
        return Listing(notes, total, total > len(notes))

    def find(self, asked: NoteFilterText, folder: str, progress: Progress = NO_PROGRESS) -> Listed[NamedNote]:
        """Return the notes below ``folder`` that meet the conditions.

        Raises VaultError: INVALID_ARGUMENTS for an invalid condition or time, FILE_NOT_FOUND for the folder.
        """
        wanted = parse_note_filter(asked, self.parse_days)
        return self._index.find(wanted, locate_folder(self._files, folder), progress)

    def unmet(self, asked: NoteFilterText, progress: Progress = NO_PROGRESS) -> list[Unmet]:
        """Return the conditions on tags and properties that no note of the vault meets."""
        from vaultwire.vault.insights import listing  # noqa: PLC0415 - few calls need it

        note_filter = parse_note_filter(asked, self.parse_days)
        tags = [each.tag for each in self._index.count_tags(None, progress)] if note_filter.tags else []
        names = self.property_names(progress) if note_filter.conditions else []

        def values_of(name: str) -> list[str]:
            return [each.text for each in self._index.property_values(name, None, progress)]

        return [
            *listing.unmet_tags(note_filter.tags, tags),
            *listing.unmet_conditions(note_filter.conditions, names, values_of),
        ]

    def tagged(self, tags: list[str], *, every: bool, folder: str, progress: Progress = NO_PROGRESS) -> Listed[Tagged]:
        """Return the notes that have every one of ``tags``, or any of them, in path order. ``a/b`` counts as ``a``, too."""
        return self._index.tagged(tags, locate_folder(self._files, folder), progress, every=every)

    def count_tags(self, folder: str, progress: Progress = NO_PROGRESS) -> list[TagCount]:
        """Return the tags in use below ``folder``, most used first."""
        return self._index.count_tags(locate_folder(self._files, folder), progress)

    def property_names(self, progress: Progress = NO_PROGRESS) -> list[str]:
        """Return the names of the properties in use, most used first."""
        return [found.name for found in self._index.properties("", None, progress)]

    def properties(self, name: str, folder: str, progress: Progress = NO_PROGRESS) -> list[PropertyUse]:
        """Return the properties in use below ``folder``, most used first, with the types that Obsidian gives them.

        With a ``name`` only that one. Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        declared = self._settings.get().property_types
        return [
            PropertyUse(used.name, property_types(used.name, used.values, declared), used.notes)
            for used in self._index.properties(name, locate_folder(self._files, folder), progress)
        ]

    def property_values(self, name: str, folder: str, progress: Progress = NO_PROGRESS) -> list[ValueUse]:
        """Return the values of a property below ``folder``, most used first; those of a list one by one."""
        return self._index.property_values(name, locate_folder(self._files, folder), progress)

    def due(self, text: str) -> TaskFilter:
        """Return the filter for the due dates that a caller means: ``overdue``, ``any``, ``none``, or as ``parse_day_range``.

        Raises VaultError (INVALID_ARGUMENTS).
        """
        word = text.strip().lower()
        if word in ("any", "none"):
            return TaskFilter(has_due=word == "any")
        first, last = parse_day_range("<today" if word == "overdue" else text, "due", self.parse_days)
        return TaskFilter(has_due=True, due_from=first, due_until=last)

    def tasks(
        self, task_filter: TaskFilter, path: str, folder: str, progress: Progress = NO_PROGRESS
    ) -> Listed[TaskPlace]:
        """Return the tasks that meet the conditions, in path and line order, or by their due dates.

        ``path`` names one note, as for ``locate``; ``""`` means all notes. Raises VaultError as ``locate`` does.
        """
        note = locate(self._files, self._index, path, progress) if path else None
        return self._index.tasks(task_filter, note, locate_folder(self._files, folder), progress)

    def bases_and_canvases(self, name: str, folder: str, progress: Progress = NO_PROGRESS) -> list[VaultPath]:
        """Return the bases and canvases whose name has all words of ``name``, in path order."""
        words = fold(name).split()
        place = locate_folder(self._files, folder)
        either = AnyOf((NameEndsWith(BASE_SUFFIX), NameEndsWith(CANVAS_SUFFIX)))
        paths = (file.path for file in self._index.rows(progress).find(either, progress))
        return [
            path
            for path in paths
            if (place is None or lies_in(path, place)) and all(word in fold(path.rpartition("/")[2]) for word in words)
        ]

    def without_templates(self, task_filter: TaskFilter, folder: str) -> TaskFilter:
        """Return the filter without the tasks of templates: nobody has to do them. ``folder``: in which tasks are asked for."""
        templates = self._templates()
        return (
            task_filter
            if lies_in(folder.strip().strip("/"), templates or "/")
            else task_filter._replace(not_below=templates)
        )

    def _templates(self) -> str:
        """Return the folder of templates, spelt as on the disk; empty if the settings name none that is there."""
        try:
            folder = parse_set_folder(self._settings.get().template_folder, "Template folder location")
        except VaultError:
            return ""
        return self._files.spell(folder)[0] if folder else ""

    def guide(self, folder: str = "") -> tuple[VaultPath, str] | None:
        """Return path and text of the person's own guide to a folder or, without one, the vault. See ``find_guide``.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        return find_guide(self._files, locate_folder(self._files, folder) or "")

    def stats(self, limit: int, progress: Progress = NO_PROGRESS) -> VaultStats:
        """Return statistics of the vault, with ``limit`` of the largest folders and of the problems."""
        stats = self._index.stats(limit, progress)
        templates = self._templates()
        if not templates or not self._files.is_folder(VaultPath(templates)):
            return stats
        todo, done = (
            len(self._index.tasks(TaskFilter(is_done=is_done), None, VaultPath(templates), progress))
            for is_done in (False, True)
        )
        return stats._replace(tasks_open=stats.tasks_open - todo, tasks_done=stats.tasks_done - done)

    def link_graph(self, progress: Progress = NO_PROGRESS) -> LinkGraph:
        """Return the graph of all links between notes, and from notes to attachments."""
        return self._index.link_graph(progress)

    def folder_tree(self, folder: str, depth: int, limit: int, progress: Progress = NO_PROGRESS) -> list[Branch]:
        """Return the tree of folders below ``folder`` with counts, itself first. See ``insights.listing``.

        Folders without any file are not in it. Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        place = locate_folder(self._files, folder)
        return folder_tree(self._index.folders(place, progress), place or "", depth, limit)

    def folders_below(self, folder: str, progress: Progress = NO_PROGRESS) -> list[str]:
        """Return the paths of all folders below ``folder``, also of those without any file, as they are on the disk.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        place = locate_folder(self._files, folder)
        inner = (
            VaultPath(path) for path, _ in asking(progress, self._files.walk_folders(place)) if path != (place or "")
        )
        return [path for path in inner if self._files.is_folder(path)]

    def columns(
        self, paths: Iterable[VaultPath], names: Sequence[str], progress: Progress = NO_PROGRESS
    ) -> list[dict[str, PropertyValue]]:
        """Return of each note what it has of the columns asked for, as its file is now. See ``insights.listing``."""
        values: list[dict[str, PropertyValue]] = []
        for path in asking(progress, paths):
            try:
                text = plain_text(self._files.read(path).data)
            except VaultError:  # it is gone by now, or cannot be read
                text = ""
            values.append(columns_of(path, text, names) if text else {})
        return values

    def related(self, name: str, limit: int, progress: Progress = NO_PROGRESS) -> tuple[VaultPath, list[Related]]:
        """Return the path of the note that ``name`` means, and the notes most related to it. See ``insights.similar``.

        Raises VaultError as ``locate`` does.
        """
        from vaultwire.vault.insights.similar import related_notes  # noqa: PLC0415 - rarely needed, here and below

        path = locate(self._files, self._index, name, progress)
        text = plain_text(self._files.read(path).data)
        return path, related_notes(self._index, path, text, parse_note(text).tags, limit, progress)

    def suggested_links(
        self, name: str, limit: int, progress: Progress = NO_PROGRESS
    ) -> tuple[VaultPath, list[SuggestedLink]]:
        """Return the path of the note that ``name`` means, and the notes that it might be linked with, the best first.

        Where the person has named a model, notes near in meaning are among them. See ``insights.similar``. Raises
        VaultError as ``locate`` does.
        """
        from vaultwire.vault.insights.similar import related_notes, suggested_links  # noqa: PLC0415

        path = locate(self._files, self._index, name, progress)
        text = plain_text(self._files.read(path).data)
        meaning = self._bench.meaning
        near = () if meaning is None else meaning.near_note(path, progress)
        related = related_notes(self._index, path, text, parse_note(text).tags, _ALL_RELATED, progress)
        return path, suggested_links(self._index, path, text, related, near, limit, progress)

    def similar_tags(self, folder: str, progress: Progress = NO_PROGRESS) -> list[SimilarTags]:
        """Return the tags below ``folder`` that may be meant as one. See ``insights.similar``."""
        from vaultwire.vault.insights.similar import similar_tags  # noqa: PLC0415 - rarely needed

        return similar_tags(self.count_tags(folder, progress))

    def similar_notes(
        self, folder: str, progress: Progress = NO_PROGRESS, *, by_name: bool = True, by_text: bool = True
    ) -> Listed[SimilarNotes]:
        """Return the notes below ``folder`` that may be one note twice, the surest first.

        ``by_name``: of the same bytes, or by their names. ``by_text``: of nearly the same text; that reads every note that
        has changed since the last time; where the person has named a model, also of the same meaning. Copies that
        sync programs made are not compared: ``check`` names them. See ``insights.similar``.
        """
        from vaultwire.vault.insights import similar  # noqa: PLC0415 - rarely needed

        place = locate_folder(self._files, folder)
        copies = {copy.path for copy in conflict_copies(self.paths(progress)) if copy.has_original}
        stats = [stat for stat in self._index.stats_of_notes(place, progress) if stat.path not in copies]
        alike = similar.similar_content(self._files, stats, self._bench.sketches, progress) if by_text else []
        if by_text and self._bench.meaning is not None:
            pairs = self._bench.meaning.same_meaning({stat.path for stat in stats}, progress)
            alike += similar.same_meaning(pairs, alike)
        if not by_name:
            return listed(alike)
        shown = {stat.path for stat in stats}
        same = [[stat for stat in each if stat.path in shown] for each in self._index.same_content(progress)]
        groups = similar.same_content(group for group in same if len(group) > 1)
        known = [{*group.notes} for group in groups]
        alike = [group for group in alike if not any({*group.notes} <= notes for notes in known)]
        return listed([*groups, *alike, *similar.similar_names(stat.path for stat in stats)])

    def parse_days(self, text: str) -> Days:
        """Return the day, week … that a caller means, with weeks as the person's weekly notes count them.

        Raises VaultError (INVALID_ARGUMENTS).
        """
        from vaultwire.vault.settings.obsidian_settings import has_iso_weeks  # noqa: PLC0415 - as below

        return parse_days(text, self._bench.now().date(), iso_weeks=has_iso_weeks(self._settings.get()))

    def periodic_note(self, when: str, progress: Progress = NO_PROGRESS) -> PeriodicNote:
        """Return the note of a day, week … by Obsidian's settings, even if there is none yet, and those before and after it.

        ``when`` is as for ``parse_days``. Raises VaultError: INVALID_ARGUMENTS for what is not a date, and as
        ``periodic_note_path`` does if the settings are invalid.
        """
        from vaultwire.vault.settings import obsidian_settings  # noqa: PLC0415 - only periodic notes need it

        settings = self._settings.get()
        days = self.parse_days(when)
        path, exists = self._files.spell(obsidian_settings.periodic_note_path(settings, days))
        others = [
            (its_days.first, other)
            for other in self._index.paths(progress)
            # All of them are equally deep in folders. To parse every note's path in a large vault would take a second.
            if other.count("/") == path.count("/")
            and is_note(other)
            and (its_days := obsidian_settings.days_of_note(settings, days.period, other))
        ]
        previous = max((each for each in others if each[0] < days.first), default=(None, None))
        following = min((each for each in others if each[0] > days.first), default=(None, None))
        template = None
        try:
            if named := obsidian_settings.periodic_template_path(settings, days.period):
                spelt, is_there = self._files.spell(named)
                template = spelt if is_there else None
        except VaultError:  # the settings name no note of the vault
            pass
        return PeriodicNote(days.period, days.first, path, exists, previous[1], following[1], template)

    def daily_notes(self, when: str, progress: Progress = NO_PROGRESS) -> list[tuple[date, VaultPath | None]]:
        """Return the days of some time, the earliest first, each with the path of its daily note; None if it has none.

        ``when`` is as for ``days_between`` or ``parse_days``. Raises VaultError as these and ``periodic_note_path`` do, and
        INVALID_ARGUMENTS with ``most`` in its details for more than a year.
        """
        from vaultwire.vault.settings.obsidian_settings import periodic_note_path  # noqa: PLC0415 - as above

        days = days_between(when, self.parse_days) or self.parse_days(when)
        length = (days.last - days.first).days + 1
        if length > _MAX_DAYS:
            raise VaultError(
                INVALID_ARGUMENTS, f"{when!r} is {length} days; ask for at most {_MAX_DAYS}.", most=_MAX_DAYS
            )
        settings = self._settings.get()
        notes: list[tuple[date, VaultPath | None]] = []
        for number in asking(progress, range(length)):
            day = days.first + timedelta(number)
            path, exists = self._files.spell(periodic_note_path(settings, Days("day", day, day)))
            notes.append((day, path if exists else None))
        return notes
