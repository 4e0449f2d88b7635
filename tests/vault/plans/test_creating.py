"""Plans for new notes, daily notes, templates in notes and attachments: where they go, what they hold, what is refused."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vaults import snapshot, write_vault
from vaultwire.app.engine import open_index
from vaultwire.markdown import edits
from vaultwire.markdown.inline import decoded_destination, parse_linktext
from vaultwire.vault.changes.change import Write
from vaultwire.vault.days import days_around
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import check_new_names, parse_path, safe_name
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOT_UTF8,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    TOO_LARGE,
    VaultError,
)
from vaultwire.vault.links.link_resolver import LinkResolver
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.creating import (
    EXTENSIONS,
    FilePlan,
    NewNote,
    OnCollision,
    check_attachment,
    decode_base64,
    plan_append_periodic,
    plan_attachment,
    plan_create,
    plan_insert_template,
)
from vaultwire.vault.plans.link_rewriting import link_to
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

NOW = datetime(2024, 1, 5, 21, 7, 3, tzinfo=UTC)
DAY = date(2024, 1, 8)
PNG = b"\x89PNG\r\n\x1a\n rest"


def files_of(root: Path, text: str = "") -> Files:
    return Files(str(write_vault(root, text)), 1 << 20)


def context(files: Files, settings: Settings) -> PlanContext:
    return PlanContext(files, open_index(files, None), settings)


def create(
    files: Files,
    settings: Settings,
    name: str,
    content: str,
    *,
    template: str = "",
    beside: str = "",
    on_collision: OnCollision = "error",
) -> FilePlan:
    return plan_create(context(files, settings), NewNote(name, content, template, beside, on_collision), NOW)


def append_daily(files: Files, settings: Settings, day: date, content: str, *, heading: str = "") -> FilePlan:
    return plan_append_periodic(context(files, settings), days_around("day", day), content, NOW, heading)


def insert_template(
    files: Files, settings: Settings, path: VaultPath, template: str, place: Callable[[str, str], str] = edits.append
) -> FilePlan:
    return plan_insert_template(context(files, settings), path, template, NOW, place)


def attach(files: Files, settings: Settings, name: str, data: bytes, *, beside: str = "") -> FilePlan:
    return plan_attachment(context(files, settings), name, data, 100, beside)


def written(planned: FilePlan) -> tuple[bytes | None, bytes | None]:
    """Return what the file holds before and after the one step there is."""
    (step,) = planned.steps
    assert isinstance(step, Write)
    assert step.path == planned.target
    return step.before, step.after


def refusal(act: Callable[[], object], code: str) -> str:
    with pytest.raises(VaultError) as caught:
        act()
    assert caught.value.code == code
    return caught.value.message


# ---------------------------------------------------------------------- where a new note goes

PLACES = [
    # a name, the settings, the note it is made beside, and its path
    ("Plan", Settings(), None, "Plan.md"),
    ("Plan.md", Settings(), None, "Plan.md"),
    ("v1.2 release", Settings(), None, "v1.2 release.md"),
    ("Plan", Settings(new_file_folder="Inbox"), None, "Plan.md"),
    ("Plan", Settings(new_file_location="folder", new_file_folder="Inbox"), None, "Inbox/Plan.md"),
    ("Plan", Settings(new_file_location="folder", new_file_folder="/New/Notes/"), "A/B.md", "New/Notes/Plan.md"),
    ("Plan", Settings(new_file_location="folder", new_file_folder="/"), None, "Plan.md"),
    ("Plan", Settings(new_file_location="current"), None, "Plan.md"),
    ("Plan", Settings(new_file_location="current"), "Work/Log.md", "Work/Plan.md"),
    ("Plan", Settings(new_file_location="current"), "Log.md", "Plan.md"),
    ("Plan", Settings(), "Work/Log.md", "Plan.md"),
    ("Work/Plan", Settings(new_file_location="folder", new_file_folder="Inbox"), None, "Work/Plan.md"),
    ("work\\Plan", Settings(), None, "Work/Plan.md"),
    ("./Plan", Settings(new_file_location="folder", new_file_folder="Inbox"), None, "Plan.md"),
    ("New/Deep/Plan", Settings(), None, "New/Deep/Plan.md"),
    ("Cafe\u0301", Settings(), None, "Caf\u00e9.md"),
    ("Odd? folder/Plan", Settings(), None, "Odd? folder/Plan.md"),
]


@pytest.mark.parametrize(("name", "settings", "beside", "path"), PLACES)
def test_a_new_note_goes_where_the_settings_say(
    tmp_path: Path, name: str, settings: Settings, beside: str | None, path: str
) -> None:
    files = files_of(tmp_path, "=== Work/Log.md\n=== Odd? folder/x.md\n=== Log.md\n=== A/B.md\n")
    planned = create(files, settings, name, "text", beside=beside or "")
    assert (planned.target, planned.is_new) == (path, True)
    assert written(planned) == (None, b"text")


def test_planning_writes_nothing(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== Note.md\nx\n=== T/A.md\n{{title}}\n")
    before = snapshot(tmp_path)
    settings = Settings(template_folder="T")
    create(files, settings, "New/Note", "x", template="A")
    append_daily(files, settings, DAY, "x", heading="Log")
    insert_template(files, settings, VaultPath("Note.md"), "A")
    attach(files, settings, "new/a.png", PNG)
    assert snapshot(tmp_path) == before


TAKEN = ["Plan", "plan", "PLAN.md", "./Plan", "Straße", "STRASSE", "Café", "Cafe\u0301", "Folder.md"]


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_that_is_taken_is_refused_whatever_its_case_and_form(tmp_path: Path, name: str) -> None:
    files = files_of(tmp_path, "=== Plan.md\n=== Straße.md\n=== Caf\u00e9.md\n=== Folder.md/x.md\n")
    message = refusal(lambda: create(files, Settings(), name, ""), NOTE_EXISTS)
    assert " 1.md'" in message


NUMBERED = [
    # the files there are, a name, and the path it gets
    ([], "Plan", "Plan.md"),
    (["Plan.md"], "Plan", "Plan 1.md"),
    (["Plan.md", "plan 1.md", "Plan 3.md"], "Plan", "Plan 2.md"),
    (["PLAN.md"], "Plan", "PLAN 1.md"),
    (["A/Plan.md"], "A/Plan", "A/Plan 1.md"),
    (["A/Plan.md"], "Plan", "Plan.md"),
    (["v1.2.md"], "v1.2", "v1.2 1.md"),
    (["Plan 1.md"], "Plan 1", "Plan 1 1.md"),
    (["Plan.md", "Plan 1.md/x.md"], "Plan", "Plan 2.md"),
    (["Plan.md", "Plan 1.txt"], "Plan", "Plan 1.md"),
]


@pytest.mark.parametrize(("there", "name", "path"), NUMBERED)
def test_a_name_that_is_taken_gets_the_first_free_number(
    tmp_path: Path, there: list[str], name: str, path: str
) -> None:
    files = files_of(tmp_path, "".join(f"=== {each}\n" for each in there))
    planned = create(files, Settings(), name, "{{title}}", on_collision="number")
    assert planned.target == path


def test_two_notes_that_differ_in_case_only_are_told_apart_by_nobody(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== Plan.md\n=== PLAN.md\n")
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("this file system holds only one of them")
    assert "PLAN.md, Plan.md" in refusal(lambda: create(files, Settings(), "plan", ""), AMBIGUOUS_NAME)


ILLEGAL = [
    # a name, its code, what the message says, and what it suggests
    ("What?", INVALID_ARGUMENTS, "'?'", "What"),
    ("a<b>c", INVALID_ARGUMENTS, "'<' or '>'", "abc"),
    ("Plan: today", INVALID_ARGUMENTS, "':'", "Plan- today"),
    ("10:30 | call", INVALID_ARGUMENTS, "':' or '|'", "10-30 - call"),
    ('The "end" *', INVALID_ARGUMENTS, "'\"' or '*'", "The 'end'"),
    ("x:y", PATH_OUTSIDE_VAULT, "absolute", "x-y"),
    ("tab\there", PATH_OUTSIDE_VAULT, "control characters", "tab here"),
    ("con", PATH_OUTSIDE_VAULT, "reserved", "con_"),
    ("Aux.txt.md", PATH_OUTSIDE_VAULT, "reserved", "Aux_.txt.md"),
    ("Work/LPT1", PATH_OUTSIDE_VAULT, "reserved", "Work/LPT1_"),
    (".hidden", PERMISSION_DENIED, "hidden", "hidden"),
    ("Work/.hidden/x", PERMISSION_DENIED, "hidden", "Work/hidden/x"),
    ("New /Plan", INVALID_ARGUMENTS, "space", "New/Plan"),
    ("New./Plan", INVALID_ARGUMENTS, "dot", "New/Plan"),
    ("x" * 300, INVALID_ARGUMENTS, "255 bytes", "x" * 252),
    ("ä" * 200, INVALID_ARGUMENTS, "255 bytes", "ä" * 126),
    ("", INVALID_ARGUMENTS, "empty", "Untitled"),
    ("???", INVALID_ARGUMENTS, "'?'", "Untitled"),
    ("?.md", INVALID_ARGUMENTS, "'?'", "Untitled.md"),
    ("half \ud800", INVALID_ARGUMENTS, "Unicode", "half"),
]


@pytest.mark.parametrize(("name", "code", "told", "suggested"), ILLEGAL)
def test_a_name_that_does_not_travel_is_refused_with_one_that_does(
    tmp_path: Path, name: str, code: str, told: str, suggested: str
) -> None:
    files = files_of(tmp_path)
    message = refusal(lambda: create(files, Settings(), name, ""), code)
    assert told in message
    assert message.endswith(f"A name that would do: {suggested!r}.")
    assert create(files, Settings(), suggested, "").target == f"{suggested.removesuffix('.md')}.md"


NO_NOTES = [
    ("data.csv", INVALID_ARGUMENTS),
    ("./image.png", INVALID_ARGUMENTS),
    ("Work/", INVALID_ARGUMENTS),
    ("../Plan", PATH_OUTSIDE_VAULT),
    ("/Work/Plan", PATH_OUTSIDE_VAULT),
    ("//Plan", PATH_OUTSIDE_VAULT),
    ("\\Plan", PATH_OUTSIDE_VAULT),
]


@pytest.mark.parametrize(("name", "code"), NO_NOTES)
def test_what_names_no_note_is_refused_and_not_renamed(tmp_path: Path, name: str, code: str) -> None:
    message = refusal(lambda: create(files_of(tmp_path), Settings(), name, ""), code)
    assert "would do" not in message


def test_a_name_is_not_made_longer_than_file_systems_take_by_its_number(tmp_path: Path) -> None:
    name = "x" * 252
    files = files_of(tmp_path, f"=== {name}.md\n")
    refusal(lambda: create(files, Settings(), name, "", on_collision="number"), INVALID_ARGUMENTS)


def test_nothing_lies_in_a_file(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== Plan.md\n")
    message = refusal(lambda: create(files, Settings(), "plan.md/Sub/x", ""), INVALID_ARGUMENTS)
    assert "'Plan.md' is a file" in message


def test_a_folder_set_wrongly_is_named_with_its_setting(tmp_path: Path) -> None:
    settings = Settings(new_file_location="folder", new_file_folder="../Out")
    message = refusal(lambda: create(files_of(tmp_path), settings, "Plan", ""), PATH_OUTSIDE_VAULT)
    assert "Folder to create new notes in" in message


@pytest.mark.parametrize("name", ["C# notes", "a [b]", "x^2"])
def test_a_name_that_links_cannot_name_is_taken_with_a_notice(tmp_path: Path, name: str) -> None:
    planned = create(files_of(tmp_path), Settings(), name, "")
    assert planned.target == f"{name}.md"
    assert "Links cannot name" in planned.notices[0]


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    assert "character 2" in refusal(lambda: create(files, Settings(), "x", "a\ud800"), INVALID_ARGUMENTS)


@given(text=st.text(max_size=300) | st.text(alphabet='. :/\\con1\u00b9?*"<>|#^[]\t\u0301\u212a', max_size=20))
def test_a_safe_name_is_one_on_every_system(text: str) -> None:
    name = safe_name(text)
    assert parse_path(name) == name
    check_new_names([name, f"{name}.md" if len(name.encode()) < 250 else name])
    assert not set(name) & set("#^[]|")
    assert safe_name(name) == name


@pytest.mark.parametrize("name", ["Plan", "Plan.md", "v1.2 release", "Dr. No", "Größe 3", "日記", "(a) 'b', c!.png"])
def test_a_name_that_is_safe_stays(name: str) -> None:
    assert safe_name(name) == name


# ---------------------------------------------------------------------- from a template

FROM_TEMPLATE = [
    # a template, a content, and the note "Trip" made of them
    ("# {{title}}\n", "", "# Trip\n"),
    ("# {{title}}\n", "text\n", "# Trip\ntext\n"),
    ("# {{title}}\r\n", "text", "# Trip\r\ntext\r\n"),
    ("---\ndate: {{date}}\n---\n# {{title}}\n", "{{title}}", "---\ndate: 2024-01-05\n---\n# Trip\n{{title}}\n"),
    ("---\na: 1\n---\nT\n", "---\na: 2\n---\ntext\n", "---\na: 2\n---\nT\ntext\n"),
    ("\ufefftext\n", "", "text\n"),
]


@pytest.mark.parametrize(("template", "content", "text"), FROM_TEMPLATE)
def test_a_new_note_begins_with_its_template(tmp_path: Path, template: str, content: str, text: str) -> None:
    files = files_of(tmp_path, f"=== T/Trip kind.md\n{template}")
    settings = Settings(template_folder="T")
    planned = create(files, settings, "Sub/Trip", content, template="trip kind")
    assert written(planned) == (None, text.encode())


def test_a_numbered_notes_title_is_the_one_it_has(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== T/A.md\n{{title}}\n=== Plan.md\n")
    settings = Settings(template_folder="T")
    planned = create(files, settings, "Plan", "", template="A", on_collision="number")
    assert written(planned) == (None, b"Plan 1\n")


def test_a_template_that_is_not_there_is_told(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== T/A.md\n")
    settings = Settings(template_folder="T")
    assert "There are: A." in refusal(lambda: create(files, settings, "Plan", "", template="B"), FILE_NOT_FOUND)


def test_a_template_goes_into_a_note_as_its_bytes_are(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== T/A.md\n# {{title}} {{time}}\n=== Note.md\n\ufeff---\r\na: 1\r\n---\r\nb\t \r\n")
    settings = Settings(template_folder="T")
    before = (tmp_path / "Note.md").read_bytes()
    planned = insert_template(files, settings, VaultPath("Note.md"), "A", place=edits.prepend)
    assert written(planned) == (before, before.replace(b"b\t", b"# Note 21:07\r\nb\t"))
    assert not planned.is_new


def test_a_template_that_adds_nothing_is_no_step(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== T/A.md\n---\na: 2\n---\n=== Note.md\n---\na: 1\n---\n")
    assert insert_template(files, Settings(template_folder="T"), VaultPath("Note.md"), "A").steps == []


# ---------------------------------------------------------------------- the day's note

DAILY = [
    # the vault, the heading, and the note of January 8th after "- new" went to it
    ("", "", "- new"),
    ("", "Log", "## Log\n- new\n"),
    ("=== 2024-01-08.md\nold\n", "", "old\n- new\n"),
    ("=== 2024-01-08.md\n\ufeffold\r\n", "", "\ufeffold\r\n- new\r\n"),
    ("=== 2024-01-08.md\n## Log\n- old\n\n## End\n", "log", "## Log\n- old\n- new\n\n## End\n"),
    ("=== 2024-01-08.md\nold\n", "Log", "old\n\n## Log\n- new\n"),
]


@pytest.mark.parametrize(("vault", "heading", "text"), DAILY)
def test_lines_are_added_to_the_days_note(tmp_path: Path, vault: str, heading: str, text: str) -> None:
    files = files_of(tmp_path, vault)
    planned = append_daily(files, Settings(), DAY, "- new", heading=heading)
    before = (tmp_path / "2024-01-08.md").read_bytes() if vault else None
    assert planned.target == "2024-01-08.md"
    assert written(planned) == (before, text.encode())
    assert planned.is_new == (not vault)


def test_a_new_daily_note_is_made_from_its_template_with_the_days_date(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== T/Daily.md\n# {{date:dddd}} {{title}}\n{{date}} {{time}}\n## Log\n## End\n")
    settings = Settings(daily_folder="Journal", daily_format="YYYY/DD.MM", daily_template="T/Daily")
    planned = append_daily(files, settings, DAY, "- new", heading="Log")
    assert planned.target == "Journal/2024/08.01.md"
    assert written(planned) == (None, b"# Monday 08.01\n2024-01-08 21:07\n## Log\n- new\n## End\n")
    assert planned.notices == []


@pytest.mark.parametrize("template", ["Gone", "../Out", "Bad"])
def test_a_daily_note_without_its_template_is_made_and_said_so(tmp_path: Path, template: str) -> None:
    files = files_of(tmp_path)
    (tmp_path / "Bad.md").write_bytes(b"\xff")
    planned = append_daily(files, Settings(daily_template=template), DAY, "- new")
    assert written(planned) == (None, b"- new")
    assert template in planned.notices[0]


def test_the_days_note_is_found_whatever_its_case(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== journal/2024-Jan-08.md\nold\n")
    settings = Settings(daily_folder="Journal", daily_format="YYYY-MMM-DD")
    planned = append_daily(files, settings, DAY, "- new")
    assert planned.target == "journal/2024-Jan-08.md"


def test_a_daily_note_that_is_not_utf8_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "2024-01-08.md").write_bytes(b"\xff\n")
    refusal(lambda: append_daily(files_of(tmp_path), Settings(), DAY, "- new"), NOT_UTF8)


def test_a_daily_note_takes_no_links_from_a_note_of_its_name(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== Old/2024-01-08.md\n=== A.md\n[[2024-01-08]]\n")
    planning, days = context(files, Settings()), days_around("day", DAY)
    message = refusal(lambda: plan_append_periodic(planning, days, "- new", NOW, may_have_namesake=False), NOTE_EXISTS)
    assert "already: 'Old/2024-01-08.md'; 1 file links to it by its name alone." in message
    assert "To change that note, edit 'Old/2024-01-08.md'." in message


def test_adding_nothing_is_no_step(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== 2024-01-08.md\nold\n")
    assert append_daily(files, Settings(), DAY, "", heading="Log").steps == []


# ---------------------------------------------------------------------- attachments

ATTACHED = [
    # attachmentFolderPath, a name, the note it is for, and its path
    ("/", "a.png", "Work/Log.md", "a.png"),
    ("", "a.png", "Work/Log.md", "a.png"),
    ("./", "a.png", "Work/Log.md", "Work/a.png"),
    (".", "a.png", "Work/Log.md", "Work/a.png"),
    ("./", "a.png", "Log.md", "a.png"),
    ("./", "a.png", None, "a.png"),
    ("./assets", "a.png", "Work/Log.md", "Work/assets/a.png"),
    ("./assets/", "a.png", "Log.md", "assets/a.png"),
    ("./assets", "a.png", None, "assets/a.png"),
    ("assets", "a.png", "Work/Log.md", "assets/a.png"),
    ("/Files/Media/", "a.png", None, "Files/Media/a.png"),
    ("assets", "Work/a.png", None, "Work/a.png"),
    ("assets", "./a.png", None, "a.png"),
    ("/", "Photo.png", None, "photo 2.png"),
    ("/", "Pasted image 20240105.PNG", None, "Pasted image 20240105.PNG"),
]


@pytest.mark.parametrize(("setting", "name", "beside", "path"), ATTACHED)
def test_an_attachment_goes_where_the_settings_say(
    tmp_path: Path, setting: str, name: str, beside: str | None, path: str
) -> None:
    files = files_of(tmp_path, "=== Work/Log.md\n=== Log.md\n=== photo.png\n=== photo 1.png\n")
    settings = Settings(attachment_folder=setting)
    planned = attach(files, settings, name, PNG, beside=beside or "")
    assert planned.target == path
    assert written(planned) == (None, PNG)
    assert planned.link == f"![[{path.rpartition('/')[2]}]]"


def test_an_attachment_is_embedded_as_the_settings_say(tmp_path: Path) -> None:
    files = files_of(tmp_path, "=== Work/Log.md\n=== Old/a b.png\n")
    settings = Settings(attachment_folder="./", new_link_format="relative", use_markdown_links=True)
    planned = attach(files, settings, "a b.png", PNG, beside="Work/Log.md")
    assert planned.link == "![](a%20b.png)"
    settings = Settings(attachment_folder="./")
    planned = attach(files, settings, "a b.png", PNG, beside="Work/Log.md")
    assert planned.link == "![[Work/a b.png]]"


@pytest.mark.parametrize(
    ("name", "told"),
    [("a#b.png", "'ab.png'"), ("a[1].png", "'a(1).png'"), ("a?.png", "'a.png'"), ("con.png", "'con_.png'")],
)
def test_an_attachment_no_link_could_name_is_refused(tmp_path: Path, name: str, told: str) -> None:
    files = files_of(tmp_path)
    with pytest.raises(VaultError) as caught:
        attach(files, Settings(), name, PNG)
    assert told in caught.value.message


BEGINNINGS: list[tuple[str, bytes]] = [
    ("png", PNG),
    ("jpg", b"\xff\xd8\xff\xe0 rest"),
    ("jpeg", b"\xff\xd8\xff\xe1 rest"),
    ("gif", b"GIF89a rest"),
    ("webp", b"RIFF\x10\0\0\0WEBPVP8 "),
    ("bmp", b"BM\x46\0\0\0\0\0\0\0\x36"),
    ("avif", b"\0\0\0\x20ftypavif\0\0\0\0avifmif1"),
    ("avif", b"\0\0\0\x20ftypmif1\0\0\0\0mif1avif"),
    ("svg", b'<?xml version="1.0"?>\n<!-- x -->\n<svg xmlns="http://www.w3.org/2000/svg"/>'),
    ("svg", b"\xef\xbb\xbf <svg></svg>"),
    ("pdf", b"%PDF-1.7\n"),
    ("flac", b"fLaC\0"),
    ("flac", b"ID3\x04"),
    ("mp3", b"ID3\x04"),
    ("mp3", b"\xff\xfb\x90\x64"),
    ("m4a", b"\0\0\0\x20ftypM4A "),
    ("mp4", b"\0\0\0\x20ftypisom"),
    ("3gp", b"\0\0\0\x20ftyp3gp4"),
    ("mov", b"\0\0\0\x14ftypqt  "),
    ("mov", b"\0\0\0\x08wide"),
    ("wav", b"RIFF\x10\0\0\0WAVEfmt "),
    ("ogg", b"OggS\0"),
    ("ogv", b"OggS\0"),
    ("webm", b"\x1aE\xdf\xa3"),
    ("mkv", b"\x1aE\xdf\xa3"),
]


@pytest.mark.parametrize(("extension", "data"), BEGINNINGS)
def test_what_obsidian_shows_is_an_attachment(extension: str, data: bytes) -> None:
    check_attachment(f"a.{extension}", data, 100)
    check_attachment(f"Sub.x/a.b.{extension.upper()}", data, 100)


def test_every_accepted_extension_is_in_the_table() -> None:
    assert {extension for extension, _ in BEGINNINGS} == EXTENSIONS


CONTRADICTIONS = [
    # a name, bytes, and what the message says
    ("a.png", b"\xff\xd8\xff\xe0", "a JPEG image. Name it with .jpg."),
    ("a.jpg", PNG, "a PNG image. Name it with .png."),
    ("a.pdf", PNG, "a PNG image"),
    ("a.png", b"%PDF-1.7", "a PDF document. Name it with .pdf."),
    ("a.mp4", b"OggS", "a Ogg file"),
    ("a.mp3", b"MZ\x90\0", "a program."),
    ("a.mov", b"\x7fELF\x02", "a program."),
    ("a.wav", b"#!/bin/sh\n", "a program."),
    ("a.png", b"PK\x03\x04", "a ZIP archive"),
    ("a.svg", b"<!DOCTYPE html><svg/>", "a web page."),
    ("a.png", b"\0\0\0\x20ftypheic", "a HEIC image."),
    ("a.png", b"text", "no png file."),
    ("a.svg", b"text <svg/>", "no svg file."),
    ("a.pdf", b"text", "no pdf file."),
    ("a.png", b"", "empty"),
    ("a.exe", b"MZ", "must be one of"),
    ("a.md", b"text", "must be one of"),
    ("a.html", b"<html>", "must be one of"),
    ("a.zip", b"PK\x03\x04", "must be one of"),
    ("png", PNG, "must be one of"),
    ("Sub.png/a", PNG, "must be one of"),
]


@pytest.mark.parametrize(("name", "data", "told"), CONTRADICTIONS)
def test_bytes_that_are_not_what_their_name_says_are_refused(name: str, data: bytes, told: str) -> None:
    assert told in refusal(lambda: check_attachment(name, data, 100), INVALID_ARGUMENTS)


def test_an_attachment_has_a_limit() -> None:
    check_attachment("a.png", PNG, len(PNG))
    assert str(len(PNG)) in refusal(lambda: check_attachment("a.png", PNG, len(PNG) - 1), TOO_LARGE)


@pytest.mark.parametrize("start", [b"<", b" ", b"<!--", b"<svg", b"<?xml", b"RIFF", b"\0\0\0\x20ftyp"])
def test_a_kind_is_told_soon_whatever_the_bytes(start: bytes) -> None:
    data = start * (5_000_000 // len(start))
    began = time.process_time()
    with contextlib.suppress(VaultError):  # which kind it is told to be is not the point
        check_attachment("a.svg", data, len(data))
    assert time.process_time() - began < 2


@given(data=st.binary(max_size=100))
def test_base64_is_decoded_to_the_same_bytes(data: bytes) -> None:
    assert decode_base64(base64.b64encode(data).decode(), "a.png", 100) == data
    assert decode_base64(base64.encodebytes(data).decode(), "a.png", 100) == data


@pytest.mark.parametrize(
    "text",
    ["a", "ab=", "abc", "ab==cd==", "data:image/png;base64,iVBO", "iVB-_w==", "äöü", "ab==ab", "=abc", "a\ud800bc"],
)
def test_what_is_not_base64_is_refused(text: str) -> None:
    assert "base64" in refusal(lambda: decode_base64(text, "a.png", 100), INVALID_ARGUMENTS)


def test_base64_of_too_many_bytes_is_refused_by_its_length() -> None:
    assert len(decode_base64(base64.b64encode(b"x" * 100).decode(), "a.png", 100)) == 100
    refusal(lambda: decode_base64(base64.b64encode(b"x" * 101).decode(), "a.png", 100), TOO_LARGE)
    refusal(lambda: decode_base64("!" * 1000, "a.png", 100), TOO_LARGE)


# ---------------------------------------------------------------------- links

VAULT = [
    VaultPath(path) for path in ("Note.md", "a/Note.md", "a/b/Deep.md", "a/b/pic.png", "Root.md", "v1.2.md", "x/y z.md")
]

LINKS = [
    # the note it stands in, where it leads, and the link by each setting: shortest, relative, absolute
    ("Root.md", "a/b/Deep.md", "Deep", "a/b/Deep", "a/b/Deep"),
    ("a/Note.md", "a/b/Deep.md", "Deep", "b/Deep", "a/b/Deep"),
    ("x/y z.md", "a/b/Deep.md", "Deep", "../a/b/Deep", "a/b/Deep"),
    ("a/b/Deep.md", "Root.md", "Root", "../../Root", "Root"),
    ("Root.md", "Note.md", "Note", "Note", "Note"),
    ("Root.md", "a/Note.md", "a/Note", "a/Note", "a/Note"),
    ("a/b/Deep.md", "a/Note.md", "a/Note", "../Note", "a/Note"),
    ("a/Note.md", "a/Note.md", "a/Note", "./Note", "a/Note"),  # bare, it would lead to Note.md
    ("a/Note.md", "a/b/pic.png", "pic.png", "b/pic.png", "a/b/pic.png"),
    ("a/Note.md", "v1.2.md", "v1.2", "../v1.2", "v1.2"),
    ("Root.md", "x/y z.md", "y z", "x/y z", "x/y z"),
    ("Root.md", "new/photo.png", "photo.png", "new/photo.png", "new/photo.png"),
]
FORMATS = ["shortest", "relative", "absolute"]


@pytest.mark.parametrize(("source", "target", "shortest", "relative", "absolute"), LINKS)
def test_a_link_is_written_as_the_settings_say(
    source: str, target: str, shortest: str, relative: str, absolute: str
) -> None:
    for form, linkpath in zip(FORMATS, (shortest, relative, absolute), strict=True):
        settings = Settings(new_link_format=form)
        link = link_to(VaultPath(source), VaultPath(target), VAULT, settings)
        assert link == f"[[{linkpath}]]"
        suffix = ".md" if target.endswith(".md") else ""
        name = target.rpartition("/")[2].removesuffix(".md")
        settings = Settings(new_link_format=form, use_markdown_links=True)
        link = link_to(VaultPath(source), VaultPath(target), VAULT, settings)
        assert link == f"[{name}]({linkpath.replace(' ', '%20')}{suffix})"


def test_a_link_may_embed_and_show_another_text() -> None:
    source, target = VaultPath("Root.md"), VaultPath("a/b/pic.png")
    assert link_to(source, target, VAULT, Settings(), is_embed=True, display="100") == "![[pic.png|100]]"
    markdown = Settings(use_markdown_links=True)
    assert link_to(source, target, VAULT, markdown, is_embed=True) == "![](pic.png)"
    assert link_to(source, target, VAULT, markdown, display="a]") == r"[a\]](pic.png)"


@pytest.mark.parametrize(
    ("target", "link"),
    [
        ("Sub/We!rd (name) [x].md", "[We!rd (name) [x]](Sub/We!rd%20(name)%20[x].md)"),  # engine facts §2.4
        ("a (b.md", "[a (b](a%20%28b.md)"),
        ("a] b.md", r"[a\] b](a]%20b.md)"),
        ("Ext.MD", "[Ext](Ext.MD)"),
    ],
)
def test_a_markdown_link_encodes_blanks_and_what_would_end_it(target: str, link: str) -> None:
    settings = Settings(use_markdown_links=True, new_link_format="absolute")
    assert link_to(VaultPath("Root.md"), VaultPath(target), [], settings) == link


@pytest.mark.parametrize("name", ["a|b.md", "a]].md", "[[a.md", "a].md"])
def test_a_name_no_wikilink_can_hold_is_linked_in_markdown_form(name: str) -> None:
    assert "](" in link_to(VaultPath("Root.md"), VaultPath(name), [], Settings())


PATHS = st.lists(
    st.lists(st.sampled_from(["a", "b", "A b", "x.md", "(c", "50%20", "n.png", "é"]), min_size=1, max_size=3).map(
        "/".join
    ),
    min_size=1,
    max_size=6,
    unique_by=str.lower,
)


@pytest.mark.parametrize("is_markdown", [False, True])
def test_a_relative_link_out_of_the_folder_of_the_same_name_names_the_note(*, is_markdown: bool) -> None:
    there = [VaultPath("Topic.md"), VaultPath("Topic/Part.md")]
    settings = Settings(new_link_format="relative", use_markdown_links=is_markdown)
    expected = "[Topic](../Topic.md)" if is_markdown else "[[../Topic]]"
    assert link_to(there[1], there[0], there, settings) == expected


@given(paths=PATHS, form=st.sampled_from(FORMATS), is_markdown=st.booleans(), data=st.data())
def test_a_link_leads_to_its_target(paths: list[str], form: str, is_markdown: bool, data: st.DataObject) -> None:
    there = [VaultPath(path if path.endswith(".png") else f"{path}.md") for path in paths]
    source, target = data.draw(st.sampled_from(there)), data.draw(st.sampled_from(there))
    settings = Settings(new_link_format=form, use_markdown_links=is_markdown)
    link = link_to(source, target, there, settings)
    linkpath = decoded_destination(link.partition("](")[2][:-1]) if is_markdown else parse_linktext(link).linkpath
    assert LinkResolver(there).resolve(source, linkpath) == target
