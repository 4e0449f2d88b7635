"""Build, check and list everything that a release consists of: ``make release``. docs/releasing.md says what comes after.

The wheel and the sdist are built here. Every other artefact comes from a builder, ``packaging/NAME/build.py``:

    AFTER = ("other_name",)  # optional: builders that must have run before

    def build(version: str, into: Path) -> list[Path]:
        '''Write files below ``into`` and return them.'''

``into`` already holds the wheel, the sdist, and the files of the builders named in AFTER. The files of all builders lie side
by side, so names contain the artefact's name. A builder writes the same bytes each time: names sorted, and the times in
archives from the variable SOURCE_DATE_EPOCH, which is always set. NAME is a valid name of a Python module, as mypy wants.
"""

from __future__ import annotations

import argparse
import filecmp
import graphlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from vaultwire import __version__
from vaultwire.distribution import NAME

ROOT = Path(__file__).resolve().parent.parent
BUILDERS = ROOT / "packaging"
SUMS = "SHA256SUMS"
TOOLS = ROOT / ".venv" / "release" / "bin"  # an environment of its own, made by the Makefile
_EPOCH = "SOURCE_DATE_EPOCH"


class ReleaseError(Exception):
    """What keeps a release from being built, in one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build a release into ``dist/`` and print its table. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--into", type=Path, default=ROOT / "dist", metavar="FOLDER", help="where it goes (dist/)")
    parser.add_argument(
        "--uncommitted", action="store_true", help="also build from files that are not committed, to try a builder"
    )
    options = parser.parse_args(arguments)
    try:
        set_epoch()
        if not options.uncommitted:
            check_is_committed()
        with tempfile.TemporaryDirectory(prefix="vaultwire-release-") as scratch:
            first, second = Path(scratch, "first"), Path(scratch, "second")
            for folder in (first, second):
                folder.mkdir()
                build_all(folder)
            check_same(first, second)
            check_sdist_is_complete(first, Path(scratch, "unpacked"))
            check_metadata(first)
            write_sums(first)
            put_in_place(first, options.into)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(table(options.into))
    return 0


def set_epoch() -> None:
    """Set SOURCE_DATE_EPOCH to the time of the last commit, unless it is set. Raises ReleaseError."""
    if os.environ.get(_EPOCH):
        return
    try:
        os.environ[_EPOCH] = _git("log", "-1", "--format=%ct").strip()
    except (OSError, subprocess.CalledProcessError):
        raise ReleaseError(f"this folder is no clone: set {_EPOCH} to the time of the release (seconds)") from None


def check_is_committed() -> None:
    """Raise ReleaseError if a file is changed or new: what is released must be what others can look at."""
    try:
        changed = _git("status", "--porcelain").splitlines()
    except (OSError, subprocess.CalledProcessError):
        return  # an unpacked sdist: it has no history
    if changed:
        names = ", ".join(line[3:] for line in changed[:5])
        raise ReleaseError(f"commit these first: {names} (or --uncommitted, to try a builder)")


def build_all(into: Path) -> None:
    """Build every artefact into an empty folder. Raises ReleaseError."""
    build_package(ROOT, into, "wheel", "sdist")
    for name, builder in builders(BUILDERS):
        files = builder.build(__version__, into)
        if not files or any(not path.is_file() or not path.is_relative_to(into) for path in files):
            raise ReleaseError(f"packaging/{name}/build.py must return the files that it wrote below {into}: {files}")


def build_package(source: Path, into: Path, *targets: str) -> None:
    """Build the Python package of a source tree. Raises ReleaseError."""
    chosen = [word for target in targets for word in ("-t", target)]
    _run([sys.executable, "-m", "hatchling", "build", *chosen, "-d", str(into)], source)


def builders(folder: Path) -> Iterator[tuple[str, ModuleType]]:
    """Yield the builders below a folder with their names, each after those it needs. Raises ReleaseError."""
    found = {path.parent.name: _load(path) for path in sorted(folder.glob("*/build.py"))}
    order: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
    for name, module in found.items():
        order.add(name, *getattr(module, "AFTER", ()))
    try:
        names = list(order.static_order())
    except graphlib.CycleError as error:
        raise ReleaseError(f"these builders wait for each other: {', '.join(error.args[1])}") from None
    for name in names:
        if name not in found:
            raise ReleaseError(f"a builder has {name!r} in AFTER, but there is no packaging/{name}/build.py")
        yield name, found[name]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"vaultwire_packaging_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_same(first: Path, second: Path) -> None:
    """Raise ReleaseError unless both folders have the same files with the same bytes."""
    ours, theirs = artefacts(first), artefacts(second)
    differing = sorted({path.name for path in ours} ^ {path.name for path in theirs})
    differing += [path.name for path in ours if not filecmp.cmp(path, second / path.relative_to(first), shallow=False)]
    if differing:
        raise ReleaseError(f"these are not the same when they are built twice: {', '.join(differing)}")


def check_sdist_is_complete(folder: Path, unpacked: Path) -> None:
    """Raise ReleaseError unless the wheel that is built from the sdist is the wheel."""
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    build_package(unpacked / sdist.name.removesuffix(".tar.gz"), unpacked, "wheel")
    if not filecmp.cmp(wheel, unpacked / wheel.name, shallow=False):
        raise ReleaseError("the wheel built from the sdist is not the wheel built from this folder")


def check_metadata(folder: Path) -> None:
    """Raise ReleaseError unless the index would take the wheel and the sdist, and show the README."""
    packages = [str(path) for path in artefacts(folder) if path.name.endswith((".whl", ".tar.gz"))]
    _run([str(TOOLS / "twine"), "check", "--strict", *packages], ROOT)


def artefacts(folder: Path) -> list[Path]:
    """Return all files of a release but the list of their sums."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)


def write_sums(folder: Path) -> None:
    """Write the sums as ``sha256sum --check`` reads them."""
    lines = [f"{_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in artefacts(folder)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8", newline="\n")


def put_in_place(built: Path, into: Path) -> None:
    """Put a built release in the place of an older one. Raises ReleaseError if a folder holds something else."""
    if into.exists():
        if any(into.iterdir()) and not (into / SUMS).exists():
            raise ReleaseError(f"{into} holds other files: move them elsewhere, or name another folder with --into")
        shutil.rmtree(into)
    shutil.copytree(built, into)


def table(folder: Path) -> str:
    """Return the table that is printed: artefact, size, SHA-256."""
    rows = [(path.relative_to(folder).as_posix(), path.stat().st_size, _sha256(path)) for path in artefacts(folder)]
    width = max(len(name) for name, _, _ in rows)
    lines = [f"{name:<{width}}  {size / 1000:>8,.1f} kB  {digest}" for name, size, digest in rows]
    return "\n".join([f"{NAME} {__version__} in {folder}", "", *lines])


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _run(command: list[str], folder: Path) -> None:
    """Run a tool. Raises ReleaseError with all it said, if it fails."""
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ReleaseError(f"{command[0]} is not there: start this with make release") from None
    if ended.returncode:
        raise ReleaseError(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")


if __name__ == "__main__":
    sys.exit(main())
