"""Clients that append, read, search and edit in many vaults while servers fail, and an account of every answer they got.

Each client has a note of its own in each vault and appends numbered lines to it, so every line is accounted for: one that
was acknowledged is there once, whole and in its place; one that was refused with "nothing was done" is not there; one without
an answer is there once or not at all. Notes that all clients edit with ``if_match`` have a history, for
``support.linearizability``.
"""

from __future__ import annotations

import enum
import http.client
import json
import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from support.linearizability import NEVER, Call, misfit

FIRST = "text 0 of nobody"
_ETAG = re.compile(r"etag (\w+)")
# Of the servers in between, which tell nothing themselves: nobody was there to take the request.
_NOT_SENT = http.client.SERVICE_UNAVAILABLE
_BUSY = (http.client.SERVICE_UNAVAILABLE, http.client.TOO_MANY_REQUESTS)


_LAST_CALLS_SECONDS = 60.0


class Outcome(enum.Enum):
    """What the client knows after a call."""

    DONE = "done"
    STALE = "stale"  # the note was another
    REFUSED = "refused"  # nothing was done, and the answer says so
    UNKNOWN = "unknown"  # no answer, or one that says so


class Answer(NamedTuple):
    """An answer: the text of a tool, or why there is none."""

    outcome: Outcome
    text: str


Send: TypeAlias = Callable[[str, dict[str, Any]], Answer]
"""Calls a tool. Raises WrongAnswerError for an answer that no failure of a server excuses."""


class WrongAnswerError(Exception):
    """An answer that is not right whatever has failed."""


class Door:
    """Calls tools over REST at one address, on a connection that is kept."""

    def __init__(self, address: str, port: int, key: str, seconds: float) -> None:
        """``seconds`` is how long it waits for an answer."""
        self._connection = http.client.HTTPConnection(address, port, timeout=seconds)
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}

    def __call__(self, tool: str, arguments: dict[str, Any]) -> Answer:
        body = json.dumps({"arguments": arguments}).encode()
        try:
            self._connection.request("POST", f"/bridge/v1/tools/{tool}/call", body, self._headers)
            reply = self._connection.getresponse()
            data = reply.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return Answer(Outcome.UNKNOWN, f"{type(error).__name__}")
        return classify(reply.status, data)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def classify(status: int, body: bytes) -> Answer:
    """Return what an answer of a server, or of one in between, means. Raises WrongAnswerError."""
    try:
        reply = json.loads(body)
    except ValueError:
        if status not in (_NOT_SENT, http.client.BAD_GATEWAY, http.client.GATEWAY_TIMEOUT):
            raise WrongAnswerError(f"{status} {body[:200]!r}") from None
        return Answer(Outcome.REFUSED if status == _NOT_SENT else Outcome.UNKNOWN, f"{status} of the balancer")
    if status == http.client.OK:
        text = "\n".join(part["text"] for part in reply["content"])
        if reply["success"]:
            return Answer(Outcome.DONE, text)
        if text.startswith("Error: STALE_EDIT"):
            return Answer(Outcome.STALE, text)
        if text.startswith("Error: SERVER_BUSY") or "and perhaps it is made" in text:
            return _busy(text)
        raise WrongAnswerError(text)
    if status in _BUSY and "SERVER_BUSY" in (reply["error"], reply["message"].partition(":")[0]):
        return _busy(reply["message"])
    raise WrongAnswerError(f"{status} {body[:200]!r}")


def _busy(message: str) -> Answer:
    return Answer(Outcome.UNKNOWN if "perhaps" in message else Outcome.REFUSED, message)


class Done(NamedTuple):
    """A call that has ended, for the figures."""

    began: float
    ended: float
    kind: str
    vault: str
    outcome: Outcome
    text: str


