"""What a request of the page asks of the engine: routes to calls, parameters to arguments, errors to status codes. No wire.

Also the vaults that it asks. The calls wait for disks, so they run on worker threads, never on the event loop.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

from vaultwire import __version__
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    JOURNAL_FAILED,
    NOTE_EXISTS,
    PERMISSION_DENIED,
    POLICY_DENIED,
    SERVER_BUSY,
    STALE_EDIT,
    UNDO_CONFLICT,
    VAULT_NOT_FOUND,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.vault import Vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.review import Reviewer
    from vaultwire.review.base_views import Asked
    from vaultwire.review.glance import Glance, Records

# The vaults that the desk shows, by name: each is opened when it is first asked for, as the person uses it.

# What the person is called in the journal.
PERSON = "you"
TOOL = "desk"
# What changes notes. The other decisions only note what the person thinks of a change.
WRITING = frozenset(("undo", "move_back", "accept"))
READ_ONLY = "This server runs read-only, so the desk changes no note. Start it without --read-only"


class DeskVaults:
    """The vaults of one desk. Safe to use from several threads."""

    def __init__(
        self,
        openers: Mapping[str, Callable[[], Vault]],
        reads_of: Callable[[Vault], Records | None] = lambda _: None,
        *,
        read_only: bool = False,
    ) -> None:
        """``openers`` has what opens each vault, by its name for the person. They are called once, on any thread.

        ``reads_of`` returns the audit log of a vault, None if none is kept. ``read_only``: no note may be changed in this run.
        """
        self.all_names = tuple(openers)
        self.is_here: Callable[[str], bool] = lambda _: True
        """Tells whether this server has a vault now, where several servers share them."""
        self.elsewhere: Callable[[], Mapping[str, str]] = dict
        """Returns the addresses of the desks that show the vaults of other servers, "" for a vault that no server has."""
        self.read_only = read_only
        self._openers = openers
        self._reads_of = reads_of
        self._opening = threading.Lock()
        self._opened: dict[str, tuple[Reviewer, Glance]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the vaults."""
        return tuple(filter(self.is_here, self.all_names))

    def forget(self, name: str) -> None:
        """Open a vault again when it is asked for next: another server has it meanwhile."""
        with self._opening:
            self._opened.pop(name, None)

    def name(self, text: str | None) -> str:
        """Return a vault's name; the only one's if none is given. Raises VaultError (VAULT_NOT_FOUND)."""
        if not text and len(self.names) == 1:
            return self.names[0]
        if text in self.names:
            return text or ""
        elsewhere = self.elsewhere()
        if text in elsewhere or (elsewhere and not self.names):
            where = [f"{vault}: {address or 'no server has it now'}" for vault, address in elsewhere.items()]
            message = f"Other servers have these vaults now, and their desks show them: {', '.join(where)}"
            raise VaultError(VAULT_NOT_FOUND, message, vaults=list(self.names))
        known = ", ".join(map(repr, self.names))
        what = f"There is no vault {text[:100]!r}" if text else "Say which vault"
        raise VaultError(VAULT_NOT_FOUND, f"{what} (there are: {known}).", vaults=list(self.names))

    def reviewer(self, name: str) -> Reviewer:
        """Return what lists and decides the changes of a vault."""
        return self._open(name)[0]

    def glance(self, name: str) -> Glance:
        """Return what shows a vault at a glance."""
        return self._open(name)[1]

    def _open(self, name: str) -> tuple[Reviewer, Glance]:
        """Return what reads a vault, opened once: two engines would not see each other's edits."""
        with self._opening:
            if name not in self._opened:
                from vaultwire.review import Reviewer  # noqa: PLC0415
                from vaultwire.review.glance import Glance  # noqa: PLC0415 - with the first page, not every server

                caller = Caller(PERSON)
                caller.is_person = True
                vault = self._openers[name]().used_by(caller, TOOL)
                self._opened[name] = Reviewer(vault), Glance(vault, self._reads_of(vault))
            return self._opened[name]


class DeskRefusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    """The request is refused; ``code`` is for programs, the message for a person."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details


_STATUS = {
    FILE_NOT_FOUND: 404,
    VAULT_NOT_FOUND: 404,
    NOTE_EXISTS: 409,
    STALE_EDIT: 409,
    UNDO_CONFLICT: 409,
    PERMISSION_DENIED: 403,
    POLICY_DENIED: 403,
    SERVER_BUSY: 503,
    JOURNAL_FAILED: 500,
    WRITE_FAILED: 500,
}
_MAX_DIGITS = 15
_SIDES = ("old", "new")


class Picture(NamedTuple):
    """The name that a picture has, and its bytes."""

    path: str
    data: bytes


class Call(NamedTuple):
    """One call to make: on a worker thread, and alone if it decides something in this vault."""

    run: Callable[[], Any]
    decides_in: str | None = None


class Grants(Protocol):
    """What people allowed to clients that signed in from elsewhere. Each method may wait for the disk."""

    def grants(self) -> dict[str, Any]:
        """Return the grants as JSON for the page."""

    def revoke(self, id_: str) -> str | None:
        """End a grant. Return its name, None if there is none of this id."""

    def new_connector(self, *, writes: bool) -> str | None:
        """Return a new connector address, None if this server has none of that kind."""


class DeskApi:
    """The calls of the page over the vaults."""

    def __init__(self, vaults: DeskVaults) -> None:
        self.vaults = vaults
        self.grants: Grants | None = None
        """None where nobody signs in from elsewhere."""
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
            "grants": lambda _: self._grants().grants(),
        }
        self._post: dict[str, Callable[[Mapping[str, Any]], Call]] = {
            "decide": self._decide,
            "decide_many": self._decide_many,
            "preview": self._preview,
            "conflict": self._conflict,
            "revoke": self._revoke,
            "connector": self._make_connector,
        }

    def method_of(self, route: str) -> str | None:
        """Return the HTTP method of a route, None for no route."""
        return "GET" if route in self._get else "POST" if route in self._post else None

    def call(self, route: str, given: Mapping[str, Any]) -> Call:
        """Return the call for a request: ``given`` is its query, or the object in its body. Raises DeskRefusal, VaultError."""
        return Call(partial(self._get[route], given)) if route in self._get else self._post[route](given)

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
            "elsewhere": dict(self.vaults.elsewhere()),
            "read_only": self.vaults.read_only,
            "has_grants": self.grants is not None,
            "waiting": {name: each["waiting"] for name, each in counts.items()},
            "unreviewed": {name: each["unreviewed"] for name, each in counts.items()},
        }

    def _items(self, query: Mapping[str, str]) -> Any:
        filters: dict[str, Any] = {
            name: query[name]
            for name in ("client", "session", "folder", "kind", "state", "text", "since", "before")
            if query.get(name)
        }
        if "limit" in query:
            filters["limit"] = _number(query, "limit", 0)
        return self._review(query).items(**filters, folds=bool(query.get("folds")))

    def _picture(self, given: Mapping[str, str]) -> Picture:
        path, data = self._review(given).bytes_of(*_file_of(given), _side(given))
        return Picture(path, data or b"")

    def _rendered(self, query: Mapping[str, str]) -> dict[str, Any]:
        from vaultwire.review.rendering import mark_changes, to_tree  # noqa: PLC0415 - as in DeskVaults

        review, (id_, file) = self._review(query), _file_of(query)
        sides = [review.bytes_of(id_, file, side)[1] for side in _SIDES]
        trees = [to_tree((data or b"").decode("utf-8", "replace")) for data in sides]
        if None not in sides:
            trees = list(mark_changes(*trees))
        return {"tree": trees[_SIDES.index(_side(query))]}

    def _base(self, query: Mapping[str, str]) -> dict[str, Any]:
        from vaultwire.review.base_views import Wanted  # noqa: PLC0415 - as _asked

        wanted = Wanted(
            _number(query, "offset", 0), _number(query, "limit", 100), query.get("sort", ""), query.get("filter", "")
        )
        return self._glance(query).bases.rows(_asked(query), wanted)

    def _decide(self, body: Mapping[str, Any]) -> Call:
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

    def _decide_many(self, body: Mapping[str, Any]) -> Call:
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

    def _preview(self, body: Mapping[str, Any]) -> Call:
        name, id_, text = self._vault(body), _text(body, "id"), _text(body, "text")
        file = _optional(body, "file", int) or 0
        return Call(lambda: self.vaults.reviewer(name).preview(id_, file, text))

    def _conflict(self, body: Mapping[str, Any]) -> Call:
        name, path = self._vault(body), _text(body, "path")
        join = _optional(body, "join", bool) or False
        if self.vaults.read_only and join:
            raise DeskRefusal(403, POLICY_DENIED, READ_ONLY)
        choices = _optional(body, "choose", list) or []
        if not all(each in ("mine", "theirs", "both") for each in choices):
            raise _wrong("choose", "a list of mine, theirs and both")
        etag = _optional(body, "etag", str)
        return Call(lambda: self.vaults.reviewer(name).conflict(path, choices, etag, join=join), name if join else None)

    def _grants(self) -> Grants:
        if self.grants is None:
            raise DeskRefusal(
                404, "NO_SIGN_IN", "Nobody signs in to this server from elsewhere: it has no --public-url"
            )
        return self.grants

    def _revoke(self, body: Mapping[str, Any]) -> Call:
        grants, id_ = self._grants(), _text(body, "id")

        def revoke() -> dict[str, Any]:
            name = grants.revoke(id_)
            if name is None:
                raise DeskRefusal(404, "NO_GRANT", "This grant is over already. The list shows those that are left")
            return {"revoked": name}

        return Call(revoke)

    def _make_connector(self, body: Mapping[str, Any]) -> Call:
        grants, writes = self._grants(), _optional(body, "write", bool) or False

        def make() -> dict[str, Any]:
            address = grants.new_connector(writes=writes)
            if address is None:
                raise DeskRefusal(
                    403,
                    POLICY_DENIED,
                    READ_ONLY if writes and self.vaults.read_only else "Start this server with --connector",
                )
            return {"address": address}

        return Call(make)

    def _check_writing(self, action: str, *, dry_run: bool) -> None:
        if self.vaults.read_only and action in WRITING and not dry_run:
            raise DeskRefusal(403, POLICY_DENIED, READ_ONLY)


def refusal_of(error: VaultError) -> DeskRefusal:
    """Return an error of the engine as the page gets it."""
    return DeskRefusal(_STATUS.get(error.code, 400), error.code, error.message, **error.details)


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the object in a body. Raises DeskRefusal."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise DeskRefusal(400, INVALID_ARGUMENTS, "The body must be a JSON object")
    return value


def _file_of(given: Mapping[str, str]) -> tuple[str, int]:
    return given.get("id", ""), _number(given, "file", 0)


def _asked(query: Mapping[str, str]) -> Asked:
    from vaultwire.review.base_views import Asked  # noqa: PLC0415 - loaded with the first base

    return Asked(query.get("path", ""), _number(query, "block", 0), query.get("view", ""), query.get("this", ""))


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
    edited = body.get("edited")
    if edited is None:
        return None
    if not isinstance(edited, dict) or not all(
        key.isdecimal() and isinstance(text, str) for key, text in edited.items()
    ):
        raise _wrong("edited", 'an object of texts by the index of their file, such as {"0": "text"}')
    return dict(edited)


def _wrong(name: str, right: str) -> DeskRefusal:
    return DeskRefusal(400, INVALID_ARGUMENTS, f"{name!r} must be {right}", argument=name)
