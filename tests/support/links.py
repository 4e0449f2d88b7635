"""Links of a text rewritten, as the plans of a change do it for files."""

from __future__ import annotations

from collections.abc import Callable

from vaultwire.markdown.link_spans import LinkSpan, NewLink, rewrite_links
from vaultwire.markdown.offsets import apply_replacements


def replace_links(text: str, decide: Callable[[LinkSpan], NewLink | None]) -> str:
    """Return the text with the links rewritten for which ``decide`` returns a new one."""
    return apply_replacements(text, rewrite_links(text, decide).edits)
