"""Moving and renaming files, headings, tags and properties, merging notes, extracting parts of them, fixing links.

Each method turns names into paths, asks one module of ``plans`` for the plan, and makes it a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from vaultwire.markdown.inline import is_wikilink
from vaultwire.markdown.merging import Where
from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.changes.change import Move
from vaultwire.vault.disk.paths import NOTE_SUFFIX, is_canvas, is_note, parse_note_path, parse_path, place_of
from vaultwire.vault.editing.workbench import Asked, Done, Workbench
from vaultwire.vault.editing.writing import free_trash_path
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.checks import Checks
from vaultwire.vault.links.faults import Finding
from vaultwire.vault.links.link_resolver import link_name, linkpath_of
from vaultwire.vault.links.note_lookup import locate_file, locate_folder
from vaultwire.vault.plans.composing import ExtractPlan, Leave, MergePlan, Part, plan_extract, plan_merge
from vaultwire.vault.plans.context import SAMPLE, Plan, PlanContext
from vaultwire.vault.plans.heading_links import plan_rename_block, plan_rename_heading
from vaultwire.vault.plans.moving import (
    LinkFix,
    MovePlan,
    check_name_is_free,
    link_key,
    place_of_note,
    plan_move,
    plan_moves,
    plan_relink,
    target_of_move,
)
from vaultwire.vault.value_types import Progress, VaultPath, asking

if TYPE_CHECKING:
    from vaultwire.vault.plans.renaming_metadata import RenamePlan

# Nobody reads more notices than this.
_MAX_NOTICES = 100
# How many files one notice names.
_MAX_NAMED = 20


# Nobody reads more notices than this.
_MAX_FIX_NOTICES = 20
# No check finds so many faults: all files are checked.
_ALL = 2**62


class GivenFix(NamedTuple):
    """A link to fix, as a caller writes it: the note or canvas (empty for all notes where it leads nowhere), the link, and
    what it should be. Both may be written with brackets and display text.
    """

    path: str
    link: str
    to: str


class Fixed(NamedTuple):
    """What was fixed. ``left``: links that lead nowhere and of which it is not sure what was meant, each with its file."""

    plan: Plan
    done: Done
    left: list[tuple[VaultPath, Finding]]


class Arranging:
    """The moves, renames, merges and extractions of one caller in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def move(self, name: str, to: str, progress: Progress, *, dry_run: bool) -> tuple[MovePlan, Done]:
        """Give a note, attachment or folder another path; every link leads where it led. See ``plan_move``.

        ``name`` is a path, or names a note as for ``locate``. For ``to`` see ``target_of_move``. Raises VaultError
        (NOTE_EXISTS) for a new name without a folder that a file elsewhere has.
        """
        with self._bench.locked(progress, dry_run=dry_run) as context:
            source, is_folder = _existing(context, name)
            target = target_of_move(context.files, source, to, is_folder=is_folder)
            plan = plan_move(context, source, target)
            if not is_folder:
                check_name_is_free(context, to, plan.target, source)
            asked = Asked(f"Moving {plan.source!r} to {plan.target!r}")
            return plan, self._finish(context, plan, [], asked, dry_run=dry_run)

    def move_all(self, names: Sequence[str], to: str, progress: Progress, *, dry_run: bool) -> tuple[MovePlan, Done]:
        """Move notes, attachments and folders into the folder ``to`` as one change. See ``plan_moves``.

        What is in that folder already stays, and a notice says so. Raises VaultError: as ``move`` does, NOTE_EXISTS if two of
        them have the same name, and INVALID_ARGUMENTS if all of them are there already, or if ``to`` is a note.
        """
        if is_note(to.strip()):
            raise VaultError(
                INVALID_ARGUMENTS, f"{to!r} is a note's name; several things can only move to a folder.", argument="to"
            )
        if to.strip().startswith(("./", ".\\")):
            raise VaultError(
                INVALID_ARGUMENTS, f"{to!r} is another folder for each of them. Give one folder's path.", argument="to"
            )
        with self._bench.locked(progress, dry_run=dry_run) as context:
            sources = list(dict.fromkeys(_existing(context, name)[0] for name in asking(progress, names)))
            folder = f"{to.strip()}/"
            moves = [Move(source, target_of_move(context.files, source, folder, is_folder=False)) for source in sources]
            there = [move.source for move in moves if move.source == move.target]
            notices = [f"{', '.join(there[:_MAX_NAMED])}{_more(there)}: already in that folder."] if there else []
            if len(there) == len(moves):
                raise VaultError(INVALID_ARGUMENTS, f"Nothing to move. {notices[0]}", argument="to")
            plan = plan_moves(context, [move for move in moves if move.source != move.target])
            asked = Asked(f"Moving {', '.join(repr(move.source) for move in plan.moves)} to {to.strip()!r}")
            return plan, self._finish(context, plan, notices, asked, dry_run=dry_run)

    def rename_heading(
        self, name: str, heading: str, text: str, if_match: str | None, progress: Progress, *, dry_run: bool
    ) -> tuple[Plan, Done]:
        """Give a heading, or with ``^id`` a block, another name, also in every link to it."""
        with self._bench.locked(progress, dry_run=dry_run) as context:
            path = context.locate(name)
            self._bench.read(path, if_match)
            is_block = heading.strip().removeprefix("#").startswith("^")
            plan_rename = plan_rename_block if is_block else plan_rename_heading
            plan = plan_rename(context, path, heading, text)
            asked = Asked(f"Renaming {heading!r} of {path!r} to {text!r}", named=(path,))
            return plan, self._finish(context, plan, [], asked, dry_run=dry_run)

    def rename_tag(self, old: str, new: str, progress: Progress, *, dry_run: bool) -> tuple[RenamePlan, Done]:
        """Give a tag, and those below it, another name in every note. See ``plan_rename_tag``."""
        from vaultwire.vault.plans.renaming_metadata import plan_rename_tag  # noqa: PLC0415 - loads the language of bases

        with self._bench.locked(progress, dry_run=dry_run) as context:
            plan = plan_rename_tag(context, old, new)
            notices = [
                f"#{tag.tag} was in use already ({_notes(tag.notes)}): "
                "both are one now, and renaming again cannot separate them."
                for tag in plan.merged
            ]
            if plan.links:
                links = "1 link" if len(plan.links) == 1 else f"{len(plan.links)} links"
                notices.append(f"Rewrote {links} to headings that hold the tag.")
            notices += _excluded_notices(plan)
            asked = Asked(
                f"Renaming #{plan.old} to #{plan.new}",
                "it has the tag, a base that names it, or a link to a heading with it",
            )
            return plan, self._finish(context, plan, notices, asked, dry_run=dry_run)

    def rename_property(self, old: str, new: str, progress: Progress, *, dry_run: bool) -> tuple[RenamePlan, Done]:
        """Give a property another name in every note. See ``plan_rename_property``."""
        from vaultwire.vault.plans.renaming_metadata import plan_rename_property  # noqa: PLC0415 - as above

        with self._bench.locked(progress, dry_run=dry_run) as context:
            plan = plan_rename_property(context, old, new)
            notices = [f"{new!r} was in use already, in {plan.in_use} notes."] if plan.in_use else []
            notices += _excluded_notices(plan)
            asked = Asked(
                f"Renaming the property {plan.old!r} to {plan.new!r}", "it has the property, or a base that names it"
            )
            return plan, self._finish(context, plan, notices, asked, dry_run=dry_run)

    def merge(
        self, source: str, target: str, where: Where, progress: Progress, *, dry_run: bool
    ) -> tuple[MergePlan, Done]:
        """Make one note a part of another, and move the note that is left over to the trash. See ``plan_merge``."""
        with self._bench.locked(progress, dry_run=dry_run) as context:
            from_path, to_path = context.locate(source), context.locate(target)
            for path in (from_path, to_path):
                self._bench.read(path, None)
            plan = plan_merge(context, from_path, to_path, free_trash_path(context.files, from_path), where)
            notices = [f"Both notes have a heading {heading!r}; links lead to the first." for heading in plan.headings]
            notices += [f"Block ^{old} is ^{new} now." for old, new in plan.block_ids.items()]
            notices += [f"Property {name!r}: {plan.target} kept its own value." for name in plan.kept_properties]
            asked = Asked(f"Merging {plan.source!r} into {plan.target!r}", named=(plan.source, plan.target))
            return plan, self._finish(context, plan, notices, asked, dry_run=dry_run)

    def extract(
        self,
        name: str,
        part: Part,
        to: str,
        leave: Leave,
        if_match: str | None,
        progress: Progress,
        *,
        dry_run: bool,
    ) -> tuple[ExtractPlan, Done]:
        """Make a section, block or range of lines a note of its own. See ``plan_extract``."""
        with self._bench.locked(progress, dry_run=dry_run) as context:
            path = context.locate(name)
            self._bench.read(path, if_match)
            plan = plan_extract(context, path, _new_note(context, path, to), part, leave)
            asked = Asked(f"Moving a part of {plan.source!r} to {plan.target!r}", named=(plan.source,))
            return plan, self._finish(context, plan, [], asked, dry_run=dry_run)

    def _finish(self, context: PlanContext, plan: Plan, notices: list[str], asked: Asked, *, dry_run: bool) -> Done:
        """Make a plan a change. Its notices: those given, and those of what every plan says."""
        notices = [
            *notices,
            *(f"{path} keeps the old name: {reason}." for path, reason in plan.kept),
            *(f"{path}: {text!r} led nowhere and leads to {target} now." for path, text, target in plan.newly_resolved),
            *(f"{path}: links were not looked at: {reason}" for path, reason in plan.skipped),
        ]
        if len(notices) > _MAX_NOTICES:
            notices = [*notices[:_MAX_NOTICES], f"There are {len(notices) - _MAX_NOTICES} more such notices."]
        if context.unread:
            notices.append(
                f"This shows the first {SAMPLE} notes; {context.unread} more would be changed, and are counted once each. "
                "Should one of them have to stay as it is, nothing will be changed, and the error will name it."
            )
        done = self._bench.finish(plan.steps, notices, context.progress, dry_run=dry_run, asked=asked)
        return done._replace(unread=context.unread)

    # ------------------------------------------------------------------ links in many notes

    def fix_links(self, given: Sequence[GivenFix], progress: Progress, *, dry_run: bool) -> Fixed:
        """Give links other targets, as one change. See ``plan_relink``.

        Raises VaultError: as ``locate`` does for a note or target, and as ``plan_relink`` does.
        """
        with self._bench.locked(progress, dry_run=dry_run) as context:
            fixes = [fix for change in asking(progress, given) for fix in _fixes_of(context, change)]
            return self._relink(context, fixes, [], progress, dry_run=dry_run)

    def fix_suggested(self, name: str, folder: str, progress: Progress, *, dry_run: bool) -> Fixed:
        """Fix all links that lead nowhere and of which it is sure what was meant, as one change.

        Of the note or canvas that ``name`` means, or, if that is empty, of all below the folder.
        """
        bench = self._bench
        with bench.locked(progress, dry_run=dry_run) as context:
            checks = Checks(bench.files, bench.index, bench.settings.get().property_types)
            if name.strip():
                path = _file(context, name)
                found = [(path, checks.one(path, progress))]
            else:
                suspects = checks.suspects(locate_folder(bench.files, folder), progress)
                found = checks.many(suspects, 0, _ALL, progress).found
            fixes: list[LinkFix] = []
            left: list[tuple[VaultPath, Finding]] = []
            for path, findings in found:
                for finding in asking(progress, findings):
                    # A link to a hidden file looks like one that leads nowhere. It stays as it is.
                    is_sure = bool(finding.suggestions) and finding.suggestions[0].is_sure
                    if is_sure and not (bench.files.hides_some and finding.kind.startswith("unresolved")):
                        fix = GivenFix(path, finding.linktext, finding.suggestions[0].linktext)
                        fixes += _fixes_of(context, fix)
                    elif finding.linktext:
                        left.append((path, finding))
            return self._relink(context, list(dict.fromkeys(fixes)), left, progress, dry_run=dry_run)

    def _relink(
        self,
        context: PlanContext,
        fixes: Sequence[LinkFix],
        left: list[tuple[VaultPath, Finding]],
        progress: Progress,
        *,
        dry_run: bool,
    ) -> Fixed:
        plan = plan_relink(context, fixes)
        notices = [
            f"{path}: its links were left as they are: {reason}" for path, reason in plan.skipped[:_MAX_FIX_NOTICES]
        ]
        done = self._bench.finish(plan.steps, notices, progress, dry_run=dry_run)
        return Fixed(plan, done._replace(unread=context.unread), left)


