"""The page on which the person reviews changes: its HTML, and its messages. It opens no connection."""

from __future__ import annotations

import json
import secrets
from importlib import resources
from typing import Any

from vaultwire.editor.proposals import Decision, Proposal
from vaultwire.markdown.diffs import unified

_NOT_READ = (
    "This file exists, but its content is not shown: it is outside the vault, hidden, private, or not a text. "
    "All lines of its new text follow."
)
_KINDS = {"+": "added", "-": "removed", " ": "same", "@": "gap", "\\": "gap"}


def make_page() -> tuple[str, str]:
    """Return the page and its Content-Security-Policy.

    Its scripts and styles have a nonce, so a script injected by others would not run.
    """
    nonce = secrets.token_urlsafe(16)
    html = resources.files("vaultwire.desk").joinpath("review_page.html").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return html.replace("{nonce}", nonce), policy


def to_message(waiting: list[dict[str, Any]], known: set[str]) -> str:
    """Return the message with the changes that wait; of a change that the page knows, only the id."""
    return json.dumps([{"id": change["id"]} if change["id"] in known else change for change in waiting])


def to_change(proposal: Proposal) -> dict[str, Any]:
    """Return a change for pages and the plugin: its lines, each with its kind."""
    # A BOM is not part of the first line: the old text is read without it, and clients may send it or not.
    new = proposal.new.removeprefix("\ufeff")
    lines = unified(proposal.old or "", new, "").split("\n")[2:-1]  # without the diff's two lines that name the file
    marked = [[_KINDS[line[0]], line if line[0] in "@\\" else line[1:]] for line in lines]
    if proposal.old is None:  # else the whole file would look new
        marked.insert(0, ["gap", _NOT_READ])
    return {
        "id": proposal.id,
        "path": proposal.path,
        "label": proposal.label,
        "new": proposal.new,
        "lines": marked,
    }


def parse_decision(text: str) -> tuple[str, Decision] | None:
    """Return the id of a change and the decision; None for another message."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("id"), str):
        return None
    decided = said.get("text")
    return (said["id"], Decision(decided)) if decided is None or isinstance(decided, str) else None
