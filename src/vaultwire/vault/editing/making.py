"""Making new files: notes, daily and weekly … notes, attachments, bases; and putting templates into notes.

Planned by ``plans.creating``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vaultwire.markdown import edits
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.changes.change import Write
from vaultwire.vault.days import parse_days
from vaultwire.vault.disk.contents import plain_text, to_bytes
from vaultwire.vault.editing.workbench import OTHER_LINKS, Asked, Done, Workbench
from vaultwire.vault.plans.context import PlanContext, decode_note, with_bom
from vaultwire.vault.plans.creating import (
    FilePlan,
    NewNote,
    below,
    link_in,
    plan_append_periodic,
    plan_attachment,
    plan_base,
    plan_create,
    plan_insert_template,
)
from vaultwire.vault.settings.obsidian_settings import has_iso_weeks
from vaultwire.vault.value_types import Progress, VaultPath

if TYPE_CHECKING:
    from vaultwire.bases.base_edits import ViewEdit


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


class Making:
    """What one caller makes in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

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
            return self._finish(context, plan, dry_run=dry_run)

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
        """Make a base. Where it goes: as a new note. See ``plan_base``; ``new_base_text`` for what it says."""
        from vaultwire.vault.editing.base_texts import new_base_text  # noqa: PLC0415 - most callers have no base

        text = new_base_text(search, changes, views)
        with self._bench.locked(progress) as context:
            return self._finish(context, plan_base(context, name, text), dry_run=dry_run)

    def rewrite(
        self,
        name: str,
        content: str,
        if_match: str | None,
        progress: Progress,
        *,
        appends: bool,
        dry_run: bool,
        keeps_frontmatter: bool = False,
    ) -> Made:
        """Add lines at the end of a note, or write over its text. See ``edits.append`` and ``edits.rewrite``."""
        with self._bench.locked(progress) as context:
            path = context.locate(name)
            before = self._bench.read(path, if_match, is_overwritten=not appends)
            new = (edits.append if appends else edits.rewrite)(decode_note(path, before), content)
            after = with_bom(to_bytes(new, before), before)
            plan = FilePlan(is_new=False, target=path, steps=[Write(path, before, after)])
            return self._finish(context, plan, dry_run=dry_run, keeps_frontmatter=keeps_frontmatter)

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
            return self._finish(context, plan, dry_run=dry_run)

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
            return self._finish(context, plan, dry_run=dry_run)

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
                return self._finish(context, plan, dry_run=dry_run)
            before = self._bench.read(note, embedding.if_match)
            link = plan.link if not beside.strip() else link_in(context, note, plan.target)
            place = below(embedding.section, note) if embedding.section.strip() else edits.append
            after = with_bom(to_bytes(place(decode_note(note, before), link), before), before)
            steps = [*plan.steps, Write(note, before, after)]
            done = self._bench.finish(steps, plan.notices, progress, dry_run=dry_run)
            return Made(plan.target, True, link, done, note)

    def _finish(self, context: PlanContext, plan: FilePlan, *, dry_run: bool, keeps_frontmatter: bool = False) -> Made:
        is_new = plan.is_new
        asked = Asked(f"Making {plan.target!r}", OTHER_LINKS) if is_new else Asked(keeps_frontmatter=keeps_frontmatter)
        done = self._bench.finish(plan.steps, plan.notices, context.progress, dry_run=dry_run, asked=asked)
        return Made(plan.target, plan.is_new, plan.link, done)
