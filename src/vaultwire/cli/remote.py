"""People who sign in from elsewhere, what they allowed (``people``, ``grants``), and whether they can reach the server."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from contextlib import closing

from vaultwire.cli.command import SETTING_UP, command
from vaultwire.cli.database import with_database
from vaultwire.cli.terminal import complain, say, say_json, say_styled
from vaultwire.config import DATABASE_VARIABLE, ConfigError, sign_in_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from vaultwire.cluster.database import Database
    from vaultwire.remote.checks import Finding
    from vaultwire.remote.store import Store


def _add_people(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    added = actions.add_parser("add", help="let a person sign in, or give one another password")
    added.add_argument("name", help="name of the person, such as Ana")
    actions.add_parser("list", help="list the people")
    passkey = actions.add_parser(
        "passkey", help="print the address at which a person makes a passkey, once within an hour"
    )
    passkey.add_argument("name", help="name of the person")
    passkey.add_argument("--remove", action="store_true", help="remove the passkeys of the person instead")
    removed = actions.add_parser("remove", help="remove a person with all that they allowed; servers refuse it at once")
    removed.add_argument("name", help="name of the person")
    moved = actions.add_parser("url", help="tell the database that its servers have another --public-url now")
    moved.add_argument("url", help="the URL, such as https://notes.example.org")
    _add_database(actions)


@command(
    "people",
    SETTING_UP,
    "manage who may sign in at serve --public-url: add, list, passkey, remove",
    "vaultwire people add Ana",
    options=_add_people,
)
def people(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    return _with_store(options, _do_people)


def _do_people(store: Store, options: argparse.Namespace) -> int:
    if options.action == "add":
        return _add_person(store, options.name)
    if options.action == "passkey":
        return _remove_passkeys(store, options.name) if options.remove else _enrol(store, options.name)
    if options.action == "url":
        from vaultwire.app.serving import read_public_url  # noqa: PLC0415 - loads all transports

        store.set_url(read_public_url(options.url)[0])
    elif options.action == "list":
        for person in store.people():
            count = store.count_passkeys(person.name)
            passkeys = f"\t{count} passkey{'s' * (count > 1)}" if count else ""
            say(f"{person.name}\tsince {_day(person.created)}{passkeys}")
    elif not store.remove_person(options.name):
        complain(f"there is nobody named {options.name}")
        return 1
    return 0


def _add_person(store: Store, name: str) -> int:
    try:
        from vaultwire.remote.people import MIN_CHARACTERS, PersonRefused, add  # noqa: PLC0415 - an extra
    except ImportError:
        from vaultwire.installation import how_to_add  # noqa: PLC0415 - only for a message

        raise ConfigError(
            f"passwords need packages that are not installed. To add them: {how_to_add('remote')}"
        ) from None
    if sys.stdin.isatty():
        import getpass  # noqa: PLC0415 - only here

        password = getpass.getpass(f"Password for {name} (at least {MIN_CHARACTERS} characters): ")
        if getpass.getpass("Once more: ") != password:
            complain("the two are not the same; nothing was changed")
            return 1
    else:
        password = sys.stdin.readline().rstrip("\n")
    try:
        is_new = add(store, name, password)
    except PersonRefused as error:
        complain(str(error))
        return 1
    say(f"{name} can sign in." if is_new else f"{name} has another password. What {name} allowed stays allowed.")
    return 0


def _enrol(store: Store, name: str) -> int:
    person, url = store.person(name), store.url()
    if person is None:
        complain(f"there is nobody named {name}")
        return 1
    if url is None:
        complain("this server has no public URL yet: start vaultwire serve with --public-url first")
        return 1
    say(f"At this address {person.name} makes a passkey, once within an hour. Give it to nobody else:", to_stderr=True)
    say(f"{url}/passkey#{store.new_enrolment(person.name)}")
    return 0


def _remove_passkeys(store: Store, name: str) -> int:
    count = store.remove_passkeys(name)
    if not count:
        complain(f"{name} has no passkey")
        return 1
    say(f"Removed: {count} passkey{'s' * (count > 1)} of {name}")
    return 0


def _add_grants(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    actions.add_parser("list", help="list what people allowed to whom, and the connector addresses")
    revoked = actions.add_parser("revoke", help="end grants; running servers refuse them at once")
    revoked.add_argument("grant", help="id of a grant as list shows it, name of a person or client, or all")
    made = actions.add_parser(
        "connector",
        help="make a connector address and show it once: a client that has it needs no sign-in (serve --connector)",
    )
    made.add_argument("--write", action="store_true", help="it may change notes, too")
    _add_database(actions)


@command(
    "grants",
    SETTING_UP,
    "manage what people allowed to clients: list, revoke; make a connector address",
    "vaultwire grants list",
    "vaultwire grants revoke claude.ai",
    options=_add_grants,
)
def grants(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    return _with_store(options, _do_grants)


def _do_grants(store: Store, options: argparse.Namespace) -> int:
    from vaultwire.remote.store import names_of  # noqa: PLC0415 - not for every command

    if options.action == "connector":
        return _make_connector(store, writes=options.write)
    if options.action == "revoke":
        return _revoke(store, options.grant)
    for grant in store.grants():
        until = f"until {_day(grant.expires)}" if grant.person else "until revoked"
        named = f"\tcalls itself {grant.client_name!r}" if grant.client_name else ""
        where = "".join(f"\tonly {name}" for name in names_of(grant.folders))
        say(f"{grant.id}\t{grant.name}\tsince {_day(grant.created)}\t{until}\tused {_day(grant.used)}{where}{named}")
    return 0


def _revoke(store: Store, meant: str) -> int:
    revoked = [each for each in store.grants() if meant in ("all", each.id, each.name, each.person, each.client)]
    for grant in revoked:
        store.revoke(grant.id)
        say(f"Revoked: {grant.name}")
    if not revoked:
        complain(f"there is no grant {meant}")
    return 0 if revoked else 1


def _make_connector(store: Store, *, writes: bool) -> int:
    url = store.url()
    if url is None:
        complain("this server has no public URL yet: start vaultwire serve with --public-url and --connector first")
        return 1
    secret = store.new_connector("connector", writes=writes)
    what = "read and change" if writes else "read"
    say(
        f"Everybody who has this address may {what} the notes. It is shown only once; only its hash is stored:",
        to_stderr=True,
    )
    say(f"{url}/c/{secret}/mcp")
    return 0


def _add_database(actions: Any) -> None:
    for action in actions.choices.values():
        action.add_argument(
            "--database",
            metavar="URL",
            help=f"of the servers that share this PostgreSQL (serve --database; else: ${DATABASE_VARIABLE})",
        )


def _with_store(options: argparse.Namespace, act: Callable[[Store, argparse.Namespace], int]) -> int:
    """Return the exit code of what is done with people and grants. Raises ConfigError."""
    import sqlite3  # noqa: PLC0415 - not for every command, as below

    from vaultwire.remote.store import Store  # noqa: PLC0415

    def act_in(base: Database) -> int:
        from vaultwire.cluster.sign_in import SignInRows  # noqa: PLC0415 - an extra

        base.check()
        return act(Store(SignInRows(base)), options)

    url = options.database or os.environ.get(DATABASE_VARIABLE)
    if url:
        return with_database(url, act_in)
    folder = sign_in_folder()
    try:
        store = Store(folder)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"cannot use the folder of people and grants, {folder}: {error}") from None
    with closing(store):
        return act(store, options)


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


# ---------------------------------------------------------------------- how the server is reached

_STYLES = {"wrong": "31", "unsure": "33"}


def check_beside(url: str) -> None:
    """Print how a public URL is reached, once that is known. On the event loop of the server, which goes on meanwhile."""
    import asyncio  # noqa: PLC0415 - here and below: not for every command

    from vaultwire.remote import checks  # noqa: PLC0415
    from vaultwire.transports import call_on_loop  # noqa: PLC0415

    loop = asyncio.get_running_loop()

    def run() -> None:
        call_on_loop(loop, _say_findings, url, checks.check_public_url(url))

    # A daemon: waiting for a far computer must not hold up the end. All that it needs is imported.
    threading.Thread(target=run, daemon=True, name="vaultwire-public-url").start()


def check_public_url(url: str, *, as_json: bool) -> int:
    """Print how a public URL is reached; return 1 if a rule is not kept, else 0."""
    from vaultwire.remote import checks  # noqa: PLC0415

    findings = checks.check_public_url(url)
    if as_json:
        healthy = not _has_wrong(findings)
        rules = [finding._asdict() for finding in findings]
        say_json({"healthy": healthy, "public_url": url, "rules": rules})
    else:
        _say_findings(url, findings)
    return 1 if _has_wrong(findings) else 0


def _has_wrong(findings: Sequence[Finding]) -> bool:
    return any(finding.state == "wrong" for finding in findings)


def _say_findings(url: str, findings: Sequence[Finding]) -> None:
    say(f"How {url} is reached, as far as it shows from here:")
    for finding in findings:
        style = _STYLES.get(finding.state, "")
        say_styled((f"  {finding.state:<12}", style), (f"{finding.rule:<12}", ""), (finding.found, style))
        if style:
            say(f"{'':<26}Right would be: {finding.right}. See {finding.help}")
    closing = (
        "Something is wrong, so clients may not connect" if _has_wrong(findings) else "What shows from here is right"
    )
    say(f"{closing}. A rule against bots or a firewall that refuses the services does not show from here.", flush=True)
