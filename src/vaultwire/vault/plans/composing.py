"""Plans for making one note of two, or a part of a note a note of its own, as Obsidian's Note composer does it.

Every link that is concerned follows. A plan is a list of steps; nothing is written here. A plan is refused where the new
texts would not mean what the old ones meant: they are parsed again and must have the same headings, links, tags, tasks and
block ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown import edits
from vaultwire.markdown.block_tree import (
    TASK_BOX,
    BlockTree,
    NamedBlock,
    in_shape,
    lead_of,
    margin_of,
    put_in_place,
    set_apart,
    without_margin,
)
from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.link_spans import LinkSpan, NewLink
from vaultwire.markdown.merging import Where, body_of, joined, new_block_ids, with_block_ids, with_properties
from vaultwire.markdown.offsets import apply_replacements, line_starts
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.patterns import ATX_HEADING, compile_pattern
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError
from vaultwire.vault.changes.change import Move, Write
from vaultwire.vault.disk.files import Files, check_size
from vaultwire.vault.disk.paths import fold, is_note, parse_note_path
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.links.link_resolver import link_names_to, linkpath_of
from vaultwire.vault.links.sections import Sections, line_count, line_span, parse_structure
from vaultwire.vault.plans.context import Plan, PlanContext, check_new_path, check_same_content, read_text, with_bom
from vaultwire.vault.plans.heading_links import follow_headings, renamed_by_links
from vaultwire.vault.plans.link_rewriting import MovedLinks, link_to, rewrite_blocks, rewrite_files, rewrite_text
from vaultwire.vault.value_types import Structure, VaultPath, asking


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
    plan.headings = [
        heading.text for heading in asking(progress, parsed.headings) if _has_section(sections, heading.text)
    ]
    plan.newly_resolved = rules.newly_resolved([*links, *((source, link.linktext) for link in parsed.links)])
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


# Plans for moving a part of a note into a note of its own, with every link that is concerned.
#
# As Obsidian's Note composer does it. A heading goes with its section and keeps its level; templates have no part in it. A plan
# is a list of steps; nothing is written here. A plan is refused where the texts would not mean what the one text meant: both
# are parsed again and must have the same headings, links, tags, tasks and block ids.

_BLANK_LINES = compile_pattern(r"\A(?:[ \t]*+\r*+\n)++")

Leave: TypeAlias = Literal["link", "embed", "nothing"]
"""What takes the place of the part in the old note."""


class Part(NamedTuple):
    """A part of a note: a ``section`` (``Heading``, ``Heading#Sub``) or block (``^id``), or ``lines`` (``10-20``)."""

    section: str = ""
    lines: str = ""


@dataclass
class ExtractPlan(Plan):
    """The plan of an extraction: the new note (the target), the old one, links elsewhere. ``lines`` of the old note go."""

    lines: Span


def plan_extract(
    context: PlanContext, path: VaultPath, new_path: VaultPath, part: Part, leave: Leave = "link"
) -> ExtractPlan:
    """Plan to make a part of a note a note of its own; blank lines around the part stay.

    The heading is the new note's first line. Links within the part lead where they led, and links to headings and blocks in
    it lead to the new note. ``leave`` is what takes its place: a link or an embed, in the form the vault's settings ask for.
    Raises VaultError: NOTE_EXISTS, INVALID_ARGUMENTS for a name that does not travel or that no link can name, and for lines
    that cannot be taken out of the rest; SECTION_NOT_FOUND, NOT_UTF8, and those of reading a file.
    """
    index, progress = context.index, context.progress
    new_path = _free_path(context.files, new_path)
    data, text = read_text(context.files, path)
    plain = edits.to_plain(text)
    whole = parse_structure(path, plain)
    span = _lines_of(whole, plain, part)
    block = _Block.of(whole, plain, part)
    starts = [*line_starts(text), len(text)]
    first, last = starts[span.first - 1] + len(block.stays if block else ""), starts[span.last]
    part_plain = "\n".join(plain.split("\n")[span.first - 1 : span.last])
    # The part begins after a blank line, so that a rule at its start opens no frontmatter.
    structures = whole, parse_structure(new_path, "\n" + part_plain)
    paths = [*index.paths(progress)]
    rules = _ExtractedLinks(context, paths, path, new_path, structures, span)
    plan = ExtractPlan(span, source=path, target=new_path)
    outside = rules.decide(path)
    link_edits = rewrite_text(
        text,
        path,
        lambda link: (rules.decide_in_part if first <= link.start < last else outside)(link),
        plan.links,
    ).edits
    new_text = apply_replacements(text, link_edits, first, last)
    new_text = block.alone(new_text) if block else _dedented(new_text)
    above, below = apply_replacements(text, link_edits, 0, first), apply_replacements(text, link_edits, last)
    link = ""
    if leave != "nothing":
        link = link_to(path, new_path, [*paths, new_path], context.settings, is_embed=leave == "embed")
    if link and not any(rules.leads_to_new(each.linktext) for each in parse_note(link).links):
        raise VaultError(INVALID_ARGUMENTS, f"No link can lead to {new_path!r}; choose another name.", path=new_path)
    ending = edits.line_end(text)
    end = ending if new_text.endswith("\n") else ""
    rest = block.rest(above, below, link, end) if block else _with_link(above, below, link, part_plain, end)
    if parse_frontmatter(edits.to_plain(new_text)).end:
        new_text = ending + new_text
    before = body_of(edits.to_plain(apply_replacements(text, link_edits)))
    check_same_content([before, link], [body_of(edits.to_plain(rest)), edits.to_plain(new_text)], path)
    elsewhere = [
        each
        for each in index.links_asking({*link_names_to(path), *link_names_to(new_path)}, [], progress)
        if each[0] != path
    ]
    rewrite_files(context, rules, rules.by_note(elsewhere), [other for other in paths if other != path], plan)
    own = structures[0].parsed.links
    inside = [(path, each.linktext) for each in own if span.first <= each.line <= span.last]
    outside_part = [(path, each.linktext) for each in own if not span.first <= each.line <= span.last]
    resolved = {*rules.newly_resolved([*outside_part, *elsewhere]), *rules.newly_resolved(inside, new_path)}
    plan.newly_resolved = sorted(resolved)
    plan.steps[:0] = [Write(new_path, None, new_text.encode()), Write(path, data, with_bom(rest.encode(), data))]
    plan.links.sort()
    return plan


def _free_path(files: Files, path: VaultPath) -> VaultPath:
    path, exists = files.spell(parse_note_path(path))
    if exists or files.is_folder(path):
        raise VaultError(NOTE_EXISTS, f"{path!r} exists already; give the new note another name.", path=path)
    check_new_path(files, path)
    return path


def _lines_of(note: Structure, plain: str, part: Part) -> Span:
    """Return the lines of a part, without blank ones at its ends."""
    section, lines = part
    path = note.path
    if bool(section) == bool(lines):
        raise VaultError(INVALID_ARGUMENTS, "Say which part goes: a section or block, or lines.", argument="section")
    span = Sections(note, suggests=True).span(section, plain) if section else line_span(path, line_count(plain), lines)
    top = plain.count("\n", 0, parse_frontmatter(plain).end)
    lines_of_note = plain.split("\n")
    first, last = max(span.first, 1), span.last
    while first <= last and not lines_of_note[first - 1].strip():
        first += 1
    while last > first and not lines_of_note[last - 1].strip():
        last -= 1
    if first > last:
        raise VaultError(INVALID_ARGUMENTS, f"{path!r}: those lines are empty; there is nothing to extract.", path=path)
    if first <= top:
        raise VaultError(
            INVALID_ARGUMENTS, f"{path!r}: its properties stay; the text begins in line {top + 1}.", path=path
        )
    return Span(first, last)


def _dedented(part: str) -> str:
    """Return lines without the indentation they share with the first: nested list items, which would become code."""
    margin = part[: len(part) - len(part.lstrip(" \t"))]
    lines = part.split("\n")
    if not margin or not all(line.startswith(margin) or not line.strip() for line in lines):
        return part
    return "\n".join(line.removeprefix(margin) for line in lines)


class _Block(NamedTuple):
    """A block that goes, which may stand in a quote or list."""

    tree: BlockTree
    block: NamedBlock
    lead: str  # what stands before it on its first line
    margin: str  # and on its further lines

    @classmethod
    def of(cls, note: Structure, plain: str, part: Part) -> _Block | None:
        """Return the block that a part is, None for a section and for lines."""
        if not part.section.strip().removeprefix("#").startswith("^"):
            return None
        tree = BlockTree(plain)
        block = tree.named(Sections(note).block_ids(part.section)[0].line)
        lead = lead_of(tree, block)
        return cls(tree, block, lead, margin_of(lead))

    @property
    def stays(self) -> str:
        """What stays on the first line: the mark of an item that the block begins."""
        return "" if self.lead == self.margin else self.lead

    def alone(self, text: str) -> str:
        """Return the block's text without what makes it a part of a quote or list."""
        return without_margin(self.margin + text if self.stays else text, self.margin)

    def rest(self, above: str, below: str, link: str, ending: str) -> str:
        """Return what is left of the note, with the link in the form of the block where that was."""
        if not link and not self.stays:
            return _without_part(above, below)
        text = put_in_place(self.tree, self.block, link, "" if self.stays else self.lead) if link else ""
        return above + text.replace("\n", edits.line_end(above + below + ending)) + ending + below


def _with_link(above: str, below: str, link: str, part: str, ending: str) -> str:
    """Return what is left of a note, with the link's line where the part was: as a list item or a quote if it was one."""
    if not link:
        return _without_part(above, below)
    first_line = part.split("\n", 1)[0]
    content = link if ATX_HEADING.match(first_line) else in_shape(link, TASK_BOX.sub(r"\1", first_line))
    rest = edits.to_plain(above + below)
    set_off = set_apart(rest.split("\n"), parse_note(rest).blocks, above.count("\n"), content, is_block=content == link)
    return above + set_off.replace("\n", edits.line_end(above + below + ending)) + ending + below


def _without_part(above: str, below: str) -> str:
    """Return what is left of a note without its part: with a blank line less."""
    is_apart = not above or not above.removesuffix("\n").rpartition("\n")[2].strip()
    return above + (_BLANK_LINES.sub("", below) if is_apart else below)


class _ExtractedLinks(MovedLinks):
    """What links say when some lines of ``origin`` become the note ``new``, which is not there yet."""

    def __init__(
        self,
        context: PlanContext,
        paths: Iterable[VaultPath],
        origin: VaultPath,
        new: VaultPath,
        structures: tuple[Structure, Structure],
        span: Span,
    ) -> None:
        """``structures`` are those of the old note before, and of the part with a blank line above it.

        ``span`` are the part's lines in the old note.
        """
        super().__init__(context, paths, {}, added=[new])
        self._affected |= {*link_names_to(origin)}
        self._origin = origin
        self._new = new
        self._whole, self._part = map(Sections, structures)
        self._span = span
        self._in_part = cache(self._find_in_part)  # thousands of links may lead to one heading

    def _must_change(self, note: VaultPath, linktext: str) -> bool:
        return super()._must_change(note, linktext) or self._subpath_to_part(note, linktext) is not None

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """See ``LinkRules``. Links in the part are decided by ``decide_in_part``."""
        inherited = super().decide(source)

        def new_link(span: LinkSpan) -> NewLink | None:
            subpath = self._subpath_to_part(source, span.linktext)
            return inherited(span) if subpath is None else self._written(source, span, self._new, subpath)

        return new_link

    def decide_in_part(self, span: LinkSpan) -> NewLink | None:
        """Return what a link in the part says in the new note, None if it stays."""
        self._progress.check()
        linkpath, _, subpath = span.linktext.partition("#")
        target = self._before.resolve(self._origin, linkpath)
        if target is None:
            return None
        inside = self._subpath_to_part(self._origin, span.linktext)
        if inside is not None and not linkpath.strip():
            return None if inside == subpath.strip() else NewLink(f"#{inside}")
        if inside is not None:
            target = self._new
        # In another folder, chance would decide which of several files of that name is meant.
        is_same_folder = self._origin.rpartition("/")[0] == self._new.rpartition("/")[0]
        is_worse = not self._after.is_unambiguous(linkpath) and (
            not is_same_folder or self._before.is_unambiguous(linkpath)
        )
        leads = bool(linkpath.strip()) and self._after.resolve(self._new, linkpath) == target and not is_worse
        if leads and inside in (None, subpath.strip()):
            return None
        return self._written(self._new, span, target, subpath if inside is None else inside)

    def leads_to_new(self, linktext: str) -> bool:
        """Tell whether a link in the old note leads to the new one."""
        return self._after.resolve(self._origin, linkpath_of(linktext)) == self._new

    def node(self, node: FileNode) -> FileNode | None:
        """See ``LinkRules``."""
        if fold(node.file) != fold(self._origin):
            return None
        subpath = self._in_part(node.subpath.removeprefix("#").strip())
        return None if subpath is None else FileNode(self._new, f"#{subpath}")

    def _written(self, source: VaultPath, span: LinkSpan, target: VaultPath, subpath: str) -> NewLink:
        linkpath = linkpath_of(span.linktext).strip()
        if not linkpath and span.is_markdown:
            linkpath = self._origin  # so that ".md" is written, as Obsidian writes it in a new Markdown link
        old = f"{linkpath}#{subpath}" if subpath else linkpath
        return NewLink(self.linktext(source, old, target, span))

    def _subpath_to_part(self, note: VaultPath, linktext: str) -> str | None:
        linkpath, _, subpath = linktext.partition("#")
        if not subpath.strip() or self._before.resolve(note, linkpath) != self._origin:
            return None
        return self._in_part(subpath.strip())

    def _find_in_part(self, subpath: str) -> str | None:
        """Return what names a heading or block of the part in the new note, None for what is not in it."""
        line = _line_of(self._whole, subpath)
        if line is None or not self._span.first <= line <= self._span.last:
            return None
        parts = subpath.split("#")
        # Headings above that stay in the old note cannot be named any more.
        chains = ["#".join(parts[number:]) for number in range(len(parts))]
        line_in_part = line - self._span.first + 2
        return next((chain for chain in chains if _line_of(self._part, chain) == line_in_part), parts[-1])


def _line_of(note: Sections, subpath: str) -> int | None:
    """Return the line of the heading or block that a subpath leads to, None if it leads to none."""
    last = subpath.rpartition("#")[2].strip()
    try:
        return note.block_ids(last)[0].line if last.startswith("^") else note.headings(subpath)[0].line
    except VaultError:
        return None
