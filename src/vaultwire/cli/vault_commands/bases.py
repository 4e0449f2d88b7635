"""``vaultwire base``: what a base shows, for a person or a program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from vaultwire.cli.command import FOUND_CODES, NOTES, command
from vaultwire.cli.terminal import complain, has_reader, say, say_rows, say_styled, say_text
from vaultwire.cli.vault_commands.calling import ALL, DONE, NOT_FOUND, Calls, add_options, run, say_answer

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
