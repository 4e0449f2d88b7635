"""Date formats: what is expected was written by Moment.js 2.30.1 (English); what was written can be read back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.bases.moment_format import format_moment
from vaultwire.vault.settings.obsidian_settings import parse_moment

FRIDAY = datetime(2024, 1, 5, 9, 7, 3, 45_678, tzinfo=UTC)
NEW_YEARS_EVE = datetime(2018, 12, 31, 13, 30, 59, 999_000, tzinfo=UTC)

WRITTEN = [
    # a format, and the two moments above in it
    ("YYYY YY Y", "2024 24 2024", "2018 18 2018"),
    ("Q Qo", "1 1st", "4 4th"),
    ("M Mo MM MMM MMMM", "1 1st 01 Jan January", "12 12th 12 Dec December"),
    ("D Do DD DDD DDDo DDDD", "5 5th 05 5 5th 005", "31 31st 31 365 365th 365"),
    ("d do dd ddd dddd e E", "5 5th Fr Fri Friday 5 5", "1 1st Mo Mon Monday 1 1"),
    ("w wo ww W Wo WW", "1 1st 01 1 1st 01", "1 1st 01 1 1st 01"),
    ("gg gggg GG GGGG", "24 2024 24 2024", "19 2019 19 2019"),
    ("YYYYY YYYYYY ggggg GGGGG", "02024 +002024 02024 02024", "02018 +002018 02019 02019"),
    ("H HH h hh k kk", "9 09 9 09 9 09", "13 13 1 01 13 13"),
    ("m mm s ss", "7 07 3 03", "30 30 59 59"),
    ("S SS SSS SSSS SSSSSSSSS", "0 04 045 0450 045000000", "9 99 999 9990 999000000"),
    ("A a", "AM am", "PM pm"),
    ("Hmm Hmmss hmm hmmss", "907 90703 907 90703", "1330 133059 130 13059"),
    ("X x Z ZZ", "1704445623 1704445623045 +00:00 +0000", "1546263059 1546263059999 +00:00 +0000"),
    ("LT LTS", "9:07 AM 9:07:03 AM", "1:30 PM 1:30:59 PM"),
    ("L l", "01/05/2024 1/5/2024", "12/31/2018 12/31/2018"),
    ("LL ll", "January 5, 2024 Jan 5, 2024", "December 31, 2018 Dec 31, 2018"),
    ("LLL", "January 5, 2024 9:07 AM", "December 31, 2018 1:30 PM"),
    ("lll", "Jan 5, 2024 9:07 AM", "Dec 31, 2018 1:30 PM"),
    ("LLLL", "Friday, January 5, 2024 9:07 AM", "Monday, December 31, 2018 1:30 PM"),
    ("llll", "Fri, Jan 5, 2024 9:07 AM", "Mon, Dec 31, 2018 1:30 PM"),
    ("y yy yyyy yo N NNNN", "2024 2024 2024 2024th AD Anno Domini", "2018 2018 2018 2018th AD Anno Domini"),
    ("[YYYY] YYYY [[]", "YYYY 2024 [", "YYYY 2018 ["),
    ("[a] x] D", "a] x 5", "a] x 31"),
    ("\\YYYY \\[D] \\D \\L", "YYYY [5] D L", "YYYY [31] D L"),
    ("Daily", "5ami1/5/20242024", "31pmi12/31/20182018"),
    ("YYYY年M月D日", "2024年1月5日", "2018年12月31日"),
    ("YYYY/MM/[Week] ww", "2024/01/Week 01", "2018/12/Week 01"),
    ("[]D[]", "5", "31"),
    ("DDDDD MMMMM YYY", "0055 January1 242024", "36531 December12 182018"),
    ("b é $ [", "b é $ [", "b é $ ["),
    ("", "", ""),
]


@pytest.mark.parametrize(("form", "friday", "new_years_eve"), WRITTEN)
def test_a_moment_is_written_as_moment_js_writes_it(form: str, friday: str, new_years_eve: str) -> None:
    assert (format_moment(form, FRIDAY), format_moment(form, NEW_YEARS_EVE)) == (friday, new_years_eve)


WEEKS = [
    # around the turn of a year: gggg-ww-e and GGGG-WW-E
    (date(2021, 1, 3), "2021-02-0", "2020-53-7"),
    (date(2021, 1, 4), "2021-02-1", "2021-01-1"),
    (date(2020, 12, 27), "2021-01-0", "2020-52-7"),
    (date(2016, 1, 1), "2016-01-5", "2015-53-5"),
    (date(2011, 12, 31), "2011-53-6", "2011-52-6"),
    (date(2012, 1, 1), "2012-01-0", "2011-52-7"),
    (date(9999, 12, 31), "10000-01-5", "9999-52-5"),
]


@pytest.mark.parametrize(("day", "american", "iso"), WEEKS)
def test_weeks_belong_to_the_year_moment_js_says(day: date, american: str, iso: str) -> None:
    assert (format_moment("gggg-ww-e", day), format_moment("GGGG-WW-E", day)) == (american, iso)


@pytest.mark.parametrize(
    ("number", "ordinal"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd")]
)
def test_ordinals_are_english(number: int, ordinal: str) -> None:
    assert format_moment("Do", date(2024, 1, number)) == ordinal


@pytest.mark.parametrize(("number", "ordinal"), [(101, "101st"), (111, "111th"), (112, "112th"), (121, "121st")])
def test_ordinals_of_three_digits_are_too(number: int, ordinal: str) -> None:
    assert format_moment("DDDo", date(2024, 1, 1) + timedelta(number - 1)) == ordinal


@pytest.mark.parametrize(
    ("minutes", "zone"), [(0, "+00:00"), (330, "+05:30"), (-210, "-03:30"), (-720, "-12:00"), (765, "+12:45")]
)
def test_a_zone_is_written_as_hours_and_minutes(minutes: int, zone: str) -> None:
    moment = datetime(2024, 1, 5, 12, tzinfo=timezone(timedelta(minutes=minutes)))
    assert format_moment("Z ZZ", moment) == f"{zone} {zone.replace(':', '')}"
    assert format_moment("X", moment) == str(int(moment.timestamp()))


@pytest.fixture(params=["UTC", "Asia/Kolkata", "America/New_York"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("this system's zone cannot be set for one program")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone")
def test_a_moment_without_a_zone_is_in_this_computers() -> None:
    local = datetime(2024, 7, 5, 23, 30)  # noqa: DTZ001 - without a zone is what is tested
    assert format_moment("X", local) == str(int(local.timestamp()))
    assert format_moment("ZZ", local) == local.astimezone().strftime("%z")
    for form in ("X", "x"):
        for day in (date(2024, 7, 5), date(1970, 1, 31), date(2038, 2, 1)):
            assert parse_moment(form, format_moment(form, day)) == day


# ---------------------------------------------------------------------- reading back

REAL_FORMATS = [
    "YYYY-MM-DD",
    "YYYY/MM/YYYY-MM-DD",
    "YYYY/MMMM/YYYY-MMM-DD",
    "YYYY/MM-MMMM/YYYY-MM-DD-dddd",
    "[Journal] DD.MM.YYYY",
    "YYYYMMDD",
    "YYYYMMDDHHmm",
    "DD-MM-YYYY",
    "MMMM Do, YYYY",
    "dddd, MMMM Do YYYY",
    "ddd DD MMM YYYY",
    "gggg-[W]ww/YYYY-MM-DD",
    "gggg-[W]ww-e",
    "GGGG-[W]WW-E",
    "GGGG-[W]WW dddd",
    "YYYY-DDDD",
    "DDDo [of] YYYY",
    "YYYY [Q]Q/M-D",
    "YYYY年M月D日",
    "D.M.YYYY",
    "L",
    "LL",
    "LLLL",
    "yyyy-MM-DD",
    "YYYY-MM-DD [at] h:mm:ss.SSS A z",
]

SHORT_FORMATS = ["YY-MM-DD", "YYMMDD", "gg-ww-e", "GG[w]WW-E", "M/D/YY", "YYDDDD"]

DAYS = st.dates(date(1000, 1, 1), date(9999, 12, 25))  # the week after is one of the year 10000


@given(form=st.sampled_from(REAL_FORMATS), day=DAYS)
def test_a_written_day_is_read_back(form: str, day: date) -> None:
    assert parse_moment(form, format_moment(form, day)) == day


@given(form=st.sampled_from(SHORT_FORMATS), day=st.dates(date(1969, 1, 5), date(2068, 12, 29)))
def test_a_year_of_two_digits_is_read_back_from_1969_to_2068(form: str, day: date) -> None:
    assert parse_moment(form, format_moment(form, day)) == day


YEARS = st.sampled_from(["YYYY", "YY", "gggg", "GGGG", "gg", "GG"])
DATES = st.sampled_from(["MM", "M", "MMM", "MMMM", "DD", "D", "Do", "DDDD", "DDD", "dddd", "ddd", "d", "E", "e", "Q"])
OTHERS = st.sampled_from(["ww", "w", "WW", "W", "HH", "mm", "A"])
TOKENS = YEARS | DATES | OTHERS
FORMATS = st.lists(TOKENS | st.sampled_from(["-", "/", " ", "[x]", "."]), min_size=1, max_size=8).map("".join)


@given(form=FORMATS, day=st.dates(date(1969, 1, 5), date(2068, 12, 29)))
def test_no_format_is_read_back_as_another_day(form: str, day: date) -> None:
    assert parse_moment(form, format_moment(form, day)) in (day, None)


@given(form=st.text(max_size=20) | FORMATS, text=st.text(max_size=30), day=DAYS)
def test_any_format_and_any_text_are_answered(form: str, text: str, day: date) -> None:
    parse_moment(form, text)
    format_moment(form, day)


UNREAD = [
    # a format and a text that is no day in it
    ("YYYY-MM-DD", "2024-1-5"),
    ("YYYY-MM-DD", "2024-02-30"),
    ("YYYY-MM-DD", "2023-02-29"),
    ("YYYY-MM-DD", "2024-01-05 notes"),
    ("YYYY-MM-DD", "x2024-01-05"),
    ("YYYY-MM-DD", ""),
    ("YYYY-MM-DD", "\uff12\uff10\uff12\uff14-01-05"),
    ("YYYY-MM-DD", "0000-01-01"),
    ("YYYY/MM/YYYY-MM-DD", "2024/02/2024-01-05"),
    ("YYYY-MM-DD dddd", "2024-01-05 Monday"),
    ("Do MMMM YYYY", "1th January 2024"),
    ("GGGG-[W]WW-E", "2021-W53-1"),
    ("YYYY-DDDD", "2023-366"),
    ("YYYY-MM-DD HH:mm", "2024-01-05 24:00"),
    ("YYYY-MM-DD hh", "2024-01-05 13"),
    ("X", "99999999999999"),
    # formats that do not determine a day
    ("YYYY-MM", "2024-01"),
    ("YYYY-[W]WW", "2024-W01"),
    ("gggg", "2024"),
    ("MM-DD", "01-05"),
    ("dddd", "Friday"),
    ("[note]", "note"),
    ("", ""),
    ("YYYYMD", "2024111"),  # January 11th or November 1st
    ("GGGG/MM/DD", "2026/12/31"),  # of 2025 or of 2026: both lie in weeks of 2026
    ("YYYY-[W]WW-E", "2024-W01-1"),  # January 1st or December 30th
]


@pytest.mark.parametrize(("form", "text"), UNREAD)
def test_what_does_not_tell_one_day_is_none(form: str, text: str) -> None:
    assert parse_moment(form, text) is None


READ = [
    ("YYYYMD", "20241231", date(2024, 12, 31)),
    ("YYYY-[W]WW-E", "2024-W02-1", date(2024, 1, 8)),
    ("YYYY-MMMM-DD", "2024-JANUARY-05", date(2024, 1, 5)),
    ("[Journal] YYYY-MM-DD", "journal 2024-01-05", date(2024, 1, 5)),
    ("[Caf\u00e9] YYYY-MM-DD", "Cafe\u0301 2024-01-05", date(2024, 1, 5)),
    ("YYYY-MM-DDZ", "2024-01-05+02:00", date(2024, 1, 5)),
    ("YY-MM-DD", "68-01-01", date(2068, 1, 1)),
    ("YY-MM-DD", "69-01-01", date(1969, 1, 1)),
]


@pytest.mark.parametrize(("form", "text", "day"), READ)
def test_a_name_is_read_without_case_and_unicode_form(form: str, text: str, day: date) -> None:
    assert parse_moment(form, text) == day


@pytest.mark.parametrize("form", ["HhkmsMDdwWDDDQYYYY" * 3, "Y" * 3000, "D" * 3001, "[x" * 2000, "HhkmsMDwWXxDDD"])
def test_a_format_nobody_means_is_answered_soon(form: str) -> None:
    started = time.process_time()
    assert parse_moment(form, "1" * 200) is None
    format_moment(form, date(2024, 1, 5))
    assert time.process_time() - started < 5
