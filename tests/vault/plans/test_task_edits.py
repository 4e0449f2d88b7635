"""Edits of tasks: which task is meant, what its line becomes, and that no other byte of the note changes."""

from __future__ import annotations

from calendar import monthcalendar
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.task_fields import first_fields
from vaultwire.vault.errors import AMBIGUOUS_TARGET, INVALID_ARGUMENTS, TEXT_NOT_FOUND
from vaultwire.vault.plans.task_edits import TaskEdit, edit_tasks, parse_mark
from vaultwire.vault.settings.obsidian_settings import Settings, TaskStatus
from vaultwire.vault.value_types import VaultPath

PATH = VaultPath("Note.md")
TODAY = date(2026, 3, 31)
TASKS_ON = Settings(community_plugins=("obsidian-tasks-plugin",))


def edited(text: str, *edits: TaskEdit, settings: Settings = TASKS_ON) -> str:
    return edit_tasks(PATH, text, edits, settings, TODAY)[0]


def tick(text: str, line: int | None = None, mark: str | None = "x", due: str | None = None) -> TaskEdit:
    return TaskEdit(text, line, mark, due)


LINES = [
    # the line, mark, due date, the line then
    ("- [ ] water", "x", None, "- [x] water ✅ 2026-03-31"),
    ("- [ ] water ^id", "x", None, "- [x] water ✅ 2026-03-31 ^id"),
    ("> 1. [ ]   water  ", "x", None, "> 1. [x]   water ✅ 2026-03-31  "),
    ("- [ ] water", "/", None, "- [/] water"),
    ("- [x] water ✅ 2026-01-01 ^id", " ", None, "- [ ] water ^id"),
    ("- [-] water ❌ 2026-01-01", " ", None, "- [ ] water"),
    ("- [x] water", "x", None, "- [x] water"),
    ("- [ ] water", None, "2026-04-01", "- [ ] water 📅 2026-04-01"),
    ("- [ ] water 📅 2026-01-01 ⏫", None, "2026-04-01", "- [ ] water 📅 2026-04-01 ⏫"),
    ("- [ ] water 📅 2026-01-01 ⏫", None, "", "- [ ] water ⏫"),
    ("- [ ] a [due:: 2026-01-01]", "x", "2026-04-01", "- [x] a [due:: 2026-04-01]  [completion:: 2026-03-31]"),
    ("- [ ]", None, "2026-04-01", "- [ ] 📅 2026-04-01"),
    ("* [ ] [x] water [[x]]", "-", None, "* [-] [x] water [[x]] ❌ 2026-03-31"),
]


@pytest.mark.parametrize(("line", "mark", "due", "expected"), LINES)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r\r\n"])
def test_only_what_is_meant_changes(line: str, mark: str | None, due: str | None, expected: str, ending: str) -> None:
    around = ["---", "a: b", "---", "- [ ] other", "{}", "", "text", ""]
    text = ending.join(around).format(line)
    edit = TaskEdit("", 5, mark, due)
    assert edited(text, edit) == ending.join(around).format(expected)


HABITS = [
    (TASKS_ON, "water", True),
    (Settings(), "water", False),
    (Settings(), "water 📅 2026-01-01", True),
    (TASKS_ON._replace(tasks_set_done_date=False), "water 📅 2026-01-01", False),
    (TASKS_ON._replace(tasks_filter="#task"), "water", False),
    (TASKS_ON._replace(tasks_filter="#task"), "water #task", True),
]


@pytest.mark.parametrize(("settings", "task", "dated"), HABITS)
def test_the_day_is_written_where_the_person_writes_it(settings: Settings, task: str, dated: bool) -> None:
    assert edited(f"- [ ] {task}", tick(task), settings=settings) == f"- [x] {task}" + " ✅ 2026-03-31" * dated


def test_dates_are_written_in_the_form_of_the_settings() -> None:
    settings = TASKS_ON._replace(tasks_format="dataview")
    assert edited("- [ ] water", tick("water"), settings=settings) == "- [x] water  [completion:: 2026-03-31]"


