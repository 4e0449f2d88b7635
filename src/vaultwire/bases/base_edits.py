"""Edits a base: its filters, formulas, names and views. What an edit does not name stays as it is, to the byte.

An edit is a part of a base in the base's own words: a map is merged into what is there, ``None`` removes, and anything else
takes the place of what was there. Filters and grouping are replaced whole: half of a filter means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vaultwire.bases.base import Base, Broken, Expression, Filter, Group
from vaultwire.bases.base_file import NotABaseError, read_base
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue, read_yaml
from vaultwire.markdown.yaml_edits import NotEditedError, rewritten

PARTS = ("filters", "formulas", "properties", "summaries")
"""The parts of a base that an edit of the base as a whole may name."""

_WHOLE = frozenset(("filters", "groupBy"))
_MOST_DEEP = 30
_NO_VALUES: Mapping[str, PropertyValue] = {}


class BaseEditError(ValueError):
    """The edit does not fit the base, or would break it. The message says why, and what would be right."""


class ViewEdit(NamedTuple):
    """An edit of one view: its name, and what changes in it. A view that there is not needs a ``type``, and is added.

    ``place``: its number afterwards, from 1; 0 leaves it where it is.
    """

    name: str
    changes: Mapping[str, PropertyValue] = _NO_VALUES
    new_name: str = ""
    is_removed: bool = False
    place: int = 0


def edit_base(text: str, changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> str:
    """Return a base with the edits, one after the other. Raises BaseEditError, and NotABaseError for what is none before."""
    before = read_base(text)
    _check_depth([changes, *(edit.changes for edit in views)])
    unknown = [name for name in changes if name not in PARTS]
    if unknown:
        hint = " Views are given by name, each with its own changes." if "views" in unknown else ""
        raise BaseEditError(f"A base has {', '.join(PARTS)} and views, not {unknown[0]!r}.{hint}")
    values = read_yaml(text.replace("\r\n", "\n"), 1).values
    wanted = _merged(values, changes)
    if views:
        shown = _edited_views(_list(values.get("views")), views)
        wanted["views"] = [view.value for view in shown]
        if not shown:
            raise BaseEditError("The edit would remove the last view: a base shows at least one.")
    after = _written(text, wanted)
    _check(before, after)
    return after


def new_base(changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> str:
    """Return the text of a new base; without views, it has one table. A view without a type is one. Raises BaseEditError."""
    names = [view.name for view in views]
    for place, name in enumerate(names):
        if _place_in(names[:place], name) is not None:
            raise BaseEditError(f"There are two views {name!r}: give each a name of its own.")
    typed = [view._replace(changes={"type": "table", **view.changes}) for view in views or [ViewEdit("Table")]]
    return edit_base("", changes, typed)


def _merged(old: PropertyValue, changes: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return a map with changes in it. A map within that is left without entries goes."""
    found = dict(old) if isinstance(old, dict) else {}
    for name, value in changes.items():
        new = value
        if isinstance(value, dict) and name not in _WHOLE:
            new = _merged(found.get(name), value) or None
        if new is None:
            found.pop(name, None)
        else:
            found[name] = new
    return found


def renamed_views(text: str, views: Sequence[ViewEdit]) -> Callable[[str], str | None]:
    """Return what gives the new name of a view for the one in a link; None if the link may stay. Raises BaseEditError."""
    old = _list(read_yaml(text.replace("\r\n", "\n"), 1).values.get("views"))
    after = {view.place: view.value for view in _edited_views(old, views)}

    def new_name(name: str) -> str | None:
        place = _place_of(old, name)
        if place is None or place not in after:
            return None
        before, now = (_view_name(each, place + 1) for each in (old[place], after[place]))
        return now if now != before else None

    return new_name


class _View(NamedTuple):
    """A view while edits are made, and its place before them; None for a new one."""

    value: PropertyValue
    place: int | None


def _edited_views(old: Sequence[PropertyValue], edits: Sequence[ViewEdit]) -> list[_View]:
    views = [_View(value, place) for place, value in enumerate(old)]
    for edit in edits:
        _edit_view(views, edit)
    return views


