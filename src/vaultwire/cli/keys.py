"""``vaultwire keys``: issue, list and revoke the API keys of clients on other computers."""

from __future__ import annotations

import argparse

from vaultwire.cli.command import SETTING_UP, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import keys_folder, state_folder
from vaultwire.desk.access import desk_keys_folder
from vaultwire.trust.keys import KeyRefused, Keys


def _add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    issued = actions.add_parser("issue", help="make a key and show it once")
    issued.add_argument("name", help="name of the key, such as phone")
    issued.add_argument(
        "--desk",
        action="store_true",
        help="a key for you: it opens the desk in a browser, and nothing else (docs/desk.md)",
    )
    actions.add_parser("list", help="list the names of the keys")
    revoked = actions.add_parser("revoke", help="delete a key; running servers refuse it at once")
    revoked.add_argument("name", help="name of the key")


@command(
    "keys",
    SETTING_UP,
    "manage the API keys of serve: issue, list, revoke",
    "vaultwire keys issue phone",
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
    """Do it and return the exit code."""
    keys, desk_keys = Keys(keys_folder()), Keys(desk_keys_folder(state_folder()))
    try:
        if options.action == "issue":
            secret = _issue(options.name, *((desk_keys, keys) if options.desk else (keys, desk_keys)))
            say(f"The key for {options.name}. It is shown only once; only its hash is stored:", to_stderr=True)
            say(secret)
        elif options.action == "list":
            for key in keys.all():
                say(f"{key.name}\tsince {key.created}")
            for key in desk_keys.all():
                say(f"{key.name}\tsince {key.created}\tfor the desk")
        elif not (keys.revoke(options.name) or desk_keys.revoke(options.name)):
            complain(f"there is no key named {options.name}")
            return 1
    except KeyRefused as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"cannot use the folder of the keys: {error}")
        return 1
    return 0


def _issue(name: str, keys: Keys, others: Keys) -> str:
    """Return a new key. A name means one key, for agents or for the desk. Raises KeyRefused, OSError."""
    if any(key.name == name for key in others.all()):
        raise KeyRefused(f"there is a key named {name} already; revoke it first, or choose another name")
    return keys.issue(name)
