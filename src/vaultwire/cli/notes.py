"""The commands on notes: ``read``, ``mv``, ``search``, ``tasks``, ``tags``, ``base``, ``dataview``, ``check --fix``."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

from vaultwire.cli.calling import (
    ALL,
    DONE,
    NOT_FOUND,
    Calls,
    FailedCallError,
    add_options,
    for_caller,
    run,
    say_answer,
    say_change,
    with_tools,
)
from vaultwire.cli.command import CHANGE_CODES, FOUND_CODES, NOTES, command
from vaultwire.cli.parser import did_you_mean
from vaultwire.cli.terminal import complain, has_reader, say, say_json, say_rows, say_styled, say_text
from vaultwire.config import MEANING_VARIABLE, ConfigError
from vaultwire.toolkit.arguments import meanings
from vaultwire.toolkit.catalog import OUTSIDE, former_name_hint, load_catalog
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
@with_tools
def read(options: argparse.Namespace, calls: Calls) -> int:
    """Print a note or a part of it. Into a pipe the text goes with the control characters that it has."""
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
@with_tools
def mv(options: argparse.Namespace, calls: Calls) -> int:
    """Move or rename a note, an attachment or a folder, and the links to it."""
    answer = calls.call("move_notes", paths=[options.source], to=options.target, dry_run=options.dry_run)
    say_change(options, *answer)
    return DONE


# ---------------------------------------------------------------------- search, tasks, tags

_USUAL_NOTES = 10
_EXPLAINING = ("(", "Hint: ", "Did you mean ")  # how lines begin that say why little was found
_BY_MEANING = ("(By meaning, ", "(Search by meaning ")  # and those that say that not all notes could be found
_NAME, _NUMBER, _FAINT = "35", "32", "2"  # the colours that grep gives names and line numbers


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="words, and operators as in Obsidian's own search")
    _add_folder(parser)
    _add_most(parser, _USUAL_NOTES, "notes")
    parser.add_argument(
        "--meaning",
        action="store_const",
        const="only",
        default="auto",
        help=f"find notes by meaning alone; ${MEANING_VARIABLE} names the model, see docs/search-index.md",
    )
    parser.add_argument("--explain", action="store_true", help="say why each note is where it is")
    parser.add_argument("--why-not", metavar="NOTE", help="say why a note is where it is, or is not found")
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
@with_tools
def search(options: argparse.Namespace, calls: Calls) -> int:
    """Print the notes that match a query, best first: 1 if there are none."""
    asked = {"query": " ".join(options.query), "folder": options.folder, "max_tokens": 100_000}
    asked["meaning"] = options.meaning
    if options.explain or options.why_not:
        asked["explain"] = options.why_not or "hits"
    text, data = calls.call_pages("search_notes", "notes", options.limit or ALL, **asked)
    headline, *others = text.split("\n")
    if options.json:
        say_answer(options, text, data)
    elif has_reader() or "explain" in asked:  # lines as of grep have no place for an explanation
        say(headline.rstrip(":"), *takewhile(lambda line: line.startswith(_EXPLAINING), others))
        for note in [*data["notes"], *data.get("partial_matches", ()), *data.get("attachments", ())]:
            _show_note(note)
        _show_why(data.get("explained"))
    else:
        say(*_as_grep([*data["notes"], *data.get("attachments", ())]))
        say(*(line for line in others if line.startswith(_BY_MEANING)), to_stderr=True)
    return DONE if data["notes"] or data.get("attachments") else NOT_FOUND


def _show_why(explained: dict[str, Any] | None) -> None:
    """Print the parts of each note's score, one a line."""
    if explained is None:
        return
    notes = [*explained["notes"], *([explained["note"]] if "note" in explained else [])]
    for note in notes:
        place = f"{note['place']}. " if note["place"] else ""
        say("", f"{place}{note['path']}  {note['score']:.2f}")
        for part in note["parts"]:
            rarity = f"  rarity {part['rarity']:.2f}" if "rarity" in part else ""
            times = f", {counted(part['times'], 'time')}" if "times" in part else ""
            say(f"{part['score']:>10.2f}  {' in '.join(filter(None, (part['what'], part['where'])))}{rarity}{times}")
        say(*(f"            {reason}" for reason in note["reasons"]))
    if explained["left_out"]:
        say("", f"Left out: {', '.join(explained['left_out'])}")


