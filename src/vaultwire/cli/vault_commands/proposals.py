"""``vaultwire proposals``, ``accept`` and ``refuse``: what assistants want to change, and what the person says to it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from vaultwire.cli.terminal import complain, has_reader, say, say_data, say_diff, say_rows
from vaultwire.cli.vault_commands.calling import DONE, NOT_FOUND, add_options
from vaultwire.cli.vault_commands.wording import for_person, local_time
from vaultwire.config import Config, ConfigError, make_config

if TYPE_CHECKING:
    from vaultwire.review.reviewer import Reviewer

_PAGE = 500


def add_proposals(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``proposals``."""
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="show this one line by line")
    add_options(parser)


def add_accept(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``accept``."""
    _add_numbers(parser, "accept")


def add_refuse(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``refuse``."""
    _add_numbers(parser, "refuse")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; the assistant is told")


def _add_numbers(parser: argparse.ArgumentParser, action: str) -> None:
    parser.add_argument("numbers", nargs="*", type=int, metavar="N", help="numbers, from vaultwire proposals")
    parser.add_argument("--all", action="store_true", help=f"{action} all that wait")
    add_options(parser, dry_run=True)


def proposals(options: argparse.Namespace) -> int:
    """Print what waits, the latest first, or one proposal line by line: 1 if there is none."""

    def work(reviewer: Reviewer) -> int:
        if options.number is not None:
            identifier = f"p{options.number}"
            if options.json:
                _say_json(reviewer.item(identifier))
            else:
                say_rows([_row(reviewer.item(identifier))])
                say_diff(reviewer.diff(identifier))
            return DONE
        waiting = _waiting(reviewer)
        if options.json:
            _say_json({"proposals": waiting})
        else:
            say_rows(map(_row, waiting))
            if has_reader():
                say("vaultwire proposals N shows one; accept N or refuse N decides." if waiting else "Nothing waits.")
        return DONE if waiting else NOT_FOUND

    return _run(options, work)


def accept(options: argparse.Namespace) -> int:
    """Make changes that wait, all or none: 1 if one of them cannot be made."""
    return _decide(options, "accept")


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
            _say_json(decided)
        else:
            say(decided["message"], *(f"  {conflict['words']}" for conflict in conflicts))
        return NOT_FOUND if conflicts else DONE

    return _run(options, work, writes=action == "accept" and not options.dry_run)


def _run(options: argparse.Namespace, work: Callable[[Reviewer], int], *, writes: bool = False) -> int:
    """Do a command's work as the person; return the exit code. Raises ConfigError."""
    config = make_config(options.vault, policy=options.policy)
    if len(config.vaults) > 1:
        raise ConfigError("give one vault: this command works with one at a time")
    from vaultwire.vault.errors import VaultError  # noqa: PLC0415 - the engine: not for other commands

    try:
        return _with_reviewer(config, work, writes=writes)
    except VaultError as error:
        complain(for_person(error.message))
        for conflict in error.details.get("conflicts", ()):
            complain(conflict["words"])
        return NOT_FOUND


def _with_reviewer(config: Config, work: Callable[[Reviewer], int], *, writes: bool = False) -> int:
    from vaultwire.app.desk import OwnVaults, desk_vaults  # noqa: PLC0415 - as above

    with closing(OwnVaults(config)) as opened:
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
            page = reviewer.items(state=state, before=before, limit=_PAGE)
            items += page["items"]
            if not page["has_more"]:
                break
            before = page["items"][-1]["id"]
    return sorted(items, key=lambda item: int(item["id"][1:]), reverse=True)


def _say_json(data: object) -> None:
    say_data(json.dumps(data, indent=2, ensure_ascii=False))


def _row(item: dict[str, Any]) -> list[tuple[str, str]]:
    time = local_time(item["time"])
    shown = f"{time:%Y-%m-%d %H:%M}" if has_reader() else time.isoformat()
    note = " (its file has changed since)" if item["state"] == "stale" else ""
    return [(item["id"][1:], "33"), (shown, "2"), (item["client"] or "?", "36"), (item["summary"] + note, "")]
