"""Which links must be written anew when files move, what they say then, and the files that hold them.

One rule: a link leads to the same file as before, wherever that lies now. One that still does stays as it is, byte for
byte, unless its name now means several files: Obsidian gives those the whole path (release notes 0.8.3). One that led
nowhere stays too, as in Obsidian, even where a file now has the name it asks for. Nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from vaultwire.markdown.base_files import Kind, NotABaseError, base_edits
from vaultwire.markdown.bounds import end_of_reading, unread_problem
from vaultwire.markdown.canvas import FileNode, NotACanvasError, canvas_edits
from vaultwire.markdown.link_spans import LinkSpan, NewLink, Rewriting, UnwritableLinkError, rewrite_links
from vaultwire.markdown.offsets import apply_replacements
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note, stem
from vaultwire.vault.disk.plain import edited_bytes
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.resolution import LinkTargets, linkpath_of, name_of, names_led_to, names_sought
from vaultwire.vault.model import Problem, Progress, VaultPath
from vaultwire.vault.plans.linktexts import linkpath_to

CANVAS_SUFFIX = ".canvas"
BASE_SUFFIX = ".base"

# What stands for bytes that are not UTF-8.
_NO_TEXT = re.compile("[\udc80-\udcff]")


class LinkChange(NamedTuple):
    """A link that is written anew: the file it stands in by then, its line, and all of it as it was and as it is then."""

    path: VaultPath
    line: int
    old: str
    new: str


class Moves:
    """Where files lie before and after they move, and what links say then."""

    def __init__(
        self,
        paths: Iterable[VaultPath],
        moved: Mapping[VaultPath, VaultPath],
        folder: tuple[VaultPath, VaultPath] | None,
        new_link_format: str,
        names: Iterable[str] | None,
        progress: Progress,
        added: Sequence[VaultPath] = (),
    ) -> None:
        """``paths`` are all files of the vault, ``moved`` says where those that move go, ``folder`` which one moves whole.

        ``added`` are new files. ``names`` (``links.name_of``) narrows to what links of these names may lead to; no other link
        may be asked about. ``progress`` is asked at each link whether to go on.
        """
        self._progress = progress
        self.moved = moved
        self._folder = folder
        self._format = new_link_format
        touched = [*moved, *moved.values(), *added]
        self._affected = {name for path in touched for name in names_led_to(path)}
        if names is not None:
            sought = {file for name in {*names, *self._affected} for file in names_sought(name)}
            paths = [path for path in paths if fold(path.rpartition("/")[2]) in sought]
        before = [*paths]
        after = [*(moved.get(path, path) for path in before), *added]
        self._before = LinkTargets(before)
        self._after = LinkTargets(after)
        self._after_by_name: dict[str, list[VaultPath]] = {}
        for path in after:
            self._after_by_name.setdefault(fold(path.rpartition("/")[2]), []).append(path)
        self._targets: dict[tuple[str, str, str], VaultPath | None] = {}
        self._spelt: dict[tuple[str, VaultPath], str] = {}
        self._moved_like = {fold(path): path for path in moved} | {path: path for path in moved}

    def place(self, path: VaultPath) -> VaultPath:
        """Return where a file lies afterwards."""
        return self.moved.get(path, path)

    def new_target(self, source: VaultPath, linktext: str) -> VaultPath | None:
        """Return the file a link in ``source`` (its path before) must be made to lead to; None if it may stay."""
        self._progress.check()
        linkpath = linkpath_of(linktext).strip()
        if not linkpath or (source not in self.moved and name_of(source, linktext) not in self._affected):
            return None
        place = self.place(source)
        key = (source.rpartition("/")[0], place.rpartition("/")[0], linkpath)
        if key not in self._targets:
            self._targets[key] = self._new_target(source, place, linkpath)
        return self._targets[key]

    def _new_target(self, source: VaultPath, place: VaultPath, linkpath: str) -> VaultPath | None:
        old = self._before.resolve(source, linkpath)
        if old is None:
            return None
        wanted = self.place(old)
        if self._after.resolve(place, linkpath) != wanted:
            return wanted
        was_plain = self._before.is_plain(linkpath)
        return wanted if was_plain and not self._after.is_plain(linkpath) else None

    def gained(self, source: VaultPath, linktext: str) -> VaultPath | None:
        """Return the file that a link leads to afterwards if it led nowhere before."""
        self._progress.check()
        linkpath = linkpath_of(linktext).strip()
        if not linkpath or self._before.resolve(source, linkpath) is not None:
            return None
        return self._after.resolve(self.place(source), linkpath)

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

        ``.md`` stays written or left out, the subpath stays; in place of a wikilink, at ``span`` or ``in_brackets`` that
        are no note's, it has to be one that a wikilink can say. Raises VaultError if no link can lead to such a name.
        """
        linkpath, mark, subpath = linktext.partition("#")
        place = self.place(source)
        key = (place.rpartition("/")[0], target)
        if key not in self._spelt:
            named = {name for led in names_led_to(target) for name in names_sought(led)}
            alike = [path for name in sorted(named) for path in self._after_by_name.get(name, ())]
            self._spelt[key] = linkpath_to(place, target, alike, self._format)
        whole = target[: -len(NOTE_SUFFIX)] if is_note(target) else target
        forms = [self._spelt[key], whole, f"/{whole}"]
        if is_note(target):
            suffix = target[-len(NOTE_SUFFIX) :]
            with_suffix = [form if is_note(form) else form + suffix for form in forms]
            forms = with_suffix if is_note(linkpath.strip()) else [*forms, *with_suffix]
        is_wikilink = in_brackets if span is None else not span.is_markdown
        is_last = is_wikilink and not mark and (span is None or span.shown is None)
        for form in forms:
            # There a link's path ends: of "#/x" nothing is left, and nothing means the note itself.
            if "#" in form:
                continue
            # What opens or ends a wikilink cannot stand at its ends.
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
        """Return what says of each link in ``source`` what it says afterwards."""

        def new_link(span: LinkSpan) -> NewLink | None:
            target = self.new_target(source, span.linktext)
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
        """Return what a canvas shows instead of a file, None if that has not moved."""
        old = self._moved_file(node.file)
        return None if old is None or self.moved[old] == node.file else node._replace(file=self.moved[old])

    def base_name(self, source: VaultPath) -> Callable[[Kind, str], str | None]:
        """Return what says of each name in a base what stands for it afterwards."""

        def new_name(kind: Kind, name: str) -> str | None:
            if kind == "folder":
                return self._new_folder(name)
            if kind == "path":
                old = self._moved_file(name)
                return None if old is None or self.moved[old] == name else self.moved[old]
            target = self.new_target(source, name)
            if target is None:
                return None
            linkpath, mark, subpath = name.partition("#")
            whole = self._moved_file(linkpath) or self._moved_file(linkpath + NOTE_SUFFIX)
            if "/" in linkpath and whole is not None and self.moved[whole] == target:
                path = target if is_note(linkpath) or not is_note(target) else target[: -len(NOTE_SUFFIX)]
                is_sayable = kind != "wiki" or not (path.startswith("[") or path.endswith("]"))
                if is_sayable and self._after.resolve(self.place(source), path) == target:
                    return path + mark + subpath
            return self.linktext(source, name, target, in_brackets=kind == "wiki")

        return new_name

    def _moved_file(self, path: str) -> VaultPath | None:
        return self._moved_like.get(path) or self._moved_like.get(fold(path))

    def _new_folder(self, name: str) -> str | None:
        if self._folder is None:
            return None
        old, new = self._folder
        bare = name.strip("/")
        if fold(bare) != fold(old) and not fold(bare).startswith(fold(old) + "/"):
            return None
        renamed = name.replace(bare, "/".join([new, *bare.split("/")[old.count("/") + 1 :]]), 1)
        return None if renamed == name else renamed


