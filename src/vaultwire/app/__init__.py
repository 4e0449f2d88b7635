"""The composition root: chooses the parts of a run and connects them. Nothing else knows which backend or door runs.

What a part needs is imported where it is chosen, so that a door answers its first message before the rest is loaded.
"""

from __future__ import annotations

import functools
import os

from vaultwire import __version__
from vaultwire.app.engine import (
    load_descriptions,
    load_family,
    load_first_tools,
    load_policy,
    load_tools,
    make_policy,
    open_vault,
)
from vaultwire.protocol.dialects import DIALECTS, SECURE
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.toolkit.catalog import Toolset
from vaultwire.toolkit.sets import WEB, Choice
from vaultwire.tools.instructions import instructions
from vaultwire.trust.limits import (
    CONTRACT_RATES,
    USUAL_RATES,
    Restraints,
)
from vaultwire.trust.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Unpack

    from vaultwire.app.http_app import AsgiOptions, HttpApp
    from vaultwire.config import Config, Serving
    from vaultwire.protocol.revisions import Revision
    from vaultwire.server.gate import Gate
    from vaultwire.toolkit.registry import Description
    from vaultwire.transports.relay.relaying import Target
    from vaultwire.trust.policy_file import LoadedPolicy
    from vaultwire.vault.vault import Vault


def run_stdio(config: Config, *, standalone: bool = False) -> None:
    """Serve the vault to the client at stdin and stdout until it is done, with the help of a running server if there is one.

    ``standalone``: without.
    """
    from vaultwire.transports import stdio  # noqa: PLC0415 - only this door's own code

    handlers = make_handlers(config)
    session = make_session(config, handlers)
    try:
        may_run = bool(os.listdir(config.meetings))
    except OSError:
        may_run = False
    if standalone or not may_run:
        stdio.run(session, handlers)
        return
    from vaultwire.transports import meeting  # noqa: PLC0415 - where there may be one, here and below
    from vaultwire.transports.relay import borrowing  # noqa: PLC0415

    def offered() -> list[Description]:
        return load_descriptions(config, load_policy(config))

    borrowing.run(stdio.open_stream(), session, handlers, lambda: meeting.find(_meeting_place(config)), offered)


def _meeting_place(config: Config) -> str | None:
    from vaultwire.transports import meeting  # noqa: PLC0415 - after the first answer

    settings = {name: getattr(config, name) for name in config.__slots__}
    return meeting.place(config.meetings, settings, config.policy)


def run_connect(target: Target, say: Callable[[str], None]) -> None:
    """Relay between the client at stdin and stdout and a server until the client is done."""
    from vaultwire.transports import stdio  # noqa: PLC0415 - only this door's own code
    from vaultwire.transports.relay import relaying  # noqa: PLC0415

    relaying.run(stdio.open_stream, target, say)


def run_serve(
    config: Config,
    serving: Serving,
    on_ready: Callable[..., None],
    on_editor: Callable[[str, int, str, int], None] | None = None,
    on_waiting: Callable[[str, str], None] = lambda _path, _page: None,
    companions: Collection[str] = (),
) -> None:
    """Serve the vault over HTTP until told to end. As ``serve_http``.

    ``on_editor``: be an editor to clients on this computer besides (``editors.run_ide``); called as its ``on_ready`` is.
    ``on_waiting`` and ``companions``: as there.
    """
    from contextlib import ExitStack  # noqa: PLC0415 - after the first answer of the other doors, here and below
    from functools import partial  # noqa: PLC0415

    from vaultwire.app.network import serve_http  # noqa: PLC0415
    from vaultwire.transports import meeting  # noqa: PLC0415 - only this door's own code
    from vaultwire.transports.http_server import Limits  # noqa: PLC0415

    handlers = make_handlers(config)
    met = meeting.listen(_meeting_place(config))
    with ExitStack() as at_the_end:
        if met is not None:
            at_the_end.callback(met.close)
        doors = []
        if on_editor is not None:
            from vaultwire.app.editors import open_editors  # noqa: PLC0415 - only where it is asked for

            doors = open_editors(config, on_waiting, None, opens_browser=True, companions=companions)

        def begin(url: str, **how: bool) -> None:
            on_ready(url, **how)
            for door in doors:
                at_the_end.callback(door.end)
                door.begin()
                assert on_editor is not None
                on_editor(door.root, door.port, door.url, door.companion_port)

        serve_http(handlers, partial(make_session, config, handlers), serving, begin, Limits(), met)


