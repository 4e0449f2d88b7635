"""Measures several servers with one PostgreSQL: a call that is passed on, a write, calls a second, and a take-over.

As a team runs them: HAProxy, PgBouncer, PostgreSQL with a synchronous stand-by, all of them on this computer, so that the
network costs nothing and the cores are shared. Needs Debian's ``postgresql``, ``pgbouncer`` and ``haproxy``.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from bench.client import compile_sources
from bench.sample_vault import write_vault

# What starts the programs is that of make cluster.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from support.cluster import LEASE_SECONDS, Cluster, Replica, missing_programs, processor_seconds, wait_for
from support.serving import Serving

_CALLS = 300
_TAKEOVERS = 5
_CLIENTS = 8
_SECONDS = 8.0
_PACE = 0.05
_MOST_PASSED_ON_MS = 3.0
_MOST_WRITE_MS = 15.0
_MOST_TAKEOVER = LEASE_SECONDS + 2.0


def run(part: str, path: Path) -> list[str]:
    """Measure all, or the "writes" alone; print a table and write the JSON. Return the missed targets."""
    missing = missing_programs()
    if missing:
        return [f"not measured: apt-get install {' '.join(missing)}"]
    compile_sources()
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        vaults = [Path(folder) / name for name in ("alone", "shared")]
        for vault in vaults:
            vault.mkdir()
            write_vault(vault)
            (vault / "Log.md").write_text("line\n")
        with Cluster(["--vault", str(vaults[1])], has_network=False, durable=True) as cluster:
            figures, missed = _calls(cluster, vaults[0], Path(folder))
            if part == "all":
                for measure in (_takeovers, _rates):
                    more, more_missed = measure(cluster)
                    figures |= more
                    missed += more_missed
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"calls": _CALLS, **figures}, indent=2) + "\n")
    return missed


def _calls(cluster: Cluster, alone: Path, root: Path) -> tuple[dict[str, object], list[str]]:
    """Measure what calls take, and what the disk gives. Return the figures and the missed targets."""
    calls, costs = _calls_in_turn(cluster, alone, root)
    disk = _disk(cluster, root)
    for name, took in calls.items():
        print(f"{name:<38}{took:8.2f} ms")
    passed_on = calls["read, passed on"] - calls["read, at the owner"]
    write = calls["write, at the owner"] - calls["write, one machine"]
    print(f"a call that is passed on costs {passed_on:.2f} ms more, a write on the cluster {write:.2f} ms more")
    for name, took in costs.items():
        print(f"a write, {name}: {took:.2f} ms of processor time, without the database's")
    for name, took in disk.items():
        print(f"{name:<38}{took:8.2f} ms")
    targets = [
        ("a call that is passed on, more than at the owner", passed_on, _MOST_PASSED_ON_MS),
        ("a write, more than on one machine", write, _MOST_WRITE_MS),
    ]
    figures: dict[str, object] = {"milliseconds": calls, "processor ms of a write": costs, "disk, milliseconds": disk}
    return figures, [f"{what}: {took:.2f} ms, target {most}" for what, took, most in targets if took > most]


def _takeovers(cluster: Cluster) -> tuple[dict[str, object], list[str]]:
    """Measure how long a vault has no owner. Return the figures and the missed targets."""
    takeovers = [_take_over(cluster) for _ in range(_TAKEOVERS)]
    longest = max(takeovers)
    print(f"take-over after kill -9: {', '.join(f'{took:.1f}' for took in takeovers)} s (lease {LEASE_SECONDS} s)")
    missed = [f"the longest take-over: {longest:.2f} s, target {_MOST_TAKEOVER}"] if longest > _MOST_TAKEOVER else []
    return {"take-over seconds": takeovers}, missed


class _Caller:
    """Calls tools of one server on a connection that is kept."""

    def __init__(self, address: str, port: int, key: str = "") -> None:
        self._connection = http.client.HTTPConnection(address, port, timeout=30)
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}

    def call(self, tool: str, arguments: dict[str, object]) -> bool:
        """Return whether it was done."""
        body = json.dumps({"arguments": arguments}).encode()
        try:
            self._connection.request("POST", f"/bridge/v1/tools/{tool}/call", body, self._headers)
            answer = self._connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return False
        return answer.status == http.client.OK and bool(json.loads(data)["success"])

    def read(self) -> bool:
        return self.call("read_notes", {"paths": ["Log"]})

    def write(self) -> bool:
        return self.call("edit_note", {"path": "Log", "edits": [{"action": "append", "body": True, "content": "line"}]})


def _at(replica: Replica, key: str) -> _Caller:
    return _Caller(replica.machine.address, replica.machine.port, key)


def _calls_in_turn(cluster: Cluster, alone: Path, root: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return medians in milliseconds, and the processor milliseconds of a write.

    The calls are made in turn, so that a disturbance of the machine affects all alike.
    """
    owner = next(replica for replica in cluster.replicas if replica.owns())
    other = next(replica for replica in cluster.replicas if replica is not owner)
    folders = {"VAULTWIRE_STATE": str(root / "state"), "VAULTWIRE_CACHE": str(root / "cache")}
    with Serving(alone, command=[sys.executable, "-m", "vaultwire", "serve"], **folders) as single:
        one, here, there = (
            _Caller("127.0.0.1", single.port),
            _at(owner, cluster.key),
            _at(other, cluster.key),
        )
        medians = _medians(
            {
                "read, one machine": one.read,
                "read, at the owner": here.read,
                "read, passed on": there.read,
                "write, one machine": one.write,
                "write, at the owner": here.write,
                "write, passed on": there.write,
            }
        )
        # A database without a synchronous stand-by: not for a team, but it tells what the second disk costs.
        cluster.wait_for_standby(False)
        medians |= _medians({"write, at the owner, no stand-by": here.write})
        cluster.wait_for_standby(True)
        assert owner.process is not None
        costs = {
            "one machine": _processor_ms(one, single.process.pid),
            "at the owner": _processor_ms(here, owner.process.pid),
        }
    return medians, costs


