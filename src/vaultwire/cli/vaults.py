"""``vaultwire vaults``: list the vaults that Obsidian knows on this computer. They can be named without a path."""

from __future__ import annotations

import argparse
import os

from vaultwire.cli.command import SETTING_UP, command
from vaultwire.cli.terminal import say
from vaultwire.obsidian.known_vaults import known_vaults, settings_folders


@command("vaults", SETTING_UP, "list the vaults that Obsidian knows", "vaultwire vaults")
def run(_: argparse.Namespace) -> int:
    """Print a line for each vault and return the exit code."""
    vaults = known_vaults()
    if not vaults:
        say(f"Obsidian knows no vaults here (looked for obsidian.json in {', '.join(settings_folders())})")
    for vault in vaults:
        say(f"{vault.name}: {vault.path}" + ("" if os.path.isdir(vault.path) else " (not there)"))
    return 0
