"""The commands on notes and what they hold: ``read``, ``mv``, ``search``, ``tasks``, ``tags``, ``base``, ``check --fix``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

from vaultwire.cli.command import CHANGE_CODES, FOUND_CODES, NOTES, command
from vaultwire.cli.terminal import complain, has_reader, say, say_data, say_rows, say_styled, say_text
from vaultwire.cli.vault_commands.calling import (
    ALL,
    DONE,
    NOT_FOUND,
    Calls,
    FailedCallError,
    add_options,
    run,
    say_answer,
    say_change,
)
from vaultwire.toolkit.phrases import counted

if TYPE_CHECKING:
    from vaultwire.vault.links.faults import Finding


_NOT_THERE = "FILE_NOT_FOUND"
_WHOLE = 2_500_000  # the most that the tool gives


def _add_read(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "note",
        metavar="NOTE",
        help="a path, name or [[wikilink]]; Note#Heading for a part; or days: today, 'last 7 days'",
    )
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--section", metavar="HEADING", help="only this section, such as Plan or 'Plan#Next'; or ^block")
    parts.add_argument("--lines", metavar="A-B", help="only these lines, such as 10-20, 10- or 10")
    parts.add_argument("--outline", action="store_const", dest="part", const="outline", help="only the headings")
    parts.add_argument(
        "--properties", action="store_const", dest="part", const="frontmatter", help="only the properties as written"
    )
    add_options(parser)


@command(
    "read",
    NOTES,
    "print a note, or a part of it",
    "vaultwire read 'Garden plan'",
    "vaultwire read Projects/Shelf.md --section Next",
    options=_add_read,
    codes=FOUND_CODES,
)
def read(options: argparse.Namespace) -> int:
    """Print a note or a part of it. Into a pipe the text goes with the control characters that it has."""

    def work(calls: Calls) -> int:
        parts = {"section": options.section, "lines": options.lines, "part": options.part}
        asked = {name: value for name, value in parts.items() if value is not None}
        try:
            text, data = calls.call("read_note", path=options.note, max_tokens=_WHOLE, **asked)
        except FailedCallError as error:
            if error.code != _NOT_THERE:
                raise
            return _read_days(calls, options, asked)
        if options.json:
            say_answer(options, text, data)
            return DONE
        content = str(data.get("content", text))
        say_text(content)
        if has_reader():
            for problem in data.get("problems", ()):
                say(f"({data['path']}: {problem})", to_stderr=sys.stderr is not None)
        return DONE

    return run(options, work)


def _read_days(calls: Calls, options: argparse.Namespace, asked: dict[str, str]) -> int:
    """Print the notes of a day or longer time, of several each below its path. Fails as for a note if it names no time."""
    text, data = calls.call("read_notes", paths=[options.note], max_tokens=_WHOLE, **asked)
    read = [note for note in data["notes"] if "content" in note]
    failed = [
        f"There is no note of {note['name']!r} yet; it would be {note['path']!r}."
        if "path" in note
        else note["message"]
        for note in data["notes"]
        if note not in read
    ]
    if not read:
        raise FailedCallError(_NOT_THERE, failed[0] if failed else text)
    if options.json:
        say_answer(options, text, data)
    elif len(data["notes"]) == 1:
        say_text(read[0]["content"])
    else:
        for note in read:
            content = note["content"]
            say_text(f"==> {note['path']} <==\n{content}" + ("" if content.endswith("\n") else "\n"))
    for message in failed:
        complain(message)
    return NOT_FOUND if failed else DONE


def _add_mv(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="a note, an attachment, or a folder (Folder/)")
    parser.add_argument(
        "target", metavar="TO", help="a new name; Folder/ moves it there; Folder/Name; /Name at the top"
    )
    add_options(parser, changes=True, dry_run=True)


@command(
    "mv",
    NOTES,
    "move or rename a note, with all links to it",
    "vaultwire mv Inbox/Idea.md Projects/ --dry-run",
    "vaultwire mv 'Old name' './New name'",
    options=_add_mv,
    codes=CHANGE_CODES,
)
def mv(options: argparse.Namespace) -> int:
    """Move or rename a note, an attachment or a folder, and the links to it."""

    def work(calls: Calls) -> int:
        answer = calls.call("move_notes", paths=[options.source], to=options.target, dry_run=options.dry_run)
        say_change(options, *answer)
        return DONE

    return run(options, work)


# ---------------------------------------------------------------------- search, tasks, tags

_USUAL_NOTES = 10
_EXPLAINING = ("(", "Hint: ", "Did you mean ")  # how lines begin that say why little was found
_NAME, _NUMBER, _FAINT = "35", "32", "2"  # the colours that grep gives names and line numbers


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="words, and operators as in Obsidian's own search")
    _add_folder(parser)
    _add_most(parser, _USUAL_NOTES, "notes")
    add_options(parser)


@command(
    "search",
    NOTES,
    "find notes by words, tags, properties",
    "vaultwire search tomatoes",
    "vaultwire search 'tag:#project -done' --in Work -n 5",
    options=_add_search,
    codes=FOUND_CODES,
)
def search(options: argparse.Namespace) -> int:
    """Print the notes that match a query, best first: 1 if there are none."""

    def work(calls: Calls) -> int:
        asked = {"query": " ".join(options.query), "folder": options.folder, "max_tokens": 100_000}
        text, data = calls.call_pages("search_notes", "notes", options.limit or ALL, **asked)
        if options.json:
            say_answer(options, text, data)
        elif has_reader():
            headline, *others = text.split("\n")
            say(headline.rstrip(":"), *takewhile(lambda line: line.startswith(_EXPLAINING), others))
            for note in [*data["notes"], *data.get("partial_matches", ())]:
                _show_note(note)
        else:
            say(*_as_grep(data["notes"]))
        return DONE if data["notes"] else NOT_FOUND

    return run(options, work)


def _show_note(note: dict[str, Any]) -> None:
    lines = note.get("matches", ())
    more = note.get("match_count", 0) - len(lines)
    say("")
    lacks = f"  lacks: {', '.join(note['missing'])}" if "missing" in note else ""
    say_styled(
        (note["path"], f"1;{_NAME}"), (lacks + (f"  and {counted(more, 'line')} more" if more > 0 else ""), _FAINT)
    )
    for line in lines:
        say_styled((f"{line['line']:>5}", _NUMBER), (f"  {line['text'].strip()}", ""))


def _as_grep(notes: list[dict[str, Any]]) -> list[str]:
    """Return lines as grep prints them; the path alone of a note whose name matches."""
    return [
        each
        for note in notes
        for each in [f"{note['path']}:{line['line']}:{line['text']}" for line in note.get("matches", ())]
        or [note["path"]]
    ]


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("note", nargs="?", default="", metavar="NOTE", help="only this note's: a path, or a name")
    _add_folder(parser)
    parser.add_argument("--done", action="store_const", dest="status", const="done", help="tasks that are done")
    parser.add_argument("--all", action="store_const", dest="status", const="any", help="tasks to do and done")
    parser.add_argument("--text", default="", help="only tasks that hold this text")
    parser.add_argument("--tag", default="", help="only tasks with this tag")
    parser.add_argument(
        "--due",
        default="",
        metavar="WHEN",
        help="only tasks due then, soonest first: overdue, any, 'this week', '<=+7'",
    )
    _add_most(parser, 0, "tasks")
    add_options(parser)
    parser.set_defaults(status="todo")


@command(
    "tasks",
    NOTES,
    "list tasks to do, or done",
    "vaultwire tasks",
    "vaultwire tasks --in Projects --all",
    "vaultwire tasks --due overdue",
    options=_add_tasks,
    codes=FOUND_CODES,
)
def tasks(options: argparse.Namespace) -> int:
    """Print tasks: 1 if there are none."""

    def work(calls: Calls) -> int:
        asked = {"status": options.status, "path": options.note, "folder": options.folder}
        asked |= {"text": options.text, "tag": options.tag, "due": options.due}
        asked["sort"] = "due" if options.due else "path"
        text, data = calls.call_pages("list_tasks", "tasks", options.limit or ALL, **asked)
        found = data["tasks"]
        if options.json:
            say_answer(options, text, data)
        elif has_reader():
            for path, each in groupby(found, lambda task: task["path"]):
                say_styled((path, f"1;{_NAME}"))
                for task in each:
                    place = f"  # {task['heading']}" if task.get("heading") else ""
                    say_styled((f"{task['line']:>5}", _NUMBER), (f"  {_box(task)}", ""), (place, _FAINT))
            say(_summary(len(found), data.get("total"), "task"))
        else:
            say(*(f"{task['path']}:{task['line']}: {_box(task)}" for task in found))
        return DONE if found else NOT_FOUND

    return run(options, work)


def _box(task: dict[str, Any]) -> str:
    return f"[{task['mark']}] {task['text']}"


def _add_tags(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_most(parser, 0, "tags")
    add_options(parser)


@command("tags", NOTES, "list tags", "vaultwire tags -n 20", options=_add_tags, codes=FOUND_CODES)
def tags(options: argparse.Namespace) -> int:
    """Print the tags with the number of their notes, most used first: 1 if there are none."""

    def work(calls: Calls) -> int:
        text, data = calls.call_pages(
            "vault_overview", "tags", options.limit or ALL, what="tags", folder=options.folder
        )
        if options.json:
            say_answer(options, text, data)
        else:
            say_rows([((f"#{each['tag']}", "36"), (str(each["notes"]), "")) for each in data["tags"]], 0)
            if has_reader():
                say(_summary(len(data["tags"]), data.get("total"), "tag"))
        return DONE if data["tags"] else NOT_FOUND

    return run(options, work)


def _summary(shown: int, total: int | None, thing: str) -> str:
    if total is None or shown >= total:
        return counted(shown, thing)
    return f"{shown} of {counted(total, thing)}"


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--in", "--folder", default="", dest="folder", metavar="FOLDER", help="look only below this folder"
    )


def _add_most(parser: argparse.ArgumentParser, usual: int, things: str) -> None:
    text = f"print at most so many {things}" + (f" ({usual}); 0 for all" if usual else " (else: all)")
    parser.add_argument("-n", "--limit", type=_count, default=usual, metavar="N", help=text)


def _count(given: str) -> int:
    if not (given.isascii() and given.isdecimal()):
        raise argparse.ArgumentTypeError(f"give a number such as 20, got {given!r}")
    return int(given)


# ---------------------------------------------------------------------- base

_FORMATS = ("table", "csv", "tsv", "json", "md", "paths")
_BOLD = "1"
_MOST_WIDE = 60


def _add_base(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "base",
        nargs="?",
        metavar="FILE",
        help="a .base file, or a note with --block: its path or name; none lists the bases",
    )
    parser.add_argument(
        "view", nargs="?", default="", metavar="VIEW", help="the view's name; the first one if not given"
    )
    parser.add_argument("--format", choices=_FORMATS, default="table", help="how to print the rows (default: table)")
    parser.add_argument("--block", type=int, default=0, metavar="N", help="the base block of that number in the note")
    parser.add_argument("--this", default="", metavar="NOTE", help="the note that stands for this in filters")
    parser.add_argument("--explain", default="", metavar="NOTE", help="say why a note is in the view or not")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="at most so many rows")
    add_options(parser)


@command(
    "base",
    NOTES,
    "print what a base shows, or list the bases",
    "vaultwire base",
    "vaultwire base Books",
    "vaultwire base Books.base 'To read' --format csv",
    options=_add_base,
    codes=FOUND_CODES,
)
def base(options: argparse.Namespace) -> int:
    """Print the rows of a base's view, or the bases: 1 if there are none, or if something failed or was not understood."""

    def work(calls: Calls) -> int:
        if options.base is None:
            return _list(options, calls)
        asked = {"base": options.base, "view": options.view, "block": options.block, "this": options.this}
        if options.explain:
            text, data = calls.call("query_base", explain=options.explain, **asked)
            say_answer(options, text, data)
            return DONE if data["total"] and not data["problems"] else NOT_FOUND
        asked["max_tokens"] = 100_000
        text, data = calls.call_pages("query_base", "rows", options.limit or ALL, **asked)
        if options.json or options.format == "json":
            options.json = True
            say_answer(options, text, data)
        else:
            _say(options.format, data)
            for problem in data["problems"]:
                complain(problem)
        return DONE if data["rows"] and not data["problems"] else NOT_FOUND

    return run(options, work)


