"""``vaultwire changes``, ``show`` and ``undo``: what was changed through vaultwire, and taking it back."""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from typing import Any

from vaultwire.cli.command import CHANGE_CODES, FOUND_CODES, HISTORY, command
from vaultwire.cli.terminal import complain, has_reader, say, say_data, say_diff, say_rows, say_styled, width
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
from vaultwire.cli.vault_commands.proposals import waiting_count
from vaultwire.cli.vault_commands.wording import local_time, parse_since
from vaultwire.config import ConfigError, make_config
from vaultwire.toolkit.phrases import counted

_LAST = "last"
_USUAL = 20
_PAGE = 1000
_WIDE = 100  # columns of a terminal that also has room for the tool's name
_SINCE = "only those made since: 1h, 30m, 2d, today, 14:30, 2026-03-31"


def _add_changes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="only those of this file or folder")
    parser.add_argument("--since", metavar="TIME", help=_SINCE)
    parser.add_argument("-n", "--limit", type=int, metavar="N", help=f"how many ({_USUAL}; with --since all)")
    add_options(parser)


@command(
    "changes",
    HISTORY,
    "list what was changed, by whom, and when",
    "vaultwire changes",
    "vaultwire changes --since 1h",
    options=_add_changes,
    codes=FOUND_CODES,
)
def changes(options: argparse.Namespace) -> int:
    """Print the changes, the latest first: 1 if there are none."""
    since = _since(options)
    most = options.limit or (ALL if since else _USUAL)

    def work(calls: Calls) -> int:
        found = _latest(calls, options.path, most, since)
        if options.json:
            say_data(json.dumps({"changes": found}, indent=2, ensure_ascii=False))
        else:
            say_rows(map(_row, found))
            if not found and options.path.isdecimal():
                complain(f"{options.path} is no path; to see change {options.path}: vaultwire show {options.path}")
            elif not found and has_reader():
                of = (f" of {options.path!r}" if options.path else "") + (" since then" if since else "")
                say(f"No changes{of} on record.")
        return DONE if found else NOT_FOUND

    code = run(options, work)
    if has_reader() and not options.json:
        waiting = waiting_count(make_config(options.vault, policy=options.policy))
        if waiting:
            say(f"{counted(waiting, 'change')} {'waits' if waiting == 1 else 'wait'} for you: vaultwire proposals")
    return code


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("change", type=int, metavar="N", help="its number, from vaultwire changes")
    add_options(parser)


@command("show", HISTORY, "show a change line by line", "vaultwire show 12", options=_add_show, codes=FOUND_CODES)
def show(options: argparse.Namespace) -> int:
    """Print what a change did, line by line."""

    def work(calls: Calls) -> int:
        text, data = calls.call("list_changes", change=options.change)
        if options.json or not has_reader():
            say_answer(options, text, {**data["changes"][0], "diff": data["diff"]})
            return DONE
        head, _, diff = text.partition("\n")
        say_styled((head, "1"))
        say_diff(diff)
        return DONE

    return run(options, work)


def _add_undo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "changes",
        nargs="*",
        type=_number_or_last,
        metavar="N",
        help="numbers, from vaultwire changes; last: the latest that is not undone",
    )
    parser.add_argument("--since", metavar="TIME", help="all changes " + _SINCE.removeprefix("only those "))
    add_options(parser, changes=True, dry_run=True)


@command(
    "undo",
    HISTORY,
    "undo changes",
    "vaultwire undo last",
    "vaultwire undo 12",
    "vaultwire undo --since 1h --dry-run",
    options=_add_undo,
    codes=CHANGE_CODES,
)
def undo(options: argparse.Namespace) -> int:
    """Undo changes together, all or none: 1 if they could not be undone. Raises ConfigError."""
    if bool(options.changes) == bool(options.since):
        raise ConfigError("which changes? Give their numbers (vaultwire changes lists them), or --since 1h")
    since = _since(options)

    def work(calls: Calls) -> int:
        which: dict[str, Any] = {"changes": sorted({each or _last(calls) for each in options.changes})}
        if since is not None:
            which = {"since": since.replace(microsecond=0).isoformat()}
        text, data = calls.call("undo_changes", **which, dry_run=options.dry_run)
        if not data["undone_count"]:
            complain("there is no change since then that could be undone")
            return NOT_FOUND
        say_change(options, text, data)
        return DONE

    return run(options, work)


def _number_or_last(given: str) -> int:
    """Return the number of a change, 0 for the last one."""
    number = 0 if given == _LAST else int(given) if given.isdecimal() else -1
    if number < (given != _LAST):
        raise argparse.ArgumentTypeError(f"{given!r} is no number of a change; give one, or {_LAST}")
    return number


def _last(calls: Calls) -> int:
    """Return the latest change that is not undone and undoes none, so that one undo after the other goes back in time."""
    before: dict[str, int] = {}
    while True:
        _, page = calls.call("list_changes", limit=_PAGE, **before)
        for change in page["changes"]:
            if "undone_by" not in change and "undoes" not in change:
                return int(change["change"])
        if "next_before" not in page:
            raise FailedCallError("FILE_NOT_FOUND", "there is no change that could be undone")
        before = {"before": page["next_before"]}


def _since(options: argparse.Namespace) -> datetime | None:
    return None if options.since is None else parse_since(options.since, datetime.now().astimezone())


def _latest(calls: Calls, path: str, most: int, since: datetime | None) -> list[dict[str, Any]]:
    """Return changes, the latest first. Journals list them in the order in which they were made."""
    found: list[dict[str, Any]] = []
    before: dict[str, int] = {}
    while len(found) < most:
        _, data = calls.call("list_changes", path=path, limit=min(most - len(found), _PAGE), **before)
        page = data["changes"]
        kept = [each for each in page if since is None or local_time(each["time"]) >= since.replace(microsecond=0)]
        found += kept
        if "next_before" not in data or len(kept) < len(page):
            break
        before = {"before": data["next_before"]}
    return found


def _row(change: dict[str, Any]) -> list[tuple[str, str]]:
    time = local_time(change["time"])
    shown = f"{time:%Y-%m-%d %H:%M}" if has_reader() else time.isoformat()
    first = change["files"][0] if change["files"] else {"action": "", "path": ""}
    what = f"{first['action']} {first['path']}" + (f" → {first['to']}" if "to" in first else "")
    what += f" and {change['file_count'] - 1} more" if change["file_count"] > 1 else ""
    what += f" (undoes {change['undoes']})" if "undoes" in change else ""
    what += f" (undone by {change['undone_by']})" if "undone_by" in change else ""
    tool = [] if has_reader() and width() < _WIDE else [(change["tool"], "")]
    style = "2" if "undone_by" in change else ""
    return [(str(change["change"]), "33"), (shown, "2"), (change["client"] or "?", "36"), *tool, (what, style)]
