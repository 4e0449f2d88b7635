"""Which note is a day's, which day a note is of, and what a caller may call a day."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.disk.paths import parse_path
from vaultwire.vault.errors import INVALID_ARGUMENTS, PATH_OUTSIDE_VAULT, PERMISSION_DENIED, VaultError
from vaultwire.vault.settings.daily_notes import daily_note_day, daily_note_path, daily_template_path, parse_day
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

DAY = date(2024, 1, 5)

PLACES = [
    # folder, format, the note of January 5th, 2024
    ("", "", "2024-01-05.md"),
    ("/", "", "2024-01-05.md"),
    ("Journal", "", "Journal/2024-01-05.md"),
    ("/Journal/", "YYYY-MM-DD", "Journal/2024-01-05.md"),
    ("Journal\\Days", "", "Journal/Days/2024-01-05.md"),
    ("./Journal//Days", "", "Journal/Days/2024-01-05.md"),
    ("Journal", "YYYY/MMMM/YYYY-MMM-DD", "Journal/2024/January/2024-Jan-05.md"),
    ("Journal", "/YYYY/MM-DD/", "Journal/2024/01-05.md"),
    ("", "[Journal] DD.MM.YYYY", "Journal 05.01.2024.md"),
    ("", "DD.MMM.YYYY", "05.Jan.2024.md"),
    ("", "YYYY.DD.MMM", "2024.05.Jan.md"),
    ("Cafe\u0301", "", "Caf\u00e9/2024-01-05.md"),
    ("[x] YYYY", "", "[x] YYYY/2024-01-05.md"),
]


@pytest.mark.parametrize(("folder", "form", "path"), PLACES)
def test_a_days_note_is_where_the_settings_say_and_known_as_such(folder: str, form: str, path: str) -> None:
    settings = Settings(daily_folder=folder, daily_format=form)
    assert daily_note_path(settings, DAY) == path
    assert daily_note_day(settings, VaultPath(path)) == DAY


FOLDERS = st.sampled_from(["", "/", "Journal", "A/B", "Tagebuch \u00fcber uns"])
FORMATS = st.sampled_from(["", "YYYY/MM/YYYY-MM-DD", "[Day] D.M.YYYY", "gggg/[W]ww/dddd", "YYYYMMDD", "MMMM Do YYYY"])


@given(folder=FOLDERS, form=FORMATS, day=st.dates(date(1000, 1, 1), date(9999, 12, 25)))
def test_each_days_note_is_a_vault_path_and_known_as_that_days(folder: str, form: str, day: date) -> None:
    settings = Settings(daily_folder=folder, daily_format=form)
    path = daily_note_path(settings, day)
    assert parse_path(path) == path
    assert daily_note_day(settings, path) == day


OTHER_NOTES = ["2024-01-05.md", "Journal/x/2024-01-05.md", "Journal/2024-01-05.txt", "Journal/2024-01-05"]
OTHER_NOTES += ["Journals/2024-01-05.md", "Journal/2024-13-05.md", "Journal/Plan.md", "Journal.md", "Journal/.md"]


@pytest.mark.parametrize("path", OTHER_NOTES)
def test_other_notes_are_of_no_day(path: str) -> None:
    assert daily_note_day(Settings(daily_folder="Journal"), VaultPath(path)) is None


@pytest.mark.parametrize("path", ["journal/2024-01-05.MD", "JOURNAL/2024-01-05.md"])
def test_case_does_not_tell_daily_notes_apart(path: str) -> None:
    assert daily_note_day(Settings(daily_folder="Journal"), VaultPath(path)) == DAY


def test_a_format_without_days_makes_one_note_for_many() -> None:
    settings = Settings(daily_format="YYYY-MM")
    assert daily_note_path(settings, DAY) == "2024-01.md"
    assert daily_note_day(settings, VaultPath("2024-01.md")) is None


IMPOSSIBLE = [
    ("", "[..]/YYYY", PATH_OUTSIDE_VAULT),
    ("../Other", "", PATH_OUTSIDE_VAULT),
    ("C:\\Notes", "", PATH_OUTSIDE_VAULT),
    ("", "[con]", PATH_OUTSIDE_VAULT),
    (".hidden", "", PERMISSION_DENIED),
    ("", "[.]YYYY", PERMISSION_DENIED),
    ("", "[]", PERMISSION_DENIED),
    ("", "YYYY-MM-DD HH:mm", INVALID_ARGUMENTS),
    ("", "YYYY[?]", INVALID_ARGUMENTS),
    ("", "YYYY /MM", INVALID_ARGUMENTS),
    ("", "[" + "x" * 300 + "]", INVALID_ARGUMENTS),
]


@pytest.mark.parametrize(("folder", "form", "code"), IMPOSSIBLE)
def test_settings_that_give_no_path_are_named_in_the_error(folder: str, form: str, code: str) -> None:
    with pytest.raises(VaultError) as caught:
        daily_note_path(Settings(daily_folder=folder, daily_format=form), DAY)
    assert caught.value.code == code
    assert "settings for daily notes" in caught.value.message
    assert repr(folder or form) in caught.value.message


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        ("", None),
        (" ", None),
        ("/", None),
        ("Daily", "Daily.md"),
        ("/T/Daily.md", "T/Daily.md"),
        ("T\\Daily", "T/Daily.md"),
    ],
)
def test_the_template_of_daily_notes_is_the_note_the_settings_name(setting: str, path: str | None) -> None:
    assert daily_template_path(Settings(daily_template=setting)) == path


def test_a_template_outside_the_vault_is_none() -> None:
    with pytest.raises(VaultError) as caught:
        daily_template_path(Settings(daily_template="../Daily"))
    assert caught.value.code == PATH_OUTSIDE_VAULT


DAYS = [
    ("today", 0),
    (" Today ", 0),
    ("yesterday", -1),
    ("TOMORROW", 1),
    ("+0", 0),
    ("+3", 3),
    ("-1", -1),
    ("-366", -366),
    ("2024-01-06", 1),
    ("20240106", 1),
    ("2024-W01-6", 1),
    ("2024-w01-6", 1),
]


@pytest.mark.parametrize(("text", "days"), DAYS)
def test_a_day_is_named_by_a_word_a_number_or_a_date(text: str, days: int) -> None:
    assert parse_day(text, DAY) == DAY + timedelta(days)


NO_DAYS = ["", " ", "3", "+", "+x", "-1.5", "+99999999", "+9999999", "-9999999", "2024-02-30", "2024-1-5", "05.01.2024"]
NO_DAYS += ["next friday", "2024-01-05T10:00", "todays", "+\uff13", "\u22121"]


@pytest.mark.parametrize("text", NO_DAYS)
def test_what_names_no_day_is_refused_with_what_would(text: str) -> None:
    with pytest.raises(VaultError) as caught:
        parse_day(text, DAY)
    assert caught.value.code == INVALID_ARGUMENTS
    assert "'today', 'yesterday', 'tomorrow'" in caught.value.message


@given(text=st.text(alphabet="+-0123456789W ", max_size=12))
def test_any_text_like_a_day_is_one_or_refused(text: str) -> None:
    try:
        day = parse_day(text, DAY)
    except VaultError:
        return
    assert isinstance(day, date)
