"""``vaultwire.installation``: how the program was installed, and the commands that follow from it.

The environments are laid out as uv 0.13, uv 0.4 and pipx 1.18 lay them out; ``make install-test`` makes real ones.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from vaultwire import installation

ROOT = Path(__file__).resolve().parents[2]
METADATA = (distribution("vaultwire").read_text("METADATA") or "").partition("\n\n")[0]
UVX, PIPX_RUN, UV_TOOL, PIPX = ".cache/uv/archive-v0/x1", ".cache/pipx/x1", "uv/tools/vaultwire", "pipx/venvs/vaultwire"


class Place:
    """An environment in a folder, as this process takes it for its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.wheel = folder / "a b" / "vaultwire-1.whl"
        self.wheel.parent.mkdir()
        self.wheel.touch()
        self._patch = monkeypatch
        self._patch.setenv("PATH", str(folder / "empty"))

    def enter(self, prefix: str, direct_url: object = None) -> str:
        path = self.folder / prefix
        path.mkdir(parents=True)
        for cache in (".cache/uv", "uv cache"):
            if prefix.startswith(cache):
                (self.folder / cache / "CACHEDIR.TAG").touch()
        if prefix == UV_TOOL:
            (path / "uv-receipt.toml").touch()
        if "pipx" in prefix:
            (path / "pipx_metadata.json").touch()
        info = path / "site-packages" / "vaultwire-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(METADATA)
        if direct_url is not None:
            (info / "direct_url.json").write_text(json.dumps(direct_url))
        self._patch.setattr(sys, "prefix", str(path))
        self._patch.syspath_prepend(str(info.parent))
        return str(path)

    def enter_from_wheel(self, prefix: str) -> None:
        self.enter(prefix, {"url": self.wheel.as_uri(), "archive_info": {}})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(installation, "has_extra", lambda _: False)  # those of this environment are of no interest
    return Place(tmp_path, monkeypatch)


def parts(requirement: str) -> frozenset[str]:
    """Return a requirement's name and bounds: metadata has the bounds in another order."""
    return frozenset(requirement.partition(";")[0].replace(",", " ").replace(">", " >").replace("<", " <").split())


def test_every_extra_and_its_packages_are_read_from_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    expected = {extra: set(map(parts, each)) for extra, each in project["optional-dependencies"].items()}
    assert {extra: set(map(parts, installation.packages(extra))) for extra in installation.extras()} == expected


def test_an_extra_is_there_if_all_its_packages_are() -> None:
    assert installation.has_extra("pdf")  # requirements/dev.txt
    assert installation.has_extra("oauth")


@pytest.mark.parametrize(
    ("prefix", "way"),
    [
        (UVX, "uvx"),
        (".cache/uv/environments-v2/x1", "uvx"),
        ("uv cache/archive-v12/x1", "uvx"),
        (PIPX_RUN, "pipx run"),
        ("pipx/.cache/x1", "pipx run"),
        (PIPX, "pipx"),
        (UV_TOOL, "uv tool"),
        ("archive-v0/x1", "pip"),  # a person's own folder, no cache of uv
        ("venv", "pip"),
    ],
)
def test_the_way_is_read_from_the_environment(place: Place, prefix: str, way: str) -> None:
    place.enter(prefix)
    assert installation.installation() == (way, "")


