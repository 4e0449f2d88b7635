"""Plans for giving links another target: those that lead nowhere, or any link that a caller names. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.link_spans import Kind, LinkSpan, NewLink
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note
from vaultwire.vault.errors import INVALID_ARGUMENTS, TEXT_NOT_FOUND, VaultError
from vaultwire.vault.links.link_resolver import link_names_to, linkpath_of
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.heading_links import follow_headings, renamed_by_links
from vaultwire.vault.plans.link_rewriting import rewrite_files
from vaultwire.vault.plans.moved_links import MovedLinks
from vaultwire.vault.value_types import VaultPath

# How many links an error names.
_MAX_NAMED = 10


class LinkFix(NamedTuple):
    """A link of one file, by its text without brackets and display, and the file and subpath that it gets.

    A ``linktext`` without a subpath means links with any, and these keep theirs. A ``subpath`` of None: the link keeps its own.
    """

    path: VaultPath
    linktext: str
    target: VaultPath
    subpath: str | None


def plan_relink(context: PlanContext, fixes: Sequence[LinkFix]) -> Plan:
    """Plan to rewrite links, in the form that the vault's settings ask for. Display texts stay.

    Raises VaultError: TEXT_NOT_FOUND if a file has no such link, INVALID_ARGUMENTS if no link can lead to a target; those of
    reading a file.
    """
    by_file: dict[VaultPath, dict[str, LinkFix]] = {}
    for fix in fixes:
        other = by_file.setdefault(fix.path, {}).setdefault(link_key(fix.linktext), fix)
        if (other.target, other.subpath) != (fix.target, fix.subpath):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{fix.linktext!r} in {fix.path!r} has two different fixes, {other.target!r} and {fix.target!r}. Give one.",
                argument="fixes",
            )
    names = {name for fix in fixes for name in link_names_to(fix.target)}
    links = MovedLinks(context, context.index.paths(context.progress), {}, names=names)
    plan = Plan()
    used: set[tuple[VaultPath, str]] = set()
    notes = [path for path in by_file if is_note(path)]
    # A node of a canvas does not say in which canvas it is, so these are read one at a time.
    for files in (notes, *([path] for path in by_file if not is_note(path))):
        rules = _Relinking(links, {path: by_file[path] for path in files}, used)
        rewrite_files(context, rules, dict.fromkeys(files), [], plan)
    unread = {problem.path for problem in plan.skipped}
    missing = [fix for fix in fixes if (fix.path, link_key(fix.linktext)) not in used and fix.path not in unread]
    if missing and not context.unread:
        named = ", ".join(f"{fix.linktext!r} in {fix.path}" for fix in missing[:_MAX_NAMED])
        more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        raise VaultError(
            TEXT_NOT_FOUND,
            f"There is no such link: {named}{more}. Nothing was changed. Give each link as it is written, without the brackets "
            "and what is shown instead; check_notes lists those that lead nowhere.",
            path=missing[0].path,
        )
    follow_headings(context, plan, renamed_by_links(plan))
    return plan


def link_key(linktext: str) -> str:
    """Return the form of a link's text that is compared: in any case, ``.md`` may be written or left out."""
    linkpath, mark, subpath = fold(linktext.strip()).partition("#")
    return f"{linkpath.strip().removesuffix(NOTE_SUFFIX)}{mark}{subpath}"


class _Relinking:
    """What the links say after the fixes (``link_rewriting.LinkRules``)."""

    def __init__(
        self, links: MovedLinks, fixes: dict[VaultPath, dict[str, LinkFix]], used: set[tuple[VaultPath, str]]
    ) -> None:
        """``used``: gets the file and link of each fix that is made."""
        self._links = links
        self._fixes = fixes
        self._used = used

    def path_after(self, path: VaultPath) -> VaultPath:
        """See ``LinkRules``: nothing moves."""
        return path

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """See ``LinkRules``."""

        def new_link(span: LinkSpan) -> NewLink | None:
            fix = self._fix_of(source, span.linktext)
            if fix is None:
                return None
            if "#" in span.linktext and "#" not in fix.linktext:
                fix = fix._replace(subpath=None)
            if not linkpath_of(span.linktext).strip() and fix.target == source and fix.subpath is not None:
                return NewLink(_as_subpath(fix.subpath))
            new = self._links.linktext(source, _with_subpath(span.linktext, fix.subpath), fix.target, span)
            return None if new == span.linktext else NewLink(new)

        return new_link

    def node(self, node: FileNode) -> FileNode | None:
        """See ``LinkRules``: of the one canvas that there are fixes for."""
        for source in self._fixes:
            fix = self._fix_of(source, node.file + node.subpath)
            if fix is not None:
                return FileNode(fix.target, node.subpath if fix.subpath is None else _as_subpath(fix.subpath))
        return None

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:  # noqa: ARG002 - of the protocol
        """See ``LinkRules``: bases are not relinked."""
        return lambda _kind, _name: None

    def _fix_of(self, source: VaultPath, linktext: str) -> LinkFix | None:
        fixes = self._fixes.get(source, {})
        fix = fixes.get(link_key(linktext)) or fixes.get(link_key(linkpath_of(linktext)))
        if fix is not None:
            self._used.add((source, link_key(fix.linktext)))
        return fix


def _with_subpath(linktext: str, subpath: str | None) -> str:
    return linktext if subpath is None else linkpath_of(linktext) + _as_subpath(subpath)


def _as_subpath(subpath: str) -> str:
    return f"#{subpath}" if subpath else ""
