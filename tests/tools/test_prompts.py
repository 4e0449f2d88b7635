"""Prompts: our own, and those that are notes of the vault, with their names, descriptions and arguments."""

from __future__ import annotations

import os
import re
import time
from datetime import date
from pathlib import Path

import pytest

from support.refusals import refusal, refused
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.catalog import standard_set
from vaultwire.toolkit.phrases import rough_tokens
from vaultwire.tools import prompts
from vaultwire.tools.prompts import Argument, Message, fill_prompt, list_prompts
from vaultwire.tools.resources import Resource
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS

STANDARD = standard_set()

OURS = [
    "summarize_note",
    "daily_review",
    "find_related",
    "review_week",
    "prepare_meeting",
    "tidy_inbox",
    "map_of_content",
]
FILLED = {
    "summarize_note": {"path": "Note"},
    "find_related": {"path": "Note"},
    "prepare_meeting": {"about": "Note"},
    "map_of_content": {"topic": "hello"},
}


def names(root: Path, folder: str | None = "Prompts") -> list[str]:
    return list(list_prompts(open_vault(root), folder, NO_PROGRESS))


def say(root: Path, name: str, folder: str | None = "Prompts", **arguments: str) -> list[Message]:
    vault = open_vault(root)
    return fill_prompt(vault, list_prompts(vault, folder, NO_PROGRESS)[name], arguments, NO_PROGRESS)


def prompt_of(root: Path, text: str) -> prompts.Prompt:
    """Return the prompt that a note of this text is."""
    write_vault(root, f"=== Prompts/It.md\n{text}")
    return list_prompts(open_vault(root), "Prompts", NO_PROGRESS)["it"]


# ---------------------------------------------------------------------- our own