def _more(paths: Sequence[VaultPath]) -> str:
    return f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""


def _existing(context: PlanContext, name: str) -> tuple[VaultPath, bool]:
    """Return the file or folder that is meant, and whether it is a folder: the one at this path, else the note of this name."""
    files = context.files
    name = name.strip()
    if not is_wikilink(name):
        path, is_file = files.spell(parse_path(place_of(name.rstrip("/") or name, "")[1]))
        is_folder = not is_file and files.is_folder(path)
        if is_folder and files.spell(VaultPath(path + NOTE_SUFFIX))[1] and not name.endswith("/"):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{name!r} is a folder and a note; write {path + '/'!r} or {path + NOTE_SUFFIX!r}.",
                argument="path",
            )
        if is_file or is_folder:
            return path, is_folder
        if name.endswith("/"):
            raise VaultError(FILE_NOT_FOUND, f"There is no folder {name!r} in the vault.", path=name)
    return context.locate(name), False


def _new_note(context: PlanContext, source: VaultPath, to: str) -> VaultPath:
    """Return the path of a note that is made of a part of another; ``./Name`` lies in the folder of that."""
    if to.startswith(("./", ".\\")):
        folder = source.rpartition("/")[0]
        return parse_note_path(f"{folder}/{to[2:]}" if folder else to[2:])
    path = place_of_note(context, to, source)
    check_name_is_free(context, to, path)
    return path


