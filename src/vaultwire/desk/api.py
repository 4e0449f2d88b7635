"""What a request of the page asks of the engine: routes to calls, parameters to arguments, errors to status codes. No wire.

The calls wait for disks, so they run on worker threads, never on the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from vaultwire import __version__
from vaultwire.desk.answers import DeskRefusal
from vaultwire.desk.vaults import READ_ONLY, WRITING, DeskVaults
from vaultwire.review.glance.rendering import mark_changes, to_tree
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    JOURNAL_FAILED,
    NOTE_EXISTS,
    PERMISSION_DENIED,
    POLICY_DENIED,
    STALE_EDIT,
    UNDO_CONFLICT,
    VAULT_NOT_FOUND,
    WRITE_FAILED,
    VaultError,
)

_STATUS = {
    FILE_NOT_FOUND: 404,
    VAULT_NOT_FOUND: 404,
    NOTE_EXISTS: 409,
    STALE_EDIT: 409,
    UNDO_CONFLICT: 409,
    PERMISSION_DENIED: 403,
    POLICY_DENIED: 403,
    JOURNAL_FAILED: 500,
    WRITE_FAILED: 500,
}
_MAX_DIGITS = 15
_SIDES = ("old", "new")


TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.review.glance.base_views import Asked
    from vaultwire.review.glance.glance import Glance
    from vaultwire.review.reviewer import Reviewer


class Picture(NamedTuple):
    """The name that a picture has, and its bytes."""

    path: str
    data: bytes


class Call(NamedTuple):
    """One call to make: on a worker thread, and alone if it decides something in this vault."""

    run: Callable[[], Any]
    decides_in: str | None = None


class DeskApi:
    """The calls of the page over the vaults."""

    def __init__(self, vaults: DeskVaults) -> None:
        self.vaults = vaults
        self._get: dict[str, Callable[[Mapping[str, str]], Any]] = {
            "start": self._start,
            "items": self._items,
            "item": lambda given: self._review(given).item(given.get("id", "")),
            "hunks": lambda given: self._review(given).hunks(*_file_of(given), _number(given, "from", 0)),
            "lines": lambda given: self._review(given).lines(
                *_file_of(given), _number(given, "from", 1), _number(given, "to", 0)
            ),
            "file": self._picture,
            "rendered": self._rendered,
            "text": lambda given: self._review(given).text(*_file_of(given)),
            "search": lambda given: self._glance(given).search(given.get("q", "")),
            "note": lambda given: self._glance(given).note(given.get("path", "")),
            "graph": lambda given: self._glance(given).graph(),
            "activity": lambda given: self._glance(given).activity(),
            "problems": lambda given: self._glance(given).problems(_number(given, "offset", 0)),
            "bases": lambda given: self._glance(given).bases.all(),
            "base": self._base,
            "base_why": lambda given: self._glance(given).bases.why(_asked(given), given.get("note", "")),
            "picture": lambda given: Picture(*self._glance(given).bases.picture(given.get("path", ""))),
        }
        self._post: dict[str, Callable[[dict[str, Any]], Call]] = {
            "decide": self._decide,
            "decide_many": self._decide_many,
            "preview": self._preview,
        }

    def method_of(self, route: str) -> str | None:
        """Return the HTTP method of a route, None for no route."""
        return "GET" if route in self._get else "POST" if route in self._post else None

    def call(self, route: str, query: Mapping[str, str], body: bytes) -> Call:
        """Return the call for a request. Raises DeskRefusal, VaultError."""
        if route in self._get:
            return Call(partial(self._get[route], query))
        return self._post[route](_object(body))

    def _review(self, given: Mapping[str, Any]) -> Reviewer:
        return self.vaults.reviewer(self._vault(given))

    def _glance(self, given: Mapping[str, Any]) -> Glance:
        return self.vaults.glance(self._vault(given))

    def _vault(self, given: Mapping[str, Any]) -> str:
        name = given.get("vault")
        if name is not None and not isinstance(name, str):
            raise _wrong("vault", "the name of a vault")
        return self.vaults.name(name)

    def _start(self, _given: Mapping[str, str]) -> dict[str, Any]:
        counts = {name: self.vaults.reviewer(name).counts() for name in self.vaults.names}
        return {
            "version": __version__,
            "vaults": list(self.vaults.names),
            "read_only": self.vaults.read_only,
            "waiting": {name: each["waiting"] for name, each in counts.items()},
            "unreviewed": {name: each["unreviewed"] for name, each in counts.items()},
        }

    def _items(self, given: Mapping[str, str]) -> Any:
        filters: dict[str, Any] = {
            name: given[name]
            for name in ("client", "session", "folder", "kind", "state", "text", "since", "before")
            if given.get(name)
        }
        if "limit" in given:
            filters["limit"] = _number(given, "limit", 0)
        return self._review(given).items(**filters, folds=bool(given.get("folds")))

    def _picture(self, given: Mapping[str, str]) -> Picture:
        path, data = self._review(given).bytes_of(*_file_of(given), _side(given))
        return Picture(path, data or b"")

    def _rendered(self, given: Mapping[str, str]) -> dict[str, Any]:
        review, (id_, file) = self._review(given), _file_of(given)
        sides = [review.bytes_of(id_, file, side)[1] for side in _SIDES]
        trees = [to_tree((data or b"").decode("utf-8", "replace")) for data in sides]
        if None not in sides:
            trees = list(mark_changes(*trees))
        return {"tree": trees[_SIDES.index(_side(given))]}

    def _base(self, given: Mapping[str, str]) -> dict[str, Any]:
        from vaultwire.review.glance.base_views import Wanted  # noqa: PLC0415 - as _asked

        wanted = Wanted(
            _number(given, "offset", 0), _number(given, "limit", 100), given.get("sort", ""), given.get("filter", "")
        )
        return self._glance(given).bases.rows(_asked(given), wanted)

    def _decide(self, body: dict[str, Any]) -> Call:
        name, action = self._vault(body), _action(body)
        options: dict[str, Any] = {
            "file": _optional(body, "file", int),
            "hunk": _optional(body, "hunk", int),
            "edited": _edited(body),
            "reason": _optional(body, "reason", str) or "",
            "basis": _optional(body, "basis", str) or "",
            "dry_run": _optional(body, "dry_run", bool) or False,
        }
        self._check_writing(action, dry_run=options["dry_run"])
        id_ = _text(body, "id")
        return Call(lambda: self.vaults.reviewer(name).decide(id_, action, **options), name)

    def _decide_many(self, body: dict[str, Any]) -> Call:
        name, action = self._vault(body), _action(body)
        ids = _optional(body, "ids", list)
        if ids is not None and not all(isinstance(each, str) for each in ids):
            raise _wrong("ids", "a list of ids such as c57")
        chosen = {
            "ids": ids,
            "session": _optional(body, "session", str) or "",
            "since": _optional(body, "since", str) or "",
            "reason": _optional(body, "reason", str) or "",
        }
        dry_run = _optional(body, "dry_run", bool) or False
        self._check_writing(action, dry_run=dry_run)
        return Call(lambda: self.vaults.reviewer(name).decide_many(action=action, **chosen, dry_run=dry_run), name)

    def _preview(self, body: dict[str, Any]) -> Call:
        name, id_, text = self._vault(body), _text(body, "id"), _text(body, "text")
        file = _optional(body, "file", int) or 0
        return Call(lambda: self.vaults.reviewer(name).preview(id_, file, text))

    def _check_writing(self, action: str, *, dry_run: bool) -> None:
        if self.vaults.read_only and action in WRITING and not dry_run:
            raise DeskRefusal(403, POLICY_DENIED, READ_ONLY)


def refusal_of(error: VaultError) -> DeskRefusal:
    """Return an error of the engine as the page gets it."""
    return DeskRefusal(_STATUS.get(error.code, 400), error.code, error.message, **error.details)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DeskRefusal(400, INVALID_ARGUMENTS, "The body must be a JSON object")
    return found


def _file_of(given: Mapping[str, str]) -> tuple[str, int]:
    return given.get("id", ""), _number(given, "file", 0)


def _asked(given: Mapping[str, str]) -> Asked:
    from vaultwire.review.glance.base_views import Asked  # noqa: PLC0415 - loaded with the first base

    return Asked(given.get("path", ""), _number(given, "block", 0), given.get("view", ""), given.get("this", ""))


def _side(given: Mapping[str, str]) -> str:
    side = given.get("side", "new")
    if side not in _SIDES:
        raise _wrong("side", "old or new")
    return side


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise _wrong(name, "a whole number")
    return int(text)


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise _wrong(name, "a text")
    return value


def _action(body: Mapping[str, Any]) -> str:
    return _text(body, "action")  # the engine says which there are


def _optional(body: Mapping[str, Any], name: str, kind: type) -> Any:
    value = body.get(name)
    if value is not None and type(value) is not kind:  # bool is an int, too
        raise _wrong(name, {int: "a whole number", str: "a text", bool: "true or false", list: "a list"}[kind])
    return value


def _edited(body: Mapping[str, Any]) -> dict[str, str] | None:
    given = body.get("edited")
    if given is None:
        return None
    if not isinstance(given, dict) or not all(key.isdecimal() and isinstance(text, str) for key, text in given.items()):
        raise _wrong("edited", 'an object of texts by the index of their file, such as {"0": "text"}')
    return dict(given)


def _wrong(name: str, right: str) -> DeskRefusal:
    return DeskRefusal(400, INVALID_ARGUMENTS, f"{name!r} must be {right}", argument=name)
