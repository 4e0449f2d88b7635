"""Questions about a vault as a whole: lists, counts, conditions, daily notes, the graph of links. It changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.note_text import plain_text
from vaultwire.vault.disk.paths import is_note, lies_in
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.errors import VaultError
from vaultwire.vault.insights.columns import columns_of
from vaultwire.vault.insights.folder_tree import Branch, folder_tree
from vaultwire.vault.insights.related import Related, related_notes
from vaultwire.vault.link_graph import LinkGraph
from vaultwire.vault.links.note_lookup import locate, locate_folder
from vaultwire.vault.listed import Listed, listed
from vaultwire.vault.search.filters import NoteFilterText, TaskFilter, parse_note_filter, property_types
from vaultwire.vault.value_types import (
    NO_PROGRESS,
    DailyNote,
    Listing,
    NamedNote,
    NoteStat,
    Progress,
    PropertyUse,
    TagCount,
    Tagged,
    TaskPlace,
    ValueUse,
    VaultPath,
    VaultStats,
    asking,
)

if TYPE_CHECKING:
    from datetime import date

    from vaultwire.vault.attachments import Attachment, AttachmentFilter
    from vaultwire.vault.insights.similar_notes import SimilarNotes
    from vaultwire.vault.insights.similar_tags import SimilarTags


class Overview:
    """Answers one caller's questions about one vault, mostly from its index."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.files
        self._index = bench.index
        self._settings = bench.settings

    def list_notes(self, folder: str, progress: Progress = NO_PROGRESS) -> Listed[NoteStat]:
        """Return the notes below ``folder`` in path order.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        return self._index.notes(locate_folder(self._files, folder), progress)

    def notes_now(self, folder: str, limit: int, progress: Progress = NO_PROGRESS) -> list[NoteStat]:
        """Return the first notes below a small folder, in path order, from the disk and not from the index.

        Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        found = []
        for note in self._files.walk(locate_folder(self._files, folder)):
            progress.check()
            found.append(note)
        return sorted(found)[:limit]

    def list_files(self, after: str, limit: int, progress: Progress = NO_PROGRESS) -> tuple[list[NoteStat], bool]:
        """Return notes and attachments in path order, beginning after the path ``after``, and whether more follow."""
        later = self._index.files_after(after, limit + 1, progress)
        if later is None:  # looking through the folders is quicker than waiting for the index of a large vault
            later = sorted(file for file in asking(progress, self._files.walk(attachments=True)) if file.path > after)
        return later[:limit], len(later) > limit

    def attachments(
        self, wanted: AttachmentFilter, folder: str, progress: Progress = NO_PROGRESS
    ) -> Listed[Attachment]:
        """Return the attachments below ``folder``, each with the files that use it. See ``list_attachments``."""
        from vaultwire.vault import attachments  # noqa: PLC0415 - only such questions need it

        place = locate_folder(self._files, folder)
        return attachments.list_attachments(self._files, self._index, place, wanted, progress)

    def count_attachments(self, folder: str, progress: Progress = NO_PROGRESS) -> int:
        """Return how many attachments lie below ``folder``."""
        place = locate_folder(self._files, folder)
        paths = self._index.paths(progress)
        return sum(not is_note(path) and (place is None or lies_in(path, place)) for path in paths)

    def paths(self, progress: Progress = NO_PROGRESS) -> list[VaultPath]:
        """Return the path of every note and attachment, in path order."""
        return self._index.paths(progress)

    def recent(self, folder: str, limit: int, progress: Progress = NO_PROGRESS) -> Listing:
        """Return the latest changed notes below ``folder``, the latest first."""
        notes, total = self._index.recent(locate_folder(self._files, folder), limit, progress)
        return Listing(notes, total, total > len(notes))

    def find(self, asked: NoteFilterText, folder: str, progress: Progress = NO_PROGRESS) -> Listed[NamedNote]:
        """Return the notes below ``folder`` that meet the conditions.

        Raises VaultError: INVALID_ARGUMENTS for an invalid condition or time, FILE_NOT_FOUND for the folder.
        """
        wanted = parse_note_filter(asked, self._bench.now().date())
        return self._index.find(wanted, locate_folder(self._files, folder), progress)

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

    def tasks(self, wanted: TaskFilter, path: str, folder: str, progress: Progress = NO_PROGRESS) -> Listed[TaskPlace]:
        """Return the tasks that meet the conditions, in path and line order.

        ``path`` names one note, as for ``locate``; ``""`` means all notes. Raises VaultError as ``locate`` does.
        """
        note = locate(self._files, self._index, path, progress) if path else None
        return self._index.tasks(wanted, note, locate_folder(self._files, folder), progress)

    def stats(self, limit: int, progress: Progress = NO_PROGRESS) -> VaultStats:
        """Return statistics of the vault, with ``limit`` of the largest folders and of the problems."""
        return self._index.stats(limit, progress)

    def link_graph(self, progress: Progress = NO_PROGRESS) -> LinkGraph:
        """Return the graph of all links between notes, and from notes to attachments."""
        return self._index.link_graph(progress)

    def folder_tree(self, folder: str, depth: int, limit: int, progress: Progress = NO_PROGRESS) -> list[Branch]:
        """Return the tree of folders below ``folder`` with counts, itself first. See ``insights.folder_tree``.

        Folders without any file are not in it. Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
        """
        place = locate_folder(self._files, folder)
        return folder_tree(self._index.survey.folders(place, progress), place or "", depth, limit)

    def columns(
        self, paths: Iterable[VaultPath], names: Sequence[str], progress: Progress = NO_PROGRESS
    ) -> list[dict[str, PropertyValue]]:
        """Return of each note what it has of the columns asked for, as its file is now. See ``insights.columns``."""
        found: list[dict[str, PropertyValue]] = []
        for path in asking(progress, paths):
            try:
                text = plain_text(self._files.read(path).data)
            except VaultError:  # it is gone by now, or cannot be read
                text = ""
            found.append(columns_of(path, text, names) if text else {})
        return found

    def related(self, name: str, limit: int, progress: Progress = NO_PROGRESS) -> tuple[VaultPath, list[Related]]:
        """Return the path of the note that ``name`` means, and the notes most related to it. See ``insights.related``.

        Raises VaultError as ``locate`` does.
        """
        path = locate(self._files, self._index, name, progress)
        text = plain_text(self._files.read(path).data)
        return path, related_notes(self._index, path, text, parse_note(text).tags, limit, progress)

    def similar_tags(self, folder: str, progress: Progress = NO_PROGRESS) -> list[SimilarTags]:
        """Return the tags below ``folder`` that may be meant as one. See ``insights.similar_tags``."""
        from vaultwire.vault.insights.similar_tags import similar_tags  # noqa: PLC0415 - rarely needed

        return similar_tags(self.count_tags(folder, progress))

    def similar_notes(self, folder: str, progress: Progress = NO_PROGRESS, *, by_text: bool) -> Listed[SimilarNotes]:
        """Return the notes below ``folder`` that may be one note twice: first those of the same bytes, then by name.

        ``by_text``: by nearly the same text instead. That reads every note. See ``insights.similar_notes``.
        """
        from vaultwire.vault.insights import similar_notes  # noqa: PLC0415 - rarely needed

        place = locate_folder(self._files, folder)
        stats = self._index.survey.notes(place, progress)
        if by_text:
            return listed(similar_notes.similar_content(self._files, stats, progress))
        shown = {stat.path for stat in stats}
        same = [[stat for stat in each if stat.path in shown] for each in self._index.survey.same_content(progress)]
        found = similar_notes.same_content(group for group in same if len(group) > 1)
        return listed([*found, *similar_notes.similar_names(stat.path for stat in stats)])

    def daily_note(self, day: str, progress: Progress = NO_PROGRESS) -> DailyNote:
        """Return the day's note by Obsidian's settings, even if there is none yet, and the daily notes before and after it.

        ``day`` is as for ``daily_notes.parse_day``. Raises VaultError: INVALID_ARGUMENTS for an invalid day, and as
        ``daily_note_path`` does if the settings are invalid.
        """
        from vaultwire.vault.settings import daily_notes  # noqa: PLC0415 - only daily notes need it

        settings = self._settings.get()
        wanted = daily_notes.parse_day(day, self._bench.now().date())
        path, exists = self._files.spell(daily_notes.daily_note_path(settings, wanted))
        days = [
            (its_day, other)
            for other in self._index.paths(progress)
            # All daily notes are equally deep in folders. To parse every note's path in a large vault would take a second.
            if other.count("/") == path.count("/")
            and is_note(other)
            and (its_day := daily_notes.daily_note_day(settings, other))
        ]
        previous = max((each for each in days if each[0] < wanted), default=(None, None))
        following = min((each for each in days if each[0] > wanted), default=(None, None))
        template = None
        try:
            if named := daily_notes.daily_template_path(settings):
                spelt, is_there = self._files.spell(named)
                template = spelt if is_there else None
        except VaultError:  # the settings name no note of the vault
            pass
        return DailyNote(wanted, path, exists, previous[1], following[1], template)

    def daily_notes(self, days: str, progress: Progress = NO_PROGRESS) -> list[tuple[date, VaultPath | None]]:
        """Return the days of a range, the earliest first, each with the path of its daily note; None if it has none.

        ``days`` is as for ``day_ranges.parse_day_range``. Raises VaultError as that and ``daily_note_path`` do.
        """
        from vaultwire.vault.settings import daily_notes  # noqa: PLC0415 - only daily notes need it
        from vaultwire.vault.settings.day_ranges import parse_day_range  # noqa: PLC0415

        settings = self._settings.get()
        found: list[tuple[date, VaultPath | None]] = []
        for day in asking(progress, parse_day_range(days, self._bench.now().date()).days()):
            path, exists = self._files.spell(daily_notes.daily_note_path(settings, day))
            found.append((day, path if exists else None))
        return found
