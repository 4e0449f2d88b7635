"""What of a call's arguments may stand in a log: names and places as they are, content and long texts as a fingerprint.

Pure: arguments in, what may be shown of them out. Where logs go is ``audit``'s matter.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import Any

# Arguments that hold what stands in notes, or is to. Even a short one is nobody's business but the note's.
CONTENT = frozenset({"body", "content", "data", "diff", "new_text", "old_text", "patch", "text", "value", "values"})

# The contract's pattern, but for max_tokens, which is a number of ours. A secret leaves no fingerprint: short ones could be
# found by trying.
_SECRET_NAME = re.compile(
    r"password|passwd|secret|api[_-]?key|(?<!max_)token|auth|credential|private[_-]?key", re.IGNORECASE
)

# Longer than any path most people have, and than most queries.
_LONGEST = 200
_LARGEST = 1e18  # and no infinity, which 1e999 is read as and JSON cannot write
# Of a list or an object so many members are shown, and so many levels: a log line stays a line.
_MOST_MEMBERS = 50
_DEEPEST = 6
_FINGERPRINT = 16  # hexadecimal digits; enough to tell whether a text at hand is the one

# What is a secret by its look, wherever it stands: keys of ours and of services known for theirs, tokens, private keys, and
# what the contract's own documentation names, numbers of cards and of US social security.
_SECRETS = re.compile(
    r"\bvw_[\w-]{20,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bsk-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY.*|\bBearer\s+[\w.~+/=-]{8,}|://[^/\s:@]+:[^/\s@]+(?=@)"
    r"|\b\d{3}-\d{2}-\d{4}\b",
    re.DOTALL,
)
_CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")
HIDDEN = "[redacted]"


def redact(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what may be shown of a call's arguments; short and JSON whatever they are."""
    shown = _redacted(arguments, 0)
    assert isinstance(shown, dict)
    return shown


def redact_text(text: str) -> str:
    """Return a text without what looks like a secret."""
    if _SECRETS.search(text) is not None:
        text = _SECRETS.sub(HIDDEN, text)
    if _CARD.search(text) is not None:
        text = _CARD.sub(lambda found: HIDDEN if _is_card(found[0]) else found[0], text)
    return text


def _redacted(value: Any, depth: int, name: str = "", *, hidden: bool = False) -> Any:
    """Return what is shown of a value; ``hidden``: it is part of what is content."""
    hidden = hidden or name in CONTENT
    if name and _names_secret(name) and value is not None and not isinstance(value, bool):
        return f"{HIDDEN}, {len(value)} characters" if isinstance(value, str) else HIDDEN
    if isinstance(value, str):
        return _fingerprint(value) if hidden or len(value) > _LONGEST else redact_text(value)
    if isinstance(value, int | float) or value is None:
        # As text a number may have any length, and Python refuses to write one of more than some thousand digits.
        return value if value is None or abs(value) < _LARGEST else HIDDEN
    if depth >= _DEEPEST:
        return {"members": len(value)}
    if isinstance(value, list):
        items = [_redacted(item, depth + 1, hidden=hidden) for item in value[:_MOST_MEMBERS]]
        return [*items, {"more": len(value) - _MOST_MEMBERS}] if len(value) > _MOST_MEMBERS else items
    shown: dict[str, Any] = {}
    for index, (key, item) in enumerate(value.items()):
        if index >= _MOST_MEMBERS:
            shown["…"] = {"more": len(value) - _MOST_MEMBERS}
            break
        shown[key if key.isidentifier() and len(key) < _FINGERPRINT else redact_text(key[:_LONGEST])] = _redacted(
            item, depth + 1, key, hidden=hidden
        )
    return shown


@functools.lru_cache(maxsize=256)  # a third of the time for a call's arguments
def _names_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _fingerprint(text: str) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"sha256": digest[:_FINGERPRINT], "length": len(text)}


def _is_card(text: str) -> bool:
    """Tell whether a row of digits has a card's check digit (ISO/IEC 7812, Luhn)."""
    digits = [int(character) for character in reversed(text) if character.isdecimal()]
    doubled = [digit if index % 2 == 0 else sum(divmod(digit * 2, 10)) for index, digit in enumerate(digits)]
    return sum(doubled) % 10 == 0
