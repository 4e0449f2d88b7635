"""What the owner set in Obsidian: read from the vault's own files, whatever is in them, and read again when they change."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vaults import write_in_place, write_vault
from vaultwire.vault.settings.obsidian_settings import (
    MAX_SETTINGS_BYTES,
    CachedFile,
    CachedSettings,
    FileContent,
    PeriodicNotes,
    Settings,
    TaskStatus,
)

LONG_AGO = 1_700_000_000_000_000_000  # a time no file system's clock takes for now

EVERYTHING = """
=== .obsidian/app.json
{
  "userIgnoreFilters": ["Archive/", "/\\\\.tmp$/"],
  "attachmentFolderPath": "./assets",
  "newLinkFormat": "relative",
  "useMarkdownLinks": true,
  "newFileLocation": "folder",
  "newFileFolderPath": "Inbox",
  "promptDelete": false
}
=== .obsidian/daily-notes.json
{"folder": "Journal", "format": "YYYY/MM/YYYY-MM-DD", "template": "Templates/Daily", "autorun": true}
=== .obsidian/templates.json
{"folder": "Templates", "dateFormat": "D.M.YYYY", "timeFormat": "h:mm A"}
=== .obsidian/types.json
{"types": {"aliases": "aliases", "Due": "date", "Straße": "my-plugin-type"}}
=== .obsidian/community-plugins.json
["obsidian-tasks-plugin", "periodic-notes"]
=== .obsidian/plugins/obsidian-tasks-plugin/data.json
{
  "taskFormat": "dataview", "globalFilter": "#task", "setDoneDate": false, "setCancelledDate": false, "setCreatedDate": true,
  "recurrenceOnNextLine": true, "removeScheduledDateOnRecurrence": true,
  "statusSettings": {
    "coreStatuses": [{"symbol": " ", "name": "Todo", "nextStatusSymbol": "/", "availableAsCommand": true, "type": "TODO"}],
    "customStatuses": [
      {"symbol": "-", "name": "No", "nextStatusSymbol": " ", "availableAsCommand": true, "type": "CANCELLED"},
      {"symbol": "/", "name": "Half"}, {"symbol": " ", "type": "DONE"}, {"symbol": "ab"}, 7
    ]
  }
}
=== .obsidian/plugins/dataview/data.json
{
  "renderNullAs": "\\\\-", "defaultDateFormat": "dd", "defaultDateTimeFormat": "HH", "tableIdColumnName": "N",
  "tableGroupColumnName": "G", "inlineQueryPrefix": "dv:", "taskCompletionTracking": true
}
=== .obsidian/plugins/periodic-notes/data.json
{
  "showGettingStartedBanner": false,
  "daily": {"format": "", "folder": "", "template": ""},
  "weekly": {"format": "GGGG-[W]WW", "folder": "Weeks", "template": "T/Week.md", "enabled": true},
  "monthly": {"format": "YYYY-MM", "folder": "", "template": "", "enabled": false},
  "yearly": {"enabled": true}
}
"""


def settle(root: Path) -> None:
    """Make every file one that was written long ago."""
    for path in root.rglob("*"):
        os.utime(path, ns=(LONG_AGO, LONG_AGO))


def settings_of(root: Path, text: str) -> Settings:
    return CachedSettings(str(write_vault(root, text))).get()


def test_every_setting_is_read(tmp_path: Path) -> None:
    assert settings_of(tmp_path, EVERYTHING) == Settings(
        user_ignore_filters=("Archive/", "/\\.tmp$/"),
        attachment_folder="./assets",
        new_link_format="relative",
        use_markdown_links=True,
        new_file_location="folder",
        new_file_folder="Inbox",
        daily_folder="Journal",
        daily_format="YYYY/MM/YYYY-MM-DD",
        daily_template="Templates/Daily",
        template_folder="Templates",
        template_date_format="D.M.YYYY",
        template_time_format="h:mm A",
        property_types={"aliases": "aliases", "due": "date", "strasse": "my-plugin-type"},
        periodic_notes={"week": PeriodicNotes("Weeks", "GGGG-[W]WW", "T/Week.md"), "year": PeriodicNotes()},
        community_plugins=("obsidian-tasks-plugin", "periodic-notes"),
        tasks_format="dataview",
        tasks_filter="#task",
        tasks_set_done_date=False,
        tasks_set_cancelled_date=False,
        tasks_set_created_date=True,
        tasks_next_below=True,
        tasks_remove_scheduled_date=True,
        tasks_statuses={
            " ": TaskStatus("TODO", "/"),
            "x": TaskStatus("DONE", " "),
            "X": TaskStatus("DONE", " "),
            "-": TaskStatus("CANCELLED", " "),
            "/": TaskStatus("IN_PROGRESS", "x"),
        },
        dataview_date="dd",
        dataview_time="HH",
        dataview_nothing="\\-",
        dataview_file="N",
        dataview_group="G",
        dataview_inline="dv:",
    )


@pytest.mark.parametrize(
    ("keys", "form"),
    [('"dateFormat": "YY"', "YY"), ('"date_format": "YY"', "YY"), ('"dateFormat": "YY", "date_format": "M"', "YY")],
)
def test_a_templates_date_format_is_read_in_either_spelling(tmp_path: Path, keys: str, form: str) -> None:
    assert settings_of(tmp_path, f"=== .obsidian/templates.json\n{{{keys}}}\n").template_date_format == form


@pytest.mark.parametrize(
    "text",
    ["=== Note.md\n", "=== .obsidian\na file\n", "=== .obsidian/app.json\n{}\n=== .obsidian/types.json\n\ufeff{}\n"],
)
def test_what_is_not_set_is_as_in_obsidian(tmp_path: Path, text: str) -> None:
    assert settings_of(tmp_path, text) == Settings()


WRONG = [
    ("app.json", b"", "is not JSON"),
    ("app.json", b'{"newLinkFormat": ', "is not JSON"),
    ("app.json", b"[" * 200_000, "is not JSON"),
    ("types.json", b"9" * 5000, "is not JSON"),
    ("daily-notes.json", b"[]", "is not a JSON object"),
    ("templates.json", b'{"folder": "\xff"}', "is not UTF-8 (byte 12)"),
    ("app.json", b'{"a": "' + b"x" * MAX_SETTINGS_BYTES + b'"}', "has more than"),
    ("app.json", b'{"newFileLocation": "x"}', "'newFileLocation' must be one of root, current, folder, not 'x'"),
    ("app.json", b'{"newLinkFormat": []}', "'newLinkFormat' must be one of"),
    ("app.json", b'{"useMarkdownLinks": 1}', "'useMarkdownLinks' must be true or false, not 1"),
    ("app.json", b'{"attachmentFolderPath": ["x"]}', "'attachmentFolderPath' must be a text, not ['x']"),
    ("app.json", b'{"userIgnoreFilters": "x"}', "'userIgnoreFilters' must be a list of texts"),
    ("app.json", b'{"userIgnoreFilters": [1, {}]}', "'userIgnoreFilters' has elements that are no texts"),
    ("daily-notes.json", b'{"format": {}}', "'format' must be a text"),
    ("daily-notes.json", b'{"format": "\\ud800"}', "'format' must be a text, not '\\ud800'"),
    ("types.json", b'{"types": []}', "'types' must be an object"),
    ("types.json", b'{"types": {"x": 1}}', "'types' has names or types that are no texts"),
    ("community-plugins.json", b"{}", "must be a list of texts"),
    ("plugins/periodic-notes/data.json", b"[]", "is not a JSON object"),
    ("plugins/obsidian-tasks-plugin/data.json", b'{"taskFormat": "x"}', "'taskFormat' must be one of"),
    (
        "plugins/obsidian-tasks-plugin/data.json",
        b'{"statusSettings": {"coreStatuses": 1}}',
        "'statusSettings' must be an object of lists",
    ),
]


@pytest.mark.parametrize(("name", "data", "problem"), WRONG)
def test_what_is_wrong_counts_as_not_set_and_is_told(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    (tmp_path / ".obsidian" / name).parent.mkdir(parents=True)
    (tmp_path / ".obsidian" / name).write_bytes(data)
    settings = CachedSettings(str(tmp_path)).get()
    assert settings._replace(problems=()) == Settings()
    assert [told.path for told in settings.problems] == [f".obsidian/{name}"]
    assert settings.problems[0].text.startswith(problem)
    assert len(settings.problems[0].text) < 200


def test_one_wrong_value_leaves_the_others(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
=== .obsidian/app.json
{"newFileLocation": 5, "newLinkFormat": "absolute", "userIgnoreFilters": ["a", null, "b"], "newFileFolderPath": null}
=== .obsidian/daily-notes.json
nothing
=== .obsidian/types.json
{"types": {"a": "date", "b": 5}}
""",
    )
    assert settings.new_link_format == "absolute"
    assert settings.user_ignore_filters == ("a", "b")
    assert settings.property_types == {"a": "date"}
    assert len(settings.problems) == 4


