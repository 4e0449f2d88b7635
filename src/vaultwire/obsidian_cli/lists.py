"""Answers on the vault as a whole: links, tags, properties, tasks, search, bases, templates, bookmarks."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from vaultwire.obsidian_cli.asking import Asked
from vaultwire.obsidian_cli.commands import OfficialError
from vaultwire.obsidian_cli.notes import rows_of, todays_note
from vaultwire.vault.disk.paths import fold, is_note, sort_key
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.value_types import VaultPath

if TYPE_CHECKING:
    from vaultwire.tools.obsidian_cli.notes import Kind, TaskFound
    from vaultwire.vault.base_queries.running import BaseSource

# ---------------------------------------------------------------------- how lists are printed


def _table(asked: Asked, columns: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> str:
    """Return rows as ``format`` asks: JSON, or values with commas or tabs between them; ``nothing`` if there are none."""
    rows = [row[: len(columns)] for row in rows]
    if not rows:
        return nothing
    form = asked.text("format")
    if form == "json":
        data = [dict(zip(columns, row, strict=True)) for row in rows]
        return json.dumps(data, indent=2, ensure_ascii=False)
    if form == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(rows)
        return out.getvalue().removesuffix("\n")
    return "\n".join("\t".join(row) for row in rows)


def _lines(asked: Asked, lines: Sequence[str], nothing: str) -> str:
    """Return lines, or their number with ``total``; ``nothing`` if there are none."""
    return str(len(lines)) if asked.has("total") else "\n".join(lines) or nothing


# ---------------------------------------------------------------------- links


def backlinks(asked: Asked) -> str:
    """List the files that link to one."""
    counts = Counter(source for source, _ in asked.vault.incoming(asked.file(), asked.progress)[1])
    if asked.has("total"):
        return str(counts.total())
    columns = ("file", "count") if asked.has("counts") else ("file",)
    rows = [(path, str(counts[path])) for path in sorted(counts, key=sort_key)]
    return _table(asked, columns, rows, "No backlinks found.")


def links(asked: Asked) -> str:
    """List where the links of a file lead."""
    path = asked.file()
    found = asked.vault.links(path, asked.progress)[1] if is_note(path) else []
    names = {link.target or f"{link.linktext.partition('#')[0].strip()} (unresolved)" for link in found}
    return _lines(asked, sorted(names, key=sort_key), "No links found.")


def unresolved(asked: Asked) -> str:
    """List the names that links ask for and no file has."""
    lost = sorted(asked.vault.overview.link_graph(asked.progress).unresolved(), key=lambda each: sort_key(each.name))
    if asked.has("total"):
        return str(len(lost))
    rows = [
        (each.name, str(len(each.places)), ", ".join(dict.fromkeys(path for path, _ in each.places))) for each in lost
    ]
    columns = ("link", "count", "sources")[: 3 if asked.has("verbose") else 2 if asked.has("counts") else 1]
    return _table(asked, columns, rows, "No unresolved links found.")


def orphans(asked: Asked) -> str:
    """List the files that nothing links to."""
    paths = asked.vault.overview.link_graph(asked.progress).orphans(attachments=True)
    return _lines(asked, sorted(paths, key=sort_key), "No orphan files found.")


def deadends(asked: Asked) -> str:
    """List the files that link to nothing."""
    paths = asked.vault.overview.link_graph(asked.progress).dead_ends(attachments=True)
    return _lines(asked, sorted(paths, key=sort_key), "No dead-end files found.")


# ---------------------------------------------------------------------- tags, aliases, properties


def tags(asked: Asked) -> str:
    """List tags, with how often they occur; a tag counts for those above it, too."""
    path = asked.scope()
    counts = _tags_in(asked, [path]) if path else _all_tags(asked, counted=asked.has("counts", "sort"))
    if asked.has("total"):
        return str(len(counts))
    order = sorted(counts, key=sort_key)
    if asked.text("sort") == "count":
        order.sort(key=lambda tag: -counts[tag])
    columns = ("tag", "count") if asked.has("counts") else ("tag",)
    return _table(asked, columns, [(f"#{tag}", str(counts[tag])) for tag in order], "No tags found.")


def tag(asked: Asked) -> str:
    """List the files that have a tag, or one below it."""
    name = asked.text("name").removeprefix("#")
    tagged = asked.vault.overview.tagged([name], every=True, folder="", progress=asked.progress).all(asked.progress)
    if not tagged:
        raise OfficialError(f'Tag "#{name}" not found.')
    paths = sorted((each.path for each in tagged), key=sort_key)
    if not asked.has("total", "verbose"):
        return "\n".join(paths)
    counts = _tags_in(asked, paths)
    spelt, count = next((known, counts[known]) for known in counts if fold(known) == fold(name))
    return str(count) if asked.has("total") else "\n".join([f"#{spelt}\t{count}", *paths])


def _all_tags(asked: Asked, *, counted: bool) -> Counter[str]:
    """Return the tags of the vault. Occurrences are counted only where that is asked for: it reads all notes with tags."""
    overview = asked.vault.overview
    names = [each.tag for each in overview.count_tags("", asked.progress)]
    if not counted or not names:
        return Counter(names)
    notes = overview.tagged(names, every=False, folder="", progress=asked.progress).all(asked.progress)
    return _tags_in(asked, [note.path for note in notes])


def _tags_in(asked: Asked, paths: Iterable[VaultPath]) -> Counter[str]:
    """Count the occurrences of tags in notes. Two that differ only in case are one, as first written."""
    from vaultwire.markdown.tag_spans import tag_spans  # noqa: PLC0415 - few commands need it

    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for path in paths:
        asked.progress.check()
        for span in tag_spans(asked.read(path)) if is_note(path) else ():
            parts = span.tag.split("/")
            for length in range(1, len(parts) + 1):
                name = "/".join(parts[:length])
                counts[spelt.setdefault(fold(name), name)] += 1
    return counts


def aliases(asked: Asked) -> str:
    """List the aliases of the vault, or of one file."""
    path = asked.scope()
    notes = [path] if path else _notes_with(asked, "aliases")
    owners: dict[str, list[str]] = {}
    for note in notes:
        for alias in _frontmatter(asked, note).texts("aliases"):
            owners.setdefault(alias, []).append(note)
    names = sorted(owners, key=sort_key)
    lines = [f"{name}\t{', '.join(owners[name])}" for name in names] if asked.has("verbose") else names
    return _lines(asked, lines, "No aliases found.")


def _notes_with(asked: Asked, name: str) -> list[VaultPath]:
    from vaultwire.vault.search.filters import NoteFilterText  # noqa: PLC0415 - few commands need it

    found = asked.vault.overview.find(NoteFilterText(properties=[name], sort="path"), "", asked.progress)
    return [note.stat.path for note in found.all(asked.progress)]


def _frontmatter(asked: Asked, path: VaultPath) -> Any:
    from vaultwire.markdown.properties import parse_frontmatter  # noqa: PLC0415 - as above

    return parse_frontmatter(asked.read(path) if is_note(path) else "")


def properties(asked: Asked) -> str:
    """List the properties in use, or those of one file."""
    path = asked.scope()
    if path:
        return _properties_of(asked, path)
    used = sorted(
        asked.vault.overview.properties(asked.text("name"), "", asked.progress), key=lambda each: sort_key(each.name)
    )
    if name := asked.text("name"):
        if not used:
            raise OfficialError(f'Property "{name}" not found.')
        return str(used[0].notes)
    if asked.has("total"):
        return str(len(used))
    if asked.text("sort") == "count":
        used.sort(key=lambda each: -each.notes)
    if asked.text("format") == "json":
        data = [
            {"name": each.name, "type": each.types[0] if each.types else "text", "count": each.notes} for each in used
        ]
        return json.dumps(data, indent=2, ensure_ascii=False)
    width = 2 if asked.has("counts") else 1
    return "\n".join("\t".join((each.name, str(each.notes))[:width]) for each in used) or "No properties found."


def _properties_of(asked: Asked, path: VaultPath) -> str:
    front = _frontmatter(asked, path)
    if not front.end:
        return "No frontmatter found."
    if asked.has("total"):
        return str(len(front.values))
    if asked.text("format") == "json":
        return json.dumps(front.values, indent=2, ensure_ascii=False)
    if asked.text("format") == "tsv":
        rows = [(name, ", ".join(_texts(value))) for name, value in front.values.items() if value is not None]
        return "\n".join("\t".join(row) for row in rows)
    lines = asked.read(path)[: front.end].strip().split("\n")  # as the file has it, comments and quotes included
    return "\n".join(lines[1:-1])


def _texts(value: Any) -> list[str]:
    from vaultwire.tools.obsidian_cli.notes import value_texts  # noqa: PLC0415 - loads more than most commands need

    return value_texts(value)


def property_read(asked: Asked) -> str:
    """Print the value of a property; those of a list one a line."""
    values = _frontmatter(asked, asked.file()).values
    name = asked.text("name")
    key = next((each for each in values if fold(each) == fold(name)), None)
    if key is None:
        raise OfficialError(f'Property "{name}" not found.')
    return "\n".join(_texts(values[key])) or "(empty)"


_KINDS = ("text", "list", "number", "checkbox", "date", "datetime")
_TIMES = {
    "date": (r"\d{4}-\d\d-\d\d", "Invalid date format. Use YYYY-MM-DD"),
    "datetime": (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?",
        "Invalid datetime format. Use YYYY-MM-DDTHH:mm or YYYY-MM-DDTHH:mm:ss",
    ),
}


def property_set(asked: Asked) -> str:
    """Set a property of a file."""
    from vaultwire.tools.obsidian_cli.notes import to_property  # noqa: PLC0415 - as above

    name, value, kind = asked.text("name"), asked.text("value"), asked.text("type") or "text"
    path = asked.note("File is not a markdown file.")
    if kind not in _KINDS:
        raise OfficialError(f"Invalid type: {kind}. Use {', '.join(_KINDS)}")
    if kind == "number" and not _is_read_by(float, value):
        raise OfficialError(f"Invalid number: {value}")
    if kind in _TIMES and not (re.fullmatch(_TIMES[kind][0], value) and _is_read_by(datetime.fromisoformat, value)):
        raise OfficialError(_TIMES[kind][1])
    given = value if kind != "checkbox" else "true" if value.lower() in ("true", "1", "yes") else "false"
    to_set = [to_property(name, given, cast("Kind", kind))]
    asked.vault.revising.revise_properties([path], to_set, [], None, asked.progress, dry_run=False)
    return f"Set {name}: {value}"


def _is_read_by(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def property_remove(asked: Asked) -> str:
    """Remove a property of a file. Nothing happens if it is not there."""
    path, name = asked.note("File is not a markdown file."), asked.text("name")
    if any(fold(each) == fold(name) for each in _frontmatter(asked, path).values):
        asked.vault.revising.revise_properties([path], [], [name], None, asked.progress, dry_run=False)
    return f"Removed: {name}"


# ---------------------------------------------------------------------- tasks


def tasks(asked: Asked) -> str:
    """List tasks as they are written; with ``verbose`` below the paths of their files, with their lines."""
    found = [
        task
        for task in _tasks_in(asked, todays_note(asked) if asked.has("daily") else asked.scope())
        if (not asked.has("status") or task["status"] == asked.text("status"))
        and (not asked.has("done") or task["status"] != " ")
        and (not asked.has("todo") or task["status"] == " ")
    ]
    if asked.has("total"):
        return str(len(found))
    if asked.text("format") in ("json", "csv", "tsv"):
        rows = [(task["status"], task["text"], task["path"], str(task["line"])) for task in found]
        return _table(asked, ("status", "text", "file", "line"), rows, "No tasks found.")
    if not asked.has("verbose"):
        return "\n".join(map(_written, found)) or "No tasks found."
    lines: list[str] = []
    for path, group in groupby(found, lambda task: task["path"]):
        lines += [path, *(f"{task['line']}\t{_written(task)}" for task in group)]
    return "\n".join(lines) or "No tasks found."


def _tasks_in(asked: Asked, path: VaultPath | None) -> list[TaskFound]:
    from vaultwire.tools.obsidian_cli.notes import tasks_in  # noqa: PLC0415 - as above

    return tasks_in(asked.vault, path, asked.progress)


def _written(task: TaskFound) -> str:
    return f"- [{task['status']}] {task['text']}"


def task(asked: Asked) -> str:
    """Print a task, or put another mark into its box."""
    from vaultwire.tools.obsidian_cli.notes import mark_task  # noqa: PLC0415 - as above

    place, _, number = asked.text("ref").rpartition(":")
    if asked.has("ref") and not place:
        raise OfficialError("Invalid ref. Use ref=<path:line>")
    path = asked.exact(place) if place else todays_note(asked) if asked.has("daily") else asked.file()
    if not place and not asked.has("line"):
        raise OfficialError("Missing required parameter: line=<n>\nUsage: task file=<name> line=<n>")
    line = number if place else asked.text("line")
    found = next((each for each in _tasks_in(asked, path) if str(each["line"]) == line), None)
    if found is None:
        raise OfficialError(f"No task found at line {line} of {path}.")
    toggled = " " if found["status"] != " " else "x"
    marks = {"status": asked.text("status"), "toggle": toggled, "done": "x", "todo": " "}
    mark = next((mark for name, mark in marks.items() if asked.has(name)), None)
    if mark is not None:
        found = mark_task(asked.vault, found, mark, asked.progress)
    return f"{path}:{found['line']}\t{_written(found)}"


# ---------------------------------------------------------------------- search


def search(asked: Asked) -> str:
    """List the notes whose name or text matches."""
    paths = _found(asked)
    if asked.has("total"):
        return json.dumps({"total": len(paths)}, separators=(",", ":")) if _is_json(asked) else str(len(paths))
    paths = paths[: asked.number("limit", 0) or None]
    if not paths:
        return "No matches found."
    return json.dumps(paths, ensure_ascii=False, separators=(",", ":")) if _is_json(asked) else "\n".join(paths)


def search_context(asked: Asked) -> str:
    """Print the lines that match, each behind its path and number; only the path of a note whose name matches."""
    from vaultwire.vault.search.matching import Matcher  # noqa: PLC0415 - few commands need it, as below
    from vaultwire.vault.search.query import parse_query  # noqa: PLC0415

    matcher = Matcher(parse_query(_query(asked)))
    results: list[dict[str, Any]] = []
    for path in _found(asked)[: asked.number("limit", 0) or None]:
        text = asked.read(path)
        lines = text.split("\n")
        matches = [{"line": number, "text": lines[number - 1].strip()} for number in matcher.line_numbers(path, text)]
        results.append({"file": path, "matches": matches})
    if not results:
        return "No matches found."
    if _is_json(asked):
        return json.dumps(results, ensure_ascii=False, separators=(",", ":"))
    rows = [[f"{each['file']}:{match['line']}: {match['text']}" for match in each["matches"]] for each in results]
    return "\n".join(line for each, lines in zip(results, rows, strict=True) for line in lines or [each["file"]])


def _is_json(asked: Asked) -> bool:
    return asked.text("format") == "json"


def _query(asked: Asked) -> str:
    return f"match-case:({asked.text('query')})" if asked.has("case") else asked.text("query")


def _found(asked: Asked) -> list[VaultPath]:
    """Return the notes that match, in path order."""
    try:
        result = asked.vault.search(_query(asked), asked.text("path"), 0, 1 << 20, asked.progress, exact_total=True)
    except VaultError as error:
        if error.code == FILE_NOT_FOUND:  # no such folder
            return []
        raise
    return sorted((hit.path for hit in result.hits if is_note(hit.path)), key=sort_key)


# ---------------------------------------------------------------------- bases


def bases(asked: Asked) -> str:
    """List the bases."""
    paths = [stat.path for stat in asked.stats() if fold(stat.path).endswith(".base")]
    return "\n".join(paths) or "No base files found."


def _base(asked: Asked) -> BaseSource:
    from vaultwire.vault.base_queries.running import BaseSource  # noqa: PLC0415 - loads what reads bases

    name = asked.text("file")
    path = asked.named(name if fold(name).endswith(".base") else f"{name}.base") if name else asked.file()
    if not fold(path).endswith(".base"):
        raise OfficialError("File is not a base file.")
    return BaseSource(path)


def base_views(asked: Asked) -> str:
    """List the views of a base, each with its type."""
    return "\n".join(f"{view.name}\t{view.type}" for view in asked.vault.bases.views(_base(asked), asked.progress))


def base_query(asked: Asked) -> str:
    """Print the rows of a base's view."""
    from vaultwire.tools.obsidian_cli.family import base_table, rows_text  # noqa: PLC0415 - as above

    form = asked.text("format")
    table = base_table(asked.vault, _base(asked), asked.text("view"), asked.progress)
    return rows_text(form if form in ("csv", "tsv", "md", "paths") else "json", *table)


