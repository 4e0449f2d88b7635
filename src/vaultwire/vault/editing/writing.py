"""Writing and deleting whole notes, and making new files: each is made from the bytes that were read under the vault's lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from vaultwire.markdown import edits
from vaultwire.markdown.inline import linkpath_written
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.days import parse_days
from vaultwire.vault.disk.contents import etag_of, plain_text, to_bytes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import (
    MAX_NAME_BYTES,
    TRASH,
    fold,
    is_note,
    is_rooted,
    parse_note_path,
    parse_path,
    says_folder,
)
from vaultwire.vault.editing.workbench import OTHER_LINKS, Asked, Done, Match, Workbench, confirmation_of_removal
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    STALE_EDIT,
    VaultError,
)
from vaultwire.vault.links.note_lookup import candidate_paths, find
from vaultwire.vault.plans.context import BOM, PlanContext, decode_note, with_bom
from vaultwire.vault.plans.creating import (
    FilePlan,
    NewNote,
    OnCollision,
    below,
    link_in,
    plan_append_periodic,
    plan_attachment,
    plan_create,
    plan_file,
    plan_insert_template,
)
from vaultwire.vault.plans.moving import check_name_is_free, place_of_note, plan_arrival
from vaultwire.vault.settings.obsidian_settings import has_iso_weeks
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath, WriteMode

if TYPE_CHECKING:
    from vaultwire.bases.base_edits import ViewEdit


_EDITS: dict[str, Callable[[str, str], str]] = {
    "overwrite": edits.rewrite,
    "append": edits.append,
    "prepend": edits.prepend,
}


class Written(NamedTuple):
    """The result of a write. ``etag`` and ``size`` are the note's as it is now; of a dry run, as they would be.

    ``created``: the note is new. ``changed`` is False if the file held exactly this already.
    """

    path: VaultPath
    etag: str
    size: int
    created: bool
    changed: bool
    done: Done

    @property
    def also(self) -> list[VaultPath]:
        """The other files that it edited, so that their links still lead to the same targets."""
        return self.done.other_edits(self.path)


class Deleted(NamedTuple):
    """The result of a delete. ``trash_path`` is the file's path now, None if it was deleted permanently."""

    path: VaultPath
    trash_path: VaultPath | None
    done: Done


class Made(NamedTuple):
    """A file that was made or added to, and the change. ``link`` embeds an attachment; empty for notes.

    ``shown_in`` is the note that shows the attachment now.
    """

    path: VaultPath
    is_new: bool
    link: str
    done: Done
    shown_in: VaultPath | None = None


class Embedding(NamedTuple):
    """The note that is to show a new attachment, and the heading below which; an empty one means the note's end."""

    note: str
    section: str = ""
    if_match: str | None = None


class _Given(NamedTuple):
    """A write as a caller asks for it. See ``Writing.write``."""

    name: str
    content: str
    mode: WriteMode
    if_match: Match
    dry_run: bool
    keeps_frontmatter: bool