def _excluded_notices(plan: RenamePlan) -> list[str]:
    """Return notices about notes that no search shows: how many were changed, and which could not be."""
    notices = []
    if plan.excluded:
        are = "is one" if plan.excluded == 1 else "are ones"
        notices.append(f"Of the notes changed, {plan.excluded} {are} that the vault excludes from searches.")
    return notices + [f"{path} was left as it is (the vault excludes it): {reason}" for path, reason in plan.unchanged]


def _notes(number: int) -> str:
    return "1 note" if number == 1 else f"{number} notes"


def _fixes_of(context: PlanContext, fix: GivenFix) -> list[LinkFix]:
    """Return the fixes that are meant: one, or one for each note in which the link leads nowhere."""
    linktext, to = _linktext(fix.link), _linktext(fix.to)
    if not linktext or not to:
        raise VaultError(
            INVALID_ARGUMENTS,
            "Give the link as it is written now, and what it should be, such as link '[[Old name]]' and to '[[Right name]]'.",
            argument="fixes",
        )
    sources = [_file(context, fix.path)] if fix.path.strip() else _lost_in(context, linktext)
    if not sources:
        raise VaultError(
            TEXT_NOT_FOUND,
            f"No note has a link {linktext!r} that leads nowhere. To change one that leads somewhere, name its note with path.",
        )
    linkpath, mark, subpath = to.partition("#")
    if linkpath.strip():
        target = locate_file(context.files, context.index, linkpath, context.progress)
        return [LinkFix(source, linktext, target, subpath if mark else None) for source in sources]
    return [LinkFix(source, linktext, _target_now(context, source, linktext), subpath) for source in sources]


