"""The options that limit clients: audit log, rates, timeouts, size of answers, and which tools they see."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TypeVar

from vaultwire.config import ConfigError, audit_file
from vaultwire.toolkit.catalog import SIZES, STANDARD_SIZE
from vaultwire.trust.limits import ClientLimits, read_rate, read_seconds

Value = TypeVar("Value")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("limits for clients")
    group.add_argument("--audit", metavar="LOG", help="log every request and its result: a file, or a folder")
    group.add_argument("--audit-strict", action="store_true", help="refuse requests that cannot be logged")
    group.add_argument(
        "--rate",
        action="append",
        default=[],
        metavar="[NAME=]N",
        help="calls a minute for each client: N in all; NAME=N for one tool, each=N for each tool, changes=N for each tool "
        "that changes notes",
    )
    group.add_argument(
        "--timeout",
        action="append",
        default=[],
        metavar="CLASS=SECONDS",
        help="how long a call may take: file (30), search (60), web (15)",
    )
    group.add_argument("--max-answer", type=int, metavar="CHARACTERS", help="refuse answers that are longer")
    group.add_argument(
        "--tools",
        choices=SIZES,
        default=STANDARD_SIZE,
        help="tools to list: core (a few, and one to find the others), standard, all",
    )
    for option, text in (("--tool", "also list this tool"), ("--no-tool", "neither list nor run this tool")):
        group.add_argument(
            option, action="append", default=[], metavar="NAME", help=f"{text}; may be given more than once"
        )
    group.add_argument(
        "--allow-web",
        action="append",
        default=[],
        metavar="HOST",
        help="offer web_search, through the search engine at this host, such as html.duckduckgo.com",
    )
    group.add_argument(
        "--attachments-from",
        action="append",
        default=[],
        metavar="SOURCE",
        help="let clients add attachments from this folder, or from https://HOST; may be given more than once",
    )


def read_limits(options: argparse.Namespace) -> ClientLimits | None:
    """Return the limits that the options give, None for none. Raises ConfigError."""
    asked = ClientLimits()
    if options.audit is not None:
        asked.audit = audit_file(options.audit)
    elif options.audit_strict:
        raise ConfigError("--audit-strict needs --audit: the log to write to")
    asked.strict = options.audit_strict
    if options.rate:
        asked.rates = _read(read_rate, options.rate)
    asked.seconds = {**asked.seconds, **_read(read_seconds, options.timeout)}
    asked.most_characters = options.max_answer
    if options.max_answer is not None and options.max_answer < 1:
        raise ConfigError(f"--max-answer takes a number of characters such as 100000, got {options.max_answer}")
    asked.size = options.tools
    asked.with_tools, asked.without_tools = _names(options.tool), _names(options.no_tool)
    asked.hosts = tuple(map(str.lower, options.allow_web))
    for host in asked.hosts:
        if not _is_host(host):
            raise ConfigError(f"--allow-web takes the name of a host such as html.duckduckgo.com, got {host!r}")
    asked.attachments_from = tuple(map(_attachment_source, options.attachments_from))
    return asked if asked.options() else None


def _is_host(name: str) -> bool:
    return bool(name) and not any(character in name for character in "/@ *?#\\") and not name.startswith(".")


def _attachment_source(given: str) -> str:
    """Return the absolute path of a folder, or a host after ``https://``. Raises ConfigError."""
    if given.startswith("https://"):
        source = given.lower().rstrip("/")
        if _is_host(source.removeprefix("https://").removeprefix("*.")):
            return source
    elif given and os.path.isdir(os.path.expanduser(given)):
        return os.path.abspath(os.path.expanduser(given))
    raise ConfigError(
        f"--attachments-from takes a folder that exists, or a host such as https://upload.wikimedia.org, got {given!r}"
    )


def _names(given: list[str]) -> tuple[str, ...]:
    """Return tools' names in our spelling. Whether they exist is checked later."""
    return tuple(name.replace("-", "_") for name in given)


def _read(read: Callable[[str], tuple[str, Value]], given: list[str]) -> dict[str, Value]:
    try:
        return dict(map(read, given))
    except ValueError as error:
        raise ConfigError(str(error)) from None