NEXTS = [
    ("water 🔁 every week 📅 2026-03-31", "water 🔁 every week 📅 2026-04-07"),
    ("water 🔁 Every 2 Weeks ⏳ 2026-03-01 🛫 2026-02-20", "water 🔁 Every 2 Weeks ⏳ 2026-03-15 🛫 2026-03-06"),
    ("water 🛫 2026-03-01 📅 2026-03-05 🔁 every month", "water 🛫 2026-04-01 📅 2026-04-05 🔁 every month"),
    ("water 🔁 every month 📅 2026-01-31", "water 🔁 every month 📅 2026-02-28"),
    ("water 🔁 every year 📅 2024-02-29", "water 🔁 every year 📅 2025-02-28"),
    ("water 🔁 every 3 days when done 📅 2026-03-01", "water 🔁 every 3 days when done 📅 2026-04-03"),
    ("water 🔁 every day", "water 🔁 every day"),
    ("water [repeat:: every day]  [due:: 2026-03-31]", "water [repeat:: every day]  [due:: 2026-04-01]"),
    (
        "water 🔁 every day \N{HEAVY PLUS SIGN} 2026-01-01 🆔 abc ⛔ d,e 📅 2026-03-31 ^id",
        "water 🔁 every day 📅 2026-04-01",
    ),
]