def asgi(vault: str | Sequence[str] | None = None, **options: Unpack[AsgiOptions]) -> HttpApp:
    """Return the doors of ``serve`` as an ASGI app, for any ASGI server, by itself or mounted below a path.

    ``vault`` and ``options`` are those of ``vaultwire serve`` by keyword; the environment variables count, too. A key is
    needed unless ``require_key=False``: the app cannot tell who reaches the server. Raises ConfigError.
    """
    from functools import partial  # noqa: PLC0415 - only this door's own code, here and below

    from vaultwire.app.http_app import Address, HttpApp, split_options  # noqa: PLC0415
    from vaultwire.config import make_config, make_serving  # noqa: PLC0415
    from vaultwire.transports import listening, observing  # noqa: PLC0415

    for_config, for_serving = split_options(options)
    config = make_config(vault, **for_config)
    serving = make_serving(config, **for_serving)
    handlers = make_handlers(config)
    observer = observing.Observer(log_json=serving.log_json, metrics=serving.metrics)
    address = Address(listening.local_names(*serving.names), any_address=False, is_local=True, url=None)
    return HttpApp(handlers, partial(make_session, config, handlers), serving, address, observer)


def make_session(config: Config, handlers: Handlers, revision: Revision | None = None) -> Session:
    """Return the protocol state of a new connection, or of requests at a fixed revision."""
    return Session(_identity(config, handlers), handlers.methods, DIALECTS[config.dialect], revision)


@functools.lru_cache(maxsize=1)  # the same for all of them, and over HTTP many requests have a session of their own
def _identity(config: Config, handlers: Handlers) -> Identity:
    return Identity(
        name="vaultwire",
        title="Vaultwire",
        version=__version__,
        capabilities={
            "completions": {},
            "logging": {},
            "prompts": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
            "tools": {"listChanged": _choice(config).can_grow},
        },
        instructions=instructions(read_only=handlers.read_only, vaults=tuple(config.vaults)),
        stateless={"tools": {"listChanged": False}},  # it grows for one session
    )


def make_handlers(config: Config) -> Handlers:
    """Return the methods served, over our own tools and the vaults of this run."""
    loaded = load_policy(config)
    policy = make_policy(config, loaded)
    choice = _choice(config, policy)
    toolset = Toolset(
        lambda: [each for each in load_descriptions(config, loaded) if choice.has(each["name"])],
        lambda: [*load_tools(policy.may_reach), *load_family(config)],
        load_first_tools,
    )
    openers = {name: _opener(config, name, loaded) for name in config.vaults}
    asked = config.restraints or Restraints()
    if config.restraints is not None:
        _check_restraints(asked, bool(policy.hosts), load_descriptions(config, loaded))
    gate = _make_gate(config, policy)
    most = DIALECTS[config.dialect].most_seconds
    seconds = {name: given if most is None else min(given, most) for name, given in asked.seconds.items()}
    return Handlers(toolset, openers, policy, seconds, config.prompts, gate=gate, lists=choice.lists)


def _choice(config: Config, policy: Policy | None = None) -> Choice:
    """Return which tools there are in this run, and which of them are listed."""
    asked = config.restraints or Restraints()
    without = asked.without_tools if policy is None or policy.hosts else (*asked.without_tools, WEB)
    return Choice(asked.size, asked.with_tools, without)


def _check_restraints(asked: Restraints, has_hosts: bool, tools: Sequence[Description]) -> None:
    """Raise ConfigError for what was asked of tools that are not there, and of packages."""
    from importlib.util import find_spec  # noqa: PLC0415 - only where something was asked for, here and below

    from vaultwire.config import ConfigError  # noqa: PLC0415
    from vaultwire.trust.rates import CHANGES, EACH, TOTAL  # noqa: PLC0415

    there = {tool["name"] for tool in tools}
    listed = there.difference(asked.without_tools, () if has_hosts else (WEB,))
    for option, names, known in (
        ("--no-tool", asked.without_tools, there),
        ("--tool", asked.with_tools, listed),
        ("--rate", asked.rates or (), {*there, TOTAL, EACH, CHANGES}),
    ):
        for name in names:
            if name not in known:
                raise ConfigError(f"{option}: there is no tool {name!r} in this run")
    if asked.hosts and find_spec("ddgs") is None:
        raise ConfigError("--allow-web needs packages that are not here: pip install 'vaultwire[web]'")


def _make_gate(config: Config, policy: Policy) -> Gate | None:
    """Return what every request passes in this run, None if nothing is asked of them."""
    rates = CONTRACT_RATES if config.dialect == SECURE.name else USUAL_RATES if policy.hosts else {}
    if config.restraints is None and not rates:
        return None
    from vaultwire.server.gate import make_gate  # noqa: PLC0415 - only where there is one

    asked = config.restraints or Restraints()
    try:
        return make_gate(asked, _complain, rates=rates)
    except OSError as error:
        from vaultwire.config import ConfigError  # noqa: PLC0415 - for this message only

        raise ConfigError(f"cannot write the audit log {asked.audit}: {error.strerror}") from None


def _complain(message: str) -> None:
    import sys  # noqa: PLC0415 - loaded already, and wanted here only

    if sys.stderr is not None:
        sys.stderr.write(f"vaultwire: {message}\n")


def _opener(config: Config, name: str, loaded: LoadedPolicy | None) -> Callable[[], Vault]:
    return lambda: open_vault(config.alone(name), [other for other in config.vaults if other != name], loaded)
