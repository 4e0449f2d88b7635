"""Pauses the owner of a vault (SIGSTOP) at each place of a change, lets another server take over, and wakes it again.

Run as a program of its own, because it forks: ``python -m support.pausing WHERE URL PLAN:POINTS...``. Each owner that is paused
is a process with a lease and connections of its own; it stops itself, and nothing but time tells it so. Owners of all plans are
paused before any of them is taken over: the leases of the first are over by then.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.killing import VAULT, NoIndex, merge, path, rename_with_links, swap_names, tree
from support.vaults import write_vault
from vaultwire.cluster import records
from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import Lease, Leases
from vaultwire.vault.changes.change import Author, Step, Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk import file_operations
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import SERVER_BUSY, VaultError

AUTHOR = Author("tests", "pausing")
# Long enough for an owner to come to its place, also where many programs run.
_LEASE_SECONDS = 6.0
_REFUSED, _UNSURE, _FAILED = 3, 4, 1


def edit(_files: Files) -> list[Step]:
    return [Write(path("Note.md"), b"old line\n", b"new line\n"), Write(path("New.md"), None, b"new\n")]


PLANS: dict[str, Callable[[Files], list[Step]]] = {
    "rename": rename_with_links,
    "swap": swap_names,
    "merge": merge,
    "edit": edit,
}


class Server:
    """One server with the vault: it owns it from now on."""

    def __init__(self, name: str, root: Path, url: str, seconds: float, *, waits: bool = False) -> None:
        self.database = Database(url)
        leases = Leases(self.database, name, "", seconds)
        while (taken := leases.take({root.parent.name: str(root)})) is None:
            assert waits, f"{name}: the vault has another owner"
            threading.Event().wait(0.05)
        self.files = Files(str(root), 10_000_000)
        store = records.PostgresRecords(self.database, taken[0])
        index: Any = NoIndex()
        self.changes = Changes(self.files, index, str(root.parent / f"state-{name}"), store=store)

    def execute(self, plan: Callable[[Files], list[Step]]) -> None:
        with self.changes.locked():
            self.changes.execute(plan(self.files), AUTHOR)


def _stopping(function: Callable[..., Any], steps: Iterator[int]) -> Callable[..., Any]:
    """Return a function that first stops this process if it is the one at which to stop."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if next(steps) == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        return function(*args, **kwargs)

    return call


def _stop_at(points: str, step: int) -> None:
    steps = iter(range(step, -1_000_000, -1))
    if points == "checks":
        Lease.check = _stopping(Lease.check, steps)  # type: ignore[method-assign]
        for name in ("execute", "executemany", "send"):
            setattr(records.Statements, name, _stopping(getattr(records.Statements, name), steps))
    else:  # right before the system's call, after every check
        real = file_operations.system_rename()
        assert real is not None
        call = _stopping(real, steps)
        file_operations.system_rename = lambda: call  # type: ignore[assignment]
        os.replace = _stopping(os.replace, steps)


def _paused(root: Path, url: str, plan: Callable[[Files], list[Step]], points: str, step: int) -> int | None:
    """Return the process of an owner that has stopped at the n-th point of its change, None if there are fewer."""
    child = os.fork()
    if child == 0:
        code = _FAILED
        try:
            server = Server("one", root, url, _LEASE_SECONDS)
            _stop_at(points, step)
            server.execute(plan)
            code = 0
        except VaultError as error:
            is_unsure = "perhaps it is made" in str(error)
            is_refused = error.code == SERVER_BUSY or points != "checks"
            code = _UNSURE if is_unsure else _REFUSED if is_refused else _FAILED
            sys.stderr.write(f"{root.parent.name}: {error.code}: {error}\n")
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return child
    assert os.waitstatus_to_exitcode(status) == 0, f"{root.parent.name}"
    return None


def main(where: str, url: str, *changes: str) -> None:
    """Pause, take over and wake at each point of each change; print how many there were."""
    paused: list[tuple[Path, int]] = []
    states: list[tuple[Any, Any]] = []  # of each of these vaults, before and after its change
    counts = []
    try:
        for change in changes:
            plan, _, points = change.partition(":")
            old = tree(write_vault(Path(where) / change / "vault", VAULT))
            before = len(paused)
            while True:
                step = len(paused) - before
                root = write_vault(Path(where) / f"{change} {step}" / "vault", VAULT)
                owner = _paused(root, url, PLANS[plan], points, step)
                if owner is None:
                    break
                paused.append((root, owner))
            counts.append(step)
            states += [(old, tree(root))] * step
        for (root, owner), whole in zip(paused, states, strict=True):
            _take_over(root, url, owner, whole)
    finally:
        for _, owner in paused:
            with suppress(ProcessLookupError):
                os.kill(owner, signal.SIGKILL)
    sys.stdout.write(f"{' '.join(map(str, counts))}\n")


def _take_over(root: Path, url: str, owner: int, whole: tuple[Any, Any]) -> None:
    """Take the vault of a paused owner over, wake that, and check that it changes nothing. ``whole``: nothing or all done."""
    step = root.parent.name
    server = Server("two", root, url, 60, waits=True)
    with server.changes.locked():
        recovered = tree(root)
    assert recovered in whole, f"{step}: {sorted(recovered)}"
    is_done = recovered == whole[1]
    assert len(server.changes.latest()) == is_done, f"{step}"
    server.execute(lambda _: [Write(path("Of two.md"), None, b"of the second owner")])
    before = tree(root)
    on_record = [change.id for change in server.changes.latest()]
    os.kill(owner, signal.SIGCONT)
    _, status = os.waitpid(owner, 0)
    code = os.waitstatus_to_exitcode(status)
    # What it says of its change is so: "nothing was changed" only where nothing was.
    assert code == _UNSURE or (code == 0) == is_done, f"{step}: {code}, {is_done}"
    assert code in (_UNSURE, _REFUSED, 0), f"{step}: {code}"
    assert tree(root) == before, f"{step}: the first owner has changed files after it woke"
    assert [change.id for change in server.changes.latest()] == on_record, f"{step}"
    with server.changes.locked():
        pass
    server.database.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
