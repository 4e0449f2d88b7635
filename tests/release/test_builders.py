"""The contract of ``packaging/NAME/build.py`` with ``scripts/release.py``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from scripts import release

BUILDER = """
AFTER = ({after!r},) if {after!r} else ()

def build(version, into):
    path = into / "{name}.txt"
    path.write_text("{name} " + version)
    return [path]
"""


def names(folder: Path, after: Mapping[str, str]) -> list[str]:
    for name, other in after.items():
        (folder / name).mkdir()
        (folder / name / "build.py").write_text(BUILDER.format(name=name, after=other))
    return [name for name, _ in release.builders(folder)]


def test_a_builder_is_found_and_run_after_those_it_needs(tmp_path: Path) -> None:
    assert names(tmp_path, {"bundle": "wheels", "wheels": "", "registry": "bundle"}) == ["wheels", "bundle", "registry"]
    into = tmp_path / "into"
    into.mkdir()
    for _, builder in release.builders(tmp_path):
        assert all(path.is_file() for path in builder.build("1.2.3", into))
    assert (into / "bundle.txt").read_text() == "bundle 1.2.3"


def test_builders_that_wait_for_each_other_or_for_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(release.ReleaseError, match="wait for each other"):
        names(tmp_path, {"one": "two", "two": "one"})
    (tmp_path / "more").mkdir()
    with pytest.raises(release.ReleaseError, match=r"no packaging/three/build\.py"):
        names(tmp_path / "more", {"one": "three"})


def test_an_artefact_that_differs_when_it_is_built_twice_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, text in ((first, "12:00"), (second, "12:01")):
        (folder / "plugin").mkdir(parents=True)
        (folder / "plugin" / "same.txt").write_text("same")
        (folder / "made.txt").write_text(text)
    with pytest.raises(release.ReleaseError, match=r"built twice: made\.txt$"):
        release.check_same(first, second)
    (second / "made.txt").write_text("12:00")
    release.check_same(first, second)
    (second / "other.txt").write_text("")
    with pytest.raises(release.ReleaseError, match=r"other\.txt"):
        release.check_same(first, second)


def test_the_sums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("abc")
    release.write_sums(tmp_path)
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (tmp_path / "SHA256SUMS").read_bytes() == f"{digest}  folder/a.txt\n".encode()
    assert digest in release.table(tmp_path)


def test_a_folder_that_holds_other_files_is_not_emptied(tmp_path: Path) -> None:
    built, into = tmp_path / "built", tmp_path / "into"
    for folder in (built, into):
        folder.mkdir()
    (built / "SHA256SUMS").write_text("")
    (into / "thesis.md").write_text("")
    with pytest.raises(release.ReleaseError, match="holds other files"):
        release.put_in_place(built, into)
    (into / "thesis.md").unlink()
    release.put_in_place(built, into)
    (into / "older.whl").write_text("")
    release.put_in_place(built, into)
    assert [path.name for path in into.iterdir()] == ["SHA256SUMS"]


def test_the_time_is_that_of_the_last_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "")
    release.set_epoch()
    said = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=release.ROOT, capture_output=True, check=True)
    assert os.environ["SOURCE_DATE_EPOCH"] == said.stdout.decode().strip()
