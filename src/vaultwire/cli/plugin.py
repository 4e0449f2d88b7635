"""``vaultwire plugin``: put the companion plugin into a vault's Obsidian, or take it out again."""

from __future__ import annotations

import argparse

from vaultwire.cli.terminal import complain, say
from vaultwire.config import make_config


def add_options(parser: argparse.ArgumentParser, vault: argparse.ArgumentParser) -> None:
    """Add what can be done with it; ``vault`` has the option of that name."""
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    actions.add_parser("install", parents=[vault], help="put it into the vault, or renew it there; Obsidian enables it")
    actions.add_parser("remove", parents=[vault], help="take it out of the vault")


def run(options: argparse.Namespace) -> int:
    """Do it for each vault and return the exit code: 1 where it cannot be. Raises ConfigError."""
    from vaultwire.obsidian.plugin_files import (  # noqa: PLC0415 - 10 ms, which no other command should pay
        PluginFilesError,
        install_plugin,
        remove_plugin,
    )

    for vault in make_config(options.vault).vaults.values():
        try:
            if options.action == "install":
                say(f"The plugin is in {install_plugin(vault)}")
                say("Enable it in Obsidian: Settings, Community plugins, Vaultwire. If it was enabled before, turn it")
                say("off and on again, or restart Obsidian.")
            elif remove_plugin(vault):
                say(f"The plugin is no longer in {vault}; an Obsidian that runs forgets it when it restarts")
            else:
                say(f"There is no plugin in {vault}")
        except PluginFilesError as error:
            complain(str(error))
            return 1
    return 0
