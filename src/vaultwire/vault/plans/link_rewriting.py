"""Rewrites the links in files after a change: of notes, canvases and bases.

What each link has to say is decided by ``LinkRules``, one class for each kind of change. Files are read here, not written:
the result is a list of writes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Protocol

from vaultwire.bases.base_blocks import Block, BlockError, edit_blocks, edit_cards, other_queries
from vaultwire.markdown.canvas import FileNode, NotACanvasError, canvas_edits
from vaultwire.markdown.inline import percent_encoded, read_inline
from vaultwire.markdown.link_spans import (
    Kind,
    LinkSpan,
    NewLink,
    NotABaseError,
    Rewriting,
    UnwritableLinkError,
    base_edits,
    destination,
    other_folder_texts,
    rewrite_links,
)
from vaultwire.markdown.offsets import apply_replacements, end_of_reading, unread_problem
from vaultwire.vault.changes.change import Move, Write, edit_of
from vaultwire.vault.disk.contents import edited_bytes, patched, plain_text
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_base, is_canvas, is_note, stem
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_name, link_names_to, linkpath_of
from vaultwire.vault.plans.context import LinkChange, Plan, PlanContext, ResolvedLink
from vaultwire.vault.settings.obsidian_settings import Settings
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
        """Return a function from a name in a base to the name after the change; the same name for one that is lost."""


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
        return _in_base(text, path, rules, plan)
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


def _in_base(
    text: str, path: VaultPath, rules: LinkRules, plan: Plan, above: int = 0, *, is_card: bool = False
) -> Rewriting:
    """Return the edits of a base. What names a moved folder and must stay is added to the plan. Raises NotABaseError.

    ``above``: the lines above the base; of a card, its one line.
    """
    place = rules.path_after(path)
    rewriting = base_edits(text, rules.base_name(path))
    for link in rewriting.links:
        if link.old == link.new:
            line = above if is_card else above + link.line
            problem = f"line {line} of it asks for {link.old!r} in a folder or path, which means other files now"
            plan.kept.append(Problem(place, problem))
    if isinstance(rules, MovedLinks):
        for said in rules.lost_folders(text):
            plan.kept.append(Problem(place, f"it may name the old folder in {said[:200]!r}, which stays as it is"))
    return rewriting._replace(
        edits=[edit for edit, link in zip(rewriting.edits, rewriting.links, strict=True) if link.old != link.new],
        links=[link for link in rewriting.links if link.old != link.new],
    )


def rewrite_blocks(text: str, path: VaultPath, rules: LinkRules, plan: Plan, card_line: int = 0) -> str:
    """Return the text of one note with the names in its base blocks rewritten; add them to the plan, and what stays.

    ``card_line``: the text is that of a card, which is on this one line of a canvas.
    """
    place = rules.path_after(path)

    def edit(block: Block) -> str:
        try:
            rewriting = _in_base(block.text, path, rules, plan, card_line or block.line - 1, is_card=bool(card_line))
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
            match = names.search(block.text)
            if match is not None:
                line = block.line + block.text.count("\n", 0, match.start())
                problems.append(Problem(path, f"the query on line {line} says {match[0]!r} and stays as it is"))
    return problems


def is_canvas_or_base(path: VaultPath) -> bool:
    """Tell whether a file is a canvas or a base: a file that holds links and is no note."""
    return is_canvas(path) or is_base(path)


# What links say after files have moved, or new files have come.
#
# One rule: a link leads to the same file as before, at its new path. A link that still does so stays as it is, byte for byte,
# unless its name now fits several files: Obsidian then writes the whole path (release notes 0.8.3). A link that led nowhere
# stays as well, as in Obsidian, even where a file now has the name it asks for. Pure: paths in, link texts out.


class MovedLinks:
    """The paths of files before and after they move, and what links say after the move (``link_rewriting.LinkRules``)."""

    def __init__(
        self,
        context: PlanContext,
        paths: Iterable[VaultPath],
        moved: Mapping[VaultPath, VaultPath],
        *,
        folders: Sequence[Move] = (),
        names: Iterable[str] | None = None,
        added: Sequence[VaultPath] = (),
    ) -> None:
        """``paths`` are all files of the vault, ``moved`` the new paths of those that move, ``added`` the new files.

        ``folders`` are the folders that move as a whole. With ``names`` (``link_resolver.link_name``)
        only files that links of these names can lead to are considered, and only such links may be asked about.
        """
        self._progress = context.progress
        self._format = context.settings.new_link_format
        self._moved = moved
        self._folders = folders
        self._all = [*paths] if folders else []
        paths = self._all or paths
        touched = [*moved, *moved.values(), *added]
        self._affected = {name for path in touched for name in link_names_to(path)}
        if names is not None:
            sought = {file for name in {*names, *self._affected} for file in file_names_for(name)}
            paths = [path for path in paths if fold(path.rpartition("/")[2]) in sought]
        before = [*paths]
        after = [*(moved.get(path, path) for path in before), *added]
        self._before = LinkResolver(before)
        self._after = LinkResolver(after)
        self._after_by_name: dict[str, list[VaultPath]] = {}
        for path in after:
            self._after_by_name.setdefault(fold(path.rpartition("/")[2]), []).append(path)
        # Both remember what was found: thousands of links may say the same, and the name may fit thousands of files.
        self._targets: dict[tuple[str, str, str], VaultPath | None] = {}
        self._linkpaths: dict[tuple[str, VaultPath], str] = {}
        self._moved_by_spelling = {fold(path): path for path in moved} | {path: path for path in moved}

    def path_after(self, path: VaultPath) -> VaultPath:
        """Return the path of a file after the move."""
        return self._moved.get(path, path)

    def by_note(self, links: Iterable[tuple[VaultPath, str]]) -> dict[VaultPath, set[str]]:
        """Return those of the links (the note and the link's text) that must be rewritten, by their notes."""
        by_note: dict[VaultPath, set[str]] = {}
        for note, linktext in links:
            if self._must_change(note, linktext):
                by_note.setdefault(note, set()).add(linktext)
        return by_note

    def newly_resolved(
        self, links: Iterable[tuple[VaultPath, str]], place: VaultPath | None = None
    ) -> list[ResolvedLink]:
        """Return those of the links (the note and the link's text) that led nowhere before and lead to a file after, sorted.

        ``place`` is the note that they all stand in after, if they leave theirs.
        """
        resolved = set()
        for note, linktext in links:
            self._progress.check()
            linkpath = linkpath_of(linktext).strip()
            if linkpath and self._before.resolve(note, linkpath) is None:
                after = place or self.path_after(note)
                target = self._after.resolve(after, linkpath)
                if target is not None:
                    resolved.add(ResolvedLink(after, linktext, target))
        return sorted(resolved)

    def _must_change(self, note: VaultPath, linktext: str) -> bool:
        return self._new_target(note, linktext) is not None

    def _new_target(self, source: VaultPath, linktext: str) -> VaultPath | None:
        """Return the file that a link in ``source`` (its path before) must be made to lead to; None if the link may stay."""
        self._progress.check()
        linkpath = linkpath_of(linktext).strip()
        if not linkpath or (source not in self._moved and link_name(source, linktext) not in self._affected):
            return None
        place = self.path_after(source)
        key = (source.rpartition("/")[0], place.rpartition("/")[0], linkpath)
        if key not in self._targets:
            self._targets[key] = self._find_new_target(source, place, linkpath)
        return self._targets[key]

    def _find_new_target(self, source: VaultPath, place: VaultPath, linkpath: str) -> VaultPath | None:
        old = self._before.resolve(source, linkpath)
        if old is None:
            return None
        target = self.path_after(old)
        if self._after.resolve(place, linkpath) != target:
            return target
        was_plain = self._before.is_unambiguous(linkpath)
        return target if was_plain and not self._after.is_unambiguous(linkpath) else None

    def linktext(
        self,
        source: VaultPath,
        linktext: str,
        target: VaultPath,
        span: LinkSpan | None = None,
        *,
        in_brackets: bool = False,
    ) -> str:
        """Return what a link in ``source`` says to lead to ``target``, in the form the vault's settings ask for.

        ``.md`` stays written or left out, and the subpath stays. In a wikilink the text must be one that a wikilink can
        say; ``span`` is the link in a note, ``in_brackets`` says the same of a link elsewhere. Raises VaultError if no
        link can lead to such a name.
        """
        linkpath, mark, subpath = linktext.partition("#")
        place = self.path_after(source)
        key = (place.rpartition("/")[0], target)
        if key not in self._linkpaths:
            named = {name for led in link_names_to(target) for name in file_names_for(led)}
            alike = [path for name in sorted(named) for path in self._after_by_name.get(name, ())]
            self._linkpaths[key] = linkpath_to(place, target, alike, self._format)
        whole = target[: -len(NOTE_SUFFIX)] if is_note(target) else target
        forms = [self._linkpaths[key], whole, f"/{whole}"]
        if is_note(target):
            suffix = target[-len(NOTE_SUFFIX) :]
            with_suffix = [form if is_note(form) else form + suffix for form in forms]
            forms = with_suffix if is_note(linkpath.strip()) else [*forms, *with_suffix]
        is_wikilink = in_brackets if span is None else not span.is_markdown
        is_last = is_wikilink and not mark and (span is None or span.display_place is None)
        for form in forms:
            # A link's path ends at "#": of "#/x" nothing is left, and nothing means the note itself.
            if "#" in form:
                continue
            # A wikilink cannot begin with "[" or end with "]".
            if (is_wikilink and form.startswith("[")) or (is_last and form.endswith("]")):
                continue
            if self._after.resolve(place, form) == target:
                return form + mark + subpath
        raise VaultError(
            INVALID_ARGUMENTS,
            f"No link can lead to {target!r}, and {place!r} has one to it: links end a name at '#'. Choose another name.",
            path=target,
        )

    def decide(self, source: VaultPath) -> Callable[[LinkSpan], NewLink | None]:
        """See ``LinkRules``."""

        def new_link(span: LinkSpan) -> NewLink | None:
            target = self._new_target(source, span.linktext)
            if target is None:
                return None
            new = self.linktext(source, span.linktext, target, span)
            if linkpath_of(new) == linkpath_of(span.linktext):
                return None
            return NewLink(new, self._display(source, span, target))

        return new_link

    def _display(self, source: VaultPath, span: LinkSpan, target: VaultPath) -> str | None:
        """Return the new display text of a link that shows the old name (release notes 0.9.18, 1.2.1), None if it does not."""
        old = self._before.resolve(source, linkpath_of(span.linktext))
        if old is None or not span.display:
            return None
        names = {stem(old): stem(target), old.rpartition("/")[2]: target.rpartition("/")[2]}
        new = names.get(span.display)
        return None if new == span.display else new

    def node(self, node: FileNode) -> FileNode | None:
        """See ``LinkRules``."""
        new = self._new_path(node.file)
        return None if new is None or new == node.file else node._replace(file=new)

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:
        """See ``LinkRules``."""

        def new_name(kind: Kind, name: str) -> str | None:
            if kind == "folder":
                return self._new_folder(name)
            if kind == "part":
                return self._new_part(*name.split("(", 1))
            if kind == "path":
                new = self._new_path(name)
                return None if new == name else new
            target = self._new_target(source, name)
            if target is None:
                return None
            linkpath, mark, subpath = name.partition("#")
            whole = self._new_path(linkpath) or self._new_path(linkpath + NOTE_SUFFIX)
            if "/" in linkpath and whole == target:
                path = target if is_note(linkpath) or not is_note(target) else target[: -len(NOTE_SUFFIX)]
                is_sayable = kind != "wiki" or not (path.startswith("[") or path.endswith("]"))
                if is_sayable and self._after.resolve(self.path_after(source), path) == target:
                    return path + mark + subpath
            return self.linktext(source, name, target, in_brackets=kind == "wiki")

        return new_name

    def _new_path(self, path: str) -> VaultPath | None:
        """Return the new path of the file with this path, however it is spelt; None if it does not move."""
        old = self._moved_by_spelling.get(path) or self._moved_by_spelling.get(fold(path))
        return None if old is None else self._moved[old]

    def _new_part(self, asks: str, text: str) -> str | None:
        """Return the text that finds the same files after the move as ``text`` before; None if it does, itself if none does.

        ``asks``: ``file.folder.startsWith``. Only texts that name a folder which moves come into question.
        """
        _, field, function = asks.split(".")
        test = _PARTS[function]
        spoken = [move for move in self._folders if _names_folder(text.strip("/"), move.source)]
        if not spoken:
            return None

        def part(path: VaultPath) -> str:
            return path if field == "path" else path.rpartition("/")[0] or "/"

        def finds(new: str) -> set[VaultPath]:
            self._progress.check()
            return {after for path in self._all if test(part(after := self.path_after(path)), new)}

        sought = {self.path_after(path) for path in self._all if test(part(path), text)}
        old_and_new = [
            pair for old, new in spoken for pair in ((old, new), (_name(old), _name(new)), (_name(old), new))
        ]
        forms = [re.sub(rf"(?<![^/]){re.escape(old)}(?![^/])", lambda _: new, text) for old, new in old_and_new]  # noqa: B023
        forms = [text, *(form for form in forms if form != text)]
        forms += [f"{form}/" for form in forms[1:] if not form.endswith("/")]
        right = next((form for form in forms if finds(form) == sought), text)
        return None if right == text and finds(text) == sought else right

    def lost_folders(self, base: str) -> list[str]:
        """Return the expressions of a base that may name a folder which moves, in a form that is not followed."""
        names = {name for move in self._folders for name in (move.source, _name(move.source))}
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        if not names or not pattern.search(base):
            return []
        return [*dict.fromkeys(said for text, said in other_folder_texts(base) if pattern.search(text))]

    def _new_folder(self, name: str) -> str | None:
        bare = name.strip("/")
        for old, new in self._folders:
            if fold(bare) == fold(old) or fold(bare).startswith(fold(old) + "/"):
                renamed = name.replace(bare, "/".join([new, *bare.split("/")[old.count("/") + 1 :]]), 1)
                return None if renamed == name else renamed
        return None


_PARTS: Mapping[str, Callable[[str, str], bool]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
}


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _names_folder(text: str, folder: str) -> bool:
    """Tell whether a part of a path names the folder, a folder in it, or a part of its own name."""
    parent = folder.rpartition("/")[0]
    return bool(text) and (f"/{_name(folder)}/" in f"/{text}/" or folder.count(text) > parent.count(text))


# Writes new links: in the form the vault's settings ask for, and so that they lead to the file by Obsidian's own rules.
#
# Where a link leads is decided by ``vault.links.link_resolver``.

# Characters with a meaning in a Markdown link's text: brackets, and those that open code, math or HTML.
_BRACKETS = re.compile(r"[\[\]]")
_MARKUP = re.compile(r"[\[\]`$<>\\]")


def link_to(
    source: VaultPath,
    target: VaultPath,
    paths: Iterable[VaultPath],
    settings: Settings,
    *,
    is_embed: bool = False,
    display: str = "",
) -> str:
    """Return the link that leads from a note to a file, in the form the vault's settings ask for.

    ``paths`` are the vault's files; those with the target's name are enough. The shortest form is the bare name if no other
    file has it, else the whole path (obsidian.d.ts ``fileToLinktext``). A form that would lead elsewhere is not used. No link
    leads to a file with ``#`` in its path (engine facts §2.1). ``display`` is shown instead of the name.
    """
    linkpath = linkpath_to(source, target, paths, settings.new_link_format)
    mark = "!" if is_embed else ""
    if not settings.use_markdown_links:
        link = f"{mark}[[{linkpath}{'|' + display if display else ''}]]"
        if [found.linktext for found in read_inline(link)[1]] == [linkpath]:  # "a|b", say, needs the other form
            return link
    suffix = target[-len(NOTE_SUFFIX) :] if is_note(target) and not is_note(linkpath) else ""
    shown = display or ("" if is_embed else stem(target))
    # Other characters may change its meaning: "[b]" makes a wikilink, two backticks make code.
    escaped, written = _MARKUP.sub(r"\\\g<0>", shown), destination(linkpath + suffix)
    forms = [
        (shown, written),
        (_BRACKETS.sub(r"\\\g<0>", shown), written),
        (escaped, percent_encoded(linkpath + suffix)),
    ]
    link = ""
    for text, target_text in forms:
        link = f"{mark}[{text}]({target_text})"
        found = [(one.linktext, one.start, one.end) for one in read_inline(link)[1]]
        if found == [(linkpath + suffix, len(mark), len(link))]:
            break
    return link


def linkpath_to(source: VaultPath, target: VaultPath, paths: Iterable[VaultPath], new_link_format: str) -> str:
    """Return the linkpath, without ``.md``, that leads from a note to a file. See ``link_to``."""
    named = {name for led in link_names_to(target) for name in file_names_for(led)}
    alike = {path for path in paths if fold(path).rpartition("/")[2] in named} | {target}
    targets = LinkResolver(alike)
    whole = _without_suffix(target)
    if new_link_format == "relative":
        # Absolute paths, so that relpath does not ask the system for the current folder.
        relative = _without_suffix(VaultPath(posixpath.relpath(f"/{target}", f"/{posixpath.dirname(source)}")))
        forms = [relative, f"./{relative}"]
    elif new_link_format == "absolute":
        forms = []
    else:
        name = fold(target).rpartition("/")[2]
        is_alone = sum(fold(path).rpartition("/")[2] == name for path in alike) == 1
        forms = [whole.rpartition("/")[2]] if is_alone else []
    forms += [whole, target]
    return next((form for form in forms if targets.resolve(source, form) == target), whole)


def _without_suffix(path: VaultPath) -> str:
    return path[: -len(NOTE_SUFFIX)] if is_note(path) else path
