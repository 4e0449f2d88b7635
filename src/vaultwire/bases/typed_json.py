"""Values as JSON with their types: numbers, booleans, dates as ISO 8601, links with their paths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vaultwire.bases.comparing import shown_text, target
from vaultwire.bases.dates import total_ms
from vaultwire.bases.host import Host
from vaultwire.bases.texts import text_of
from vaultwire.bases.values import Date, Duration, ErrorValue, File, Image, Link, Value

_MOST_DEEP = 50


def to_json(value: Value, host: Host, depth: int = 0) -> Any:
    """Return a value as JSON. A link has its path (null if it leads nowhere), linktext and display, a file its path.

    A duration has its milliseconds and its text, an error its message. What is no number in JSON is null.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, Date):
        return value.at.isoformat(timespec="seconds") if value.has_time else f"{value.at:%Y-%m-%d}"
    if isinstance(value, Duration):
        return {"milliseconds": total_ms(value), "text": text_of(value)}
    if isinstance(value, Link):
        return {"path": target(value, host), "link": value.linktext, "display": shown_text(value)}
    if isinstance(value, File):
        return {"path": value.path}
    if isinstance(value, Image):
        return {"image": value.of if isinstance(value.of, str) else to_json(value.of, host)}
    if isinstance(value, ErrorValue):
        return {"error": value.message}
    if depth < _MOST_DEEP and isinstance(value, Mapping):
        return {str(name): to_json(each, host, depth + 1) for name, each in value.items()}
    if depth < _MOST_DEEP and isinstance(value, Sequence):
        return [to_json(each, host, depth + 1) for each in value]
    return text_of(value)


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value
