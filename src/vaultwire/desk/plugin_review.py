"""The side pane of the companion plugin: the items it lists, the one it shows, and what the person decides there.

Messages to and from the plugin as dicts; ``plugin_endpoint`` sends and receives them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

from vaultwire.desk.vaults import READ_ONLY, WRITING
from vaultwire.review.reviewer import Reviewer
from vaultwire.vault.errors import POLICY_DENIED, VaultError

_MOST_ITEMS = 50
_MAX_REASON = 2_000


class PluginReview:
    """The list and the decisions of one vault. Safe to use from several threads."""

    def __init__(
        self,
        reviewer: Callable[[], Reviewer],
        on_decided: Callable[[], None] = lambda: None,
        *,
        read_only: bool = False,
    ) -> None:
        """``reviewer`` opens what lists and decides when it is first needed. ``on_decided`` is called after a decision.

        ``read_only``: notes may not be changed in this run.
        """
        self._reviewer = reviewer
        self._on_decided = on_decided
        self._read_only = read_only
        self._lock = threading.Lock()
        self._stamp: Hashable = None
        self._basis: dict[str, str] = {}  # of the texts that the plugin was given to edit
        self._items: dict[str, Any] | None = None

    def items(self) -> dict[str, Any]:
        """Return the message with the latest items; the same object until something has changed. Raises OSError."""
        with self._lock:
            stamp = self._reviewer().stamp()
            if self._items is None or stamp != self._stamp:
                page = self._reviewer().items(limit=_MOST_ITEMS)
                self._items = {"type": "items", "items": page["items"], "waiting": page["waiting"]}
                self._stamp = stamp
            return self._items

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message, None for one that is none of these or is malformed."""
        kind, id_ = message.get("type"), message.get("id")
        if not isinstance(id_, str) or kind not in ("show", "text", "preview", "hunks", "decide"):
            return None
        try:
            if kind == "decide":
                return self._decide(id_, message)
            return self._show(str(kind), id_, message)
        except VaultError as error:
            return {"type": "decided", "id": id_, "message": error.message, "error": True}
        except OSError as error:
            return {"type": "decided", "id": id_, "message": error.strerror or str(error), "error": True}
        except (TypeError, ValueError):  # not a message of a plugin of this version
            return None

    def _show(self, kind: str, id_: str, message: dict[str, Any]) -> dict[str, Any]:
        reviewer = self._reviewer()
        if kind == "show":
            return {"type": "item", "item": reviewer.item(id_)}
        file = _number(message.get("file"))
        if kind == "text":
            answer = reviewer.text(id_, file)
            self._basis[id_] = answer["basis"]
            return {"type": "text", "id": id_, "file": file, "text": answer["text"]}
        if kind == "hunks":
            return {"type": "hunks", "id": id_, "file": reviewer.hunks(id_, file, _number(message.get("from")))}
        return {"type": "preview", "id": id_, "file": reviewer.preview(id_, file, _text(message.get("text")))["file"]}

    def _decide(self, id_: str, message: dict[str, Any]) -> dict[str, Any]:
        edited = message.get("edited") or {}
        if not isinstance(edited, dict):
            raise TypeError
        file, hunk, action = message.get("file"), message.get("hunk"), _text(message.get("action"))
        if self._read_only and action in WRITING:
            raise VaultError(POLICY_DENIED, READ_ONLY)
        result = self._reviewer().decide(
            id_,
            action,
            file=None if file is None else _number(file),
            hunk=None if hunk is None else _number(hunk),
            edited={str(index): _text(text) for index, text in edited.items()},
            reason=_text(message.get("reason") or "")[:_MAX_REASON],
            basis=self._basis.pop(id_, "") if edited else "",
        )
        self._on_decided()
        return {"type": "decided", "id": id_, "message": result["message"], "error": False, "undo": result.get("undo")}


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:  # bool is an int, too
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
