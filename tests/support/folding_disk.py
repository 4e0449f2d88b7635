"""A disk that finds files as macOS or Windows do, on Linux: a folder is shown through FUSE, and names are looked up as there.

``python -m support.folding_disk KIND FOLDER PLACE`` shows FOLDER at PLACE until it is unmounted. Names are listed as they were
given, as those systems do. What is found under them is that of HFS+ (``mac``: case, Unicode form and characters that are not
shown do not count) or of NTFS (``windows``: case does not count; dots and spaces at the end, and a stream after a colon, are
cut off; long names have short ones). It renames only as POSIX does: a call to swap names is refused, as by FAT.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_SIMPLE = re.compile(r"[A-Za-z0-9_-]{1,8}(\.[A-Za-z0-9_-]{1,3})?")


def key_of(kind: str, name: str) -> str:
    """Return what is equal for names by which such a disk finds one entry."""
    if kind == "mac":
        return unicodedata.normalize("NFD", _HIDDEN.sub("", unicodedata.normalize("NFD", name)).casefold())
    return name.partition(":")[0].rstrip(". ").upper()


def short_name(name: str) -> str:
    """Return the short name of an entry, as NTFS makes the first one of its kind; ``""`` if its own name is short."""
    if _SIMPLE.fullmatch(name):
        return ""
    stem, dot, ending = name.lstrip(".").rpartition(".")
    stem, ending = (stem, ending) if dot else (ending, "")
    letters = re.sub(r"[^A-Z0-9]", "", stem.upper())
    return f"{letters[:6]}~1" + (f".{ending.upper()[:3]}" if ending else "")


@contextmanager
def folding_disk(kind: str, backing: Path, place: Path) -> Iterator[Path]:
    """Show the folder ``backing`` at ``place``, both new. Skips the test where the system does not allow it."""
    try:
        import mfusepy  # noqa: F401, PLC0415 - not everywhere
    except (ImportError, OSError) as error:
        pytest.skip(f"needs libfuse: {error}")
    unmount = next(filter(None, map(shutil.which, ("fusermount3", "fusermount", "umount"))), None)
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or unmount is None:
        pytest.skip("needs FUSE")
    backing.mkdir()
    place.mkdir()
    command = [sys.executable, "-m", "support.folding_disk", kind, str(backing), str(place)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as disk:
        try:
            assert disk.stdout is not None
            line = disk.stdout.readline()  # once it is mounted
            if line != b"mounted\n":
                pytest.skip(f"FUSE does not work here: {(line + disk.stdout.read())[-200:]!r}")
            yield place
        finally:
            subprocess.run([unmount, *(["-u"] if "fusermount" in unmount else []), str(place)], check=False)
            disk.terminate()


def _serve(kind: str, backing: str, place: str) -> None:  # noqa: C901 - one function an operation
    from mfusepy import FUSE, FuseOSError, Operations  # noqa: PLC0415 - not everywhere

    class Disk(Operations):  # type: ignore[misc]
        """The operations that the program needs."""

        use_ns = True

        def init(self, _path: str) -> None:
            sys.stdout.write("mounted\n")
            sys.stdout.flush()

        def _place(self, path: str) -> str:
            """Return where the path leads in the folder behind: each part as it is stored, if it is."""
            here = backing
            for part in filter(None, path.split("/")):
                here = os.path.join(here, _stored(kind, here, part))
            return here

        def getattr(self, path: str, _fh: int | None = None) -> dict[str, int]:
            status = os.lstat(self._place(path))
            names = ("st_ino", "st_mode", "st_nlink", "st_size", "st_uid", "st_gid")
            times = {f"st_{each}time": getattr(status, f"st_{each}time_ns") for each in "amc"}
            return {name: getattr(status, name) for name in names} | times

        def readdir(self, path: str, _fh: int) -> list[tuple[str, dict[str, int], int]]:
            with os.scandir(self._place(path)) as entries:
                return [(each.name, {"st_ino": each.inode()}, 0) for each in entries]

        def mkdir(self, path: str, mode: int) -> None:
            if os.path.lexists(self._place(path)):
                raise FuseOSError(errno.EEXIST)
            os.mkdir(self._place(path), mode)

        def rmdir(self, path: str) -> None:
            os.rmdir(self._place(path))

        def unlink(self, path: str) -> None:
            os.unlink(self._place(path))

        def rename(self, old: str, new: str) -> None:
            source, target = self._place(old), self._place(new)
            if source == target:  # another spelling of its name
                target = os.path.join(os.path.dirname(target), os.path.basename(new))
            os.rename(source, target)

        def open(self, path: str, flags: int) -> int:
            return os.open(self._place(path), flags)

        def create(self, path: str, mode: int, _fi: object = None) -> int:
            return os.open(self._place(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

        def read(self, _path: str, size: int, offset: int, fh: int) -> bytes:
            return os.pread(fh, size, offset)

        def write(self, _path: str, data: bytes, offset: int, fh: int) -> int:
            return os.pwrite(fh, data, offset)

        def truncate(self, path: str, length: int, _fh: int | None = None) -> None:
            os.truncate(self._place(path), length)

        def fsync(self, _path: str, _datasync: int, fh: int) -> None:
            os.fsync(fh)

        def release(self, _path: str, fh: int) -> None:
            os.close(fh)

        def chmod(self, path: str, mode: int) -> None:
            os.chmod(self._place(path), mode)

    class Renaming(FUSE):  # type: ignore[misc]
        """Refuses what ``rename`` cannot do, instead of doing something else."""

        def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
            return -errno.EINVAL if flags else self.rename_fuse_2(old, new) or 0

    Renaming(
        Disk(),
        place,
        foreground=True,
        nothreads=True,
        use_ino=True,
        entry_timeout=0,
        attr_timeout=0,
        negative_timeout=0,
    )


def _stored(kind: str, folder: str, name: str) -> str:
    """Return the stored name that the disk finds for a name, the name itself if it finds none."""
    try:
        names = os.listdir(folder)
    except OSError:
        return name
    key = key_of(kind, name)
    for each in names:
        if key_of(kind, each) == key or (kind == "windows" and key == short_name(each)):
            return each
    return name


if __name__ == "__main__":
    _serve(*sys.argv[1:])