def _show_note(note: dict[str, Any]) -> None:
    lines = note.get("matches", ())
    more = note.get("match_count", 0) - len(lines)
    page = f"  page {note['page']}" if "page" in note else ""
    say("")
    lacks = f"  lacks: {', '.join(note['missing'])}" if "missing" in note else ""
    say_styled(
        (note["path"], f"1;{_NAME}"),
        (page + lacks + (f"  and {counted(more, 'line')} more" if more > 0 else ""), _FAINT),
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
@with_tools
def tasks(options: argparse.Namespace, calls: Calls) -> int:
    """Print tasks: 1 if there are none."""
    asked = {"status": options.status, "path": options.note, "folder": options.folder}
    asked |= {"text": options.text, "tag": options.tag, "due": options.due}
    asked["sort"] = "due" if options.due else "path"
    text, data = calls.call_pages("list_tasks", "tasks", options.limit or ALL, **asked)
    listed = data["tasks"]
    if options.json:
        say_answer(options, text, data)
    elif has_reader():
        for path, each in groupby(listed, lambda task: task["path"]):
            say_styled((path, f"1;{_NAME}"))
            for task in each:
                place = f"  # {task['heading']}" if task.get("heading") else ""
                say_styled((f"{task['line']:>5}", _NUMBER), (f"  {_box(task)}", ""), (place, _FAINT))
        say(_summary(len(listed), data.get("total"), "task"))
    else:
        say(*(f"{task['path']}:{task['line']}: {_box(task)}" for task in listed))
    return DONE if listed else NOT_FOUND


def _box(task: dict[str, Any]) -> str:
    return f"[{task['mark']}] {task['text']}"


def _add_tags(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_most(parser, 0, "tags")
    add_options(parser)


@command("tags", NOTES, "list tags", "vaultwire tags -n 20", options=_add_tags, codes=FOUND_CODES)
@with_tools
def tags(options: argparse.Namespace, calls: Calls) -> int:
    """Print the tags with the number of their notes, most used first: 1 if there are none."""
    text, data = calls.call_pages("vault_overview", "tags", options.limit or ALL, what="tags", folder=options.folder)
    if options.json:
        say_answer(options, text, data)
    else:
        say_rows([((f"#{each['tag']}", "36"), (str(each["notes"]), "")) for each in data["tags"]], 0)
        if has_reader():
            say(_summary(len(data["tags"]), data.get("total"), "tag"))
    return DONE if data["tags"] else NOT_FOUND


def _summary(printed: int, total: int | None, thing: str) -> str:
    if total is None or printed >= total:
        return counted(printed, thing)
    return f"{printed} of {counted(total, thing)}"


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--in", "--folder", default="", dest="folder", metavar="FOLDER", help="look only below this folder"
    )


def _add_most(parser: argparse.ArgumentParser, usual: int, things: str) -> None:
    text = f"print at most so many {things}" + (f" ({usual}); 0 for all" if usual else " (else: all)")
    parser.add_argument("-n", "--limit", type=_count, default=usual, metavar="N", help=text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"give a number such as 20, got {text!r}")
    return int(text)


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
    parser.add_argument(
        "--edit", default="", metavar="JSON", help="change the base: set and views, as for the tool edit_base"
    )
    add_options(parser, changes=True, dry_run=True)


@command(
    "base",
    NOTES,
    "print what a base shows, change it, or list the bases",
    "vaultwire base",
    "vaultwire base Books",
    "vaultwire base Books.base 'To read' --format csv",
    """vaultwire base Books --edit '{"set": {"formulas": {"late": "due < today()"}}}' --dry-run""",
    options=_add_base,
    codes=FOUND_CODES,
)
@with_tools
def base(options: argparse.Namespace, calls: Calls) -> int:
    """Print the rows of a base's view, or the bases: 1 if there are none, or if something failed or was not understood."""
    if options.base is None:
        return _list(options, calls)
    if options.edit:
        return _edit(options, calls)
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


def _edit(options: argparse.Namespace, calls: Calls) -> int:
    try:
        edit = json.loads(options.edit)
    except ValueError as error:
        raise ConfigError(f"--edit: this is no JSON: {error}.") from None
    if not isinstance(edit, dict) or not edit or edit.keys() - {"set", "views"}:
        raise ConfigError('--edit: give an object with "set", "views" or both.')
    answer = calls.call("edit_base", base=options.base, block=options.block, dry_run=options.dry_run, **edit)
    say_change(options, *answer)
    return DONE


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


# ---------------------------------------------------------------------- dataview


def _add_dataview(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query", metavar="QUERY", help="a query such as 'TABLE rating FROM #book'; - reads it from the input"
    )
    parser.add_argument(
        "--format", choices=("text", "csv", "tsv", "json"), default="text", help="how to print the rows"
    )
    parser.add_argument("--this", default="", metavar="NOTE", help="the note that stands for this, and for [[]]")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="at most so many rows")
    add_options(parser)


