"""The commands that serve: ``stdio``, ``serve``, ``service``, ``connect`` and ``desk``. Their options, and what they print."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from urllib.parse import urlsplit

from vaultwire import app, distribution, installation
from vaultwire.cli import editors, run_options, serve_stdio
from vaultwire.cli.command import HISTORY, SERVERS, command
from vaultwire.cli.remote import check_beside
from vaultwire.cli.terminal import complain, say, say_data
from vaultwire.config import (
    CACHE_VARIABLE,
    DATABASE_VARIABLE,
    OBSIDIAN_VARIABLE,
    STATE_VARIABLE,
    Config,
    ConfigError,
    keys_folder,
    make_config,
    state_folder,
)
from vaultwire.desk.access import sign_out
from vaultwire.desk.running import desk_folder
from vaultwire.transports import listening
from vaultwire.trust.keys import Keys
from vaultwire.trust.tokens import Trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.app.serving import NetworkConfig
    from vaultwire.service import Job, Plan
    from vaultwire.transports.relay.connect import Target


# A URL that can be quoted in a header; without user, query and fragment.
_URL = re.compile(r"https?://[A-Za-z0-9._~:\[\]-]+(/[!$-;=@-\[\]_a-z~]*)?")
_HERE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)")
_SCOPE = re.compile(r"[!#-\[\]-~]+")  # RFC 6749, 3.3


def _add_stdio(parser: argparse.ArgumentParser) -> None:
    run_options.add_all(parser)
    parser.add_argument(
        run_options.IGNORED, action="store_true", help="has no effect any more: stdio is always on its own"
    )


@command(  # its work is in ``cli``, which loads nothing that the first answer does not need
    "stdio",
    SERVERS,
    "serve a vault to an MCP client over stdin and stdout",
    "vaultwire stdio --vault ~/Notes --read-only",
    options=_add_stdio,
)
def _run_stdio(options: argparse.Namespace) -> int:
    return serve_stdio(**run_options.read_all(options))


def add_serve(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run, and those of the network."""
    run_options.add_all(parser)
    address = parser.add_argument_group("address")
    address.add_argument("--port", type=int, default=3000, help="port to listen on (3000); 0 for any free one")
    address.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this computer only)")
    run_options.add_list(address, "--allow-host", "NAME", "further name of this server; may be given more than once")
    _add_callers(parser)
    tls = parser.add_argument_group("TLS")
    tls.add_argument("--tls-cert", metavar="FILE", help="certificate chain, PEM: serve over TLS")
    tls.add_argument("--tls-key", metavar="FILE", help="key of the certificate, PEM, if it is not in the same file")
    others = parser.add_argument_group("the desk, and further clients")
    others.add_argument(
        "--no-desk",
        action="store_false",
        dest="desk",
        help="do not serve the desk, the page for you (see vaultwire desk)",
    )
    others.add_argument("--ide", action="store_true", help="also connect Claude Code as its editor (see vaultwire ide)")
    editors.add_companions(others)
    shared = parser.add_argument_group("several servers for the same vaults (docs/teams.md)")
    shared.add_argument(
        "--database",
        metavar="URL",
        help=f"share the vaults with other servers through this PostgreSQL (or set {DATABASE_VARIABLE})",
    )
    shared.add_argument(
        "--replica-url",
        metavar="URL",
        help="where the other servers reach this one, such as http://10.0.0.7:3000 (where it listens)",
    )
    shared.add_argument(
        "--lease-seconds",
        type=int,
        default=15,
        metavar="SECONDS",
        help="after so long without a sign of this server another one takes its vaults (15)",
    )
    watching = parser.add_argument_group("logs and metrics")
    watching.add_argument("--metrics", action="store_true", help="serve metrics for Prometheus at /metrics")
    watching.add_argument("--log-json", action="store_true", help="print a JSON line on stderr for each request")
    watching.add_argument("--log-file", metavar="LOG", help="append to this file what would go to stdout and stderr")


