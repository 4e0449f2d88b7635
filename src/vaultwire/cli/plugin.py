"""``vaultwire plugin``: install the companion plugin in a vault's Obsidian, or remove it."""

from __future__ import annotations

import argparse
import os

from vaultwire.cli import run_options
from vaultwire.cli.command import EDITORS, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import make_config


def _add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    for name, text in (
        ("install", "put the plugin into the vault, or renew it there; you enable it in Obsidian"),
        ("remove", "remove the plugin from the vault"),
    ):
        run_options.add_vault(actions.add_parser(name, help=text))


@command(
    "plugin",
    EDITORS,
    "install the companion plugin in a vault's Obsidian, or remove it",
    "vaultwire plugin install --vault ~/Notes",
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
    """Do it for each vault and return the exit code: 1 if it failed. Raises ConfigError."""
    from vaultwire.obsidian.plugin_files import (  # noqa: PLC0415 - 10 ms, which no other command should pay
        PluginFilesError,
        install_plugin,
        remove_plugin,
    )

    config = make_config(options.vault)
    if options.action == "install" and not _note_program(config.state):
        return 1
    for vault in config.vaults.values():
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


def _note_program(state: str) -> bool:
    """Note for the plugin how to start this program, which it does only if the person asks for that; False if it failed."""
    from vaultwire.installation import server_command  # noqa: PLC0415 - only to install
    from vaultwire.transports.lock_file import LockFileError, program_file  # noqa: PLC0415 - only to install

    try:
        program_file(os.path.join(state, "editor"), server_command()).write()
    except LockFileError as error:
        complain(str(error))
        return False
    return True
