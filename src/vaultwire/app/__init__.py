"""The composition root: it chooses the parts of a run and connects them. Only it knows which backend and door run.

A part is imported where it is chosen, so that a door answers its first message before the rest is loaded.
"""

from __future__ import annotations

from functools import partial

from vaultwire import __version__
from vaultwire.app.engine import (
    load_descriptions,
    load_policy,
    make_policy,
    narrow_policy,
    open_vault,
    read_guide,
    tool_loader,
)
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.protocol.dialects import DIALECTS, MCP, SECURE, STRUCTURED
from vaultwire.protocol.events import Identity
from vaultwire.protocol.revisions import APPS, SKILL_METHODS, SKILLS, TASK_METHODS, TASKS
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.catalog import PROFILES, WEB, ToolSelection, Toolset, former_name_hint
from vaultwire.tools import instructions
from vaultwire.trust.limits import CONTRACT_RATES, USUAL_RATES, ClientLimits
from vaultwire.trust.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any, Unpack

    from vaultwire.app.editors import EditorServer
    from vaultwire.app.serving import AsgiOptions, HttpApp, Methods, Narrow, NetworkConfig
    from vaultwire.protocol.revisions import Revision
    from vaultwire.remote.store import Folders
    from vaultwire.server.middleware import Middleware
    from vaultwire.toolkit.registry import Description
    from vaultwire.transports.relay.connect import Target
    from vaultwire.vault.changes.record_store import RecordStore
    from vaultwire.vault.vault import Vault


def run_stdio(config: Config) -> None:
    """Serve the vault to the client at stdin and stdout until it is done."""
    from vaultwire.transports import stdio  # noqa: PLC0415 - only this door's own code

    handlers = make_handlers(config)
    stdio.run(session_maker(config, handlers)(None), handlers)


def run_connect(target: Target, say: Callable[[str], None]) -> bool:
    """Relay between the client at stdin and stdout and a server until the client is done; return whether it was reached."""
    from vaultwire.transports import stdio  # noqa: PLC0415 - only this door's own code
    from vaultwire.transports.relay import connect  # noqa: PLC0415

    return connect.run(stdio.open_stream, target, say)


def run_serve(
    config: Config,
    network: NetworkConfig,
    on_ready: Callable[..., None],
    on_editor: Callable[[str, int, str, int], None] | None = None,
    on_waiting: Callable[[str, str], None] = lambda _path, _page: None,
    companions: Collection[str] = (),
    on_running: Callable[[str, str], None] = lambda _vault, _page: None,
) -> None:
    """Serve the vault over HTTP until told to end, as ``NetworkServer``.

    ``on_editor``: also be an editor to clients on this computer; called as ``on_ready`` of ``editors.run_ide``.
    ``on_waiting``, ``companions`` and ``on_running``: as in ``editors.open_editors``.
    """
    # After the first answer of the other doors, here and below.
    from vaultwire.app.desk import announce, make_desk  # noqa: PLC0415
    from vaultwire.app.serving import NetworkServer, serve_all  # noqa: PLC0415
    from vaultwire.transports.http_server import Limits  # noqa: PLC0415

    if network.database is not None:
        from vaultwire.app.shared_serving import SharedServer  # noqa: PLC0415 - an extra

        if on_editor is not None:
            raise ConfigError(
                "--ide and --database exclude each other: an editor finds --ide by a file on its own computer, and any "
                "of several servers may answer. Leave --ide out: assistants in editors use this server by its address, "
                "as all others do"
            )

        def make_methods(records_of: Callable[[str], RecordStore]) -> tuple[Methods, Narrow]:
            handlers, narrow = make_run(config, network, records_of)
            return (handlers, session_maker(config, handlers)), narrow

        serve_all([SharedServer(config, network, make_methods, on_ready)], Limits())
        return
    handlers, narrow = make_run(config, network)
    editors: Sequence[EditorServer] = ()
    if on_editor is not None:
        from vaultwire.app.editors import open_editors  # noqa: PLC0415 - only where it is asked for

        has_desk = network.desk
        editors = open_editors(config, on_waiting, companions, on_running=on_running, has_desk=has_desk)

    def tell_editors() -> None:
        for editor in editors:
            assert on_editor is not None
            on_editor(editor.root, editor.port, editor.url, editor.companion_port)

    desk = make_desk(config, handlers.vaults.get) if network.desk else None
    named = None if desk is None else partial(announce, config, desk, names=network.allow_host)
    new_session = session_maker(config, handlers)
    service = NetworkServer(handlers, new_session, network, on_ready, (desk, named), narrow)
    serve_all([service, *editors], Limits(), tell_editors)


