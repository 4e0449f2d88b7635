"""Which items of a list are those of another one that it shall become. It compares values and knows no text."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence

from vaultwire.markdown.property_values import same_value
from vaultwire.markdown.yaml_core import PropertyValue

# More than any base has. Of more, only what is at the same place is compared, so that the time stays proportional.
_MOST_PAIRS = 2_500


def places_of(old: Sequence[PropertyValue], new: Sequence[PropertyValue]) -> list[int | None]:
    """Return for each new item the place of the old one that it keeps the text of, None for an item that is new.

    First equal items, those at the same place before others; then maps of the same ``name``; then maps that share the most;
    then what is at the same place.
    """
    places: list[int | None] = [
        number if number < len(old) and same_value(old[number], item) else None for number, item in enumerate(new)
    ]
    kept = {*places}
    free = {number: old[number] for number in range(len(old)) if number not in kept}

    def match(key: Callable[[PropertyValue], str | None]) -> None:
        found: dict[str | None, deque[int]] = {}
        for place, item in free.items():
            found.setdefault(key(item), deque()).append(place)
        for number, item in enumerate(new):
            if places[number] is None and (wanted := key(item)) is not None and found.get(wanted):
                places[number] = place = found[wanted].popleft()
                del free[place]

    match(_as_json)
    match(lambda item: _as_json(item["name"]) if isinstance(item, dict) and item.get("name") is not None else None)
    left = [number for number, place in enumerate(places) if place is None]
    all_pairs = ((number, place) for number in left for place in free)
    same_place = ((number, number) for number in left if number in free)
    pairs = [
        (-_shared(free[place], new[number]), number != place, number, place)
        for number, place in (all_pairs if len(left) * len(free) <= _MOST_PAIRS else same_place)
    ]
    for shared, is_elsewhere, number, place in sorted(pairs):
        if places[number] is None and place in free and (shared or not is_elsewhere):
            places[number] = place
            del free[place]
    return places


def _as_json(value: PropertyValue) -> str:
    return json.dumps(value, sort_keys=True)


def _shared(one: PropertyValue, other: PropertyValue) -> int:
    """Return how many entries two maps share."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return 0
    return sum(name in other and same_value(value, other[name]) for name, value in one.items())
