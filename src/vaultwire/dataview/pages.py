"""Notes, their files and their list items as the objects that queries see. Nothing of them is read before it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, Protocol

from vaultwire.bases.row import Host
from vaultwire.bases.values import Date, Link, Value, day_of, from_ms, parse_date
from vaultwire.dataview.fields import ListItem, NoteFields, canonical, inline_value, property_value
from vaultwire.dataview.values import DEFAULT_TEXTS, Embed, Record, TextSettings
from vaultwire.markdown.inline import read_inline

_DAY_IN_NAME = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_NOT_THERE: Final = object()


class Notes(Host, Protocol):
    """The notes of a vault that this run may see, with what Dataview reads of them."""

    def fields(self, path: str) -> NoteFields:
        """Return the inline fields and list items of a note; none for a path that is not there."""


@dataclass(frozen=True, slots=True)
class Vault:
    """What all notes of a query share: the vault, the person's time zone, and their settings for texts."""

    notes: Notes
    zone: tzinfo
    texts: TextSettings = DEFAULT_TEXTS


class Page(Record):
    """A note: its properties, its inline fields, and ``file``."""

    __slots__ = ("_vault", "path")

    def __init__(self, vault: Vault, path: str) -> None:
        self._vault = vault
        self.path = path

    def as_link(self) -> Link:
        """Return a link to the note."""
        return Link(self.path, None, self.path)

    def __getitem__(self, name: str) -> Value:
        if name == "file":
            return FileFields(self._vault, self)
        vault, path = self._vault, self.path
        raw = self._property(name)
        values = [] if raw is _NOT_THERE else [property_value(raw, path, vault.zone)]
        if fields := vault.notes.fields(path).fields:
            wanted = canonical(name)
            values += [inline_value(text, path, vault.zone) for key, text in fields if canonical(key) == wanted]
        if not values:
            raise KeyError(name)
        return values[0] if len(values) == 1 else values

    def _property(self, name: str) -> object:
        properties = self._vault.notes.properties(self.path)
        raw = properties.get(name, _NOT_THERE)
        if raw is _NOT_THERE and name == canonical(name):
            # Of "Due date" the query says due-date.
            raw = next((value for key, value in properties.items() if canonical(key) == name), _NOT_THERE)
        return raw

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys(self._vault.notes.properties(self.path))
        known = {canonical(name) for name in names}
        names |= dict.fromkeys(
            key for key, _ in self._vault.notes.fields(self.path).fields if canonical(key) not in known
        )
        return iter([*names, "file"])


class FileFields(Record):
    """The implicit fields of a note: ``file.name`` and so on."""

    __slots__ = ("_page", "_vault")

    def __init__(self, vault: Vault, page: Page) -> None:
        self._vault = vault
        self._page = page

    def as_link(self) -> Link:
        """Return a link to the note."""
        return self._page.as_link()

    def __getitem__(self, name: str) -> Value:
        value = FILE_FIELDS[name](self._vault, self._page)
        if name == "day" and value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(FILE_FIELDS)


def _tags(vault: Vault, page: Page) -> list[Value]:
    """Return the tags with those above them: of ``#a/b`` also ``#a``."""
    tags: dict[str, None] = {}
    for tag in vault.notes.tags(page.path):
        parts = tag.split("/")
        tags |= dict.fromkeys(f"#{'/'.join(parts[:count])}" for count in range(1, len(parts) + 1))
    return [*tags]


def _outlinks(vault: Vault, page: Page) -> list[Value]:
    links: list[Value] = []
    for fact in vault.notes.links(page.path):
        path, mark, subpath = fact.linktext.partition("#")
        target = vault.notes.resolve(fact.linktext, page.path) if path else page.path
        # Without a text of its own a link shows the name of what it leads to.
        display = (
            None
            if fact.display in (fact.linktext, " > ".join(part for part in (path, subpath) if part))
            else fact.display
        )
        kind = Embed if fact.is_embed else Link
        links.append(kind(f"{target or path}{mark}{subpath}", display, page.path))
    return links


def _aliases(vault: Vault, page: Page) -> list[Value]:
    aliases: list[Value] = []
    for key, raw in vault.notes.properties(page.path).items():
        if key.casefold() in ("alias", "aliases"):
            items = raw if isinstance(raw, list) else raw.split(",") if isinstance(raw, str) else []
            aliases += [str(item).strip() for item in items if item is not None]
    return aliases


def _time(name: str) -> Callable[[Vault, Page], Value]:
    def read(vault: Vault, page: Page) -> Value:
        facts = vault.notes.facts(page.path)
        return None if facts is None else from_ms(getattr(facts, name), vault.zone)

    return read


def _day(read: Callable[[Vault, Page], Value]) -> Callable[[Vault, Page], Value]:
    def day(vault: Vault, page: Page) -> Value:
        at = read(vault, page)
        return day_of(at) if isinstance(at, Date) else None

    return day


def _file_day(vault: Vault, page: Page) -> Value:
    for name in ("date", "day"):
        value = page.get(name)
        value = value[0] if isinstance(value, Sequence) and not isinstance(value, str) and value else value
        if isinstance(value, Date):
            return value
        if isinstance(value, Link) and (day := day_in(value.linktext, vault.zone)) is not None:
            return day
    return day_in(_name(page), vault.zone)


def day_in(text: str, zone: tzinfo) -> Date | None:
    """Return the first day that a text says, as ``yyyy-mm-dd`` or ``yyyymmdd``."""
    found = _DAY_IN_NAME.search(text)
    return None if found is None else parse_date("-".join(found.groups()), zone)


