"""Making what is new: notes, the note of a day, attachments; and putting templates into notes. Planned by ``creating``."""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.markdown import edits
from vaultwire.vault.editing.workbench import Done, Workbench
from vaultwire.vault.links.note_lookup import locate
from vaultwire.vault.plans.attaching import decode_base64
from vaultwire.vault.plans.creating import (
    OnCollision,
    Planned,
    plan_append_daily,
    plan_attachment,
    plan_create,
    plan_insert_template,
)
from vaultwire.vault.plans.moving import check_no_namesake, is_path, plan_arrival
from vaultwire.vault.plans.templates import below
from vaultwire.vault.settings.daily_notes import parse_day
from vaultwire.vault.value_types import Progress, VaultPath


class Made(NamedTuple):
    """A file that was made or added to, and what that came to. ``link`` embeds an attachment; empty for notes."""

    path: VaultPath
    is_new: bool
    link: str
    done: Done


class Making:
    """What one caller makes in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def create(
        self,
        name: str,
        content: str,
        template: str,
        beside: str,
        on_collision: OnCollision,
        progress: Progress,
        *,
        dry_run: bool,
        may_have_namesake: bool = False,
    ) -> Made:
        """Make a note, from a template if one is named. See ``plan_create``; ``beside`` names a note as for ``locate``.

        A name without a folder that links use for another note counts as taken, unless it ``may_have_namesake``.
        """
        bench = self._bench
        may_have_namesake = may_have_namesake or is_path(name)
        with bench.held(progress):
            settings = bench.settings.get()

            def is_free(path: VaultPath) -> bool:
                return may_have_namesake or not plan_arrival(bench.files, bench.index, settings, path, progress)

            planned = plan_create(
                bench.files,
                settings,
                name,
                content,
                template=template,
                now=bench.now(),
                beside=self._located(beside, progress),
                on_collision=on_collision,
                is_free=is_free,
            )
            if not may_have_namesake:
                check_no_namesake(bench.files, bench.index, settings, planned.path, progress)
            return self._made(planned, progress, dry_run=dry_run)

    def append_daily(self, day: str, content: str, heading: str, progress: Progress, *, dry_run: bool) -> Made:
        """Add lines to the note of a day (``parse_day``), which is made if it is not there. See ``plan_append_daily``."""
        bench = self._bench
        now = bench.now()
        with bench.held(progress):
            planned = plan_append_daily(
                bench.files, bench.settings.get(), parse_day(day, now.date()), content, heading=heading, now=now
            )
            return self._made(planned, progress, dry_run=dry_run)

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
        bench = self._bench
        with bench.held(progress):
            path = locate(bench.files, bench.index, name, progress)
            bench.check(path, bench.files.read(path).data, if_match)
            place = below(heading, path) if heading.strip() else edits.prepend if at_top else edits.append
            planned = plan_insert_template(
                bench.files, bench.settings.get(), path, template, now=bench.now(), place=place
            )
            return self._made(planned, progress, dry_run=dry_run)

    def attach(self, name: str, content: str, beside: str, progress: Progress, *, dry_run: bool) -> Made:
        """Save an attachment given as base64. See ``plan_attachment``."""
        bench = self._bench
        data = decode_base64(content, name, bench.max_attachment_bytes)
        with bench.held(progress):
            planned = plan_attachment(
                bench.files,
                bench.index,
                bench.settings.get(),
                name,
                data,
                max_bytes=bench.max_attachment_bytes,
                beside=self._located(beside, progress),
                progress=progress,
            )
            return self._made(planned, progress, dry_run=dry_run)

    def _located(self, name: str, progress: Progress) -> VaultPath | None:
        return locate(self._bench.files, self._bench.index, name, progress) if name.strip() else None

    def _made(self, planned: Planned, progress: Progress, *, dry_run: bool) -> Made:
        bench = self._bench
        steps = planned.steps
        if planned.is_new:
            steps = [*steps, *plan_arrival(bench.files, bench.index, bench.settings.get(), planned.path, progress)]
        done = bench.finish(steps, planned.notices, progress, dry_run=dry_run)
        return Made(planned.path, planned.is_new, planned.link, done)
