"""The options of ``install`` and ``client-config``. The work is loaded only when one of them runs: it takes 30 ms."""

from __future__ import annotations

import argparse

from vaultwire.cli import run_options
from vaultwire.cli.command import SERVERS, SETTING_UP, command
from vaultwire.client_setup.clients import CLIENTS, SCOPES


def add_client_config(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``client-config``."""
    parser.add_argument("client", metavar="CLIENT", choices=tuple(CLIENTS), help=f"one of {', '.join(CLIENTS)}")
    linked = ", ".join(name for name, client in CLIENTS.items() if client.link)
    parser.add_argument("--link", action="store_true", help=f"print a one-click link instead, for {linked}")
    _add_entry(parser)


def add_install(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``install``."""
    parser.add_argument(
        "client",
        metavar="CLIENT",
        nargs="?",
        choices=tuple(CLIENTS),
        help=f"one of {', '.join(CLIENTS)}; none: list those on this computer",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--undo", action="store_true", help="undo the last installation into this client")
    parser.add_argument("--force", action="store_true", help="also if the client seems not to be installed here")
    _add_entry(parser)


def _add_entry(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the entry is and where it belongs."""
    entry = parser.add_argument_group("the entry")
    entry.add_argument(
        "--scope", choices=SCOPES, default="user", help="your own file, or that of the project in this folder (user)"
    )
    entry.add_argument("--name", default="vaultwire", help="the name of the entry (vaultwire)")
    entry.add_argument(
        "--http", metavar="URL", help="use a running vaultwire serve at this address, instead of starting one"
    )
    entry.add_argument("--key-file", metavar="FILE", help="file with the API key of that server and nothing else")
    entry.add_argument("--key-env", metavar="VARIABLE", help="variable that holds the API key when the client runs")
    run_options.add_all(parser)


@command(
    "client-config",
    SERVERS,
    "print the entry that makes a client use vaultwire",
    "vaultwire client-config claude-desktop --vault ~/Notes",
    "vaultwire client-config cursor --vault ~/Notes --link",
    options=add_client_config,
)
def run_client_config(options: argparse.Namespace) -> int:
    """Run ``client-config``."""
    from vaultwire.cli import client_config  # noqa: PLC0415 - for this command only

    return client_config.run(options)


@command(
    "install",
    SETTING_UP,
    "put vaultwire into a client's own file, or take it out",
    "vaultwire install",
    "vaultwire install claude-desktop --vault ~/Notes --dry-run",
    "vaultwire install cursor --http https://notes.example.org --key-env VAULTWIRE_KEY",
    "vaultwire install cursor --undo",
    options=add_install,
)
def run_install(options: argparse.Namespace) -> int:
    """Run ``install``."""
    from vaultwire.cli import install  # noqa: PLC0415 - for this command only

    return install.run(options)
