"""Redacts a call's arguments for a log: short texts stay, content and long texts become a hash, secrets are removed. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Any

# Arguments with the content of notes, by all the names that callers give them. Even a short one does not belong in a log.
CONTENT = frozenset(
    {
        *("base64", "body", "content", "data", "diff", "label", "markdown", "patch", "text", "value", "values", "yaml"),
        *(
            "find",
            "new_text",
            "new_string",
            "new_str",
            "old_text",
            "old_string",
            "old_str",
            "replace_with",
            "replacement",
        ),
    }
)
_CONTENT = frozenset(name.replace("_", "") for name in CONTENT)  # newText, new-text
# An object of this name has properties' values by their names.
_VALUES_BY_NAME = "properties"
# A text that begins so may be a list of edits, with content in it, that could not be read.
_JSON = re.compile(r"\s*(\{|\[\s*\{)")

# The contract's pattern, without max_tokens, which is a number. A secret leaves no hash: a short one could be found by
# trying.
_SECRET_NAME = re.compile(
    r"password|passwd|secret|api[_-]?key|(?<!max_)token|auth|credential|private[_-]?key", re.IGNORECASE
)

# Longer than most paths and queries.
_MAX_TEXT = 200
_MAX_NUMBER = 1e18  # and no infinity: 1e999 is read as one, and JSON cannot write it
# Of a list or object only so many members and levels are shown.
_MAX_MEMBERS = 50
_MAX_DEPTH = 6
_HASH_DIGITS = 16  # hexadecimal; enough to check whether a given text is the one

# Secrets by their look: keys of vaultwire and of well-known services, tokens, private keys, and, from the contract's own
# documentation, card numbers and US social security numbers.
_SECRETS = re.compile(
    r"\bvw_[\w-]{20,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bsk-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY.*|\bBearer\s+[\w.~+/=-]{8,}|://[^/\s:@]+:[^/\s@]+(?=@)"
    r"|\b\d{3}-\d{2}-\d{4}\b",
    re.DOTALL,
)
_CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")
HIDDEN = "[redacted]"


def redact(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments as a log may show them: short, and always JSON."""
    shown = _redacted(arguments, 0)
    assert isinstance(shown, dict)
    return shown


def redact_text(text: str) -> str:
    """Return a text with everything that looks like a secret replaced."""
    return _CARD.sub(lambda found: HIDDEN if _is_card(found[0]) else found[0], _SECRETS.sub(HIDDEN, text))


def _redacted(value: Any, depth: int, name: str = "", *, hidden: bool = False) -> Any:
    """Return a value as a log may show it; ``hidden``: it is part of some content."""
    hidden = hidden or name.replace("_", "").replace("-", "").casefold() in _CONTENT
    hidden = hidden or (name == _VALUES_BY_NAME and isinstance(value, dict))
    if _SECRET_NAME.search(name) and value is not None and not isinstance(value, bool):
        return f"{HIDDEN}, {len(value)} characters" if isinstance(value, str) else HIDDEN
    if isinstance(value, str):
        hidden = hidden or len(value) > _MAX_TEXT or _JSON.match(value) is not None
        return _fingerprint(value) if hidden else redact_text(value)
    if isinstance(value, int | float) or value is None:
        # A number may have any length as text, and Python refuses to write more than some thousand digits.
        return value if value is None or abs(value) < _MAX_NUMBER else HIDDEN
    if depth >= _MAX_DEPTH:
        return {"members": len(value)}
    if isinstance(value, list):
        items = [_redacted(item, depth + 1, hidden=hidden) for item in value[:_MAX_MEMBERS]]
        return [*items, {"more": len(value) - _MAX_MEMBERS}] if len(value) > _MAX_MEMBERS else items
    shown: dict[str, Any] = {}
    for index, (key, item) in enumerate(value.items()):
        if index >= _MAX_MEMBERS:
            shown["…"] = {"more": len(value) - _MAX_MEMBERS}
            break
        shown[key if key.isidentifier() and len(key) < _HASH_DIGITS else redact_text(key[:_MAX_TEXT])] = _redacted(
            item, depth + 1, key, hidden=hidden
        )
    return shown


def _fingerprint(text: str) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"sha256": digest[:_HASH_DIGITS], "length": len(text)}


def _is_card(text: str) -> bool:
    """Tell whether digits end with a card's check digit (ISO/IEC 7812, Luhn)."""
    digits = [int(character) for character in reversed(text) if character.isdecimal()]
    doubled = [digit if index % 2 == 0 else sum(divmod(digit * 2, 10)) for index, digit in enumerate(digits)]
    return sum(doubled) % 10 == 0
