"""Arranging a vault: moving and renaming files, headings, tags and properties, merging and dividing notes.

What that comes to is planned elsewhere, one module a kind; here names become paths, and plans become changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.markdown.merging import Where
from vaultwire.vault.changes.change import Step
from vaultwire.vault.disk.paths import NOTE_SUFFIX, is_note, parse_note_path, parse_path
from vaultwire.vault.editing.workbench import Done, Workbench
from vaultwire.vault.editing.writing import free_trash_path
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.naming import locate
from vaultwire.vault.model import Problem, Progress, VaultPath
from vaultwire.vault.plans.composing import ExtractPlan, Leave, MergePlan, plan_extract, plan_merge
from vaultwire.vault.plans.moving import MovePlan, plan_move
from vaultwire.vault.plans.renaming import RenamePlan, plan_rename_block, plan_rename_heading
from vaultwire.vault.plans.retagging import PropertyPlan, TagPlan, plan_rename_property, plan_rename_tag

# More notices than this nobody reads.
_MAX_NOTICES = 100


class Arranging:
    """What one caller arranges in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def move(self, name: str, to: str, progress: Progress, *, dry_run: bool) -> tuple[MovePlan, Done]:
        """Give a note, attachment or folder another path; every link leads where it led. See ``plan_move``.

        ``name`` is a path, or names a note as for ``locate``. ``to`` is a path from the vault's root; one that ends with
        ``/`` is the folder to move it to, one that begins with ``./`` a name in the folder where it is.
        """
        bench = self._bench
        with bench.held(progress):
            source = self._there(name, progress)
            target = self._target(source, to)
            plan = plan_move(bench.files, bench.index, bench.settings.get(), source, target, progress)
            return plan, self._finish(plan.steps, _told(plan.gained, plan.left), progress, dry_run=dry_run)

    def rename_heading(
        self, name: str, heading: str, text: str, if_match: str | None, progress: Progress, *, dry_run: bool
    ) -> tuple[RenamePlan, Done]:
        """Give a heading, or with ``^id`` a block, another name, also in every link to it."""
        bench = self._bench
        with bench.held(progress):
            path = locate(bench.files, bench.index, name, progress)
            bench.check(path, bench.files.read(path).data, if_match)
            is_block = heading.strip().removeprefix("#").startswith("^")
            plan_rename = plan_rename_block if is_block else plan_rename_heading
            plan = plan_rename(bench.files, bench.index, path, heading, text, progress)
            return plan, self._finish(plan.steps, _told([], plan.left), progress, dry_run=dry_run)

    def rename_tag(self, old: str, new: str, progress: Progress, *, dry_run: bool) -> tuple[TagPlan, Done]:
        """Give a tag, and those below it, another name in every note. See ``plan_rename_tag``."""
        bench = self._bench
        with bench.held(progress):
            plan = plan_rename_tag(bench.files, bench.index, old, new, progress)
            notices = [
                f"#{tag.tag} was in use already ({tag.notes} notes): both are one now, and another renaming cannot part them."
                for tag in plan.merged
            ]
            if plan.links:
                links = "1 link" if len(plan.links) == 1 else f"{len(plan.links)} links"
                notices.append(f"Rewrote {links} to headings that hold the tag.")
            notices += _told_of_excluded(plan) + _told([], plan.unfollowed)
            return plan, self._finish(plan.steps, notices, progress, dry_run=dry_run)

    def rename_property(self, old: str, new: str, progress: Progress, *, dry_run: bool) -> tuple[PropertyPlan, Done]:
        """Give a property another name in every note. See ``plan_rename_property``."""
        bench = self._bench
        with bench.held(progress):
            plan = plan_rename_property(bench.files, bench.index, old, new, progress)
            notices = [f"{new!r} was in use already, in {plan.in_use} notes."] if plan.in_use else []
            notices += _told_of_excluded(plan)
            return plan, self._finish(plan.steps, notices, progress, dry_run=dry_run)

    def merge(
        self, source: str, target: str, where: Where, progress: Progress, *, dry_run: bool
    ) -> tuple[MergePlan, Done]:
        """Make one note a part of another; the one that is left over goes to the trash. See ``plan_merge``."""
        bench = self._bench
        with bench.held(progress):
            from_path, to_path = (locate(bench.files, bench.index, name, progress) for name in (source, target))
            for path in (from_path, to_path):
                bench.check(path, bench.files.read(path).data, None)
            plan = plan_merge(
                bench.files,
                bench.index,
                bench.settings.get(),
                from_path,
                to_path,
                lambda path: free_trash_path(bench.files, path),
                progress,
                where,
            )
            notices = [f"Both notes have a heading {heading!r}; links lead to the first." for heading in plan.headings]
            notices += [f"Block ^{old} is ^{new} now." for old, new in plan.block_ids.items()]
            notices += [f"Property {name!r}: {plan.target} kept its own value." for name in plan.kept]
            notices += _told(plan.gained, plan.left)
            return plan, self._finish(plan.steps, notices, progress, dry_run=dry_run)

    def extract(
        self,
        name: str,
        section: str,
        lines: str,
        to: str,
        leave: Leave,
        if_match: str | None,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> tuple[ExtractPlan, Done]:
        """Make a section, block or range of lines a note of its own. See ``plan_extract``."""
        bench = self._bench
        with bench.held(progress):
            path = locate(bench.files, bench.index, name, progress)
            bench.check(path, bench.files.read(path).data, if_match)
            plan = plan_extract(
                bench.files,
                bench.index,
                bench.settings.get(),
                path,
                parse_note_path(self._beside(path, to)),
                progress,
                section=section,
                lines=lines,
                leave=leave,
            )
            return plan, self._finish(plan.steps, _told(plan.gained, plan.left), progress, dry_run=dry_run)

    def _finish(self, steps: list[Step], notices: list[str], progress: Progress, *, dry_run: bool) -> Done:
        if len(notices) > _MAX_NOTICES:
            notices = [*notices[:_MAX_NOTICES], f"There are {len(notices) - _MAX_NOTICES} more such notices."]
        return self._bench.finish(steps, notices, progress, dry_run=dry_run)

    def _there(self, name: str, progress: Progress) -> VaultPath:
        """Return the file or folder that is meant: exactly this path before any note of the name."""
        files = self._bench.files
        if not name.strip().startswith(("[[", "![[")):
            found, is_file = files.spell(parse_path(name.strip().rstrip("/") or name))
            if is_file or files.is_folder(found):
                if not is_file and files.spell(VaultPath(found + NOTE_SUFFIX))[1] and not name.strip().endswith("/"):
                    raise VaultError(
                        INVALID_ARGUMENTS,
                        f"{name!r} is a folder and a note; write {found + '/'!r} or {found + NOTE_SUFFIX!r}.",
                        argument="path",
                    )
                return found
            if name.strip().endswith("/"):
                raise VaultError(FILE_NOT_FOUND, f"There is no folder {name!r} in the vault.", path=name)
        return locate(files, self._bench.index, name, progress)

    def _target(self, source: VaultPath, to: str) -> VaultPath:
        files = self._bench.files
        to = to.strip()
        if to.endswith(("/", "\\")) and to.strip("/\\") in ("", "."):
            return VaultPath(source.rpartition("/")[2])
        wanted = parse_path(self._beside(source, to))
        if to.endswith(("/", "\\")):
            return parse_path(f"{wanted}/{source.rpartition('/')[2]}")
        found, _ = files.spell(wanted)
        if is_note(source) and not is_note(wanted) and files.is_folder(found):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"There is a folder {found!r}. Write {to + '/'!r} to move {source!r} into it, {to + NOTE_SUFFIX!r} to call "
                "it so.",
                argument="to",
            )
        return wanted

    @staticmethod
    def _beside(source: VaultPath, to: str) -> str:
        """Return a path from the root; ``./Name`` lies in the folder of the source."""
        if not to.startswith(("./", ".\\")):
            return to
        folder = source.rpartition("/")[0]
        return f"{folder}/{to[2:]}" if folder else to[2:]


def _told_of_excluded(plan: TagPlan | PropertyPlan) -> list[str]:
    """Return what a caller should know of notes that no search shows, and that were renamed in too, or could not be."""
    notices = []
    if plan.excluded:
        are = "is one" if plan.excluded == 1 else "are ones"
        notices.append(f"Of the notes changed, {plan.excluded} {are} that the vault excludes from searches.")
    return notices + [f"{path} was left as it is (the vault excludes it): {reason}" for path, reason in plan.left]


def _told(gained: Iterable[tuple[VaultPath, str, VaultPath]], left: Iterable[Problem]) -> list[str]:
    """Return what a caller should know of links: those that led nowhere before, and files that could not be looked at."""
    notices = [f"{path}: {text!r} led nowhere and leads to {found} now." for path, text, found in gained]
    return notices + [f"{path}: links were not looked at: {reason}" for path, reason in left]
