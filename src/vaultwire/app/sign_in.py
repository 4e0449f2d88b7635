"""Composes sign-in: where people and grants are kept, and what a person may allow or read of the vaults of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from vaultwire.config import ConfigError
from vaultwire.protocol.events import Peer
from vaultwire.vault.errors import FILE_NOT_FOUND, VaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vaultwire.remote.endpoint import SignIn
    from vaultwire.remote.store import Store
    from vaultwire.server.handlers import Handlers
    from vaultwire.server.mcp_endpoint import SharedSessions
    from vaultwire.server.vaults import Vaults
    from vaultwire.transports import App, guard
    from vaultwire.trust.keys import Keys
    from vaultwire.vault.index.summaries import FolderFiles


class PublicServer(NamedTuple):
    """A server that people sign in to, at ``url``; ``folder`` is where that is kept.

    ``notes`` say in words which notes it has; ``hosts`` are those of further clients. ``has_connectors``: connector addresses
    are served, too.
    """

    url: str
    folder: str
    notes: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    has_connectors: bool = False


class Sharing(NamedTuple):
    """What several servers share. ``around`` returns what stands before a door, by the door's name.

    ``people``: who signs in, None where nobody does. ``folders``: those of a vault that another server has, by its name.
    """

    around: Callable[[str, App], App]
    sessions: SharedSessions
    keys: Keys
    people: Store | None
    folders: Callable[[str], Iterable[FolderFiles]]


def make_sign_in(
    public: PublicServer | None, observer: guard.Observer, handlers: Handlers, sharing: Sharing | None
) -> SignIn | None:
    """Return what lets people sign in, None if nobody is to. Raises ConfigError."""
    if public is None:
        return None
    import sqlite3  # noqa: PLC0415 - only where it is asked for, here and below

    try:
        from vaultwire.remote.endpoint import Offered, SignIn  # noqa: PLC0415
    except ImportError:
        from vaultwire.installation import how_to_add  # noqa: PLC0415

        raise ConfigError(
            f"--public-url needs packages that are not installed. To add them: {how_to_add('remote')}"
        ) from None
    from vaultwire.remote.clients import Clients  # noqa: PLC0415
    from vaultwire.remote.store import Store  # noqa: PLC0415

    try:
        store = Store(public.folder) if sharing is None or sharing.people is None else sharing.people
        if sharing is not None and store.url() not in (None, public.url):
            # Who is let in there was told of other vaults.
            raise ConfigError(
                f"--public-url: the people of {store.place} sign in at {store.url()}. Give this URL, or another database; "
                "if the servers have another URL now: vaultwire people url URL"
            )
        store.set_url(public.url)
        if not store.people():
            observer.tell("nobody can sign in yet. To add yourself: vaultwire people add NAME")
        if public.has_connectors and all(grant.person for grant in store.grants()):
            observer.tell("there is no connector address yet. To make one: vaultwire grants connector")
        clients = Clients(store.key(), public.hosts)
    except (OSError, sqlite3.Error) as error:
        where = f"the folder of people and grants, {public.folder}" if sharing is None else "people and grants"
        raise ConfigError(f"cannot use {where}: {error}") from None
    offered = Offered(
        public.notes,
        {name: partial(_folders_in, handlers.vaults, name, sharing) for name in handlers.vaults.names},
        may_write=not handlers.read_only,
        has_connectors=public.has_connectors,
    )
    sign_in = SignIn(
        store,
        clients,
        public.url,
        offered,
        observer.tell,
    )
    around = None if sharing is None else partial(sharing.around, "note")
    sign_in.show_notes(partial(_read_for_page, handlers), around or (lambda app: app))
    return sign_in


def _read_for_page(handlers: Handlers, person: str, vault: str, path: str) -> dict[str, Any]:
    """Return a note for its page: what a client of the person's name may read in this run. Raises VaultError."""
    from vaultwire.review.glance import Glance  # noqa: PLC0415 - most runs show no page

    vaults = handlers.vaults
    name = vaults.name(vault if vaults.are_several else vaults.names[0])
    notes = vaults.get(name)
    may_read = any(tool["name"] == "read_notes" for tool in handlers.offered(Peer(person)))
    if notes.name != vault or not may_read:
        raise VaultError(FILE_NOT_FOUND, "There is no such note.", path=path)
    return Glance(notes).note(path)


# Levels of folders, and how many of them, that the page of consent offers.
_FOLDER_LEVELS, _MOST_FOLDERS = 3, 300


def _folders_in(vaults: Vaults, name: str, sharing: Sharing | None) -> list[str]:
    """Return the folders of a vault that a client may be held to, in the order of their paths. Waits for the index."""
    if sharing is None or vaults.is_here(name):
        tree = vaults.get(name).overview.folder_tree("", _FOLDER_LEVELS, _MOST_FOLDERS)
    else:
        from vaultwire.vault.insights.listing import folder_tree  # noqa: PLC0415 - after the first answer

        tree = folder_tree(sharing.folders(name), "", _FOLDER_LEVELS, _MOST_FOLDERS)
    return [branch.folder for branch in tree if branch.folder]
