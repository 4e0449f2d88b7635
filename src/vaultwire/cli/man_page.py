"""The manual page ``vaultwire.1``, written from the commands. ``make generate`` makes it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vaultwire import __version__
from vaultwire.cli.command_spec import CommandSpec, Taken, specs_of
from vaultwire.cli.commands import make_parser
from vaultwire.cli.environment import OURS, VARIABLES, Variable

_EXIT_STATUS = """\
.SH "EXIT STATUS"
0: done, or found. 1: nothing found, something is wrong, or it could not be done; stderr says why. 2: the command was
written in a wrong way, or needs
.BR \\-\\-yes .
130: interrupted.
"""


def man_page() -> str:
    """Return the page in the language of man(7)."""
    whole, *commands = specs_of(make_parser())
    parts = [
        f'.TH VAULTWIRE 1 "" "vaultwire {__version__}" "User Commands"',
        ".SH NAME",
        r"vaultwire \- an Obsidian vault at the command line, for AI assistants and editors",
        ".SH SYNOPSIS",
        ".B vaultwire",
        ".I COMMAND",
        "[OPTIONS]",
        ".SH DESCRIPTION",
        _escaped(whole.about),
        ".SH COMMANDS",
        *(line for spec in commands for line in _command(spec)),
        ".SH ENVIRONMENT",
        *(line for each in VARIABLES if each.kind == OURS or each.name == "NO_COLOR" for line in _variable(each)),
    ]
    return "\n".join(parts) + "\n" + _EXIT_STATUS


def _command(spec: CommandSpec) -> list[str]:
    synopsis = " ".join(["vaultwire", *spec.words, *map(_argument, spec.arguments), *["ACTION"] * bool(spec.commands)])
    lines = [f'.SS "{_escaped(synopsis).replace(chr(34), chr(92) + "(dq")}"', _escaped(spec.about)]
    for each in (*spec.arguments, *spec.options):
        if each.spellings[:1] == ("-h",):
            continue
        names = ", ".join(each.spellings) or each.value
        value = f" {each.value}" if each.spellings and each.value else ""
        lines += [".TP", rf"\fB{_escaped(names)}\fR{_escaped(value)}", _escaped(each.help)]
    if spec.epilog:
        lines += [".PP", ".nf", *map(_escaped, spec.epilog.split("\n")), ".fi"]
    return lines


def _variable(each: Variable) -> list[str]:
    meaning = re.sub(r"`(.*?)`", r"\1", each.meaning)
    return [".TP", f".B {each.name}", _escaped(f"{meaning} {each.option} wins over it." if each.option else meaning)]


def _argument(taken: Taken) -> str:
    return f"{taken.value}..." if taken.repeats else taken.value


def _escaped(text: str | Sequence[str]) -> str:
    """Return text for troff: a hyphen that can be copied, no request at the beginning of a line."""
    escaped = str(text).replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
