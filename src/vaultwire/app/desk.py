"""Composes the desk: which engine it uses for each vault, what lists, decides and shows there, and a server of it alone."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from vaultwire.app.engine import load_policy, make_policy, open_vault
from vaultwire.config import Config, ConfigError, settings_of_commands
from vaultwire.desk.access import Access
from vaultwire.desk.api import DeskVaults
from vaultwire.desk.http_endpoint import PATH, DeskEndpoint
from vaultwire.desk.running import Announcement, Running, desk_folder, find, new_code
from vaultwire.server.results import Refusal
from vaultwire.server.vaults import Vaults
from vaultwire.vault.value_types import NoProgress
from vaultwire.vault.vault import Vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from vaultwire.review.glance import Records
    from vaultwire.vault.changes.record_store import RecordStore


def make_desk(config: Config, get_vault: Callable[[str], Vault], vaults: DeskVaults | None = None) -> DeskEndpoint:
    """Return the desk of a run. ``get_vault`` returns the run's own engine of a vault, by the name that the run gives it.

    ``vaults``: what ``desk_vaults`` has returned, if that was called before.
    """
    desk = DeskEndpoint(vaults or desk_vaults(config, get_vault), Access(config.state))
    if config.policy is None:  # a command reads the policy as it is now, and keeps to it by itself
        desk.answer_command = partial(_answer_command, config, get_vault)
    return desk


class _Waiting(NoProgress):
    """A command that waits for its answer, whose person agreed to all beforehand: a ``toolkit.registry.Client``."""

    capabilities: Mapping[str, Any] = {}
    agreed: set[str] | None = None
    asks_person = False


def _answer_command(config: Config, get_vault: Callable[[str], Vault], body: bytes) -> dict[str, str] | None:
    """Return the output of a command of Obsidian's, or why it failed; None if it is not for this server.

    It goes the way that it goes without a server: as a call of the tool whose rules hold for it, by a person.
    """
    from vaultwire.obsidian_cli.asking import toolset_for  # noqa: PLC0415 - most servers answer none, here and below
    from vaultwire.obsidian_cli.commands import FILES, Line, OfficialError  # noqa: PLC0415
    from vaultwire.protocol.dialects import FOR_PROGRAMS  # noqa: PLC0415
    from vaultwire.protocol.events import Peer, Request  # noqa: PLC0415
    from vaultwire.protocol.revisions import LATEST_HANDSHAKE  # noqa: PLC0415
    from vaultwire.server.handlers import Handlers  # noqa: PLC0415
    from vaultwire.server.workers import Job  # noqa: PLC0415

    try:
        asked = json.loads(body)
        line = Line(asked["words"])
        line.check()
        name = next(name for name, folder in config.vaults.items() if folder == asked["vault"])
    except (ValueError, LookupError, TypeError, StopIteration, OfficialError):
        return None
    has_own_name = name not in ("", os.path.basename(asked["vault"]))  # which the answer may have
    if has_own_name or asked.get("settings") != settings_of_commands(config) or line.command.where != FILES:
        return None
    handlers = Handlers(toolset_for(line, config.obsidian), partial(get_vault, name), make_policy(config))
    peer = Peer()
    peer.name, peer.is_person = "command-line", True  # as for ``cli.calling``
    call = {"name": line.command.tool_for(line.given), "arguments": {}}
    answer: Any = handlers.handle(Request(0, "tools/call", call, LATEST_HANDSHAKE, peer), FOR_PROGRAMS)
    if isinstance(answer, Job):
        answer = answer.run(_Waiting())
    if isinstance(answer, Refusal):
        return {"failure": answer.message}
    if answer.failed is not None:
        text = "\n".join(block["text"] for block in answer.value["content"] if block["type"] == "text")
        return {"failure": text.removeprefix(f"{answer.failed}: ")}
    return {"output": answer.value["structuredContent"]["output"]}


def desk_vaults(
    config: Config, get_vault: Callable[[str], Vault], records_of: Callable[[str], RecordStore] | None = None
) -> DeskVaults:
    """Return the vaults as the person reviews them; ``get_vault`` as for ``make_desk``, ``records_of`` as for ``open_vault``.

    The person sees all notes. If the policy hides some, the desk has engines of its own, without the rules for paths.
    """
    loaded = load_policy(config)
    get = get_vault
    if loaded is not None and loaded.paths is not None:
        whole = loaded._replace(paths=None)

        def get(name: str) -> Vault:
            return open_vault(config.for_vault(name), (), whole, records_of)

    openers = {name or os.path.basename(folder) or folder: partial(get, name) for name, folder in config.vaults.items()}
    read_only = make_policy(config, loaded).read_only
    return DeskVaults(openers, partial(_reads_of, config), read_only=read_only)


def _reads_of(config: Config, vault: Vault) -> Records | None:
    """Return the audit log of a vault, None if none is kept."""
    log = config.limits.audit
    if log is None:
        return None
    from vaultwire.trust.audit import records  # noqa: PLC0415 - with the first page, not with every server

    def reads(since: datetime) -> Iterator[dict[str, Any]]:
        """Yield the records of this vault: where there are several, a call names its vault."""
        with contextlib.suppress(OSError):  # a log that is not there, or cannot be read, has none
            for record in records(log, since.timestamp()):
                arguments = record.get("arguments")
                named = arguments.get("vault") if isinstance(arguments, dict) else None
                if named == vault.name or (named is None and len(config.vaults) == 1):
                    yield record

    return reads


def own_vaults(config: Config) -> Vaults:
    """Return the vaults of a command that serves by itself: opened when they are first used, and not watched."""
    loaded = load_policy(config)
    openers = {name: partial(open_vault, config.for_vault(name), (), loaded) for name in config.vaults}
    return Vaults(openers, lambda: None)


# ---------------------------------------------------------------------- where it is


def announce(config: Config, desk: DeskEndpoint, url: str, names: Sequence[str] = ()) -> Announcement:
    """Return what makes ``vaultwire desk`` find a server at this URL; ``names`` are the names that the person gave it."""
    running = Running(desk.access.server, _local_url(url, names), tuple(config.vaults.values()))
    return Announcement(desk_folder(config.state), running)


def new_link(config: Config) -> str | None:
    """Return a link that opens the desk of a running server once, None if none serves these vaults. Raises OSError."""
    running = find(desk_folder(config.state), list(config.vaults.values()))
    return None if running is None else _link_to(config, running.server, running.url)


def is_served(config: Config) -> bool:
    """Tell whether the desk of a running server shows these vaults."""
    return find(desk_folder(config.state), list(config.vaults.values())) is not None


def _link_to(config: Config, server: str, url: str) -> str:
    """Return a link that opens the desk of a server once, within ten minutes. Raises OSError."""
    return f"{url}{PATH}/enter?code={new_code(desk_folder(config.state), server)}"


def _local_url(url: str, names: Sequence[str]) -> str:
    """Return the URL by which a browser of this computer reaches a server. A certificate is for a name, not an address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" and names:
        host = names[0]
    elif host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "localhost" if parts.scheme == "https" else "127.0.0.1"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port}"


