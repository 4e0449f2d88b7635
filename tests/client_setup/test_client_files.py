"""A client's file stays what it was but for its bytes: owner, rights, attributes, links and other names."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vaultwire.client_setup.installing import read, replace

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
as_root = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")


@posix
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("names", [1, 2])
def test_rights_attributes_and_other_names_stay(tmp_path: Path, names: int, *, private: bool) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"a longer text before\n")
    path.chmod(0o640)
    if names > 1:
        os.link(path, tmp_path / "other")
    has_attributes = hasattr(os, "setxattr")
    try:
        os.setxattr(path, "user.mine", b"x")
    except (AttributeError, OSError):
        has_attributes = False
    replace(str(path), read(str(path)), b"after", private=private)
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == (0o600 if private else 0o640)
    assert path.stat().st_nlink == names
    assert names == 1 or (tmp_path / "other").read_bytes() == b"after"
    assert not has_attributes or os.getxattr(path, "user.mine") == b"x"


@as_root
@pytest.mark.parametrize("names", [1, 2])
def test_root_leaves_a_file_to_its_owner(tmp_path: Path, names: int) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"before")
    os.chown(path, 1234, 2345)
    if names > 1:
        os.link(path, tmp_path / "other")
    replace(str(path), read(str(path)), b"after")
    assert (path.read_bytes(), path.stat().st_uid, path.stat().st_gid) == (b"after", 1234, 2345)


@as_root
def test_what_root_makes_in_a_persons_folder_is_theirs(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 2345)
    path = tmp_path / "new" / "folder" / "settings.json"
    replace(str(path), read(str(path)), b"new", private=True)
    for made in (path, path.parent, path.parent.parent):
        assert (made.stat().st_uid, made.stat().st_gid) == (1234, 2345)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
