"""The pages of sign-in: HTML without a script, and headers that let it do nothing but send its own form.

What comes from a client is shown as text, and its host is always shown beside its name, which may be anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import urlsplit

from vaultwire.remote.clients import APP_SCHEMES, HERE, Client, host_of

HOLD_DAYS = {1: "one day", 30: "30 days", 90: "90 days", 365: "a year"}
"""How long a grant may last, in days, as the person chooses."""
USUAL_DAYS = 90

STYLE = """
:root { color-scheme: light dark; --ground: #f6f5f2; --paper: #fffefb; --ink: #23211d; --soft: #625e55; --line: #b9b3a5;
  --accent: #5546a8; --on-accent: #fff; --warn: #fff3cf; --warn-ink: #6b4a00; }
@media (prefers-color-scheme: dark) { :root { --ground: #191816; --paper: #211f1d; --ink: #e8e4dc; --soft: #aba598;
  --line: #5b564e; --accent: #b3a6f5; --on-accent: #1c1636; --warn: #3a3018; --warn-ink: #f0d58c; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 30rem; margin: 0 auto; padding: 1.2rem; background: var(--paper); border-radius: 12px; }
h1 { margin: 0 0 .8rem; font-size: 1.3rem; line-height: 1.3; }
h1, p, li, dd, code { overflow-wrap: anywhere; }
p, dl, fieldset { margin: 0 0 1rem; }
dt { color: var(--soft); } dd { margin: 0 0 .6rem; } ul { margin: 0; padding-left: 1.2rem; }
label { display: block; margin: 0 0 .8rem; } label.choice { margin: .4rem 0; }
fieldset { padding: .4rem .8rem; border: 1px solid var(--line); border-radius: 8px; }
ul.folders { max-height: 16rem; overflow-y: auto; padding: 0; list-style: none; }
fieldset p { margin: 0 0 .4rem; }
input[type=text], input[type=password], select { display: block; width: 100%; min-height: 2.8rem; padding: .4rem .7rem;
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 8px; }
button { min-height: 2.8rem; padding: .4rem 1.2rem; font: inherit; color: inherit; background: none;
  border: 1px solid var(--line); border-radius: 8px; cursor: pointer; }
button.first { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.buttons { display: flex; flex-wrap: wrap; gap: .7rem; }
.warning { padding: .6rem .8rem; background: var(--warn); color: var(--warn-ink); border-radius: 8px; }
.small { color: var(--soft); font-size: .9rem; margin: 1rem 0 0; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
"""
"""Of all pages of this room."""
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


class Asked(NamedTuple):
    """What a client asks a person for. ``place`` is the name of this server, ``notes`` say which notes it has."""

    client: Client
    redirect_uri: str
    is_known: bool
    place: str
    notes: tuple[str, ...]
    may_write: bool

    @property
    def who(self) -> str:
        """The client, in words."""
        host = host_of(self.redirect_uri)
        return "a program on your computer" if host == HERE else host


def headers_of_page(redirect_uri: str = "", *, leads_on: bool = False, style: str = STYLE) -> list[tuple[bytes, bytes]]:
    """Return the headers of a page; its form may lead to ``redirect_uri`` or, with ``leads_on``, also on from there."""
    # Browsers hold each redirect after a form to "form-action", also those of the client's own server, which may lead to an app
    # or to a port of the person's computer. So the page without a password allows these; the one with a password does not.
    parts = urlsplit(redirect_uri)
    if leads_on:
        target = " ".join(["https:", "http:", *(f"{scheme}:" for scheme in APP_SCHEMES)])
    elif parts.scheme not in ("http", "https") or "[" in parts.netloc:  # the rule has no form for an IPv6 address
        target = f"{parts.scheme}:"
    else:
        target = f"{parts.scheme}://{parts.netloc}"
    style_hash = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; form-action 'self'{f' {target}' if redirect_uri else ''}; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    return [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", policy.encode("ascii")),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        # Not "no-referrer": with that, browsers send "Origin: null" with our own form.
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]


def message_page(title: str, *paragraphs: str) -> bytes:
    """Return a page that only says something."""
    return page(title, "\n".join(f"<p>{escape(text)}</p>" for text in paragraphs))


def sign_in_page(asked: Asked, problem: str = "", name: str = "") -> bytes:
    """Return the page on which a person gives name and password; ``problem`` is what was wrong the last time."""
    return page(
        f"Connect {asked.who} to your notes?",
        f"""{_about(asked)}
{f'<p class="warning" role="alert">{escape(problem)}</p>' if problem else ""}
<form method="post">
<label>Your name <input type="text" name="name" value="{escape(name)}" required maxlength="40" autocomplete="username"
 autocapitalize="none"></label>
<label>Your password <input type="password" name="password" required maxlength="200" autocomplete="current-password"></label>
<div class="buttons"><button class="first" name="step" value="sign-in">Sign in</button>
<button name="step" value="refuse" formnovalidate>Refuse</button></div>
</form>
<p class="small">You did not begin this yourself? Then refuse, or close this page. Signing in allows nothing yet:
the next page asks you. Name and password are those of <code>vaultwire people add</code> at {escape(asked.place)}.</p>""",
    )


def consent_page(asked: Asked, person: str, ticket: str, folders: Mapping[str, Sequence[str] | None]) -> bytes:
    """Return the page on which a person allows a client something; ``ticket`` shows that the person signed in.

    ``folders`` are those of each vault, by its name; None where they are not known yet.
    """
    reading = '<label class="choice"><input type="radio" name="access" value="{}"{}> {}</label>'
    choices = [reading.format("read", " checked", "Read and search notes")]
    if asked.may_write:
        choices.append(reading.format("write", "", "Read, search and change notes"))
    days = "".join(
        f'<option value="{number}"{" selected" if number == USUAL_DAYS else ""}>{text}</option>'
        for number, text in HOLD_DAYS.items()
    )
    notes = "".join(f"<li>{escape(line)}</li>" for line in asked.notes)
    return page(
        f"{person}, what may {asked.who} do?",
        f"""{_about(asked)}
<dl><dt>With which notes</dt><dd><ul>{notes}</ul></dd>
<dt>Where the answer goes</dt><dd><code>{escape(asked.redirect_uri)}</code></dd></dl>
<form method="post">
<input type="hidden" name="ticket" value="{escape(ticket)}">
<fieldset><legend>It may</legend>{"".join(choices)}</fieldset>
{_folders_to_tick(folders)}
<label>For how long <select name="days">{days}</select></label>
<div class="buttons"><button class="first" name="step" value="allow">Allow</button>
<button name="step" value="refuse">Refuse</button></div>
</form>
<p class="small">What it reads goes to {escape(asked.who)} and the company behind it. Its changes are on record under
“{escape(person)} through {escape(host_of(asked.redirect_uri))}” and can be undone. To end it at any time:
<code>vaultwire grants revoke</code>.</p>""",
    )


def _folders_to_tick(folders: Mapping[str, Sequence[str] | None]) -> str:
    """Return the boxes for folders. There is no choice beside them that could contradict a tick."""
    if any(paths is None for paths in folders.values()):
        return (
            '<p class="warning">Single folders cannot be chosen now: the notes are still being read. Wait a minute and '
            "connect again, or go on and allow all notes.</p>"
        )
    boxes = []
    for number, (vault, paths) in enumerate(folders.items()):
        entries = [(path, path) for path in paths or ()]
        if len(folders) > 1:
            boxes.append(f"<li>{escape(vault)}</li>")
            entries.insert(0, ("", f"all of {vault}"))
        boxes += [
            f'<li><label class="choice"><input type="checkbox" name="folder" value="{number}/{escape(path)}"> '
            f"{escape(text)}</label></li>"
            for path, text in entries
        ]
    if not boxes:
        return ""
    return (
        "<fieldset><legend>Only in these folders</legend><p>Tick none, and it sees all notes. Tick some, and it sees "
        f'nothing outside them.</p><ul class="folders">{"".join(boxes)}</ul></fieldset>'
    )


def _about(asked: Asked) -> str:
    """Return who asks, in words, with a warning where this server cannot know who that is."""
    named = f" It calls itself <q>{escape(asked.client.name)}</q>." if asked.client.name else ""
    about = f"<p><strong>{escape(asked.who)}</strong> asks to use the notes at {escape(asked.place)}.{named}</p>"
    if host_of(asked.redirect_uri) == HERE:
        warning = (
            "Any program on your computer can ask like this. Go on only if you have just begun to connect one there."
        )
    elif asked.is_known:
        return about
    else:
        warning = (
            f"{asked.who} is not among the services that vaultwire knows. Read the name letter by letter, and go on only if "
            "you have just begun to connect it there."
        )
    return f'{about}\n<p class="warning">{escape(warning)}</p>'


def page(title: str, body: str, style: str = STYLE, *, has_heading: bool = False) -> bytes:
    """Return a page; ``title`` is text, ``body`` markup, which may have its heading in itself."""
    heading = "" if has_heading else f"<h1>{escape(title)}</h1>\n"
    return _PAGE.format(title=escape(title), style=style, body=heading + body).encode("utf-8", "replace")
