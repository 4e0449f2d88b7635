"""The files of one vault. The only module that opens a note's bytes: it reads whole files up to a limit, and writes new ones.

It follows links itself and checks that a path still lies in the vault, so that no symlink leads out. It knows bytes, no text.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any, BinaryIO, NamedTuple, Protocol, Self

from vaultwire.vault.disk.contents import Content, digest_of
from vaultwire.vault.disk.file_operations import (
    OPEN_NEW,
    copy_attributes,
    folder_identity,
    remove_quietly,
    sync_file,
    try_sync_file_system,
)
from vaultwire.vault.disk.paths import compose, fold, is_note, parse_path
from vaultwire.vault.disk.walk import VaultRoot, has_entry, is_dataless, look_at, stamp_of, walk_folders
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    POLICY_DENIED,
    STALE_EDIT,
    TOO_LARGE,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.value_types import NoteStat, Problem, VaultPath

# When a file was made, as its disk says.
#
# Windows and macOS say it with each look at a file. Linux has ``statx`` for it, which Python's ``os`` lacks before 3.15; ext4,
# btrfs, xfs and tmpfs keep the time. Where the disk does not keep it (FAT under Linux, some network disks), the earlier of the
# two times of the last change stands for it: the file was there by then. A copy, a restored backup and a ``git clone`` are new
# files, so the time is that of the copy; in Obsidian it is the same.

# linux/stat.h. The struct begins with the mask of what is in it; the time of birth is at 80: seconds, nanoseconds.
_AT_FDCWD, _STATX_BTIME, _STATX_BYTES = -100, 0x800, 256
_MASK = struct.Struct("I")
_TIME, _TIME_AT = struct.Struct("qI"), 80


def created_ns(place: str) -> int:
    """Return when the file at an absolute path was made, in nanoseconds since 1970. Raises OSError if there is no such file."""
    status = os.stat(place)
    known: float | None = getattr(status, "st_birthtime", None)
    if known is not None:
        exact: int | None = getattr(status, "st_birthtime_ns", None)  # Windows, from Python 3.12 on
        return int(known * 1e9) if exact is None else exact
    if sys.platform == "win32":
        return status.st_ctime_ns
    statx = _statx()
    found = None if statx is None else _born(statx, place)
    return min(status.st_mtime_ns, status.st_ctime_ns) if found is None else found


@cache
def _statx() -> Callable[..., int] | None:
    """Return the C library's function; None where it has none."""
    if sys.platform != "linux":
        return None
    function: Any = getattr(ctypes.CDLL(None), "statx", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p]
    return None if function is None else function


def _born(statx: Callable[..., int], place: str) -> int | None:
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(_AT_FDCWD, os.fsencode(place), 0, _STATX_BTIME, answer) != 0:
        return None
    (mask,) = _MASK.unpack_from(answer)
    if not mask & _STATX_BTIME:
        return None
    seconds, nanoseconds = _TIME.unpack_from(answer, _TIME_AT)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


TEMPORARY_PREFIX = ".vaultwire-"  # hidden: Obsidian and its sync pass over names that start with a dot
TEMPORARY_SUFFIX = ".tmp"

# O_NOFOLLOW: links were resolved before. O_NONBLOCK: opening a FIFO must not wait.
_OPEN_READ = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_PIECE = 1 << 20
# MAX_PATH, without the zero at the end. https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation
_MAX_PATH = 259
_MANY_UNSYNCED = 16  # for fewer the whole file system is not synced: other programs may have written much
_MOST_UNSYNCED = 64  # macOS lets a program have 256 files open


class FileBytes(NamedTuple):
    """A file as read. ``modified_ns`` is nanoseconds since the epoch, ``stamp`` as in ``NoteStat``."""

    data: bytes
    modified_ns: int
    stamp: int


class _InFile:
    """Bytes that are read from a file of the vault, which must not have changed (``contents.Source``)."""

    __slots__ = ("_files", "_path")

    def __init__(self, files: Files, path: VaultPath) -> None:
        self._files = files
        self._path = path

    def read(self) -> bytes:
        """See ``Source``."""
        return self._files.read(self._path).data

    def damage(self) -> VaultError:
        """See ``Source``."""
        message = f"{self._path!r} was changed by another program meanwhile; read it again, then edit."
        return VaultError(STALE_EDIT, message, path=self._path)