def _medians(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return what the calls take, in milliseconds: each in turn, so often as a median needs."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(_CALLS + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            if not call():
                raise RuntimeError(f"{name} was refused")
            if number:  # the first one loads code
                times[name].append((time.perf_counter() - began) * 1000)
    return {name: statistics.median(took) for name, took in times.items()}


def _disk(cluster: Cluster, root: Path) -> dict[str, float]:
    """Return what a sync of the disk takes, and a commit of the database alone, in milliseconds."""
    page = bytes(8192)
    with (root / "page").open("wb", buffering=0) as file, psycopg.connect(cluster.direct, autocommit=True) as database:

        def sync() -> bool:
            file.write(page)
            os.fdatasync(file.fileno())
            return True

        def commit() -> object:
            return database.execute("SELECT pg_logical_emit_message(true, 'bench', 'a small record')")

        medians = _medians({"a sync of the disk": sync, "a commit": commit})
        cluster.wait_for_standby(False)
        medians |= _medians({"a commit, no stand-by": commit})
        cluster.wait_for_standby(True)
    return medians


def _take_over(cluster: Cluster) -> float:
    """Kill the owner; return after how many seconds a write through the balancer is done."""
    owner = next(replica for replica in cluster.replicas if replica.owns())
    began = time.monotonic()
    owner.end(signal.SIGKILL)
    caller = _Caller(cluster.address, cluster.port, cluster.key)
    while not caller.write():
        time.sleep(0.02)
    took = time.monotonic() - began
    owner.start()
    wait_for("the owner is ready", owner.is_ready)
    return took


def _rates(cluster: Cluster) -> tuple[dict[str, object], list[str]]:
    """Measure reads a second through the balancer, and processor milliseconds of each, by the number of servers."""
    rates: dict[int, tuple[float, float]] = {}
    running = [*cluster.replicas]
    while True:
        rate, processor_ms = rates[len(running)] = _rate(cluster, running)
        print(f"{len(running)} servers: {rate:6.0f} reads a second, {processor_ms:.2f} ms of processor time each")
        leaving = next((replica for replica in running if not replica.owns()), None)
        if leaving is None:
            return {"servers: reads a second, processor ms": dict(sorted(rates.items()))}, []
        leaving.end(signal.SIGTERM)
        running.remove(leaving)
        time.sleep(3)  # for the balancer to notice


def _processor_ms(caller: _Caller, process: int) -> float:
    """Return the processor milliseconds of one write, without those of the database."""
    before = processor_seconds(process)
    for _ in range(_CALLS):
        due = time.monotonic() + _PACE  # the same for all: the index takes writes that come quickly together
        if not caller.write():
            raise RuntimeError("a write was refused")
        time.sleep(max(due - time.monotonic(), 0))
    return (processor_seconds(process) - before) * 1000 / _CALLS


def _rate(cluster: Cluster, running: list[Replica]) -> tuple[float, float]:
    counts = [0] * _CLIENTS
    before = sum(replica.processor_seconds() for replica in running)
    end = time.monotonic() + _SECONDS

    def work(number: int) -> None:
        caller = _Caller(cluster.address, cluster.port, cluster.key)
        while time.monotonic() < end:
            counts[number] += caller.read()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    processor = sum(replica.processor_seconds() for replica in running) - before
    return sum(counts) / _SECONDS, processor * 1000 / max(sum(counts), 1)
