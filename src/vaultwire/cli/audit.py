"""``vaultwire audit``: print and search the audit log, and check that no line was changed or removed."""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from vaultwire.cli.command import FOUND_CODES, SETTING_UP, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import audit_file
from vaultwire.trust.audit import records, verify

_MAX_SHOWN = 10


def _add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    log = argparse.ArgumentParser(add_help=False)
    log.add_argument("log", metavar="LOG", help="the file, or the folder it is in, as --audit was given it")
    shown = argparse.ArgumentParser(add_help=False, parents=[log])
    shown.add_argument("--json", action="store_true", help="print the lines as they are in the log")
    tailed = actions.add_parser("tail", parents=[shown], help="print the last lines")
    tailed.add_argument("-n", "--lines", type=int, default=20, metavar="N", help="how many (20)")
    grepped = actions.add_parser("grep", help="print the lines that match")
    grepped.add_argument("pattern", metavar="PATTERN", help="regular expression, ignoring case; . for all")
    grepped.add_argument("log", metavar="LOG", help="as for tail")
    grepped.add_argument("--json", action="store_true", help="print the lines as they are in the log")
    grepped.add_argument("--tool", metavar="NAME", help="lines about this tool or method")
    grepped.add_argument(
        "--client", metavar="NAME", help="requests of this client, by its own name or its key's name, and their results"
    )
    grepped.add_argument("--errors", action="store_true", help="errors and security events only")
    verified = actions.add_parser("verify", parents=[log], help="check whether lines were changed, removed or added")
    verified.add_argument(
        "--holds",
        metavar="HASH",
        help="also check that a line with this hash is there: the last hash of an earlier check",
    )


@command(
    "audit",
    SETTING_UP,
    "read and search the audit log, and check that it is complete",
    "vaultwire audit tail ~/vaultwire-log -n 50",
    options=_add_options,
    codes=FOUND_CODES,
)
def run(options: argparse.Namespace) -> int:
    """Do it and return the exit code."""
    path = audit_file(options.log)
    try:
        if options.action == "verify":
            return _verify(path, options.holds)
        if not _is_there(path):
            raise FileNotFoundError(2, "there is no log", path)
        is_tail = options.action == "tail"
        found = collections.deque(records(path), options.lines) if is_tail else _matching(path, options)
        has_found = is_tail
        for record in found:
            has_found = True
            say(json.dumps(record) if options.json else _to_text(record))
    except OSError as error:
        complain(f"cannot read the audit log {path}: {error.strerror}")
        return 1
    except re.error as error:
        complain(f"not a regular expression: {options.pattern!r} ({error})")
        return 2
    return 0 if has_found else 1


def _is_there(path: str) -> bool:
    return os.path.exists(path) or os.path.exists(f"{path}.lock")


def _matching(path: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the lines that match. The client of a result is the client of its request."""
    pattern = re.compile(options.pattern, re.IGNORECASE)
    request_ids: set[str] = set()
    for record in records(path):
        if options.client is not None:
            if options.client in (record.get("client"), record.get("principal")):
                request_ids.add(record.get("request_id", ""))
            if record.get("request_id") not in request_ids:
                continue
        if options.tool is not None and options.tool not in (record.get("tool_name"), record.get("method")):
            continue
        if options.errors and record.get("result_status") != "error" and record.get("type") != "security":
            continue
        if pattern.search(json.dumps(record, ensure_ascii=False)) is not None:
            yield record


def _to_text(record: dict[str, Any]) -> str:
    """Return a line for a person."""
    get = record.get
    short = str(get("request_id", ""))[:8]
    what = get("tool_name") or get("method") or ""
    match get("type"):
        case "request":
            who = json.dumps(get("client") or "?", ensure_ascii=False)  # in quotes: this is any text of the client's
            if get("principal"):
                who = f"{get('principal')}, which calls itself {who}"
            rest = f"{who}: {what} {json.dumps(get('arguments', {}), ensure_ascii=False)}"
        case "response":
            status = get("error_code") or get("result_status")
            rest = f"-> {what} {status} in {get('execution_time_ms')} ms"
        case "rotation":
            rest = f"-- the log removed its oldest files, by number: {', '.join(get('removed', {}))}"
        case _:
            rest = f"!! {get('event_type')} {json.dumps(get('details', {}), ensure_ascii=False)}"
    return f"{get('timestamp')} {short:8} {rest}"


def _verify(path: str, expected: str | None) -> int:
    report = verify(path, expected)
    for problem in report.problems[:_MAX_SHOWN]:
        say(f"{problem.file}, line {problem.line}: {problem.what}")
    if len(report.problems) > _MAX_SHOWN:
        say(f"and {len(report.problems) - _MAX_SHOWN} more")
    if not report.is_complete:
        say(
            "The chain begins with the oldest file that is left. The log removed earlier files itself where it says so."
        )
    if not report.has_expected:
        say(f"No line has the hash {expected}: lines were removed at the end, or this is a new log.")
    is_whole = not report.problems and report.has_expected
    lines = f"{report.lines} lines in {report.files} file{'' if report.files == 1 else 's'}"
    say(f"{lines}, {'all as they were written' if is_whole else 'NOT as they were written'}. Last hash: {report.last}")
    return 0 if is_whole else 1
