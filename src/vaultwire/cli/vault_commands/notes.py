"""``vaultwire read`` and ``mv``: a note, to read or to move, or the notes of some days, to read."""

from __future__ import annotations

import argparse
import sys

from vaultwire.cli.command import CHANGE_CODES, FOUND_CODES, NOTES, command
from vaultwire.cli.terminal import complain, has_reader, say, say_text
from vaultwire.cli.vault_commands.calling import (
    DONE,
    NOT_FOUND,
    Calls,
    FailedCallError,
    add_options,
    run,
    say_answer,
    say_change,
)

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
