"""Plans for renaming a tag or a property in every note that has it.

How one note's text changes is decided by ``markdown`` (``tag_spans``, ``property_edits``). A plan is a list of steps; nothing
is written here. Notes that the vault's own rules exclude are changed as well, as their links are when a note moves: a
template or an archived note with the old name would bring it back. An excluded note that cannot be changed is skipped and
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vaultwire.bases.base_blocks import edit_cards
from vaultwire.bases.renaming import (
    NotRenamedError,
    PropertyRenaming,
    Renaming,
    TagRenaming,
    rename_in_base,
    rename_in_blocks,
)
from vaultwire.markdown.canvas import NotACanvasError
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.offsets import end_of_reading, unread_problem
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import PropertyEditError, rename_property
from vaultwire.markdown.tag_spans import TagError, check_tag, rename_tag, renamed_tag, tag_spans
from vaultwire.vault.changes.change import Step, Write, edit_of
from vaultwire.vault.disk.contents import edited_bytes, plain_text
from vaultwire.vault.disk.paths import fold, is_base, is_canvas
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.plans.context import Plan, PlanContext
from vaultwire.vault.plans.heading_links import NewSubpath, changed_headings, follow_headings
from vaultwire.vault.plans.link_rewriting import is_canvas_or_base, named_in_queries
from vaultwire.vault.value_types import Problem, Progress, Stages, TagCount, VaultPath, asking

# A longer list of notes to repair helps nobody.
_MAX_NAMED = 10
_MAX_NEAR = 5


@dataclass
class RenamePlan(Plan):
    """The plan of renaming a tag or property: one step for each note, then one for each other file with a base that names it.

    ``excluded`` is how many of the notes with the name the vault's rules exclude; ``unchanged`` are such notes that cannot
    be changed. ``bases``: how many of the steps are for bases alone. ``places``: how many places in notes have the tag.

    ``merged`` are tags that were in use before and become one with a renamed tag, each with the notes that had it. Another
    rename cannot take that back: nobody knows any more which note had which tag. ``in_use``: how many notes had the
    property's new name before.
    """

    old: str
    new: str
    excluded: int = 0
    unchanged: list[Problem] = field(default_factory=list)
    bases: int = 0
    places: int = 0
    merged: list[TagCount] = field(default_factory=list)
    in_use: int = 0


def plan_rename_tag(context: PlanContext, old: str, new: str) -> RenamePlan:
    """Plan to rename a tag, and those below it, in every note: ``#old/x`` becomes ``#new/x``.

    It is renamed in whatever case it is written, inline, in the ``tags`` property and in bases, and nowhere else in code.
    Tags on canvases stay: Obsidian does not count what their cards hold as tags. A heading that holds the tag gets another
    name by that, and every link to it follows.

    All notes or none: raises VaultError (INVALID_ARGUMENTS) for a new name that is no tag, an old one that no note has,
    where a note cannot be changed, with every such note in ``details``, and for a link that could no longer tell its
    heading from another; those of reading a note.
    """
    index, progress = context.index, context.progress
    old = old.strip().removeprefix("#").strip("/")
    try:
        new = check_tag(new)
    except TagError as error:
        raise VaultError(INVALID_ARGUMENTS, f"new: {error}", argument="new") from None
    paths, excluded = index.notes_with(old, "", progress) if old else ([], [])
    if not paths and not excluded:
        raise _no_such_tag(index, old, progress)

    def renamed_to_end(text: str) -> str:
        if (end := end_of_reading(text)) < len(text):
            raise TagError(unread_problem(text, end))
        return rename_tag(text, old, new)

    plan = RenamePlan(old, new)
    _rename_all(
        context,
        plan,
        paths,
        renamed_to_end,
        excluded,
        lambda text: rename_tag(text, old, new),
        f"#{old} cannot be renamed",
    )
    plan.places = sum(_count_tag(step, old) for step in asking(progress, plan.writes))
    in_use = index.count_tags(None, progress)
    renamed = {tag.tag.casefold(): renamed_tag(tag.tag, old, new).casefold() for tag in in_use}
    results = {result for tag, result in renamed.items() if result != tag}
    plan.merged = [tag for tag in in_use if renamed[folded := tag.tag.casefold()] == folded and folded in results]
    renamed_headings: dict[VaultPath, NewSubpath] = {}
    for step in plan.writes:
        progress.check()
        if (new_subpath := _new_subpath(step, old)) is not None:
            renamed_headings[step.path] = new_subpath
    _rename_in_bases(context, TagRenaming(old, new), plan)
    follow_headings(context, plan, renamed_headings)
    return plan


def plan_rename_property(context: PlanContext, old: str, new: str) -> RenamePlan:
    """Plan to rename a property, in whatever case it is written, in every note that has it; its values stay.

    All notes or none: raises VaultError (INVALID_ARGUMENTS) if no note has it, and, with every such note in ``details``,
    where a note's frontmatter is broken or has the new name already; those of reading a note. The type Obsidian knows for
    the name stays with the old one: it is in ``.obsidian/types.json``, and there nothing is ever written. ``.base`` files and
    ``base`` blocks that name the property follow, also those in cards of canvases.
    """
    index, progress = context.index, context.progress
    old, new = old.strip(), new.strip()
    if not old or not new:
        raise VaultError(INVALID_ARGUMENTS, "A property needs a name.", argument="old" if not old else "new")
    paths, excluded = index.notes_with("", old, progress)
    if not paths and not excluded:
        raise VaultError(INVALID_ARGUMENTS, f"old: no note has a property {old!r}.", argument="old")

    def renamed(text: str) -> str:
        return (
            _renamed_with_fields(text, old, new) if context.files.has_inline_fields else rename_property(text, old, new)
        )

    plan = RenamePlan(old, new)
    _rename_all(context, plan, paths, renamed, excluded, renamed, f"The property {old!r} cannot be renamed to {new!r}")
    in_use = index.properties(new, None, progress) if fold(old) != fold(new) else []
    plan.in_use = sum(used.notes for used in in_use)
    _rename_in_bases(context, PropertyRenaming(old, new), plan)
    return plan


def _renamed_with_fields(text: str, old: str, new: str) -> str:
    """Rename a property and the inline fields of its name. Raises PropertyEditError as ``rename_property`` does."""
    from vaultwire.dataview.fields import FieldError, edited_fields, rename_field  # noqa: PLC0415 - few runs take them for properties

    try:
        after = edited_fields(text, lambda plain: rename_field(plain, old, new))
    except FieldError as error:
        raise PropertyEditError(f"it {error}") from None
    names = {name.casefold() for name in parse_frontmatter(to_plain(text)).values}
    if after != text and new.casefold() in names - {old.casefold()}:
        raise PropertyEditError(f"there is a property {new!r} already; {old!r} needs another name")
    return rename_property(after, old, new) if old.casefold() in names or after == text else after


def _rename_in_bases(context: PlanContext, renaming: Renaming, plan: RenamePlan) -> None:
    """Rename it in every ``.base`` file and ``base`` block, also in cards of canvases and in notes that the plan edits.

    A base or another query that stays breaks no note, so it refuses nothing: it is reported.
    """
    index, progress = context.index, context.progress
    edited = {step.path: (number, step) for number, step in enumerate(plan.writes)}
    bases = [path for path in index.paths(progress) if is_canvas_or_base(path)]
    for path in [*bases, *index.notes_with_queries(progress)]:
        progress.check()
        number, step = edited.get(path, (0, None))
        what = "" if is_base(path) else "has a base block that "
        unread: list[str] = []
        try:
            data = context.files.read(path).data
            before = data if step is None else step.after or b""
            after = edited_bytes(before, lambda text: _with_renamed(text, path, renaming, unread))  # noqa: B023 - called at once
        except NotACanvasError as error:
            plan.kept.append(Problem(path, f"it {error}"))
            continue
        except (NotRenamedError, PropertyEditError) as error:
            plan.kept.append(Problem(path, f"it {what}{error}"))
            continue
        except VaultError as error:
            plan.kept.append(Problem(path, f"it cannot be read: {error.message}"))
            continue
        plan.kept += [Problem(path, f"it has a filter or formula that cannot be read, {text!r}") for text in unread]
        if after == before:
            continue
        edit = edit_of(context.files, path, data, after)
        if step is None:
            plan.steps.append(edit)
            plan.bases += 1
        else:
            plan.steps[number] = edit
    plan.kept += named_in_queries(context, renaming.in_queries)


def _with_renamed(text: str, path: VaultPath, renaming: Renaming, unread: list[str]) -> str:
    if is_base(path):
        return rename_in_base(text, renaming, unread)
    if is_canvas(path):
        return edit_cards(text, lambda card, _: rename_in_blocks(card, renaming, unread))
    return rename_in_blocks(text, renaming, unread)


def _rename_all(
    context: PlanContext,
    plan: RenamePlan,
    paths: Sequence[VaultPath],
    edit: Callable[[str], str],
    excluded: Sequence[VaultPath],
    edit_excluded: Callable[[str], str],
    refusal: str,
) -> None:
    """Plan the edits of the notes at ``paths`` and of the ``excluded`` ones. Raises VaultError if one of the former, or
    all of the latter, cannot be changed.
    """
    problems: list[Problem] = []
    stages = Stages(context.progress)
    for path in stages.each(stages.READING, "read", context.sample(paths)):
        _rename_in(context, path, edit, plan.steps, problems)
    _refuse(problems, refusal)
    count = len(plan.steps)
    for path in stages.each(stages.READING, "read", context.sample(excluded)):
        _rename_in(context, path, edit_excluded, plan.steps, plan.unchanged)
    if not plan.steps:
        _refuse(plan.unchanged, refusal)
    plan.excluded = len(plan.steps) - count


def _rename_in(
    context: PlanContext, path: VaultPath, edit: Callable[[str], str], steps: list[Step], problems: list[Problem]
) -> None:
    """Add the step that edits a note, or the problem that keeps it from being edited.

    Bytes that are not UTF-8 stay as they are.
    """
    data = context.files.read(path).data
    try:
        after = edited_bytes(data, edit)
    except (TagError, PropertyEditError) as error:
        problems.append(Problem(path, str(error)))
        return
    if after != data:  # equal: another program has renamed it since the index read the note
        steps.append(edit_of(context.files, path, data, after))


def _count_tag(step: Write, old: str) -> int:
    """Return how many tags of a note are renamed."""
    text = (step.before or b"").decode("utf-8-sig", "surrogateescape")
    return sum(renamed_tag(span.tag, old, "") != span.tag for span in tag_spans(text))


def _new_subpath(step: Write, old: str) -> NewSubpath | None:
    """Return the new subpaths of links to a note's headings, None if none of its headings holds the renamed tag."""
    assert step.before is not None
    assert step.after is not None
    text = plain_text(step.before)
    if not any("#" in heading.text for heading in parse_note(text).headings):
        return None

    def ambiguous(line: int, linked: str) -> VaultError:
        return VaultError(
            INVALID_ARGUMENTS,
            f"#{old} cannot be renamed: no link could tell the heading on line {line} of {step.path!r} from another then, "
            f"and there is a link to it ({'#' + linked!r}). Rename that heading first.",
            path=step.path,
            line=line,
        )

    return changed_headings(step.path, text, plain_text(step.after), ambiguous)


def _refuse(problems: list[Problem], what: str) -> None:
    """Raise VaultError if there are problems: a name that is new in some notes and old in others is worse than none."""
    if not problems:
        return
    problem_texts = "; ".join(f"{problem.path}: {problem.text}" for problem in problems[:_MAX_NAMED])
    more = f"; and {len(problems) - _MAX_NAMED} more" if len(problems) > _MAX_NAMED else ""
    notes = "a note" if len(problems) == 1 else f"{len(problems)} notes"
    raise VaultError(
        INVALID_ARGUMENTS,
        f"{what}, because of {notes}; nothing was changed. {problem_texts}{more}",
        notes=[problem.path for problem in problems],
    )


def _no_such_tag(index: Index, old: str, progress: Progress) -> VaultError:
    folded = old.casefold()
    tags = [tag.tag for tag in index.count_tags(None, progress)]
    near = [f"#{tag}" for tag in tags if folded and (folded in tag.casefold() or tag.casefold() in folded)][:_MAX_NEAR]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return VaultError(INVALID_ARGUMENTS, f"old: no note has the tag #{old}.{hint}", argument="old")
