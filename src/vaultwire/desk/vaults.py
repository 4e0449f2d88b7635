"""The vaults that the desk shows, by name: each is opened when it is first asked for, as the person uses it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import VAULT_NOT_FOUND, VaultError
from vaultwire.vault.vault import Vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.review.glance.glance import Glance
    from vaultwire.review.reviewer import Reviewer

# What the person is called in the journal.
PERSON = "you"
TOOL = "desk"
# What changes notes. The other decisions only note what the person thinks of a change.
WRITING = frozenset(("undo", "move_back", "accept"))
READ_ONLY = "This server runs read-only, so the desk changes no note. Start it without --read-only"


class DeskVaults:
    """The vaults of one desk. Safe to use from several threads."""

    def __init__(
        self,
        openers: Mapping[str, Callable[[], Vault]],
        make_reviewer: Callable[[Vault], Reviewer],
        make_glance: Callable[[Vault], Glance],
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
        self._make_reviewer = make_reviewer
        self._make_glance = make_glance
        self._opening = threading.Lock()
        self._vaults: dict[str, Vault] = {}
        self._reviewers: dict[str, Reviewer] = {}
        self._glances: dict[str, Glance] = {}

    def name(self, given: str | None) -> str:
        """Return a vault's name; the only one's if none is given. Raises VaultError (VAULT_NOT_FOUND)."""
        if not given and len(self.names) == 1:
            return self.names[0]
        if given in self._openers:
            return given or ""
        known = ", ".join(map(repr, self.names))
        what = f"There is no vault {given[:100]!r}" if given else "Say which vault"
        raise VaultError(VAULT_NOT_FOUND, f"{what} (there are: {known}).", vaults=list(self.names))

    def reviewer(self, name: str) -> Reviewer:
        """Return what lists and decides the changes of a vault."""
        found = self._reviewers.get(name)
        if found is None:
            with self._opening:
                found = self._reviewers.get(name) or self._make_reviewer(self._open(name))
                self._reviewers[name] = found
        return found

    def glance(self, name: str) -> Glance:
        """Return what shows a vault at a glance."""
        found = self._glances.get(name)
        if found is None:
            with self._opening:
                found = self._glances.get(name) or self._make_glance(self._open(name))
                self._glances[name] = found
        return found

    def _open(self, name: str) -> Vault:
        """Return a vault, opened once: two engines would not see each other's edits. Holds the lock."""
        vault = self._vaults.get(name)
        if vault is None:
            caller = Caller(PERSON)
            caller.is_person = True
            vault = self._vaults[name] = self._openers[name]().used_by(caller, TOOL)
        return vault
