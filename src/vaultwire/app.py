"""The composition root: chooses the parts of a run and connects them. Nothing else knows which backend or door runs.

What a part needs is imported where it is chosen, so that a door answers its first message before the rest is loaded.
"""

from __future__ import annotations

from vaultwire import __version__
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.tools.catalog import Toolset, load_catalog
from vaultwire.tools.instructions import instructions
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_MESSAGE_BYTES, MAX_NOTE_BYTES
from vaultwire.trust.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vaultwire.config import Config, Serving
    from vaultwire.protocol.revisions import Revision
    from vaultwire.tools.registry import AnyTool
    from vaultwire.transports.http_server import Limits
    from vaultwire.vault.changes.change import JournalReport
    from vaultwire.vault.files import Files
    from vaultwire.vault.model import IndexReport
    from vaultwire.vault.store.stored_index import StoredIndex
    from vaultwire.vault.store.text import TextIndex
    from vaultwire.vault.survey import Fingerprint, Survey
    from vaultwire.vault.vault import Vault


def run_stdio(config: Config) -> None:
    """Serve the vault to the client at stdin and stdout until it is done."""
    from vaultwire.transports import stdio  # noqa: PLC0415 - only this door's own code

    handlers = make_handlers(config)
    stdio.run(make_session(config, handlers), handlers)


def run_serve(config: Config, serving: Serving, on_ready: Callable[..., None]) -> None:
    """Serve the vault over HTTP until told to end. As ``serve_http``."""
    from functools import partial  # noqa: PLC0415 - after the first answer of the other doors

    from vaultwire.transports.http_server import Limits  # noqa: PLC0415 - only this door's own code

    handlers = make_handlers(config)
    serve_http(handlers, partial(make_session, config, handlers), serving, on_ready, Limits())


def serve_http(
    handlers: Handlers,
    new_session: Callable[[Revision | None], Session],
    serving: Serving,
    on_ready: Callable[..., None],
    limits: Limits,
) -> None:
    """Open the network doors over these methods until told to end. Raises ConfigError where they cannot be.

    ``new_session`` returns the protocol state of a handshake to come, or of requests at a fixed revision.

    ``on_ready`` is called with the server's URL once it answers, and with ``in_the_open=True`` if what it says can be read
    on the way.
    """
    from functools import partial  # noqa: PLC0415 - only this door's own code, here and below

    from vaultwire.config import ConfigError  # noqa: PLC0415
    from vaultwire.server.one_shot import Tending, ask  # noqa: PLC0415
    from vaultwire.server.workers import Workers  # noqa: PLC0415
    from vaultwire.transports import guard, http_server, observing, openapi, rest, streamable_http  # noqa: PLC0415
    from vaultwire.trust.keys import Keys  # noqa: PLC0415

    keys = Keys(serving.keys)
    try:
        tls = None if serving.tls_cert is None else http_server.make_tls(serving.tls_cert, serving.tls_key)
        listener = http_server.bind(serving.host, serving.port)
    except http_server.StartError as error:
        raise ConfigError(str(error)) from None
    is_local = http_server.is_loopback(listener)
    try:
        has_keys = bool(keys.all())
    except OSError as error:
        raise ConfigError(f"cannot read the keys in {serving.keys}: {error.strerror}") from None
    if (serving.needs_key or not is_local) and not has_keys:
        why = "there is none" if is_local else f"other computers can reach {serving.host}"
        raise ConfigError(f"a key is needed and {why}: issue one with vaultwire keys issue NAME")

    workers = Workers(handlers)
    tending = Tending(handlers)
    observer = observing.Observer(log_json=serving.log_json, metrics=serving.metrics)

    mcp = streamable_http.make_app(workers, new_session, guard.KEY_NAME)
    doors = [
        guard.Door("mcp", "/mcp", mcp, MAX_MESSAGE_BYTES),
        guard.Door("health", "/health", observing.answer_health, 0, needs_key=False),
        guard.Door(
            "v1",
            rest.ROOT,
            rest.Rest(partial(ask, workers), openapi.to_document, guard.KEY_NAME),
            rest.MAX_BODY_BYTES,
            for_any_page=guard.EVERYTHING if serving.any_origin else guard.READING,
        ),
    ]
    if serving.metrics:
        doors.append(guard.Door("metrics", "/metrics", observer.page, 0))
    rules = guard.Rules(
        names=http_server.names(listener, serving.host, *serving.names),
        any_address=http_server.is_any_address(listener),
        origins=serving.origins,
        key_required=serving.needs_key or not is_local,
        owner=keys.owner,
    )

    def begin() -> None:
        tending.begin()
        on_ready(http_server.url(listener, tls=tls is not None), in_the_open=tls is None and not is_local)

    async def stop() -> None:
        mcp.close()

    try:
        http_server.run(guard.Guard(doors, rules, observer), listener, tls, begin, stop, limits)
    finally:
        tending.end()


def make_session(config: Config, handlers: Handlers, revision: Revision | None = None) -> Session:
    """Return the protocol state of a new connection, or of requests at a fixed revision."""
    identity = Identity(
        name="vaultwire",
        title="Vaultwire",
        version=__version__,
        capabilities={
            "completions": {},
            "logging": {},
            "prompts": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
            "tools": {"listChanged": False},
        },
        instructions=instructions(read_only=config.read_only),
    )
    return Session(identity, handlers.methods, revision=revision)


