"""What links say after files have moved, or new files have come.

One rule: a link leads to the same file as before, at its new path. A link that still does so stays as it is, byte for byte,
unless its name now fits several files: Obsidian then writes the whole path (release notes 0.8.3). A link that led nowhere
stays as well, as in Obsidian, even where a file now has the name it asks for. Pure: paths in, link texts out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from vaultwire.markdown.canvas import FileNode
from vaultwire.markdown.link_spans import Kind, LinkSpan, NewLink
from vaultwire.vault.changes.change import Move
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note, stem
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_name, link_names_to, linkpath_of
from vaultwire.vault.plans.context import PlanContext, ResolvedLink
from vaultwire.vault.plans.linktexts import linkpath_to
from vaultwire.vault.value_types import VaultPath


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
        found: dict[VaultPath, set[str]] = {}
        for note, linktext in links:
            if self._must_change(note, linktext):
                found.setdefault(note, set()).add(linktext)
        return found

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
        is_last = is_wikilink and not mark and (span is None or span.shown is None)
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

    def _new_folder(self, name: str) -> str | None:
        bare = name.strip("/")
        for old, new in self._folders:
            if fold(bare) == fold(old) or fold(bare).startswith(fold(old) + "/"):
                renamed = name.replace(bare, "/".join([new, *bare.split("/")[old.count("/") + 1 :]]), 1)
                return None if renamed == name else renamed
        return None
