"""Answers on single files: read, create, add to, move, delete, daily notes, versions, headings, words."""

from __future__ import annotations

import json
import os
from datetime import datetime
from random import choice
from typing import TYPE_CHECKING, Literal, TypeAlias

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.obsidian_cli.asking import Asked
from vaultwire.obsidian_cli.commands import OfficialError
from vaultwire.vault.disk.files import created_ns
from vaultwire.vault.disk.paths import fold, is_base, is_canvas, is_note, sort_key
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError
from vaultwire.vault.value_types import OutlineEntry, VaultPath

if TYPE_CHECKING:
    from vaultwire.vault.plans.creating import NewNote

Where: TypeAlias = Literal["append", "prepend"]

# ---------------------------------------------------------------------- files and folders


def file(asked: Asked) -> str:
    """Print path, name, extension, size in bytes, and the times in milliseconds since 1970."""
    path = asked.file()
    stat = asked.vault.look_at(path)
    if stat is None:  # it went away just now
        raise OfficialError(f'File "{path}" not found.')
    name, extension = _split(path.rpartition("/")[2])
    made = created_ns(os.path.join(asked.vault.root, path)) // 1_000_000
    facts = {"path": path, "name": name, "extension": extension, "size": stat.size, "created": made}
    return rows_of({**facts, "modified": stat.modified_ns // 1_000_000})


def _split(name: str) -> tuple[str, str]:
    stem, dot, extension = name.rpartition(".")
    return (stem, extension) if dot and stem else (name, "")


def rows_of(facts: dict[str, object]) -> str:
    """Return facts, one a line: name, tab, value."""
    return "\n".join(f"{name}\t{value}" for name, value in facts.items())


def files(asked: Asked) -> str:
    """List the files below a folder, or with one extension."""
    extension = fold(asked.text("ext").removeprefix("."))
    stats = asked.stats(asked.folder("folder"))
    paths = [stat.path for stat in stats if not extension or fold(_split(stat.path)[1]) == extension]
    return str(len(paths)) if asked.has("total") else "\n".join(paths)


def folder(asked: Asked) -> str:
    """Print how many files and folders lie in a folder, and their size in bytes."""
    path = asked.folder("path")
    stats = asked.stats(path)
    facts: dict[str, object] = {
        "path": path or "/",
        "files": len(stats),
        "folders": len(_folders(asked, path)) - 1,
        "size": sum(stat.size for stat in stats),
    }
    info = asked.text("info")
    return str(facts[info]) if info in ("files", "folders", "size") else rows_of(facts)


def folders(asked: Asked) -> str:
    """List the folders, that one first from which the list begins."""
    found = _folders(asked, asked.folder("folder"))
    return str(len(found)) if asked.has("total") else "\n".join(found)


def _folders(asked: Asked, top: str) -> list[str]:
    return [top or "/", *sorted(asked.vault.overview.folders_below(top, asked.progress), key=sort_key)]


def read(asked: Asked) -> str:
    """Print a file."""
    return asked.read(asked.file())


def create(asked: Asked) -> str:
    """Create a file, or write over one with ``overwrite``. A name that is taken gets a number."""
    from vaultwire.vault.plans.creating import NewNote  # noqa: PLC0415 - loads what changes notes

    name, path = asked.text("name"), asked.text("path").strip("/")
    if "/" in name:
        raise OfficialError('name cannot contain "/". Use path for a full file path.')
    at = "/".join(filter(None, (path, name)))
    place = _rooted(at) if path else at or "Untitled"
    if is_canvas(place) or is_base(place):
        made = asked.vault.writing.create_file(
            place,
            _initial(asked, place),
            "overwrite" if asked.has("overwrite") else "number",
            asked.progress,
            dry_run=False,
        )
        asked.show(made.path)
        return f"{'Created' if made.is_new else 'Overwrote'}: {made.path}"
    if asked.has("overwrite"):
        found = _there(asked, place)
        if found is not None:
            asked.vault.writing.write(found, _initial(asked, found), "overwrite", None, asked.progress)
            asked.show(found)
            return f"Overwrote: {found}"
    new = NewNote(place, asked.text("content"), asked.text("template"), "", "number")
    return _made(asked, new)


def _rooted(path: str) -> str:
    """Return a path as the engine takes it: a name alone, too, lies in the vault's own folder, and nowhere else."""
    return path if "/" in path else f"/{path}"


def _there(asked: Asked, place: str) -> VaultPath | None:
    """Return the note that is at a place already."""
    try:
        return asked.vault.locate(place, asked.progress)
    except VaultError as error:
        if error.code != FILE_NOT_FOUND:
            raise
        return None


def _initial(asked: Asked, path: str) -> str:
    if not asked.text("template"):
        return asked.text("content")
    return _filled(asked, asked.text("template"), _split(path.rpartition("/")[2])[0])


def _made(asked: Asked, new: NewNote) -> str:
    try:
        made = asked.vault.writing.create(new, asked.progress, dry_run=False, may_have_namesake=True)
    except VaultError as error:
        if error.code == FILE_NOT_FOUND and new.template:
            raise OfficialError(f'Template "{new.template}" not found.') from None
        raise
    asked.show(made.path)
    return f"Created: {made.path}"


def unique(asked: Asked) -> str:
    """Create a note whose name begins with the time, as the settings of the app's plugin say."""
    from vaultwire.bases.moment_format import format_moment  # noqa: PLC0415 - only here, as below
    from vaultwire.tools.obsidian_cli.family import app_setting  # noqa: PLC0415
    from vaultwire.vault.plans.creating import NewNote  # noqa: PLC0415

    setting = {name: value for name, value in app_setting(asked.vault, "zk-prefixer").items() if isinstance(value, str)}
    prefix = format_moment(setting.get("format") or "YYYYMMDDHHmm", datetime.now().astimezone())
    name = " ".join(filter(None, (prefix, asked.text("name"))))
    place = f"{setting.get('folder', '').strip('/')}/{name}".removeprefix("/")
    return _made(asked, NewNote(_rooted(place), asked.text("content"), setting.get("template", ""), "", "number"))


def append(asked: Asked) -> str:
    """Add text at the end of a file."""
    return _add(asked, asked.file(), "append")


def prepend(asked: Asked) -> str:
    """Add text at the top of a file, below its properties."""
    return _add(asked, asked.file(), "prepend")


def _add(asked: Asked, path: VaultPath, where: Where) -> str:
    content = asked.text("content")
    if asked.has("inline"):
        note = asked.vault.read(path, asked.progress)
        top = parse_frontmatter(note.text).end if where == "prepend" else len(note.text)
        text = note.text[:top] + content + note.text[top:]
        asked.vault.writing.write(path, text, "overwrite", note.etag, asked.progress)
    else:
        asked.vault.writing.write(path, content, where, None, asked.progress)
    asked.show(path)
    return f"{'Appended' if where == 'append' else 'Prepended'} to: {path}"


def move(asked: Asked) -> str:
    """Move a file to a folder or another path, with the links to it."""
    from vaultwire.tools.obsidian_cli.notes import place_to_move  # noqa: PLC0415 - loads more than most commands need

    return _move(asked, place_to_move(asked.text("to")), "Moved")


def rename(asked: Asked) -> str:
    """Give a file another name in its folder, with the links to it."""
    name = asked.text("name")
    if "/" in name or "\\" in name:
        raise OfficialError('name cannot contain "/". Use move to change the folder.')
    return _move(asked, f"./{name}", "Renamed")


def _move(asked: Asked, place: str, done: str) -> str:
    path = asked.file()
    plan, _ = asked.vault.arranging.move(path, place, asked.progress, dry_run=False)
    return f"{done}: {path} -> {plan.target}"


def delete(asked: Asked) -> str:
    """Move a file to the trash, or delete it permanently."""
    path, permanent = asked.file(), asked.has("permanent")
    asked.vault.writing.delete(path, permanent=permanent, progress=asked.progress)
    return f"{'Deleted permanently' if permanent else 'Moved to trash'}: {path}"


def random_read(asked: Asked) -> str:
    """Print the path of a note taken at random, and its text."""
    folder = asked.text("folder").strip().strip("/")
    paths = [stat.path for stat in asked.stats(folder) if is_note(stat.path)]
    if not paths:
        return "No markdown files found."
    path = choice(paths)  # noqa: S311 - no secret
    return f"{path}\n\n{asked.read(path)}"


# ---------------------------------------------------------------------- templates


def templates(asked: Asked) -> str:
    """List the templates."""
    from vaultwire.tools.obsidian_cli.family import template_names  # noqa: PLC0415 - few commands need it, as below

    names = template_names(asked.vault, _template_folder(asked), asked.progress)
    return str(len(names)) if asked.has("total") else "\n".join(names) or "No templates found."


def template_read(asked: Asked) -> str:
    """Print a template; with ``resolve`` its variables are filled in."""
    name = asked.text("name")
    if asked.has("resolve"):
        return _filled(asked, name, asked.text("title") or "Untitled")
    return asked.read(_template(asked, name))


def _filled(asked: Asked, name: str, title: str) -> str:
    """Return a template with its variables filled in."""
    from vaultwire.vault.plans.creating import fill  # noqa: PLC0415 - loads what changes notes

    return fill(asked.read(_template(asked, name)), title, datetime.now().astimezone(), asked.vault.settings)


def _template(asked: Asked, name: str) -> VaultPath:
    from vaultwire.tools.obsidian_cli.family import template_names  # noqa: PLC0415 - as above

    folder = _template_folder(asked)
    names = {fold(each): each for each in template_names(asked.vault, folder, asked.progress)}
    found = names.get(fold(name.strip()).removesuffix(".md"))
    if found is None:
        raise OfficialError(f'Template "{name}" not found.')
    return VaultPath(f"{folder}/{found}.md")


def _template_folder(asked: Asked) -> str:
    folder = asked.vault.settings.template_folder.strip().strip("/")
    if not folder:
        raise OfficialError("No template folder configured.")
    if not asked.is_folder(folder):
        raise OfficialError(f'Template folder "{folder}" not found.')
    return folder


# ---------------------------------------------------------------------- daily notes


def daily_path(asked: Asked) -> str:
    """Print the path of today's note."""
    return asked.vault.overview.periodic_note("today", asked.progress).path


def daily_read(asked: Asked) -> str:
    """Print today's note."""
    return asked.read(todays_note(asked))


def todays_note(asked: Asked) -> VaultPath:
    """Return the path of today's note, which must be there."""
    daily = asked.vault.overview.periodic_note("today", asked.progress)
    if not daily.exists:
        raise OfficialError(f'File "{daily.path}" not found.')
    return daily.path


def daily_append(asked: Asked) -> str:
    """Add text at the end of today's note, which is made if it is not there."""
    return _add_today(asked, "append")


def daily_prepend(asked: Asked) -> str:
    """Add text at the top of today's note, below its properties."""
    return _add_today(asked, "prepend")


def _add_today(asked: Asked, where: Where) -> str:
    from vaultwire.tools.obsidian_cli.notes import make_daily  # noqa: PLC0415 - loads more than most commands need

    daily = asked.vault.overview.periodic_note("today", asked.progress)
    if daily.exists:
        return _add(asked, daily.path, where)
    make_daily(asked.vault, daily.path, asked.text("content"), where, asked.progress)
    asked.show(daily.path)
    return f"{'Appended' if where == 'append' else 'Prepended'} to: {daily.path}"


# ---------------------------------------------------------------------- versions
#
# The app keeps its versions outside of the vault (help, "File recovery"). These are those of our journal.


def _versions(asked: Asked, path: VaultPath) -> list[str]:
    from vaultwire.obsidian.command import Backend  # noqa: PLC0415 - few commands need it, as below

    return [f"{number}\t{label}" for number, label in Backend(asked.vault).history(path, asked.progress)]


def _version(asked: Asked, path: VaultPath, number: int) -> str:
    from vaultwire.obsidian.command import Backend  # noqa: PLC0415

    if not 1 <= number <= len(_versions(asked, path)):
        raise OfficialError(f"Version {number} not found.")
    return Backend(asked.vault).version(path, number, asked.progress)


def history(asked: Asked) -> str:
    """List the versions of a file, the newest first."""
    return "\n".join(_versions(asked, asked.file())) or "No history found."


def history_list(asked: Asked) -> str:
    """List the files that have versions."""
    changes = asked.vault.history.latest("", 1 << 30, None)
    paths = {file.path for change in changes for file in change.files if file.kind == "edit"}
    there = sorted(path for path in paths if asked.vault.has_file(path))
    return "\n".join(there) or "No history found."


def history_read(asked: Asked) -> str:
    """Print a version of a file."""
    return _version(asked, asked.file(), asked.number("version", 1))


def history_restore(asked: Asked) -> str:
    """Write a version of a file over the file; what was there becomes a version."""
    path, number = asked.file(), asked.number("version", 1)
    asked.vault.writing.write(path, _version(asked, path, number), "overwrite", None, asked.progress)
    return f"Restored: {path} (version {number})"


def diff(asked: Asked) -> str:
    """List the versions of a file, or compare two of them, or one with the file as it is."""
    from vaultwire.markdown.diffs import unified  # noqa: PLC0415 - only here

    if asked.text("filter") == "sync":
        return asked.ask_app()
    path = asked.file()
    if not asked.has("from", "to"):
        return history(asked)
    old, new = (
        _version(asked, path, asked.number(name, 1)) if asked.has(name) else asked.read(path) for name in ("from", "to")
    )
    return unified(old, new, path).removesuffix("\n") or "No differences found."


# ---------------------------------------------------------------------- headings and words

# One number, one run of hyphens, one character of Chinese or Japanese, one word with what is joined by ' or -.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = compile_pattern(rf"\d+(?:[.,]\d+)+|[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+(?:['\u2019-]+[^\W{_IDEOGRAPHS}]+)*|-+")


def wordcount(asked: Asked) -> str:
    """Count the words and characters of a note, without its properties."""
    path = asked.note("Word count is only available for markdown files.")
    text = asked.read(path)
    body = text[parse_frontmatter(text).end :].strip()
    words, characters = len(_WORD.findall(body)), len(body)
    if asked.has("words") is asked.has("characters"):
        return f"words: {words}\ncharacters: {characters}"
    return str(words if asked.has("words") else characters)


def outline(asked: Asked) -> str:
    """Print the headings of a note, as a tree, as Markdown or as JSON."""
    path = asked.note("File is not a markdown file.")
    headings = asked.vault.structure(path, asked.progress).outline
    if not headings:
        return "No headings found."
    if asked.has("total"):
        return str(len(headings))
    if asked.text("format") == "md":
        return "\n".join(f"{'#' * each.level} {each.text}" for each in headings)
    if asked.text("format") == "json":
        data = [{"level": each.level, "heading": each.text, "line": each.line} for each in headings]
        return json.dumps(data, indent=2, ensure_ascii=False)
    return "\n".join(_tree(headings, ""))


def _tree(headings: list[OutlineEntry], indent: str) -> list[str]:
    """Return headings as the lines of a tree. One of a deeper level than the next belongs to the one before it."""
    tops = [0]
    for place, heading in enumerate(headings):
        if place and heading.level <= headings[tops[-1]].level:
            tops.append(place)
    lines: list[str] = []
    for top, end in zip(tops, [*tops[1:], len(headings)], strict=True):
        is_last = end == len(headings)
        lines.append(f"{indent}{'└── ' if is_last else '├── '}{headings[top].text}")
        if end > top + 1:
            lines += _tree(headings[top + 1 : end], indent + ("    " if is_last else "│   "))
    return lines