def _edit_view(views: list[_View], edit: ViewEdit) -> None:
    names = _names([view.value for view in views])
    found = _place_in(names, edit.name)
    _check_names(names, edit, found)
    if found is None:
        if "type" not in edit.changes or edit.is_removed or edit.new_name:
            raise BaseEditError(
                f"The base has no view {edit.name!r}. {_known(names)} A new view needs a type: table, cards, list."
            )
        head: dict[str, PropertyValue] = {"type": edit.changes["type"], "name": edit.name}
        views.append(_View(_merged(head, edit.changes), None))
        found = len(views) - 1
    elif edit.is_removed:
        views.pop(found)
        return
    else:
        views[found] = views[found]._replace(value=_merged(views[found].value, edit.changes))
    if edit.new_name and edit.new_name != edit.name:
        views[found] = views[found]._replace(value=_merged(views[found].value, {"name": edit.new_name}))
    if edit.place:
        if edit.place > len(views):
            raise BaseEditError(f"The base has {len(views)} views, so none can be number {edit.place}.")
        views.insert(edit.place - 1, views.pop(found))


def _check_names(names: Sequence[str], edit: ViewEdit, found: int | None) -> None:
    """Raise BaseEditError for a name that a view cannot get."""
    now = edit.name if found is None else names[found]
    if edit.changes.get("name", now) != now:
        raise BaseEditError(f"Rename the view {edit.name!r} by new_name: then the links that name it follow.")
    new = edit.new_name or ("" if found is not None else edit.name)
    if len(new.splitlines()) > 1 or new != new.strip():
        raise BaseEditError(f"The name of a view is one line of text without spaces around it, not {new!r}.")
    is_renamed = found is not None and edit.new_name and edit.new_name != edit.name
    if is_renamed and _place_in(names, edit.new_name) not in (None, found):
        raise BaseEditError(f"The base has a view {edit.new_name!r} already.")


def _check_depth(given: Sequence[PropertyValue | Mapping[str, PropertyValue]]) -> None:
    waiting: list[tuple[object, int]] = [(each, 0) for each in given]
    while waiting:
        each, depth = waiting.pop()
        inner = each.values() if isinstance(each, Mapping) else each if isinstance(each, list) else ()
        if inner and depth > _MOST_DEEP:
            raise BaseEditError(f"The edit has lists and objects more than {_MOST_DEEP} levels deep.")
        waiting += [(item, depth + 1) for item in inner]


def _place_of(views: Sequence[PropertyValue], name: str) -> int | None:
    """Return the place of a view by its name."""
    return _place_in(_names(views), name)


def _place_in(names: Sequence[str], name: str) -> int | None:
    """Return the place of a name, exactly so or in any case."""
    if name in names:
        return names.index(name)
    folded = [each.strip().casefold() for each in names]
    wanted = name.strip().casefold()
    return folded.index(wanted) if wanted in folded else None


def _names(views: Sequence[PropertyValue]) -> list[str]:
    """Return the names of views. A view without a name is ``View`` and its number."""
    return [_view_name(view, number) for number, view in enumerate(views, 1)]


def _view_name(view: PropertyValue, number: int) -> str:
    name = view.get("name") if isinstance(view, dict) else None
    return str(name) if isinstance(name, (str, int, float)) and name != "" else f"View {number}"


def _known(names: Sequence[str]) -> str:
    return f"It has {', '.join(map(repr, names[:20]))}." if names else "It has none."


def _list(value: PropertyValue) -> list[PropertyValue]:
    if value is not None and not isinstance(value, list):
        raise BaseEditError("The views of this base are no list: write them again by hand first.")
    return value or []


def _written(text: str, wanted: Mapping[str, PropertyValue]) -> str:
    try:
        return rewritten(text, wanted)
    except NotEditedError as error:
        raise BaseEditError(f"The base {error}. Nothing was changed.") from None


def _check(before: Base, text: str) -> None:
    """Raise BaseEditError for a base that has a problem or a broken expression that it had not before."""
    try:
        after = read_base(text)
    except (NotABaseError, NotYamlError) as error:
        raise BaseEditError(f"{error} Nothing was changed.") from None
    known = {*before.problems, *(each.text for each in _broken(before))}
    for problem in after.problems:
        if problem not in known:
            raise BaseEditError(f"{problem[:1].upper()}{problem[1:]}. Nothing was changed.")
    for each in _broken(after):
        if each.text not in known:
            raise BaseEditError(
                f"{each.text!r} cannot be read: {f'{each.message} {each.words}'.strip()} Nothing was changed."
            )


def _broken(base: Base) -> list[Broken]:
    """Return the expressions of a base that cannot be read."""
    expressions: list[Expression] = [*base.formulas.values(), *base.summaries.values()]
    waiting: list[Filter | None] = [base.filter, *(view.filter for view in base.views)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Group):
            waiting += each.filters
        elif each is not None:
            expressions.append(each.expression)
    return [each for each in expressions if isinstance(each, Broken)]
