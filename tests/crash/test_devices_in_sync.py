"""Two devices, each with a server of its own, and a sync program or Git between them: no line that was added is lost.

The sync program is a stand-in with the rules of a real one: what it names a conflict copy, which version keeps the name, and
whether the other device gets the copy. Git merges itself, and leaves its marks in the note. The program looks at files while
calls are on their way, comes late, and servers are killed. One of the devices keeps edits of a note together.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from support.killing import open_changes
from vaultwire.cli.demo import StdioClient
from vaultwire.vault.changes.change import Write
from vaultwire.vault.holding.holding import Holding

# 10,000 edits in a soak, over all kinds.
EDITS = 1_250 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 24
NOTES = ("Plan.md", "Log.md", "Folder/Ideas.md")
TEXT = "# {}\n\none of the lines\nanother of them\na third\n\n## Log\n\n- begun\n"


class Kind(NamedTuple):
    """How a sync program treats a file that two devices changed.

    ``copy``: the name of the copy, of the stem and a number that makes it new. ``copied``: whose version becomes the copy.
    ``is_shared``: whether both devices get it. ``folder``: where the vault lies, as far as that tells the program.
    ``leaves_marks``: it makes no copy, but merges, with both versions in the note where they differ.
    """

    copy: Callable[[str, int], str]
    copied: Literal["first", "second", "either"]
    is_shared: bool = True
    folder: str = "Notes"
    leaves_marks: bool = False


KINDS = {
    "Obsidian Sync": Kind(
        lambda stem, n: f"{stem} (Conflicted copy ThinkPad 20260312{n // 60:02}{n % 60:02})", "second"
    ),
    "Syncthing": Kind(lambda stem, n: f"{stem}.sync-conflict-20260312-11{n // 60:02}{n % 60:02}-C5H6PTH", "either"),
    "Nextcloud": Kind(
        lambda stem, n: f"{stem} (conflicted copy 2026-03-12 11{n // 60:02}{n % 60:02})", "second", is_shared=False
    ),
    "Dropbox": Kind(lambda stem, n: f"{stem} (Ann's conflicted copy 2026-03-12) ({n})", "second"),
    "OneDrive": Kind(lambda stem, n: f"{stem}-DESKTOP-AB12CD3-{n}", "first"),
    "Resilio Sync": Kind(lambda stem, n: f"{stem}.Conflict{n}", "either"),
    "iCloud": Kind(lambda stem, n: f"{stem} {n + 1}", "either", folder="iCloud Drive/Notes"),
    "Git": Kind(lambda stem, n: stem, "second", leaves_marks=True),
    "Google Drive": Kind(lambda stem, n: f"{stem} ({n})", "first", folder="Google Drive/Notes"),
}


class Server(StdioClient):
    """A server that can be asked without waiting for the answer, and that can be killed."""

    def send_call(self, tool: str, arguments: dict[str, Any]) -> None:
        """Send a call and go on."""
        params = {"name": tool, "arguments": arguments}
        self._send({"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params})

    def ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send a call and return its result."""
        self.send_call(tool, arguments)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Return the result of the call that was sent; notifications may come before it."""
        assert self._process.stdout is not None
        while True:
            message = json.loads(self._process.stdout.readline())
            if "id" in message:
                result: dict[str, Any] = message["result"]
                return result

    def end(self) -> None:
        """Kill it, where the system can: nothing of it goes on."""
        self._process.kill()
        self._process.communicate()


class Device:
    """A folder with notes, a person who writes in it, and a server that agents use."""

    def __init__(self, place: Path, kind: Kind, quiet_seconds: float) -> None:
        """``quiet_seconds``: its server writes edits of a note once it was quiet for so long."""
        self.root = place / kind.folder
        self.state = place / "state"
        self._policy = place / "policy.toml"
        self._places = {"VAULTWIRE_STATE": str(self.state), "VAULTWIRE_CACHE": str(place / "cache")}
        for note in NOTES:
            self.path(note).parent.mkdir(parents=True, exist_ok=True)
            self.path(note).write_text(TEXT.format(note))
        self._policy.write_text(f"write_quiet_seconds = {quiet_seconds}\n")
        self.server = self._start()
        self.etags: dict[str, str] = {}

    def _start(self) -> Server:
        options = ["--vault", str(self.root), "--policy", str(self._policy)]
        server = Server([sys.executable, "-m", "vaultwire", "stdio", *options], self._places)
        server.initialize()
        return server

    def restart(self) -> None:
        """Kill the server and start another."""
        self.server.end()
        self.server = self._start()

    def path(self, name: str) -> Path:
        return self.root / name

    def bytes_of(self, name: str) -> bytes | None:
        try:
            return self.path(name).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, name: str, seen: bytes | None, data: bytes | None) -> bool:
        """Write a file as sync programs do: by a rename, and only if it still is what was seen."""
        if self.bytes_of(name) != seen:
            return False
        path = self.path(name)
        if data is None:
            path.unlink()
            return True
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting = path.with_name(f".~{path.name}.tmp")
        waiting.write_bytes(data)
        os.replace(waiting, path)
        return True

    def names(self) -> set[str]:
        """Return the files that people see."""
        files = (file.relative_to(self.root) for file in self.root.rglob("*.md"))
        return {file.as_posix() for file in files if not any(part.startswith(".") for part in file.parts)}

    def texts_on_record(self) -> list[str]:
        """Return all texts that the journal has."""
        _, changes = open_changes(self.root, self.state)
        numbers = [change.id for change in changes.latest(limit=100_000)]
        proposals = Holding(changes).proposals
        steps = [step for detailed in changes.show_all(numbers) for step in detailed.steps]
        steps += [step for waiting in [*proposals.delayed(), *proposals.all()] for step in waiting.steps]
        contents = [content for step in steps if isinstance(step, Write) for content in (step.before, step.after)]
        return [content.decode() for content in contents if content is not None]


class Sync:
    """A sync program between two devices."""

    def __init__(self, devices: tuple[Device, Device], kind: Kind, chance: random.Random) -> None:
        self._devices = devices
        self._kind = kind
        self._chance = chance
        self._agreed: dict[str, bytes] = {note: TEXT.format(note).encode() for note in NOTES}
        self._only_here: set[str] = set()
        self.copies: list[str] = []  # and notes with marks

    def pass_over(self, share: float) -> None:
        """Bring a share of the files together; the others come later."""
        names = sorted(set().union(*(device.names() for device in self._devices)) | self._agreed.keys())
        self._chance.shuffle(names)
        for name in names:
            if name not in self._only_here and self._chance.random() < share:
                self._bring(name)

    def _bring(self, name: str) -> None:
        one, other = self._devices
        if self._kind.leaves_marks and b"<<<<<<<" in (other.bytes_of(name) or b""):
            return  # nobody commits it so
        a, b, agreed = one.bytes_of(name), other.bytes_of(name), self._agreed.get(name)
        if a == b:
            is_done = True
        elif b is None or (a == agreed and a is not None and agreed is not None):
            # The other device changed it alone, or removed it and this one did not touch it.
            is_done = one.put(name, a, b) if a == agreed else other.put(name, b, a)
        elif a is None or b == agreed:
            is_done = other.put(name, b, a) if b == agreed else one.put(name, a, b)
        elif self._kind.leaves_marks:
            self._merge(name, a, b, agreed or b"")
            return
        else:
            self._part(name, a, b)
            return
        if is_done:
            now = one.bytes_of(name)
            if now is not None and now == other.bytes_of(name):
                self._agreed[name] = now
            elif now is None and other.bytes_of(name) is None:
                self._agreed.pop(name, None)

    def _merge(self, name: str, a: bytes, b: bytes, agreed: bytes) -> None:
        """Merge on the second device, as ``git pull`` does; where the versions differ, its note gets both with marks."""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / side for side in ("mine", "base", "theirs")]
            for file, data in zip(files, (b, agreed, a), strict=True):
                file.write_bytes(data)
            style = ["--diff3"] * self._chance.randrange(2)
            merged = subprocess.run(
                ["git", "merge-file", "-p", *style, *map(str, files)], capture_output=True, check=False
            )
        assert merged.returncode < 128, merged.stderr
        if self._devices[1].put(name, b, merged.stdout):
            self._agreed[name] = a  # it is in the merge, which is brought to the first device when it has no marks
            if merged.returncode:
                self.copies.append(name)

    def _part(self, name: str, a: bytes, b: bytes) -> None:
        """Make a conflict copy of one version, under a name that is free; the other keeps the name on both devices."""
        copied = self._kind.copied if self._kind.copied != "either" else self._chance.choice(["first", "second"])
        loser = self._devices[0 if copied == "first" else 1]
        lost, kept = (a, b) if copied == "first" else (b, a)
        taken = set().union(*(device.names() for device in self._devices), self._agreed)
        copies = (f"{self._kind.copy(name.removesuffix('.md'), number)}.md" for number in range(1, 9))
        copy = next((each for each in copies if each not in taken), None)
        if copy is None:
            return  # it stays as it is until there are fewer copies
        loser.put(copy, None, lost)
        if not loser.put(name, lost, kept):
            loser.put(copy, lost, None)  # someone has just written it: again the next time
            return
        self._agreed[name] = kept
        self.copies.append(copy)
        if not self._kind.is_shared:
            self._only_here.add(copy)


class Life:
    """What people and agents do on two devices, and the lines that they were told are written."""

    def __init__(self, place: Path, kind: Kind, chance: random.Random) -> None:
        self.devices = (Device(place / "first", kind, 0), Device(place / "second", kind, 0.2))
        self.sync = Sync(self.devices, kind, chance)
        self._chance = chance
        self.lines: set[str] = set()
        self.done: dict[str, int] = {}

    def edit(self, number: int) -> None:
        """Make one edit; the sync program may look at the files meanwhile, and the server may be killed."""
        device, note = self._chance.choice(self.devices), self._chance.choice(NOTES)
        line = f"added {number} of {self._chance.randrange(10**9)}"
        if self._chance.random() < 0.3:
            self._write_by_hand(device, note, line)
            return
        tool, arguments = self._call(device, note, line)
        device.server.send_call(tool, arguments)
        if self._chance.random() < 0.4:
            self.sync.pass_over(0.5)
        if self._chance.random() < 0.03:
            device.restart()  # nobody was told that the line is there
            return
        result = device.server.answer()
        if result.get("isError"):
            return
        self._count("merged" if "was merged" in json.dumps(result) else tool)
        if tool != "resolve_conflicts":
            self.lines.add(line)

    def _write_by_hand(self, device: Device, note: str, line: str) -> None:
        before = device.bytes_of(note)
        if before is not None and device.put(note, before, before + f"{line}\n".encode()):
            self.lines.add(line)

    def _call(self, device: Device, note: str, line: str) -> tuple[str, dict[str, Any]]:
        what = self._chance.randrange(5)
        if what == 0 and self.sync.copies:
            return "resolve_conflicts", {"path": self._chance.choice(self.sync.copies), "choose": ["both"]}
        if what == 1:
            return "write_note", {"path": note, "content": line, "mode": "prepend"}
        if what == 2:
            return "edit_note", {"path": note, "edits": [{"action": "append", "section": "Log", "content": line}]}
        if what == 3:
            etag = self._read(device, note)
            edit = {"action": "append", "text": "another of them", "content": line}
            if etag is not None:
                return "edit_note", {"path": note, "edits": [edit], "if_match": etag, "merge": True}
        return "write_note", {"path": note, "content": line, "mode": "append"}

    def _read(self, device: Device, note: str) -> str | None:
        """Return the etag of a note as it was read some time ago."""
        etag = device.etags.pop(note, None)
        result = device.server.ask("read_notes", {"paths": [note]})
        notes = result.get("structuredContent", {}).get("notes") or [{}]
        if "etag" in notes[0]:
            device.etags[note] = notes[0]["etag"]
        return etag

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1


@pytest.mark.timeout(3600 if EDITS > 100 else 120)
@pytest.mark.parametrize("program", KINDS)
def test_every_added_line_is_in_the_vault_in_a_copy_or_in_the_journal(tmp_path: Path, program: str) -> None:
    if program == "Git" and shutil.which("git") is None:
        pytest.skip("Git is not here")
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    life = Life(tmp_path, KINDS[program], chance)
    try:
        for number in range(EDITS):
            life.edit(number)
            if chance.random() < 0.3:
                life.sync.pass_over(0.7)
        life.sync.pass_over(1)
    finally:
        for device in life.devices:
            device.server.end()
    in_files, on_record = set[str](), set[str]()
    for device in life.devices:
        trash = {
            f".trash/{file.name}" for file in (device.root / ".trash").glob("*.md")
        }  # a copy that was joined is there
        for name in device.names() | trash:
            in_files.update((device.bytes_of(name) or b"").decode().splitlines())
        for text in device.texts_on_record():
            on_record.update(text.splitlines())
    assert life.lines
    assert on_record, f"there is no journal where it is looked for, seed {seed}"  # one device may have changed nothing
    assert life.lines <= in_files | on_record, f"seed {seed}"
