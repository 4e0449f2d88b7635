"""Which vaults a command line names: names and folders, what Obsidian knows, and what is refused in one clear line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.vaults import write_vault
from vaultwire.cli import clients
from vaultwire.cli.commands import make_parser
from vaultwire.config import ConfigError, make_config
from vaultwire.obsidian import known_vaults

PLACES = {  # where the app may keep its list, below the home folder
    "linux": [
        ".config/obsidian",
        ".var/app/md.obsidian.Obsidian/config/obsidian",
        "snap/obsidian/current/.config/obsidian",
    ],
    "darwin": ["Library/Application Support/obsidian"],
    "win32": ["AppData/Roaming/obsidian"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder we are in, with two vaults in it; nobody's own settings are seen from here."""
    for name in ("one", "two"):
        write_vault(tmp_path / name, f"=== Note.md\n{name}\n")
    monkeypatch.chdir(tmp_path)
    for variable in ("VAULTWIRE_VAULT", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    return tmp_path


def write_list(folder: Path, *vaults: Path | str, place: str = PLACES["linux"][0]) -> None:
    known = {"vaults": {str(number): {"path": str(path), "ts": 1} for number, path in enumerate(vaults)}}
    (folder / "home" / place).mkdir(parents=True, exist_ok=True)
    (folder / "home" / place / "obsidian.json").write_text(json.dumps(known))


def refused(*vaults: str) -> str:
    with pytest.raises(ConfigError) as error:
        make_config(vaults)
    assert "\n" not in str(error.value)
    return str(error.value)


# ---------------------------------------------------------------------- names


def test_one_vault_needs_no_name(folder: Path) -> None:
    for given in ("one", ["one"]):
        assert make_config(given).vaults == {"": str(folder / "one")}
    assert make_config("Work=one").vaults == {"Work": str(folder / "one")}


def test_several_vaults_have_the_names_they_are_given_or_their_folders(folder: Path) -> None:
    config = make_config(["two", "Work=one"])
    assert config.vaults == {"two": str(folder / "two"), "Work": str(folder / "one")}
    assert config.vault == str(folder / "two")
    assert config.for_vault("Work").vaults == {"Work": str(folder / "one")}


def test_the_environment_may_name_one_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_VAULT", "Work=one")
    assert make_config(None).vaults == {"Work": str(folder / "one")}
    assert make_config(["two"]).vaults == {"": str(folder / "two")}


def test_a_folder_goes_before_a_name(folder: Path) -> None:
    write_vault(folder / "Work=one", "=== Note.md\n")
    assert make_config("Work=one").vaults == {"": str(folder / "Work=one")}


def test_a_name_is_kept_in_its_composed_form() -> None:
    assert list(make_config(["u\u0308ber=one"]).vaults) == ["\u00fcber"]


@pytest.mark.skipif(os.name == "nt", reason="no such paths there")
def test_a_path_with_an_equals_sign_that_is_not_there_is_told_as_a_path(folder: Path) -> None:
    for given in (f"{folder}/no=where", "./no=where", "~/no=where"):
        assert "no=where does not exist" in refused(given)


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\\b", "a\nb", " a", "a\x00", "\u200b", "x" * 101, "a\u202eb"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    assert "cannot be a vault's name" in refused(f"{name}=one")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["a=one", "a=two"], ["two vaults are named 'a'", "one", "two"]),
        (["a=one", "A=two"], ["two vaults are named 'A'"]),
        (["one", "One=two"], ["two vaults are named 'One'"]),
        (["a=one", "b=one"], ["'a' and 'b' are the same folder"]),
        (["a=one", "b=two/../one/"], ["'a' and 'b' are the same folder"]),
        (["a=one", "b=link"], ["'a' and 'b' are the same folder"]),
        (["a=one", "b=one/inner"], ["'b' is inside 'a'"]),
        (["b=one/inner", "a=one"], ["'b' is inside 'a'"]),
        (["a=one", "b=nowhere"], ["no such vault", "nowhere does not exist"]),
        (["a="], ["which vault?"]),
        (["one", ""], ["which vault?"]),
        ([], ["which vault?"]),
    ],
)
def test_vaults_that_are_not_apart_are_refused(folder: Path, given: list[str], words: list[str]) -> None:
    (folder / "one" / "inner").mkdir()
    (folder / "link").symlink_to(folder / "one")
    message = refused(*given)
    for word in words:
        assert word in message


def test_a_hidden_folder_is_no_part_of_the_vault_around_it(folder: Path) -> None:
    (folder / "one" / ".inner").mkdir()
    assert list(make_config(["one", "inner=one/.inner"]).vaults) == ["one", "inner"]


@pytest.mark.parametrize("vault", ["one", "two"])
def test_the_journal_lies_in_none_of_the_vaults(folder: Path, vault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(folder / vault / "state"))
    assert "VAULTWIRE_STATE must not be a folder in the vault" in refused("one", "two")