@command(
    "dataview",
    NOTES,
    "print what a query of Dataview gives",
    "vaultwire dataview 'TASK WHERE !completed'",
    "vaultwire dataview 'TABLE rating FROM #book SORT rating DESC' --format csv",
    options=_add_dataview,
    codes=FOUND_CODES,
)
@with_tools
def dataview(options: argparse.Namespace, calls: Calls) -> int:
    """Print the rows of a query: 1 if there are none, or if something failed."""
    query = sys.stdin.read() if options.query == "-" else options.query
    text, data = calls.call_pages(
        "query_dataview", "rows", options.limit or ALL, query=query, this=options.this, max_tokens=100_000
    )
    if options.json or options.format in ("text", "json"):
        options.json = options.json or options.format == "json"
        say_answer(options, text, data)
    else:
        from vaultwire.tools.base_views import json_text, separated  # noqa: PLC0415 - late: heavy

        rows = [[json_text(row["values"].get(name)) for name in data["columns"]] for row in data["rows"]]
        say_text(separated([data["columns"], *rows], "," if options.format == "csv" else "\t"))
        for problem in data["problems"]:
            complain(problem)
    return DONE if data["rows"] and not data["problems"] else NOT_FOUND


# ---------------------------------------------------------------------- check --fix
#
# Links that lead nowhere get the name of the only note that can be meant.
# What is meant is decided by the tool that fixes links. All links are one change, which can be undone.


def fix(options: argparse.Namespace, faults: Sequence[tuple[str, Finding]]) -> int:
    """Fix what can be, after the person has seen it and agreed; return 1 if faults are left, else 0."""

    def work(calls: Calls) -> int:
        which: dict[str, Any] = {"suggested": True}
        if options.note:
            which["path"] = faults[0][0] if faults else options.note
        _, report = calls.call("fix_links", **which, dry_run=True)
        fixes = report["link_count"]
        if not options.json:
            say(*(f"{each['path']}:{each['line']}: {each['old']} → {each['new']}" for each in report["links"]))
            if fixes > len(report["links"]):
                say(f"… and {fixes - len(report['links'])} more")
        if fixes and not options.dry_run:
            calls.person.agree(f"Change {counted(fixes, 'link')}?")
            _, report = calls.call("fix_links", **which)
        left = len(faults) - fixes
        _report(options, report, fixes, left)
        return NOT_FOUND if left or (options.dry_run and fixes) else DONE

    return run(options, work)


def _report(options: argparse.Namespace, fixes_data: dict[str, Any], fixes: int, left: int) -> None:
    if options.json:
        report = {"fixed": not options.dry_run, "fixes": fixes_data["links"], "fix_count": fixes, "left": left}
        say_json(report)
        return
    verb = "would be fixed" if options.dry_run else "fixed"
    say(f"{counted(fixes, 'link')} {verb}, {counted(left, 'problem')} left")


# ``vaultwire call``: any tool by its name, with its arguments as ``key=value``.

_ARGUMENT = re.compile(r"([A-Za-z_]\w*)(=|@)(.*)", re.DOTALL)
_STDIN = "-"
_JSON_TYPES = ("integer", "number", "boolean", "object")


def _add_call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="its name, such as list_links; without one: list all")
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="KEY=VALUE",
        help="an argument of the tool; a list is JSON or the key given again; KEY@FILE takes a file's text, KEY@- stdin's",
    )
    parser.add_argument("--arguments", dest="shows", action="store_true", help="print what the tool does and takes")
    add_options(parser, changes=True)


