"""``vaultwire plugin``: install the companion plugin in a vault's Obsidian, or remove it."""

from __future__ import annotations

import argparse

from vaultwire.cli import run_options
from vaultwire.cli.terminal import complain, say
from vaultwire.config import make_config


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    for name, text in (
        ("install", "put the plugin into the vault, or renew it there; you enable it in Obsidian"),
        ("remove", "remove the plugin from the vault"),
    ):
        run_options.add_vault(actions.add_parser(name, help=text))


def run(options: argparse.Namespace) -> int:
    """Do it for each vault and return the exit code: 1 if it failed. Raises ConfigError."""
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
                say(f"The plugin is no longer in {vault}: restart Obsidian if it runs")
            else:
                say(f"There is no plugin in {vault}")
        except PluginFilesError as error:
            complain(str(error))
            return 1
    return 0