def test_without_a_folder_there_are_our_own(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Prompts/Mine.md\nhello\n")
    assert names(tmp_path, None) == OURS


@pytest.mark.parametrize("name", ["summarize_note", "find_related"])
@pytest.mark.parametrize("path", ["Folder/Note.md", "Note", "[[Note]]", "folder/note"])
def test_a_prompt_about_a_note_names_it_and_holds_it_out(tmp_path: Path, name: str, path: str) -> None:
    root = write_vault(tmp_path / "v", "=== Folder/Note.md\nhello\n")
    request, note = say(root, name, path=path)
    assert isinstance(request, str)
    assert "'Folder/Note.md'" in request
    assert note == Resource("obsidian://vault/v/Folder/Note.md", "text/markdown", "hello\n", None)


@pytest.mark.parametrize("name", ["summarize_note", "find_related"])
@pytest.mark.parametrize("arguments", [{}, {"path": ""}, {"path": " "}, {"Path": "Note"}])
def test_a_missing_note_is_asked_for_by_the_arguments_name(
    tmp_path: Path, name: str, arguments: dict[str, str]
) -> None:
    error = refusal(say, write_vault(tmp_path, "=== Note.md\n"), name, **arguments)
    assert error.code == "INVALID_ARGUMENTS"
    assert f"prompt '{name}' needs 'path' (The note" in error.message
    assert error.details == {"missing": ["path"]}


def test_our_prompts_name_only_tools_that_are_listed(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\nhello\n")
    texts = [say(tmp_path, name, **FILLED.get(name, {}))[0] for name in OURS]
    named = set(re.findall(r"\b[a-z]+_[a-z_]+\b", " ".join(map(str, texts))))
    assert {"read_notes", "list_links"} <= named <= set(STANDARD)


def test_a_note_that_is_not_there_or_not_the_only_one_is_refused(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== a/Plan.md\n=== b/Plan.md\n")
    assert refused(say, tmp_path, "summarize_note", path="Nowhere") == "FILE_NOT_FOUND"
    assert refused(say, tmp_path, "summarize_note", path="Plan") == "AMBIGUOUS_NAME"
    assert refused(say, tmp_path, "summarize_note", path="../Plan") == "PATH_OUTSIDE_VAULT"
    long = refusal(say, tmp_path, "summarize_note", path="x" * 1001)
    assert (long.code, long.message) == ("INVALID_ARGUMENTS", "path may have at most 1000 characters, got 1001")


def at(day: str) -> float:
    """Return noon of the day, local time."""
    return time.mktime(time.strptime(f"{day} 12", "%Y-%m-%d %H"))


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    """Return a vault with a daily note and one note changed on each of two days."""
    write_vault(tmp_path, "=== Daily/2026-03-31.md\nRain.\n=== Old.md\n=== Then.md\n=== Daily/2026-04-01.md\n")
    write_vault(tmp_path, '=== .obsidian/daily-notes.json\n{"folder": "Daily"}\n')
    for name, day in {
        "Daily/2026-03-31.md": "2026-03-31",
        "Then.md": "2026-03-31",
        "Old.md": "2026-03-30",
        "Daily/2026-04-01.md": "2026-04-01",
    }.items():
        os.utime(tmp_path / name, (at(day), at(day)))
    return tmp_path


@pytest.mark.parametrize("day", ["2026-03-31", " 2026-03-31 ", "20260331"])
def test_a_review_names_the_notes_of_the_day_and_holds_out_its_daily_note(diary: Path, day: str) -> None:
    request, note = say(diary, "daily_review", date=day)
    assert isinstance(request, str)
    assert "2026-03-31" in request
    assert request.endswith("changed last on that day:\n- Daily/2026-03-31.md\n- Then.md")
    assert isinstance(note, Resource)
    assert note.text == "Rain.\n"


def test_a_review_holds_out_the_daily_note_that_obsidians_settings_name(diary: Path) -> None:
    write_vault(diary, '=== .obsidian/daily-notes.json\n{"folder": "Log", "format": "YYYY/[Day] D.M."}\n')
    write_vault(diary, "=== Log/2026/Day 31.3..md\nSun.\n")
    _, note = say(diary, "daily_review", date="2026-03-31")
    assert isinstance(note, Resource)
    assert note.text == "Sun.\n"


def test_a_review_takes_days_as_people_name_them(diary: Path) -> None:
    vault = open_vault(diary, today=lambda: date(2026, 4, 1))
    request, note = fill_prompt(
        vault, list_prompts(vault, None, NO_PROGRESS)["daily_review"], {"date": "Yesterday"}, NO_PROGRESS
    )
    assert isinstance(request, str)
    assert "Review my day, 2026-03-31," in request
    assert isinstance(note, Resource)
    assert note.text == "Rain.\n"


def test_a_review_of_a_day_without_notes_says_so(diary: Path) -> None:
    (request,) = say(diary, "daily_review", date="2020-02-29")
    assert isinstance(request, str)
    assert "No note was changed last on that day." in request


def test_a_review_is_of_today_unless_a_day_is_given(diary: Path) -> None:
    vault = open_vault(diary, today=lambda: date(2026, 4, 2))
    prompt = list_prompts(vault, None, NO_PROGRESS)["daily_review"]
    (request,) = fill_prompt(vault, prompt, {}, NO_PROGRESS)
    assert isinstance(request, str)
    assert "Review my day, 2026-04-02," in request


def test_a_long_day_is_cut_short(diary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "_MAX_CHANGED", 1)
    request = say(diary, "daily_review", date="2026-03-31")[0]
    assert isinstance(request, str)
    assert request.endswith("- Daily/2026-03-31.md\n- and 1 more")


@pytest.mark.parametrize("day", ["some day", "31.03.2026", "2026-02-30", "x" * 100, "x" * 1000])
def test_a_day_that_is_none_is_refused(diary: Path, day: str) -> None:
    error = refusal(say, diary, "daily_review", date=day)
    assert (error.code, len(error.message) < 300) == ("INVALID_ARGUMENTS", True)
    assert "a date such as" in error.message or "date may have at most 100 characters" in error.message


WEEK = """
=== Daily/2026-03-30.md
---
mood: good
---
Met Ana. ![[Plan#Goals]] and ![[photo.png]]
=== Daily/2026-04-07.md
Another week.
=== Plan.md
# Goals
Grow tomatoes. ![[Details]]
# Other
Not this.
=== Details.md
With care. ![[Plan]] ![[Deep]]
=== Deep.md
Too deep.
=== People/Ana.md
Ana knows tomatoes.
- [ ] call Ana 📅 2026-03-20
=== Talk.md
Spoke with [[Ana]] about #garden.
- [ ] send Ana the plan 📅 2026-04-03
- [x] thank Ana
- [ ] far away 📅 2027-01-01
=== 00 Inbox/Idea.md
A new idea for the #garden
=== 00 Inbox/Older.md
An older idea
=== .obsidian/daily-notes.json
{"folder": "Daily"}
"""


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """Return a vault of which some notes were changed in the week of 2026-04-01, in which today is."""
    write_vault(tmp_path, WEEK)
    for path in tmp_path.rglob("*.md"):
        day = "2026-03-31" if path.name in ("Talk.md", "Older.md", "2026-03-30.md") else "2026-05-01"
        os.utime(path, (at(day), at(day)))
    return tmp_path


def page(root: Path, name: str, **arguments: str) -> str:
    vault = open_vault(root, today=lambda: date(2026, 4, 1))
    (text,) = fill_prompt(vault, list_prompts(vault, None, NO_PROGRESS)[name], arguments, NO_PROGRESS)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("name", ["this week", "2026-W14", ""])
def test_a_review_of_a_week_has_its_notes_changes_and_tasks(week: Path, name: str) -> None:
    text = page(week, "review_week", week=name)
    assert "2026-03-30 to 2026-04-05" in text
    assert "## Daily note: Daily/2026-03-30.md\n\nMet Ana." in text
    assert "mood" not in text
    assert "Another week" not in text
    assert "week\n\n- 00 Inbox/Older.md\n- Daily/2026-03-30.md\n- Talk.md" in text
    assert "overdue\n\n- call Ana 📅 2026-03-20 (People/Ana.md:2)" in text
    assert "next days\n\n- send Ana the plan 📅 2026-04-03 (Talk.md:2)" in text
    assert "far away" not in text


@pytest.mark.parametrize("name", ["today", "2026-03", "some week"])
def test_what_is_no_week_is_refused(week: Path, name: str) -> None:
    assert refused(page, week, "review_week", week=name) == "INVALID_ARGUMENTS"


def test_embedded_notes_are_quoted_in_their_places(week: Path) -> None:
    text = page(week, "review_week")
    assert (
        "Met Ana. \n> [[Plan#Goals]]:\n> # Goals\n> Grow tomatoes.\n> > [[Details]]:\n> > With care. ![[Plan]] ![[Deep]]"
        in text
    )
    assert "and ![[photo.png]]" in text
    assert "Not this." not in text
    assert "Too deep." not in text


@pytest.mark.parametrize("name", ["Ana", "People/Ana.md", "[[Ana]]"])
def test_a_meeting_has_the_note_its_mentions_and_open_tasks(week: Path, name: str) -> None:
    text = page(week, "prepare_meeting", about=name)
    assert "## Note: People/Ana.md\n\nAna knows tomatoes." in text
    assert "- Talk.md:1: Spoke with [[Ana]] about #garden." in text
    assert "- send Ana the plan 📅 2026-04-03 (Talk.md:2)" in text
    assert "thank Ana (" not in text
    assert "## In Daily/2026-03-30.md\n\n" in text


def test_a_meeting_about_what_no_note_is_named_after_searches(week: Path) -> None:
    assert "## In People/Ana.md\n\n1: Ana knows tomatoes." in page(week, "prepare_meeting", about="knows tomatoes")
    assert "No note is named 'zebras', and none has these words." in page(week, "prepare_meeting", about="zebras")


def test_the_inbox_is_found_by_its_name_and_has_the_oldest_note_first(week: Path) -> None:
    text = page(week, "tidy_inbox")
    assert "the folder '00 Inbox': 2 notes" in text
    assert text.index("## 00 Inbox/Older.md\n\nAn older idea") < text.index("## 00 Inbox/Idea.md\n\nA new idea")
    assert "- People (1 note)" in text
    assert "- #garden (2)" in text
    assert "the folder 'People': 1 note" in page(week, "tidy_inbox", folder="People")
    assert refused(page, week, "tidy_inbox", folder="Nowhere") == "FILE_NOT_FOUND"


def test_without_an_inbox_the_notes_in_no_folder_are_tidied(week: Path) -> None:
    for note in (week / "00 Inbox").iterdir():
        note.unlink()
    (week / "00 Inbox").rmdir()
    text = page(week, "tidy_inbox")
    assert "the notes that lie in no folder: 4 notes" in text
    assert "## Talk.md" in text
    assert "## People/Ana.md" not in text


@pytest.mark.parametrize(
    ("topic", "paths"),
    [
        ("#garden", ["00 Inbox/Idea.md", "Talk.md"]),
        ("garden", ["00 Inbox/Idea.md", "Talk.md"]),
        ("People", ["People/Ana.md"]),
        ("grow tomatoes", ["Plan.md"]),
    ],
)
def test_a_map_has_the_notes_of_a_tag_a_folder_or_words(week: Path, topic: str, paths: list[str]) -> None:
    text = page(week, "map_of_content", topic=topic)
    listed = text.partition("## All of them\n\n")[2].partition("\n\n")[0]
    assert sorted(listed.split("\n")) == [f"- {path}" for path in paths]
    for path in paths:
        assert f"## {path}\n\n" in text


def test_a_map_says_which_notes_are_linked(week: Path) -> None:
    assert "- People/Ana.md → " not in page(week, "map_of_content", topic="Ana")
    assert "- Talk.md → People/Ana.md" in page(week, "map_of_content", topic="Ana")
    assert "No note has the tag, folder or words '#none'." in page(week, "map_of_content", topic="#none")


@pytest.mark.parametrize("name", OURS[3:])
def test_a_page_is_bounded_and_says_what_it_leaves_out(week: Path, name: str) -> None:
    for number in range(400):
        folder = week / "00 Inbox"
        path = folder / f"Note {number:03}.md"
        path.write_text(f"Ana #garden {'words ' * 500}\n![[Talk]]\n- [ ] Ana {number} 📅 2026-04-02\n")
        os.utime(path, (at("2026-03-31"), at("2026-03-31")))
    (week / "Daily" / "2026-03-31.md").write_text("long\n" * 50_000)
    arguments = {"prepare_meeting": {"about": "Ana"}, "map_of_content": {"topic": "garden"}}.get(name, {})
    text = page(week, name, **arguments)
    assert rough_tokens(text) <= prompts.MOST_TOKENS * 1.05
    assert "Left out" in text or "… and " in text


@pytest.mark.parametrize("name", ["prepare_meeting", "map_of_content", "tidy_inbox", "review_week"])
def test_a_page_takes_any_text_as_its_argument(week: Path, name: str) -> None:
    argument = {"prepare_meeting": "about", "map_of_content": "topic", "tidy_inbox": "folder", "review_week": "week"}[
        name
    ]
    for value in ('"', "#", "[[", "(", "-x", "/", "x" * 1000, "../..", "tag:#a OR", "#" * 50):
        code = ""
        try:
            page(week, name, **{argument: value})
        except VaultError as error:
            code = error.code
        assert code in ("", "INVALID_ARGUMENTS", "FILE_NOT_FOUND", "PATH_OUTSIDE_VAULT"), value
    assert refused(page, week, name, **{argument: "x" * 1001}) == "INVALID_ARGUMENTS"


# ---------------------------------------------------------------------- notes as prompts


def test_each_note_below_the_folder_is_a_prompt(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Prompts/B.md\nb\n=== Prompts/sub/A.md\na\n=== Prompts/c.txt\n=== Else.md\nx\n")
    assert names(tmp_path) == [*OURS, "b", "a"]


@pytest.mark.parametrize("folder", ["Prompts", "prompts", "Prompts/", "Deep/Prompts"])
def test_the_folder_is_found_as_any_folder_is(tmp_path: Path, folder: str) -> None:
    write_vault(tmp_path, "=== Prompts/Mine.md\nhello\n=== Deep/Prompts/Mine.md\nhello\n")
    assert names(tmp_path, folder) == [*OURS, "mine"]


def test_a_folder_that_is_not_there_holds_no_prompts_until_it_is(tmp_path: Path) -> None:
    assert names(tmp_path) == OURS
    write_vault(tmp_path, "=== Prompts/Late.md\nhello\n")
    assert names(tmp_path) == [*OURS, "late"]


def test_a_folder_outside_the_vault_is_refused(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== outside/Secret.md\nx\n=== vault/Note.md\n")
    (tmp_path / "vault" / "Prompts").symlink_to(tmp_path / "outside")
    assert refused(names, tmp_path / "vault") == "PATH_OUTSIDE_VAULT"


NAMES = {
    "Weekly Review": "weekly_review",
    "C++ & C#": "c_c",
    "__a--b__": "a_b",
    "Übung 日本": "übung_日本",
    "🗝": "prompt",
    "v1.2": "v1_2",
}


@pytest.mark.parametrize("title", NAMES)
def test_a_file_name_becomes_a_name_a_client_can_make_a_command_of(tmp_path: Path, title: str) -> None:
    write_vault(tmp_path, f"=== Prompts/{title}.md\nhello\n")
    prompt = list_prompts(open_vault(tmp_path), "Prompts", NO_PROGRESS)[NAMES[title]]
    assert prompt.title == title


def test_names_are_unique_and_ours_stay_ours(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        "=== Prompts/A-b.md\n1\n=== Prompts/A_b.md\n2\n=== Prompts/a b.md\n3\n=== Prompts/Find related.md\n4\n",
    )
    assert names(tmp_path) == [*OURS, "a_b", "a_b_2", "find_related_2", "a_b_3"]
    assert [say(tmp_path, name) for name in ("a_b", "a_b_2", "a_b_3")] == [["1"], ["2"], ["3"]]


DESCRIPTIONS = {
    "---\ndescription: What it is for\n---\n# Else\n": "What it is for",
    "# A heading\ntext\n": "A heading",
    "\n\n  First line.  \nSecond.\n": "First line.",
    "> quoted\n": "quoted",
    "- item\n": "item",
    "#tag first\n": "#tag first",
    "---\nother: x\n---\n\nBelow it.\n": "Below it.",
    "x" * 300 + "\n": "x" * 199 + "…",
}


@pytest.mark.parametrize("text", DESCRIPTIONS)
def test_a_prompt_is_described_by_its_property_or_its_first_line(tmp_path: Path, text: str) -> None:
    assert prompt_of(tmp_path, text).description == DESCRIPTIONS[text]


def required(*arguments: str) -> list[Argument]:
    return [Argument(name, "", True, "text") for name in arguments]


ARGUMENTS = {
    "no braces {one} {{}} {{ }} {{{}}}\n": [],
    "{{topic}} {{ who }} {{topic}}\n": required("topic", "who"),
    "{{due date}} and {{due-date}}\n": required("due date", "due-date"),
    "{{thema ä}}\n": required("thema ä"),
    "{{date:YYYY-MM-DD}} {{a\nb}} {{-x}}\n": [],
    "{{tag}} {{note}}\n": [Argument("tag", "", True, "tag"), Argument("note", "", True, "note")],
    '---\narguments: ["topic: What it is about", "who?"]\n---\n{{who}} {{topic}}\n': [
        Argument("who", "", False, "text"),
        Argument("topic", "What it is about", True, "text"),
    ],
    "---\narguments:\n  - topic: About\n  - who?: Whom\n  - unused: x\n---\n{{who}} {{topic}}\n": [
        Argument("who", "Whom", False, "text"),
        Argument("topic", "About", True, "text"),
    ],
    "---\narguments:\n  topic: About\n---\n{{topic}}\n": [Argument("topic", "About", True, "text")],
    "---\narguments: 7\n---\n{{topic}}\n": required("topic"),
    "---\nnot: {{this}}\n---\n{{topic}}\n": required("topic"),
}


@pytest.mark.parametrize("text", ARGUMENTS)
def test_what_stands_between_two_braces_is_an_argument(tmp_path: Path, text: str) -> None:
    assert prompt_of(tmp_path, text).arguments == ARGUMENTS[text]


def test_a_prompt_is_filled_with_its_arguments_and_nothing_is_filled_twice(tmp_path: Path) -> None:
    prompt_of(
        tmp_path,
        "---\ndescription: x\narguments: ['b?']\n---\n\nAsk {{ a }} of {{a}}, {{b}}not {{date:YYYY}} {c}.\n\n",
    )
    assert say(tmp_path, "it", a="{{b}} \\1", c="unused") == ["Ask {{b}} \\1 of {{b}} \\1, not {{date:YYYY}} {c}."]


def test_every_missing_argument_is_named(tmp_path: Path) -> None:
    prompt_of(tmp_path, "---\narguments: ['a: An a', 'c?: A c']\n---\n{{a}} {{b}} {{c}}\n")
    error = refusal(say, tmp_path, "it", b=" ")
    assert error.message == "prompt 'it' needs 'a' (An a); 'b'"
    assert error.details == {"missing": ["a", "b"]}


def test_a_prompt_is_what_its_note_says_now(tmp_path: Path) -> None:
    prompt_of(tmp_path, "first\n")
    vault = open_vault(tmp_path)
    assert fill_prompt(vault, list_prompts(vault, "Prompts", NO_PROGRESS)["it"], {}, NO_PROGRESS) == ["first"]
    (tmp_path / "Prompts" / "It.md").write_text("second {{x}}")
    assert list_prompts(vault, "Prompts", NO_PROGRESS)["it"].arguments == required("x")
    (tmp_path / "Prompts" / "It.md").unlink()
    assert list(list_prompts(vault, "Prompts", NO_PROGRESS)) == OURS


def test_a_note_that_is_empty_or_cannot_be_read_is_no_prompt(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Prompts/Empty.md\n\n=== Prompts/Bare.md\n---\na: b\n---\n=== Prompts/Fine.md\nx\n")
    (tmp_path / "Prompts" / "Large.md").write_text("x" * 200)
    assert list(list_prompts(open_vault(tmp_path, max_bytes=100), "Prompts", NO_PROGRESS)) == [*OURS, "fine"]


def test_a_menu_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "MAX_PROMPTS", 2)
    write_vault(tmp_path, "=== Prompts/A.md\na\n=== Prompts/B.md\nb\n=== Prompts/C.md\nc\n")
    assert names(tmp_path) == [*OURS, "a", "b"]
