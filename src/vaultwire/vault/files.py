"""The only module that opens a note's bytes: reading with a cap, atomic writing, trash, and the walk.

Every path that reaches the disk is resolved first and must still lie in the vault, so a symlink cannot lead out.
Text does not live here: bytes in, bytes out.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple

from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    STALE_EDIT,
    TOO_LARGE,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.model import NoteStat, VaultPath
from vaultwire.vault.paths import MAX_NAME_BYTES, compose, fold, is_note, stem
from vaultwire.vault.places import Places
from vaultwire.vault.publish import (
    OPEN_NEW,
    copy_attributes,
    publish_new,
    remove_folders_quietly,
    remove_quietly,
    replace_file,
)

TRASH = ".trash"  # Obsidian's own folder for "Move to Obsidian trash"
TEMPORARY_PREFIX = ".vaultwire-"  # hidden: Obsidian and its sync pass over names that start with a dot
TEMPORARY_SUFFIX = ".tmp"

# Elsewhere a name may be found under another spelling than it has, so the folder is asked how it spells it.
_NAMES_ARE_EXACT = sys.platform not in ("darwin", "win32")
# O_NOFOLLOW: the path is resolved, so a link found now was put there since. O_NONBLOCK: opening a FIFO must not wait.
_OPEN_READ = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


class FileBytes(NamedTuple):
    """A file as read. ``modified_ns`` is nanoseconds since the epoch."""

    data: bytes
    modified_ns: int


class Oddity(NamedTuple):
    """Something the walk passed over, for ``doctor``."""

    path: str
    problem: str


class Files:
    """The files of one vault, under ``root`` (resolved). Names come in as VaultPath, errors go out as VaultError."""

    def __init__(self, root: str, max_bytes: int) -> None:
        self._places = Places(root)
        self.root = self._places.root
        self.max_bytes = max_bytes

    # ------------------------------------------------------------------ looking

    def walk(
        self,
        folder: VaultPath | None = None,
        oddities: list[Oddity] | None = None,
        *,
        attachments: bool = False,
    ) -> Iterator[NoteStat]:
        """Yield every note below ``folder``, in no promised order, and every other file too if ``attachments``.

        Hidden names and linked folders are passed over.

        What cannot be listed or named is put into ``oddities`` and never stops the walk. Raises VaultError
        (VAULT_NOT_FOUND) if the vault itself is gone: "no notes" would be a lie.
        """
        self._places.check_root()
        odd: list[Oddity] = [] if oddities is None else oddities
        pending = [folder or ""]
        while pending:
            prefix = pending.pop()
            try:
                entries = list(os.scandir(os.path.join(self.root, prefix)))
            except OSError as error:
                odd.append(Oddity(prefix or ".", f"folder cannot be listed: {error.strerror}"))
                continue
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                path = f"{prefix}/{entry.name}" if prefix else entry.name
                try:
                    note = self._look(entry, path, pending, odd, attachments=attachments)
                except OSError as error:  # gone since, or not ours to look at
                    odd.append(Oddity(path, f"cannot be examined: {error.strerror}"))
                    continue
                if note is not None:
                    yield note

    def _look(
        self, entry: os.DirEntry[str], path: str, pending: list[str], odd: list[Oddity], *, attachments: bool
    ) -> NoteStat | None:
        if not _is_sayable(entry.name):
            odd.append(
                Oddity(path.encode("utf-8", "replace").decode(), "name is not valid UTF-8, so no client can name it")
            )
            return None
        if entry.is_dir(follow_symlinks=False):
            pending.append(path)
            return None
        if not (attachments or is_note(entry.name)):
            return None
        if entry.is_symlink():
            return self._look_through(path, odd)
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            odd.append(Oddity(path, "is not a regular file"))
            return None
        return NoteStat(VaultPath(path), status.st_size, status.st_mtime_ns, status.st_ino)

    def _look_through(self, path: str, odd: list[Oddity]) -> NoteStat | None:
        """Return the facts of a linked note that stays in the vault."""
        try:
            status = os.stat(self._places.real(VaultPath(path)))
        except VaultError:
            odd.append(Oddity(path, "is a link that leads out of the vault"))
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return NoteStat(VaultPath(path), status.st_size, status.st_mtime_ns, status.st_ino)

    def spell(self, path: VaultPath) -> tuple[VaultPath, bool]:
        """Return the path as the disk spells it, and whether that is a file.

        Each part is taken as it stands if it is there, else as the one entry that differs from it in case or Unicode
        form only; parts that are not there are spelt as new names are. Raises VaultError: AMBIGUOUS_NAME where several
        entries differ so, PATH_OUTSIDE_VAULT where a link leads out.
        """
        spelt = ""
        parts = path.split("/")
        for depth, part in enumerate(parts):
            entry = self._entry_like(spelt, part)
            if entry is None:
                new = compose("/".join(parts[depth:]))
                return VaultPath(f"{spelt}/{new}" if spelt else new), False
            spelt = f"{spelt}/{entry}" if spelt else entry
        found = VaultPath(spelt)
        return found, os.path.isfile(self._places.real(found))

    def is_folder(self, path: VaultPath) -> bool:
        """Tell whether a folder of exactly this name is there."""
        return os.path.isdir(self._places.real(path))

    def _entry_like(self, folder: str, part: str) -> str | None:
        place = os.path.join(self.root, folder)
        if _NAMES_ARE_EXACT and os.path.lexists(os.path.join(place, part)):
            return part
        if folder:
            self._places.real(VaultPath(folder))  # what lies outside is not looked at, not even its names
        key = fold(part)
        try:
            alike = [name for name in os.listdir(place) if fold(name) == key]
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

    # ------------------------------------------------------------------ reading

    def read(self, path: VaultPath) -> FileBytes:
        """Return the file's bytes. Raises VaultError: FILE_NOT_FOUND, PERMISSION_DENIED, TOO_LARGE, PATH_OUTSIDE_VAULT."""
        return self._read_real(path, self._places.real(path))

    def _read_real(self, path: VaultPath, real: str) -> FileBytes:
        try:
            # The opener's descriptor is closed by open() itself if it turns out to be a folder's.
            with open(real, "rb", opener=lambda name, _: os.open(name, _OPEN_READ)) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise VaultError(FILE_NOT_FOUND, f"{path!r} is not a file.", path=path)
                self._check_size(path, status.st_size)
                data = file.read(status.st_size + 1)
                if (
                    len(data) > status.st_size
                ):  # it has grown since; a buffer for the most it may have is not made before
                    data += file.read(self.max_bytes + 1 - len(data))
        except OSError as error:
            raise _cannot("read", path, error) from error
        self._check_size(path, len(data))
        return FileBytes(data, status.st_mtime_ns)

    def _check_size(self, path: VaultPath, size: int) -> None:
        if size > self.max_bytes:
            raise VaultError(
                TOO_LARGE,
                f"{path!r} has {size} bytes; a note may have at most {self.max_bytes}.",
                path=path,
                size=size,
                max_size=self.max_bytes,
            )

    def digest(self, path: str) -> bytes:
        """Return a digest over one entry of the vault's folder, note or not: name, mode, time, and bytes or link target."""
        place = os.path.join(self.root, path)
        status = os.lstat(place)
        facts = f"{path}\0{status.st_mode:o}\0{status.st_mtime_ns}\0"
        digest = hashlib.blake2b(facts.encode(errors="surrogateescape"), digest_size=16)
        if stat.S_ISLNK(status.st_mode):
            digest.update(os.fsencode(os.readlink(place)))
        elif stat.S_ISREG(status.st_mode):
            with open(place, "rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
        return digest.digest()

    # ------------------------------------------------------------------ writing

    def create(self, path: VaultPath, data: bytes) -> None:
        """Write a file that must not exist yet, making its folders. Raises VaultError: NOTE_EXISTS and those of replace."""
        self._check_size(path, len(data))
        target = self._places.real(path)
        made = self._make_folders(path, os.path.dirname(target))
        try:
            temporary = self._write_temporary(target, data, like=None)
            try:
                publish_new(temporary, target)
            finally:
                remove_quietly(temporary)
        except OSError as error:
            remove_folders_quietly(made)
            if error.errno == errno.EEXIST:
                raise VaultError(NOTE_EXISTS, f"{path!r} exists already.", path=path) from error
            raise _cannot("write", path, error) from error

    def replace(self, path: VaultPath, data: bytes, expected: FileBytes) -> None:
        """Exchange the file's bytes in one step; readers see the old ones or the new ones, never a mixture.

        ``expected`` is what the caller's edit was made from: if the file is another one by now, nothing is written and
        STALE_EDIT is raised. Mode, owner and extended attributes stay. A note the system lets nobody write is left alone,
        though a rename would get round that: PERMISSION_DENIED.
        """
        self._check_size(path, len(data))
        target = self._places.real(path)
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is write-protected.", path=path)
        try:
            temporary = self._write_temporary(target, data, like=target)
            try:
                self._check_unchanged(path, target, expected)
                replace_file(temporary, target)
            except BaseException:
                remove_quietly(temporary)
                raise
        except OSError as error:
            raise _cannot("write", path, error) from error

    def _check_unchanged(self, path: VaultPath, target: str, expected: FileBytes) -> None:
        # The bytes, not size and time: two writes within one tick of the file system's clock have the same time.
        if self._read_real(path, target).data != expected.data:
            raise VaultError(
                STALE_EDIT, f"{path!r} was changed by another program meanwhile; read it again, then edit.", path=path
            )

    def _write_temporary(self, target: str, data: bytes, like: str | None) -> str:
        """Write data, synced, to a hidden sibling of target and return its path. ``like`` lends its mode and attributes."""
        temporary = os.path.join(
            os.path.dirname(target), f"{TEMPORARY_PREFIX}{os.getpid():x}-{os.urandom(6).hex()}{TEMPORARY_SUFFIX}"
        )
        # A new note is as open as the umask lets it be, as any editor's; a private one is never open, not for a moment.
        descriptor = os.open(temporary, OPEN_NEW, 0o666 if like is None else 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if like is not None:
                    copy_attributes(like, temporary, descriptor)
                os.fsync(descriptor)
        except BaseException:
            remove_quietly(temporary)
            raise
        return temporary

    def _make_folders(self, path: VaultPath, folder: str) -> list[str]:
        """Make the folders down to ``folder`` and return those that were missing, outermost first."""
        self._places.check_root()  # an unplugged vault is not to be made anew
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        made: list[str] = []
        for name in reversed(missing):
            try:
                os.mkdir(name)
                made.append(name)
            except FileExistsError as error:
                if not os.path.isdir(name):
                    remove_folders_quietly(made)
                    raise VaultError(
                        WRITE_FAILED,
                        f"{path!r} cannot be written: a part of its path is a file, not a folder.",
                        path=path,
                    ) from error
            except OSError as error:
                remove_folders_quietly(made)
                raise _cannot("write", path, error) from error
        return made

    # ------------------------------------------------------------------ removing

    def trash(self, path: VaultPath) -> str:
        """Move the file to the vault's ``.trash`` folder under a free name and return its path there."""
        source = self._places.real_entry(path)
        folder = os.path.join(self.root, TRASH)
        try:
            os.makedirs(folder, exist_ok=True)
            if os.path.realpath(folder) != folder:
                raise VaultError(
                    PATH_OUTSIDE_VAULT, f"The vault's {TRASH} is a link; refusing to move notes through it."
                )
            name, suffix = stem(path), path[-3:]
            number = 1
            while True:
                # Obsidian numbers a name that is taken: "Note 2.md".
                ending = suffix if number == 1 else f" {number}{suffix}"
                while len(name.encode()) + len(ending) > MAX_NAME_BYTES:
                    name = name[:-1]
                free = name + ending
                try:
                    publish_new(source, os.path.join(folder, free))
                except FileExistsError:
                    number += 1
                    continue
                return f"{TRASH}/{free}"
        except OSError as error:
            raise _cannot("delete", path, error) from error

    def remove(self, path: VaultPath) -> None:
        """Delete the file for good."""
        try:
            os.unlink(self._places.real_entry(path))
        except OSError as error:
            raise _cannot("delete", path, error) from error


def _is_sayable(name: str) -> bool:
    """Tell whether the name can be written in JSON and so be named by a client."""
    return name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name)


def _cannot(verb: str, path: VaultPath, error: OSError) -> VaultError:
    """Return the VaultError for what the system refused, without its own absolute path."""
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to {verb}.", path=path)
    if error.errno == errno.ELOOP:
        return VaultError(PATH_OUTSIDE_VAULT, f"{path!r} is a link that cannot be followed.", path=path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return VaultError(
            PERMISSION_DENIED, f"The system does not allow to {verb} {path!r}: {error.strerror}.", path=path
        )
    return VaultError(WRITE_FAILED, f"Could not {verb} {path!r}: {error.strerror}. Nothing was changed.", path=path)