def test_what_is_printed_for_a_client_serves_the_same_vaults(folder: Path) -> None:
    config = make_config(["Work=one", "two"])
    given = ["client-config", "cursor", "--vault", "Work=one", "--vault", "two"]
    entry = clients.read_setup(make_parser().parse_args(given)).entry
    options = entry["args"][entry["args"].index("stdio") + 1 :]
    assert options == ["--vault", f"Work={folder / 'one'}", "--vault", f"two={folder / 'two'}"]
    assert make_config(options[1::2]).vaults == config.vaults


@pytest.mark.parametrize("spelt", [["--vault", "Work=one", "--vault", "two"], ["--vault=Work=one", "--vault", "two"]])
def test_the_option_may_be_given_more_than_once_in_every_spelling(spelt: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "vaultwire", "stdio", *spelt],
        input=b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
        b'"clientInfo":{"name":"tests","version":"0"}}}\n',
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert b"'Work', 'two'" in ended.stdout


def test_doctor_looks_at_every_vault(folder: Path) -> None:
    write_list(folder, folder / "two")
    (folder / "two" / "Broken.md").write_bytes(b"\xff")
    command = [sys.executable, "-m", "vaultwire", "doctor", "--json", "--vault", "Work=one", "--vault", "two"]
    ended = subprocess.run(command, capture_output=True, timeout=120, check=False)
    reports = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert {name: report["healthy"] for name, report in reports.items()} == {"Work": True, "two": False}
    assert reports["Work"]["vault"]["path"] == str(folder / "one")
    assert reports["Work"]["environment"]["obsidian_vaults"] == {str(folder / "two"): "two"}


# ---------------------------------------------------------------------- what Obsidian knows


@pytest.mark.parametrize("place", PLACES["linux"])
def test_a_vault_that_obsidian_knows_needs_no_path(folder: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    work = write_vault(folder / "deep" / "My Work", "=== Note.md\n")
    write_list(folder, work, place=place)
    assert make_config("My Work").vaults == {"": str(work)}
    assert make_config("my work").vaults == {"": str(work)}
    assert make_config(["two", "w=My Work"]).vaults == {"two": str(folder / "two"), "w": str(work)}


@pytest.mark.parametrize("platform", PLACES)
def test_the_list_is_found_on_every_system(folder: Path, platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    write_list(folder, folder / "one", place=PLACES[platform][0])
    assert [(each.name, each.path) for each in known_vaults.known_vaults()] == [("one", str(folder / "one"))]


@pytest.mark.parametrize(("platform", "variable"), [("linux", "XDG_CONFIG_HOME"), ("win32", "APPDATA")])
def test_a_moved_settings_folder_is_looked_into(
    folder: Path, platform: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, str(folder / "home" / "moved"))
    write_list(folder, folder / "two", place="moved/obsidian")
    assert [(each.name, each.path) for each in known_vaults.known_vaults()] == [("two", str(folder / "two"))]


def test_a_folder_goes_before_what_obsidian_knows(folder: Path) -> None:
    write_list(folder, write_vault(folder / "deep" / "one", "=== Note.md\n"))
    assert make_config("one").vaults == {"": str(folder / "one")}


def test_two_vaults_of_one_name_are_told_apart_by_path(folder: Path) -> None:
    for place in ("a", "b"):
        write_vault(folder / place / "Work", "=== Note.md\n")
    write_list(folder, folder / "a" / "Work", folder / "b" / "Work")
    message = refused("Work")
    assert str(folder / "a" / "Work") in message
    assert str(folder / "b" / "Work") in message


def test_a_vault_that_is_known_and_gone_is_told_by_its_path(folder: Path) -> None:
    write_list(folder, folder / "deep" / "Work")
    assert f"{folder / 'deep' / 'Work'} does not exist" in refused("Work")


@pytest.mark.parametrize("given", [[], ["Nowhere"], ["a=Nowhere"], ["deep/one"]])
def test_an_error_names_the_vaults_that_obsidian_knows(folder: Path, given: list[str]) -> None:
    write_list(folder, folder / "deep" / "Work", folder / "two")
    assert "Obsidian knows" in (message := refused(*given))
    assert "two, Work" in message


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"vaults": 5}', '{"vaults": {"a": 5}}', '{"vaults": {"a": {"path": "relative"}}}', "[" * 9999],
)
def test_a_list_of_another_form_is_passed_over(folder: Path, text: str) -> None:
    write_list(folder)
    (folder / "home" / PLACES["linux"][0] / "obsidian.json").write_text(text)
    assert known_vaults.known_vaults() == []
    assert refused("Nowhere").endswith("Nowhere does not exist")


def test_the_command_lists_what_obsidian_knows(folder: Path) -> None:
    def told() -> str:
        command = [sys.executable, "-m", "vaultwire", "vaults"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    assert "knows no vaults here" in told()
    write_list(folder, folder / "two", folder / "gone", folder / "two")
    assert told().splitlines() == [f"gone: {folder / 'gone'} (not there)", f"two: {folder / 'two'}"]
