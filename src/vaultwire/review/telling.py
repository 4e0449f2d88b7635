"""What an agent is told, with its next result, of what the person decided about its changes and proposals."""

from __future__ import annotations

from vaultwire.review.entries import PERSON, Entry
from vaultwire.review.wording import summary

_NOT_AGAIN = "Do not make it again unless the person asks for it."


def of_undo(entry: Entry, path: str = "", *, is_part: bool = False) -> str:
    """Return what is told of an undo; ``is_part``: of only some of the lines in ``path``; nothing of one's own change."""
    if entry.author.client == PERSON or entry.change is None:
        return ""
    number = entry.change.id
    if not path:
        return f"The person undid change {number}: you {summary(entry.files)}. {_NOT_AGAIN}"
    what = f"a part of what change {number} did in {path}" if is_part else f"what change {number} did to {path}"
    return f"The person undid {what}. {_NOT_AGAIN} Read the file before you edit it."


def of_accept(number: int, change: int, *, is_edited: bool) -> str:
    """Return what is told of an accepted proposal."""
    if is_edited:
        made = f"The person edited proposal {number} and accepted it: it is change {change}."
        return f"{made} Read the files before you edit them."
    return f"The person accepted proposal {number}: it is change {change}."


def of_refusal(number: int, entry: Entry, reason: str) -> str:
    """Return what is told of a refused proposal."""
    why = f" because: {reason.strip()}" if reason.strip() else ""
    words = summary(entry.files, is_wish=True)
    return f"The person refused proposal {number} ({words}){why.rstrip('.')}. {_NOT_AGAIN}"
