"""Watching a folder: whatever happens in it is reported, as a path to look at or a folder to walk, and nothing ends it."""

from __future__ import annotations

import os
import random
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.vaults import write_vault
from vaultwire.vault.disk.file_operations import file_system_of, reports_all_changes
from vaultwire.vault.disk.watch import EVERYTHING, NO_CHANGES, Changes, Unwatchable, Watch

# For one report. Generous: a busy machine must not fail a test, and no test waits for it unless something is missing.
DEADLINE = 20.0
# As long as nothing is reported for this time, nothing is on its way. Far above the 30 ms a report takes.
QUIET = 0.7

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not do this, or needs rights for it")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    text = "=== Note.md\none\n=== Folder/Inner.md\ntwo\n=== Folder/Deep/Deepest.md\nthree\n=== .obsidian/app.json\n{}\n"
    return write_vault(tmp_path / "vault", text).resolve()


@pytest.fixture
def watch(root: Path) -> Iterator[Watch]:
    opened = watching(root)
    yield opened
    opened.close()


def watching(root: Path) -> Watch:
    return Watch(str(root))


def wait_until(watch: Watch, is_enough: Callable[[Changes], bool]) -> Changes:
    """Return all that was reported until it was enough."""
    reported = NO_CHANGES
    until = time.monotonic() + DEADLINE
    while not is_enough(reported):
        assert time.monotonic() < until, f"only {reported} was reported"
        more = watch.wait(until - time.monotonic())
        reported = Changes(
            reported.paths | more.paths,
            reported.rescan | more.rescan,
            settings_changed=reported.settings_changed or more.settings_changed,
        )
    return reported


def replace(target: Path, text: str) -> None:
    """Save as careful editors do."""
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(target)


def append(target: Path) -> None:
    with target.open("a", encoding="utf-8") as file:
        file.write("more\n")


# What is done, and a path that must be reported for it.
CHANGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda root: (root / "Note.md").write_text("changed", encoding="utf-8"), "Note.md"),
    (lambda root: append(root / "Folder" / "Inner.md"), "Folder/Inner.md"),
    (lambda root: os.truncate(root / "Note.md", 0), "Note.md"),
    (lambda root: os.utime(root / "Note.md", (1, 1)), "Note.md"),
    (lambda root: replace(root / "Folder" / "Inner.md", "changed"), "Folder/Inner.md"),
    (lambda root: (root / "Folder" / "Deep" / "New.md").touch(), "Folder/Deep/New.md"),
    (lambda root: (root / "Ünïcode 日本.md").touch(), "Ünïcode 日本.md"),
    (lambda root: (root / "Folder" / "picture.png").touch(), "Folder/picture.png"),
    (lambda root: (root / "Note.md").unlink(), "Note.md"),
    (lambda root: (root / "Note.md").rename(root / "Folder" / "Moved.md"), "Note.md"),
    (lambda root: (root / "Note.md").rename(root / "Folder" / "Moved.md"), "Folder/Moved.md"),
    (lambda root: (root / "Note.md").rename(root.parent / "Away.md"), "Note.md"),
]


@pytest.mark.parametrize(("change", "path"), CHANGES)
def test_a_change_of_a_file_is_reported_by_its_path(
    root: Path, watch: Watch, change: Callable[[Path], object], path: str
) -> None:
    change(root)
    assert "" not in wait_until(watch, lambda reported: path in reported.paths).rescan


def test_a_change_made_between_two_waits_is_in_the_next(root: Path, watch: Watch) -> None:
    (root / "Note.md").write_text("first", encoding="utf-8")
    wait_until(watch, lambda reported: "Note.md" in reported.paths)
    (root / "Note.md").write_text("second", encoding="utf-8")
    wait_until(watch, lambda reported: "Note.md" in reported.paths)


def test_the_shortest_wait_is_long_enough_to_report_something(root: Path, watch: Watch) -> None:
    append(root / "Note.md")
    until = time.monotonic() + DEADLINE
    while "Note.md" not in watch.wait(0).paths:
        assert time.monotonic() < until


def test_a_wait_in_which_nothing_happens_ends_in_time_with_nothing(watch: Watch) -> None:
    begun = time.monotonic()
    assert watch.wait(0.2) == NO_CHANGES
    assert 0.2 <= time.monotonic() - begun < DEADLINE


