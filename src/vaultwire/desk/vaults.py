"""The vaults that the desk shows, by name: each is opened when it is first asked for, as the person uses it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from vaultwire.vault.errors import VAULT_NOT_FOUND, VaultError
from vaultwire.vault.vault import Vault

# What the person is called in the journal.
PERSON = "you"
TOOL = "desk"


class DeskVaults:
    """The vaults of one desk. Safe to use from several threads."""

    def __init__(
        self,
        openers: Mapping[str, Callable[[], Vault]],
        make_reviewer: Callable[[Vault], Any],
        make_glance: Callable[[Vault], Any],
        *,
        read_only: bool = False,
    ) -> None:
        """``openers`` has what opens each vault, by its name for the person. They are called once, on any thread.

        ``make_reviewer`` and ``make_glance`` return what answers the requests for a vault. ``read_only``: notes may not be
        changed in this run.
        """
        self.names = tuple(openers)
        self.read_only = read_only
        self._openers = openers
        self._makers = {"review": make_reviewer, "glance": make_glance}
        self._opening = threading.Lock()
        self._vaults: dict[str, Vault] = {}
        self._made: dict[tuple[str, str], Any] = {}

    def name(self, given: str | None) -> str:
        """Return a vault's name; the only one's if none is given. Raises VaultError (VAULT_NOT_FOUND)."""
        if not given and len(self.names) == 1:
            return self.names[0]
        if given in self._openers:
            return given or ""
        known = ", ".join(map(repr, self.names))
        what = f"There is no vault {given[:100]!r}" if given else "Say which vault"
        raise VaultError(VAULT_NOT_FOUND, f"{what} (there are: {known}).", vaults=list(self.names))

    def reviewer(self, name: str) -> Any:
        """Return what lists and decides the changes of a vault."""
        return self._get("review", name)

    def glance(self, name: str) -> Any:
        """Return what shows a vault at a glance."""
        return self._get("glance", name)

    def counts(self, name: str) -> dict[str, int]:
        """Return how many items of a vault wait, and how many are not reviewed."""
        counts: dict[str, int] = self.reviewer(name).counts()
        return counts

    def stamp(self, name: str) -> Hashable:
        """Return a value that differs once any process has recorded a change, a proposal or a decision in a vault."""
        stamp: Hashable = self.reviewer(name).stamp()
        return stamp

    def _get(self, what: str, name: str) -> Any:
        found = self._made.get((what, name))
        if found is None:
            with self._opening:  # two engines over one vault would not see each other's edits
                if name not in self._vaults:
                    from vaultwire.vault.caller import Caller  # noqa: PLC0415 - loaded with the vault, not at start

                    caller = Caller(PERSON)
                    caller.is_person = True
                    self._vaults[name] = self._openers[name]().used_by(caller, TOOL)
                found = self._made.get((what, name))
                if found is None:
                    found = self._made[what, name] = self._makers[what](self._vaults[name])
        return found
