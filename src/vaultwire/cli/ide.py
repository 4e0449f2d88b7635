"""``vaultwire ide``: its options, and what a person is told of a running bridge."""

from __future__ import annotations

import argparse
import sys

from vaultwire.config import Config


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the editors' door."""
    parser.add_argument(
        "--no-browser", action="store_true", help="do not open the page of changes, print its link alone"
    )
    parser.add_argument("--debug", action="store_true", help="say on stderr what goes on: connections and messages")


def run(config: Config, options: argparse.Namespace) -> int:
    """Serve until told to end; return the exit code."""
    from vaultwire.app.editors import run_ide  # noqa: PLC0415 - 150 ms, which no other command should pay

    def log(line: str) -> None:
        print(f"vaultwire: {line}", file=sys.stderr, flush=True)

    run_ide(config, tell, log if options.debug else None, opens_browser=not options.no_browser)
    return 0


def tell(vault: str, port: int, page: str) -> None:
    """Say where a vault is to be seen."""
    print(f"{vault} is in Claude Code's /ide list (port {port})")
    print(f"Changes to look at: {page}", flush=True)