def test_a_renamed_folder_is_two_folders_to_walk(root: Path, watch: Watch) -> None:
    (root / "Folder").rename(root / "Renamed")
    wait_until(watch, lambda reported: reported.rescan >= {"Folder", "Renamed"})
    append(root / "Renamed" / "Deep" / "Deepest.md")
    wait_until(watch, lambda reported: "Renamed/Deep/Deepest.md" in reported.paths)


def test_a_deleted_folder_is_a_folder_to_walk(root: Path, watch: Watch) -> None:
    shutil.rmtree(root / "Folder")
    wait_until(watch, lambda reported: "Folder" in reported.rescan)


def test_nested_new_folders_with_a_note_are_to_be_walked_or_name_it(root: Path, watch: Watch) -> None:
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "a" / "b" / "c" / "New.md").touch()
    wait_until(watch, lambda reported: "a" in reported.rescan)
    append(root / "a" / "b" / "c" / "New.md")
    wait_until(watch, lambda reported: "a/b/c/New.md" in reported.paths or bool(reported.rescan & {"a/b", "a/b/c"}))


def test_a_new_folder_is_reported_once_more_when_it_is_surely_watched(root: Path, watch: Watch) -> None:
    (root / "New").mkdir()
    wait_until(watch, lambda reported: "New" in reported.rescan)
    assert watch.wait(DEADLINE) == Changes(frozenset(), frozenset(["New"]), settings_changed=False)
    assert watch.wait(QUIET) == NO_CHANGES


HIDDEN = [
    ".git/HEAD",
    ".trash/Old.md",
    "Folder/.vaultwire-1-2.tmp",
    ".obsidian/plugins/x/data.json",
    "Folder/.sub/a.md",
]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_hidden_files_and_folders_are_not_reported(root: Path, hidden: str) -> None:
    (root / hidden).parent.mkdir(parents=True, exist_ok=True)
    watch = watching(root)
    (root / hidden).touch()
    (root / "Marker.md").touch()
    reported = wait_until(watch, lambda reported: "Marker.md" in reported.paths)
    watch.close()
    assert reported == Changes(frozenset(["Marker.md"]), frozenset(), settings_changed=False)


@pytest.mark.parametrize("name", [".vaultwireignore", ".obsidian/app.json", ".obsidian/types.json"])
def test_a_change_of_the_settings_is_said_and_names_no_path(root: Path, watch: Watch, name: str) -> None:
    replace(root / name, "{}")
    reported = wait_until(watch, lambda reported: reported.settings_changed)
    assert reported == Changes(frozenset(), frozenset(), settings_changed=True)


