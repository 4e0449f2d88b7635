"""``database``: the PostgreSQL between several servers, for the person who runs them."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import closing

from vaultwire.cli.command import SETTING_UP, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import DATABASE_VARIABLE, ConfigError, make_config
from vaultwire.installation import how_to_add
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.cluster.database import Database

_POLL_SECONDS = 0.5


def _add_database(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    for name, text in (
        ("init", "make the tables in an empty database"),
        ("upgrade", "add what this version needs; servers may run meanwhile"),
    ):
        making = actions.add_parser(name, help=text)
        making.add_argument(
            "--grant", metavar="ROLE", help="give this role of PostgreSQL what a server needs, and no more"
        )
        _add_url(making)
    _add_url(actions.add_parser("check", help="say whether servers can work with it, and what is missing"))
    _add_url(actions.add_parser("owners", help="list the vaults, and which server owns each of them"))
    released = actions.add_parser("release", help="have its server give a vault back, for another one to take it")
    released.add_argument("vault", metavar="VAULT", help="the vault's name, as owners lists it")
    _add_url(released)
    imported = actions.add_parser(
        "import", help="take over what this computer has recorded of a vault, to undo it later"
    )
    imported.add_argument("vault", metavar="NAME", help="the vault's name, the same on all servers")
    imported.add_argument("path", metavar="PATH", help="the path of the folder, the same on all servers")
    _add_url(imported)
    moved = actions.add_parser("move", help="tell the database that a vault's folder has another path now")
    moved.add_argument("vault", metavar="VAULT", help="the vault's name, as owners lists it")
    moved.add_argument("path", metavar="PATH", help="the path of the folder, the same on all servers")
    _add_url(moved)


def _add_url(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url",
        metavar="URL",
        nargs="?",
        help=f"address of the database, such as postgresql://vaultwire@db.example.org/vaultwire ({DATABASE_VARIABLE})",
    )


@command(
    "database",
    SETTING_UP,
    "prepare and check the database between several servers (serve --database)",
    "vaultwire database init postgresql://owner@db.example.org/vaultwire --grant vaultwire",
    "vaultwire database check postgresql://vaultwire@db.example.org/vaultwire",
    "vaultwire database release Notes postgresql://vaultwire@db.example.org/vaultwire",
    options=_add_database,
)
def database(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    url = options.url or os.environ.get(DATABASE_VARIABLE)
    if not url:
        raise ConfigError(f"which database? Give its URL, or set {DATABASE_VARIABLE}")
    return with_database(url, lambda base: _do(base, options))


def with_database(url: str, act: Callable[[Database], int]) -> int:
    """Return the exit code of what is done with a database, 1 if that cannot be used. Raises ConfigError."""
    try:
        from vaultwire.cluster.database import Database, DatabaseError  # noqa: PLC0415 - an extra
        from vaultwire.vault.changes.record_store import RecordsAwayError  # noqa: PLC0415 - as above
    except ImportError:
        raise ConfigError(
            f"a database needs packages that are not installed. To add them: {how_to_add('postgres')}"
        ) from None
    try:
        with closing(Database(url)) as base:
            return act(base)
    except (DatabaseError, RecordsAwayError) as error:
        complain(getattr(error, "strerror", None) or str(error))
        return 1


def _do(base: Database, options: argparse.Namespace) -> int:
    match options.action:
        case "init" | "upgrade":
            return _upgrade(base, options.grant)
        case "check":
            status = base.check()
            tls = "with TLS" if status.has_tls else "without TLS"
            say(f"{base.place} is ready: PostgreSQL {status.version}, schema {status.schema}, {tls}")
            return 0
        case "owners":
            return _list_owners(base)
        case "release":
            return _release(base, options.vault)
        case "import":
            return _import(base, options.vault, options.path)
    from vaultwire.cluster.leases import move_vault  # noqa: PLC0415 - an extra

    move_vault(base, options.vault, os.path.abspath(os.path.expanduser(options.path)))
    say(f"{options.vault} is at {options.path} from now on")
    return 0


def _upgrade(base: Database, role: str | None) -> int:
    numbers = base.upgrade(runtime_role=role)
    say(f"{base.place}: {'schema ' + str(numbers[-1]) + ' is there now' if numbers else 'nothing was missing'}")
    if role is not None:
        say(f"The role {role} has what a server needs")
    return 0


def _import(base: Database, name: str, path: str) -> int:
    """Take the journal of this computer over."""
    from vaultwire.app.engine import own_records  # noqa: PLC0415 - only here
    from vaultwire.cluster.importing import take_over  # noqa: PLC0415 - an extra

    base.check()
    config = make_config(f"{name}={path}")
    try:
        with own_records(config) as records:
            count = take_over(base, name, config.vault, records)
    except VaultError as error:
        complain(error.message)
        return 1
    say(f"{base.place} has {count} changes of {name} now. They can be undone by every server")
    return 0


def _list_owners(base: Database) -> int:
    from vaultwire.cluster.leases import owners  # noqa: PLC0415 - an extra

    for owner in owners(base):
        whose = f"{owner.replica} at {owner.address}, {owner.seconds_left:.0f} s left" if owner.replica else "nobody"
        say(f"{owner.vault}\t{whose}\t{owner.path}")
    return 0


def _release(base: Database, vault: str) -> int:
    """Ask the owner, and wait until the vault has another one, or none."""
    from vaultwire.cluster.leases import ask_back, owners  # noqa: PLC0415 - an extra

    asked = ask_back(base, vault)
    if not asked.replica:
        say(f"no server owns {vault}")
        return 0
    until = time.monotonic() + asked.seconds_left + 2 * _POLL_SECONDS  # then the lease of a server that is gone is over
    while time.monotonic() < until:
        now = next(owner for owner in owners(base) if owner.vault == vault)
        if now.number != asked.number or not now.replica:
            say(f"{now.replica} owns {vault} now" if now.replica else f"{vault} is free now")
            return 0
        time.sleep(_POLL_SECONDS)
    complain(f"{asked.replica} has not given {vault} back, though it goes on: its log may say why")
    return 1