class Log:
    """A note that one client alone appends to."""

    def __init__(self, client: int, vault: str) -> None:
        self.path = f"Log{client}.md"
        self._client, self._vault = client, vault
        self.sent: list[Outcome] = [Outcome.DONE]  # of line 0, which was there at first
        self.refusals: dict[int, str] = {}

    def line(self, number: int) -> str:
        """Return the line of this number. Its length differs, so that a torn one shows."""
        return f"line {number} word{self._client}x{number} {'.' * (number * 37 % 211)} end of {number}"

    def faults(self, text: str) -> list[str]:
        """Return in words what is lost, doubled, torn, at another place, or there though it was refused."""
        numbers: list[int] = []
        faults: list[str] = []
        for line in text.splitlines():
            match = re.match(r"line (\d+) ", line)
            if match is None or line != self.line(int(match[1])) or int(match[1]) >= len(self.sent):
                faults.append(f"torn or never sent: {line!r}")
            else:
                numbers.append(int(match[1]))
        faults += [f"doubled: {number}" for number, count in Counter(numbers).items() if count > 1]
        kept = set(numbers)
        faults += [f"lost: {n}" for n, outcome in enumerate(self.sent) if outcome is Outcome.DONE and n not in kept]
        refused = [number for number in sorted(kept) if self.sent[number] is Outcome.REFUSED]
        faults += [f"refused, but there: {number}: {self.refusals[number]}" for number in refused]
        highest = -1
        for number in numbers:
            if number < highest and self.sent[number] is Outcome.DONE:
                faults.append(f"at another place: {number}")
            highest = max(highest, number) if self.sent[number] is Outcome.DONE else highest
            # One without an answer may come late; none stands before a line that was acknowledged before it was sent.
            faults += [
                f"too early: {number}"
                for later in numbers[numbers.index(number) + 1 :]
                if later < number and self.sent[later] is Outcome.DONE
            ]
        return [f"{self._vault}/{self.path}: {fault}" for fault in faults]


def join_all(threads: Sequence[threading.Thread], seconds: float = _LAST_CALLS_SECONDS) -> None:
    """Wait for the ends of threads. Raises TimeoutError, with the names of those that go on."""
    until = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    running = [thread.name for thread in threads if thread.is_alive()]
    if running:
        raise TimeoutError(f"after {seconds:.0f} seconds these threads have not ended: {', '.join(running)}")


