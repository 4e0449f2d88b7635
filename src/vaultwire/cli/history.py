"""The commands on changes: those made, to list, show and undo, and those that wait, to show, accept and refuse."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from vaultwire.cli.calling import (
    ALL,
    DONE,
    NOT_FOUND,
    Calls,
    FailedCallError,
    add_options,
    config_of_one,
    for_person,
    local_time,
    parse_since,
    run,
    say_answer,
    say_change,
    with_tools,
)
from vaultwire.cli.command import CHANGE_CODES, FOUND_CODES, HISTORY, command
from vaultwire.cli.terminal import (
    complain,
    has_reader,
    say,
    say_diff,
    say_json,
    say_lines,
    say_rows,
    say_styled,
    width,
)
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.toolkit.phrases import counted
from vaultwire.vault.errors import VaultError

if TYPE_CHECKING:
    from vaultwire.review import Reviewer


# ---------------------------------------------------------------------- what waits

_MOST_ITEMS = 500


def _add_proposals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="show this one line by line")
    add_options(parser)


def _add_refuse(parser: argparse.ArgumentParser) -> None:
    _add_numbers(parser, action="refuse")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; the assistant is told")


def _add_numbers(parser: argparse.ArgumentParser, action: str) -> None:
    parser.add_argument("numbers", nargs="*", type=int, metavar="N", help="numbers, from vaultwire proposals")
    parser.add_argument("--all", action="store_true", help=f"{action} all that wait")
    add_options(parser, dry_run=True)


@command(
    "proposals",
    HISTORY,
    "list the changes that wait for you, or show one",
    "vaultwire proposals",
    "vaultwire proposals 3",
    options=_add_proposals,
    codes=FOUND_CODES,
)
def proposals(options: argparse.Namespace) -> int:
    """Print what waits, the latest first, or one proposal line by line: 1 if there is none."""

    def work(reviewer: Reviewer) -> int:
        if options.number is not None:
            identifier = f"p{options.number}"
            if options.json:
                say_json(reviewer.item(identifier))
            else:
                say_rows([_proposal_row(reviewer.item(identifier))])
                say_diff(reviewer.diff(identifier))
            return DONE
        waiting = _waiting(reviewer)
        if options.json:
            say_json({"proposals": waiting})
        else:
            say_rows(map(_proposal_row, waiting))
            if has_reader():
                say("vaultwire proposals N shows one; accept N or refuse N decides." if waiting else "Nothing waits.")
        return DONE if waiting else NOT_FOUND

    return _run(options, work)


@command(
    "accept",
    HISTORY,
    "make changes that wait for you",
    "vaultwire accept 3",
    "vaultwire accept --all --dry-run",
    options=partial(_add_numbers, action="accept"),
)
def accept(options: argparse.Namespace) -> int:
    """Make changes that wait, all or none: 1 if one of them cannot be made."""
    return _decide(options, "accept")


@command(
    "refuse",
    HISTORY,
    "refuse changes that wait for you",
    "vaultwire refuse 3 --reason 'Keep the old title'",
    options=_add_refuse,
)
def refuse(options: argparse.Namespace) -> int:
    """Refuse changes that wait."""
    return _decide(options, "refuse", reason=options.reason)


def waiting_count(config: Config) -> int:
    """Return how many changes wait for the person in the run's one vault."""
    return _with_reviewer(config, lambda reviewer: reviewer.counts()["waiting"])


def _decide(options: argparse.Namespace, action: str, reason: str = "") -> int:
    if bool(options.numbers) == options.all:
        raise ConfigError("which? Give their numbers (vaultwire proposals lists them), or --all")

    def work(reviewer: Reviewer) -> int:
        ids = [item["id"] for item in _waiting(reviewer)] if options.all else [f"p{each}" for each in options.numbers]
        if not ids:
            complain("nothing waits")
            return NOT_FOUND
        if len(ids) == 1:
            decided = reviewer.decide(ids[0], action, reason=reason, dry_run=options.dry_run)
        else:
            decided = reviewer.decide_many(action=action, ids=ids, reason=reason, dry_run=options.dry_run)
        conflicts = decided.get("conflicts", ())
        if options.json:
            say_json(decided)
        else:
            say(decided["message"], *(f"  {conflict['words']}" for conflict in conflicts))
        return NOT_FOUND if conflicts else DONE

    return _run(options, work, writes=action == "accept" and not options.dry_run)


def _run(options: argparse.Namespace, work: Callable[[Reviewer], int], *, writes: bool = False) -> int:
    """Do a command's work as the person; return the exit code. Raises ConfigError."""
    config = config_of_one(options)
    try:
        return _with_reviewer(config, work, writes=writes)
    except VaultError as error:
        complain(for_person(error.message))
        for conflict in error.details.get("conflicts", ()):
            complain(conflict["words"])
        return NOT_FOUND


def _with_reviewer(config: Config, work: Callable[[Reviewer], int], *, writes: bool = False) -> int:
    from vaultwire.app.desk import desk_vaults, own_vaults  # noqa: PLC0415 - as above

    with closing(own_vaults(config)) as opened:
        vaults = desk_vaults(config, opened.get)
        if writes and vaults.read_only:
            raise ConfigError("this run is read-only, so nothing can be accepted")
        return work(vaults.reviewer(vaults.names[0]))