def make_handlers(config: Config) -> Handlers:
    """Return the methods served, over our own tools and the vault of this run."""
    toolset = Toolset(load_catalog, load_tools)
    return Handlers(toolset, lambda: open_vault(config), make_policy(config), prompts_folder=config.prompts)


def make_policy(config: Config) -> Policy:
    """Return what the person allows in this run."""
    return Policy(read_only=config.read_only)


def open_vault(config: Config) -> Vault:
    """Return the engine over the vault of this run."""
    from datetime import datetime  # noqa: PLC0415 - after the first answer

    from vaultwire.vault.changes.changing import Changes  # noqa: PLC0415
    from vaultwire.vault.settings import KeptSettings  # noqa: PLC0415
    from vaultwire.vault.vault import Vault  # noqa: PLC0415
    from vaultwire.vault.workbench import Workbench  # noqa: PLC0415

    files = _open_files(config)
    index = open_index(files, config.cache)
    bench = Workbench(
        files,
        index,
        KeptSettings(files.root),
        Changes(files, index, config.state, settles=not config.read_only),
        now=datetime.now,
        max_attachment_bytes=MAX_ATTACHMENT_BYTES,
        read_first=config.read_first,
    )
    return Vault(bench)


def open_index(files: Files, cache: str | None) -> StoredIndex:
    """Return the index over a vault's files, kept in the cache folder; in memory, if that is None."""
    from vaultwire.vault.excludes import KeptExcludes  # noqa: PLC0415 - after the first answer
    from vaultwire.vault.settings import KeptSettings  # noqa: PLC0415
    from vaultwire.vault.store.home import Home  # noqa: PLC0415
    from vaultwire.vault.store.stored_index import StoredIndex  # noqa: PLC0415

    home = Home(files.root, cache, _text_backend())
    return StoredIndex(files, home, KeptExcludes(files.root, KeptSettings(files.root)).get)


def _text_backend() -> Callable[[str | None], TextIndex]:
    try:
        from vaultwire.vault.store.tantivy_text import TantivyText  # noqa: PLC0415
    except ImportError:  # no wheel for this system
        from vaultwire.vault.store.fts5_text import Fts5Text  # noqa: PLC0415

        return Fts5Text
    return TantivyText


def survey_vault(config: Config) -> Survey:
    """Return what the vault holds and what is odd in it; reads every note."""
    from vaultwire.vault.excludes import KeptExcludes  # noqa: PLC0415 - for doctor only
    from vaultwire.vault.settings import KeptSettings  # noqa: PLC0415
    from vaultwire.vault.survey import survey  # noqa: PLC0415

    files = _open_files(config)
    settings = KeptSettings(files.root)
    return survey(files, [*settings.get().problems, *KeptExcludes(files.root, settings).get().problems])


def examine_index(config: Config) -> IndexReport:
    """Return how the vault's index is kept, brought up to date first."""
    files = _open_files(config)
    index = open_index(files, config.cache)
    try:
        return index.report()
    finally:
        index.close()


def examine_journal(config: Config) -> JournalReport:
    """Return how the journal of the vault's changes is kept."""
    from vaultwire.vault.changes.changing import Changes  # noqa: PLC0415 - for doctor only

    files = _open_files(config)
    index = open_index(files, None)
    try:
        return Changes(files, index, config.state, settles=False).report()
    finally:
        index.close()


def fingerprint_vault(config: Config) -> Fingerprint:
    """Return a fingerprint over every byte in the vault's folder."""
    from vaultwire.vault.survey import fingerprint  # noqa: PLC0415 - for the demo only

    return fingerprint(_open_files(config))


def _open_files(config: Config) -> Files:
    from vaultwire.vault.files import Files  # noqa: PLC0415 - after the first answer

    return Files(config.vault, MAX_NOTE_BYTES)


def load_tools() -> Sequence[AnyTool]:
    """Return our own tools in the order in which clients see them."""
    from vaultwire.tools import (  # noqa: PLC0415 - after the first answer
        arranging,
        daily,
        find,
        graph,
        history,
        making,
        notes,
        overview,
        reading,
        revising,
        search,
        structure,
    )

    return (
        search.search_notes,
        find.find_notes,
        notes.list_notes,
        reading.read_note,
        reading.read_many,
        daily.daily_note,
        notes.write_note,
        notes.delete_note,
        search.search_by_tags,
        structure.get_outline,
        structure.list_links,
        structure.list_backlinks,
        graph.graph,
        structure.list_tags,
        structure.recent_notes,
        overview.list_properties,
        overview.list_tasks,
        overview.vault_stats,
        revising.edit_note,
        revising.set_properties,
        revising.remove_properties,
        making.create_note,
        making.append_daily_note,
        making.insert_template,
        making.add_attachment,
        arranging.move_note,
        arranging.rename_heading,
        arranging.rename_tag,
        arranging.rename_property,
        arranging.merge_notes,
        arranging.extract_section,
        history.list_changes,
        history.show_change,
        history.undo_change,
        history.restore_note,
    )