class History:
    """What all clients saw of one note that all of them edit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls: list[Call] = []

    def add(self, call: Call) -> None:
        """Note a call. From any thread."""
        with self._lock:
            self.calls.append(call)


class Load:
    """What the clients share, and the account of what they did."""

    def __init__(self, vaults: Sequence[str], clients: int, seed: int) -> None:
        self.vaults, self.seed = vaults, seed
        self.is_over = threading.Event()
        self.histories: Mapping[str, History] = {vault: History() for vault in vaults}
        self.wrong: list[str] = []
        self.last_written = dict.fromkeys(vaults, 0.0)
        """When the latest write that was done began, for each vault."""
        self.clients = [_Client(number, self) for number in range(clients)]

    def make_notes(self, folders: Mapping[str, Path]) -> None:
        """Write the first notes into the folders of the vaults."""
        for vault, folder in folders.items():
            (folder / "Shared.md").write_text(FIRST)
            for client in self.clients:
                log = client.logs[vault]
                (folder / log.path).write_text(log.line(0) + "\n")

    def run(self, doors: Callable[[int], Send], during: Callable[[], None]) -> None:
        """Have all clients call, each through its own ``doors(number)``, while ``during`` runs; then wait for their last calls.

        Raises TimeoutError if a call has not ended after a minute: each has a time limit of its own.
        """
        threads = [
            threading.Thread(
                target=client.run, args=(doors(client.number),), name=f"client {client.number}", daemon=True
            )
            for client in self.clients
        ]
        for thread in threads:
            thread.start()
        try:
            during()
        finally:
            self.is_over.set()
            join_all(threads)

    @property
    def done(self) -> list[Done]:
        """All calls, of one client after the other."""
        return [done for client in self.clients for done in client.done]

    def faults(self, folders: Mapping[str, Path]) -> list[str]:
        """Return in words all that was lost, doubled, torn or answered wrongly; the notes are looked at as they are now."""
        faults = [*self.wrong]
        for vault, folder in folders.items():
            for client in self.clients:
                log = client.logs[vault]
                faults += log.faults((folder / log.path).read_text())
            now = time.monotonic()
            last = Call(-1, now, now, (folder / "Shared.md").read_text())
            fault = misfit([*self.histories[vault].calls, last], FIRST)
            faults += [] if fault is None else [f"{vault}/Shared.md is not linearizable: {fault}"]
            known = {"Shared.md", *(client.logs[vault].path for client in self.clients)}
            faults += [f"left behind: {vault}/{path.name}" for path in folder.iterdir() if path.name not in known]
        return faults


class _Client:
    """One of the clients."""

    def __init__(self, number: int, load: Load) -> None:
        self.number = number
        self.logs = {vault: Log(number, vault) for vault in load.vaults}
        self.done: list[Done] = []
        self._load = load
        self._random = random.Random(load.seed * 1000 + number)
        self._edits: dict[str, int] = defaultdict(int)

    @property
    def answered(self) -> int:
        """How many of its calls were done or found the note changed."""
        return sum(call.outcome in (Outcome.DONE, Outcome.STALE) for call in self.done)

    def run(self, send: Send) -> None:
        """Call until the load is over."""
        self._send = send
        kinds = (self._append, self._read, self._search, self._edit)
        while not self._load.is_over.is_set():
            # A third of all goes to one vault, so that clients meet.
            at_first = self._random.random() < 1 / 3
            vault = self._load.vaults[0] if at_first else self._random.choice(self._load.vaults)
            kind = self._random.choices(kinds, (4, 2, 1, 3))[0]
            try:
                kind(vault)
            except WrongAnswerError as error:
                self._load.wrong.append(f"{kind.__name__}: {error}")

    def _call(self, kind: str, vault: str, tool: str, arguments: dict[str, Any]) -> Answer:
        began = time.monotonic()
        answer = self._send(tool, {**arguments, "vault": vault})
        self.done.append(Done(began, time.monotonic(), kind, vault, answer.outcome, answer.text[:200]))
        if answer.outcome is Outcome.DONE and tool == "write_note":
            self._load.last_written[vault] = began
        if answer.outcome is Outcome.REFUSED:
            self._load.is_over.wait(0.2)  # for the while that it asks for is longer than a test has
        return answer

    def _append(self, vault: str) -> None:
        log = self.logs[vault]
        number = len(log.sent)
        log.sent.append(Outcome.UNKNOWN)
        arguments = {"path": log.path, "content": log.line(number), "mode": "append"}
        answer = self._call("append", vault, "write_note", arguments)
        log.refusals[number] = answer.text
        log.sent[number] = answer.outcome

    def _read(self, vault: str) -> None:
        log = self.logs[vault]
        answer = self._call("read", vault, "read_notes", {"paths": [log.path]})
        if answer.outcome is Outcome.DONE:
            text = answer.text.rpartition(f"\n({log.path}, ")[0]
            self._load.wrong += [f"read: {fault}" for fault in log.faults(text)]

    def _search(self, vault: str) -> None:
        log = self.logs[vault]
        number = max(number for number, outcome in enumerate(log.sent) if outcome is Outcome.DONE)
        word = log.line(number).split()[2]
        answer = self._call("search", vault, "search_notes", {"query": word})
        if answer.outcome is Outcome.DONE and log.path.removesuffix(".md") not in answer.text:
            self._load.wrong.append(f"search: {word} in {vault}/{log.path} is not found: {answer.text[:300]!r}")

    def _edit(self, vault: str) -> None:
        """Read the note that all edit, and edit it if it still is what was read."""
        history = self._load.histories[vault]
        began = time.monotonic()
        answer = self._call("read shared", vault, "read_notes", {"paths": ["Shared.md"]})
        if answer.outcome is not Outcome.DONE:
            return
        text, _, about = answer.text.rpartition("\n(Shared.md, ")
        etag = _ETAG.search(about)
        if etag is None:
            raise WrongAnswerError(f"no etag: {answer.text[:300]!r}")
        history.add(Call(self.number, began, time.monotonic(), text))
        self._edits[vault] += 1
        new = f"text {self._edits[vault]} of {self.number}"
        arguments = {"path": "Shared.md", "content": new, "mode": "overwrite", "if_match": etag[1]}
        began = time.monotonic()
        outcome = self._call("edit", vault, "write_note", arguments).outcome
        if outcome is Outcome.UNKNOWN:
            history.add(Call(self.number, began, NEVER, text, new))
        elif outcome is not Outcome.REFUSED:
            history.add(Call(self.number, began, time.monotonic(), text, new, done=outcome is Outcome.DONE))
