"""Which note or file a caller means by a name. It asks the disk first, which needs no index, then the index for names.

It does not resolve links: a link knows the note it stands in and picks one of several candidates
(``vault.links.link_resolver``); a name that fits several notes is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vaultwire.markdown.inline import is_wikilink, linkpath_written, parse_linktext, split_display, unbracketed
from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.conflict_copies import conflict_copies
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import (
    CANVAS_SUFFIX,
    NOTE_SUFFIX,
    fold,
    has_extension,
    is_a_folder,
    is_canvas,
    is_media,
    is_note,
    is_rooted,
    not_found,
    parse_folder,
    parse_path,
    place_of,
    stem,
)
from vaultwire.vault.errors import AMBIGUOUS_NAME, FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.index.index import Index
from vaultwire.vault.links.likeness import spelt_alike
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_name, linkpath_of
from vaultwire.vault.value_types import Backlink, OutgoingLink, Progress, VaultPath

# Longer lists of names do not help a person choose.
_MAX_CANDIDATES = 20
_MAX_NEAR = 5
# So many names that are spelt nearly so are looked at: some may be those of conflict copies.
_MAX_SPELT_ALIKE = 20
# No name has more signs # in it; each is one more name to look for.
_MAX_MARKS = 8


def locate(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the note that ``name`` means: a path, a name without ``.md``, or wikilink text.

    Raises VaultError: FILE_NOT_FOUND (with near names), AMBIGUOUS_NAME (with the candidates), PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED.
    """
    path, is_indexed = _look_for(files, index, name, progress)
    if path is None:
        if _is_path((name, "")):
            folder, _ = files.spell(_to_path(name))
            if files.is_folder(folder):
                raise is_a_folder(folder)
        # Looking through the folders takes ten times as long.
        paths = index.paths(progress) if is_indexed else (note.path for note in files.walk())
        raise _no_such_note(name, filter(is_note, files.with_pending_paths(paths)))
    return path


def find(files: Files, index: Index, name: str, progress: Progress) -> VaultPath | None:
    """Return the path of the note that ``name`` means, None if there is none. Raises VaultError as ``locate`` does."""
    return _look_for(files, index, name, progress)[0]


