"""The measures over stdio and the measured processes. Takes samples only; the report compares them."""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
from pathlib import Path

from bench import sample_vault
from bench.client import INITIALIZE, INITIALIZED, LIST_TOOLS, Server, run_to_exit

_HERE = Path(__file__).parent

FLOOR = "python -c pass"
COMMAND = "vaultwire"
MODULE = "python -m vaultwire"
RIVAL = "mcp SDK"
LOOP = "bare loop"

# Calls timed per process, behind a tenth as many that are not; the rival's are fewer because they take so long.
_CALLS = {COMMAND: 2000, LOOP: 2000, RIVAL: 1000}
_IN_FLIGHT = 64
# Calls that walk the whole vault take a hundred times as long; so many still make a median.
_VAULT_CALLS, _VAULT_WARM_UP = 5, 1


class Samples(dict[tuple[str, str], list[float]]):
    """Samples by measure and by subject, one a process, in the unit at the end of the measure's name."""

    def take(self, measure: str, subject: str, value: float) -> None:
        """Add one sample."""
        self.setdefault((measure, subject), []).append(value)

    def median(self, measure: str, subject: str) -> float | None:
        """Return the median; None without samples."""
        taken = self.get((measure, subject))
        return statistics.median(taken) if taken else None


class Bench:
    """The processes under measurement, all on the vault in one folder. Each method is one round."""

    def __init__(self, vault: Path) -> None:
        self.samples = Samples()
        suffix = ".exe" if os.name == "nt" else ""
        script = os.path.join(os.path.dirname(sys.executable), "vaultwire" + suffix)
        self._floor = [sys.executable, "-c", "pass"]
        self._noop = [sys.executable, str(_HERE / "noop_server.py"), str(vault)]
        self._rival = [sys.executable, str(_HERE / "rival_sdk.py"), str(vault), str(_catalog())]
        self._loop = [sys.executable, str(_HERE / "bare_loop.py")]
        self._ours = [script, "stdio", "--vault", str(vault)]
        self._servers = {
            COMMAND: self._ours,
            MODULE: [sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault)],
            RIVAL: self._rival,
            LOOP: self._loop,
        }
        self._queries = sample_vault.queries()

    def warm_up(self) -> None:
        """Start everything once without counting: this writes the bytecode and fills the system's cache of files."""
        run_to_exit(self._floor)
        for command in [*self._servers.values(), self._noop]:
            with Server(command) as server:
                server.open()
                server.end()

    def measure_starts(self) -> None:
        """Measure one start of each."""
        self.samples.take("process ms", FLOOR, run_to_exit(self._floor) * 1e3)
        for subject, command in self._servers.items():
            with Server(command) as server:
                server.ask(INITIALIZE)
                initialized = server.seconds()
                server.send(INITIALIZED)
                server.ask(LIST_TOOLS)
                self.samples.take("initialize ms", subject, initialized * 1e3)
                self.samples.take("tools/list ms", subject, server.seconds() * 1e3)
                self.samples.take("exit ms", subject, server.end() * 1e3)

    def measure_calls(self) -> None:
        """Measure the latencies and the memory of one process of each."""
        with Server(self._loop) as server:
            server.open()
            self._take_memory(LOOP, server)
            self._take_latency("tools/call", LOOP, server, "noop", {"text": "hello"})
            self._take_throughput(LOOP, server, 5_000)
            server.end()
        with Server(self._noop) as server:
            server.open()
            self._take_latency("tools/call", COMMAND, server, "noop", {"text": "hello"})
            self._take_throughput(COMMAND, server, 5_000)
            server.end()
        with Server(self._ours) as server:
            server.open()
            self._take_latency("read_note", COMMAND, server, "read_note", {"path": sample_vault.READ_PATH})
            server.end()
        with Server(self._rival) as server:
            server.open()
            self._take_latency("tools/call", RIVAL, server, "noop", {"text": "hello"})
            self._take_throughput(RIVAL, server, 500)
            server.end()
        with Server(self._rival) as server:
            server.open()
            server.call("noop", {"text": "hello"})
            server.call("read_note", {"path": sample_vault.READ_PATH})
            self._take_memory(RIVAL, server)
            self._take_latency("read_note", RIVAL, server, "read_note", {"path": sample_vault.READ_PATH})
            server.end()
        self._measure_vault()

    def _measure_vault(self) -> None:
        """Measure what depends on the vault's size. Memory first, as after a client's first requests."""
        common, rare = self._queries["common"], self._queries["rare"]
        name = Path(sample_vault.READ_PATH).stem
        with Server(self._ours) as server:
            server.open()
            server.call("search_notes", {"query": common})
            server.call("list_notes", {})
            server.call("read_note", {"path": sample_vault.READ_PATH})
            server.call("search_by_tags", {"tags": [sample_vault.TAG]})
            self._take_memory(COMMAND, server)
            for measure, tool, arguments in (
                ("search_notes, common word, ms", "search_notes", {"query": common}),
                ("search_notes, rare word, ms", "search_notes", {"query": rare}),
                ("search_by_tags ms", "search_by_tags", {"tags": [sample_vault.TAG]}),
                ("list_notes ms", "list_notes", {}),
                ("read_note by bare name ms", "read_note", {"path": name}),
            ):
                taken = server.round_trips(tool, arguments, _VAULT_CALLS, _VAULT_WARM_UP)
                self.samples.take(measure, COMMAND, statistics.median(taken) * 1e3)
            server.end()

    def _take_latency(
        self, measure: str, subject: str, server: Server, tool: str, arguments: dict[str, object]
    ) -> None:
        taken = sorted(server.round_trips(tool, arguments, _CALLS[subject], _CALLS[subject] // 10))
        self.samples.take(f"{measure} p50 us", subject, taken[len(taken) // 2] * 1e6)
        self.samples.take(f"{measure} p99 us", subject, taken[len(taken) * 99 // 100] * 1e6)

    def _take_throughput(self, subject: str, server: Server, times: int) -> None:
        rate = server.throughput("noop", {"text": "hello"}, times, _IN_FLIGHT)
        self.samples.take("calls/s", subject, rate)

    def _take_memory(self, subject: str, server: Server) -> None:
        memory = server.memory()
        if memory is not None:
            self.samples.take("memory MiB", subject, memory["VmRSS"])
            self.samples.take("peak memory MiB", subject, memory["VmHWM"])


def _catalog() -> Path:
    """Return our tools' descriptions, so that the rival lists the same."""
    spec = importlib.util.find_spec("vaultwire")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "toolkit" / "catalog.json"
