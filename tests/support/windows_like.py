"""A Python that lacks what Windows lacks, on Linux: modules, functions and signals. A rename refuses a name that is taken.

``python -m support.windows_like modules`` imports every module of the program and prints how many there are;
``python -m support.windows_like run ARGUMENTS`` runs the command. Paths are still those of Linux, and so is the disk.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import importlib
import importlib.abc
import importlib.machinery
import os
import pathlib
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import types
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# https://docs.python.org/3/library/: "Availability: Unix".
MODULES = (
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
    "uvloop",
    "vaultwire.vault.disk.inotify",
)
FUNCTIONS = {
    os: (
        "O_CLOEXEC O_NOFOLLOW O_NONBLOCK O_DIRECTORY chown fchown lchown fork forkpty getegid geteuid getgid getgroups "
        "getpgid getuid killpg listxattr getxattr setxattr removexattr mkfifo mknod nice pread pwrite sched_getaffinity "
        "sched_setaffinity setsid setuid statvfs fstatvfs sync uname sysconf getloadavg posix_fallocate posix_fadvise sendfile"
    ),
    select: "poll epoll kqueue",
    signal: "SIGHUP SIGKILL SIGALRM SIGCHLD SIGIO SIGPIPE SIGQUIT SIGURG SIGUSR1 SIGUSR2 SIGWINCH "
    "alarm pause pthread_sigmask setitimer siginterrupt sigwait",
    socket: "AF_UNIX SO_REUSEPORT",
}  # fmt: skip
_ROOT = Path(__file__).resolve().parents[2] / "src" / "vaultwire"


class _Missing(importlib.abc.MetaPathFinder):
    """Finds no module that Windows lacks."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}, as on Windows", name=name)
        return None


def become_windows() -> None:
    """Change this interpreter, once, before the program is imported."""
    _import_others()
    warnings.filterwarnings("error", category=EncodingWarning, module="vaultwire")
    flock = importlib.import_module("fcntl")
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Missing())
    for module, names in FUNCTIONS.items():
        for name in names.split():
            with contextlib.suppress(AttributeError):
                delattr(module, name)
    sys.modules["msvcrt"] = _msvcrt(flock)
    rename, kill = os.rename, os.kill

    def rename_like_windows(source: Any, target: Any) -> None:
        if os.path.lexists(target) and not os.path.samestat(os.lstat(source), os.lstat(target)):
            raise FileExistsError(
                errno.EEXIST, "Cannot create a file when that file already exists", source, None, target
            )
        rename(source, target)

    def kill_like_windows(process: int, number: int) -> None:
        assert number, f"os.kill({process}, 0) would end the process on Windows"
        kill(process, number)

    changed: Any = os
    changed.rename, changed.kill, changed.link, changed.name = rename_like_windows, kill_like_windows, _refuse, "nt"
    popen: Any = subprocess.Popen
    popen.kill = popen.terminate  # as there; its own would look for SIGKILL
    sys.platform = "win32"
    pathlib.WindowsPath = pathlib.PosixPath  # type: ignore[misc, assignment] # the standard library makes paths of this computer


def _refuse(*_: Any, **__: Any) -> None:
    raise OSError(errno.EINVAL, "needs NTFS")


def _msvcrt(fcntl: Any) -> Any:
    """Return the part of Windows' module that the program uses."""
    module: Any = types.ModuleType("msvcrt")
    module.LK_NBLCK, module.LK_UNLCK = 2, 0

    def locking(descriptor: int, mode: int, _bytes: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_UN if mode == module.LK_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    module.locking = locking
    return module


def _import_others() -> None:
    """Import what the program imports from elsewhere: the rest of Python would notice that this is not Windows."""
    for path in _ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                if not name.startswith("vaultwire") and name not in {"msvcrt", "uvloop"}:
                    with contextlib.suppress(ImportError):
                        importlib.import_module(name)
    for name in (
        "asyncio.runners",
        "concurrent.futures.thread",
        "encodings.idna",
        "getpass",
        "http.client",
        "ssl",
        "subprocess",
        "uuid",
    ):
        importlib.import_module(name)


def main(arguments: Sequence[str]) -> None:
    become_windows()
    if arguments[0] == "modules":
        package = importlib.import_module("vaultwire")
        names = [each.name for each in pkgutil.walk_packages(package.__path__, "vaultwire.")]
        for name in names:
            if name not in MODULES and not name.endswith("__main__"):
                importlib.import_module(name)
        sys.stdout.write(f"{len(names)}\n")
        return
    sys.argv = ["vaultwire", *arguments[1:]]
    runpy.run_module("vaultwire", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
