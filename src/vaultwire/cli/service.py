"""``vaultwire service``: keep ``vaultwire serve`` running, by the service manager of this computer."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from vaultwire import installation
from vaultwire.cli import run_options, serve
from vaultwire.cli.command import SERVERS, command
from vaultwire.cli.terminal import complain, say, say_data
from vaultwire.config import (
    CACHE_VARIABLE,
    OBSIDIAN_VARIABLE,
    STATE_VARIABLE,
    Config,
    ConfigError,
    keys_folder,
    make_config,
)
from vaultwire.trust.keys import Keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.service.job import Job, Plan

SYSTEMS = ("systemd", "launchd", "task-scheduler")
_OF_PLATFORM = {"darwin": "launchd", "win32": "task-scheduler"}
# Addresses at which a server listens everywhere, and the one of them that this computer can call.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not listened at


def _add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    for name, text in (
        ("install", "install it, or change its options, and start it; it also starts at each login"),
        ("print", "show the file and the commands of install, and change nothing"),
    ):
        action = actions.add_parser(name, help=text)
        serve.add_options(action)
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
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    from vaultwire.service.job import ServiceError  # noqa: PLC0415 - urllib and more, which no other command needs

    try:
        match options.action:
            case "status":
                return _status(_plan_of_nothing(options))
            case "remove":
                return _remove(_plan_of_nothing(options), force=options.force)
        return _install(options)
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


def _install(options: argparse.Namespace) -> int:
    from vaultwire.service import steps  # noqa: PLC0415 - as above

    config = make_config(**run_options.read_all(options))
    job = _job(config, options)
    plan = _plan(options.system, job)
    if options.action == "print" or options.dry_run:
        _show(plan)
        return 0
    needs_key = options.oauth_issuer is None and (options.require_key or not _is_here(options.host))
    if needs_key and not Keys(keys_folder(config.state)).all():
        raise ConfigError("a key is needed and there is none: issue one with vaultwire keys issue NAME")
    if not os.path.exists(plan.path):  # else our own service has the port
        _check_port(options.host, options.port)
    for done in steps.install(plan, (config.cache, config.state), force=options.force):
        say(done)
    is_up = steps.wait_until_it_answers(job.url)
    if is_up:
        say(f"vaultwire answers at {job.url}")
    else:
        complain(f"nothing answers at {job.url} yet; the log says why")
    say(f"Log: {plan.log_hint}", *plan.hints)
    return 0 if is_up else 1


def _check_port(host: str, port: int) -> None:
    """Raise ConfigError if a server cannot have this address."""
    from vaultwire.transports import listening  # noqa: PLC0415 - as above

    try:
        listening.bind(host, port).close()
    except listening.StartError as error:
        raise ConfigError(str(error)) from None


def _is_here(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _remove(plan: Plan, *, force: bool) -> int:
    from vaultwire.service import steps  # noqa: PLC0415 - as above

    done = False
    for line in steps.remove(plan, force=force):
        say(line)
        done = True
    if not done:
        say(f"There is no service: no file {plan.path}")
    return 0


def _status(plan: Plan) -> int:
    from vaultwire.service import steps  # noqa: PLC0415 - as above

    state = steps.look(plan)
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


def _show(plan: Plan) -> None:
    say(f"# {plan.path}", to_stderr=True)
    say_data(plan.content.decode(plan.encoding).rstrip("\n"))
    for start in plan.starts:
        say(f"# then: {shlex.join(start.words)}", to_stderr=True)


def _job(config: Config, options: argparse.Namespace) -> Job:
    """Return what the service runs. Raises ConfigError for options that make no sense without a person beside it."""
    from vaultwire.service.job import Job  # noqa: PLC0415 - as above

    serve.network_config(config, options)
    if options.port == 0:
        raise ConfigError("a service needs a port that stays: give one with --port, such as 3000")
    if options.ide:
        raise ConfigError("--ide follows what a person does in the editor; run it in a terminal, not as a service")
    scheme = "http" if options.tls_cert is None else "https"
    host = _EVERYWHERE.get(options.host, f"[{options.host}]" if ":" in options.host else options.host)
    log = ""
    arguments = ["serve", *serve_arguments(config, options)]
    if options.system == "task-scheduler":
        log = options.log_file or os.path.join(config.state, "serve.log")
        arguments += [] if options.log_file else ["--log-file", log]
    environment = {CACHE_VARIABLE: config.cache, STATE_VARIABLE: config.state}
    environment |= {OBSIDIAN_VARIABLE: config.obsidian} if config.obsidian else {}
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


def serve_arguments(config: Config, options: argparse.Namespace) -> list[str]:
    """Return the options of ``serve`` that give the same run in another folder and another environment."""
    parser = argparse.ArgumentParser(add_help=False)
    serve.add_options(parser)
    limits = config.limits
    values = {**vars(options), "vault": config.vault_options, "policy": config.policy, "prompts": config.prompts}
    values |= {
        "structured": config.structured,
        "audit": limits.audit,
        "attachments_from": list(limits.attachments_from),
    }
    for name in ("tls_cert", "tls_key", "log_file"):
        values[name] = values[name] and os.path.abspath(os.path.expanduser(values[name]))
    arguments: list[str] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        value = values[action.dest]
        if value == action.default and action.dest != "port":
            continue
        for each in value if isinstance(value, list) else [value]:
            option = action.option_strings[0]
            text = str(each)
            if action.nargs == 0:
                arguments.append(option)
            else:
                arguments += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return arguments


def _plan(system: str, job: Job) -> Plan:
    from vaultwire import distribution  # noqa: PLC0415 - as above
    from vaultwire.service import managers  # noqa: PLC0415 - as above

    home = os.path.expanduser("~")
    if system == "launchd":
        return managers.plan_launchd(job, home, distribution.REGISTRY_NAME.replace("/", "."))
    if system == "task-scheduler":
        return managers.plan_task(job, distribution.NAME, distribution.REPOSITORY)
    return managers.plan_systemd(job, home, distribution.REPOSITORY)


def _plan_of_nothing(options: argparse.Namespace) -> Plan:
    """Return a plan for its paths and commands only."""
    from vaultwire.service.job import Job  # noqa: PLC0415 - as above

    state = os.path.dirname(keys_folder())
    log = os.path.join(state, "serve.log") if options.system == "task-scheduler" else ""
    return _plan(options.system, Job(("vaultwire",), {}, (), is_confined=False, url="", state=state, log=log))
