"""The next one of a task that repeats, as the Tasks plugin makes it, for the plain rules: every so many days, weeks …. Pure."""

from __future__ import annotations

import re
from datetime import date

from vaultwire.markdown.task_fields import first_fields, with_date, without_date, without_ids
from vaultwire.vault.days import later

# Rules with days of the week or month ("every week on Monday") are left to the plugin: it asks a library what they mean.
_PLAIN = re.compile(r"every (?:(\d{1,3}) )?(day|week|month|year)s?( when done)?", re.ASCII)
# The first of these that a task has is the one that the rule counts from (obsidian-tasks, "Recurring Tasks").
_COUNTED = ("due", "scheduled", "start")


def next_task(text: str, today: date) -> str | None:
    """Return the text of the task that follows a recurring one, done today; None if its rule is not a plain one.

    All its dates come as many days later as the one that the rule counts from; with ``when done`` that is counted from
    today. A task without dates comes again as it is.
    """
    fields = first_fields(text)
    rule = _PLAIN.fullmatch(" ".join(fields.get("recurrence", "").lower().split()))
    if rule is None or rule[1] == "0":
        return None
    text = without_ids(without_date(text, "done", "cancelled"))
    if "created" in fields:
        text = with_date(text, "created", today.isoformat())
    try:
        dates = {name: date.fromisoformat(fields[name]) for name in _COUNTED if name in fields}
        if dates:
            counted = next(iter(dates.values()))
            days = later(today if rule[3] else counted, int(rule[1] or 1), rule[2]) - counted
            for name, day in dates.items():
                text = with_date(text, name, (day + days).isoformat())
    except (ValueError, OverflowError):  # no such day
        return None
    return text
