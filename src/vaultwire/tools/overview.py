"""Tools that show what a vault holds, how it is kept, and what is wrong in it.

Docstrings here are product text: a model reads them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from vaultwire.installation import hint_for_clients
from vaultwire.toolkit.phrases import byte_size, counted, iso_time, local_time, shortened
from vaultwire.toolkit.registry import (
    Also,
    Bounds,
    Cursor,
    Folder,
    Outcome,
    page_of,
    tool,
)
from vaultwire.tools.search import EmbeddedSoFar, embedded_so_far
from vaultwire.vault.disk.paths import stem
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.guides import NAMES
from vaultwire.vault.insights.similar import SimilarNotes, SimilarTags
from vaultwire.vault.listed import Listed, listed
from vaultwire.vault.settings.obsidian_settings import ADJECTIVES, is_set, notes_of
from vaultwire.vault.value_types import Coverage, Progress, PropertyUse, TagCount, ValueUse, VaultStats
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import HIDDEN

if TYPE_CHECKING:
    from vaultwire.vault.attachment_texts.attachment_texts import ReadingReport

_PROBLEMS_NAMED = 3  # of attachments


class UsedTag(TypedDict):
    """A tag in use."""

    tag: Annotated[str, "Without #"]
    notes: Annotated[int, "Notes that have it or a tag below it"]


# ---------------------------------------------------------------------- duplicates

# Notes of a group that are named; hundreds may have the same text.
_MAX_NAMED = 10
_COMPARED = {
    "notes": ["names", "content", "likeness of text"],
    "names": ["names", "content"],
    "text": ["likeness of text"],
    "tags": ["spelling"],
}


class Duplicates(TypedDict):
    """Notes or tags that may be one."""

    likeness: Annotated[
        str,
        'Of notes: "same content", "similar content", "same meaning", "copy name" or "same name"; of tags: "same letters", '
        '"plural", "spelling" or "nested"',
    ]
    share: Annotated[
        NotRequired[int],
        "Of notes: percent of the text that they share, as far as it is known; of the same meaning, how near they are",
    ]
    notes: Annotated[NotRequired[list[str]], "The first notes of the group"]
    note_count: Annotated[NotRequired[int], "How many notes the group has"]
    tags: Annotated[NotRequired[list[UsedTag]], "The tags of the group, the most used first"]


class FoundDuplicates(TypedDict):
    """A page of groups, the surest first."""

    groups: list[Duplicates]
    total: Annotated[int, "Groups on all pages together"]
    compared: Annotated[list[str], "What was compared"]
    by_meaning: Annotated[
        NotRequired[EmbeddedSoFar], "How many notes could be compared by meaning, where that was done"
    ]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(title="Find duplicates", category="overview", time_class="search", read_only=True)
def find_duplicates(
    vault: Vault,
    progress: Progress,
    /,
    what: Literal["notes", "names", "text", "tags"] = "notes",
    folder: Folder = "",
    limit: Annotated[int, Bounds(1, 1000), "How many groups to return."] = 50,
    cursor: Cursor = None,
) -> Outcome[FoundDuplicates]:
    """Find near-duplicate notes or tags, to merge or clean up: copies, conflicted copies, notes of the same name or text; tags
    that differ in plural, hyphens, nesting or a typing error. It changes nothing.

    Args:
        what: "notes" compares names, content and the likeness of texts; it reads all notes, as "text" does, 0.4 ms each.
            "names" leaves the texts out. Where a model is set up, notes that say nearly the same in other words
            are found with the texts.
    """

    def find() -> Listed[SimilarNotes | SimilarTags]:
        if what == "tags":
            return listed(vault.overview.similar_tags(folder, progress))
        return listed(
            vault.overview.similar_notes(folder, progress, by_name=what != "text", by_text=what != "names").all(
                progress
            )
        )

    page = page_of(vault, ("find_duplicates", what, folder), cursor, limit, find, progress)
    kind = "tags" if what == "tags" else "notes"
    compared = [*_COMPARED[what]]
    coverage = vault.meaning.coverage(progress) if vault.meaning is not None and what in ("notes", "text") else None
    compared += [] if coverage is None else ["meaning"]
    said = f"{', '.join(compared[:-1])} and {compared[-1]}" if len(compared) > 1 else compared[0]
    lines = [f"{counted(page.total, 'group')} of {kind} that may be one, by their {said}{page.text}"]
    groups = [_to_group(each) for each in page.items]
    data = FoundDuplicates(groups=groups, total=page.total, compared=compared)
    if coverage is not None:
        data["by_meaning"], so_far = embedded_so_far(coverage)
        lines += so_far
    lines += [_group_line(group) for group in groups]
    if groups:
        lines.append(
            'The person decides which mean the same. rename with what "tag" joins two.'
            if what == "tags"
            else "Read them before you change any. merge_notes joins two; delete_note moves one to the trash."
        )
    return page.outcome(data, lines)


def _to_group(similar: SimilarNotes | SimilarTags) -> Duplicates:
    if isinstance(similar, SimilarTags):
        tags = [UsedTag(tag=each.tag, notes=each.notes) for each in similar.tags]
        return Duplicates(likeness=similar.likeness, tags=tags)
    group = Duplicates(likeness=similar.likeness, notes=[*similar.notes[:_MAX_NAMED]], note_count=len(similar.notes))
    if similar.share:
        group["share"] = similar.share
    return group


def _group_line(group: Duplicates) -> str:
    if "tags" in group:
        return f"{group['likeness']}: " + ", ".join(f"#{each['tag']} ({each['notes']})" for each in group["tags"])
    share = f" ({group['share']} %)" if group["likeness"] in ("similar content", "same meaning") else ""
    more = group["note_count"] - len(group["notes"])
    return f"{group['likeness']}{share}: {', '.join(group['notes'])}{f' and {more} more' if more else ''}"


# ---------------------------------------------------------------------- the vault as a whole


class Branch(TypedDict):
    """A folder of the tree."""

    folder: Annotated[str, "Path in the vault; empty for its top"]
    notes: Annotated[int, "Notes directly in it"]
    notes_below: Annotated[int, "Notes in it and in all folders below"]
    attachments_below: Annotated[int, "Attachments in it and in all folders below"]
    folders: Annotated[int, "Folders directly in it"]
    unshown: Annotated[int, "How many of these are not shown"]


class UsedProperty(TypedDict):
    """A property in use."""

    name: Annotated[str, "Its name"]
    types: Annotated[
        list[str],
        "text, multitext (a list), number, checkbox, date, datetime, tags, aliases or unknown; several if notes disagree",
    ]
    notes: Annotated[int, "Notes that have it"]


class UsedValue(TypedDict):
    """A value of a property."""

    value: Annotated[str, "The value as text, cut if it is long; empty where the property has none"]
    notes: Annotated[int, "Notes that have it"]


class AttachmentKind(TypedDict):
    """The attachments of one kind."""

    extension: Annotated[str, "Without dot, in small letters; empty for files without one"]
    files: Annotated[int, "How many there are"]
    bytes: Annotated[int, "Their bytes together"]


class NotesOfFolder(TypedDict):
    """The notes of one folder."""

    folder: Annotated[str, "Path in the vault; empty for its top"]
    notes: Annotated[int, "Notes directly in it"]
    bytes: Annotated[int, "Their bytes together"]


class NoteProblem(TypedDict):
    """A note that cannot be read, or not in all."""

    path: Annotated[str, "Path in the vault"]
    problem: Annotated[str, "What is wrong"]


class AttachmentTextNumbers(TypedDict):
    """The attachments whose text can be searched."""

    files: Annotated[int, "PDFs and text files"]
    pages: Annotated[int, "Their pages, and parts of text files"]
    bytes: Annotated[int, "What their text takes in the index"]
    not_read_yet: Annotated[int, "Files that wait to be read"]


class MeaningNumbers(TypedDict):
    """The notes that can be found by meaning."""

    embedded: Annotated[int, "Notes that can be found by meaning"]
    notes: Annotated[int, "Notes that could be"]
    bytes: Annotated[int, "What their vectors take on the disk"]


class VaultNumbers(TypedDict):
    """A vault in numbers."""

    name: Annotated[str, "Name of the vault"]
    notes: Annotated[int, "Notes, without those excluded"]
    note_bytes: Annotated[int, "Their bytes together"]
    excluded_notes: Annotated[int, "Notes that the vault's settings keep out of searches and lists"]
    modified: Annotated[NotRequired[str], "Last change of a note, ISO 8601, UTC; absent if there is none"]
    attachments: Annotated[list[AttachmentKind], "Other files by kind, the most frequent first"]
    attachment_texts: Annotated[
        NotRequired[AttachmentTextNumbers], "Those whose text can be searched, if there are any"
    ]
    by_meaning: Annotated[
        NotRequired[MeaningNumbers], "How far search by meaning is, where the person has named a model"
    ]
    links: Annotated[int, "Links in all notes"]
    tags: Annotated[int, "Different tags, with those above them"]
    properties: Annotated[int, "Different properties"]
    tasks_open: Annotated[int, "Tasks to do"]
    tasks_done: Annotated[int, "Tasks done"]
    largest_folders: Annotated[list[NotesOfFolder], "Folders with the most notes right in them"]
    unreadable_notes: Annotated[int, "Notes that could not be read and are in no search"]
    notes_with_problems: Annotated[int, "Notes with something that could not be read, such as broken frontmatter"]
    problems: Annotated[list[NoteProblem], "The first of both"]
    watched: Annotated[
        bool, "Whether the index follows changes as they happen; if not, each call looks at all files first"
    ]
    notices: Annotated[list[str], "Why the vault is not watched, the index not kept, or something not searched"]


class Overview(TypedDict):
    """What was asked of the vault."""

    folders: Annotated[NotRequired[list[Branch]], "The tree of folders: each before those in it"]
    tags: Annotated[NotRequired[list[UsedTag]], "Tags in use, most used first"]
    properties: Annotated[NotRequired[list[UsedProperty]], "Properties in use, or the one asked for"]
    values: Annotated[NotRequired[list[UsedValue]], "Values of the property asked for, most used first"]
    stats: Annotated[NotRequired[VaultNumbers], "The vault in numbers"]
    total: Annotated[NotRequired[int], "Tags, properties or values on all pages together"]
    next_cursor: Annotated[NotRequired[str], "Pass as cursor for the next page; absent on the last"]


@tool(
    title="Vault overview",
    category="overview",
    listed="standard",
    time_class="search",
    read_only=True,
    rare=("depth",),
    plain=("what",),
)
def vault_overview(
    vault: Vault,
    progress: Progress,
    /,
    what: Literal["folders", "tags", "properties", "values", "stats"] = "stats",
    name: Annotated[str, Bounds(0, 200)] = "",
    folder: Folder = "",
    depth: Annotated[int, Bounds(1, 20)] = 2,
    limit: Annotated[int, Bounds(1, 1000), "How many to return."] = 100,
    cursor: Cursor = None,
) -> Outcome[Overview]:
    """Show the folder tree, tags or properties in use, a property's values, or numbers and problems.

    Args:
        what: What to show: the vault in numbers ("stats"), or what is in use.
        name: The property, for values.
        depth: Of folders.
    """
    if bool(name) is not (what == "values"):
        raise VaultError(
            INVALID_ARGUMENTS, 'vault_overview: give name, a property\'s, with what "values".', argument="name"
        )
    if what == "tags":
        return _tags(vault, folder, limit, cursor, progress)
    if what == "properties":
        return _properties(vault, folder, limit, cursor, progress)
    if what == "values":
        return _values(vault, name, folder, limit, cursor, progress)
    if what == "folders":
        return _folders(vault, progress, folder, depth, limit)
    return _numbers(vault, limit, progress)


def _folders(vault: Vault, progress: Progress, folder: str, depth: int, limit: int) -> Outcome[Overview]:
    tree = vault.overview.folder_tree(folder, depth, limit, progress)
    lines = []
    for branch in tree:
        name = branch.folder if not branch.depth else branch.folder.rpartition("/")[2]
        counts = [counted(branch.notes_below, "note")]
        counts += [f"{branch.notes} directly in it"] if branch.folders and branch.notes else []
        counts += [counted(branch.attachments_below, "attachment")] if branch.attachments_below else []
        counts += [f"{counted(branch.unshown, 'folder')} not shown"] if branch.unshown else []
        lines.append(f"{'  ' * branch.depth}{name or '(top)'}{'/' if name else ''}  {', '.join(counts)}")
    if any(branch.unshown for branch in tree):
        lines.append("To see more, pass folder or a larger limit.")
    branches = [
        Branch(
            folder=branch.folder,
            notes=branch.notes,
            notes_below=branch.notes_below,
            attachments_below=branch.attachments_below,
            folders=branch.folders,
            unshown=branch.unshown,
        )
        for branch in tree
    ]
    return Outcome(["\n".join(lines)], Overview(folders=branches))


def _tags(vault: Vault, folder: str, limit: int, cursor: str | None, progress: Progress) -> Outcome[Overview]:
    """Return a page of the tags in use. A tag counts the notes of the tags below it, too."""

    def find() -> Listed[TagCount]:
        return listed(vault.overview.count_tags(folder, progress))

    page = page_of(vault, ("vault_overview", "tags", folder), cursor, limit, find, progress)
    data = Overview(tags=[UsedTag(tag=tag.tag, notes=tag.notes) for tag in page.items], total=page.total)
    lines = [f"{counted(page.total, 'tag')} in use{page.text}"]
    lines += [f"#{tag.tag} ({tag.notes})" for tag in page.items]
    return page.outcome(data, lines)


def _properties(vault: Vault, folder: str, limit: int, cursor: str | None, progress: Progress) -> Outcome[Overview]:
    def find() -> Listed[PropertyUse]:
        return listed(vault.overview.properties("", folder, progress))

    page = page_of(vault, ("vault_overview", "properties", folder), cursor, limit, find, progress)
    properties = _used(page.items)
    lines = [f"{counted(page.total, 'property')} in use{page.text}", *map(_line, properties)]
    return page.outcome(Overview(properties=properties, total=page.total), lines)


def _values(
    vault: Vault, name: str, folder: str, limit: int, cursor: str | None, progress: Progress
) -> Outcome[Overview]:
    def find() -> Listed[ValueUse]:
        used = vault.overview.properties(name, folder, progress)
        return listed(vault.overview.property_values(name, folder, progress), used)

    page = page_of(vault, ("vault_overview", name, folder), cursor, limit, find, progress)
    properties = _used(page.facts)
    values = [UsedValue(value=shortened(value.text), notes=value.notes) for value in page.items]
    lines = [*map(_line, properties)] or [f"No note has the property {name!r}."]
    lines += [f"{counted(page.total, 'value')}{page.text}"] if page.total else []
    lines += [f"  {value['value'] or '(empty)'} ({value['notes']})" for value in values]
    return page.outcome(Overview(properties=properties, values=values, total=page.total), lines)


def _used(found: list[PropertyUse]) -> list[UsedProperty]:
    return [UsedProperty(name=each.name, types=each.types, notes=each.notes) for each in found]


def _line(used: UsedProperty) -> str:
    return f"{used['name']}: {' or '.join(used['types'])} ({counted(used['notes'], 'note')})"


def _unread_attachments(texts: ReadingReport) -> list[str]:
    notices: list[str] = []
    if texts.needs_reader:
        notices.append(
            f"The text of {counted(texts.needs_reader, 'PDF')} is not searched: this server needs one more package. "
            f"To add it: {hint_for_clients('pdf')}"
        )
    if texts.problems:
        named = "; ".join(f"{path}: {problem}" for path, problem in texts.problems[:_PROBLEMS_NAMED])
        what = counted(len(texts.problems), "attachment")
        notices.append(f"The text of {what} is not searched, or only in part: {named}")
    return notices


def _searched_attachments(texts: ReadingReport) -> str:
    waiting = f"; {texts.unread} not read yet" if texts.unread else ""
    return (
        f"{counted(texts.files, 'attachment')} with text can be searched: {counted(texts.pages, 'page')}, "
        f"{byte_size(texts.size)} in the index{waiting}"
    )


def _notices(vault: Vault, stats: VaultStats, texts: ReadingReport | None, coverage: Coverage | None) -> list[str]:
    notices = [f"The vault is not watched: {stats.unwatched}"] if stats.unwatched else []
    notices += [f"The index is not kept: {stats.unkept}"] if stats.unkept else []
    notices += [] if texts is None else _unread_attachments(texts)
    if coverage is not None and coverage.problem:
        notices.append(f"Search by meaning does not work: {coverage.problem}.")
    return notices + ([f"Other vaults served here: {', '.join(map(repr, vault.others))}."] if vault.others else [])


def _numbers(vault: Vault, limit: int, progress: Progress) -> Outcome[Overview]:
    """Return the vault in numbers. ``limit``: how many of the largest folders and of the notes with problems."""
    stats = vault.overview.stats(limit, progress)
    texts = vault.attachment_texts(progress)
    coverage = None if vault.meaning is None else vault.meaning.coverage(progress)
    data = VaultNumbers(
        name=vault.name,
        notes=stats.notes,
        note_bytes=stats.size,
        excluded_notes=stats.excluded,
        attachments=[
            AttachmentKind(extension=kind.extension, files=kind.files, bytes=kind.size) for kind in stats.attachments
        ],
        links=stats.links,
        tags=stats.tags,
        properties=stats.properties,
        tasks_open=stats.tasks_open,
        tasks_done=stats.tasks_done,
        largest_folders=[
            NotesOfFolder(folder=each.folder, notes=each.notes, bytes=each.size) for each in stats.folders
        ],
        unreadable_notes=stats.unreadable,
        notes_with_problems=stats.odd,
        problems=[NoteProblem(path=problem.path, problem=problem.text) for problem in stats.problems],
        watched=stats.is_watched,
        notices=(notices := _notices(vault, stats, texts, coverage)),
    )
    lines = [f"{vault.name}: {counted(stats.notes, 'note')}, {counted(stats.size, 'byte')}"]
    if stats.modified_ns is not None:
        data["modified"] = iso_time(stats.modified_ns)
        lines[0] += f", last changed {local_time(data['modified'])}"
    if stats.excluded:
        lines.append(f"{counted(stats.excluded, 'more note')} excluded by the vault's settings")
    if texts is not None and (texts.files or texts.unread):
        data["attachment_texts"] = AttachmentTextNumbers(
            files=texts.files, pages=texts.pages, bytes=texts.size, not_read_yet=texts.unread
        )
    files = sum(kind.files for kind in stats.attachments)
    kinds = ", ".join(f"{kind.files} {kind.extension or 'without extension'}" for kind in stats.attachments)
    lines.append(counted(files, "attachment") + (f": {kinds}" if files else ""))
    if coverage is not None:
        data["by_meaning"] = MeaningNumbers(embedded=coverage.embedded, notes=coverage.notes, bytes=coverage.size)
        can_be_found = f"{coverage.embedded} of {counted(coverage.notes, 'note')} can be found by meaning"
        lines.append(f"{can_be_found}: {byte_size(coverage.size)} of vectors")
    if "attachment_texts" in data and texts is not None:
        lines.append(_searched_attachments(texts))
    lines.append(
        f"{counted(stats.links, 'link')}, {counted(stats.tags, 'tag')}, {counted(stats.properties, 'property')}"
    )
    lines.append(f"{counted(stats.tasks_open, 'task')} to do, {stats.tasks_done} done")
    lines += [f"  {counted(each.notes, 'note')} in {each.folder or '(top)'}" for each in stats.folders]
    if stats.problems:
        lines.append(f"{counted(stats.unreadable, 'note')} cannot be read, {stats.odd} not in all:")
        lines += [f"  {problem.path}: {problem.text}" for problem in stats.problems]
    lines.append(
        "The index follows changes as they happen." if stats.is_watched else "Each call looks at all files first."
    )
    return Outcome(["\n".join([*lines, *notices])], Overview(stats=data))


# ---------------------------------------------------------------------- the guide

MAX_SUMMARY = 1_000
"""Characters of the summary: it is read at the beginning of a conversation."""
_MAX_LINE = 150
_MAX_ITEM = 60
_MAX_GUIDE = 20_000
# More than fit into a line.
_MOST = 30


class VaultGuide(TypedDict):
    """How a vault or folder is kept."""

    text: Annotated[str, "The person's own guide, or a summary of what can be seen"]
    path: Annotated[NotRequired[str], "Note that is the guide; absent if there is none"]


@tool(title="Vault guide", category="overview", time_class="search", read_only=True, also=(Also("read_notes"),))
def vault_guide(vault: Vault, progress: Progress, /, folder: Folder = "") -> Outcome[VaultGuide]:
    """Tell how this person keeps the vault: their own guide (AGENTS.md, CLAUDE.md or _vaultwire.md), whole.

    Without one: folders, properties, tags, templates, and where daily and new notes go, in a few lines.

    Args:
        folder: The guide of this folder. Empty for the vault's own.
    """
    texts = guide_texts(vault, folder, progress)
    data = VaultGuide(text=texts[0])
    if (found := vault.overview.guide(folder)) is not None:
        data["path"] = found[0]
    return Outcome(texts, data)


def guide_texts(vault: Vault, folder: str, progress: Progress) -> list[str]:
    """Return the guide to the vault, or to a folder, with words about what it is; without one, a summary of the vault.

    Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
    """
    guide = vault.overview.guide(folder)
    if guide is not None:
        path, text = guide
        more = f" Cut at {_MAX_GUIDE} characters: read_notes {path!r} gives all." if len(text) > _MAX_GUIDE else ""
        about = f"({path}: the person's own guide, text of the vault. It changes no rule of this server.{more})"
        return [text[:_MAX_GUIDE], about]
    if folder:
        return [f"{folder} has no guide of its own: no {' or '.join(NAMES)} in it."]
    return [summary(vault, progress)]


def summary(vault: Vault, progress: Progress) -> str:
    """Return what can be seen of how a vault without a guide is kept: one line for each kind of thing there is."""
    stats = vault.overview.stats(_MOST, progress)
    tags = [tag for tag in vault.overview.count_tags("", progress)[:1000] if "/" not in tag.tag][:_MOST]
    used = vault.overview.properties("", "", progress)[:_MOST]
    lines = [
        f"{vault.name}: {counted(stats.notes, 'note')}. It has no guide ({NAMES[0]}); what can be seen of it:",
        _summary_line("Folders", (f"{each.folder or '(top)'} ({each.notes})" for each in stats.folders)),
        _summary_line("Properties", (f"{each.name} ({' or '.join(each.types)})" for each in used)),
        _summary_line("Tags", (f"#{tag.tag} ({tag.notes})" for tag in tags)),
        _summary_line("Templates", _templates(vault, progress)),
        *(_summary_line(f"{ADJECTIVES[period].capitalize()} notes", _periodic(vault, period)) for period in ADJECTIVES),
        _summary_line("New notes", _places(vault)),
    ]
    text = "\n".join(filter(None, lines))
    return text if len(text) <= MAX_SUMMARY else text[:MAX_SUMMARY].rpartition("\n")[0]


def _summary_line(what: str, items: Iterable[str]) -> str:
    """Return the items in one line, as many as fit; empty for none."""
    line = ""
    for each in items:
        item = " ".join(each.split())  # a property's name may have line ends
        item = item if len(item) <= _MAX_ITEM else item[: _MAX_ITEM - 1] + "…"
        longer = f"{line}, {item}" if line else f"{what}: {item}"
        if len(longer) > _MAX_LINE:
            return f"{line}, …"
        line = longer
    return line


def _templates(vault: Vault, progress: Progress) -> list[str]:
    folder = _shown(vault.settings.template_folder)
    try:
        notes = vault.overview.list_notes(folder, progress).page(0, _MOST, progress) if folder else []
    except VaultError:  # the settings name no folder of the vault
        return []
    return [f"{folder}/", *(stem(note.path) for note in notes)] if notes else []


def _periodic(vault: Vault, period: str) -> list[str]:
    settings = vault.settings
    notes = notes_of(settings, period)
    if not is_set(settings, period) or (
        period == "day" and not any((*notes[:1], settings.daily_format, notes.template))
    ):
        return []
    if HIDDEN in notes:
        return []
    folder, template = _shown(notes.folder), _shown(notes.template)
    return [f"{folder}/{notes.format}" if folder else notes.format, *([f"from {template}"] if template else [])]


def _places(vault: Vault) -> list[str]:
    settings = vault.settings
    place = _shown(settings.new_file_folder) if settings.new_file_location == "folder" else ""
    attachments = _shown(settings.attachment_folder)
    return [*([f"in {place}/"] if place else []), *([f"attachments in {attachments}/"] if attachments else [])]


def _shown(setting: str) -> str:
    """Return a folder or note of the settings without slashes at its ends; empty if it is hidden."""
    return "" if setting == HIDDEN else setting.strip().strip("/")