@command(
    "call",
    NOTES,
    "call any tool that assistants have",
    "vaultwire call",
    "vaultwire call list_links --arguments",
    "vaultwire call list_links path='Garden plan' what=in --json",
    "vaultwire call create_note path=Idea content@idea.md",
    options=_add_call,
    codes=CHANGE_CODES,
)
def call(options: argparse.Namespace) -> int:
    """Call a tool and print its answer, or print the tools."""
    if options.tool is None:
        _say_tools()
        return DONE
    if options.shows:
        _say_tool({each["name"]: each for each in load_catalog()}, options.tool)
        return DONE

    def work(calls: Calls) -> int:
        name = options.tool.replace("-", "_")
        description = _find(calls.descriptions, name)
        arguments = read_arguments(name, description["inputSchema"]["properties"], options.arguments)
        try:
            say_answer(options, *calls.call(name, **arguments))
        except FailedCallError as error:
            complain(for_caller(error.text))
            return error.exit_code
        return DONE

    return run(options, work, several=True)


def read_arguments(tool: str, schemas: Mapping[str, Any], texts: list[str]) -> dict[str, Any]:
    """Return a tool's arguments from ``key=value`` texts, each of the type that the schema wants. Raises ConfigError."""
    values: dict[str, list[str]] = {}
    for each in texts:
        found = _ARGUMENT.fullmatch(each)
        if found is None:
            raise ConfigError(f"{each!r} is not an argument: write KEY=VALUE, such as {next(iter(schemas), 'path')}=…")
        name, sign, value = found.groups()
        meant = [] if name in schemas else meanings(name, schemas)
        name = meant[0] if len(meant) == 1 else name
        if name not in schemas:
            there_are = ", ".join(schemas) or "none"
            raise ConfigError(f"{tool} takes no {name!r}{did_you_mean(name, schemas)} (there are: {there_are})")
        values.setdefault(name, []).append(_file_text(value) if sign == "@" else value)
    return {name: _to_value(name, schemas[name], each) for name, each in values.items()}


def _to_value(name: str, schema: Mapping[str, Any], texts: list[str]) -> Any:
    if schema.get("type") == "array":
        return _to_list(name, schema.get("items", {}), texts)
    if len(texts) > 1:
        raise ConfigError(f"{name} is given {len(texts)} times, and takes one value")
    return _to_single(name, schema, texts[0])


def _to_list(name: str, items: Mapping[str, Any], texts: list[str]) -> list[Any]:
    """Return a list: one text of JSON, or a value for each time that the key was given."""
    if len(texts) == 1 and texts[0].lstrip().startswith("["):
        try:
            value = json.loads(texts[0])
        except ValueError:
            pass  # a single item such as [[Note]]
        else:
            if items.get("type") != "string" or all(isinstance(each, str) for each in value):
                return list(value)
    return [_to_single(name, items, each) for each in texts]


def _to_single(name: str, schema: Mapping[str, Any], text: str) -> Any:
    if schema.get("type") not in _JSON_TYPES:
        return text
    try:
        return json.loads(text)
    except ValueError:
        right = {"boolean": "true or false", "object": "JSON such as '{\"action\": …}'"}.get(schema["type"], "a number")
        raise ConfigError(f"{name} takes {right}, got {text[:60]!r}") from None


def _file_text(path: str) -> str:
    try:
        if path == _STDIN:
            return sys.stdin.buffer.read().decode("utf-8")
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8, so it is no text for a note") from None


def _find(descriptions: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in descriptions:
        near = former_name_hint(name) or did_you_mean(name, descriptions)
        raise ConfigError(f"there is no tool {name!r}{near or '. vaultwire call lists them'}")
    return descriptions[name]


def _say_tools() -> None:
    tools = [each for each in load_catalog() if each["name"] not in OUTSIDE]
    say_rows([((each["name"], "1"), (_first_sentence(each["description"]), "")) for each in tools])
    if has_reader():
        say("", "vaultwire call TOOL --arguments prints what a tool does and takes.")


def _first_sentence(text: str) -> str:
    return re.split(r"[.:]\s", text.replace("\n", " "), maxsplit=1)[0].removesuffix(".")


def _say_tool(descriptions: Mapping[str, dict[str, Any]], given: str) -> None:
    description = _find(descriptions, given.replace("-", "_"))
    say_styled((description["name"], "1"), (f"  {description['title']}", ""))
    say(*description["description"].split("\n"), "")
    required = description["inputSchema"].get("required", ())
    for name, schema in description["inputSchema"]["properties"].items():
        say_styled((f"{name}=", "1"), (_to_words(schema), ""), (" (required)" if name in required else "", "31"))
        if "description" in schema:
            say(f"    {schema['description']}")


def _to_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if schema["type"] == "array":
        return f"{_to_words(schema['items'])} …"
    return {"object": "JSON", "boolean": "true|false", "string": "text"}.get(schema["type"], str(schema["type"]))
