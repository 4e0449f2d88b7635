"""The state of an editor, without a wire: what the person sees, and the diffs that its clients have opened.

A diff is a proposal in the vault's store, tied to the client that waits for its answer. The store is on disk, and any process
may decide. Nothing is written to the vault here: the client writes the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.errors import STALE_EDIT, VaultError
from vaultwire.vault.holding.holding import Holding, diff_of
from vaultwire.vault.holding.proposals import Proposal as Stored
from vaultwire.vault.settings.obsidian_settings import CONFIG_FOLDER, CachedFile
from vaultwire.vault.value_types import VaultPath

# ---------------------------------------------------------------------- diffs
#
# The Recorder records in the journal what clients have written after their diff was accepted. A client writes the file
# itself, a moment after it is answered. The bytes before are those that its proposal was made from, so the record can be
# made, also by the next process, as soon as the file holds the new text.

# A client writes within a second of the answer. One that was suspended, or asks the person again, may take longer.
_SECONDS = 180.0
# Of a diff that is closed without an answer from here. The person may have accepted it in the terminal.
_TERMINAL_SECONDS = 30.0
# A file is not read half-written: another text than the accepted one must stay for so long.
_SETTLED_SECONDS = 1.0
# Another text that comes later than this is not the client's: the person may have edited the note.
_OTHER_SECONDS = 10.0
_NS = 1_000_000_000
_BOM = b"\xef\xbb\xbf"


class _Expected(NamedTuple):
    """A write that may come since the moment ``began``: ``text`` without BOM and with ``\\n``. ``until`` it is waited for.

    ``other`` is a text that was found instead of it, since ``since``.
    """

    proposal: Stored
    text: str
    began: float
    until: float
    other: bytes | None = None
    since: float = 0.0


class Recorder:
    """The writes that are waited for. Safe to use from several threads."""

    def __init__(self, holding: Callable[[], Holding]) -> None:
        self._holding = holding
        self._lock = threading.Lock()
        self._expected: dict[int, _Expected] = {}

    def expect(self, proposal: Stored, seconds: float | None = None) -> None:
        """Wait for the write of a diff that was accepted, or that was withdrawn because it was answered in the terminal."""
        if proposal.outside:  # its content must not be read
            return
        step = diff_of(proposal)
        data = (step.after or b"") if proposal.edited_text is None else proposal.edited_text.encode("utf-8", "replace")
        now = time.monotonic()
        if seconds is None:
            seconds = _SECONDS if proposal.state == "accepted" else _TERMINAL_SECONDS
        expected = _Expected(proposal, plain_text(data), now, now + seconds)
        if step.before is not None and plain_text(step.before) == expected.text:
            return
        with self._lock:
            self._expected[proposal.id] = expected

    def resume(self, proposal: Stored) -> None:
        """Wait for the write of a diff that was accepted a short time ago, while another process was the bridge."""
        left = _SECONDS - (time.time_ns() - proposal.decided_ns) / _NS
        if 0 < left <= _SECONDS and not self._holding().is_recorded(proposal.id):
            self.expect(proposal, left)

    def look(self, *, is_last: bool = False) -> None:
        """Record the writes that have been made. ``is_last``: nobody looks again, so nothing is waited for."""
        with self._lock:
            waiting = list(self._expected.values())[::-1]
        # The latest first: one write is recorded once, for the proposal that was answered last.
        for expected in waiting:
            if expected.proposal.id not in self._expected:
                continue
            after = self._look_at(expected, is_last=is_last)
            with self._lock:
                if after is None:
                    self._expected.pop(expected.proposal.id, None)
                elif self._expected.get(expected.proposal.id) is expected:
                    self._expected[expected.proposal.id] = after

    def _look_at(self, expected: _Expected, *, is_last: bool) -> _Expected | None:
        """Return what to wait for from now on, None for nothing."""
        step = diff_of(expected.proposal)
        now = time.monotonic()
        try:
            data = self._holding().bytes_at(step.path)
            if data is not None and data != step.before:
                if plain_text(data) == expected.text:
                    self._record(expected, data)
                    return None
                is_client = expected.proposal.state == "accepted" and now - expected.began <= _OTHER_SECONDS
                if expected.other != data:
                    expected = expected._replace(other=data, since=now)
                elif is_client and now - expected.since >= _SETTLED_SECONDS:
                    self._record(expected, data)
                    return None
        except VaultError as error:
            # Else it may not be read any more, or the journal cannot be written: nothing can be recorded.
            if error.code != STALE_EDIT:
                return None
        return expected if now < expected.until and not is_last else None

    def _record(self, expected: _Expected, data: bytes) -> None:
        self._holding().record(expected.proposal, data)
        path = diff_of(expected.proposal).path
        with self._lock:  # a write that comes later is of a diff that comes later
            self._expected = {n: each for n, each in self._expected.items() if diff_of(each.proposal).path != path}


def restyled(text: str, before: bytes | None) -> str:
    """Return a client's text with the BOM and the line ends of the file: clients send ``\\n`` for any."""
    if before is None:
        return text
    if before.startswith(_BOM) and not text.startswith("\ufeff"):
        text = f"\ufeff{text}"
    elif not before.startswith(_BOM):
        text = text.removeprefix("\ufeff")
    crlf = before.count(b"\r\n")
    return text.replace("\n", "\r\n") if "\r" not in text and crlf and crlf * 2 > before.count(b"\n") else text