def _waiting(reviewer: Reviewer) -> list[dict[str, Any]]:
    """Return all that waits, the latest first."""
    items: list[dict[str, Any]] = []
    for state in ("waiting", "stale"):
        before = ""
        while True:
            page = reviewer.items(state=state, before=before, limit=_MOST_ITEMS)
            items += page["items"]
            if not page["has_more"]:
                break
            before = page["items"][-1]["id"]
    return sorted(items, key=lambda item: int(item["id"][1:]), reverse=True)


def _proposal_row(item: dict[str, Any]) -> list[tuple[str, str]]:
    time = local_time(item["time"])
    when = f"{time:%Y-%m-%d %H:%M}" if has_reader() else time.isoformat()
    note = " (its file has changed since)" if item["state"] == "stale" else ""
    return [(item["id"][1:], "33"), (when, "2"), (item["client"] or "?", "36"), (item["summary"] + note, "")]


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
        made = _latest(calls, options.path, most, since)
        if options.json:
            say_json({"changes": made})
        else:
            say_rows(map(_row, made))
            if not made and options.path.isdecimal():
                complain(f"{options.path} is no path; to see change {options.path}: vaultwire show {options.path}")
            elif not made and has_reader():
                of = (f" of {options.path!r}" if options.path else "") + (" since then" if since else "")
                say(f"No changes{of} on record.")
        return DONE if made else NOT_FOUND

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
@with_tools
def show(options: argparse.Namespace, calls: Calls) -> int:
    """Print what a change did, line by line."""
    text, data = calls.call("list_changes", change=options.change)
    if options.json or not has_reader():
        say_answer(options, text, {**data["changes"][0], "diff": data["diff"]})
        return DONE
    head, _, diff = text.partition("\n")
    say_styled((head, "1"))
    say_diff(diff)
    return DONE


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


def _number_or_last(text: str) -> int:
    """Return the number of a change, 0 for the last one."""
    number = 0 if text == _LAST else int(text) if text.isdecimal() else -1
    if number < (text != _LAST):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a change; give one, or {_LAST}")
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
    latest: list[dict[str, Any]] = []
    before: dict[str, int] = {}
    while len(latest) < most:
        _, data = calls.call("list_changes", path=path, limit=min(most - len(latest), _PAGE), **before)
        page = data["changes"]
        kept = [each for each in page if since is None or local_time(each["time"]) >= since.replace(microsecond=0)]
        latest += kept
        if "next_before" not in data or len(kept) < len(page):
            break
        before = {"before": data["next_before"]}
    return latest


def _row(change: dict[str, Any]) -> list[tuple[str, str]]:
    time = local_time(change["time"])
    when = f"{time:%Y-%m-%d %H:%M}" if has_reader() else time.isoformat()
    first = change["files"][0] if change["files"] else {"action": "", "path": ""}
    what = f"{first['action']} {first['path']}" + (f" → {first['to']}" if "to" in first else "")
    what += f" and {change['file_count'] - 1} more" if change["file_count"] > 1 else ""
    what += f" (undoes {change['undoes']})" if "undoes" in change else ""
    what += f" (undone by {change['undone_by']})" if "undone_by" in change else ""
    tool = [] if has_reader() and width() < _WIDE else [(change["tool"], "")]
    style = "2" if "undone_by" in change else ""
    return [(str(change["change"]), "33"), (when, "2"), (change["client"] or "?", "36"), *tool, (what, style)]


# ---------------------------------------------------------------------- conflicts


def _add_conflicts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "note", nargs="?", metavar="NOTE", help="a copy, or the note it belongs to (else: list the copies)"
    )
    parser.add_argument(
        "--join", action="store_true", help="write the join; without NOTE, of all copies in which nothing clashes"
    )
    parser.add_argument(
        "--choose",
        action="append",
        choices=("mine", "theirs", "both"),
        help="what becomes of a clash; once for all, or once for each in their order",
    )
    add_options(parser)


@command(
    "conflicts",
    HISTORY,
    "list and join the copies that sync programs made of notes changed on two devices",
    "vaultwire conflicts",
    "vaultwire conflicts 'Plan.sync-conflict-20260312-112900-C5H6PTH.md'",
    "vaultwire conflicts Plan --join --choose mine",
    options=_add_conflicts,
    codes=CHANGE_CODES,
)
@with_tools
def conflicts(options: argparse.Namespace, calls: Calls) -> int:
    """Print the copies, or one conflict and its join: 1 while something clashes, or some copies were not joined."""
    if options.note is None and options.choose:
        raise ConfigError("--choose is for one conflict: name the copy")
    if options.note is not None:
        return _conflict(options, calls)
    text, data = calls.call("resolve_conflicts")
    if not options.join:
        say_answer(options, text, data)
        return DONE
    answers = []
    for path in [each["path"] for each in [*data["copies"], *data["marked"]] if each.get("has_original", True)]:
        try:
            answers.append(calls.call("resolve_conflicts", path=path))
        except FailedCallError as error:
            complain(for_person(str(error)))
            answers.append((str(error), {"path": path, "changed": False}))
    if options.json:
        say_json({"conflicts": [data for _, data in answers]})
    else:
        for text, _ in answers or [("There is nothing to join.", {})]:
            say_lines(for_person(text))
    return DONE if all(data["changed"] for _, data in answers) else NOT_FOUND


def _conflict(options: argparse.Namespace, calls: Calls) -> int:
    asked = {"choose": options.choose} if options.choose else {}
    text, data = calls.call("resolve_conflicts", path=options.note, dry_run=not options.join, **asked)
    say_answer(options, text, data)
    return NOT_FOUND if data["clashes"] else DONE