def rewrite_file(
    files: Files, path: VaultPath, place: VaultPath, rewrite: Callable[[str], Rewriting], changes: list[LinkChange]
) -> Write | None:
    """Return the step that writes a file's links anew where it lies by then, None if all stay; they are put to ``changes``.

    Raises VaultError if the file cannot be read or a link in it cannot be written.
    """
    data = files.read(path).data
    after = rewrite_bytes(data, path, place, rewrite, changes)
    return None if after == data else Write(place, data, after)


def rewrite_bytes(
    data: bytes, path: VaultPath, place: VaultPath, rewrite: Callable[[str], Rewriting], changes: list[LinkChange]
) -> bytes:
    """Return the bytes of a file at ``path`` with its links rewritten for ``place``; they are put to ``changes``.

    A file that is not UTF-8 throughout is rewritten too. Raises VaultError for a link that cannot be written.
    """

    def edit(text: str) -> str:
        rewriting = rewrite(text)
        changes.extend(LinkChange(place, link.line, link.old, link.new) for link in rewriting.links)
        return apply_replacements(text, rewriting.edits)

    try:
        return edited_bytes(data, edit)
    except UnwritableLinkError as error:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{path!r}, {error}: the name holds what ends a link there. Choose another name.",
            path=path,
            line=error.span.line,
        ) from None