@pytest.mark.parametrize(("task", "following"), NEXTS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_next_of_a_recurring_task_is_put_above_it(task: str, following: str, ending: str) -> None:
    text = f"> - [ ] {task}{ending}last - [ ] line"
    new, (found,), (notice,) = edit_tasks(PATH, text, [tick("water")], TASKS_ON, TODAY)
    above, done, last = new.split(ending)
    assert (above, last) == (f"> - [ ] {following}", "last - [ ] line")
    assert done.startswith("> - [x] water")
    assert "2026-03-31" in done
    assert (found.line, found.mark) == (2, "x")
    assert "The next one is on the line above it" in notice


def test_of_several_tasks_the_lines_are_told_as_they_are_then() -> None:
    text = "- [ ] one 🔁 every day 📅 2026-03-31\n- [ ] two\n- [ ] three 🔁 every day"
    new, found, _ = edit_tasks(PATH, text, [tick("three"), tick("two"), tick("one")], TASKS_ON, TODAY)
    assert [(task.line, new.split("\n")[task.line - 1].split()[2]) for task in found] == [
        (5, "three"),
        (3, "two"),
        (2, "one"),
    ]


@pytest.mark.parametrize("rule", ["every month on the 32nd", "every 0 days", "every day for 3 times", "now and then"])
def test_a_recurring_task_whose_rule_is_not_computed_is_left_as_it_is(rule: str) -> None:
    text = f"- [ ] other\n- [ ] water 🔁 {rule} 📅 2026-03-31"
    new, (other, task), (notice,) = edit_tasks(PATH, text, [tick("other"), tick("water")], TASKS_ON, TODAY)
    assert new == f"- [x] other ✅ 2026-03-31\n- [ ] water 🔁 {rule} 📅 2026-03-31"
    assert (other.mark, task.line, task.mark) == ("x", 2, " ")
    assert f"repeats ({rule}). It stays as it is" in notice
    assert edit_tasks(PATH, text, [tick("water", mark="/")], TASKS_ON, TODAY)[2] == []


# The rule, the day that it counts from, those that follow. Of the plugin's documentation, "Recurring Tasks", and its tests.
RULES = [
    ("every weekday", "2026-03-27", "2026-03-30 2026-03-31"),
    ("every 2 weekdays", "2026-04-03", "2026-04-13 2026-04-14"),  # every other week, as the plugin reads it
    ("every week on Monday", "2026-03-31", "2026-04-06 2026-04-13"),
    ("every week on weekdays", "2026-04-03", "2026-04-06"),
    ("every week on Tuesday, Friday", "2026-03-31", "2026-04-03 2026-04-07"),
    ("every week on tue and fri", "2026-03-31", "2026-04-03 2026-04-07"),
    ("every Monday", "2026-03-31", "2026-04-06"),
    ("every mon, wed and sun", "2026-03-31", "2026-04-01 2026-04-05 2026-04-06"),
    ("every Sunday", "2021-04-25", "2021-05-02"),
    ("every 3 weeks on Friday", "2026-04-03", "2026-04-24 2026-05-15"),
    ("every 2 weeks on Monday, Friday", "2026-03-30", "2026-04-03 2026-04-13"),
    ("every month on the 1st", "2026-03-31", "2026-04-01 2026-05-01"),
    ("every month on the last", "2022-01-31", "2022-02-28 2022-03-31 2022-04-30 2022-05-31"),
    ("every month on the last day", "2022-01-31", "2022-02-28"),
    ("every month on the 31st", "2022-01-31", "2022-03-31 2022-05-31 2022-07-31 2022-08-31"),
    ("every month on the last Friday", "2026-03-31", "2026-04-24 2026-05-29"),
    ("every month on the 2nd last Friday", "2026-03-31", "2026-04-17 2026-05-22"),
    ("every month on the second last", "2026-03-31", "2026-04-29"),
    ("every 6 months on the 2nd Wednesday", "2026-03-11", "2026-09-09 2027-03-10"),
    ("every month on Friday", "2026-03-27", "2026-04-03 2026-04-10"),
    ("every month", "2021-10-31", "2021-11-30 2021-12-30 2022-01-30 2022-02-28 2022-03-28"),
    ("every 3 months", "2022-01-31", "2022-04-30 2022-07-30"),
    ("every January on the 15th", "2026-03-31", "2027-01-15 2028-01-15"),
    ("every year in January the 15th", "2026-03-31", "2027-01-15"),
    ("every February on the last", "2026-03-31", "2027-02-28 2028-02-29"),
    ("every April and December on the 1st and 24th", "2026-03-31", "2026-04-01 2026-04-24 2026-12-01 2026-12-24"),
    ("every May", "2026-03-31", "2026-05-31 2027-05-31"),
    ("every year", "2024-02-29", "2025-02-28 2026-02-28"),
]


@pytest.mark.parametrize(("rule", "start", "days"), RULES)
def test_a_rule_says_the_days_that_the_plugin_says(rule: str, start: str, days: str) -> None:
    for day in days.split():
        text = f"- [ ] water 🔁 {rule} 📅 {start}"
        above = edited(text, tick("water")).split("\n")[0]
        assert above == f"- [ ] water 🔁 {rule} 📅 {day}"
        start = day
    done = edited(f"- [ ] water 🔁 {rule} when done 📅 2020-01-01", tick("water")).split("\n")[0]
    assert done == edited(f"- [ ] water 🔁 {rule} 📅 2026-03-31", tick("water")).split("\n")[0].replace(
        rule, f"{rule} when done"
    )


_NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_ORDINALS = {"1st": 1, "second": 2, "3rd": 3, "4th": 4, "last": -1, "2nd last": -2}


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from([*_ORDINALS]), st.sampled_from(_NAMES)), min_size=1, max_size=3),
    st.dates(date(1999, 1, 1), date(2050, 1, 1)),
)
def test_days_of_months_are_those_of_a_calendar(step: int, places: list[tuple[str, str]], start: date) -> None:
    rule = f"every {step} months on the " + ", ".join(f"{nth} {name}" for nth, name in places)
    above = edited(f"- [ ] water 🔁 {rule} 📅 {start}", tick("water")).split("\n")[0]
    days = []
    for number in range(2 * step + 1):
        year, month = divmod(start.year * 12 + start.month - 1 + number * step, 12)
        weeks = monthcalendar(year, month + 1)
        for nth, name in places:
            column = [week[_NAMES.index(name)] for week in weeks if week[_NAMES.index(name)]]
            place = _ORDINALS[nth] - (_ORDINALS[nth] > 0)
            days.append(date(year, month + 1, column[place]))
    assert above.endswith(f"📅 {min(day for day in days if day > start)}")


