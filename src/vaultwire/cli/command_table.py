"""The commands in one table: help and completion are made from it. The work is in a module for each."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from vaultwire.cli import (
    audit,
    check,
    client_options,
    connect,
    demo,
    desk,
    doctor,
    editor_commands,
    ide,
    keys,
    plugin,
    policy,
    run_options,
    serve,
    service,
    shell_completion,
    stdio,
    vaults,
)
from vaultwire.cli.vault_commands import any_tool, bases, finding, history, notes, proposals
from vaultwire.config import make_config

USUAL_CODES = "exit code: 0 done; 1 a problem was found and reported; 2 wrong use"
FOUND_CODES = "exit code: 0 found; 1 nothing found, or it cannot be read; 2 wrong use"
CHECK_CODES = "exit code: 0 nothing is wrong; 1 something is; 2 wrong use"
CHANGE_CODES = "exit code: 0 done; 1 not done, and stderr says why; 2 wrong use, or --yes is needed; 130 interrupted"


class Command(NamedTuple):
    """A command: what it is for, how it is used, and the functions that add its options and do its work."""

    name: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    examples: tuple[str, ...]
    exit_codes: str = USUAL_CODES


def _add_stdio(parser: argparse.ArgumentParser) -> None:
    run_options.add_all(parser)
    parser.add_argument(
        "--standalone", action="store_true", help="use no running vaultwire serve, even if there is one"
    )


def _add_serve(parser: argparse.ArgumentParser) -> None:
    run_options.add_all(parser)
    serve.add_options(parser)


def _add_ide(parser: argparse.ArgumentParser) -> None:
    run_options.add_vault(parser)
    run_options.add_policy(parser)
    ide.add_options(parser)


def _add_editor_command(parser: argparse.ArgumentParser) -> None:
    run_options.add_vault(parser)
    editor_commands.add_options(parser)


def _add_demo(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--vault", metavar="PATH", help="talk about this vault instead, read-only")
    group.add_argument(
        "--keep", metavar="FOLDER", help="only write the sample vault into this new folder, to practise with"
    )


def _run_serve(options: argparse.Namespace) -> int:
    return serve.run(make_config(**run_options.read_all(options)), options)


def _run_demo(options: argparse.Namespace) -> int:
    if options.keep:
        return demo.keep(options.keep)
    return demo.run(make_config(options.vault, read_only=True) if options.vault else None)


_NOTES = (
    Command(
        "search",
        "find notes by words, tags, properties",
        finding.add_search,
        finding.search,
        ("vaultwire search tomatoes", "vaultwire search 'tag:#project -done' --in Work -n 5"),
        FOUND_CODES,
    ),
    Command(
        "read",
        "print a note, or a part of it",
        notes.add_read,
        notes.read,
        ("vaultwire read 'Garden plan'", "vaultwire read Projects/Shelf.md --section Next"),
        FOUND_CODES,
    ),
    Command(
        "tasks",
        "list tasks to do, or done",
        finding.add_tasks,
        finding.tasks,
        ("vaultwire tasks", "vaultwire tasks --in Projects --all", "vaultwire tasks --due overdue"),
        FOUND_CODES,
    ),
    Command(
        "base",
        "print what a base shows, or list the bases",
        bases.add_base,
        bases.base,
        ("vaultwire base", "vaultwire base Books", "vaultwire base Books.base 'To read' --format csv"),
        FOUND_CODES,
    ),
    Command("tags", "list tags", finding.add_tags, finding.tags, ("vaultwire tags -n 20",), FOUND_CODES),
    Command(
        "mv",
        "move or rename a note, with all links to it",
        notes.add_mv,
        notes.mv,
        ("vaultwire mv Inbox/Idea.md Projects/ --dry-run", "vaultwire mv 'Old name' './New name'"),
        CHANGE_CODES,
    ),
    Command(
        "check",
        "find what is broken in one note or in all notes",
        check.add_options,
        check.run,
        ("vaultwire check", "vaultwire check --fix --dry-run"),
        CHECK_CODES,
    ),
    Command(
        "call",
        "call any tool that assistants have",
        any_tool.add_call,
        any_tool.call,
        (
            "vaultwire call",
            "vaultwire call list_links --arguments",
            "vaultwire call list_links path='Garden plan' what=in --json",
            "vaultwire call create_note path=Idea content@idea.md",
        ),
        CHANGE_CODES,
    ),
)
_HISTORY = (
    Command(
        "desk",
        "open the desk in a browser: what assistants changed, and what waits for you",
        desk.add_options,
        desk.run,
        ("vaultwire desk", "vaultwire desk --vault ~/Notes --no-browser"),
    ),
    Command(
        "changes",
        "list what was changed, by whom, and when",
        history.add_changes,
        history.changes,
        ("vaultwire changes", "vaultwire changes --since 1h"),
        FOUND_CODES,
    ),
    Command("show", "show a change line by line", history.add_show, history.show, ("vaultwire show 12",), FOUND_CODES),
    Command(
        "undo",
        "undo changes",
        history.add_undo,
        history.undo,
        ("vaultwire undo last", "vaultwire undo 12", "vaultwire undo --since 1h --dry-run"),
        CHANGE_CODES,
    ),
    Command(
        "proposals",
        "list the changes that wait for you, or show one",
        proposals.add_proposals,
        proposals.proposals,
        ("vaultwire proposals", "vaultwire proposals 3"),
        FOUND_CODES,
    ),
    Command(
        "accept",
        "make changes that wait for you",
        proposals.add_accept,
        proposals.accept,
        ("vaultwire accept 3", "vaultwire accept --all --dry-run"),
    ),
    Command(
        "refuse",
        "refuse changes that wait for you",
        proposals.add_refuse,
        proposals.refuse,
        ("vaultwire refuse 3 --reason 'Keep the old title'",),
    ),
)
_SERVERS = (
    Command(
        "stdio",
        "serve a vault to an MCP client over stdin and stdout",
        _add_stdio,
        lambda options: stdio.serve(standalone=options.standalone, **run_options.read_all(options)),
        ("vaultwire stdio --vault ~/Notes --read-only",),
    ),
    Command(
        "serve",
        "serve a vault to clients over HTTP: MCP and a REST API",
        _add_serve,
        _run_serve,
        ("vaultwire serve --vault ~/Notes --port 3000",),
    ),
    Command(
        "service",
        "keep serve running: start it at login, and again if it ends",
        service.add_options,
        service.run,
        (
            "vaultwire service install --vault ~/Notes --port 3000",
            "vaultwire service status",
            "vaultwire service remove",
        ),
    ),
    Command(
        "connect",
        "connect an MCP client to a vaultwire server on another computer",
        connect.add_options,
        connect.run,
        ("vaultwire connect https://notes.example.org --key-file ~/notes.key",),
    ),
    Command(
        "client-config",
        "print the entry that makes a client use vaultwire",
        client_options.add_client_config,
        client_options.run_client_config,
        (
            "vaultwire client-config claude-desktop --vault ~/Notes",
            "vaultwire client-config cursor --vault ~/Notes --link",
        ),
    ),
)
_EDITORS = (
    Command(
        "ide",
        "connect Claude Code to a vault as its editor: open note, selection, review of changes",
        _add_ide,
        lambda options: ide.run(make_config(options.vault, policy=options.policy), options),
        ("vaultwire ide --vault ~/Notes --gemini",),
    ),
    Command(
        "mention",
        "mention a note to the assistants that use a running vaultwire ide",
        _add_editor_command,
        lambda options: editor_commands.run(options, do="mention"),
        ("vaultwire mention 'Garden plan#L2-L5' --vault ~/Notes",),
    ),
    Command(
        "select",
        "tell the assistants that use a running vaultwire ide which note is active",
        _add_editor_command,
        lambda options: editor_commands.run(options, do="select"),
        ("vaultwire select 'Garden plan' --vault ~/Notes",),
    ),
    Command(
        "plugin",
        "install the companion plugin in a vault's Obsidian, or remove it",
        plugin.add_options,
        plugin.run,
        ("vaultwire plugin install --vault ~/Notes",),
    ),
)
_SETTING_UP = (
    Command(
        "install",
        "put vaultwire into a client's own file, or take it out",
        client_options.add_install,
        client_options.run_install,
        (
            "vaultwire install",
            "vaultwire install claude-desktop --vault ~/Notes --dry-run",
            "vaultwire install cursor --http https://notes.example.org --key-env VAULTWIRE_KEY",
            "vaultwire install cursor --undo",
        ),
    ),
    Command(
        "demo",
        "see a client and a server talk about a sample vault",
        _add_demo,
        _run_demo,
        ("vaultwire demo", "vaultwire demo --vault ~/Notes", "vaultwire demo --keep ~/Practice"),
    ),
    Command(
        "doctor",
        "check this computer, a vault and the start-up time",
        doctor.add_options,
        doctor.run,
        ("vaultwire doctor --vault ~/Notes",),
        CHECK_CODES,
    ),
    Command(
        "vaults", "list the vaults that Obsidian knows", lambda _: None, lambda _: vaults.run(), ("vaultwire vaults",)
    ),
    Command(
        "keys",
        "manage the API keys of serve: issue, list, revoke",
        keys.add_options,
        keys.run,
        ("vaultwire keys issue phone",),
    ),
    Command(
        "policy",
        "check a policy file, and explain what it allows",
        policy.add_options,
        policy.run,
        ("vaultwire policy explain delete_note Diary/Today.md --policy policy.toml",),
    ),
    Command(
        "audit",
        "read and search the audit log, and check that it is complete",
        audit.add_options,
        audit.run,
        ("vaultwire audit tail ~/vaultwire-log -n 50",),
        FOUND_CODES,
    ),
    Command(
        "completion",
        "print the completion script of a shell",
        shell_completion.add_options,
        shell_completion.run,
        ("vaultwire completion bash >> ~/.bash_completion", "vaultwire completion fish | source"),
    ),
)

GROUPS: dict[str, tuple[Command, ...]] = {
    "notes": _NOTES,
    "changes and undo": _HISTORY,
    "servers for assistants": _SERVERS,
    "editors": _EDITORS,
    "setting up and checking": _SETTING_UP,
}
"""The commands, in the groups in which help shows them."""
