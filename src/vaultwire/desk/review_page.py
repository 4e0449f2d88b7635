"""The page on which the person looks at changes, accepts, edits or rejects them: the page, and what it is told."""

from __future__ import annotations

import json
import secrets
from importlib import resources
from typing import Any, NamedTuple

from vaultwire.editor.proposals import Decision, Proposal, Proposals
from vaultwire.markdown.diffs import unified

_NOT_READ = (
    "This file exists, but what it holds now is not shown: it is outside the vault, hidden, private, or no text. "
    "All lines of its new text follow."
)
_KINDS = {"+": "added", "-": "removed", " ": "same", "@": "gap", "\\": "gap"}


class Page(NamedTuple):
    """A page and the policy that keeps it from doing anything but what it is for."""

    html: str
    content_security_policy: str


def make_page() -> Page:
    """Return the page. Its scripts and styles carry a number used once, so that nothing put into it by others would run."""
    nonce = secrets.token_urlsafe(16)
    html = resources.files("vaultwire.desk").joinpath("review_page.html").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(html.replace("{nonce}", nonce), policy)


class Changes:
    """The changes that wait, as pages and the plugin are told of them. Each is compared once, however often it is told."""

    def __init__(self, proposals: Proposals) -> None:
        self._proposals = proposals
        self._shown: dict[str, dict[str, Any]] = {}

    def waiting(self) -> list[dict[str, Any]]:
        """Return them, the oldest first. From one thread at a time."""
        shown = self._shown
        self._shown = {each.id: shown.get(each.id) or to_change(each) for each in self._proposals.waiting}
        return list(self._shown.values())


def to_message(waiting: list[dict[str, Any]], known: set[str]) -> str:
    """Return what a page is told: the changes that wait; of those it knows the id alone."""
    return json.dumps([{"id": change["id"]} if change["id"] in known else change for change in waiting])


def to_change(proposal: Proposal) -> dict[str, Any]:
    """Return a change as pages and the plugin are told of it: its lines with what has become of each."""
    # A BOM is no part of the first line: of what is there it was never read, and clients give it back as they like.
    new = proposal.new.removeprefix("\ufeff")
    lines = unified(proposal.old or "", new, "").split("\n")[2:-1]  # without the two lines that name the file
    marked = [[_KINDS[line[0]], line if line[0] in "@\\" else line[1:]] for line in lines]
    if proposal.old is None:  # or a changed line would look as if the whole file were new
        marked.insert(0, ["gap", _NOT_READ])
    return {
        "id": proposal.id,
        "path": proposal.path,
        "label": proposal.label,
        "new": proposal.new,
        "lines": marked,
    }


def parse_decision(text: str) -> tuple[str, Decision] | None:
    """Return which change was decided and how; None for what is no decision."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("id"), str):
        return None
    decided = said.get("text")
    return (said["id"], Decision(decided)) if decided is None or isinstance(decided, str) else None