def _linktext(written: str) -> str:
    text = written.strip().removeprefix("!").removeprefix("[[").removesuffix("]]")
    return text.partition("|")[0].strip()


def _file(context: PlanContext, name: str) -> VaultPath:
    if is_canvas(name.strip()):
        return locate_file(context.files, context.index, name, context.progress)
    return context.locate(name)


def _lost_in(context: PlanContext, linktext: str) -> list[VaultPath]:
    """Return the notes with such a link that leads nowhere, in path order; with any subpath if the link has none."""
    key, has_subpath = link_key(linktext), "#" in linktext
    name = link_name(VaultPath(""), linktext).removesuffix(NOTE_SUFFIX)
    asking_so = context.index.links_asking({name, name + NOTE_SUFFIX}, [], context.progress)
    resolve = context.index.resolver(context.progress)
    notes: set[VaultPath] = set()
    for note, text in asking(context.progress, asking_so):
        if link_key(text if has_subpath else linkpath_of(text)) != key:
            continue
        link = Link(text, "", 1, is_embed=False, is_markdown=False)
        if note not in notes and resolve(note, [link]) == [None]:
            notes.add(note)
    return sorted(notes)


def _target_now(context: PlanContext, source: VaultPath, linktext: str) -> VaultPath:
    """Return the file to which a link leads now: for a fix of its heading only."""
    if not linkpath_of(linktext).strip():
        return source
    link = Link(linktext, "", 1, is_embed=False, is_markdown=False)
    (target,) = context.index.resolver(context.progress)(source, [link])
    if target is None:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{linktext!r} in {source} leads to no file, so a heading alone does not fix it. Give the note as well, such as "
            "'Note#Heading'.",
            argument="fixes",
        )
    return target
