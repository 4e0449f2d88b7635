"""Fixing links in many notes at once: those that a caller names, or those of which it is sure what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.paths import NOTE_SUFFIX, is_canvas
from vaultwire.vault.editing.workbench import Done, Workbench
from vaultwire.vault.errors import INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.checks import Checks, Finding
from vaultwire.vault.links.link_resolver import link_name, linkpath_of
from vaultwire.vault.links.note_lookup import locate_file, locate_folder
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.relinking import LinkFix, link_key, plan_relink
from vaultwire.vault.value_types import Progress, VaultPath, asking

# Nobody reads more notices than this.
_MAX_NOTICES = 20
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


class Fixing:
    """The fixes of one caller in one vault."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def fix_links(self, given: Sequence[GivenFix], progress: Progress, *, dry_run: bool) -> Fixed:
        """Give links other targets, as one change. See ``plan_relink``.

        Raises VaultError: as ``locate`` does for a note or target, and as ``plan_relink`` does.
        """
        with self._bench.locked(progress, dry_run=dry_run) as context:
            fixes = [fix for each in asking(progress, given) for fix in _fixes_of(context, each)]
            return self._finish(context, fixes, [], progress, dry_run=dry_run)

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
                        given = GivenFix(path, finding.linktext, finding.suggestions[0].linktext)
                        fixes += _fixes_of(context, given)
                    elif finding.linktext:
                        left.append((path, finding))
            return self._finish(context, list(dict.fromkeys(fixes)), left, progress, dry_run=dry_run)

    def _finish(
        self,
        context: PlanContext,
        fixes: Sequence[LinkFix],
        left: list[tuple[VaultPath, Finding]],
        progress: Progress,
        *,
        dry_run: bool,
    ) -> Fixed:
        plan = plan_relink(context, fixes)
        notices = [f"{path}: its links were left as they are: {reason}" for path, reason in plan.skipped[:_MAX_NOTICES]]
        done = self._bench.finish(plan.steps, notices, progress, dry_run=dry_run)
        return Fixed(plan, done._replace(unread=context.unread), left)


def _fixes_of(context: PlanContext, given: GivenFix) -> list[LinkFix]:
    """Return the fixes that are meant: one, or one for each note in which the link leads nowhere."""
    linktext, to = _linktext(given.link), _linktext(given.to)
    if not linktext or not to:
        raise VaultError(
            INVALID_ARGUMENTS,
            "Give the link as it is written now, and what it should be, such as link '[[Old name]]' and to '[[Right name]]'.",
            argument="fixes",
        )
    sources = [_file(context, given.path)] if given.path.strip() else _lost_in(context, linktext)
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
    wanted, has_subpath = link_key(linktext), "#" in linktext
    name = link_name(VaultPath(""), linktext).removesuffix(NOTE_SUFFIX)
    asking_so = context.index.links_asking({name, name + NOTE_SUFFIX}, [], context.progress)
    resolve = context.index.resolver(context.progress)
    found: set[VaultPath] = set()
    for note, text in asking(context.progress, asking_so):
        if link_key(text if has_subpath else linkpath_of(text)) != wanted:
            continue
        link = Link(text, "", 1, is_embed=False, is_markdown=False)
        if note not in found and resolve(note, [link]) == [None]:
            found.add(note)
    return sorted(found)


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
