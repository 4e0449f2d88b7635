"""``vaultwire desk``: its options, and what it prints."""

from __future__ import annotations

import argparse
import json

from vaultwire.cli import run_options
from vaultwire.cli.terminal import complain, say
from vaultwire.config import make_config, state_folder


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
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


def run(options: argparse.Namespace) -> int:
    """Open the desk and return the exit code. Raises ConfigError."""
    from vaultwire.app.desk import new_link, run_desk  # noqa: PLC0415 - an HTTP server, which no other command should load

    if options.sign_out:
        return _sign_out()
    config = make_config(options.vault, policy=options.policy)
    try:
        link = new_link(config) if options.port is None else None
        if link is None:
            run_desk(config, options.port, lambda link: _show(link, options, is_served=False))
            return 0
    except OSError as error:
        complain(f"cannot use the state folder {config.state}: {error.strerror}")
        return 1
    _show(link, options, is_served=True)
    return 0


def _show(link: str, options: argparse.Namespace, *, is_served: bool) -> None:
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
    from vaultwire.desk.access import desk_folder, sign_out  # noqa: PLC0415 - as above

    try:
        count = sign_out(desk_folder(state_folder()))
    except OSError as error:
        complain(f"cannot sign out: {error.strerror}")
        return 1
    say(f"Signed out {count} browser{'' if count == 1 else 's'}. To open the desk, run: vaultwire desk")
    return 0