def asgi(vault: str | Sequence[str] | None = None, **options: Unpack[AsgiOptions]) -> HttpApp:
    """Return the doors of ``serve`` as an ASGI app, for any ASGI server, by itself or mounted below a path.

    ``vault`` and ``options`` are those of ``vaultwire serve`` by keyword; the environment variables count, too. A key is
    needed unless ``require_key=False``: the app cannot tell who reaches the server. Raises ConfigError.
    """
    # Only this door's own code, here and below.
    from vaultwire.app.serving import APP_SETTINGS, Address, HttpApp, make_network_config  # noqa: PLC0415
    from vaultwire.transports import guard, listening  # noqa: PLC0415

    given: dict[str, Any] = {"require_key": True, "desk": False, **options}
    for_network = {name: given.pop(name) for name in given.keys() & APP_SETTINGS}
    config = make_config(vault, **given)
    network = make_network_config(config, **for_network)
    handlers, narrow = make_run(config, network)
    observer = guard.Observer(log_json=network.log_json, metrics=network.metrics)
    address = Address(listening.local_names(*network.allow_host), any_address=False, is_local=True, url=None)
    desk = None
    if network.desk:
        from vaultwire.app.desk import make_desk  # noqa: PLC0415 - only where it is asked for

        desk = make_desk(config, handlers.vaults.get)
    return HttpApp(handlers, session_maker(config, handlers), network, address, observer, desk, narrow)


def session_maker(config: Config, handlers: Handlers) -> Callable[[Revision | None], Session]:
    """Return what makes the protocol state: of a handshake to come, or of requests at a fixed revision."""
    dialect = DIALECTS[config.dialect]
    identity = Identity(
        name="vaultwire",
        title="Vaultwire",
        version=__version__,
        capabilities={
            "completions": {},
            "logging": {},
            "prompts": {"listChanged": False},
            "resources": {"listChanged": True, "subscribe": True},
            "tools": {"listChanged": False},
        },
        instructions=lambda peer: instructions(
            handlers.listed_to(peer),
            read_only=handlers.read_only,
            vaults=handlers.vaults.names,
            guide=handlers.guide,
        ),
        extensions={APPS: {}} if dialect.is_contract else {APPS: {}, SKILLS: {}, TASKS: {}},
    )
    if config.structured and dialect is MCP:
        dialect = STRUCTURED
    methods = handlers.methods.difference((*SKILL_METHODS, *TASK_METHODS) if dialect.is_contract else ())
    return lambda revision: Session(identity, methods, dialect, revision)


def make_handlers(config: Config, toolset: Toolset | None = None) -> Handlers:
    """Return the methods of this run, over its tools and vaults; ``toolset``: over these tools instead."""
    return make_run(config, toolset=toolset)[0]