# Between two looks for decisions of other processes, and for the writes of clients.
_LOOK_SECONDS = 0.25
TOOL = "openDiff"


class Decision(NamedTuple):
    """The person's decision. ``text`` is what they accepted, perhaps after editing it; None means refused."""

    text: str | None


class Diff(NamedTuple):
    """What a client proposes: ``new`` for the file at ``path``. ``label`` is the client's name for the diff.

    ``before`` are the file's bytes, None for a new file. ``outside`` is the absolute path of a file whose content must not
    be shown, and whose ``path`` is only its name; "" for any other.
    """

    path: str
    label: str
    before: bytes | None
    new: str
    outside: str = ""


class Proposal(NamedTuple):
    """A diff that waits; ``id`` as people see it. Texts have ``\\n`` line ends; ``old`` is None if it must not be shown."""

    id: str
    path: str
    label: str
    old: str | None
    new: str


class _Asker(NamedTuple):
    """A client that waits for the decision on its text."""

    diff: Diff
    owner: object
    on_decision: Callable[[Decision], None]


class Proposals:
    """The diffs whose clients are connected to this process. Safe to use from several threads; each is decided once."""

    def __init__(self, holding: Callable[[], Holding]) -> None:
        """``holding``: where the vault keeps its proposals, opened when it is first needed."""
        self._holding = holding
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._askers: dict[int, _Asker] = {}
        self._stamp: Hashable = object()
        self._listeners: list[Callable[[], None]] = []
        self._recorder = Recorder(holding)
        self._ended = threading.Event()

    def listen(self, on_change: Callable[[], None]) -> None:
        """Call ``on_change``, on any thread, when proposals are added or decided, by any process that is noticed."""
        self._listeners.append(on_change)

    def propose(self, diff: Diff, author: Author, owner: object, on_decision: Callable[[Decision], None]) -> str:
        """Store a proposal and return its id. ``on_decision`` is called once, on any thread.

        Raises ValueError if it cannot be stored.
        """
        after = restyled(diff.new, diff.before).encode("utf-8", "replace")
        step = Write(VaultPath(diff.path), diff.before, after)
        try:
            with self._lock:  # so that a look does not see it before its asker
                stored = self._holding().proposals.add("diff", author, [step], diff.label, diff.outside)
                self._askers[stored.id] = _Asker(diff, owner, on_decision)
        except OSError as error:
            raise ValueError(f"the change cannot be kept for the person: {error.strerror or error}") from None
        except VaultError as error:
            raise ValueError(error.message) from None
        self._tell()
        return f"p{stored.id}"

    @property
    def waiting(self) -> list[Proposal]:
        """The proposals without a decision, the oldest first."""
        with self._lock:
            return [_shown(number, asker.diff) for number, asker in sorted(self._askers.items())]

    def decide(self, id: str, decision: Decision) -> bool:  # noqa: A002 - the field's name
        """Decide a proposal, and answer its client at once. False if it is decided already. Raises VaultError."""
        number = int(id[1:]) if id[:1] == "p" and id[1:].isdecimal() else 0
        asker = self._askers.get(number)
        if asker is None:
            return False
        with contextlib.suppress(VaultError) if decision.text is None else contextlib.nullcontext():
            if decision.text is None:
                self._holding().refuse(number)
            else:
                is_same = decision.text == asker.diff.new
                edited = restyled(decision.text, asker.diff.before).encode("utf-8", "replace")
                self._holding().accept(number, {} if is_same else {0: edited})
        self.look()
        return True

    def withdraw(self, owner: object | None = None, label: str | None = None) -> int:
        """Withdraw the proposals of one owner, or of one label, or all: their client does not ask any more.

        Return their number. Each client is told that it is refused, should it still listen. It may have been answered in the
        terminal: what is written then is recorded if it is what was proposed.
        """
        with self._lock:
            numbers = [
                number
                for number, asker in self._askers.items()
                if (owner is None or asker.owner is owner) and (label is None or asker.diff.label == label)
            ]
        store = self._holding().proposals
        for number in numbers:
            with contextlib.suppress(OSError):
                store.decide(number, "withdrawn")
        if numbers:
            self.look()
        return len(numbers)

    # ------------------------------------------------------------------ decisions of any process

    def begin(self) -> None:
        """Withdraw what a killed process has left, and wait for the writes it waited for. For the one bridge of a vault."""
        holding = self._holding()
        for stored in holding.proposals.all():
            if stored.kind == "diff" and stored.state == "waiting":
                holding.proposals.decide(stored.id, "withdrawn")
            elif stored.kind == "diff" and stored.state == "accepted":
                self._recorder.resume(stored)

    def run(self) -> None:
        """Look for decisions of other processes, and for the writes of clients, until ``close``."""
        while not self._ended.wait(_LOOK_SECONDS):
            self.look()
            self._recorder.look()
        self._recorder.look(is_last=True)

    def close(self) -> None:
        """End ``run``."""
        self._ended.set()

    def look(self) -> None:
        """Answer the clients whose proposals are decided, by whatever process."""
        with self._looking:
            store = self._holding().proposals
            stamp = store.stamp()
            if stamp == self._stamp:
                return
            with self._lock:
                found = [(number, store.get(number)) for number in self._askers]
            self._stamp = stamp
        for number, stored in found:
            if stored is None or stored.state != "waiting":
                self._answer(number, stored)
        self._tell()

    def record(self) -> None:
        """Record what clients have written by now of what was accepted."""
        self._recorder.look()

    def _answer(self, number: int, stored: Stored | None) -> None:
        with self._lock:
            asker = self._askers.pop(number, None)
        if asker is None:
            return
        text = None
        if stored is not None and stored.state == "accepted":
            text = asker.diff.new if stored.edited_text is None else _like(asker.diff.new, stored.edited_text)
        if stored is not None and stored.state != "refused":
            self._recorder.expect(stored)  # before the client can write
        asker.on_decision(Decision(text))

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def _shown(number: int, diff: Diff) -> Proposal:
    is_unread = diff.outside and os.path.lexists(diff.outside)
    old = None if is_unread else plain_text(diff.before or b"")
    return Proposal(f"p{number}", diff.outside or diff.path, diff.label, old, diff.new)