class Writing:
    """What one caller writes, deletes and makes in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._files = bench.files

    def write(
        self,
        name: str,
        content: str,
        mode: WriteMode,
        if_match: Match = None,
        progress: Progress = NO_PROGRESS,
        *,
        dry_run: bool = False,
        keeps_frontmatter: bool = False,
    ) -> Written:
        """Write a note. ``create`` makes a new one; ``overwrite`` makes it or replaces its text; the others add lines.

        Outside what changes, the file keeps its bytes: BOM, line ends, final line end, mode. With ``if_match`` (an etag)
        the write happens only if the note still is what the caller read; see ``Mergeable``.

        Raises VaultError: NOTE_EXISTS, FILE_NOT_FOUND, STALE_EDIT, NOT_UTF8, TOO_LARGE, and those of naming a path.
        """
        to_bytes(content)  # refuses bad text before anything waits for the lock
        with self._bench.locked(progress) as context:
            given = _Given(name, content, mode, if_match, dry_run, keeps_frontmatter)
            if mode in ("append", "prepend"):
                return self._edit(context, context.locate(name), given)
            path, exists = self._place(context, name, mode)
            if not exists:
                return self._create(context, path, given)
            if mode == "create":
                raise VaultError(
                    NOTE_EXISTS,
                    f"{path!r} {context.files.how_taken(path)}. Use mode 'append' or 'prepend' to add to it, 'overwrite' to "
                    "replace its text.",
                    path=path,
                )
            return self._edit(context, path, given)

    def delete(
        self,
        name: str,
        *,
        permanent: bool,
        if_match: str | None = None,
        progress: Progress = NO_PROGRESS,
        dry_run: bool = False,
    ) -> Deleted:
        """Move a note or attachment to the vault's ``.trash``, or delete it permanently.

        Raises VaultError as ``locate_file`` does; TOO_LARGE for an attachment that the journal cannot keep.
        """
        with self._bench.locked(progress) as context:
            path = context.locate_file(name)
            candidates = candidate_paths(name) if is_note(path) else [parse_path(linkpath_written(name))]
            if permanent and fold(path) not in map(fold, candidates):
                kind = "a note" if is_note(path) else "a file"
                raise VaultError(
                    INVALID_ARGUMENTS,
                    f"To delete {kind} permanently, give its whole path: {name!r} means {path!r}.",
                    path=path,
                )
            steps: list[Step]
            # A recording may be too large to read, and need not be read to be moved.
            data = self._bench.read(path, if_match) if permanent or if_match or is_note(path) else b""
            if permanent:
                asked = Asked(confirmation=confirmation_of_removal(self._files.name, path, data))
                steps = [Write(path, data, None)]
                return Deleted(path, None, self._bench.finish(steps, [], progress, dry_run=dry_run, asked=asked))
            trash_path = free_trash_path(self._files, path)
            steps = [Move(path, trash_path)]
            return Deleted(path, trash_path, self._bench.finish(steps, [], progress, dry_run=dry_run))

    def _place(self, context: PlanContext, name: str, mode: WriteMode) -> tuple[VaultPath, bool]:
        """Return the path of the note to write, and whether it exists: one at exactly this path, else a new note's place."""
        written = linkpath_written(name)
        is_exact = is_rooted(written)
        if not is_exact:
            path, exists = self._files.spell(parse_note_path(written))
            if exists:
                return path, True
        path, exists = self._files.spell(place_of_note(context, name))
        if mode == "overwrite" and not is_exact:
            _check_not_elsewhere(context, path, name)
        return path, exists

    def _create(self, context: PlanContext, path: VaultPath, new: _Given) -> Written:
        is_bare = new.mode == "create" and not says_folder(linkpath_written(new.name))
        if is_bare:
            check_name_is_free(context, new.name, path)
        if new.if_match is not None:
            raise VaultError(STALE_EDIT, f"There is no note {path!r} any more, so if_match cannot hold.", path=path)
        data = to_bytes(new.content)
        relinked = [] if is_bare else plan_arrival(context, path)  # no other file has a bare name
        steps: list[Step] = [Write(path, None, data), *relinked]
        asked = Asked(f"Making {path!r}", OTHER_LINKS)
        done = self._bench.finish(steps, [], context.progress, dry_run=new.dry_run, asked=asked)
        return Written(path, etag_of(data), len(data), created=True, changed=True, done=done)

    def _edit(self, context: PlanContext, path: VaultPath, new: _Given) -> Written:
        def change(before: bytes) -> bytes:
            content = new.content.removeprefix(BOM) if before.startswith(BOM.encode()) else new.content
            return with_bom(to_bytes(_EDITS[new.mode](decode_note(path, before), content), before), before)

        is_overwritten = new.mode == "overwrite"
        before, data, notices = self._bench.edit(path, new.if_match, change, is_overwritten=is_overwritten)
        asked = Asked(keeps_frontmatter=new.keeps_frontmatter)
        steps = [Write(path, before, data)]
        done = self._bench.finish(steps, notices, context.progress, dry_run=new.dry_run, asked=asked)
        return Written(path, etag_of(data), len(data), created=False, changed=data != before, done=done)

    # ------------------------------------------------------------------ new files, templates (``plans.creating``)

    def create(
        self,
        new: NewNote,
        progress: Progress,
        *,
        dry_run: bool,
        may_have_namesake: bool = False,
        remarks: Callable[[VaultPath, str], list[str]] | None = None,
    ) -> Made:
        """Make a note, from a template if one is named. See ``plan_create``.

        A name without a folder that a note elsewhere has counts as taken, unless it ``may_have_namesake``. ``remarks`` gives
        notices on the note, by its path and text, before it is there.
        """
        with self._bench.locked(progress) as context:
            plan = plan_create(context, new, self._bench.now(), may_have_namesake=may_have_namesake)
            if remarks is not None:
                (text,) = (step.after for step in plan.steps if isinstance(step, Write) and step.path == plan.target)
                plan.notices += remarks(plan.target, plain_text(text or b""))
            return self._finish_new(context, plan, dry_run=dry_run)

    def create_base(
        self,
        name: str,
        search: str,
        changes: Mapping[str, PropertyValue],
        views: Sequence[ViewEdit],
        progress: Progress,
        *,
        dry_run: bool,
    ) -> Made:
        """Make a base. See ``create_file``, and ``new_base_text`` for what it says."""
        from vaultwire.vault.editing.base_texts import new_base_text  # noqa: PLC0415 - most callers have no base

        return self.create_file(name, new_base_text(search, changes, views), "error", progress, dry_run=dry_run)

    def create_file(
        self,
        name: str,
        text: str,
        on_collision: OnCollision | Literal["overwrite"],
        progress: Progress,
        *,
        dry_run: bool,
    ) -> Made:
        """Make a base or canvas with this text. Where it goes: as a new note. See ``plan_file``."""
        with self._bench.locked(progress) as context:
            return self._finish_new(context, plan_file(context, name, text, on_collision), dry_run=dry_run)

    def append_periodic(
        self,
        when: str,
        content: str,
        heading: str,
        progress: Progress,
        *,
        dry_run: bool,
        may_have_namesake: bool = False,
    ) -> Made:
        """Add lines to the note of a day, week … (``parse_days``), which is made if it is not there.

        See ``plan_append_periodic``.
        """
        now = self._bench.now()
        with self._bench.locked(progress) as context:
            days = parse_days(when, now.date(), iso_weeks=has_iso_weeks(context.settings))
            plan = plan_append_periodic(context, days, content, now, heading, may_have_namesake=may_have_namesake)
            return self._finish_new(context, plan, dry_run=dry_run)

    def insert_template(
        self,
        name: str,
        template: str,
        heading: str,
        *,
        at_top: bool,
        if_match: str | None,
        progress: Progress,
        dry_run: bool,
    ) -> Made:
        """Put a template into a note: below a heading, or at the top or end of its text. See ``plan_insert_template``."""
        with self._bench.locked(progress) as context:
            path = context.locate(name)
            self._bench.read(path, if_match)
            place = below(heading, path) if heading.strip() else edits.prepend if at_top else edits.append
            plan = plan_insert_template(context, path, template, self._bench.now(), place)
            return self._finish_new(context, plan, dry_run=dry_run)

    @property
    def max_attachment_bytes(self) -> int:
        """How large an attachment may be."""
        return self._bench.max_attachment_bytes

    def attach(
        self,
        name: str,
        data: bytes,
        beside: str,
        embedding: Embedding | None,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> Made:
        """Save an attachment, and show it in a note if that is wanted: one change. See ``plan_attachment``."""
        with self._bench.locked(progress) as context:
            note = None if embedding is None else context.locate(embedding.note)
            plan = plan_attachment(context, name, data, self._bench.max_attachment_bytes, beside or note or "")
            if embedding is None or note is None:
                return self._finish_new(context, plan, dry_run=dry_run)
            before = self._bench.read(note, embedding.if_match)
            link = plan.link if not beside.strip() else link_in(context, note, plan.target)
            place = below(embedding.section, note) if embedding.section.strip() else edits.append
            after = with_bom(to_bytes(place(decode_note(note, before), link), before), before)
            steps = [*plan.steps, Write(note, before, after)]
            done = self._bench.finish(steps, plan.notices, progress, dry_run=dry_run)
            return Made(plan.target, True, link, done, note)

    def _finish_new(self, context: PlanContext, plan: FilePlan, *, dry_run: bool) -> Made:
        asked = Asked(f"Making {plan.target!r}", OTHER_LINKS) if plan.is_new else Asked()
        done = self._bench.finish(plan.steps, plan.notices, context.progress, dry_run=dry_run, asked=asked)
        return Made(plan.target, plan.is_new, plan.link, done)


def _check_not_elsewhere(context: PlanContext, path: VaultPath, name: str) -> None:
    """Refuse to overwrite a note by a part of its path: the caller may mean that note, or a new one."""
    elsewhere = find(context.files, context.index, name, context.progress)
    if elsewhere is None or elsewhere == path:
        return
    raise VaultError(
        AMBIGUOUS_NAME,
        f"There is no {path!r}, but a note of that name is {elsewhere!r}. Give that path to overwrite it, "
        "or use mode 'create' to make a new note.",
        name=name,
        candidates=[elsewhere],
    )


def free_trash_path(files: Files, path: VaultPath) -> VaultPath:
    """Return a free path in the vault's ``.trash`` for a file. Like Obsidian, number a name that is taken, from 2."""
    name, dot, ending = path.rpartition("/")[2].rpartition(".")
    name, suffix = (name, dot + ending) if name else (ending, "")
    number = 1
    while True:
        numbered = suffix if number == 1 else f" {number}{suffix}"
        while len(name.encode()) + len(numbered.encode()) > MAX_NAME_BYTES:
            name = name[:-1]
        free = VaultPath(f"{TRASH}/{name}{numbered}")
        if not files.is_taken(free):
            return free
        number += 1
