"""Plans for calling a tag or a property something else in every note that has it.

How a note's text changes is ``markdown``'s matter (``tag_spans``, ``property_edits``). Plans are steps; nothing is written
here. Notes that the vault's own rules exclude are renamed too, as their links are when a note moves: a template or an
archived note that kept the old name would bring it back. One of these that cannot be changed is left, and told of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vaultwire.markdown.bounds import end_of_reading, unread_problem
from vaultwire.markdown.property_edits import PropertyEditError, rename_property
from vaultwire.markdown.tag_spans import TagError, check_tag, rename_tag, renamed_tag, tag_spans
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.note_text import edited_bytes, plain_text
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.sections import parse_structure
from vaultwire.vault.plans.following import NewSubpath, follow, follow_headings
from vaultwire.vault.plans.relinking import LinkChange
from vaultwire.vault.search.filters import Condition, NoteFilter
from vaultwire.vault.value_types import Problem, Progress, TagCount, VaultPath

_ALL = 1 << 30  # more notes than any vault has
# More notes than this help nobody to mend them.
_MAX_NAMED = 10
_MAX_NEAR = 5


class TagPlan(NamedTuple):
    """What renaming a tag does: a step for each note, how many places change in all, and the tags it merges with.

    ``excluded`` is how many of the notes with the tag the vault's rules exclude; ``left`` are such notes that cannot be
    changed. ``links`` are those to headings that hold the tag, rewritten; ``unfollowed`` are files whose links could
    not be looked at.

    ``merged`` are tags in use already that a renamed one becomes one with, each with the notes that had it. Such a
    renaming cannot be taken back by another: nobody knows any more which note had which.
    """

    old: str
    new: str
    steps: list[Step]
    places: int
    merged: list[TagCount]
    excluded: int
    left: list[Problem]
    links: list[LinkChange]
    unfollowed: list[Problem]


class PropertyPlan(NamedTuple):
    """What renaming a property does: a step for each note, and in how many notes the new name was in use before.

    ``excluded`` and ``left`` are as in ``TagPlan``.
    """

    old: str
    new: str
    steps: list[Step]
    in_use: int
    excluded: int
    left: list[Problem]


def plan_rename_tag(files: Files, index: Index, old: str, new: str, progress: Progress) -> TagPlan:
    """Return how a tag, and those below it, gets another name in every note: ``#old/x`` becomes ``#new/x``.

    In any case they were written; inline and in the ``tags`` property, nowhere in code. Tags on canvases stay: Obsidian
    does not count what their cards hold as tags. A heading that holds the tag has another name then, and every link to it
    follows. All notes or none: raises VaultError (INVALID_ARGUMENTS) for a new name that is no tag, an old one that no
    note has, where a note cannot be changed, with every such note in ``details``, and for a link that could not tell its
    heading from another any more; those of reading a note.
    """
    old = old.strip().removeprefix("#").strip("/")
    try:
        new = check_tag(new)
    except TagError as error:
        raise VaultError(INVALID_ARGUMENTS, f"new: {error}", argument="new") from None
    noted = index.tagged([old], None, progress, every=True) if old else []
    excluded = index.excluded_with(old, "", progress) if old else []
    if not noted and not excluded:
        raise _no_such_tag(index, old, progress)

    def edited(text: str) -> str:
        if (end := end_of_reading(text)) < len(text):
            raise TagError(unread_problem(text, end))
        return rename_tag(text, old, new)

    steps: list[Write] = []
    problems: list[Problem] = []
    places = 0
    for note in noted:
        progress.check()
        places += _plan_note(files, note.path, edited, steps, problems, _is_tag(old))
    _refuse(problems, f"#{old} cannot be renamed")
    seen = len(steps)
    left: list[Problem] = []
    for path in excluded:
        progress.check()
        places += _plan_note(files, path, lambda text: rename_tag(text, old, new), steps, left, _is_tag(old))
    if not steps:
        _refuse(left, f"#{old} cannot be renamed")
    in_use = index.count_tags(None, progress)
    renamed = {tag.tag.casefold(): renamed_tag(tag.tag, old, new).casefold() for tag in in_use}
    results = {result for tag, result in renamed.items() if result != tag}
    merged = [tag for tag in in_use if renamed[folded := tag.tag.casefold()] == folded and folded in results]
    renamed_headings: dict[VaultPath, NewSubpath] = {}
    for step in steps:
        progress.check()
        if (new_subpath := _new_subpath(step, old)) is not None:
            renamed_headings[step.path] = new_subpath
    writes, links, unfollowed = follow(files, index, steps, renamed_headings, progress)
    return TagPlan(old, new, [*writes], places, merged, len(steps) - seen, left, links, unfollowed)


def plan_rename_property(files: Files, index: Index, old: str, new: str, progress: Progress) -> PropertyPlan:
    """Return how a property gets another name in every note that has it, in whatever case; its values stay.

    All notes or none: raises VaultError (INVALID_ARGUMENTS) if no note has it, and, with every such note in ``details``,
    where a note's frontmatter is broken or has the new name already; those of reading a note. The type Obsidian knows for
    the name stays with the old one: it is in ``.obsidian/types.json``, and there nothing is ever written. Bases that name
    the property stay as they are too.
    """
    old, new = old.strip(), new.strip()
    if not old or not new:
        raise VaultError(INVALID_ARGUMENTS, "A property needs a name.", argument="old" if not old else "new")
    wanted = NoteFilter(conditions=(Condition(fold(old), ""),), sort="path")
    noted, _ = index.find(wanted, None, 0, _ALL, progress)
    excluded = index.excluded_with("", old, progress)
    if not noted and not excluded:
        raise VaultError(INVALID_ARGUMENTS, f"old: no note has a property {old!r}.", argument="old")
    steps: list[Write] = []
    problems: list[Problem] = []
    for note in noted:
        progress.check()
        _plan_note(files, note.stat.path, lambda text: rename_property(text, old, new), steps, problems)
    _refuse(problems, f"The property {old!r} cannot be renamed to {new!r}")
    seen = len(steps)
    left: list[Problem] = []
    for path in excluded:
        progress.check()
        _plan_note(files, path, lambda text: rename_property(text, old, new), steps, left)
    if not steps:
        _refuse(left, f"The property {old!r} cannot be renamed to {new!r}")
    in_use = index.properties(new, None, progress) if fold(old) != fold(new) else []
    return PropertyPlan(old, new, [*steps], sum(used.notes for used in in_use), len(steps) - seen, left)


def _new_subpath(step: Write, old: str) -> NewSubpath | None:
    """Return how links to the headings of a note with a tag renamed follow, None if none of its headings holds a tag."""
    assert step.before is not None
    assert step.after is not None
    before = parse_structure(step.path, plain_text(step.before))
    if not any("#" in heading.text for heading in before.outline):
        return None
    after = parse_structure(step.path, plain_text(step.after))
    if [heading.text for heading in before.outline] == [heading.text for heading in after.outline]:
        return None

    def untellable(line: int, linked: str) -> VaultError:
        return VaultError(
            INVALID_ARGUMENTS,
            f"#{old} cannot be renamed: no link could tell the heading on line {line} of {step.path!r} from another then, "
            f"and there is a link to it ({'#' + linked!r}). Rename that heading first.",
            path=step.path,
            line=line,
        )

    return follow_headings(before, after, untellable)


def _is_tag(old: str) -> Callable[[str], int]:
    def count(text: str) -> int:
        return sum(renamed_tag(span.tag, old, "") != span.tag for span in tag_spans(text))

    return count


def _plan_note(
    files: Files,
    path: VaultPath,
    edit: Callable[[str], str],
    steps: list[Write],
    problems: list[Problem],
    count: Callable[[str], int] = lambda _: 1,
) -> int:
    """Add the step that edits a note, or what keeps it from being edited; return how many places of it change.

    Bytes that are no text go through as they are.
    """
    data = files.read(path).data
    try:
        after = edited_bytes(data, edit)
    except (TagError, PropertyEditError) as error:
        problems.append(Problem(path, str(error)))
        return 0
    if after == data:  # somebody else was faster
        return 0
    steps.append(Write(path, data, after))
    return count(data.decode("utf-8-sig", "surrogateescape"))


def _refuse(problems: list[Problem], what: str) -> None:
    """Raise VaultError if there are problems: a name that is new in some notes and old in others is worse than none."""
    if not problems:
        return
    shown = "; ".join(f"{problem.path}: {problem.text}" for problem in problems[:_MAX_NAMED])
    more = f"; and {len(problems) - _MAX_NAMED} more" if len(problems) > _MAX_NAMED else ""
    notes = "a note" if len(problems) == 1 else f"{len(problems)} notes"
    raise VaultError(
        INVALID_ARGUMENTS,
        f"{what}, because of {notes}; nothing was changed. {shown}{more}",
        notes=[problem.path for problem in problems],
    )


def _no_such_tag(index: Index, old: str, progress: Progress) -> VaultError:
    folded = old.casefold()
    tags = [tag.tag for tag in index.count_tags(None, progress)]
    near = [f"#{tag}" for tag in tags if folded and (folded in tag.casefold() or tag.casefold() in folded)][:_MAX_NEAR]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return VaultError(INVALID_ARGUMENTS, f"old: no note has the tag #{old}.{hint}", argument="old")
