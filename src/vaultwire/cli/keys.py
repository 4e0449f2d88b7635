"""``vaultwire keys``: issue, list and revoke the API keys of clients on other computers."""

from __future__ import annotations

import argparse

from vaultwire.cli.terminal import complain, say
from vaultwire.config import keys_folder
from vaultwire.trust.keys import KeyRefused, Keys


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    issued = actions.add_parser("issue", help="make a key and show it once")
    issued.add_argument("name", help="name of the key, such as phone")
    actions.add_parser("list", help="list the names of the keys")
    revoked = actions.add_parser("revoke", help="delete a key; running servers refuse it at once")
    revoked.add_argument("name", help="name of the key")


def run(options: argparse.Namespace) -> int:
    """Do it and return the exit code."""
    keys = Keys(keys_folder())
    try:
        if options.action == "issue":
            secret = keys.issue(options.name)
            say(f"The key for {options.name}. It is shown only once; only its hash is stored:", to_stderr=True)
            say(secret)
        elif options.action == "list":
            for key in keys.all():
                say(f"{key.name}\tsince {key.created}")
        elif not keys.revoke(options.name):
            complain(f"there is no key named {options.name}")
            return 1
    except KeyRefused as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"cannot use the folder of the keys: {error}")
        return 1
    return 0