def _add_callers(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who may call."""
    callers = parser.add_argument_group("web pages, keys and tokens")
    run_options.add_list(
        callers,
        "--allow-origin",
        "ORIGIN",
        "let web pages of this origin call, such as https://example.org; may be given more than once",
    )
    callers.add_argument(
        "--cors-any-origin", action="store_true", help="let every web page call the REST API, as its contract says"
    )
    callers.add_argument(
        "--require-key", action="store_true", help="ask for a key also on this computer (see vaultwire keys)"
    )
    callers.add_argument("--oauth-issuer", metavar="URL", help="accept access tokens of this OAuth 2.1 server")
    callers.add_argument(
        "--oauth-resource",
        metavar="URL",
        help="URL of this server for clients, such as https://notes.example.org/mcp",
    )
    callers.add_argument(
        "--oauth-audience", metavar="NAME", help="audience that tokens must have, if it is not that URL"
    )
    run_options.add_list(callers, "--oauth-scope", "SCOPE", "scope that a token must have; may be given more than once")
    public = parser.add_argument_group("people who sign in, from claude.ai, ChatGPT or a phone (docs/remote.md)")
    public.add_argument(
        "--public-url",
        metavar="URL",
        help="URL of this server for everybody, such as https://notes.example.org: people sign in here (vaultwire people)",
    )
    run_options.add_list(
        public, "--client-host", "HOST", "also know the clients of this host; may be given more than once"
    )
    public.add_argument(
        "--connector", action="store_true", help="also serve connector addresses (vaultwire grants connector)"
    )


@command(
    "serve",
    SERVERS,
    "serve a vault to clients over HTTP: MCP and a REST API",
    "vaultwire serve --vault ~/Notes --port 3000",
    options=add_serve,
)
def serve(options: argparse.Namespace) -> int:
    """Serve until told to end; return the exit code. Raises ConfigError."""
    config = make_config(**run_options.read_all(options))
    network = network_config(config, options)

    def on_ready(url: str, *, in_the_open: bool) -> None:
        if in_the_open:
            complain("without TLS, others can read keys and notes on their way (see --tls-cert)")
        hint = " (to see what assistants change: vaultwire desk)" if network.desk else ""
        say(f"vaultwire serves {', '.join(config.vault_options)}{hint} at {url}/mcp", flush=True)
        if network.public is not None:
            say(f"People who sign in reach it at {network.public.url}/mcp (docs/remote.md)", flush=True)
            check_beside(network.public.url)

    if options.log_file is not None:
        _log_to(options.log_file)
    companions = editors.companions(options)
    if companions and not options.ide:
        raise ConfigError(f"--{companions[0]} needs --ide")
    on_editor = editors.make_on_ready(companions) if options.ide else None
    app.run_serve(config, network, on_ready, on_editor, editors.announce, companions, editors.say_running)
    return 0


def network_config(config: Config, options: argparse.Namespace) -> NetworkConfig:
    """Return the settings that the options of the network doors give. Raises ConfigError."""
    from vaultwire.app.serving import NetworkConfig, make_network_config  # noqa: PLC0415 - loads all transports

    values = {name: value for name, value in vars(options).items() if name in NetworkConfig._fields}
    values |= {name: getattr(options, name) for name in ("public_url", "client_host", "connector")}
    values["database"] = options.database or os.environ.get(DATABASE_VARIABLE) or None
    return make_network_config(config, oauth=_oauth(options), **values)


def _log_to(path: str) -> None:
    """Append what is printed from now on to a file. Raises ConfigError."""
    try:
        # It stays open until the process ends. Line by line, so that a reader sees what has happened.
        log = open(os.path.expanduser(path), "a", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    except OSError as error:
        raise ConfigError(f"cannot write the log {path}: {error.strerror}") from None
    sys.stdout = sys.stderr = log


def _oauth(options: argparse.Namespace) -> Trusted | None:
    """Return the issuer whose access tokens are accepted, None for none. Raises ConfigError."""
    issuer, resource, scopes = options.oauth_issuer, options.oauth_resource, tuple(options.oauth_scope)
    if issuer is None:
        if resource or options.oauth_audience or scopes:
            raise ConfigError("--oauth-resource, --oauth-audience and --oauth-scope need --oauth-issuer")
        return None
    if not _URL.fullmatch(issuer) or not (issuer.startswith("https:") or _HERE.match(issuer)):
        raise ConfigError(f"--oauth-issuer takes a URL such as https://id.example.org, without ? and #, got {issuer!r}")
    if resource is not None and not _URL.fullmatch(resource):
        right = "the URL of this server for clients, such as https://notes.example.org/mcp"
        raise ConfigError(f"--oauth-resource takes {right}, got {resource!r}")
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise ConfigError(f"--oauth-scope takes one scope without spaces and quotes, got {scope!r}")
    return Trusted(issuer, resource, options.oauth_audience, scopes)


# ---------------------------------------------------------------------- service

SYSTEMS = ("systemd", "launchd", "task-scheduler")
_OF_PLATFORM = {"darwin": "launchd", "win32": "task-scheduler"}
# Addresses at which a server listens everywhere, and the one of them that this computer can call.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not listened at


def _add_service(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    for name, text in (
        ("install", "install it, or change its options, and start it; it also starts at each login"),
        ("print", "show the file and the commands of install, and change nothing"),
    ):
        action = actions.add_parser(name, help=text)
        add_serve(action)
        action.add_argument(
            "--no-sandbox", action="store_true", help="let it write wherever you may write (systemd only)"
        )
        _add_system(action)
        if name == "install":
            _add_force(action)
            action.add_argument("--dry-run", action="store_true", help="do the same as print: change nothing")
    _add_system(actions.add_parser("status", help="say whether it runs, its address, and how to read its log"))
    removed = actions.add_parser("remove", help="stop it and delete its file; vault, keys and history stay")
    _add_system(removed)
    _add_force(removed)


@command(
    "service",
    SERVERS,
    "keep serve running: start it at login, and again if it ends",
    "vaultwire service install --vault ~/Notes --port 3000",
    "vaultwire service status",
    "vaultwire service remove",
    options=_add_service,
)
def service(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    from vaultwire.service import ServiceError  # noqa: PLC0415 - as above

    try:
        match options.action:
            case "status":
                return _service_status(_plan_of_nothing(options))
            case "remove":
                return _remove_service(_plan_of_nothing(options), force=options.force)
        return _install_service(options)
    except ServiceError as error:
        complain(str(error))
        return 1


def _add_system(parser: argparse.ArgumentParser) -> None:
    usual = _OF_PLATFORM.get(sys.platform, SYSTEMS[0])
    parser.add_argument(
        "--system", choices=SYSTEMS, default=usual, help="the service manager; usually that of this computer"
    )


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="also if somebody else wrote or edited the file")


def _install_service(options: argparse.Namespace) -> int:
    from vaultwire import service  # noqa: PLC0415 - as above

    config = make_config(**run_options.read_all(options))
    job = _job(config, options)
    plan = _plan(options.system, job)
    if options.action == "print" or options.dry_run:
        _show_plan(plan)
        return 0
    is_here = options.host in ("localhost", "::1") or options.host.startswith("127.")
    needs_key = options.oauth_issuer is None and options.public_url is None and (options.require_key or not is_here)
    is_shared = bool(
        os.environ.get(DATABASE_VARIABLE)
    )  # its keys are in the database, and the server says if it has none
    if needs_key and not is_shared and not Keys(keys_folder(config.state)).all():
        raise ConfigError("a key is needed and there is none: issue one with vaultwire keys issue NAME")
    if not os.path.exists(plan.path):  # else our own service has the port
        try:
            listening.bind(options.host, options.port).close()
        except listening.StartError as error:
            raise ConfigError(str(error)) from None
    for done in service.install(plan, (config.cache, config.state), force=options.force):
        say(done)
    is_up = service.wait_until_it_answers(job.url)
    if is_up:
        say(f"vaultwire answers at {job.url}")
    else:
        complain(f"nothing answers at {job.url} yet; the log says why")
    say(f"Log: {plan.log_hint}", *plan.hints)
    return 0 if is_up else 1


def _remove_service(plan: Plan, *, force: bool) -> int:
    from vaultwire import service  # noqa: PLC0415 - as above

    done = False
    for line in service.remove(plan, force=force):
        say(line)
        done = True
    if not done:
        say(f"There is no service: no file {plan.path}")
    return 0


def _service_status(plan: Plan) -> int:
    from vaultwire import service  # noqa: PLC0415 - as above

    state = service.look(plan)
    if state.facts is None:
        say(f"not installed: no file of vaultwire's at {plan.path}")
        return 1
    if state.answers:
        say(f"running at {state.facts.url}")
    else:
        say(f"not running: nothing answers at {state.facts.url}")
    say(f"File: {plan.path}{'' if state.facts.is_as_written else ' (edited since install)'}")
    if not state.is_known:
        say(f"{plan.asks.words[0]} does not run it. To start it: vaultwire service install, with the same options")
    say(f"Log: {plan.log_hint}")
    return 0 if state.answers else 1


def _show_plan(plan: Plan) -> None:
    say(f"# {plan.path}", to_stderr=True)
    say_data(plan.content.decode(plan.encoding).rstrip("\n"))
    for start in plan.starts:
        say(f"# then: {shlex.join(start.words)}", to_stderr=True)


def _job(config: Config, options: argparse.Namespace) -> Job:
    """Return what the service runs. Raises ConfigError for options that make no sense without a person beside it."""
    from vaultwire.service import Job  # noqa: PLC0415 - as above

    network_config(config, options)
    if options.port == 0:
        raise ConfigError("a service needs a port that stays: give one with --port, such as 3000")
    if options.ide:
        raise ConfigError("--ide follows what a person does in the editor; run it in a terminal, not as a service")
    scheme = "http" if options.tls_cert is None else "https"
    host = _EVERYWHERE.get(options.host, f"[{options.host}]" if ":" in options.host else options.host)
    log = ""
    arguments = ["serve", *run_options.to_arguments(add_serve, options, config)]
    if options.system == "task-scheduler":
        log = options.log_file or os.path.join(config.state, "serve.log")
        arguments += [] if options.log_file else ["--log-file", log]
    environment = {CACHE_VARIABLE: config.cache, STATE_VARIABLE: config.state}
    environment |= {OBSIDIAN_VARIABLE: config.obsidian} if config.obsidian else {}
    database = os.environ.get(DATABASE_VARIABLE)  # without it, the service would not share the vaults
    environment |= {DATABASE_VARIABLE: database} if database else {}
    if (
        options.system == "task-scheduler"
    ):  # a task has no variables of its own; these are the usual ones unless they are set
        environment = {name: value for name, value in environment.items() if os.environ.get(name)}
    audit = [os.path.dirname(config.limits.audit)] if config.limits.audit else []
    return Job(
        command=(*_program(options.system), *arguments),
        environment=environment,
        writes=tuple(dict.fromkeys([*config.vaults.values(), config.cache, config.state, *audit])),
        # The app's command needs what the app needs: its folders, the screen.
        is_confined=not options.no_sandbox and config.backend is None and options.log_file is None,
        url=f"{scheme}://{host}:{options.port}",
        state=config.state,
        log=log,
    )


def _program(system: str) -> list[str]:
    """Return the command of this installation. On Windows one that opens no window, where there is one. Raises ConfigError."""
    if installation.installation().way in {installation.UVX, installation.PIPX_RUN}:
        raise ConfigError(
            f"a service needs an installation that stays, and this one is in a cache ({sys.prefix}): install vaultwire, for "
            "example with uv tool install or pipx install, and give this command again"
        )
    windowless = os.path.join(os.path.dirname(sys.executable), "pythonw.exe")
    if system == "task-scheduler" and os.path.exists(windowless):
        return [windowless, "-m", "vaultwire"]
    return installation.running_command()


def _plan(system: str, job: Job) -> Plan:
    from vaultwire import service  # noqa: PLC0415 - as above

    home = os.path.expanduser("~")
    if system == "launchd":
        return service.plan_launchd(job, home, distribution.REGISTRY_NAME.replace("/", "."))
    if system == "task-scheduler":
        return service.plan_task(job, distribution.NAME, distribution.REPOSITORY)
    return service.plan_systemd(job, home, distribution.REPOSITORY)


def _plan_of_nothing(options: argparse.Namespace) -> Plan:
    """Return a plan for its paths and commands only."""
    from vaultwire import service  # noqa: PLC0415 - as above

    state = os.path.dirname(keys_folder())
    log = os.path.join(state, "serve.log") if options.system == "task-scheduler" else ""
    return _plan(options.system, service.Job(("vaultwire",), {}, (), is_confined=False, url="", state=state, log=log))


# ---------------------------------------------------------------------- connect

KEY_VARIABLE = "VAULTWIRE_KEY"

# How a relay may reach its server; the contract's words.
TRANSPORTS = ("auto", "mcp", "v1")

# Longer than any token that fits into a header.
_MAX_KEY_CHARACTERS = 10_000


def _add_connect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", metavar="URL", help="the server (http://127.0.0.1:3000)")
    parser.add_argument(
        "--transport",
        choices=TRANSPORTS,
        help="speak MCP, or the REST API (v1); auto: MCP if the server has it (auto)",
    )
    parser.add_argument(
        "--key",
        metavar="KEY",
        help=f"API key for the server; others can see it in the list of processes (else: ${KEY_VARIABLE})",
    )
    parser.add_argument("--key-file", metavar="FILE", help="file with the key and nothing else")
    parser.add_argument("--ca-file", metavar="FILE", help="certificates to trust, PEM (else: the system's)")


@command(
    "connect",
    SERVERS,
    "connect an MCP client to a running vaultwire serve, here or on another computer",
    "vaultwire connect https://notes.example.org --key-file ~/notes.key",
    options=_add_connect,
)
def connect(options: argparse.Namespace) -> int:
    """Relay until the client is done; return 1 if the server was never reached, else 0. Raises ConfigError."""
    key = options.key
    if options.key_file is not None:
        if key is not None:
            raise ConfigError("give --key or --key-file, not both")
        key = read_key(options.key_file)
    target = make_target(options.url, transport=options.transport, key=key, ca_file=options.ca_file)
    if target.is_unencrypted:
        complain("without TLS, others can read the key and the notes on their way")
    if sys.stdin is not None and sys.stdin.isatty():
        complain("waiting for an MCP client's messages on stdin. Clients start this command themselves. Ctrl-D ends it")
    try:
        was_reached = app.run_connect(target, complain)
    except OSError as error:
        if target.ca_file is None:
            raise
        raise ConfigError(
            f"no certificates in PEM form in {os.path.abspath(target.ca_file)}: {error.strerror or error}"
        ) from None
    if not was_reached:
        complain(f"no server was reached at {target.url}")
    return 0 if was_reached else 1


def make_target(
    url: str | None,
    *,
    transport: str | None = None,
    key: str | None = None,
    ca_file: str | None = None,
) -> Target:
    """Return the server to relay to; the key falls back to the environment. Raises ConfigError.

    The environment variables of the original relay work, too.
    """
    get = os.environ.get
    if url is None:
        url = f"http://{get('OBSIDIAN_MCP_HOST') or '127.0.0.1'}:{get('OBSIDIAN_MCP_PORT') or '3000'}"
    transport = transport or get("OBSIDIAN_MCP_TRANSPORT") or "auto"
    if transport not in TRANSPORTS:
        raise ConfigError(f"OBSIDIAN_MCP_TRANSPORT must be one of {', '.join(TRANSPORTS)}, got {transport!r}")
    key = (key if key is not None else get(KEY_VARIABLE) or get("OBSIDIAN_MCP_API_KEY") or "").strip()
    if not (key.isascii() and (key.isprintable() or not key)) or " " in key:
        raise ConfigError("not a key: it has spaces, line breaks or characters beyond ASCII in it")
    return _read_url(url, transport, key or None, ca_file)


def _read_url(url: str, transport: str, key: str | None, ca_file: str | None) -> Target:
    from vaultwire.transports.relay.connect import Target  # noqa: PLC0415 - an HTTP client, for this command only

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"not a URL of a server: {url!r} ({error})") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ConfigError(f"not a URL of a server: {url!r}. Give one such as http://127.0.0.1:3000")
    tls = parts.scheme == "https"
    port = port or (443 if tls else 80)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    root, query = parts.path.rstrip("/"), f"?{parts.query}" if parts.query else ""
    for ending in ("/mcp", "/bridge/v1"):
        root = root.removesuffix(ending)
    # A path that is not one of ours is the MCP endpoint of another kind of server.
    is_ours = parts.path.rstrip("/") in (root + "/mcp", root + "/bridge/v1") or not root
    mcp = None if transport == "v1" else (f"{root}/mcp" if is_ours else parts.path) + query
    rest = None if transport == "mcp" or not is_ours else f"{root}/bridge/v1"
    if transport == "v1" and rest is None:
        raise ConfigError(f"not a URL of a REST API: {url!r}. Give one such as http://127.0.0.1:3000")
    return Target(f"{parts.scheme}://{host}:{port}", parts.hostname, port, tls, mcp, rest, key, ca_file)


def read_key(path: str) -> str:
    """Return the key in a file that holds nothing else. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            key = file.read(_MAX_KEY_CHARACTERS).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the key in {path}: {getattr(error, 'strerror', error)}") from None
    if not key:
        raise ConfigError(f"there is no key in {path}")
    return key


# ---------------------------------------------------------------------- desk


def _add_desk(parser: argparse.ArgumentParser) -> None:
    run_options.add_vault(parser)
    run_options.add_policy(parser)
    parser.add_argument(
        "--port", type=int, help="port to listen on; 0 for any free one (else: the one of the last desk)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the desk, only print its link")
    parser.add_argument("--json", action="store_true", help="print the link as JSON")
    parser.add_argument(
        "--sign-out", action="store_true", help="forget all browsers that the desk was opened in, and end"
    )


@command(
    "desk",
    HISTORY,
    "open the desk in a browser: what assistants changed, and what waits for you",
    "vaultwire desk",
    "vaultwire desk --vault ~/Notes --no-browser",
    options=_add_desk,
)
def desk(options: argparse.Namespace) -> int:
    """Open the desk and return the exit code. Raises ConfigError."""
    from vaultwire.app.desk import new_link, run_desk  # noqa: PLC0415 - an HTTP server, which no other command should load

    if options.sign_out:
        return _sign_out()
    config = make_config(options.vault, policy=options.policy)
    try:
        link = new_link(config) if options.port is None else None
        if link is None:
            run_desk(config, options.port, lambda link: _show_link(link, options, is_served=False))
            return 0
    except OSError as error:
        complain(f"cannot use the state folder {config.state}: {error.strerror}")
        return 1
    _show_link(link, options, is_served=True)
    return 0


def _show_link(link: str, options: argparse.Namespace, *, is_served: bool) -> None:
    if options.json:
        say(json.dumps({"url": link, "served_by_this_command": not is_served}), flush=True)
    else:
        say(f"Open the desk with this link, once and within ten minutes: {link}", flush=True)
        if not is_served:
            say("The desk is served until you press Ctrl-C.", flush=True)
    if not options.no_browser:
        from vaultwire.app.editors import open_browser  # noqa: PLC0415 - only where it is asked for

        open_browser(link)


def _sign_out() -> int:
    try:
        count = sign_out(desk_folder(state_folder()))
    except OSError as error:
        complain(f"cannot sign out: {error.strerror}")
        return 1
    say(f"Signed out {count} browser{'' if count == 1 else 's'}. To open the desk, run: vaultwire desk")
    return 0