def make_run(
    config: Config,
    network: NetworkConfig | None = None,
    records_of: Callable[[str], RecordStore] | None = None,
    toolset: Toolset | None = None,
) -> tuple[Handlers, Narrow]:
    """Return the methods of this run, and what returns the same for clients that see some folders only.

    These get engines of their own, whose rules hide all else: so nothing outside is in a count, a rank, a link or a hint.
    ``network``: where the run is served, if it is. ``records_of``: as for ``open_vault``.
    ``toolset``: as for ``make_handlers``.
    """
    loaded = load_policy(config)
    policy = make_policy(config, loaded)
    limits = config.limits
    without = limits.without_tools if policy.hosts else (*limits.without_tools, WEB)
    selection = ToolSelection(limits.size, limits.with_tools, without, limits.profile)
    is_contract = DIALECTS[config.dialect].is_contract

    def descriptions() -> list[Description]:
        declared = [each for each in load_descriptions(config, loaded) if selection.has(each["name"])]
        # A contract has its own words for what these do.
        return [each for each in declared if not (is_contract and each["listed"] in PROFILES)]

    public_url = "" if network is None or network.public is None else network.public.url
    toolset = toolset or Toolset(descriptions, tool_loader(config, policy, public_url))
    if limits.are_any:
        _check_limits(limits, bool(policy.hosts), load_descriptions(config, loaded))
    middleware = _make_middleware(config, policy)
    most = DIALECTS[config.dialect].most_seconds
    seconds = {name: given if most is None else min(given, most) for name, given in limits.seconds.items()}

    def guide() -> str:
        # A run with a policy may not see all notes, or not all its clients may: there the guide is given by a call only.
        return read_guide(config) if loaded is None and selection.has("read_note") else ""

    def make(folders: Folders = ()) -> Handlers:
        names = [name for name in config.vaults if not folders or any(vault == name for vault, _ in folders)]
        openers: dict[str, Callable[[], Vault]] = {
            name: partial(
                open_vault,
                config.for_vault(name),
                [other for other in names if other != name],
                narrow_policy(loaded, [path for vault, path in folders if vault == name]),
                records_of,
            )
            for name in names
        }
        return Handlers(
            toolset,
            openers,
            policy,
            seconds,
            config.prompts,
            middleware=middleware,
            lists=selection.lists,
            read_guide=str if folders else guide,
            skills_folder=config.skills_folder,
        )

    def narrow(folders: Folders) -> Methods:
        handlers = make(folders)
        return handlers, session_maker(config, handlers)

    return make(), narrow


def _check_limits(limits: ClientLimits, has_hosts: bool, tools: Sequence[Description]) -> None:
    """Raise ConfigError for names of unknown tools, and for a missing package."""
    from importlib.util import find_spec  # noqa: PLC0415 - only where there are limits, here and below

    from vaultwire.trust.limits import CHANGES, EACH, TOTAL  # noqa: PLC0415

    known_tools = {tool["name"] for tool in tools}
    listed = known_tools.difference(limits.without_tools, () if has_hosts else (WEB,))
    for option, names, known in (
        ("--no-tool", limits.without_tools, known_tools),
        ("--tool", limits.with_tools, listed),
        ("--rate", limits.rates or (), {*known_tools, TOTAL, EACH, CHANGES}),
    ):
        for name in names:
            if name not in known:
                raise ConfigError(f"{option}: there is no tool {name!r} in this run{former_name_hint(name)}")
    if limits.hosts and find_spec("ddgs") is None:
        from vaultwire.installation import how_to_add  # noqa: PLC0415

        raise ConfigError(f"--allow-web needs packages that are not installed. To add them: {how_to_add('web')}")


def _make_middleware(config: Config, policy: Policy) -> Middleware | None:
    """Return the middleware of this run, which every request passes; None if there are no limits."""
    rates = CONTRACT_RATES if config.dialect == SECURE.name else USUAL_RATES if policy.hosts else {}
    limits = config.limits
    if not rates and not limits.are_any:
        return None
    from vaultwire.server.middleware import make_middleware  # noqa: PLC0415 - only where there are limits

    try:
        return make_middleware(limits, _complain, rates=rates)
    except OSError as error:
        raise ConfigError(f"cannot write the audit log {limits.audit}: {error.strerror}") from None


def _complain(message: str) -> None:
    import sys  # noqa: PLC0415 - used only here

    if sys.stderr is not None:
        sys.stderr.write(f"vaultwire: {message}\n")