class UnsyncedFiles:
    """New files that are not yet synced to the disk. Use as a context manager.

    They are synced some at a time where the system can do that: one by one, each would wait for the disk to empty its cache.
    """

    def __init__(self) -> None:
        self._open: list[BinaryIO] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        while self._open:
            self._open.pop().close()

    def add(self, file: BinaryIO) -> BinaryIO:
        """Add a file that was opened for writing."""
        self._open.append(file)
        return file

    def sync(self, at_least: int = 1) -> None:
        """Sync and close all files, if there are so many. Raises OSError."""
        if len(self._open) < at_least:
            return
        is_synced = len(self._open) >= _MANY_UNSYNCED and try_sync_file_system(self._open[0].fileno())
        while self._open:
            with self._open.pop(0) as file:
                if is_synced:
                    continue
                # To empty the drive's cache once is enough: the bytes of all files are there by then.
                sync = os.fsync if self._open else sync_file
                sync(file.fileno())


class Pending(NamedTuple):
    """What proposals that wait make of a file or folder, the last one last.

    ``content`` is the bytes that they write. ``origin`` is the path on the disk of what they only move, or move away from.
    Nothing is at the path any more where both are None.
    """

    content: Content | None
    proposals: tuple[int, ...]
    time_ns: int
    origin: VaultPath | None = None
    is_folder: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether the path is free."""
        return self.content is None and self.origin is None

    @property
    def proposal(self) -> int:
        """The last of them; 0 where a write is only kept back (``holding.delayed_writes``)."""
        return self.proposals[-1] if self.proposals else 0


NOTHING_PENDING: Mapping[VaultPath, Pending] = {}


class PendingFiles(Protocol):
    """The files that a session has changed by proposals that wait, by their paths: for it, they are there already."""

    def changed(self) -> Mapping[VaultPath, Pending]:
        """Return them, the same for all of one call."""


class Files:
    """The files of one vault, under ``root`` (resolved). It takes names as VaultPath and raises VaultError.

    ``vault.visibility`` has a subclass for runs that may not see all files: ``hides_some`` says so; ``stamp`` is a text that
    is equal for equal rules; ``hides_private_notes`` says whether the text of a note can make it private.
    ``has_inline_fields``: what reads the properties of notes takes the inline fields of their texts for such, too.
    """

    hides_some = False
    stamp = ""
    hides_private_notes = False
    has_inline_fields = False

    def __init__(self, root: str, max_bytes: int) -> None:
        self._root = VaultRoot(root)
        self.root = self._root.path
        self.name = os.path.basename(self.root) or "vault"  # the root of a drive has no name
        self.max_bytes = max_bytes
        self._pending: PendingFiles | None = None

    def with_pending(self, pending: PendingFiles | None) -> Self:
        """Return the same files as a session sees them whose proposals wait; None: as they are on the disk.

        Only reads and looks at single files differ: what lists files, and what carries changes out, sees the disk.
        """
        files = copy(self)
        files._pending = pending  # noqa: SLF001 - of a copy
        return files

    @property
    def pending(self) -> Mapping[VaultPath, Pending]:
        """The files that this session has changed by proposals that wait."""
        return NOTHING_PENDING if self._pending is None else self._pending.changed()

    def pending_at(self, path: VaultPath) -> Pending | None:
        """Return what waits at a path, or else at the nearest folder above it at which something waits."""
        pending = self.pending
        place = path if pending else VaultPath("")
        while place:
            if (held := pending.get(place)) is not None:
                return held
            place = VaultPath(place.rpartition("/")[0])
        return None

    def with_pending_paths(self, paths: Iterable[VaultPath]) -> Iterable[VaultPath]:
        """Return paths of files on the disk, or of the index, as this session sees them: what was added stands last."""
        pending = self.pending
        if not pending:
            return paths
        added = [path for path, held in pending.items() if not (held.is_gone or held.is_folder)]
        if self.hides_some:
            added = [path for path in added if self.look_at(path) is not None]
        return [*(path for path in paths if path not in pending), *added]

    def how_taken(self, path: VaultPath) -> str:
        """Return why a path is not free, as the end of a sentence."""
        held = self.pending.get(path)
        return "exists already" if held is None or not held.proposals else f"waits as proposal {held.proposal}"

    # ------------------------------------------------------------------ looking

    def walk(
        self,
        folder: VaultPath | None = None,
        problems: list[Problem] | None = None,
        *,
        attachments: bool = False,
    ) -> Iterator[NoteStat]:
        """Yield every note below ``folder``, and every other file too if ``attachments``. See ``walk_folders``."""
        for _, files in self.walk_folders(folder, problems, attachments=attachments):
            yield from files

    def walk_folders(
        self, folder: VaultPath | None = None, problems: list[Problem] | None = None, *, attachments: bool = True
    ) -> Iterator[tuple[str, list[NoteStat]]]:
        """Yield every folder from ``folder`` down and the files right in it. See ``vault.disk.walk``."""
        return walk_folders(self._root, folder, [] if problems is None else problems, attachments=attachments)

    def look_at(self, path: VaultPath) -> NoteStat | None:
        """Return a file's facts, None if there is no such file in the vault."""
        held = self.pending.get(path)
        if held is None:
            return look_at(self._root, path)
        if held.content is not None:
            return NoteStat(path, held.content.size, held.time_ns, held.time_ns)
        on_disk = None if held.origin is None else look_at(self._root, held.origin)
        return None if on_disk is None else on_disk._replace(path=path)

    def created_ns(self, path: VaultPath) -> int | None:
        """Return when a file was made, None if there is no such file in the vault."""
        try:
            return created_ns(self._root.real_path(self._on_disk(path)))
        except (OSError, VaultError):
            return None

    def is_dataless(self, path: VaultPath) -> bool:
        """Tell whether reading the file would fetch it from a cloud."""
        return is_dataless(self._root, self._on_disk(path))

    def _on_disk(self, path: VaultPath) -> VaultPath:
        held = self.pending.get(path)
        return path if held is None or held.origin is None else held.origin

    def spell(self, path: VaultPath) -> tuple[VaultPath, bool]:
        """Return the path as the disk spells it, and whether that is a file.

        A part that is there stays as it is. Else it becomes the one entry that differs from it only in case or Unicode form.
        Parts that are not there are spelt as new names are. Raises VaultError: AMBIGUOUS_NAME where several entries differ
        in this way, PATH_OUTSIDE_VAULT where a link leads out.
        """
        pending = self.pending
        alike = [place for place, held in pending.items() if not held.is_gone and fold(place) == fold(path)]
        if len(alike) == 1 and self.may_be_seen(alike[0]):
            return alike[0], not pending[alike[0]].is_folder
        above, _, name = path.rpartition("/")
        if pending and above:
            above, _ = self.spell(VaultPath(above))
            if above in pending and pending[above].is_folder and not pending[above].is_gone:
                return VaultPath(f"{above}/{compose(name)}"), False
        spelt = ""
        parts = path.split("/")
        for depth, part in enumerate(parts):
            entry = self._entry_like(spelt, part)
            if entry is None:
                new = compose("/".join(parts[depth:]))
                return VaultPath(f"{spelt}/{new}" if spelt else new), False
            spelt = f"{spelt}/{entry}" if spelt else entry
        found = VaultPath(spelt)
        return found, found not in pending and os.path.isfile(self._root.real_path(found))

    def is_folder(self, path: VaultPath) -> bool:
        """Tell whether there is a folder of exactly this name."""
        if (held := self.pending.get(path)) is not None:
            return held.is_folder and not held.is_gone
        return os.path.isdir(self._root.real_path(path)) and self.second_name(path) is None

    def is_taken(self, path: VaultPath) -> bool:
        """Tell whether anything has this name: a file, a folder, or a link, also a broken one."""
        if (held := self.pending.get(path)) is not None:
            return not held.is_gone
        return os.path.lexists(self._root.entry_path(path))

    def is_link(self, path: VaultPath) -> bool:
        """Tell whether a link has this name, also a broken one."""
        return os.path.islink(self._root.entry_path(path))

    def second_name(self, path: VaultPath) -> str | None:
        """See ``VaultRoot.second_name``."""
        return self._root.second_name(path)

    def _entry_like(self, folder: str, part: str) -> str | None:
        if has_entry(os.path.join(self.root, folder), part):
            return part
        return self._only_entry_like(folder, part)

    def _only_entry_like(self, folder: str, part: str) -> str | None:
        place = os.path.join(self.root, folder)
        if folder:
            self._root.real_path(VaultPath(folder))  # refuses a folder outside: not even its names are looked at
        key = fold(part)
        try:
            alike = self._visible_names(folder, [name for name in os.listdir(place) if fold(name) == key])
        except OSError:
            return None
        if part in alike:
            return part
        if len(alike) > 1:
            candidates = sorted(f"{folder}/{name}" if folder else name for name in alike)
            raise VaultError(
                AMBIGUOUS_NAME,
                f"{part!r} could be any of {', '.join(candidates)}; write it exactly as one of them.",
                name=part,
                candidates=candidates,
            )
        return alike[0] if alike else None

    def _visible_names(self, folder: str, names: list[str]) -> list[str]:  # noqa: ARG002 - see vault.visibility
        return names

    # ------------------------------------------------------------------ reading

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """Return the file's bytes, at most ``max_bytes``, by default as many as a note may have.

        Raises VaultError: FILE_NOT_FOUND, PERMISSION_DENIED, TOO_LARGE, PATH_OUTSIDE_VAULT.
        """
        most = self.max_bytes if max_bytes is None else max_bytes
        if (held := self.pending.get(path)) is not None and held.content is not None:
            check_size(path, held.content.size, most)
            return FileBytes(held.content.data, held.time_ns, held.time_ns)
        if held is not None and held.is_gone:
            raise VaultError(FILE_NOT_FOUND, f"{path!r} is gone by proposal {held.proposal}, which waits.", path=path)
        try:
            descriptor = os.open(self._root.real_path(self._on_disk(path)), _OPEN_READ)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise VaultError(FILE_NOT_FOUND, f"{path!r} is not a file.", path=path)
                check_size(path, status.st_size, most)
                data = os.read(descriptor, status.st_size + 1)
                # A file may come in pieces, or have grown meanwhile. Else no second call asks whether that was its end.
                while len(data) != status.st_size and len(data) <= most and (more := os.read(descriptor, _PIECE)):
                    data += more
            finally:
                os.close(descriptor)
        except OSError as error:
            raise cannot("read", path, error) from error
        check_size(path, len(data), most)
        return FileBytes(data, status.st_mtime_ns, stamp_of(status))

    def content_of(self, path: VaultPath, data: bytes) -> Content:
        """Return the content of a file that was just read, without holding its bytes."""
        return Content(_InFile(self, path), len(data), digest_of(data))

    def digest(self, path: str) -> bytes:
        """Return a digest of one entry of the vault's folder, note or not: name, mode, time, and bytes or link target."""
        place = os.path.join(self.root, path)
        status = os.lstat(place)
        facts = f"{path}\0{status.st_mode:o}\0{status.st_mtime_ns}\0"
        digest = hashlib.blake2b(facts.encode(errors="surrogateescape"), digest_size=16)
        if stat.S_ISLNK(status.st_mode):
            digest.update(os.fsencode(os.readlink(place)))
        elif stat.S_ISREG(status.st_mode):
            with open(place, "rb") as file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
        return digest.digest()

    # ------------------------------------------------------------------ what this run may do (here all; see vault.visibility)

    def may_be_seen(self, path: VaultPath) -> bool:  # noqa: ARG002
        """Tell whether a file of this path may be seen, whether it is there or not."""
        return True

    def may_enter(self, folder: str) -> bool:  # noqa: ARG002
        """Tell whether a folder of this path may hold something to see, whether it is there or not."""
        return True

    def is_private(self, path: VaultPath, data: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file of this path with these bytes may not be seen because of its text."""
        return False

    def check_change(self, path: VaultPath) -> None:
        """Raise VaultError (POLICY_DENIED) if this run may not make, change, move or delete what is at the path."""

    # ------------------------------------------------------------------ for vault.changes

    def real_path(self, path: VaultPath) -> str:
        """Return the absolute path of the file, links followed. Raises VaultError if that is outside the vault."""
        return self._root.real_path(path)

    def entry_path(self, path: VaultPath) -> str:
        """Return the absolute path of the directory entry itself, which may be a link."""
        return self._root.entry_path(path)

    def check_root(self) -> None:
        """Raise VAULT_NOT_FOUND if the vault's folder is gone: nothing may be written where an unplugged vault was."""
        self._root.check_exists()

    def holds(self, place: str, content: Content, *, cut: bool = False) -> bool:
        """Tell whether the absolute path ``place`` is a file with exactly these bytes. Raises OSError.

        With ``cut`` also if the file holds only the first of these bytes.
        """
        # It compares bytes, not size and time: two writes within one tick of the file system's clock have the same time.
        try:
            descriptor = os.open(place, _OPEN_READ & ~getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
                return False
            raise
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > content.size:
                return False
            if status.st_size != content.size and not cut:
                return False
            data = os.read(descriptor, content.size + 1)
            while len(data) < content.size and (more := os.read(descriptor, _PIECE)):
                data += more
            return content.is_same(data) if not cut else content.data.startswith(data)
        finally:
            os.close(descriptor)

    def write_new(self, place: str, data: bytes, like: str | None, unsynced: UnsyncedFiles | None = None) -> None:
        """Write data to a file that does not exist yet, with the mode and attributes of ``like``. Raises OSError.

        It is synced to the disk, or added to ``unsynced``.
        """
        # The umask decides who may open a new note, as in any editor. A private one is never open, not even for a moment.
        descriptor = os.open(place, OPEN_NEW, 0o666 if like is None else 0o600)
        try:
            with UnsyncedFiles() as own:
                files = own if unsynced is None else unsynced
                file = files.add(os.fdopen(descriptor, "wb"))
                file.write(data)
                file.flush()
                if like is not None:
                    copy_attributes(like, place, descriptor)
                files.sync(at_least=1 if unsynced is None else _MOST_UNSYNCED)
        except BaseException:
            remove_quietly(place)
            raise


def check_size(path: VaultPath, size: int, max_bytes: int) -> None:
    """Raise VaultError (TOO_LARGE) for a file that is too large."""
    if size > max_bytes:
        thing = "a note" if is_note(path) else "an attachment"
        raise VaultError(
            TOO_LARGE,
            f"{path!r} has {size} bytes; {thing} may have at most {max_bytes}.",
            path=path,
            size=size,
            max_size=max_bytes,
        )


def cannot(verb: str, path: VaultPath, error: OSError, *, on_windows: bool = os.name == "nt") -> VaultError:
    """Return the VaultError for what the system refused to do with a file; it does not name the absolute path."""
    place = error.filename2 or error.filename
    if on_windows and isinstance(place, str) and len(place) > _MAX_PATH and error.errno == errno.ENOENT:
        return VaultError(
            WRITE_FAILED,
            f"Cannot {verb} {path!r}: its whole path has {len(place)} characters, and Windows allows {_MAX_PATH} here. Use "
            "shorter names, or turn on long paths in Windows (LongPathsEnabled).",
            path=path,
        )
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to {verb}.", path=path)
    if error.errno == errno.ELOOP:
        return VaultError(PATH_OUTSIDE_VAULT, f"{path!r} is a link that cannot be followed.", path=path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = " Perhaps another program has it open; then try again, or close it there." if on_windows else ""
        message = f"The system does not allow to {verb} {path!r}: {(error.strerror or '').rstrip('.')}.{hint}"
        return VaultError(PERMISSION_DENIED, message, path=path)
    return VaultError(WRITE_FAILED, f"Could not {verb} {path!r}: {error.strerror}. Nothing was changed.", path=path)


# Folders outside the vault from which the person lets files be taken. No other file is read, and nothing is changed.


class AllowedFolders:
    """Some folders, by their absolute paths."""

    def __init__(self, folders: Sequence[str], vaults: Sequence[str] = ()) -> None:
        """``vaults``: folders in these that count as outside, because some of their files may be hidden."""
        self._roots = [Files(folder, 0) for folder in folders]
        self._vaults = [found for folder in vaults if (found := folder_identity(folder))]

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the bytes of a file below one of the folders: by its absolute path, or a path below one of them.

        Hidden files count as outside. A link that leads out counts as not there. Raises VaultError: POLICY_DENIED for a file
        outside, whether it exists or not; FILE_NOT_FOUND, TOO_LARGE.
        """
        given = os.path.expanduser(path)
        is_below_one = False
        for root in self._roots:
            if self._is_in_a_vault(os.path.join(root.root, given)):
                continue
            try:
                below = parse_path(os.path.relpath(_real_place(given), root.root) if os.path.isabs(given) else given)
                is_below_one = True
                found, is_file = root.spell(below)
                if is_file:
                    return root.read(found, max_bytes).data
            except (VaultError, ValueError) as error:  # ValueError: on another drive
                if isinstance(error, VaultError) and error.code == TOO_LARGE:
                    raise
        if is_below_one:
            raise VaultError(FILE_NOT_FOUND, f"There is no file {path!r} in {self._names()}.", path=path)
        raise VaultError(
            POLICY_DENIED, f"{path!r} is not in a folder that files may be taken from here: {self._names()}.", path=path
        )

    def _is_in_a_vault(self, path: str) -> bool:
        """Tell whether the path leads into a vault, however its folders are spelt. Whether the file exists does not matter."""
        folder = os.path.dirname(_real_place(path))
        while self._vaults:
            if folder_identity(folder) in self._vaults:
                return True
            if os.path.dirname(folder) == folder:
                return False
            folder = os.path.dirname(folder)
        return False

    def _names(self) -> str:
        return ", ".join(repr(root.root) for root in self._roots)


def _real_place(path: str) -> str:
    """Return the path with all links in its folder followed. Whether the file itself is a link is seen when it is read."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)