def _like(proposed: str, edited: str) -> str:
    """Return an edited text in the form in which its client sends texts: with ``\\n`` line ends, unless it sent others."""
    text = edited if proposed.startswith("\ufeff") else edited.removeprefix("\ufeff")
    return text if "\r" in proposed else text.replace("\r\n", "\n")


# ---------------------------------------------------------------------- what the person sees
#
# ``workspace``, the plugin and commands set it; the editors' doors listen to it.


class Position(NamedTuple):
    """A place in a note: line and character, both counted from 0, as editors count."""

    line: int
    character: int


class Selection(NamedTuple):
    """The active note and the selection in it: ``path`` is its path in the vault, ``""`` if no note is open.

    ``start`` and ``end`` are the same if nothing is selected, or the cursor is not known.
    """

    path: str
    text: str = ""
    start: Position = Position(0, 0)
    end: Position = Position(0, 0)


class Mention(NamedTuple):
    """A note, or some of its lines, that the person shows an assistant. Lines count from 1; 0 means the whole note."""

    path: str
    first_line: int = 0
    last_line: int = 0


NOTHING = Selection("")


def select_lines(path: str, text: str, first: int, last: int) -> Selection:
    """Return a selection of a note's lines, counted from 1; 0 means the whole note, with nothing selected."""
    chosen = text.split("\n")[first - 1 : last] if first else []
    if not chosen:
        return Selection(path)
    end = Position(first + len(chosen) - 2, len(chosen[-1]))
    return Selection(path, "\n".join(chosen), Position(first - 1, 0), end)


