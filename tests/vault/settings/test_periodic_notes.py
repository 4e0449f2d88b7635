"""Which note is a day's, which day a note is of, and what a caller may call a day."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.days import Days, days_around, named, parse_day, parse_days, shifted
from vaultwire.vault.disk.paths import parse_path
from vaultwire.vault.errors import INVALID_ARGUMENTS, PATH_OUTSIDE_VAULT, PERMISSION_DENIED, VaultError
from vaultwire.vault.settings.obsidian_settings import (
    ADJECTIVES,
    PeriodicNotes,
    Settings,
    days_of_note,
    has_iso_weeks,
    periodic_note_path,
    periodic_template_path,
)
from vaultwire.vault.value_types import VaultPath

DAY = date(2024, 1, 5)


def daily_note_path(settings: Settings, day: date) -> VaultPath:
    return periodic_note_path(settings, days_around("day", day))


def daily_note_day(settings: Settings, path: VaultPath) -> date | None:
    found = days_of_note(settings, "day", path)
    return None if found is None else found.first


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
    assert periodic_template_path(Settings(daily_template=setting), "day") == path


def test_a_template_outside_the_vault_is_none() -> None:
    with pytest.raises(VaultError) as caught:
        periodic_template_path(Settings(daily_template="../Daily"), "day")
    assert caught.value.code == PATH_OUTSIDE_VAULT


DAYS = [
    ("today", 0),
    (" Today ", 0),
    ("yesterday", -1),
    ("TOMORROW", 1),
    ("+0", 0),
    ("+3", 3),
    ("-1", -1),
    ("next friday", 7),
    ("Next Monday", 3),
    ("last friday", -7),
    ("this sunday", 2),
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
NO_DAYS += ["some friday", "2024-01-05T10:00", "todays", "+\uff13", "\u22121"]


@pytest.mark.parametrize("text", NO_DAYS)
def test_what_names_no_day_is_refused_with_what_would(text: str) -> None:
    with pytest.raises(VaultError) as caught:
        parse_day(text, DAY)
    assert caught.value.code == INVALID_ARGUMENTS
    assert caught.value.message.startswith(
        f"{text!r} is not a date I understand. Give 'today', 'yesterday', 'tomorrow', "
    )


@given(text=st.text(alphabet="+-0123456789W ", max_size=12))
def test_any_text_like_a_day_is_one_or_refused(text: str) -> None:
    try:
        day = parse_day(text, DAY)
    except VaultError:
        return
    assert isinstance(day, date)


# ---------------------------------------------------------------------- weeks, months, quarters, years


def plugin(period: str, folder: str = "", form: str = "", template: str = "") -> Settings:
    return Settings(periodic_notes={period: PeriodicNotes(folder, form, template)})


PERIODS = [
    # period, format, the note of the period around January 5th, 2024, a Friday
    ("week", "", "2024-W01.md"),
    ("week", "GGGG-[W]WW", "2024-W01.md"),
    ("week", "YYYY-MM/[W]W", "2024-01/W1.md"),
    ("week", "YYYY-MM-DD [week]", "2023-12-31 week.md"),
    ("month", "", "2024-01.md"),
    ("month", "YYYY/MMMM", "2024/January.md"),
    ("quarter", "", "2024-Q1.md"),
    ("quarter", "Qo [of] YY", "1st of 24.md"),
    ("year", "", "2024.md"),
    ("year", "[Year] YYYY", "Year 2024.md"),
    ("day", "YYYY/[W]ww/YYYY-MM-DD", "2024/W01/2024-01-05.md"),
]


@pytest.mark.parametrize(("period", "form", "path"), PERIODS)
def test_a_periods_note_is_where_the_plugin_says_and_known_as_such(period: str, form: str, path: str) -> None:
    settings = plugin(period, "Journal", form)
    days = days_around(period, DAY, iso_weeks=has_iso_weeks(settings))
    assert periodic_note_path(settings, days) == f"Journal/{path}"
    assert days_of_note(settings, period, VaultPath(f"Journal/{path}")) == days
    assert days_of_note(settings, period, VaultPath(f"Journal/x{path}")) is None


WEEKS = st.tuples(st.just("week"), st.sampled_from(["", "GGGG-[W]W", "gggg/[W]ww"]))
MONTHS = st.tuples(st.just("month"), st.sampled_from(["", "MMM YYYY"]))
QUARTERS = st.tuples(st.just("quarter"), st.sampled_from(["", "YYYY/[Q]Q", "YYYY-MM"]))
YEARS = st.tuples(st.just("year"), st.sampled_from(["", "YYYY/YYYY"]))


@given(
    kind=WEEKS | MONTHS | QUARTERS | YEARS, day=st.dates(date(1000, 1, 10), date(9993, 12, 20))
)  # five years on, dates end
def test_each_periods_note_is_known_as_that_periods(kind: tuple[str, str], day: date) -> None:
    settings = plugin(kind[0], "Journal", kind[1])
    days = days_around(kind[0], day, iso_weeks=has_iso_weeks(settings))
    assert days.first <= day <= days.last
    assert days_of_note(settings, kind[0], periodic_note_path(settings, days)) == days
    assert shifted(shifted(days, 5), -5) == days
    assert shifted(days, 1).first.toordinal() == days.last.toordinal() + 1


def test_a_year_of_days_beside_a_number_of_weeks_can_mean_two_weeks() -> None:
    settings = plugin("week", "", "YYYY-[W]ww")
    names = [periodic_note_path(settings, days_around("week", date(2023, 1, day), iso_weeks=False)) for day in (2, 9)]
    last = periodic_note_path(settings, days_around("week", DAY, iso_weeks=False))  # of Sunday, December 31st, 2023
    assert (names, last) == (["2023-W01.md", "2023-W02.md"], "2023-W01.md")
    assert [days_of_note(settings, "week", name) is None for name in names] == [True, False]


def test_the_plugin_wins_over_the_core_where_it_is_switched_on() -> None:
    core = Settings(daily_folder="Core", daily_template="T/Core")
    both = core._replace(periodic_notes={"day": PeriodicNotes("Plugin", "", "T/Plugin")})
    assert daily_note_path(core, DAY) == "Core/2024-01-05.md"
    assert daily_note_path(both, DAY) == "Plugin/2024-01-05.md"
    assert periodic_template_path(both, "day") == "T/Plugin.md"
    assert periodic_template_path(both, "week") is None


@pytest.mark.parametrize("period", ADJECTIVES)
def test_an_impossible_setting_is_named_with_its_period(period: str) -> None:
    with pytest.raises(VaultError) as caught:
        periodic_note_path(plugin(period, "../x"), days_around(period, DAY))
    assert f"settings for {ADJECTIVES[period]} notes" in caught.value.message
    assert "periodic-notes/data.json" in caught.value.message


@pytest.mark.parametrize(
    ("form", "is_iso"),
    [("", False), ("GGGG-[W]WW", True), ("YYYY-[W]W", True), ("gggg-ww", False), ("[W] YYYY-MM-DD", False)],
)
def test_weeks_are_counted_as_the_weekly_notes_are_named(form: str, is_iso: bool) -> None:
    assert has_iso_weeks(plugin("week", "", form)) is is_iso


def test_without_settings_for_weekly_notes_weeks_begin_on_monday() -> None:
    week = parse_days("2027-W01", DAY, iso_weeks=has_iso_weeks(Settings()))
    assert week.first == date(2027, 1, 4)
    assert periodic_note_path(Settings(), week) == "2027-W01.md"
    assert days_of_note(Settings(), "week", VaultPath("2027-W01.md")) == week


TIMES = [
    ("this week", "week", "2023-12-31", "2024-01-01"),
    ("Weekly", "week", "2023-12-31", "2024-01-01"),
    ("last  week", "week", "2023-12-24", "2023-12-25"),
    ("+2 weeks", "week", "2024-01-14", "2024-01-15"),
    ("2024-W01", "week", "2023-12-31", "2024-01-01"),
    ("2024-w9", "week", "2024-02-25", "2024-02-26"),
    ("2020W53", "week", None, "2020-12-28"),
    ("2024-01", "month", "2024-01-01", "2024-01-01"),
    ("next month", "month", "2024-02-01", "2024-02-01"),
    ("-1 month", "month", "2023-12-01", "2023-12-01"),
    ("2024-Q3", "quarter", "2024-07-01", "2024-07-01"),
    ("previous quarter", "quarter", "2023-10-01", "2023-10-01"),
    ("2024", "year", "2024-01-01", "2024-01-01"),
    ("year", "year", "2024-01-01", "2024-01-01"),
    ("next year", "year", "2025-01-01", "2025-01-01"),
]


@pytest.mark.parametrize(("text", "period", "american", "iso"), TIMES)
def test_longer_times_are_named_as_people_do(text: str, period: str, american: str | None, iso: str) -> None:
    for iso_weeks, first in ((False, american), (True, iso)):
        if first is None:
            with pytest.raises(VaultError):
                parse_days(text, DAY, iso_weeks=iso_weeks)
        else:
            days = parse_days(text, DAY, iso_weeks=iso_weeks)
            assert days == days_around(period, date.fromisoformat(first), iso_weeks=iso_weeks)
            assert days.first.isoformat() == first


@pytest.mark.parametrize(
    "text", ["2024-W00", "2024-W54", "2024-Q5", "2024-Q0", "2024-13", "2024-00", "0000", "last", "this day week"]
)
def test_a_time_that_is_none_is_refused(text: str) -> None:
    for iso_weeks in (True, False):
        with pytest.raises(VaultError):
            parse_days(text, DAY, iso_weeks=iso_weeks)


def test_where_one_day_is_needed_a_longer_time_is_refused() -> None:
    with pytest.raises(VaultError) as caught:
        parse_day("2024-01", DAY)
    assert "'2024-01' is a month" in caught.value.message


def test_days_are_told_by_their_period() -> None:
    assert parse_days("today", DAY) == Days("day", DAY, DAY)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2024-01-05", "2024-01-05"),
        ("2024-W01", "2024-W01"),
        ("2027-W52", "2027-W52"),
        ("2024-03", "2024-03"),
        ("2024-Q4", "2024-Q4"),
        ("0999", "0999"),
    ],
)
def test_days_are_called_what_a_caller_calls_them(text: str, name: str) -> None:
    for iso_weeks in (True, False):
        days = parse_days(text, DAY, iso_weeks=iso_weeks)
        its_days = f" ({days.first} to {days.last})" if days.period == "week" else ""
        assert named(days.period, days.first) == name + its_days
