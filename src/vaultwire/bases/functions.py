"""All functions by the type that has them."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence

from vaultwire.bases.comparing import is_empty, is_truthy, number_in, target
from vaultwire.bases.row import Row, all_properties, has_property
from vaultwire.bases.value_functions import (
    DATE,
    DURATION,
    LIST,
    NUMBER,
    OBJECT,
    REGEXP,
    STRING,
    Function,
    argument,
    is_list,
    text,
)
from vaultwire.bases.values import (
    CellError,
    Date,
    Duration,
    File,
    Html,
    Icon,
    Image,
    Link,
    TagList,
    Value,
    cannot_parse,
    checked_text,
    day_of,
    from_ms,
    parse_date,
    parse_duration,
    text_of,
    to_ms,
    type_name,
)

# The functions and fields of files and links.


def name_of(path: str) -> str:
    """Return a file's name: of a note without ``.md``."""
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def folder_of(path: str) -> str:
    """Return the folder of a file; the vault's root is ``/``."""
    return path.rpartition("/")[0] or "/"


def _file_of(of: Value) -> str:
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
    link = to_link(argument(arguments, 0), row)
    if link is None:
        return False
    path = target(link, row.host)
    links = row.host.links(_file_of(of))
    row.budget.spend(len(links) // 4 + 1)
    if path is None:
        return any(isinstance(link, Link) and each.linktext == link.linktext for each in links)
    return any(row.host.resolve(each.linktext, _file_of(of)) == path for each in links)


def has_tag(tags: Sequence[Value], name: str) -> bool:
    """Tell whether tags have a tag or one below it, in any case, with or without ``#``."""
    folded = name.strip().removeprefix("#").casefold()
    return any((text_of(each).removeprefix("#").casefold() + "/").startswith(folded + "/") for each in tags if folded)


def _in_folder(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    folder = text(arguments, 0).strip("/")
    return not folder or _file_of(of).startswith(folder + "/")


def _as_link(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    display = argument(arguments, 0)
    return Link(_file_of(of), None if display is None else text_of(display))


FILE: Mapping[str, Function] = {
    "asLink": _as_link,
    "hasLink": _has_link,
    "hasProperty": lambda of, arguments, row: has_property(text(arguments, 0), row, _file_of(of)),
    "hasTag": lambda of, arguments, row: any(has_tag(row.host.tags(_file_of(of)), text_of(each)) for each in arguments),
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


# The functions that need no value before a dot, and those of any value.


def _date(_: Value, arguments: Sequence[Value], row: Row) -> Value:
    value = argument(arguments, 0)
    if value is None or isinstance(value, Date):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return from_ms(value, row.zone)
    date_read = parse_date(text_of(value), row.zone)
    if date_read is None:
        raise cannot_parse(text_of(value), "date")
    return date_read


def _duration(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    if value is None or isinstance(value, Duration):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Duration(milliseconds=value)
    duration = parse_duration(text_of(value))
    if duration is None:
        raise cannot_parse(text_of(value), "duration")
    return duration


def _file(_: Value, arguments: Sequence[Value], row: Row) -> Value:
    found = to_link(argument(arguments, 0), row)
    path = None if found is None else target(found, row.host)
    return None if path is None else File(path)


def _link(_: Value, arguments: Sequence[Value], row: Row) -> Value:
    link = to_link(argument(arguments, 0), row)
    display = argument(arguments, 1)
    if link is None:
        return None
    display_text = None if display is None else text_of(display)
    if isinstance(link, File):
        return Link(link.path, display_text)
    return Link(link.linktext, link.display if display_text is None else display_text, link.source)


def _image(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    return None if value is None else Image(value if isinstance(value, (Link, File)) else text_of(value))


def _list(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    return value if is_list(value) else [value]


def _number(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    value = argument(arguments, 0)
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, Date):
        return to_ms(value)
    if not isinstance(value, str):
        raise CellError(f"Unable to parse {type_name(value)} as a number.")
    number = number_in(value)
    if number is None:
        raise cannot_parse(value, "number")
    return number


def _extreme(*, is_largest: bool) -> Function:
    def chosen(_: Value, arguments: Sequence[Value], __: Row) -> Value:
        operands = list(arguments[0]) if len(arguments) == 1 and is_list(arguments[0]) else list(arguments)  # type: ignore[arg-type]
        for each in operands:
            if isinstance(each, bool) or not isinstance(each, (int, float)):
                raise CellError(f"{'max' if is_largest else 'min'} needs numbers, not {type_name(each)}")
        values = [each for each in operands if isinstance(each, (int, float))]
        if any(map(math.isnan, values)):
            return math.nan
        if not values:
            return -math.inf if is_largest else math.inf
        return max(values) if is_largest else min(values)

    return chosen


def _escape(_: Value, arguments: Sequence[Value], __: Row) -> Value:
    return checked_text(html.escape(text(arguments, 0)).replace("&#x27;", "&#39;"))


GLOBAL: Mapping[str, Function] = {
    "escapeHTML": _escape,
    "date": _date,
    "duration": _duration,
    "file": _file,
    "html": lambda _, arguments, __: Html(text(arguments, 0)),
    "image": _image,
    "icon": lambda _, arguments, __: Icon(text(arguments, 0)),
    "link": _link,
    "list": _list,
    "max": _extreme(is_largest=True),
    "min": _extreme(is_largest=False),
    "now": lambda _, __, row: Date(row.query.now),
    "number": _number,
    "today": lambda _, __, row: day_of(Date(row.query.now)),
    "random": lambda _, __, row: row.query.random.random(),
}
# It evaluates only the branch that it takes: see ``evaluation``.
CHOICE = "if"


def _is_type(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    return type_name(of).casefold() == text(arguments, 0).strip().casefold()


ANY: Mapping[str, Function] = {
    "isTruthy": lambda of, _, __: is_truthy(of),
    "isType": _is_type,
    "toString": lambda of, _, __: checked_text(text_of(of)),
    # The app offers "is empty" for properties of every type, checkboxes too.
    "isEmpty": lambda of, _, __: is_empty(of) or (isinstance(of, float) and math.isnan(of)),
}


# What a list's function evaluates for each item, with ``value`` and ``index``, ``reduce`` with ``acc``, too.
LAMBDAS = ("filter", "map", "reduce")
METHODS: Mapping[str, Mapping[str, Function]] = {
    "String": STRING,
    "Number": NUMBER,
    "Date": DATE,
    "Duration": DURATION,
    "List": LIST,
    "Object": OBJECT,
    "Link": LINK,
    "File": FILE,
    "Regexp": REGEXP,
}
GLOBALS: tuple[str, ...] = (*GLOBAL, CHOICE)
METHOD_NAMES = frozenset((*ANY, *LAMBDAS, *(name for functions in METHODS.values() for name in functions)))


def method(name: str, type_name: str) -> Function | None:
    """Return a function of a type, or of any type; None if there is none."""
    return METHODS.get(type_name, {}).get(name) or ANY.get(name)
