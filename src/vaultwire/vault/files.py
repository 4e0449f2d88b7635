"""The only module that opens a note's bytes: reading with a cap, atomic writing and the trash.

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
from vaultwire.vault.walk import Oddity, is_dataless, look_at, walk_folders

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


_PIECE = 1 << 20


class FileBytes(NamedTuple):
    """A file as read. ``modified_ns`` is nanoseconds since the epoch."""

    data: bytes
    modified_ns: int
    inode: int


class Files:
    """The files of one vault, under ``root`` (resolved). Names come in as VaultPath, errors go out as VaultError."""

    def __init__(self, root: str, max_bytes: int) -> None:
        self._places = Places(root)
        self.root = self._places.root
        self.name = os.path.basename(self.root) or "vault"  # a drive has no name
        self.max_bytes = max_bytes

    # ------------------------------------------------------------------ looking

    def walk(
        self,
        folder: VaultPath | None = None,
        oddities: list[Oddity] | None = None,
        *,
        attachments: bool = False,
    ) -> Iterator[NoteStat]:
        """Yield every note below ``folder``, and every other file too if ``attachments``. See ``walk_folders``."""
        for _, files in self.walk_folders(folder, oddities, attachments=attachments):
            yield from files

    def walk_folders(
        self, folder: VaultPath | None = None, oddities: list[Oddity] | None = None, *, attachments: bool = True
    ) -> Iterator[tuple[str, list[NoteStat]]]:
        """Yield every folder from ``folder`` down and the files right in it. See ``vault.walk``."""
        return walk_folders(self._places, folder, [] if oddities is None else oddities, attachments=attachments)

    def look_at(self, path: VaultPath) -> NoteStat | None:
        """Return a file's facts, None if there is no such file in the vault."""
        return look_at(self._places, path)

    def is_dataless(self, path: VaultPath) -> bool:
        """Tell whether reading the file would fetch it from a cloud."""
        return is_dataless(self._places, path)

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

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """Return the file's bytes, at most ``max_bytes``: if left out, as many as a note may have.

        Raises VaultError: FILE_NOT_FOUND, PERMISSION_DENIED, TOO_LARGE, PATH_OUTSIDE_VAULT.
        """
        return self._read_real(path, self._places.real(path), self.max_bytes if max_bytes is None else max_bytes)

    def _read_real(self, path: VaultPath, real: str, max_bytes: int) -> FileBytes:
        # Without Python's file objects, which take as long as all the rest: a page of hits is twenty files.
        try:
            descriptor = os.open(real, _OPEN_READ)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise VaultError(FILE_NOT_FOUND, f"{path!r} is not a file.", path=path)
                _check_size(path, status.st_size, max_bytes)
                data = os.read(descriptor, status.st_size + 1)
                # A file may come in pieces, or have grown since.
                while len(data) <= max_bytes and (more := os.read(descriptor, min(max_bytes + 1 - len(data), _PIECE))):
                    data += more
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _cannot("read", path, error) from error
        _check_size(path, len(data), max_bytes)
        return FileBytes(data, status.st_mtime_ns, status.st_ino)

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
        _check_size(path, len(data), self.max_bytes)
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
        _check_size(path, len(data), self.max_bytes)
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
        if self._read_real(path, target, self.max_bytes).data != expected.data:
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


def _check_size(path: VaultPath, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        thing = "a note" if is_note(path) else "an attachment"
        raise VaultError(
            TOO_LARGE,
            f"{path!r} has {size} bytes; {thing} may have at most {max_bytes}.",
            path=path,
            size=size,
            max_size=max_bytes,
        )


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
