"""The vaults of one server: chosen by name, opened when first used, their index updaters run. ``app`` says how to open one.

Nothing is shared between vaults. A number that one vault gave, such as a change's, is only taken with that vault's name.
"""

from __future__ import annotations

import threading

from vaultwire.vault.errors import INVALID_ARGUMENTS, SERVER_BUSY, VAULT_NOT_FOUND, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vaultwire.protocol.events import Peer
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.vault.caller import Caller
    from vaultwire.vault.index.freshness import OnChange
    from vaultwire.vault.vault import Vault

# The arguments with the vault's name, where there are several, and with numbers of changes.
ARGUMENT = "vault"
# Between two attempts to open a vault whose records are away.
_BUSY_SECONDS = 1.0
_CHANGES = frozenset(("change", "changes"))


class Vaults:
    """The vaults of one server. A call that names none means the first."""

    def __init__(self, openers: Mapping[str, Callable[[], Vault]], load: Callable[[], object]) -> None:
        """``openers`` has one for each vault, by its name; a single one may have none (``""``).

        ``load`` loads the code that calls need; it is called once, before a vault is opened.
        """
        self.names = tuple(openers)
        self.are_several = len(self.names) > 1
        """Whether callers have to say which vault they mean."""
        self._openers = openers
        self._load = load
        self._is_loaded = False
        self._by_folded = {name.casefold(): name for name in self.names}
        self._opening = threading.Lock()
        self._opened: dict[str, Vault] = {}
        self._updaters: list[threading.Thread] | None = None  # of the other vaults; None before run_index_updaters
        self._on_change: Callable[[Vault], OnChange] = lambda _: lambda _, __: None
        self._is_closed = False
        self._closing = threading.Event()
        self.is_here: Callable[[str], bool] = lambda _: True
        """Tells whether this server has a vault now, where several servers share them (``serve``, ``leave``)."""

    def name(self, text: str) -> str:
        """Return a vault's name in its own spelling. Raises VaultError (VAULT_NOT_FOUND), with the names there are."""
        name = self._by_folded.get(text.casefold())
        if name is None:
            known = ", ".join(map(repr, self.names))
            raise VaultError(
                VAULT_NOT_FOUND, f"There is no vault {text[:100]!r} (there are: {known}).", vaults=list(self.names)
            )
        return name

    def pick(self, arguments: JsonObject) -> tuple[str, JsonObject]:
        """Split a call's arguments into the vault's name and the tool's own arguments.

        Raises VaultError: VAULT_NOT_FOUND, and INVALID_ARGUMENTS for a change's number without its vault's name: each vault
        counts its own changes, and another vault's would be undone.
        """
        if not self.are_several:
            return self.names[0], arguments
        name = arguments.get(ARGUMENT)
        if isinstance(name, str):
            return self.name(name), {key: value for key, value in arguments.items() if key != ARGUMENT}
        if ARGUMENT not in arguments and not _CHANGES.isdisjoint(arguments):
            known = ", ".join(map(repr, self.names))
            raise VaultError(
                INVALID_ARGUMENTS,
                f"Each vault counts its own changes: say with 'vault' which one the change was made in (there are: {known}).",
            )
        return self.names[0], arguments  # the tool's schema refuses a name that is no text

    def hint(self, name: str) -> str:
        """Return the end of a message for callers who may have meant another vault."""
        return f" (In the vault {name!r}; others are served, too.)" if self.are_several else ""

    def load(self) -> None:
        """Load the code that calls need, once, on the thread that asks first; the others wait.

        Two threads that import at once can be handed half a module (CPython 3.13.0, ``collections.abc``).
        """
        if not self._is_loaded:
            with self._opening:
                self._load_once()

    def get(self, name: str) -> Vault:
        """Return the vault, opened once, on the thread that asks first. Its index updater starts if those of others run.

        The others wait: two engines over one vault would not see each other's edits.
        """
        vault = self._opened.get(name)
        if vault is None:
            with self._opening:
                self._load_once()
                vault = self._opened.get(name)
                if vault is None:
                    vault = self._opened[name] = self._openers[name]()
                    self._start_updater(name)
        return vault

    def used_by(
        self, peer: Peer, name: str, tool: str, also: tuple[str, ...] = (), *, may_read_notes: bool = True
    ) -> Vault:
        """Return the vault as one client uses it with one tool. What a client has read is remembered for each vault.

        ``also``: the tools whose work this call does, too.
        """
        if peer.memory is None:
            peer.memory = {}
        vault = self.get(name)
        known: tuple[Vault, Caller, dict[tuple[str, ...], Vault]] | None = peer.memory.get(name)
        if known is None or known[0] is not vault:  # it was given to another server meanwhile, and came back
            from vaultwire.vault.caller import Caller  # noqa: PLC0415 - loaded with the vault, not at start

            owner = f"{peer.principal}\n{peer.name}" if peer.authority else ""
            new: tuple[Vault, Caller, dict[tuple[str, ...], Vault]]
            new = vault, Caller(owner=owner, is_lasting=peer.is_sessionless), {}
            known = new if known is not None else peer.memory.setdefault(name, new)
            peer.memory[name] = known
        _, caller, by_tool = known
        caller.client, caller.may_read_notes = peer.signature, may_read_notes
        caller.names, caller.is_person = (peer.name, peer.authority), peer.is_person
        used = by_tool.get((tool, *also))
        if used is None or used.is_of_one_call:
            used = by_tool[tool, *also] = vault.used_by(caller, tool, also)
        return used

    def write_kept_back(self) -> None:
        """Write what the policy keeps back (``holding.delayed_writes``), for what is answered from the disk and the index."""
        for vault in list(self._opened.values()):
            vault.write_kept_back()

    def run_index_updaters(self, on_change: Callable[[Vault], OnChange] | None = None) -> None:
        """Keep the index of every vault up to date with its files, from its first use on, until ``close``.

        Opens the first vault and works for it on the caller's thread. ``on_change`` returns for a vault what hears of its
        changes.
        """
        first = self.get(self.names[0])
        with self._opening:
            if self._is_closed:
                return
            self._updaters = []
            self._on_change = on_change or self._on_change
            for name in self._opened:
                self._start_updater(name)
        try:
            first.run_watch_loop(self._on_change(first))
        finally:
            for thread in self._updaters:
                thread.join()

    def serve(self, name: str, on_change: Callable[[Vault], OnChange]) -> None:
        """Open a vault and keep its index up to date, until ``leave`` or ``close``: for servers that share vaults.

        Raises what the opener raises, except that the records are away: then it tries again.
        """
        while self.is_here(name) and not self._is_closed:
            try:
                vault = self.get(name)
                vault.run_watch_loop(on_change(vault))
            except VaultError as error:
                if error.code != SERVER_BUSY:
                    raise
                self._closing.wait(_BUSY_SECONDS)
            else:
                return

    def leave(self, name: str) -> None:
        """Close a vault, which another server has from now on. Safe from any thread."""
        with self._opening:
            vault = self._opened.pop(name, None)
        if vault is not None:
            vault.close()

    def is_first(self, vault: Vault) -> bool:
        """Tell whether this is the first vault, which a call that names none means."""
        return self._opened.get(self.names[0]) is vault

    def close(self) -> None:
        """End ``run_index_updaters``. Safe from any thread."""
        with self._opening:
            self._is_closed = True
            self._closing.set()
            for vault in self._opened.values():
                vault.close()

    def _load_once(self) -> None:
        """Load the code unless it is loaded. Holds the lock."""
        if not self._is_loaded:
            self._load()
            self._is_loaded = True

    def _start_updater(self, name: str) -> None:
        """Start the index updater of a vault that is not the first, on a thread of its own. Holds the lock."""
        if self._updaters is None or self._is_closed or name == self.names[0]:
            return
        vault = self._opened[name]
        # No daemon: a thread frozen while it imports holds a lock the process's end needs.
        thread = threading.Thread(
            target=vault.run_watch_loop, args=(self._on_change(vault),), name="vaultwire-index-updater"
        )
        self._updaters.append(thread)
        thread.start()