# ---------------------------------------------------------------------- a port of its own


class DeskServer:
    """The desk alone, at a port of this computer: for ``vaultwire desk``, and beside the editors' socket."""

    def __init__(self, config: Config, get_vault: Callable[[str], Vault], port: int | None = None) -> None:
        """``get_vault`` returns the run's engine of a vault, by the name that the run gives it.

        ``port``: 0 for any free one, None for the one that the last desk of these vaults had, if it is free. Raises
        ConfigError.
        """
        from vaultwire.desk.running import LastPort  # noqa: PLC0415 - servers that have a desk need none of this
        from vaultwire.transports import guard, http_server, listening  # noqa: PLC0415
        from vaultwire.trust.limits import MAX_MESSAGE_BYTES  # noqa: PLC0415

        self._config = config
        self._desk = make_desk(config, get_vault)
        last = LastPort(desk_folder(config.state), list(config.vaults.values()))
        listener = _listen(last.load() if port is None else port, may_differ=port is None)
        if port is None:
            last.save(listener.getsockname()[1])
        self._url = listening.url(listener, tls=False)
        self._announcement = announce(config, self._desk, self._url)
        door = guard.Door("desk", PATH, self._desk, MAX_MESSAGE_BYTES, needs_key=False)
        names = listening.names(listener)
        rules = guard.Rules(names, any_address=False, origins=(), key_required=False, owner=lambda _: None)
        observer = guard.Observer(log_json=False, metrics=False)
        self.endpoints = [http_server.Endpoint(guard.Guard([door], rules, observer), listener)]

    def begin(self) -> None:
        """Have ``vaultwire desk`` find it."""
        self._announcement.begin()

    async def stop(self) -> None:
        """End all pages."""
        self._desk.close()

    def end(self) -> None:
        """Be found no more."""
        self._announcement.end()

    @property
    def is_open(self) -> bool:
        """Whether the person has the page open."""
        return self._desk.is_open

    def new_link(self) -> str:
        """Return a link that opens the desk once, within ten minutes. Raises OSError."""
        return _link_to(self._config, self._desk.access.server, self._url)


def run_desk(config: Config, port: int | None, on_ready: Callable[[str], None]) -> None:
    """Serve the desk of these vaults until told to end.

    ``port``: as for ``DeskServer``. ``on_ready`` is called with a link to the desk. Raises ConfigError, OSError.
    """
    from vaultwire.app.serving import serve_all  # noqa: PLC0415 - not for those who only ask for a link
    from vaultwire.transports.http_server import Limits  # noqa: PLC0415

    vaults = own_vaults(config)
    service = DeskServer(config, vaults.get, port)
    try:
        serve_all([service], Limits(grace=5), lambda: on_ready(service.new_link()))
    finally:
        vaults.close()


def _listen(port: int, *, may_differ: bool) -> socket.socket:
    from vaultwire.transports import listening  # noqa: PLC0415 - as above

    try:
        return listening.bind("127.0.0.1", port)
    except listening.StartError as error:
        if may_differ and port:
            return _listen(0, may_differ=False)
        raise ConfigError(str(error)) from None