@given(
    data=st.binary(max_size=60) | st.from_regex(rb'\{"(folder|format|types|newLinkFormat)": [^}]*\}', fullmatch=True)
)
def test_no_bytes_make_it_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("vault")
    (root / ".obsidian").mkdir()
    for name in ("app.json", "daily-notes.json", "templates.json", "types.json"):
        (root / ".obsidian" / name).write_bytes(data)
    settings = CachedSettings(str(root)).get()
    for told in settings.problems:
        told.text.encode()


def test_settings_are_read_again_only_when_a_file_has_changed(tmp_path: Path) -> None:
    write_vault(tmp_path, EVERYTHING)
    settle(tmp_path)
    kept = CachedSettings(str(tmp_path))
    first = kept.get()
    app = tmp_path / ".obsidian" / "app.json"
    text = app.read_bytes()
    assert kept.get() is first
    write_in_place(app, text.replace(b'"relative"', b'"relXtive"'))
    assert [told.text for told in kept.get().problems] == [
        "'newLinkFormat' must be one of shortest, relative, absolute, not 'relXtive'; it is taken as not set"
    ]
    app.unlink()
    assert kept.get().new_link_format == "shortest"
    app.write_bytes(text)
    assert kept.get() == first


def test_a_file_written_just_now_is_read_again_though_its_time_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x"
    kept = CachedFile(str(path))
    path.write_text("one")
    now = path.stat().st_mtime_ns
    assert kept.content() == FileContent("one")
    path.write_text("two")
    os.utime(path, ns=(now, now))
    assert kept.content() == FileContent("two")