STATUSES = {
    " ": TaskStatus("TODO", "x"),
    "x": TaskStatus("DONE", "n"),
    "n": TaskStatus("NON_TASK", "w"),
    "w": TaskStatus("IN_PROGRESS", "d"),
    "d": TaskStatus("DONE", "x"),
    "c": TaskStatus("CANCELLED", " "),
    "h": TaskStatus("ON_HOLD", "x"),
}
PLUS = "\N{HEAVY PLUS SIGN}"
DAILY = "water 🔁 every day 🛫 2026-03-30 ⏳ 2026-03-31"
SETTINGS = [
    # the settings, a task, its new mark, the lines then
    (
        {"tasks_next_below": True},
        "[ ] water 🔁 every day",
        "x",
        "[x] water 🔁 every day ✅ 2026-03-31|[ ] water 🔁 every day",
    ),
    (
        {"tasks_set_created_date": True, "tasks_set_done_date": False},
        f"[ ] {DAILY} {PLUS} 2026-01-01",
        "x",
        f"[ ] water 🔁 every day {PLUS} 2026-03-31 🛫 2026-03-31 ⏳ 2026-04-01|[x] {DAILY} {PLUS} 2026-01-01",
    ),
    (
        {"tasks_set_done_date": False},
        f"[ ] water 🔁 every day {PLUS} 2026-01-01 📅 2026-03-31",
        "x",
        f"[ ] water 🔁 every day 📅 2026-04-01|[x] water 🔁 every day {PLUS} 2026-01-01 📅 2026-03-31",
    ),
    # without the scheduled date the rule counts from the start
    (
        {"tasks_remove_scheduled_date": True},
        "[ ] a 🔁 every Monday 🛫 2026-03-30 ⏳ 2026-03-31",
        "x",
        "[ ] a 🔁 every Monday 🛫 2026-04-06|[x] a 🔁 every Monday 🛫 2026-03-30 ⏳ 2026-03-31 ✅ 2026-03-31",
    ),
    (
        {"tasks_remove_scheduled_date": True},
        "[ ] a 🔁 every day ⏳ 2026-03-31",
        "x",
        "[ ] a 🔁 every day ⏳ 2026-04-01|[x] a 🔁 every day ⏳ 2026-03-31 ✅ 2026-03-31",
    ),
    ({}, "[ ] a 📅 2026-03-31", "-", "[-] a 📅 2026-03-31 ❌ 2026-03-31"),
    ({"tasks_set_cancelled_date": False}, "[ ] a 📅 2026-03-31", "-", "[-] a 📅 2026-03-31"),
    ({}, "[-] a ❌ 2026-01-01", "x", "[x] a ✅ 2026-03-31"),
    ({}, "[x] a ✅ 2026-01-01", "/", "[/] a"),
    ({}, "[x] a ✅ 2026-01-01", "X", "[X] a ✅ 2026-01-01"),
    ({"tasks_filter": "#task"}, "[ ] a 🔁 every day", "x", "[x] a 🔁 every day"),
    # marks of the person's own
    ({"tasks_statuses": STATUSES}, "[ ] a", "d", "[d] a ✅ 2026-03-31"),
    ({"tasks_statuses": STATUSES}, "[ ] a", "c", "[c] a ❌ 2026-03-31"),
    ({"tasks_statuses": STATUSES}, "[ ] a", "h", "[h] a"),
    ({"tasks_statuses": STATUSES}, "[x] a ✅ 2026-01-01", "d", "[d] a ✅ 2026-01-01"),
    ({"tasks_statuses": STATUSES}, "[ ] a", "-", "[-] a"),
    (
        {"tasks_statuses": STATUSES, "tasks_set_done_date": False},
        "[ ] a 🔁 every day",
        "x",
        "[w] a 🔁 every day|[x] a 🔁 every day",  # no mark to do follows on x
    ),
]


@pytest.mark.parametrize(("settings", "task", "mark", "lines"), SETTINGS)
def test_the_settings_of_the_tasks_plugin_are_obeyed(
    settings: dict[str, Any], task: str, mark: str, lines: str
) -> None:
    new, (found,), _ = edit_tasks(PATH, f"- {task}", [tick("", 1, mark)], TASKS_ON._replace(**settings), TODAY)
    assert new.replace("- ", "", 1).replace("\n- ", "|") == lines
    assert new.split("\n")[found.line - 1].startswith(f"- [{mark}]")