class EditorState:
    """The state of one vault's editor. Safe to use from several threads.

    ``is_private`` tells whether a path is private: no listener hears of such a note.
    """

    def __init__(self, is_private: Callable[[str], bool] = lambda _: False) -> None:
        self._is_private = is_private
        self._lock = threading.Lock()
        self._selection = NOTHING
        self._tabs: tuple[str, ...] = ()
        self._listeners: list[tuple[Callable[[Selection], None], Callable[[Mention], None], Callable[[], None]]] = []

    @property
    def selection(self) -> Selection:
        """The current selection."""
        return self._selection

    @property
    def tabs(self) -> tuple[str, ...]:
        """The paths of the open notes, with the active one."""
        return tuple(path for path in self._tabs if not self._is_private(path))

    def listen(
        self,
        on_select: Callable[[Selection], None],
        on_mention: Callable[[Mention], None] = lambda _: None,
        on_tabs: Callable[[], None] = lambda: None,
    ) -> Callable[[], None]:
        """Call these functions at changes, on the thread that makes them; return a function that ends that."""
        listener = on_select, on_mention, on_tabs
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return end

    def select(self, selection: Selection) -> None:
        """Set the selection; listeners hear of it if it is new. A private note looks to them like no note."""
        seen = NOTHING if selection.path and self._is_private(selection.path) else selection
        with self._lock:
            if seen == self._selection:
                return
            self._selection = seen
            listeners = list(self._listeners)
        for tell, _, _ in listeners:
            tell(seen)

    def open_tabs(self, paths: Sequence[str]) -> None:
        """Set the open notes; listeners hear of it if they are others than before."""
        tabs = tuple(dict.fromkeys(paths))
        with self._lock:
            if tabs == self._tabs:
                return
            self._tabs = tabs
            listeners = list(self._listeners)
        for _, _, tell in listeners:
            tell()

    def mention(self, mention: Mention) -> bool:
        """Mention a note to the listeners; False if it is private, and nobody is told."""
        if self._is_private(mention.path):
            return False
        with self._lock:
            listeners = list(self._listeners)
        for _, tell, _ in listeners:
            tell(mention)
        return True


# The app's part of it is in ``.obsidian/workspace.json``: the active note and the open notes, no cursor and no selection.
# Obsidian writes the file a moment after its layout changes. The file is not documented: unexpected content is ignored.
#
# While the person has paused sharing in our plugin, nothing is read: the plugin's settings in the vault say so also when the
# plugin is not connected yet. They do not count without the plugin: nobody could end the pause.

# Deeper than any layout of windows, splits and tabs.
_MAX_DEPTH = 50


class Workspace(NamedTuple):
    """The active file (``""`` for none) and the open files, as paths in the vault."""

    active: str
    tabs: tuple[str, ...]


class WorkspaceWatcher:
    """Sets an editor's state from the file. Call ``look`` as often as a person would notice; it costs one ``stat``."""

    def __init__(self, root: str, state: EditorState) -> None:
        """``root`` is the vault's folder."""
        config = os.path.join(root, CONFIG_FOLDER)
        self._file = CachedFile(os.path.join(config, "workspace.json"))
        self._settings = CachedFile(os.path.join(config, "plugins", "vaultwire", "data.json"))
        self._plugin = os.path.join(config, "plugins", "vaultwire", "manifest.json")
        self._was_paused = False
        self._state = state
        self._text: str | None = None
        self._active: str | None = None

    def look(self) -> None:
        """Update the state. An unchanged active note is not set again: others may know the cursor in it."""
        if self._is_paused():
            self._text = self._active = None
            self._state.open_tabs(())
            self._state.select(NOTHING)
            return
        text = self._file.content().text
        if text == self._text:
            return
        self._text = text
        workspace = None if text is None else read_workspace(text)
        if workspace is None:
            return
        self._state.open_tabs(workspace.tabs)
        if workspace.active != self._active:
            self._active = workspace.active
            self._state.select(Selection(workspace.active))

    def _is_paused(self) -> bool:
        settings = self._settings.content()
        try:
            said = json.loads(settings.text or "")
        except (ValueError, RecursionError):
            # The file is gone, or is being written at this moment: a pause must not end for that moment.
            self._was_paused = self._was_paused and (settings.text is not None or bool(settings.problem))
        else:
            self._was_paused = isinstance(said, dict) and said.get("paused") is True
        return self._was_paused and os.path.exists(self._plugin)


def read_workspace(text: str) -> Workspace | None:
    """Return the content of the file, None if it cannot be understood."""
    try:
        layout = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(layout, dict):
        return None
    files = dict(_leaves(layout.get("main"), 0))
    active = layout.get("active")
    front = files.get(active, "") if isinstance(active, str) else ""
    if not front:  # a graph or a sidebar is active: the person saw the last opened file
        latest = layout.get("lastOpenFiles")
        candidates = [path for path in latest if isinstance(path, str)] if isinstance(latest, list) else []
        open_files = set(files.values())
        front = next((path for path in candidates if path in open_files), next(iter(files.values()), ""))
    return Workspace(front, tuple(dict.fromkeys(files.values())))


def _leaves(part: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the id and the file of every leaf that shows a file."""
    if not isinstance(part, dict) or depth > _MAX_DEPTH:
        return
    state = part.get("state")
    if part.get("type") == "leaf" and isinstance(state, dict):
        inner = state.get("state")
        path = inner.get("file") if isinstance(inner, dict) else None
        if isinstance(path, str) and path and isinstance(part.get("id"), str):
            yield part["id"], path
    children = part.get("children")
    for child in children if isinstance(children, list) else []:
        yield from _leaves(child, depth + 1)