def test_the_same_settings_are_the_same_object_though_the_file_was_written_anew(tmp_path: Path) -> None:
    write_vault(tmp_path, EVERYTHING)
    kept = CachedSettings(str(tmp_path))
    first = kept.get()
    write_vault(tmp_path, EVERYTHING)
    assert kept.get() is first


def test_a_linked_config_folder_is_read_though_it_lies_outside(tmp_path: Path) -> None:
    write_vault(tmp_path / "shared", '=== app.json\n{"newLinkFormat": "relative"}\n')
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / ".obsidian").symlink_to(tmp_path / "shared", target_is_directory=True)
    assert CachedSettings(str(vault)).get() == Settings(new_link_format="relative")


@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_what_is_no_file_is_told_and_never_waited_for(tmp_path: Path, kind: str) -> None:
    place = tmp_path / ".obsidian" / "app.json"
    if kind == "folder":
        place.mkdir(parents=True)
    elif sys.platform == "win32":
        pytest.skip("no FIFOs")
    else:
        place.parent.mkdir()
        os.mkfifo(place)
    settings = CachedSettings(str(tmp_path)).get()
    assert [told.text for told in settings.problems] == ["is not a regular file"]


def test_a_link_in_a_circle_is_told(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    place = tmp_path / ".obsidian" / "app.json"
    place.symlink_to(place)
    assert CachedSettings(str(tmp_path)).get().problems[0].text.startswith("cannot be read")


def test_of_a_period_with_a_wrong_setting_the_others_count(tmp_path: Path) -> None:
    text = '{"weekly": {"enabled": true, "folder": 5, "format": "W"}, "daily": 5, "yearly": {"enabled": 1}}'
    settings = settings_of(tmp_path, f"=== .obsidian/plugins/periodic-notes/data.json\n{text}\n")
    assert settings.periodic_notes == {"week": PeriodicNotes("", "W", "")}
    assert [told.text for told in settings.problems] == [
        "has a folder, format or template that is no text; it is taken as not set"
    ]
