"""Watches a vault's folder: which paths may have changed on disk since the last question.

It reports where to look again, never what happened there: some systems join events. It opens no note, updates no index and
starts no thread: the index updater calls ``Watch.wait`` in a loop. At longer intervals it also scans the whole vault,
for changes that no system reports (a write through a memory map, another machine's change on a share of macOS).
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from vaultwire.vault.disk.file_operations import folder_identity, unreported_file_system
from vaultwire.vault.disk.paths import IGNORE_FILE

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

    from vaultwire.vault.disk.inotify import Inotify

# On Linux the kernel is asked directly (``vault.disk.inotify``), elsewhere ``watchfiles`` is used. It polls once a step: an
# edit is known after 23 ms on average. Each poll takes about 75 µs, so this step uses 0.5 % of a processor all day.
_STEP_MS = 15
# Events that do not stop are returned in parts of this length, so that indexing starts before a sync ends.
_DEBOUNCE_MS = 60
# Four steps: with less time the library would never return any events.
_SHORTEST_WAIT = 4 * _STEP_MS / 1000
# Where the kernel has no inotify (emulated processors) the library walks the vault instead, this often. Its default is
# every 300 ms.
_POLL_MS = 3000
# The library watches a new folder only after it reported it, under many events more than 100 ms later. Files put into the
# folder meanwhile are not reported, so the folder is reported once more after this time.
_REPORT_AGAIN_SECONDS = 0.5

# inotify drops events when its queue is full, and ``watchfiles`` does not report that. A save makes four to seven events and
# at least one entry here. So a batch this many times smaller than the queue is complete; of a larger batch entries may be
# missing, and the whole vault is reported. The file: inotify(7), "/proc interfaces". Without it the kernel's default is
# assumed, also on macOS, where the system joins events before it drops any.
_EVENTS_PER_ENTRY = 8
_MAX_QUEUED = "/proc/sys/fs/inotify/max_queued_events"
_MAX_QUEUED_DEFAULT = 16_384
# Windows puts events of about 200 bytes each into a buffer of 16 KB, some 80 events, and a change is up to three. The
# library does not notice when the buffer was too small.
_MOST_ENTRIES_ON_WINDOWS = 25

_SETTINGS_FOLDER = ".obsidian"
# These say which panes are open. They are written at every click and hold no settings.
_NO_SETTINGS = frozenset(["workspace.json", "workspace-mobile.json"])

# The numbers of watchfiles.Change: importing the names takes 60 ms.
_ADDED = 1
_DELETED = 3


class Changes(NamedTuple):
    """Where to look again. Paths are vault-relative, with ``/``, spelt as the system reports them.

    ``paths`` are single entries that exist or are gone. ``rescan`` are folders to walk again, with all that was known below
    them; ``""`` is the whole vault. An entry that is gone may have been a folder, so it is in both.
    """

    paths: frozenset[str]
    rescan: frozenset[str]
    settings_changed: bool


NO_CHANGES = Changes(frozenset(), frozenset(), settings_changed=False)
EVERYTHING = Changes(frozenset(), frozenset([""]), settings_changed=True)


def _changes(paths: set[str], rescan: set[str], *, settings_changed: bool) -> Changes:
    """Return the changes. If the whole vault is to be walked again, single paths and folders are left out."""
    if "" in rescan:
        return Changes(frozenset(), frozenset([""]), settings_changed)
    return Changes(frozenset(paths), frozenset(rescan), settings_changed)


class Unwatchable(Exception):  # noqa: N818 - a reason for a person, not an error
    """The vault cannot be watched; the text says why."""


class _TimeUp(Exception):  # noqa: N818 - the ordinary end of a wait
    """The wait has lasted as long as it was asked to."""


class _WaitEnd:
    """What the library asks at every step whether to stop.

    The end of the time is an exception, not the library's own timeout: that drops the events since its last poll, as a stop
    does. An exception leaves them to the next wait.
    """

    def __init__(self, closing: threading.Event, until: float) -> None:
        self._closing = closing
        self._until = until

    def is_set(self) -> bool:
        """Tell whether the watch is being closed. Raises _TimeUp at the end of the time."""
        if self._closing.is_set():
            return True
        if time.monotonic() >= self._until:
            raise _TimeUp
        return False

    def remaining(self) -> float:
        """Return how many seconds are left."""
        return self._until - time.monotonic()


class Watch:
    """The watches on one vault. They are in place once the object exists. ``wait`` is for one thread, ``close`` for any."""

    def __init__(self, root: str) -> None:
        """Raises Unwatchable."""
        self._root = os.path.realpath(root)  # the system reports no other paths
        self._prefix = os.path.join(self._root, "")
        self._most = _most_entries()
        self._closing = threading.Event()
        self._waiting = threading.Lock()
        self._again: frozenset[str] = frozenset()  # folders to report once more, and when
        self._again_at = 0.0
        self._native: Inotify | RustNotify | None = None
        self._wake: Callable[[], None] | None = None
        self._start()

    @property
    def is_alive(self) -> bool:
        """Whether changes are still reported."""
        return self._native is not None and not self._closing.is_set()

    def wait(self, seconds: float) -> Changes:
        """Return the changes since the last call, as soon as there are any; no changes after ``seconds``, at least 0.06.

        The call in which a watch fails reports the whole vault; later calls wait out the time and report nothing. A closed
        watch returns at once. Other threads run meanwhile.
        """
        with self._waiting:
            native = self._native
            if native is None:
                self._closing.wait(seconds)
                return NO_CHANGES
            until = time.monotonic() + max(seconds, _SHORTEST_WAIT)
            if self._again:
                until = min(until, self._again_at)
            try:
                events = native.watch(_DEBOUNCE_MS, _STEP_MS, 0, _WaitEnd(self._closing, until))
            except _TimeUp:
                return self._quiet()
            except Exception:  # noqa: BLE001 - no error of the library may end the caller's thread
                return self._restart()
            if events == "signal":  # only in the main thread; Python's own handler has raised
                raise KeyboardInterrupt
            return NO_CHANGES if isinstance(events, str) else self._to_changes(events)

    def close(self) -> None:
        """Stop watching. A thread in ``wait`` returns within a step; may be called twice."""
        self._closing.set()
        if self._wake is not None:
            with contextlib.suppress(OSError):  # closed meanwhile
                self._wake()
        with self._waiting:
            if self._native is not None:
                self._native.close()
            self._native = None

    def _start(self) -> None:
        """Put the watches in place. Raises Unwatchable."""
        refused = unreported_file_system(self._root)
        if refused:
            raise Unwatchable(f"it lies on a file system ({refused}) that does not report what other machines change")
        try:
            self._identity = folder_identity(self._root)
            if sys.platform == "linux":
                from vaultwire.vault.disk.inotify import Inotify  # noqa: PLC0415 - knows Linux only

                self._native = Inotify(self._root, _is_watched)
                self._wake = self._native.wake
            else:
                # One folder that may not be read makes this fail as a whole. The library could ignore it, but would then
                # ignore all folders after it too.
                from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - not used on Linux

                self._native = RustNotify([self._root], False, False, _POLL_MS, True, False)
        except ImportError as error:
            raise Unwatchable("the library watchfiles is not installed, or not for this system") from error
        except (OSError, RuntimeError, TypeError, ValueError) as error:  # limits reached, folders that are not readable
            raise Unwatchable(f"the system refuses: {error}") from error

    def _restart(self) -> Changes:
        """Put new watches in place. What happened before is unknown, so the whole vault is reported.

        After one error the library repeats it at each call. One file whose name is not UTF-8 is such an error.
        """
        if self._native is not None:
            self._native.close()
        self._native = None
        with contextlib.suppress(Unwatchable):
            self._start()
        return EVERYTHING

    def _quiet(self) -> Changes:
        """Return the changes to report when the system reported none."""
        # No system reports the end of a mount, not all report a removed root.
        if folder_identity(self._root) != self._identity:
            return self._restart()
        return _changes(set(), set(self._due()), settings_changed=False)

    def _to_changes(self, events: set[tuple[int, str]]) -> Changes:
        """Return the system's events as changes."""
        if len(events) > self._most:
            self._report_again(frozenset([""]))  # more events may come, and some be dropped, after this look
            return EVERYTHING
        if (_DELETED, self._root) in events:
            return self._restart()
        visible: list[tuple[int, str]] = []
        settings_changed = False
        linked = {"": False}
        for change, place in events:
            path = self._relative(place)
            if path is None:
                return EVERYTHING
            if path.startswith(".") or "/." in path:
                settings_changed = settings_changed or _is_settings(path)
            elif path and not self._is_below_link(path.rpartition("/")[0], linked):
                visible.append((change, path))
        return self._look_at(visible, settings_changed=settings_changed)

    def _look_at(self, events: list[tuple[int, str]], *, settings_changed: bool) -> Changes:
        """Look at each path and return the changes, with files and folders told apart."""
        paths: set[str] = set()
        rescan = set(self._due())
        new_folders: set[str] = set()
        for change, path in events:
            try:
                is_folder = stat.S_ISDIR(os.lstat(self._prefix + path).st_mode)
            except OSError:
                paths.add(path)
                rescan.add(path)
                continue
            if not is_folder:
                paths.add(path)
            elif change == _ADDED:
                new_folders.add(path)
            elif sys.platform != "win32":  # there every file put into a folder changes the folder
                rescan.add(path)
        self._report_again(frozenset(new_folders))
        return _changes(paths, rescan | new_folders, settings_changed=settings_changed)

    def _report_again(self, folders: frozenset[str]) -> None:
        if folders:
            self._again |= folders
            self._again_at = time.monotonic() + _REPORT_AGAIN_SECONDS

    def _due(self) -> frozenset[str]:
        """Return, once, the folders that are to be reported again by now."""
        if time.monotonic() < self._again_at:
            return frozenset()
        due, self._again = self._again, frozenset()
        return due

    def _relative(self, place: str) -> str | None:
        """Return an absolute path as a vault-relative one; None if its root is spelt in another way.

        Nothing is normalised: index and walk know a file by its name on the disk, and systems report that. inotify and
        Windows put the given root before it. macOS reports its own spelling of the whole path, with links resolved
        (``/private/tmp``), as in our root, but perhaps with another Unicode form.
        """
        if not place.startswith(self._prefix):
            return None
        path = place[len(self._prefix) :]
        return path.replace("\\", "/") if os.sep == "\\" else path

    def _is_below_link(self, folder: str, known: dict[str, bool]) -> bool:
        """Tell whether a part of the folder's path is a link: the library follows links, the walk does not."""
        if folder not in known:
            known[folder] = self._is_below_link(folder.rpartition("/")[0], known) or os.path.islink(
                os.path.join(self._root, folder)
            )
        return known[folder]


def _most_entries() -> int:
    """Return how many entries a batch may have without the risk of lost events."""
    if sys.platform == "win32":
        return _MOST_ENTRIES_ON_WINDOWS
    try:
        with open(_MAX_QUEUED, encoding="ascii") as file:
            queued = int(file.read())
    except (OSError, ValueError):
        queued = _MAX_QUEUED_DEFAULT
    return queued // _EVENTS_PER_ENTRY


def _is_watched(folder: str) -> bool:
    """Tell whether to watch a folder below the vault's: not a hidden one, except the settings."""
    return folder == _SETTINGS_FOLDER or not any(part.startswith(".") for part in folder.split("/"))


def _is_settings(path: str) -> bool:
    """Tell whether a hidden path holds settings that change the content of the index."""
    folder, _, name = path.rpartition("/")
    if not folder:
        return name in (IGNORE_FILE, _SETTINGS_FOLDER)
    return folder == _SETTINGS_FOLDER and name.endswith(".json") and name not in _NO_SETTINGS