@pytest.mark.parametrize(
    ("direct_url", "source"),
    [
        ({"url": "https://example.org/v.whl", "archive_info": {}}, "https://example.org/v.whl"),
        ({"url": "https://example.org/v", "vcs_info": {"vcs": "git", "commit_id": "1"}}, "git+https://example.org/v"),
        (
            {
                "url": "https://example.org/v",
                "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "1"},
            },
            "git+https://example.org/v@main",
        ),
        ({"url": "file:///home/J%C3%B6rg/a%20b", "dir_info": {"editable": True}}, "/home/Jörg/a b"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of other systems")
def test_the_source_is_what_an_installer_takes_again(place: Place, direct_url: object, source: str) -> None:
    place.enter("venv", direct_url)
    assert installation.installation().source == source


def test_a_file_url_of_windows_is_a_path_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    import ntpath  # noqa: PLC0415

    monkeypatch.setattr(os, "name", "nt")
    monkeypatch.setattr(os, "path", ntpath)
    assert installation._to_path("file:///C:/Users/A%20B/v.whl") == r"C:\Users\A B\v.whl"
    assert installation._to_path("file://nas/share/v.whl") == r"\\nas\share\v.whl"


@pytest.mark.parametrize(
    ("prefix", "before"), [(UVX, ["uvx", "--from"]), (PIPX_RUN, ["pipx", "run", "--spec"])], ids=["uvx", "pipx run"]
)
def test_a_client_is_never_given_a_path_in_a_cache(place: Place, prefix: str, before: list[str]) -> None:
    place.enter_from_wheel(prefix)
    assert installation.server_command() == [*before, str(place.wheel), "vaultwire"]
    assert installation.running_command()[0] not in before


def test_extras_that_are_there_stay_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.enter_from_wheel(UVX)
    monkeypatch.setattr(installation, "has_extra", lambda extra: extra in {"images", "web"})
    command = installation.server_command()
    assert command[:5] == ["uvx", "--with", "pillow>=12", "--with", "ddgs<10,>=9.16"]
    assert command[5:] == ["--from", str(place.wheel), "vaultwire"]


def test_pipx_run_gets_extras_without_a_word_on_stdout(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # `pipx run --with` says on stdout what it added.
    monkeypatch.setattr(installation, "has_extra", lambda extra: extra in {"images", "pdf"})
    place.enter_from_wheel(PIPX_RUN)
    assert installation.server_command() == ["pipx", "run", "--spec", f"{place.wheel}[images,pdf]", "vaultwire"]
    place.enter("pipx/.cache/x2", {"url": "https://example.org/v", "vcs_info": {"vcs": "git", "commit_id": "1"}})
    assert installation.server_command()[3] == "vaultwire[images,pdf] @ git+https://example.org/v"


def test_the_program_that_made_the_environment_is_named_by_its_path(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.enter_from_wheel(UVX)
    uvx = shutil.copy(sys.executable, place.folder / ("uvx.exe" if os.name == "nt" else "uvx"))
    monkeypatch.setenv("PATH", str(place.folder))
    assert os.path.samefile(installation.server_command()[0], uvx)
    assert str(place.folder) not in installation.hint_for_clients("pdf")


def test_a_name_that_another_person_could_take_is_not_written_anywhere(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.enter(UVX)
    monkeypatch.setattr(installation, "IS_PUBLISHED", False)
    assert installation.server_command() == installation.running_command()
    assert "vaultwire" not in installation.how_to_add("pdf").split()
    monkeypatch.setattr(installation, "IS_PUBLISHED", True)
    assert installation.server_command() == ["uvx", "vaultwire"]
    assert installation.how_to_add("pdf") == "uvx --with 'pypdf<8,>=7.1' vaultwire"


@pytest.mark.skipif(os.name == "nt", reason="Homebrew is on macOS and Linux")
def test_a_path_of_homebrew_stays_right_after_an_upgrade(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = Path(place.enter("Cellar/vaultwire/1.0/libexec"))
    (prefix / "bin").mkdir()
    (prefix / "bin" / "vaultwire").touch()
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    assert installation.server_command() == [
        str(prefix / "bin" / "vaultwire")
    ]  # as long as there is no other way to it
    shutil.copytree(prefix, place.folder / "opt" / "vaultwire" / "libexec")
    assert installation.server_command() == [str(place.folder / "opt/vaultwire/libexec/bin/vaultwire")]


def test_a_wheel_that_is_gone_is_not_written_into_settings(place: Place) -> None:
    place.enter_from_wheel(UVX)
    place.wheel.unlink()
    assert installation.server_command() == installation.running_command()


@pytest.mark.skipif(os.name == "nt", reason="quoted for other shells")
@pytest.mark.parametrize(
    ("prefix", "command", "for_clients"),
    [
        ("venv", "{python} -m pip install 'pypdf<8,>=7.1'", "python -m pip install 'pypdf<8,>=7.1'"),
        (PIPX, "pipx inject vaultwire 'pypdf<8,>=7.1'", "pipx inject vaultwire 'pypdf<8,>=7.1'"),
        (UV_TOOL, "uv tool install --with 'pypdf<8,>=7.1' {wheel}", "uv tool install --with 'pypdf<8,>=7.1' {name}"),
        (
            UVX,
            "uvx --with 'pypdf<8,>=7.1' --from {wheel} vaultwire",
            "uvx --with 'pypdf<8,>=7.1' --from {name} vaultwire",
        ),
        (
            PIPX_RUN,
            "pipx run --spec '{folder}/vaultwire-1.whl[pdf]' vaultwire",
            "pipx run --spec '{name}[pdf]' vaultwire",
        ),
    ],
)
def test_an_extra_is_added_in_the_way_of_the_installation(
    place: Place, prefix: str, command: str, for_clients: str
) -> None:
    place.enter_from_wheel(prefix)
    words = {
        "python": sys.executable,
        "wheel": f"'{place.wheel}'",
        "folder": place.wheel.parent,
        "name": place.wheel.name,
    }
    assert installation.how_to_add("pdf") == command.format(**words)
    hint = installation.hint_for_clients("pdf")
    assert hint.startswith(for_clients.format(**words))
    assert str(place.folder) not in hint
    assert sys.executable not in hint
    assert ("vaultwire doctor" in hint) == (prefix != PIPX)


def test_an_environment_without_pip_is_filled_by_uv(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.enter("venv")
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert installation.how_to_add("pdf").startswith("uv pip install --python ")


def test_windows_shells_get_quotes_they_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", "nt")
    assert installation._quoted([r"C:\A B\python.exe", "-m", "pypdf<8"]) == r'"C:\A B\python.exe" -m "pypdf<8"'
