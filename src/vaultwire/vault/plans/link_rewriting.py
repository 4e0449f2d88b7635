"""Rewrites the links in files after a change: of notes, canvases and bases.

What each link has to say is decided by ``LinkRules``, one class for each kind of change. Files are read here, not written:
the result is a list of writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Protocol

from vaultwire.bases.base_blocks import Block, BlockError, edit_blocks, edit_cards, other_queries
from vaultwire.markdown.canvas import FileNode, NotACanvasError, canvas_edits
from vaultwire.markdown.link_spans import (
    Kind,
    LinkSpan,
    NewLink,
    NotABaseError,
    Rewriting,
    UnwritableLinkError,
    base_edits,
    rewrite_links,
)
from vaultwire.markdown.offsets import apply_replacements, end_of_reading, unread_problem
from vaultwire.vault.changes.change import Write, edit_of
from vaultwire.vault.disk.contents import edited_bytes, patched, plain_text
from vaultwire.vault.disk.paths import is_base, is_canvas
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.context import LinkChange, Plan, PlanContext
from vaultwire.vault.value_types import Problem, Stages, VaultPath

# What stands for bytes that are not UTF-8.
_NOT_TEXT = re.compile("[\udc80-\udcff]")
# Of a note of which only the bases come into question.
_NO_LINKS: Container[str] = frozenset()


class LinkRules(Protocol):
    """What the links of a vault say after a change. Each method returns None for what stays as it is."""

    def path_after(self, path: VaultPath) -> VaultPath:
        """Return the path of a file after the change."""

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """Return a function from a link in ``source`` to what it says after the change."""

    def node(self, node: FileNode) -> FileNode | None:
        """Return what a canvas shows after the change in place of a file, heading or block."""

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:
        """Return a function from a name in a base to the name after the change."""


def rewrite_files(
    context: PlanContext,
    rules: LinkRules,
    notes: Mapping[VaultPath, Container[str] | None],
    paths: Iterable[VaultPath],
    plan: Plan,
) -> None:
    """Add to the plan the writes for the links of ``notes``, and of every canvas, base and base block among ``paths``.

    ``notes`` says which links of each note come into question, by what they say; None for all of them. The index does not
    know the links of canvases and bases, so these files are all read. Each write names the file's path after the change;
    a file that the plan writes already is rewritten as it is then.

    A canvas or base that cannot be read or understood stays as it is and is added to ``plan.skipped``. Raises VaultError
    for a note that cannot be read and for a link that cannot be written.
    """
    edited = {step.path: (number, step) for number, step in enumerate(plan.steps) if isinstance(step, Write)}
    with_queries = set(context.index.notes_with_queries(context.progress))
    others = [path for path in paths if (is_canvas_or_base(path) or path in with_queries) and path not in notes]
    sources = sorted([*context.sample(sorted(notes)), *others])
    for path in Stages(context.progress).each(Stages.READING, "read", sources):
        place = rules.path_after(path)
        number, edit = edited.get(place, (None, None))
        if edit is not None and (edit.old is None or edit.new is None):  # it comes or goes: nothing to rewrite
            continue
        try:
            data = context.files.read(path).data if edit is None else edit.after or b""
            after = rewrite_bytes(data, path, rules, plan, notes.get(path, _NO_LINKS))
        except (NotACanvasError, NotABaseError) as error:
            plan.skipped.append(Problem(place, f"its links were left as they are: it {error}"))
            continue
        except VaultError as error:
            if error.code == INVALID_ARGUMENTS or not is_canvas_or_base(path):
                raise
            plan.skipped.append(Problem(place, f"its links were left as they are: {error.message}"))
            continue
        if after == data:
            continue
        if number is None or edit is None or edit.old is None:
            plan.steps.append(edit_of(context.files, path, data, after, place))
        else:
            plan.steps[number] = Write(place, edit.old, patched(edit.old, edit.old.data, after))


def rewrite_bytes(
    data: bytes, path: VaultPath, rules: LinkRules, plan: Plan, linktexts: Container[str] | None = None
) -> bytes:
    """Return the bytes of one file with its links rewritten; add the links to the plan. See ``rewrite_files``.

    A file that is not UTF-8 throughout is rewritten too.
    """
    place = rules.path_after(path)

    def edit(text: str) -> str:
        rewriting = _rewrite(text, path, rules, plan, linktexts)
        plan.links.extend(LinkChange(place, link.line, link.old, link.new) for link in rewriting.links)
        after = apply_replacements(text, rewriting.edits)
        if is_canvas(path):
            return edit_cards(after, lambda card, line: rewrite_blocks(card, path, rules, plan, line))
        return after if is_base(path) else rewrite_blocks(after, path, rules, plan)

    try:
        return edited_bytes(data, edit)
    except UnwritableLinkError as error:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{path!r}, {error}: the name holds what ends a link there. Choose another name.",
            path=path,
            line=error.span.line,
        ) from None


def _rewrite(text: str, path: VaultPath, rules: LinkRules, plan: Plan, linktexts: Container[str] | None) -> Rewriting:
    if is_base(path):
        return base_edits(text, rules.base_name(path))
    if is_canvas(path):
        return canvas_edits(text, rules.node, rules.decide(path))
    if linktexts is _NO_LINKS:
        return Rewriting([], [])
    end = end_of_reading(text)
    if end < len(text):
        problem = f"it is not looked into beyond {unread_problem(text, end)}"
        plan.skipped.append(Problem(rules.path_after(path), problem))
    # The index spells links with bytes that are not UTF-8 in another way.
    return rewrite_links(text, rules.decide(path), None if _NOT_TEXT.search(text) else linktexts)


def rewrite_blocks(text: str, path: VaultPath, rules: LinkRules, plan: Plan, card_line: int = 0) -> str:
    """Return the text of one note with the names in its base blocks rewritten; add them to the plan, and what stays.

    ``card_line``: the text is that of a card, which is on this one line of a canvas.
    """
    place = rules.path_after(path)

    def edit(block: Block) -> str:
        try:
            rewriting = base_edits(block.text, rules.base_name(path))
        except NotABaseError as error:
            plan.skipped.append(
                Problem(place, f"its base block on line {card_line or block.line} was left as it is: it {error}")
            )
            return block.text
        links.extend(
            LinkChange(place, card_line or block.line - 1 + link.line, link.old, link.new) for link in rewriting.links
        )
        return apply_replacements(block.text, rewriting.edits)

    links: list[LinkChange] = []
    try:
        after = edit_blocks(text, edit)
    except BlockError as error:
        plan.skipped.append(Problem(place, f"its base blocks were left as they are: it {error}"))
        return text
    plan.links.extend(links)
    return after


def rewrite_text(
    text: str, path: VaultPath, decide: Callable[[LinkSpan], NewLink | None], links: list[LinkChange]
) -> Rewriting:
    """Return the edits of the links in one note's text; add the links to ``links``. Raises VaultError."""
    try:
        rewriting = rewrite_links(text, decide)
    except UnwritableLinkError as error:
        raise VaultError(INVALID_ARGUMENTS, f"{path!r}, {error}.", path=path, line=error.span.line) from None
    links += [LinkChange(path, link.line, link.old, link.new) for link in rewriting.links]
    return rewriting


def named_in_queries(context: PlanContext, names: re.Pattern[str]) -> list[Problem]:
    """Return where a query in another language than that of bases has one of the names: those stay as they are."""
    problems: list[Problem] = []
    for path in context.index.notes_with_queries(context.progress):
        context.progress.check()
        try:
            text = plain_text(context.files.read(path).data)
        except VaultError:  # it is gone by now, or cannot be read: then it is named elsewhere
            continue
        for block in other_queries(text):
            found = names.search(block.text)
            if found is not None:
                line = block.line + block.text.count("\n", 0, found.start())
                problems.append(Problem(path, f"the query on line {line} says {found[0]!r} and stays as it is"))
    return problems


def is_canvas_or_base(path: VaultPath) -> bool:
    """Tell whether a file is a canvas or a base: a file that holds links and is no note."""
    return is_canvas(path) or is_base(path)
