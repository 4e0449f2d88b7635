"""Plans for making one note of two, with every link that is concerned, as Obsidian's Note composer does it.

A plan is a list of steps; nothing is written here. A plan is refused where the merged text would not mean what the two texts
meant: it is parsed again and must have the same headings, links, tags, tasks and block ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from vaultwire.markdown import edits
from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.link_spans import LinkSpan, NewLink
from vaultwire.markdown.merging import Where, body_of, joined, new_block_ids, with_block_ids, with_properties
from vaultwire.markdown.offsets import apply_replacements
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError
from vaultwire.vault.changes.change import Move, Write
from vaultwire.vault.disk.files import check_size
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.link_resolver import link_names_to, linkpath_of
from vaultwire.vault.links.sections import Sections, parse_structure
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.heading_links import follow_headings, renamed_by_links
from vaultwire.vault.plans.link_rewriting import rewrite_blocks, rewrite_files, rewrite_text
from vaultwire.vault.plans.moved_links import MovedLinks
from vaultwire.vault.plans.note_text import check_same_content, read_text, with_bom
from vaultwire.vault.value_types import VaultPath, asking


@dataclass
class MergePlan(Plan):
    """The plan of a merge: links elsewhere, the target, the source into the trash.

    ``block_ids`` were in both notes: those of the source have new names. ``kept_properties`` had another value in the source;
    the target's value stayed. ``headings`` are in both notes: links to them lead to the first of the two.
    """

    block_ids: dict[str, str]
    kept_properties: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)


def plan_merge(
    context: PlanContext, source: VaultPath, target: VaultPath, trash_path: VaultPath, where: Where = "end"
) -> MergePlan:
    """Plan to add a note's text at the end or start of another, and its properties where the other lacks them.

    The target's own values stay, lists are united. Every link to the source leads to the target, and to the same heading
    or block there. The source goes to ``trash_path``. Raises VaultError: INVALID_ARGUMENTS for a note with itself, broken
    frontmatter and notes whose texts cannot be joined, NOT_UTF8, TOO_LARGE, and those of reading a file.
    """
    if source == target or not (is_note(source) and is_note(target)):
        raise VaultError(
            INVALID_ARGUMENTS, f"{source!r} cannot be merged into {target!r}; name two notes.", path=source
        )
    files, index, progress = context.files, context.index, context.progress
    source_text = read_text(files, source)[1]
    target_data, target_text = read_text(files, target)
    ids = new_block_ids(edits.to_plain(source_text), edits.to_plain(target_text))
    paths = {*index.paths(progress), source, target}
    rules = _MergedLinks(context, paths, source, target, ids)
    plan = MergePlan(ids, source=source, target=target)
    source_text = with_block_ids(source_text, ids)
    source_text = apply_replacements(
        source_text, rewrite_text(source_text, source, rules.decide(source), plan.links).edits
    )
    target_text = apply_replacements(
        target_text, rewrite_text(target_text, target, rules.decide(target), plan.links).edits
    )
    source_text, target_text = (
        rewrite_blocks(text, path, rules, plan) for text, path in ((source_text, source), (target_text, target))
    )
    target_plain, source_plain = edits.to_plain(target_text), edits.to_plain(source_text)
    try:
        merged, plan.kept_properties = with_properties(target_text, source_plain)
    except PropertyEditError as error:
        broken = source if parse_frontmatter(source_plain).problems else target
        raise VaultError(INVALID_ARGUMENTS, f"{broken!r}: {error}.", path=broken) from None
    merged = joined(merged, body_of(source_plain), where)
    bodies = [body_of(target_plain), body_of(source_plain)]
    check_same_content(bodies, [body_of(edits.to_plain(merged))], target)
    data = with_bom(merged.encode(), target_data)
    check_size(target, len(data), files.max_bytes)
    links = index.links_asking({*link_names_to(source), *link_names_to(target)}, [], progress)
    elsewhere = [link for link in links if link[0] not in (source, target)]
    rewrite_files(context, rules, rules.by_note(elsewhere), paths - {source, target}, plan)
    renamed = renamed_by_links(plan)
    plan.steps.append(Write(target, target_data, data))
    follow_headings(context, plan, renamed, {source: target})
    plan.steps.append(Move(source, trash_path))
    parsed = parse_note(source_plain)
    sections = Sections(parse_structure(target, target_plain))
    plan.headings = [each.text for each in asking(progress, parsed.headings) if _has_section(sections, each.text)]
    plan.newly_resolved = rules.newly_resolved([*links, *((source, each.linktext) for each in parsed.links)])
    return plan


def _has_section(note: Sections, text: str) -> bool:
    try:
        return bool(note.headings(text))
    except VaultError:
        return False


class _MergedLinks(MovedLinks):
    """What links say when ``source`` becomes a part of ``target``. Some block ids of the source get new names."""

    def __init__(
        self,
        context: PlanContext,
        paths: Iterable[VaultPath],
        source: VaultPath,
        target: VaultPath,
        ids: Mapping[str, str],
    ) -> None:
        """``ids`` are the new block ids by the folded old ones."""
        super().__init__(context, paths, {source: target})
        self._source = source
        self._ids = ids

    def _must_change(self, note: VaultPath, linktext: str) -> bool:
        return super()._must_change(note, linktext) or self._subpath_in_source(note, linktext) is not None

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """See ``LinkRules``."""
        inherited = super().decide(source)

        def new_link(span: LinkSpan) -> NewLink | None:
            new = inherited(span)
            subpath = self._subpath_in_source(source, span.linktext)
            if subpath is None:
                return new
            linkpath = linkpath_of(span.linktext if new is None else new.linktext)
            return NewLink(f"{linkpath}#{subpath}", None if new is None else new.display)

        return new_link

    def node(self, node: FileNode) -> FileNode | None:
        """See ``LinkRules``."""
        new = super().node(node)
        if new is None:
            return None
        subpath = self._new_subpath(node.subpath.removeprefix("#"))
        return new if subpath is None else new._replace(subpath=f"#{subpath}")

    def _subpath_in_source(self, note: VaultPath, linktext: str) -> str | None:
        """Return the new subpath of a link to a block of the source, None if it may stay."""
        linkpath, _, subpath = linktext.partition("#")
        new = self._new_subpath(subpath)
        return new if new is not None and self._before.resolve(note, linkpath) == self._source else None

    def _new_subpath(self, subpath: str) -> str | None:
        above, mark, last = subpath.strip().rpartition("#")
        new = self._ids.get(fold(last[1:])) if last.startswith("^") else None
        return None if new is None else f"{above}{mark}^{new}"