@pytest.mark.parametrize("name", [".obsidian/workspace.json", "Folder/.vaultwireignore", ".obsidian/snippets/a.css"])
def test_what_is_no_setting_is_not_taken_for_one(root: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    watch = watching(root)
    (root / name).touch()
    (root / "Marker.md").touch()
    assert not wait_until(watch, lambda reported: "Marker.md" in reported.paths).settings_changed
    watch.close()


@needs_posix
def test_what_lies_behind_a_linked_folder_is_not_reported(root: Path, tmp_path: Path) -> None:
    outside = write_vault(tmp_path / "outside", "=== Sub/Other.md\nx\n")
    (root / "Linked").symlink_to(outside)
    watch = watching(root)
    append(outside / "Sub" / "Other.md")
    (root / "Marker.md").touch()
    reported = wait_until(watch, lambda reported: "Marker.md" in reported.paths)
    assert (reported.paths | watch.wait(QUIET).paths, reported.rescan) == (frozenset(["Marker.md"]), frozenset())
    watch.close()


@needs_posix
def test_a_vault_named_by_a_link_is_watched_where_it_leads(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    watch = watching(tmp_path / "link")
    append(tmp_path / "link" / "Note.md")
    wait_until(watch, lambda reported: "Note.md" in reported.paths)
    (tmp_path / "link").unlink()
    assert watch.wait(QUIET) == NO_CHANGES
    assert watch.is_alive
    watch.close()


def test_more_changes_than_the_system_may_have_kept_are_the_whole_vault_and_once_more_later(root: Path) -> None:
    watch = watching(root)
    watch._most = 50  # the real limit is the kernel's queue, 16,384 events
    for number in range(200):
        (root / f"{number}.md").touch()
    reported = wait_until(watch, lambda reported: "" in reported.rescan)
    later = watch.wait(DEADLINE)
    while later.paths:  # the rest of the burst, in a batch of its own
        later = watch.wait(DEADLINE)
    watch.close()
    assert reported.rescan >= {""}
    assert later.rescan == {""}


def test_of_a_burst_no_change_is_missed(root: Path, watch: Watch) -> None:
    def write_burst() -> None:
        for number in range(1000):
            path = root / "Folder" / f"{number}.md"
            if number % 2:
                replace(path, "x")
            else:
                path.write_text("x", encoding="utf-8")

    writer = threading.Thread(target=write_burst)
    writer.start()
    wanted = {f"Folder/{number}.md" for number in range(1000)}
    wait_until(watch, lambda reported: reported.paths >= wanted or "" in reported.rescan)
    writer.join()


class Follower:
    """An index in miniature: it looks only where it is told to."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.known = self.walk("")

    def walk(self, folder: str) -> dict[str, tuple[int, int, int]]:
        found = {}
        for here, _, names in os.walk(self._root / folder):
            for name in names:
                path = Path(here, name).relative_to(self._root).as_posix()
                if not path.startswith("."):
                    found.update(self.look(path))
        return found

    def look(self, path: str) -> dict[str, tuple[int, int, int]]:
        try:
            status = (self._root / path).lstat()
        except OSError:
            return {}
        return {path: (status.st_size, status.st_mtime_ns, status.st_ino)}

    def follow(self, changes: Changes) -> None:
        for folder in changes.rescan:
            below = f"{folder}/" if folder else ""
            self.known = {
                path: facts for path, facts in self.known.items() if path != folder and not path.startswith(below)
            }
            self.known.update(self.walk(folder))
        for path in changes.paths:
            self.known.pop(path, None)
            self.known.update(self.look(path))


def disturb(root: Path, choice: random.Random) -> None:
    """Do one of the things people and programs do in a vault, somewhere in it."""
    folders = [root, *(path for path in root.rglob("*") if path.is_dir() and ".obsidian" not in path.parts)]
    folder = choice.choice(folders)
    note = folder / f"n{choice.randrange(5)}.md"
    free = root / f"f{choice.randrange(10**9)}"
    match choice.randrange(7 if folder != root else 4):
        case 0:
            note.write_text("x" * choice.randrange(99), encoding="utf-8")
        case 1:
            replace(note, "y" * choice.randrange(99))
        case 2:
            note.unlink(missing_ok=True)
        case 3:
            (folder / free.name / "deep").mkdir(parents=True)
            (folder / free.name / "deep" / "New.md").touch()
        case 4:
            folder.rename(free)
        case 5:
            shutil.copytree(folder, free)
        case 6:
            shutil.rmtree(folder)


@pytest.mark.parametrize("seed", range(5))
def test_who_looks_only_where_told_ends_up_knowing_the_vault(root: Path, watch: Watch, seed: int) -> None:
    follower = Follower(root)
    choice = random.Random(seed)
    for number in range(150):
        disturb(root, choice)
        if number % 15 == 0:
            follower.follow(watch.wait(0))
    until = time.monotonic() + DEADLINE
    while follower.known != follower.walk(""):
        assert time.monotonic() < until
        follower.follow(watch.wait(QUIET))


def test_close_wakes_a_waiting_thread_and_may_be_called_twice(watch: Watch) -> None:
    waits: list[Changes] = []
    waiting = threading.Thread(target=lambda: waits.append(watch.wait(3600)))
    waiting.start()
    assert watch.is_alive
    watch.close()
    waiting.join(DEADLINE)
    watch.close()
    assert (waits, watch.is_alive) == ([NO_CHANGES], False)
    assert watch.wait(3600) == NO_CHANGES


def test_a_vault_that_is_deleted_is_reported_whole_and_not_watched_any_more(root: Path, watch: Watch) -> None:
    shutil.rmtree(root)
    until = time.monotonic() + DEADLINE
    while watch.is_alive:
        assert time.monotonic() < until
        reported = watch.wait(0.2)
    assert reported == EVERYTHING
    assert watch.wait(0) == NO_CHANGES


@needs_posix
def test_a_vault_whose_parent_folder_is_renamed_is_not_watched_any_more(root: Path, tmp_path: Path) -> None:
    (tmp_path / "parent").mkdir()
    watch = watching(root.rename(tmp_path / "parent" / "vault"))
    (tmp_path / "parent").rename(tmp_path / "other")  # the system says nothing: the vault's own folder stays what it is
    assert watch.wait(0) == EVERYTHING
    assert not watch.is_alive
    watch.close()


@needs_posix
def test_a_vault_that_is_moved_away_and_made_anew_is_watched_anew(root: Path, watch: Watch) -> None:
    root.rename(root.with_name("old"))
    root.mkdir()
    assert wait_until(watch, lambda reported: "" in reported.rescan).settings_changed
    (root / "New.md").touch()
    wait_until(watch, lambda reported: "New.md" in reported.paths)
    assert watch.is_alive


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere such a name cannot be made")
def test_a_name_that_is_not_utf_8_does_not_end_the_watch(root: Path, watch: Watch) -> None:
    with open(os.fsencode(root) + b"/\xff.md", "w", encoding="utf-8"):
        pass
    (root / "after.md").write_text("x")
    reported = wait_until(watch, lambda reported: "after.md" in reported.paths or "" in reported.rescan)
    for path in reported.paths:
        path.encode()  # nothing is named that nobody could say


def test_a_folder_that_is_not_there_is_not_watched_and_the_reason_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unwatchable, match="the system refuses: "):
        Watch(str(tmp_path / "nowhere"))


@needs_posix
def test_a_system_without_room_for_a_watch_is_a_reason_too(root: Path) -> None:
    resource = pytest.importorskip("resource")
    watching(root).close()  # the library is loaded
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(Unwatchable):
            Watch(str(root))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:50 / /home rw,relatime shared:5 master:2 - btrfs /dev/vdb rw
41 40 0:51 / /home/me/Share\\040Drive rw - cifs //server/share rw,vers=3.1.1
42 40 0:52 / /home/me/nas rw - autofs systemd-1 rw
43 42 0:53 / /home/me/nas rw - nfs4 server:/export rw
44 40 0:54 / /home/me/cloud rw - fuse.rclone remote: rw
45 40 0:55 / /home/me/safe rw - fuse.gocryptfs /home/me/.safe rw
46 27 0:56 / /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs
47 27 0:57 / /mnt/usb rw - fuseblk /dev/sdb1 rw
48 46 0:58 / /mnt/c/local rw - tmpfs tmpfs rw
a line nobody understands
"""


@pytest.mark.parametrize(
    ("place", "kind", "reports"),
    [
        ("/vault", "ext4", True),
        ("/", "ext4", True),
        ("/home", "btrfs", True),
        ("/homestead/vault", "ext4", True),
        ("/home/me/notes", "btrfs", True),
        ("/home/me/Share Drive", "cifs", False),
        ("/home/me/Share Drive/notes", "cifs", False),
        ("/home/me/Share", "btrfs", True),
        ("/home/me/nas/notes", "nfs4", False),
        ("/home/me/cloud/notes", "fuse.rclone", False),
        ("/home/me/safe/notes", "fuse.gocryptfs", True),
        ("/mnt/c/Users/me/notes", "9p", False),
        ("/mnt/c/local/notes", "tmpfs", True),
        ("/mnt/usb/notes", "fuseblk", True),
    ],
)
def test_the_file_system_of_a_vault_tells_whether_all_changes_are_reported(
    place: str, kind: str, reports: bool
) -> None:
    assert (file_system_of(MOUNTS, place), reports_all_changes(kind)) == (kind, reports)


@pytest.mark.parametrize("kind", ["nfs", "smb3", "drvfs", "vboxsf", "virtiofs", "fuse.sshfs", "fuse"])
def test_shares_and_folders_of_a_host_do_not_report_all_changes(kind: str) -> None:
    assert not reports_all_changes(kind)


def test_a_path_no_mount_is_listed_for_is_watched() -> None:
    assert file_system_of("", "/vault") == ""
    assert reports_all_changes("")