def _list(options: argparse.Namespace, calls: Calls) -> int:
    text, data = calls.call_pages("list_attachments", "attachments", ALL, kind="base")
    if options.json or options.format == "json":
        options.json = True
        say_answer(options, text, data)
    else:
        say(*(each["path"] for each in data["attachments"]))
        if not data["attachments"] and has_reader():
            say("There is no base in this vault.")
    return DONE if data["attachments"] else NOT_FOUND


def _say(form: str, data: dict[str, Any]) -> None:
    from vaultwire.tools.base_views import json_text, markdown_head, markdown_row, separated  # noqa: PLC0415 - late: heavy

    names = [column["name"] for column in data["columns"]]
    ids = [column["id"] for column in data["columns"]]
    rows = [[json_text(row["values"].get(each)) for each in ids] for row in data["rows"]]
    if form == "paths":
        say(*(row["path"] for row in data["rows"]))
    elif form in ("csv", "tsv"):
        say_text(separated([names, *rows], "," if form == "csv" else "\t"))
    elif form == "md":
        say(*markdown_head(names), *map(markdown_row, rows))
    else:
        _say_table(names, rows, data)


def _say_table(names: Sequence[str], rows: Sequence[Sequence[str]], data: dict[str, Any]) -> None:
    from vaultwire.tools.base_views import json_text  # noqa: PLC0415 - late: heavy

    head = [(name, _BOLD) for name in names]
    together = zip(data["rows"], rows, strict=True)
    for group, found in groupby(together, key=lambda pair: pair[0].get("group")):
        if group is not None:
            say_styled((str(group), _BOLD))
        say_rows([head, *([(_short(text), "") for text in texts] for _, texts in found)])
    titles = {column["id"]: column["name"] for column in data["columns"]}
    for name, value in data["summaries"].items():
        say(f"{titles.get(name, name)}: {json_text(value)}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_WIDE else f"{flat[: _MOST_WIDE - 1]}…"


# ---------------------------------------------------------------------- check --fix
#
# Links that lead nowhere get the name of the only note that can be meant.
# What is meant is decided by the tool that fixes links. All links are one change, which can be undone.


def fix(options: argparse.Namespace, faults: Sequence[tuple[str, Finding]]) -> int:
    """Fix what can be, after the person has seen it and agreed; return 1 if faults are left, else 0."""

    def work(calls: Calls) -> int:
        wanted: dict[str, Any] = {"suggested": True}
        if options.note:
            wanted["path"] = faults[0][0] if faults else options.note
        _, shown = calls.call("fix_links", **wanted, dry_run=True)
        fixes = shown["link_count"]
        if not options.json:
            say(*(f"{each['path']}:{each['line']}: {each['old']} → {each['new']}" for each in shown["links"]))
            if fixes > len(shown["links"]):
                say(f"… and {fixes - len(shown['links'])} more")
        if fixes and not options.dry_run:
            calls.person.agree(f"Change {counted(fixes, 'link')}?")
            _, shown = calls.call("fix_links", **wanted)
        left = len(faults) - fixes
        _report(options, shown, fixes, left)
        return NOT_FOUND if left or (options.dry_run and fixes) else DONE

    return run(options, work)


def _report(options: argparse.Namespace, shown: dict[str, Any], fixes: int, left: int) -> None:
    if options.json:
        report = {"fixed": not options.dry_run, "fixes": shown["links"], "fix_count": fixes, "left": left}
        say_data(json.dumps(report, indent=2, ensure_ascii=False))
        return
    verb = "would be fixed" if options.dry_run else "fixed"
    say(f"{counted(fixes, 'link')} {verb}, {counted(left, 'problem')} left")
