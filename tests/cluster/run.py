"""Runs vaultwire as a team runs it and holds it to its word. ``make cluster``; needs Debian's PostgreSQL, PgBouncer, HAProxy.

Three replicas, each in a network namespace of its own where the system allows it, behind HAProxy (round robin, no
stickiness), with PgBouncer in transaction mode before PostgreSQL and its synchronous stand-by:

1. the official conformance suite, through the balancer;
2. clients that write, read, search and edit while every five seconds a replica is killed, stopped and woken, or cut off, and
   the database is restarted and fails over: nothing is lost, doubled, torn or answered wrongly, and edits with ``if_match``
   are linearizable;
3. a backup of the database and of the notes, restored.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.run import HTTP, NOT_OURS, bad_runs
from support.cluster import LEASE_SECONDS, Cluster, Replica, enter_network, missing_programs, vaults
from support.mixed_load import Answer, Done, Door, Load, Outcome, join_all

_REPLICA = Path(__file__).parents[1] / "conformance" / "replica.py"
_EVERY = 5.0
# Longer than a lease, and shorter than the time until the next failure.
_AWAY = LEASE_SECONDS + 1.5
_CLIENT_SECONDS = 10.0
_KINDS = ("kill", "stop", "cut", "restart", "kill", "stop", "fail over", "cut", "kill", "stop", "cut")
_PROBE_SECONDS = 2.0
# A vault that is not written to for so long after a failure is a fault.
_MOST_AWAY = 60.0
_TELL_EVERY = 5.0
_MOST_TOLD = 20
_PARTS = ("conformance", "failures", "backup")


class Progress:
    """Says every five seconds, on a thread of its own, what the run does and waits for."""

    def __init__(self) -> None:
        self.does: Callable[[], str] = lambda: "starting"
        """Returns what is told."""
        self._began = 0.0

    def start(self) -> None:
        """Begin to tell it."""
        self._began = time.monotonic()
        threading.Thread(target=self._run, name="progress", daemon=True).start()

    def begins(self, what: str) -> None:
        """Tell this from now on."""
        self.does = lambda: what

    def _run(self) -> None:
        while True:
            time.sleep(_TELL_EVERY)
            _say(f"[{time.monotonic() - self._began:4.0f} s] {self.does()}")


PROGRESS = Progress()


class Failure(NamedTuple):
    """A failure, and how long each vault could not be written to after it."""

    kind: str
    whom: str
    away: Mapping[str, float]


class Chaos:
    """Has replicas and the database fail, one every five seconds, and measures until when each vault is written to again."""

    def __init__(self, cluster: Cluster, load: Load, seconds: float) -> None:
        self._cluster, self._load = cluster, load
        self._random = random.Random(load.seed)
        self._seconds = seconds
        self._now = "beginning"
        self.failures: list[Failure] = []
        self.faults: list[str] = []
        PROGRESS.does = self._does

    def _does(self) -> str:
        answered, calls = Counter(call.outcome for call in self._load.done), len(self._load.done)
        return f"{calls} calls, {answered[Outcome.DONE]} done; {self._now}"

    def run(self) -> None:
        """Fail, heal, and go on until the time is over."""
        end = time.monotonic() + self._seconds
        numbers = range(int(self._seconds / _EVERY) - 1)
        for number in numbers:
            self._now = f"{number} failures, waiting for the next"
            due = end - self._seconds + (number + 1) * _EVERY
            time.sleep(max(0.0, due - time.monotonic()))
            self._fail(_KINDS[number % len(_KINDS)])
        self._now = "waiting for the end"
        time.sleep(max(0.0, end - time.monotonic()))

    def _fail(self, kind: str) -> None:
        cluster = self._cluster
        probes = _Probes(cluster, self._load)
        self._now = f"{kind} is being done"
        if kind in _OF_DATABASE:
            whom = "database"
            _OF_DATABASE[kind](cluster)
            probes.start()
        else:
            replica = self._random.choice([*cluster.replicas, *(one for one in cluster.replicas if one.owns())])
            whom = "an owner" if replica.owns() else "a stand-by"
            kind = "stop" if kind == "cut" and not replica.machine.can_be_cut else kind
            _FAIL[kind](replica)
            probes.start()
            time.sleep(1.0 if kind == "kill" else _AWAY)
            _HEAL[kind](replica)
        self._now = f"waiting until all vaults are written to after {kind} of {whom}"
        self.failures.append(Failure(kind, whom, probes.wait()))
        self.faults += [f"after {kind} of {whom}: {fault}" for fault in probes.faults]


_OF_DATABASE: Mapping[str, Callable[[Cluster], None]] = {
    "restart": Cluster.restart_database,
    "fail over": Cluster.fail_over,
}
_FAIL: Mapping[str, Callable[[Replica], None]] = {
    "kill": lambda replica: replica.end(signal.SIGKILL),
    "stop": lambda replica: replica.send(signal.SIGSTOP),
    "cut": lambda replica: replica.machine.cut(),
}
_HEAL: Mapping[str, Callable[[Replica], None]] = {
    "kill": lambda replica: replica.start(),
    "stop": lambda replica: replica.send(signal.SIGCONT),
    "cut": lambda replica: replica.machine.join(),
}


class _Probes:
    """One thread for a vault: from a moment on it writes until a write is done, its own or one of the load."""

    def __init__(self, cluster: Cluster, load: Load) -> None:
        self.away: dict[str, float] = {}
        self.faults: list[str] = []
        self._cluster, self._load = cluster, load
        self._began = 0.0
        self._threads = [
            threading.Thread(target=self._probe, args=(name,), name=f"probe of {name}", daemon=True)
            for name in load.vaults
        ]

    def start(self) -> None:
        """Begin."""
        self._began = time.monotonic()
        for thread in self._threads:
            thread.start()

    def wait(self) -> dict[str, float]:
        """Wait for all, and return the seconds of each vault."""
        join_all(self._threads, 2 * _MOST_AWAY)
        return self.away

    def _probe(self, name: str) -> None:
        is_done, answer = False, Answer(Outcome.UNKNOWN, "")
        while not is_done:
            if time.monotonic() - self._began > _MOST_AWAY:
                self.faults.append(
                    f"{name} was not written to for {_MOST_AWAY:.0f} s; the last answer: {answer.text!r}"
                )
                return
            door = Door(self._cluster.address, self._cluster.port, self._cluster.key, _PROBE_SECONDS)
            content = f"still there at {time.monotonic()}"  # another text each time, so that it is a change
            arguments = {"path": "Probe.md", "content": content, "mode": "overwrite", "vault": name}
            answer = door("write_note", arguments)
            door.close()
            is_done = answer.outcome is Outcome.DONE or self._load.last_written[name] > self._began
            self.away[name] = time.monotonic() - self._began
            time.sleep(0.1)


def chaos(clients: int, seconds: float, count: int, seed: int, *, has_network: bool) -> list[str]:
    """Run the mixed load under failures, tell the figures, and return what was not right."""
    with vaults(count) as folders:
        by_name = {folder.name: folder for folder in folders}
        load = Load([*by_name], clients, seed)
        load.make_notes(by_name)
        for folder in folders:
            (folder / "Probe.md").write_text("still there?")
        PROGRESS.begins("starting the cluster")
        options = [part for folder in folders for part in ("--vault", str(folder))]
        with Cluster(options, has_network=has_network) as cluster:
            failing = Chaos(cluster, load, seconds)
            load.run(lambda _: Door(cluster.address, cluster.port, cluster.key, _CLIENT_SECONDS), failing.run)
            PROGRESS.begins("waiting until all replicas are ready")
            cluster.wait_until_ready()
            _tell(load.done, failing.failures)
            PROGRESS.begins("ending the cluster")
        for folder in folders:
            (folder / "Probe.md").unlink()
        PROGRESS.begins("looking for what is lost, doubled, torn, and whether the histories are linearizable")
        return failing.faults + load.faults(by_name)


def conformance(node: str, suite: str, *, has_network: bool) -> list[str]:
    """Run the official suite through the balancer, with three replicas of its fixtures behind it."""
    program = [sys.executable, str(_REPLICA)]
    PROGRESS.begins("conformance")
    with (
        vaults(1) as folders,
        Cluster(["--vault", str(folders[0])], has_network=has_network, command=program) as cluster,
    ):
        url = f"http://localhost:{cluster.local_port}/mcp"  # it tries names of other servers at localhost only
        bad = bad_runs("balancer", HTTP, [node, suite, "server", "--url", url], re.compile(NOT_OURS))
    return [f"{bad} runs of the conformance suite are not good"] if bad else []


def backup(*, has_network: bool) -> list[str]:
    """Back up and restore as docs/teams.md says: what was in the backup is there and can be undone, and nothing else."""
    PROGRESS.begins("backup and restore")
    with vaults(1) as folders, Cluster(["--vault", str(folders[0])], has_network=has_network) as cluster:
        door = Door(cluster.address, cluster.port, cluster.key, _CLIENT_SECONDS)
        copy = cluster.folder / "notes"
        for name in ("First", "Second", "Lost"):
            if name == "Lost":
                shutil.copytree(folders[0], copy)
                dump = cluster.back_up()
            door("write_note", {"path": name, "content": name})
        for replica in cluster.replicas:
            replica.end(signal.SIGTERM)
        shutil.rmtree(folders[0])
        shutil.copytree(copy, folders[0])
        cluster.restore(dump)
        for replica in cluster.replicas:
            replica.start()
        cluster.wait_until_ready()
        changes = door("list_changes", {}).text
        undone = door("undo_changes", {"changes": [1]})
        notes = sorted(path.name for path in folders[0].iterdir())
        door.close()
    good = "2 changes" in changes and undone.outcome is Outcome.DONE and notes == ["Second.md"]
    _say(f"backup and restore: {'ok' if good else 'FAILED'}")
    return [] if good else [f"after the restore: {changes} / {undone} / {notes}"]


def _tell(calls: Sequence[Done], failures: Sequence[Failure]) -> None:
    seconds = max(call.ended for call in calls) - min(call.began for call in calls)
    kinds = Counter((call.kind, call.outcome.value) for call in calls)
    for kind in sorted({call.kind for call in calls}):
        counts = ", ".join(f"{kinds[kind, one.value]} {one.value}" for one in Outcome if kinds[kind, one.value])
        _say(f"{kind:<12}{counts}")
    bad = sum(call.outcome in (Outcome.REFUSED, Outcome.UNKNOWN) for call in calls)
    took = sorted(call.ended - call.began for call in calls if call.outcome is Outcome.DONE)
    _say(
        f"{len(calls)} calls, {len(calls) / seconds:.0f} a second, {bad / len(calls):.1%} refused or without an answer"
    )
    _say(f"done: median {statistics.median(took) * 1000:.0f} ms, 99 % {took[len(took) * 99 // 100] * 1000:.0f} ms")
    reasons = Counter(call.text[:90] for call in calls if call.outcome in (Outcome.REFUSED, Outcome.UNKNOWN))
    for reason, number in reasons.most_common(12):
        _say(f"  {number:>6}  {reason}")
    for failure in failures:
        away = sorted(failure.away.values())
        middle = statistics.median(away)
        _say(
            f"{failure.kind} {failure.whom}: written to again after {away[-1]:.1f} s (median of the vaults {middle:.1f})"
        )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run all, and return how much was not right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("node", help="Node, for the conformance suite")
    parser.add_argument("suite", help="the conformance suite's program")
    parser.add_argument("--part", choices=_PARTS, action="append", help="only this one; may be given more than once")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--vaults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    missing = missing_programs()
    if missing:
        _say(f"needed: apt-get install {' '.join(missing)}")
        return 1
    has_network = enter_network()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    _say(f"seed {seed}; {'network namespaces' if has_network else 'three ports'}")
    PROGRESS.start()
    parts, faults = options.part or _PARTS, []
    if "conformance" in parts:
        faults += conformance(options.node, options.suite, has_network=has_network)
    if "failures" in parts:
        faults += chaos(options.clients, options.seconds, options.vaults, seed, has_network=has_network)
    if "backup" in parts:
        faults += backup(has_network=has_network)
    for line in faults[:_MOST_TOLD] or [
        "nothing lost, doubled, torn or answered wrongly; all histories are linearizable"
    ]:
        _say(line)
    return min(len(faults), 1)


if __name__ == "__main__":
    sys.exit(main())