def rewrite_by_kind(
    files: Files,
    path: VaultPath,
    moves: Moves,
    linktexts: Container[str],
    changes: list[LinkChange],
    left: list[Problem],
) -> Write | None:
    """Return the step that writes the links of a note, canvas or base anew, as ``rewrite_file`` does.

    Of a note only links that say one of the ``linktexts`` come into question.

    A canvas or base that cannot be read or understood stays as it is and is told of in ``left``.
    """
    place = moves.place(path)
    decide = moves.decide(path)
    if not is_looked_into(path):
        return rewrite_file(files, path, place, rewriting_note(place, decide, left, linktexts), changes)
    if path.lower().endswith(BASE_SUFFIX):
        return rewrite_other(files, path, place, lambda text: base_edits(text, moves.base_name(path)), changes, left)
    return rewrite_other(files, path, place, lambda text: canvas_edits(text, moves.node, decide), changes, left)


def rewriting_note(
    place: VaultPath,
    decide: Callable[[LinkSpan], NewLink | None],
    left: list[Problem],
    linktexts: Container[str] | None = None,
) -> Callable[[str], Rewriting]:
    """Return what rewrites the links of a note, only those that say one of the ``linktexts`` if there are any.

    A note that is not looked into up to its end is told of in ``left``.
    """

    def rewrite(text: str) -> Rewriting:
        end = end_of_reading(text)
        if end < len(text):
            left.append(Problem(place, f"it is not looked into beyond {unread_problem(text, end)}"))
        # The index knows what is no text by another name.
        return rewrite_links(text, decide, None if _NO_TEXT.search(text) else linktexts)

    return rewrite


def rewrite_other(
    files: Files,
    path: VaultPath,
    place: VaultPath,
    rewrite: Callable[[str], Rewriting],
    changes: list[LinkChange],
    left: list[Problem],
) -> Write | None:
    """Return the step that writes a canvas's or base's links anew; one that cannot be understood is told of in ``left``."""
    try:
        return rewrite_file(files, path, place, rewrite, changes)
    except (NotACanvasError, NotABaseError) as error:
        left.append(Problem(place, f"its links were left as they are: it {error}"))
    except VaultError as error:
        if error.code == INVALID_ARGUMENTS:
            raise
        left.append(Problem(place, f"its links were left as they are: {error.message}"))
    return None


def is_looked_into(path: VaultPath) -> bool:
    """Tell whether a file that is no note holds links: a canvas or a base."""
    return path.lower().endswith((CANVAS_SUFFIX, BASE_SUFFIX))
