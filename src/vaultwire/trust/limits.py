"""Limits for clients: the numbers, each with its reason, those that the person chose, and the count of calls in a minute.

``Rates`` counts in sliding windows for each client, also with other servers; its caller decides what one client is. Others
enforce the other limits.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias

    CallKey: TypeAlias = tuple[tuple[str, str], str, int]
    """A client (``Peer.identity``), the name of a tool or method ("" for all together), how many calls a minute may have."""
    Calls: TypeAlias = dict[CallKey, list[float]]
    """Calls, each as the seconds since it was made."""

    class CallRows(Protocol):
        """The calls that several servers have counted, in a database."""

        def exchange(self, calls: Calls, /) -> Calls:
            """Keep calls for the other servers; return those of the others not returned before. Raises OSError."""


# From the contract ("Resource Limits": maxFileSize, timeouts).
MAX_NOTE_BYTES = 10 * 1024 * 1024

# As base64 in one JSON message these are 7 MB, which clients still accept. Most pictures and PDFs are smaller.
MAX_ATTACHMENT_BYTES = 5 * 1024 * 1024

# A message over HTTP: room for the largest note, unless every second character needs an escape. Less than the 64 MiB of
# stdio, which has one client: here each of many clients may send so much.
MAX_MESSAGE_BYTES = 16 * 1024 * 1024

# A message over the editors' WebSocket, in either direction: a note of the largest size, also as JSON that escapes much of it.
MAX_EDITOR_MESSAGE_BYTES = 40 * 1024 * 1024

# Calls in flight on one server, for all clients together. A batch has up to 1000 calls, and there are fewer connections. Only
# a client that disconnects from its calls and sends more reaches this.
MAX_CALLS = 1200

# The contract gives a web search 10 seconds. That search has its own, earlier timeout and error.
SECONDS_BY_TIME_CLASS = {"file": 30.0, "search": 60.0, "web": 15.0}
"""How long a call of each class may take before its caller gets TIMEOUT."""

# The contract's rates a minute: of each tool, of each tool that changes something, and of the one that costs others money.
CONTRACT_RATES = {"each": 60, "changes": 30, "web_search": 20}

# A working assistant makes hundreds of calls a minute, and they harm nobody. Only a search engine counts them.
USUAL_RATES = {"web_search": 20}

_MAX_A_MINUTE = 1_000_000
_MAX_SECONDS = 3600.0
_HTTPS = "https://"


class ClientLimits:
    """The limits of one run from the command line, in addition to the policy's file. By default there are none.

    ``audit``: the file of the log; ``strict``: what cannot be logged is refused. ``rates``: calls a minute, by the names of
    this module; None for the default ones. ``seconds``: by time class. ``most_characters``: of an answer. ``size``: the
    set of listed tools; ``profile``: the kind of client that all are taken for; ``with_tools``: listed in addition;
    ``without_tools``: removed. ``hosts``: tools may connect to them.
    ``attachments_from``: where the files for attachments may come from: absolute paths of folders, and hosts after ``https://``.
    """

    audit: str | None = None
    strict = False
    rates: dict[str, int] | None = None
    seconds = SECONDS_BY_TIME_CLASS
    most_characters: int | None = None
    size = "standard"
    profile: str | None = None
    with_tools: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    attachments_from: tuple[str, ...] = ()

    @property
    def are_any(self) -> bool:
        """Whether one of them is not the default."""
        return any(value != getattr(ClientLimits, name) for name, value in vars(self).items())

    @property
    def attachment_folders(self) -> list[str]:
        """The folders of ``attachments_from``."""
        return [each for each in self.attachments_from if not each.startswith(_HTTPS)]

    @property
    def attachment_hosts(self) -> list[str]:
        """The hosts of ``attachments_from``."""
        return [each.removeprefix(_HTTPS) for each in self.attachments_from if each.startswith(_HTTPS)]


def read_rate(text: str) -> tuple[str, int]:
    """Return the name of a rate and its calls a minute, from ``N`` (all calls) or ``NAME=N``.

    Raises ValueError, with one line for a person.
    """
    name, equals, number = text.rpartition("=")
    if not (number.isascii() and number.isdecimal() and int(number) <= _MAX_A_MINUTE) or (equals and not name):
        raise ValueError(
            f"not a rate: {text!r}. Give calls a minute such as 600, or those of a tool such as read_note=60"
        )
    return name or "total", int(number)


def read_seconds(text: str) -> tuple[str, float]:
    """Return a time class and its seconds: ``CLASS=SECONDS``. Raises ValueError, with one line for a person."""
    name, _, number = text.partition("=")
    try:
        seconds = float(number)
    except ValueError:
        seconds = 0.0
    if name not in SECONDS_BY_TIME_CLASS or not 0 < seconds <= _MAX_SECONDS:
        classes = ", ".join(SECONDS_BY_TIME_CLASS)
        raise ValueError(f"not a time: {text!r}. Give seconds for one of {classes}, such as search=20")
    return name, seconds


WINDOW_SECONDS = 60.0

TOTAL, EACH, CHANGES = "total", "each", "changes"
"""The rates that are not of one tool: all calls of a client, calls of each tool, of each tool that changes the vault."""

# Seconds. A client that waits as told must get in, however the numbers round.
_ROUNDING = 1e-6
# Without keys, clients choose their own names. A client that makes up many names must not fill the memory.
_MAX_WINDOWS = 10_000


class TooOften(Exception):  # noqa: N818 - a refusal, no error
    """Too many calls in the last minute; ``retry_after`` is in whole seconds, at least 1."""

    def __init__(self, most: int, of: str, retry_after: int) -> None:
        super().__init__(f"at most {most} {of} a minute; try again in {retry_after} seconds")
        self.retry_after = retry_after


class Rates:
    """The calls of the last minute, by client. Safe to use from several threads."""

    def __init__(self, most: Mapping[str, int], now: Callable[[], float]) -> None:
        """``most``: calls in a minute, by a tool's name or by TOTAL, EACH and CHANGES; others are not limited.

        A tool's own number is used before CHANGES, and CHANGES before EACH. ``now``: seconds of a monotonic clock.
        """
        self._most = dict(most)
        self._now = now
        self._lock = threading.Lock()
        self._windows: dict[CallKey, deque[float]] = {}  # the one used last is last
        self._new: dict[CallKey, deque[float]] | None = None  # what other servers are to count, too
        self._reach_all: Collection[str] = ()

    def share(self, reach_all: Collection[str]) -> None:
        """Keep calls for other servers from now on, until the next ``exchange``.

        ``reach_all``: methods whose requests go to all servers, so that each of them counts them by itself.
        """
        self._new, self._reach_all = {}, reach_all

    def exchange(self, rows: CallRows) -> None:
        """Hand over what was counted here since the last time, and count what other servers have. Raises OSError.

        No call waits for it. What could not be handed over counts here only. What comes in is counted afterwards, so it may be
        more than a minute may have: that counts for the minutes that follow. Else a client could make too many calls each
        minute, all at once.
        """
        now = self._now()
        with self._lock:
            new, self._new = self._new or {}, {}
        calls = {key: [now - at for at in times if at > now - WINDOW_SECONDS] for key, times in new.items()}
        others = rows.exchange({key: ages for key, ages in calls.items() if ages})
        now = self._now()
        with self._lock:
            for key, ages in others.items():
                window = self._current(key, now)
                times = sorted((*window, *(now - age for age in ages)))
                for place in range(key[2], len(times)):
                    times[place] = max(times[place], times[place - key[2]] + WINDOW_SECONDS)
                window.clear()
                window.extend(times)
            _drop_oldest(self._windows)

    def count(self, client: tuple[str, str], tool: str, *, changes: bool, also: Collection[str] = ()) -> None:
        """Count a call. Raises TooOften; a refused call does not count.

        ``also``: tools whose work the call does, too. It counts for those that have a number of their own.
        """
        most = self._most.get(tool)
        if most is None:
            most = self._most.get(CHANGES) if changes else None
        if most is None:
            most = self._most.get(EACH)
        keys = [] if most is None else [(client, tool, most)]
        keys += [(client, name, self._most[name]) for name in also if name in self._most]
        keys += [(client, "", self._most[TOTAL])] if TOTAL in self._most else []
        now = self._now()
        with self._lock:
            windows = [self._checked(key, now) for key in keys]
            for window in windows:
                window.append(now)
            if self._new is not None and tool not in self._reach_all:
                for key in keys:
                    self._new.setdefault(key, deque(maxlen=key[2])).append(now)
                _drop_oldest(self._new)
            _drop_oldest(self._windows)

    def _checked(self, key: CallKey, now: float) -> deque[float]:
        """Return the window without calls older than a minute. Raises TooOften if it is full. The caller holds the lock."""
        window, (_, name, most) = self._current(key, now), key
        if len(window) >= most:
            free_at = window[len(window) - most] + WINDOW_SECONDS if most else now + WINDOW_SECONDS
            of = f"calls of {name}" if name else "calls"
            raise TooOften(most, of, max(1, math.ceil(free_at - now)))
        return window

    def _current(self, key: CallKey, now: float) -> deque[float]:
        """Return the window without calls older than a minute, as the one used last. The caller holds the lock."""
        window = self._windows.pop(key, None)
        if window is None:
            window = deque()
        self._windows[key] = window
        while window and window[0] <= now - WINDOW_SECONDS + _ROUNDING:
            window.popleft()
        return window


def _drop_oldest(entries: dict[CallKey, Any]) -> None:
    while len(entries) > _MAX_WINDOWS:
        del entries[next(iter(entries))]