def _name(page: Page) -> str:
    name = page.path.rsplit("/", 1)[-1]
    return name.rpartition(".")[0] or name


def _size(vault: Vault, page: Page) -> Value:
    facts = vault.notes.facts(page.path)
    return None if facts is None else facts.size


def _items(vault: Vault, page: Page, *, only_tasks: bool) -> list[Value]:
    items = vault.notes.fields(page.path).items
    return [Item(vault, page, item) for item in items if item.status is not None or not only_tasks]


_CTIME, _MTIME = _time("created_ms"), _time("modified_ms")
FILE_FIELDS: Final[Mapping[str, Callable[[Vault, Page], Value]]] = {
    "path": lambda _, page: page.path,
    "folder": lambda _, page: page.path.rpartition("/")[0],
    "name": lambda _, page: _name(page),
    "ext": lambda _, page: page.path.rpartition(".")[2],
    "link": lambda _, page: page.as_link(),
    "size": _size,
    "ctime": _CTIME,
    "cday": _day(_CTIME),
    "mtime": _MTIME,
    "mday": _day(_MTIME),
    "tags": _tags,
    "etags": lambda vault, page: [f"#{tag}" for tag in vault.notes.tags(page.path)],
    "inlinks": lambda vault, page: [Link(path, None, page.path) for path in vault.notes.backlinks(page.path)],
    "outlinks": _outlinks,
    "aliases": _aliases,
    "tasks": lambda vault, page: _items(vault, page, only_tasks=True),
    "lists": lambda vault, page: _items(vault, page, only_tasks=False),
    "frontmatter": lambda vault, page: dict(vault.notes.properties(page.path)),
    "day": _file_day,
}
"""The fields of ``file``."""


class Item(Record):
    """An item of a list: its implicit fields and its own inline fields. With ``inherits`` those of its note, too."""

    __slots__ = ("_inherits", "_vault", "item", "page")

    def __init__(self, vault: Vault, page: Page, item: ListItem, *, inherits: bool = False) -> None:
        self._vault = vault
        self.page = page
        self.item = item
        self._inherits = inherits

    def as_link(self) -> Link:
        """Return a link to the item, as near as there is one, that shows its text."""
        block = (
            f"#^{self.item.block_id}" if self.item.block_id else f"#{self.item.section}" if self.item.section else ""
        )
        return Link(self.page.path + block, self.item.text.partition("\n")[0] or None, self.page.path)

    def inheriting(self) -> Item:
        """Return the same item with the fields of its note behind its own."""
        return Item(self._vault, self.page, self.item, inherits=True)

    def __getitem__(self, name: str) -> Value:
        known = ITEM_FIELDS.get(name)
        if known is not None and (self.item.status is not None or name not in _OF_TASKS):
            return known(self._vault, self)
        wanted = canonical(name)
        values = [
            inline_value(text, self.page.path, self._vault.zone)
            for key, text in self.item.fields
            if canonical(key) == wanted
        ]
        if values:
            return values[0] if len(values) == 1 else values
        if self._inherits:
            return self.page[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        own = [name for name in ITEM_FIELDS if self.item.status is not None or name not in _OF_TASKS]
        names = dict.fromkeys([*own, *(key for key, _ in self.item.fields)])
        return iter([*names, *(name for name in self.page if name not in names)] if self._inherits else [*names])


def _children(vault: Vault, item: Item) -> list[Value]:
    lines = set(item.item.children)
    return [Item(vault, item.page, each) for each in vault.notes.fields(item.page.path).items if each.line in lines]


def is_done(item: ListItem) -> bool:
    """Tell whether an item is a task that is done."""
    return item.status in ("x", "X")


def _fully_completed(vault: Vault, item: Item) -> bool:
    by_line = {each.line: each for each in vault.notes.fields(item.page.path).items}
    waiting = [item.item]
    while waiting:
        each = waiting.pop()
        if each.status is not None and not is_done(each):
            return False
        waiting += [by_line[line] for line in each.children if line in by_line]
    return True


def _section(item: Item) -> Link:
    section = item.item.section
    return Link(f"{item.page.path}#{section}" if section else item.page.path, None, item.page.path)


def _item_links(vault: Vault, item: Item) -> list[Value]:
    path = item.page.path
    return [
        Link(vault.notes.resolve(link.linktext, path) or link.linktext, link.display or None, path)
        for link in read_inline(item.item.text)[1]
    ]


_OF_TASKS = frozenset(("status", "checked", "completed", "fullyCompleted"))
ITEM_FIELDS: Final[Mapping[str, Callable[[Vault, Item], Value]]] = {
    "status": lambda _, item: item.item.status,
    "checked": lambda _, item: item.item.status not in (None, " "),
    "completed": lambda _, item: is_done(item.item),
    "fullyCompleted": _fully_completed,
    "text": lambda _, item: item.item.text,
    "line": lambda _, item: item.item.line - 1,
    "lineCount": lambda _, item: item.item.line_count,
    "path": lambda _, item: item.page.path,
    "section": lambda _, item: _section(item),
    "header": lambda _, item: _section(item),
    "tags": lambda _, item: [*item.item.tags],
    "outlinks": _item_links,
    "link": lambda _, item: Link(item.as_link().linktext, None, item.page.path),
    "children": _children,
    "subtasks": _children,
    "task": lambda _, item: item.item.status is not None,
    "annotated": lambda _, item: bool(item.item.fields),
    "parent": lambda _, item: item.item.parent - 1 if item.item.parent else None,
    "blockId": lambda _, item: item.item.block_id or None,
    "symbol": lambda _, item: item.item.mark,
}
"""The fields of a task or another item. Lines count from 0, as in Dataview."""
