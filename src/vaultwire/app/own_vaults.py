"""The vaults of a command that serves by itself: each is opened when it is first used. Their indexes are not watched."""

from __future__ import annotations

import threading

from vaultwire.app.engine import load_policy, open_vault
from vaultwire.config import Config
from vaultwire.vault.vault import Vault


class OwnVaults:
    """The vaults of one command, by name."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._loaded = load_policy(config)
        self._opening = threading.Lock()
        self._opened: dict[str, Vault] = {}

    def get(self, name: str) -> Vault:
        """Return a vault, opened once."""
        with self._opening:
            if name not in self._opened:
                self._opened[name] = open_vault(self._config.for_vault(name), (), self._loaded)
            return self._opened[name]

    def close(self) -> None:
        """Close the vaults that were opened."""
        for vault in self._opened.values():
            vault.close()