def base_create(asked: Asked) -> str:
    """Create a note that a base's view shows."""
    from vaultwire.tools.obsidian_cli.family import create_in_base  # noqa: PLC0415 - as above

    name, content = asked.text("name") or "Untitled", asked.text("content")
    made = create_in_base(asked.vault, _base(asked), asked.text("view"), name, content, asked.progress)
    asked.show(made.path)
    return f"Created: {made.path}"


# ---------------------------------------------------------------------- bookmarks and the vault


def bookmarks(asked: Asked) -> str:
    """List the bookmarks."""
    from vaultwire.tools.obsidian_cli.family import bookmarks_of  # noqa: PLC0415 - as above

    found = bookmarks_of(asked.vault, asked.progress)
    if asked.has("total"):
        return str(len(found))
    rows = [(each["target"] or each["title"], each["type"]) for each in found]
    return _table(asked, ("bookmark", "type")[: 2 if asked.has("verbose") else 1], rows, "No bookmarks found.")


def vault(asked: Asked) -> str:
    """Print name, path, number of files and folders, and size in bytes."""
    stats = asked.stats()
    folders = asked.vault.overview.folders_below("", asked.progress)
    facts: dict[str, object] = {"name": asked.vault.name, "path": asked.vault.root, "files": len(stats)}
    facts |= {"folders": len(folders), "size": sum(stat.size for stat in stats)}
    info = asked.text("info")
    return str(facts[info]) if info in facts else rows_of(facts)
