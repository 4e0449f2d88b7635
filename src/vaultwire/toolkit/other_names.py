"""Other names of arguments: what models call them that know another server or program. Pure.

A tool lists an argument by one name, and its schema knows no other. ``lenient_reading`` takes one of these names where the
tool has exactly one argument that it can mean. What a name means never depends on the value.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_NEW_NAMES = ("new_path", "new_name", "destination", "destination_path", "dest", "target", "target_path", "new")
_COUNTS = ("count", "max", "n", "num_results", "page_size", "top_k", "top")
# Of an edit: the text that is there, and the text that takes its place. One of each says without any action that the text
# is replaced.
_OLD_TEXTS = ("old_text", "old_string", "old_str", "old", "find")
_NEW_TEXTS = ("new_text", "new_string", "new_str", "new", "replace_with", "replacement")

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "path": (
        *("note", "file", "name", "title", "note_path", "note_name", "note_title", "file_path", "file_name"),
        *("source", "source_path", "old_path", "from", "uri"),
    ),
    "file": ("note", "note_name", "file_name"),
    "paths": (
        *("path", "notes", "note", "files", "file", "note_paths", "file_paths", "names", "name"),
        *("source", "sources", "source_path", "old_path", "from"),
    ),
    "to": (*_NEW_NAMES, "new_title", "new_heading"),
    "remove": ("names", "delete", "unset"),
    "changes": ("change", "id", "ids", "number", "change_id", "change_number", "numbers"),
    "if_exists": ("on_collision", "on_conflict", "mode"),
    "tool": ("name", "tool_name"),
    "arguments": ("args", "params", "parameters", "input"),
    "source": ("from", "path", "source_path", "url", "file", "file_path"),
    "embed_in": ("note", "embed", "insert_into", "into"),
    "target": ("into", "to", "target_path", "destination"),
    "old": ("from", "old_name", "old_tag", "tag", "name", "property"),
    "new": ("to", "new_name", "new_tag", "new_property"),
    "query": ("q", "text", "search", "search_query", "keywords", "term", "pattern"),
    "name": ("query", "q", "key", "property"),
    "alias": ("aliases",),
    "names": ("name", "properties", "property", "keys", "key"),
    "properties": ("property", "props", "frontmatter", "metadata", "set"),
    "tags": ("tag",),
    "tag": ("tags",),
    "section": ("heading", "header", "section_name", "under"),
    "heading": ("section", "header", "old_heading", "old"),
    "lines": ("line", "line_range", "range"),
    "line": ("line_number",),
    "part": ("what",),
    "what": ("kind", "type", "direction"),
    "day": ("date", "period"),
    "content": ("text", "body", "markdown", *_NEW_TEXTS),
    "text": (*_OLD_TEXTS, "query"),
    "edits": ("edit", "operations"),
    "diff": ("patch",),
    "action": ("operation", "op"),
    "every": ("replace_all", "all"),
    "folder": ("directory", "dir", "folder_path", "in_folder"),
    "limit": (*_COUNTS, "max_results"),
    "max_results": (*_COUNTS, "limit"),
    "modified_after": ("since", "after"),
    "modified_before": ("until", "before"),
    "sort": ("sort_by", "order_by"),
    "due": ("due_date", "deadline"),
    "tasks": ("task",),
    "template": ("template_name", "template_path"),
    "data": ("base64", "content"),
    "where": ("position",),
    "change": ("id", "number", "change_id", "change_number"),
    "version": ("number",),
    "if_match": ("etag",),
    "dry_run": ("preview",),
    "cursor": ("next_cursor", "page_token"),
    "vault": ("vault_name",),
}
"""The other names of each argument."""

OTHER_VALUES: dict[str, tuple[str, ...]] = {
    "in": ("backlinks", "backlink", "incoming", "inbound", "inlinks"),
    "out": ("outgoing", "outbound", "outlinks", "forward"),
    "neighbours": ("neighbors",),
    "unresolved": ("broken", "missing"),
}
"""What models say for a choice of an argument, where the tool has that choice."""

# Names of arguments that mean one note.
_ONE = frozenset(("path", "note", "file", "name", "notepath", "filepath", "notename", "source", "sourcepath"))
_LONGEST = 40
# Words that are shorter are too similar to each other.
_LEAST_LETTERS = 4


def meanings(name: str, arguments: Collection[str]) -> list[str]:
    """Return which of a tool's arguments a name can mean that is none of them: the same in another spelling, or its own."""
    plain = _plain(name)
    same = [argument for argument in arguments if _plain(argument) == plain]
    return same or [argument for argument in _MEANT.get(plain, ()) if argument in arguments]


def chosen(value: str, choices: Iterable[str]) -> list[str]:
    """Return the choices that a text can mean: the same in another spelling, or what it says of it."""
    plain = _plain(value)
    return [each for each in choices if plain in (_plain(each), *map(_plain, OTHER_VALUES.get(each, ())))]


def is_one(name: str, value: object) -> bool:
    """Tell whether a list's argument, under this name, is one text: that of a note, which may hold commas."""
    return _plain(name) in _ONE and isinstance(value, str) and not value.lstrip().startswith('["')


def is_replacing(names: Iterable[str]) -> bool:
    """Tell whether the names of an edit say that one text is replaced by another."""
    given = {_plain(name) for name in names}
    return not given.isdisjoint(map(_plain, _OLD_TEXTS)) and not given.isdisjoint(map(_plain, _NEW_TEXTS))


def nearest(name: str, arguments: Iterable[str]) -> str | None:
    """Return the argument that a name may be a misspelling of; None if there is none, or more than one."""
    plain = _plain(name)
    near = [argument for argument in arguments if _is_near(plain, _plain(argument))]
    return near[0] if len(near) == 1 else None


def _plain(name: str) -> str:
    """Return a name without what tells spellings apart: newPath, new-path, new_path. Empty for what no argument is called."""
    if len(name) > _LONGEST:
        return ""
    return name.replace("_", "").replace("-", "").replace(" ", "").casefold()


def _is_near(one: str, other: str) -> bool:
    """Tell whether two words differ in one place only: a letter more, less or another, or two swapped."""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) - len(shorter) > 1 or len(shorter) < _LEAST_LETTERS:
        return False
    start = next((at for at, letter in enumerate(shorter) if letter != longer[at]), len(shorter))
    rest = shorter[start:]
    end = next((at for at in range(len(rest)) if rest[-1 - at] != longer[-1 - at]), len(rest))
    return start + end >= len(longer) - (2 if sorted(shorter) == sorted(longer) else 1)


_MEANT: dict[str, list[str]] = {}
for _argument, _names in OTHER_NAMES.items():
    for _name in _names:
        _MEANT.setdefault(_plain(_name), []).append(_argument)