NAMED = {"tasks_day_of_name": True}
DAYS_OF_NAMES = [
    # the settings, the note's path, the task, its next one
    (NAMED, "2026-03-31.md", "a 🔁 every week", "a 🔁 every week ⏳ 2026-04-07"),
    (NAMED, "Meetings/with Jo 20260331 x.md", "a 🔁 every week", "a 🔁 every week ⏳ 2026-04-07"),
    (
        NAMED | {"tasks_format": "dataview"},
        "2026-03-31.md",
        "a [repeat:: every day]",
        "a [repeat:: every day]  [scheduled:: 2026-04-01]",
    ),
    (NAMED | {"tasks_remove_scheduled_date": True}, "2026-03-31.md", "a 🔁 every day", "a 🔁 every day ⏳ 2026-04-01"),
    (NAMED, "2026-03-31.md", "a 🔁 every day 📅 2026-05-01", "a 🔁 every day 📅 2026-05-02"),
    (NAMED, "2026-13-31.md", "a 🔁 every day", "a 🔁 every day"),
    (NAMED | {"tasks_name_format": "D.M.YYYY"}, "31.3.2026.md", "a 🔁 every day", "a 🔁 every day ⏳ 2026-04-01"),
    (
        NAMED | {"tasks_name_folders": ("Days",)},
        "Days/x/2026-03-31.md",
        "a 🔁 every day",
        "a 🔁 every day ⏳ 2026-04-01",
    ),
    (NAMED | {"tasks_name_folders": ("Days",)}, "Days 2/2026-03-31.md", "a 🔁 every day", "a 🔁 every day"),
    ({}, "2026-03-31.md", "a 🔁 every day", "a 🔁 every day"),
]


@pytest.mark.parametrize(("settings", "path", "task", "following"), DAYS_OF_NAMES)
def test_a_task_without_dates_has_the_day_of_its_notes_name_where_the_plugin_says_so(
    settings: dict[str, Any], path: str, task: str, following: str
) -> None:
    after, _, _ = edit_tasks(VaultPath(path), f"- [ ] {task}", [tick("", 1)], TASKS_ON._replace(**settings), TODAY)
    assert after.split("\n")[0] == f"- [ ] {following}"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_task_that_is_deleted_when_done_leaves_no_line(ending: str) -> None:
    lines = ["- [ ] a 🏁 delete", "- [ ] b", "  - [ ] c 🏁 Delete 🔁 every day", "    - [ ] d  [onCompletion:: delete]"]
    text = ending.join([*lines, "- [ ] e 🏁 keep", ""])
    edits = [TaskEdit("", line, "x", None) for line in range(1, 6)]
    after, tasks, notices = edit_tasks(PATH, text, edits, TASKS_ON, TODAY)
    done = " ✅ 2026-03-31"
    kept = [f"- [x] b{done}", "  - [ ] c 🏁 Delete 🔁 every day", f"- [x] e 🏁 keep{done}", ""]
    assert after == ending.join(kept)
    assert [task.line for task in tasks] == [1, 1, 3, 3, 3]
    assert [notice for notice in notices if "its line is removed" in notice] == [notices[0], notices[2], notices[3]]
    assert edited("- [ ] a 🏁 delete", tick("", 1), settings=Settings()).startswith("- [x] a")
    assert edited("- [ ] a 🏁 delete", tick("", 1, "-")) == "- [-] a 🏁 delete ❌ 2026-03-31"


SEVERAL = "- [ ] water\n- [ ] water the beds\ntext\n- [ ] call  Mum\n- [x] call dad\n"


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (tick("water", mark="/"), 1),
        (tick("THE beds", mark="/"), 2),
        (tick("water", 2, "/"), 2),
        (tick("call mum", 9, "/"), 4),  # lines above it have gone since it was listed
        (tick("", 4, "/"), 4),
    ],
)
def test_a_task_is_known_by_its_text_and_a_line_tells_equal_ones_apart(edit: TaskEdit, line: int) -> None:
    assert edit_tasks(PATH, SEVERAL, [edit], TASKS_ON, TODAY)[1][0].line == line


