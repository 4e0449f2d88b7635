"""``vaultwire search``, ``tasks`` and ``tags``: lists of what a vault holds."""

from __future__ import annotations

import argparse
from itertools import groupby, takewhile
from typing import Any

from vaultwire.cli.command import FOUND_CODES, NOTES, command
from vaultwire.cli.terminal import has_reader, say, say_rows, say_styled
from vaultwire.cli.vault_commands.calling import ALL, DONE, NOT_FOUND, Calls, add_options, run, say_answer
from vaultwire.toolkit.phrases import counted

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