def locate_file(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the note or attachment that ``name`` means: an attachment by its name with the extension.

    A name with an extension means that file before a note, as in a link. Raises VaultError as ``locate`` does.
    """
    for text, _ in _readings(name):
        if "." not in text.rpartition("/")[2] or is_note(text.rstrip()):
            continue
        path, exists = files.spell(_to_path(text))
        if exists:
            return path
        alike = _attachment_alike(files, index, name, text, progress)
        if alike is not None:
            return alike
    return locate(files, index, name, progress)


def find_attachment(files: Files, index: Index, name: str, progress: Progress) -> VaultPath | None:
    """Return the path of the attachment that ``name`` means; None if it means a note or canvas, or nothing.

    A note whose name only looks like that of a file ("node.js") comes before a file elsewhere; a picture, recording, video
    or PDF comes before a note of that name ("photo.png.md"). Raises VaultError as ``locate`` does.
    """
    texts = [text.strip() for text, _ in _readings(name)]
    texts = [text for text in texts if has_extension(text) and not is_note(text) and not is_canvas(text)]
    for text in texts:
        path, exists = files.spell(_to_path(text))
        if exists:
            return path
    for text in texts:
        if is_media(text) or find(files, index, name, progress) is None:
            alike = _attachment_alike(files, index, name, text, progress)
            if alike is not None:
                return alike
    return None


def _attachment_alike(files: Files, index: Index, name: str, text: str, progress: Progress) -> VaultPath | None:
    """Return the one attachment whose path ends so, None if there is none."""
    key = fold(_to_path(text))
    named = index.named({key.rpartition("/")[2]}, progress)
    paths = files.with_pending_paths(index.paths(progress) if named is None else named)
    alike = [path for path in paths if fold(path).endswith("/" + key) and not is_note(path)]
    if len(alike) > 1:
        raise _ambiguous(name, alike, "files")
    return alike[0] if alike else None


def locate_readable(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the note or canvas that ``name`` means. Raises VaultError as ``locate`` does."""
    return (locate_file if means_canvas(name) else locate)(files, index, name, progress)


def locate_canvas(files: Files, index: Index, name: str, progress: Progress) -> VaultPath:
    """Return the path of the canvas that ``name`` means, with its extension or without.

    Raises VaultError as ``locate`` does, INVALID_ARGUMENTS for another file.
    """
    if not means_canvas(name):
        name = (parse_linktext(name).linkpath or name).strip()
        if is_note(name) or is_media(name):
            raise VaultError(INVALID_ARGUMENTS, f"{name!r} is no canvas. Canvases end in {CANVAS_SUFFIX!r}.", path=name)
        name += CANVAS_SUFFIX
    path = locate_file(files, index, name, progress)
    if not is_canvas(path):  # a note "Board.canvas.md"
        raise not_found(name, [])
    return path


def means_canvas(name: str) -> bool:
    """Tell whether a name, or the text of a link, has the extension of a canvas."""
    return is_canvas(name.strip()) or is_canvas(parse_linktext(name).linkpath)


def locate_folder(files: Files, folder: str) -> VaultPath | None:
    """Return the path of a folder, None for the whole vault. Raises VaultError (FILE_NOT_FOUND) if there is no such folder."""
    parsed = parse_folder(folder)
    if parsed is None:
        return None
    path, _ = files.spell(parsed)
    if not files.is_folder(path):
        raise VaultError(FILE_NOT_FOUND, f"There is no folder {folder!r} in the vault.", folder=folder)
    return path


def candidate_paths(name: str) -> list[VaultPath]:
    """Return the vault paths that the name may spell, the likeliest first: as it stands, then read as link text.

    ``C# notes`` is tried as a name before its ``#`` is read as the start of a subpath. Raises VaultError for a name that
    cannot lie in the vault.
    """
    return [path for text, _ in _readings(name) or [(name, "")] for path in _spelled(text)]


def subpath_of(name: str, path: VaultPath) -> str:
    """Return the part of the file that ``name`` means: ``Heading``, ``Heading#Sub`` or ``^id``; empty for the whole file.

    ``path`` is the file that ``name`` has been found to mean: it tells which ``#`` in the name is a part of the file's name.
    """
    key = fold(path)
    for text, subpath in _readings(name):
        candidates = [fold(each) for each in (_to_path(text), *_spelled(text))]
        if any(key == each or key.endswith("/" + each) for each in candidates):
            return subpath
    return ""


def resolve_name(name: str, paths: Iterable[VaultPath]) -> VaultPath:
    """Return the one note among ``paths`` that ``name`` means.

    A note with exactly this path wins; else a note whose path ends with the name. Case and Unicode form do not matter,
    unless two notes differ in nothing else. Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME.
    """
    paths = list(paths)
    folded = [(fold(path), path) for path in paths]
    for candidate in candidate_paths(name):
        key = fold(candidate)
        for found in (
            [path for path in paths if path == candidate],
            [path for folded_path, path in folded if folded_path == key],
            [path for folded_path, path in folded if folded_path.endswith("/" + key)],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                raise _ambiguous(name, found, "notes")
    raise not_found(name, [])


def _readings(name: str) -> list[tuple[str, str]]:
    """Return the linkpaths and subpaths that the name may be made of, the likeliest first.

    A name may contain ``#``, so it is read as it stands first, then up to its last ``#``. In a wikilink the linkpath ends at
    the first ``#``, as in Obsidian, if there is such a note.
    """
    target, _ = split_display(unbracketed(name))
    marks = [mark for mark, character in enumerate(target) if character == "#"]
    parts = [(target[:mark].strip(), target[mark + 1 :].strip()) for mark in marks[:_MAX_MARKS]]
    readings = [reading for reading in [*parts, (target, "")] if reading[0]]
    if not is_wikilink(name):
        readings = list(dict.fromkeys([(name, ""), *reversed(readings)]))
    # What cannot be a path, because of a heading's own signs, is no error where a shorter linkpath can be one.
    return [*filter(_is_path, readings)] or readings[-1:]


def _is_path(reading: tuple[str, str]) -> bool:
    try:
        _to_path(reading[0])
    except VaultError:
        return False
    return True


def _spelled(text: str) -> list[VaultPath]:
    """Return the paths of notes that a linkpath may spell."""
    path = _to_path(text)
    with_suffix = VaultPath(path + NOTE_SUFFIX)
    # `.md` may be written or left out; `v1.2` has no extension, so both are tried, the written one first.
    return [path, with_suffix] if path.lower().endswith(NOTE_SUFFIX) else [with_suffix]


def _to_path(text: str) -> VaultPath:
    """Return the vault path of a linkpath: ``/Name`` is right in the vault's own folder."""
    return parse_path(place_of(text, "")[1])


def _look_for(files: Files, index: Index, name: str, progress: Progress) -> tuple[VaultPath | None, bool]:
    """Return the path of the note, None if there is none, and whether the index knew the names."""
    candidates = candidate_paths(name)
    for candidate in candidates:
        path, exists = files.spell(candidate)
        if exists and is_note(path):
            return path, True
    if is_rooted(linkpath_written(name).partition("#")[0]):
        return None, False
    named = index.named({candidate.rpartition("/")[2] for candidate in candidates}, progress)
    is_indexed = named is not None
    if named is None:  # a lookup by name does not wait for the index of a large vault
        named = [note.path for note in files.walk()]
    named = [*filter(is_note, files.with_pending_paths(named))]  # neither the index nor the disk has what waits
    try:
        return resolve_name(name, named), is_indexed
    except VaultError as error:
        if error.code != FILE_NOT_FOUND:
            raise
    return None, is_indexed


def _no_such_note(name: str, paths: Iterable[VaultPath]) -> VaultError:
    """Return the error for a name that no note has, with a few notes of near names.

    Names that contain it come first, or of which it contains a good part. If there are none, those with typing errors.
    """
    key = fold(stem(parse_linktext(name).linkpath or name))
    paths = list(paths)

    def nearest(alike: list[VaultPath]) -> list[VaultPath]:
        copies = {copy.path for copy in conflict_copies(paths, of=alike) if copy.has_original}
        return [path for path in alike if path not in copies][:_MAX_NEAR]

    spelt = [(fold(path).removesuffix(NOTE_SUFFIX), path) for path in paths] if key else []
    names = [(other.rpartition("/")[2], path) for other, path in spelt]
    alike = [path for other, path in names if key in other or _is_part(other, key)]
    near = nearest(sorted(alike, key=lambda path: (len(path), path)))
    if not near:  # a name or path, its folders as words, is spelt nearly so
        by_name = {other.replace("/", " "): path for other, path in spelt} | dict(names)
        near = nearest([*dict.fromkeys(by_name[other] for other in spelt_alike(key, by_name, _MAX_SPELT_ALIKE))])
    return not_found(name, near)


def _is_part(other: str, key: str) -> bool:
    """Tell whether a name is whole words of the one asked for, and half of its length or more."""
    return (
        2 * len(other) >= len(key)
        and other in key  # before the pattern: to compile one for each note would take half a second
        and re.search(rf"(?<!\w){re.escape(other)}(?!\w)", key) is not None
    )


def _ambiguous(name: str, candidates: list[VaultPath], kind: str) -> VaultError:
    """Return the error for a name that several files have, with the candidates."""
    named = sorted(candidates, key=lambda path: (len(path), path))[:_MAX_CANDIDATES]
    rest = f" and {len(candidates) - len(named)} more" if len(candidates) > len(named) else ""
    return VaultError(
        AMBIGUOUS_NAME,
        f"{len(candidates)} {kind} are named {name!r}: {', '.join(named)}{rest}. Give the whole path of one.",
        name=name,
        candidates=named,
    )


# The links out of one note and the links to it, as a caller gets them. Where a link leads is decided by the index.


def outgoing_links(
    files: Files, index: Index, path: VaultPath, links: list[Link], progress: Progress
) -> list[OutgoingLink]:
    """Return the links of one note, each with the file it leads to."""
    if files.pending:
        resolver = LinkResolver(files.with_pending_paths(index.paths(progress)))
        targets = [resolver.resolve(path, linkpath_of(link.linktext)) for link in links]
    else:
        targets = index.resolver(progress)(path, links)
    return [
        OutgoingLink(link.linktext, link.display, link.line, link.is_embed, target)
        for link, target in zip(links, targets, strict=True)
    ]


def links_lost(index: Index, path: VaultPath, progress: Progress) -> list[tuple[VaultPath, int]]:
    """Return note and line of every link that leads nowhere without the file: to no other file that its text can mean.

    It does not wait for the index to be built: there are none then.
    """
    if index.named({path.rpartition("/")[2]}, progress) is None:
        return []
    links = index.incoming(path, progress)
    names = {name for source, link in links for name in file_names_for(link_name(source, link.linktext))}
    resolver = LinkResolver(other for other in index.named(names, progress) or () if other != path)
    return [(source, link.line) for source, link in links if not resolver.resolve(source, linkpath_of(link.linktext))]


def backlinks(files: Files, links: Sequence[tuple[VaultPath, Link]]) -> list[Backlink]:
    """Return links from notes in path order, each with the line it stands on."""
    backlinks_so_far: list[Backlink] = []
    data = b""
    latest: VaultPath | None = None
    for source, link in links:
        if source != latest:
            latest, data = source, _read(files, source)
        backlinks_so_far.append(Backlink(source, link.line, _line(data, link.line), link.is_embed))
    return backlinks_so_far


def _read(files: Files, path: VaultPath) -> bytes:
    try:
        return files.read(path).data
    except VaultError:
        return b""


def _line(data: bytes, number: int) -> str:
    """Return one line of a note's bytes, stripped; empty if the note has fewer lines. Only that line is decoded."""
    lines = data.split(b"\n", number)
    return lines[number - 1].decode("utf-8", "replace").removeprefix("\ufeff").strip() if number <= len(lines) else ""
