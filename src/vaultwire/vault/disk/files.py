"""The only module that opens a note's bytes: reading with a cap, and writing whole files that have no name yet.

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

from vaultwire.vault.disk.paths import compose, fold, is_note
from vaultwire.vault.disk.places import Places
from vaultwire.vault.disk.publish import OPEN_NEW, copy_attributes, remove_quietly
from vaultwire.vault.disk.walk import Oddity, is_dataless, look_at, stamp_of, walk_folders
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    TOO_LARGE,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.model import NoteStat, VaultPath

TEMPORARY_PREFIX = ".vaultwire-"  # hidden: Obsidian and its sync pass over names that start with a dot
TEMPORARY_SUFFIX = ".tmp"

# Elsewhere a name may be found under another spelling than it has, so the folder is asked how it spells it.
NAMES_ARE_EXACT = sys.platform not in ("darwin", "win32")
# O_NOFOLLOW: whatever leads elsewhere was resolved before. O_NONBLOCK: opening a FIFO must not wait.
_OPEN_READ = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_OPENS_NO_LINK = hasattr(os, "O_NOFOLLOW")
_LINK_ERRORS = (errno.ELOOP, errno.EMLINK)  # FreeBSD says the latter
_PIECE = 1 << 20


class FileBytes(NamedTuple):
    """A file as read. ``modified_ns`` is nanoseconds since the epoch, ``stamp`` as in ``NoteStat``."""

    data: bytes
    modified_ns: int
    stamp: int


class Files:
    """The files of one vault, under ``root`` (resolved). Names come in as VaultPath, errors go out as VaultError.

    ``visibility`` has one for runs that may not see all of them: ``hides_some`` says so, ``stamp`` which they are (the same
    text for the same rules), ``private_marks`` says what makes a note private.
    """

    hides_some = False
    stamp = ""
    private_marks = ""

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
        """Yield every folder from ``folder`` down and the files right in it. See ``vault.disk.walk``."""
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

    def is_taken(self, path: VaultPath) -> bool:
        """Tell whether anything is there under this name: a file, a folder, or a link, wherever it leads."""
        return os.path.lexists(self._places.real_entry(path))

    def is_link(self, path: VaultPath) -> bool:
        """Tell whether what has this name is a link, wherever it leads."""
        return os.path.islink(self._places.real_entry(path))

    def _entry_like(self, folder: str, part: str) -> str | None:
        if NAMES_ARE_EXACT and os.path.lexists(os.path.join(self.root, folder, part)):
            return part
        return self._only_entry_like(folder, part)

    def _only_entry_like(self, folder: str, part: str) -> str | None:
        place = os.path.join(self.root, folder)
        if folder:
            self._places.real(VaultPath(folder))  # what lies outside is not looked at, not even its names
        key = fold(part)
        try:
            alike = self._shown(folder, [name for name in os.listdir(place) if fold(name) == key])
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

    def _shown(self, folder: str, names: list[str]) -> list[str]:  # noqa: ARG002 - see visibility
        return names

    # ------------------------------------------------------------------ reading

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """Return the file's bytes, at most ``max_bytes``: if left out, as many as a note may have.

        Raises VaultError: FILE_NOT_FOUND, PERMISSION_DENIED, TOO_LARGE, PATH_OUTSIDE_VAULT.
        """
        most = self.max_bytes if max_bytes is None else max_bytes
        # Without Python's file objects, which take as long as all the rest: a page of hits is twenty files.
        try:
            descriptor = self._open(path)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise VaultError(FILE_NOT_FOUND, f"{path!r} is not a file.", path=path)
                check_size(path, status.st_size, most)
                data = os.read(descriptor, status.st_size + 1)
                # A file may come in pieces, or have grown since.
                while len(data) != status.st_size and len(data) <= most:
                    more = os.read(descriptor, min(most + 1 - len(data), _PIECE))
                    if not more:
                        break
                    data += more
            finally:
                os.close(descriptor)
        except OSError as error:
            raise cannot("read", path, error) from error
        check_size(path, len(data), most)
        return FileBytes(data, status.st_mtime_ns, stamp_of(status))

    def _open(self, path: VaultPath) -> int:
        if _OPENS_NO_LINK:
            # So opening tells what looking first would, with a call to the system less.
            try:
                return os.open(self._places.real_entry(path), _OPEN_READ)
            except OSError as error:
                if error.errno not in _LINK_ERRORS:
                    raise
        return os.open(self._places.real(path), _OPEN_READ)

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

    # ------------------------------------------------------------------ what this run may (all, here; see visibility)

    def may_be_seen(self, path: VaultPath) -> bool:  # noqa: ARG002
        """Tell whether a file of this path may be seen, whether it is there or not."""
        return True

    def may_be_entered(self, folder: VaultPath) -> bool:  # noqa: ARG002
        """Tell whether there may be something to see in a folder of this path, whether it is there or not."""
        return True

    def is_private(self, path: VaultPath, data: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file of this path that holds these bytes may not be seen because of what it says."""
        return False

    def check_change(self, path: VaultPath) -> None:
        """Raise VaultError (POLICY_DENIED) if this run may not make, change, move or delete what is at the path."""

    # ------------------------------------------------------------------ for whoever carries changes out

    def place(self, path: VaultPath) -> str:
        """Return the absolute path of the file a path leads to, links followed. Raises VaultError if it leads out."""
        return self._places.real(path)

    def entry(self, path: VaultPath) -> str:
        """Return the absolute path of the directory entry itself, which may be a link."""
        return self._places.real_entry(path)

    def check_root(self) -> None:
        """Raise VAULT_NOT_FOUND if the vault's folder is gone: an unplugged vault is not to be made anew."""
        self._places.check_root()

    def holds(self, place: str, data: bytes, *, cut: bool = False) -> bool:
        """Tell whether there is a file at the absolute path ``place`` with exactly these bytes. Raises OSError.

        With ``cut`` also if the file has the first of these bytes only.
        """
        # The bytes, not size and time: two writes within one tick of the file system's clock have the same time.
        try:
            descriptor = os.open(place, _OPEN_READ & ~getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
                return False
            raise
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > len(data):
                return False
            if status.st_size != len(data):
                if not cut:
                    return False
                data = data[: status.st_size]
            found = os.read(descriptor, len(data) + 1)
            while len(found) < len(data) and (more := os.read(descriptor, _PIECE)):
                found += more
            return found == data
        finally:
            os.close(descriptor)

    def write_new(self, place: str, data: bytes, like: str | None) -> None:
        """Write data, synced, to a file that is not there yet. ``like`` lends its mode and attributes. Raises OSError."""
        # A new note is as open as the umask lets it be, as any editor's; a private one is never open, not for a moment.
        descriptor = os.open(place, OPEN_NEW, 0o666 if like is None else 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if like is not None:
                    copy_attributes(like, place, descriptor)
                os.fsync(descriptor)
        except BaseException:
            remove_quietly(place)
            raise


def check_size(path: VaultPath, size: int, max_bytes: int) -> None:
    """Refuse a file that is too large. Raises VaultError (TOO_LARGE)."""
    if size > max_bytes:
        thing = "a note" if is_note(path) else "an attachment"
        raise VaultError(
            TOO_LARGE,
            f"{path!r} has {size} bytes; {thing} may have at most {max_bytes}.",
            path=path,
            size=size,
            max_size=max_bytes,
        )


def cannot(verb: str, path: VaultPath, error: OSError) -> VaultError:
    """Return the VaultError for what the system refused to do with a file, without its own absolute path."""
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return VaultError(FILE_NOT_FOUND, f"No note {path!r} is there to {verb}.", path=path)
    if error.errno == errno.ELOOP:
        return VaultError(PATH_OUTSIDE_VAULT, f"{path!r} is a link that cannot be followed.", path=path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return VaultError(
            PERMISSION_DENIED, f"The system does not allow to {verb} {path!r}: {error.strerror}.", path=path
        )
    return VaultError(WRITE_FAILED, f"Could not {verb} {path!r}: {error.strerror}. Nothing was changed.", path=path)
