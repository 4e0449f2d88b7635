"""Making new files: notes, daily and weekly … notes, attachments; and putting templates into notes.

Planned by ``plans.creating``.
"""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.markdown import edits
from vaultwire.vault.changes.change import Write
from vaultwire.vault.days import parse_days
from vaultwire.vault.disk.note_text import to_bytes
from vaultwire.vault.editing.workbench import Done, Workbench
from vaultwire.vault.plans.attachment_types import decode_base64
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.creating import (
    FilePlan,
    NewNote,
    plan_append_periodic,
    plan_attachment,
    plan_create,
    plan_insert_template,
)
from vaultwire.vault.plans.moving import is_path, plan_arrival
from vaultwire.vault.plans.note_text import decode_note, with_bom
from vaultwire.vault.plans.templates import below
from vaultwire.vault.settings.periodic_notes import has_iso_weeks
from vaultwire.vault.value_types import Progress, VaultPath


class Made(NamedTuple):
    """A file that was made or added to, and the change. ``link`` embeds an attachment; empty for notes."""

    path: VaultPath
    is_new: bool
    link: str
    done: Done


class Making:
    """What one caller makes in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def create(self, new: NewNote, progress: Progress, *, dry_run: bool, may_have_namesake: bool = False) -> Made:
        """Make a note, from a template if one is named. See ``plan_create``.

        A name without a folder that links use for another note counts as taken, unless it ``may_have_namesake``.
        """
        may_have_namesake = may_have_namesake or is_path(new.name)
        with self._bench.locked(progress) as context:
            plan = plan_create(context, new, self._bench.now(), may_have_namesake=may_have_namesake)
            return self._finish(context, plan, dry_run=dry_run, may_have_namesake=may_have_namesake)

    def rewrite(
        self, name: str, content: str, if_match: str | None, progress: Progress, *, appends: bool, dry_run: bool
    ) -> Made:
        """Add lines at the end of a note, or write over its text. See ``edits.append`` and ``edits.rewrite``."""
        with self._bench.locked(progress) as context:
            path = context.locate(name)
            before = self._bench.read(path, if_match, is_overwritten=not appends)
            new = (edits.append if appends else edits.rewrite)(decode_note(path, before), content)
            plan = FilePlan(path, [Write(path, before, with_bom(to_bytes(new, before), before))], [], is_new=False)
            return self._finish(context, plan, dry_run=dry_run)

    def append_periodic(self, when: str, content: str, heading: str, progress: Progress, *, dry_run: bool) -> Made:
        """Add lines to the note of a day, week … (``parse_days``), which is made if it is not there.

        See ``plan_append_periodic``.
        """
        now = self._bench.now()
        with self._bench.locked(progress) as context:
            days = parse_days(when, now.date(), iso_weeks=has_iso_weeks(context.settings))
            plan = plan_append_periodic(context, days, content, now, heading)
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

    def attach(self, name: str, content: str, beside: str, progress: Progress, *, dry_run: bool) -> Made:
        """Save an attachment given as base64. See ``plan_attachment``."""
        data = decode_base64(content, name, self._bench.max_attachment_bytes)
        with self._bench.locked(progress) as context:
            plan = plan_attachment(context, name, data, self._bench.max_attachment_bytes, beside)
            return self._finish(context, plan, dry_run=dry_run)

    def _finish(self, context: PlanContext, plan: FilePlan, *, dry_run: bool, may_have_namesake: bool = True) -> Made:
        steps = plan.steps
        if plan.is_new:
            steps = [*steps, *plan_arrival(context, plan.path, may_have_namesake=may_have_namesake)]
        done = self._bench.finish(steps, plan.notices, context.progress, dry_run=dry_run)
        return Made(plan.path, plan.is_new, plan.link, done)
