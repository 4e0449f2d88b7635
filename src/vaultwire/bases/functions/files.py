"""The functions and fields of files and links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vaultwire.bases.comparing import target
from vaultwire.bases.functions.arguments import Function, argument, text
from vaultwire.bases.row import Row, all_properties, has_property
from vaultwire.bases.values import File, Link, TagList, Value, from_ms, text_of


def name_of(path: str) -> str:
    """Return a file's name: of a note without ``.md``."""
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def folder_of(path: str) -> str:
    """Return the folder of a file; the vault's root is ``/``."""
    return path.rpartition("/")[0] or "/"


def _file(of: Value) -> str:
    assert isinstance(of, File), "the table calls it for files only"
    return of.path


def _links(path: str, row: Row, *, is_embed: bool | None) -> Value:
    found = row.host.links(path)
    row.budget.spend(len(found) // 10)
    return [Link(each.linktext, each.display, path) for each in found if is_embed is None or each.is_embed]


def _backlinks(path: str, row: Row) -> Value:
    found = row.host.backlinks(path)
    row.budget.spend(len(found) // 10)
    return [Link(each, name_of(each)) for each in found]


def _time(path: str, row: Row, *, is_created: bool) -> Value:
    facts = row.host.facts(path)
    if facts is None:
        return None
    return from_ms(facts.created_ms if is_created else facts.modified_ms, row.zone)


def _size(path: str, row: Row) -> Value:
    facts = row.host.facts(path)
    return None if facts is None else facts.size


def _basename(path: str, _: Row) -> Value:
    name = path.rsplit("/", 1)[-1]
    return name.rpartition(".")[0] or name


def _extension(path: str, _: Row) -> Value:
    name = path.rsplit("/", 1)[-1]
    return name.rpartition(".")[2] if "." in name else ""


FILE_FIELDS: Mapping[str, Callable[[str, Row], Value]] = {
    "name": lambda path, _: name_of(path),
    "basename": _basename,
    "path": lambda path, _: path,
    "fullname": lambda path, _: path.rsplit("/", 1)[-1],
    "folder": lambda path, _: folder_of(path),
    "ext": _extension,
    "size": _size,
    "properties": lambda path, row: all_properties(row, path),
    "tags": lambda path, row: TagList(row.host.tags(path)),
    "links": lambda path, row: _links(path, row, is_embed=None),
    "embeds": lambda path, row: _links(path, row, is_embed=True),
    "backlinks": _backlinks,
    "ctime": lambda path, row: _time(path, row, is_created=True),
    "mtime": lambda path, row: _time(path, row, is_created=False),
    "file": lambda path, _: File(path),
}


def to_link(value: Value, row: Row) -> Link | File | None:
    """Return what a link, a file or the text of another value names: a year, a date. Brackets of a link are passed over."""
    if isinstance(value, (Link, File)):
        return value
    written = text_of(value).strip()
    if not written:
        return None
    if written.startswith("[[") and written.endswith("]]"):
        linktext, bar, display = written[2:-2].partition("|")
        return Link(linktext, display if bar else None, row.path)
    return Link(written, None, row.path)


def _has_link(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    wanted = to_link(argument(arguments, 0), row)
    if wanted is None:
        return False
    path = target(wanted, row.host)
    links = row.host.links(_file(of))
    row.budget.spend(len(links) // 4 + 1)
    if path is None:
        return any(isinstance(wanted, Link) and each.linktext == wanted.linktext for each in links)
    return any(row.host.resolve(each.linktext, _file(of)) == path for each in links)


def has_tag(tags: Sequence[Value], wanted: str) -> bool:
    """Tell whether tags have a tag or one below it, in any case, with or without ``#``."""
    folded = wanted.strip().removeprefix("#").casefold()
    return any((text_of(each).removeprefix("#").casefold() + "/").startswith(folded + "/") for each in tags if folded)


def _in_folder(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    folder = text(arguments, 0).strip("/")
    return not folder or _file(of).startswith(folder + "/")


def _as_link(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    display = argument(arguments, 0)
    return Link(_file(of), None if display is None else text_of(display))


FILE: Mapping[str, Function] = {
    "asLink": _as_link,
    "hasLink": _has_link,
    "hasProperty": lambda of, arguments, row: has_property(text(arguments, 0), row, _file(of)),
    "hasTag": lambda of, arguments, row: any(has_tag(row.host.tags(_file(of)), text_of(each)) for each in arguments),
    "inFolder": _in_folder,
}


def _as_file(of: Value, _: Sequence[Value], row: Row) -> Value:
    path = target(of, row.host) if isinstance(of, Link) else None
    return None if path is None else File(path)


def _links_to(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    """Tell whether the file behind the link links to another one (Obsidian help, "Functions")."""
    file = _as_file(of, (), row)
    return file is not None and _has_link(file, arguments, row)


LINK: Mapping[str, Function] = {
    "asFile": _as_file,
    "linksTo": _links_to,
}