def test_a_task_that_is_not_clear_is_refused_with_what_there_is() -> None:
    unclear = refusal(edited, SEVERAL, tick("call"))
    assert unclear.code == AMBIGUOUS_TARGET
    assert "line 4: 'call  Mum'; line 5: 'call dad'" in unclear.message
    missing = refusal(edited, SEVERAL, tick("fly"))
    assert missing.code == TEXT_NOT_FOUND
    assert "line 1: 'water'" in missing.message
    assert refusal(edited, SEVERAL, tick("", 3)).code == TEXT_NOT_FOUND
    assert "no tasks at all" in refusal(edited, "text", tick("", 3)).message
    assert refusal(edited, SEVERAL, tick("beds"), tick("the beds")).code == INVALID_ARGUMENTS


@pytest.mark.parametrize("status", ["", "xx", "[", "\t", "finished"])
def test_what_cannot_be_in_a_box_is_refused(status: str) -> None:
    assert refusal(parse_mark, status).code == INVALID_ARGUMENTS


_WORDS = "water|mum| |  |\t|#tag| ^id|`|[[Note]]|é|[ ]|[x]|\u00a0| 📅 soon| %% c %%|<b>"
_FIELDS = " 📅 2026-01-31| [due:: 2026-01-31]| ✅ 2026-01-01| 🔁 every day| ⏫| [completion:: 2025-01-01]"
PIECES = st.sampled_from([*_WORDS.split("|"), *_FIELDS.split("|")])
TASK_LINES = st.builds(
    "{}[{}]{}".format,
    st.sampled_from(["- ", "* ", "1. ", "> - ", "  - ", "\t- ", "- - ", "+   "]),
    st.sampled_from([" ", "x", "X", "/", "-", "é"]),
    st.lists(PIECES, max_size=5).map(lambda pieces: " " + "".join(pieces)),
)
OTHER_LINES = st.sampled_from(["", "text", "# Heading", "- item", "    code", "- [x]no task"])


@given(
    st.lists(st.tuples(st.one_of(TASK_LINES, OTHER_LINES), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8),
    st.data(),
)
def test_editing_a_random_task_changes_its_box_and_its_dates_only(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(line + ending for line, ending in lines)
    tasks = parse_note(text.replace("\r\n", "\n")).tasks
    if not tasks:
        return
    task = data.draw(st.sampled_from(tasks))
    mark = data.draw(st.sampled_from(["x", " ", "/", None]))
    due = data.draw(st.sampled_from([None, "2031-07-09", ""])) if mark else "2031-07-09"
    new, (found,), notices = edit_tasks(PATH, text, [TaskEdit("", task.line, mark, due)], TASKS_ON, TODAY)
    if any("It stays as it is" in notice for notice in notices):  # the random words are no rule
        assert "🔁 every day" in task.text
        assert (new, found.mark) == (text, task.mark)
        return
    before, after = text.split("\n"), new.split("\n")
    if len(after) > len(before):  # the next one of a recurring task, above it
        assert "🔁 every day" in task.text
        assert "[ ]" in after.pop(task.line - 1)
        assert found.line == task.line + 1
    changed = [number for number, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]]
    assert changed in ([], [task.line])
    (now,) = [each for each in parse_note(new.replace("\r\n", "\n")).tasks if each.line == found.line]
    assert (now.mark, now.text) == (found.mark, found.text)
    assert now.mark == (task.mark if mark is None else mark)
    had, has = first_fields(task.text), first_fields(now.text)
    dates = {"due": "", "done": "", "cancelled": ""}
    if due == "":
        dates["recurrence"] = ""  # a rule goes on with the words behind a date that is removed
    assert {**had, **dates} == {**has, **dates}
    if due:
        assert has["due"] == due
    if due == "":
        assert "due" not in has
    if due is None and (mark == task.mark or (mark == "/" and not {"done", "cancelled"} & had.keys())):
        assert now.text == task.text
