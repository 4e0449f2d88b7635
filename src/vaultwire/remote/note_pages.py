"""The page of a note, for a person who has signed in: to read, never to write, with a link that opens it in Obsidian.

Assistants cite notes by these addresses. A note may come from anywhere, so its page runs nothing and fetches nothing: it is
made of the elements that ``review.rendering`` allows, each text is escaped, and the page's policy refuses the rest.

The cookie opens these pages alone, and they change nothing. A browser sends it only when the person opens an address or sends
a form of this server (``SameSite=Lax``); whatever else another site makes a browser ask for is refused.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from vaultwire.remote.pages import STYLE, headers_of_page, page
from vaultwire.remote.store import SESSION_SECONDS, Store
from vaultwire.transports import cookie_in, guard, read_body, send_whole, set_cookie
from vaultwire.transports.guard import Refusal
from vaultwire.vault.errors import SERVER_BUSY, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import App, Receive, Scope, Send

PATH = "/n"
_COOKIE = "vaultwire_notes"
# Where the scope holds who has signed in.
_PERSON = "vaultwire.person"
_MAX_BODY_BYTES = 4096
_MOST_FIELDS = 10
# Rendering takes up to two seconds; other doors need the processor, too.
_MOST_RENDERED = 2

Read = Callable[[str, str, str], dict[str, Any]]
"""Takes a person, a vault's name and a path; returns the note as ``Glance.note`` does. Raises VaultError if it may not."""
SignInPerson = Callable[[Mapping[str, str], Mapping[bytes, bytes]], Awaitable[tuple[str, str, int]]]
"""Takes a form and headers; returns the person, or an empty name, what was wrong, and the status."""

_NOTE_STYLE = """
main { max-width: 46rem; }
header { margin: 0 0 1rem; padding: 0 0 1rem; border-bottom: 1px solid var(--line); }
header h1 { margin: 0 0 .3rem; font-size: 1.6rem; } header p:last-child { margin: 0; font-size: 1rem; }
header p { margin: 0 0 .8rem; color: var(--soft); font-size: .9rem; }
a { color: var(--accent); }
a.button { display: inline-flex; align-items: center; min-height: 2.8rem; padding: .4rem 1.2rem; border-radius: 8px;
  background: var(--accent); color: var(--on-accent); text-decoration: none; }
article, details { overflow-wrap: anywhere; }
article p, article ul, article ol, article blockquote { margin: 0 0 .8rem; } article ul, article ol { padding-left: 1.5rem; }
article h2, article h3, article h4, article h5, article h6 { margin: 1.4rem 0 .5rem; line-height: 1.3; }
article h2 { font-size: 1.35rem; } article h3 { font-size: 1.15rem; }
article pre { margin: 0 0 .8rem; padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
article pre, article code, .tag { background: var(--ground); border-radius: 6px; }
article table { display: block; max-width: 100%; margin: 0 0 1rem; overflow-x: auto; border-collapse: collapse; }
article th, article td { padding: .25rem .6rem; border: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: normal; }
article .properties td { overflow-wrap: anywhere; }
article blockquote { padding: .1rem 0 .1rem 1rem; border-left: 3px solid var(--line); }
.callout { background: var(--ground); border-left-color: var(--accent); border-radius: 0 8px 8px 0; }
.callout-title { font-weight: 600; } .tag { padding: 0 .4rem; } .task { list-style: none; margin-left: -1.2rem; }
.task > p:first-of-type { display: inline; } .missing, .rest { color: var(--soft); text-decoration: underline dotted; }
.footnotes { margin-top: 2rem; border-top: 1px solid var(--line); font-size: .9rem; }
mark { background: var(--warn); color: var(--warn-ink); } hr { border: 0; border-top: 1px solid var(--line); }
details { margin: 1.5rem 0 0; padding: 1rem 0 0; border-top: 1px solid var(--line); }
summary { min-height: 2rem; cursor: pointer; }
details li { margin: 0 0 .5rem; } details span { display: block; color: var(--soft); font-size: .9rem; }
"""
_STYLE = STYLE + _NOTE_STYLE


def address_of(url: str, vault: str, path: str) -> str:
    """Return the address of a note's page at a server whose public URL is ``url``."""
    return f"{url}{PATH}/{quote(vault, safe='')}/{quote(path, errors='replace')}"


class NotePages:
    """The door to the pages of notes."""

    def __init__(
        self,
        store: Store,
        url: str,
        sign_in: SignInPerson,
        read: Read,
        tell: Callable[[str], None],
        around: Callable[[App], App],
    ) -> None:
        """``url`` is the public one of this server, ``tell`` writes the log.

        ``around`` returns what stands before the pages of those who have signed in: of several servers, one has the note.
        """
        self._show_page = around(self._show)
        self._store = store
        self._origin = url.encode()
        self._sign_in = sign_in
        self._read = read
        self._tell = tell
        self._rendering = asyncio.Semaphore(_MOST_RENDERED)

    def door(self) -> guard.Door:
        """Return the door. No page of another site may call it."""
        return guard.Door("note", PATH, self._answer, _MAX_BODY_BYTES, needs_key=False)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        # A frame, a script, a picture or "fetch": a person who opens an address or sends a form is a "document".
        if headers.get(b"sec-fetch-dest", b"document") != b"document":
            raise Refusal(403, "Forbidden", "Open this address by itself, not as a part of another page")
        cookie = cookie_in(headers, _COOKIE)
        if scope["method"] == "POST":
            await self._take_form(scope, headers, cookie, receive, send)
            return
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal(405, "Method not allowed", "Use GET or POST", [(b"allow", b"GET, HEAD, POST")])
        person = await asyncio.to_thread(self._store.person_of_session, cookie) if cookie else None
        if person is None:
            # The same page for every address, whether or not there is a note.
            await send_whole(send, 401, [*_HEAD], _sign_in_page())
            return
        await self._show_page({**scope, _PERSON: person}, receive, send)

    async def _show(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer with the page of a note."""
        status, body = await self._page(scope["raw_path"], scope[_PERSON])
        await send_whole(send, status, [*_HEAD], body)

    async def _page(self, raw_path: bytes, person: str) -> tuple[int, bytes]:
        vault, _, path = raw_path.removeprefix(PATH.encode()).lstrip(b"/").partition(b"/")
        try:
            names = [unquote_to_bytes(part).decode() for part in (vault, path)]
            async with self._rendering:
                return 200, await asyncio.to_thread(lambda: _note_page(names[0], self._read(person, *names), person))
        except (VaultError, UnicodeDecodeError) as error:
            if isinstance(error, VaultError) and error.code == SERVER_BUSY:
                raise Refusal(503, "Service unavailable", error.message, [(b"retry-after", b"5")]) from None
            # Nothing tells a note that is hidden from one that is not there.
            text = "It may have been moved or renamed since its address was given, or this server does not show it."
            return 404, page("There is no note here", f"<p>{text}</p>\n{_sign_out(person)}", _STYLE)

    async def _take_form(
        self, scope: Scope, headers: Mapping[bytes, bytes], cookie: str, receive: Receive, send: Send
    ) -> None:
        if headers.get(b"origin") != self._origin:
            raise Refusal(403, "Forbidden", "This form is taken from the pages of this server only")
        body = await read_body(receive)
        if body is None:
            return
        try:
            fields = dict(parse_qsl(body.decode("ascii"), max_num_fields=_MOST_FIELDS, errors="strict"))
        except ValueError:  # UnicodeError, too
            raise Refusal(400, "Invalid request", "This is not a form in UTF-8") from None
        if fields.get("step") == "sign-out":
            await asyncio.to_thread(self._store.end_session, cookie)
            await self._lead_back(scope, send, "", 0)
            return
        person, problem, status = await self._sign_in(fields, headers)
        if not person:
            await send_whole(send, status, [*_HEAD], _sign_in_page(problem, fields.get("name", "")[:40]))
            return
        self._tell(f"{person} signed in to read notes in a browser")
        session = await asyncio.to_thread(self._store.new_session, person)
        await self._lead_back(scope, send, session, SESSION_SECONDS)

    async def _lead_back(self, scope: Scope, send: Send, cookie: str, seconds: int) -> None:
        """Have the browser ask for the same address again, with another cookie."""
        cookie_header = set_cookie(_COOKIE, cookie, PATH, seconds, secure=self._origin.startswith(b"https:"))
        # "raw_path" begins with PATH and has no line end, so it leads nowhere else.
        await send_whole(send, 303, [*_HEAD, (b"location", scope["raw_path"]), cookie_header])


_HEAD = (*headers_of_page(style=_STYLE), (b"x-robots-tag", b"noindex"))


# ---------------------------------------------------------------------- what the pages say


def _sign_in_page(problem: str = "", name: str = "") -> bytes:
    warning = f'<p class="warning" role="alert">{escape(problem)}</p>' if problem else ""
    return page(
        "Sign in to read this note",
        f"""{warning}
<form method="post">
<label>Your name <input type="text" name="name" value="{escape(name)}" required maxlength="40" autocomplete="username"
 autocapitalize="none"></label>
<label>Your password <input type="password" name="password" required maxlength="200" autocomplete="current-password"></label>
<div class="buttons"><button class="first" name="step" value="sign-in">Sign in</button></div>
</form>
<p class="small">Name and password are those of <code>vaultwire people add</code>. This browser then shows notes for a week, or
until you sign out.</p>""",
        _STYLE,
    )


def _sign_out(person: str) -> str:
    return (
        f'<form method="post"><div class="buttons"><button name="step" value="sign-out">Sign out {escape(person)}</button>'
        "</div></form>"
    )


def _note_page(vault: str, note: Mapping[str, Any], person: str) -> bytes:
    """Return the page of a note (``Glance.note``)."""
    path = note["path"]
    open_in_app = escape(_in_app(quote(vault, safe=""), quote(path, safe="")))
    where = f"{vault}/{path.rpartition('/')[0]}".rstrip("/")
    problems = "".join(f'<p class="warning">{escape(problem)}</p>' for problem in note["problems"])
    links = "".join(
        f'<li><a href="{escape(_address(link["href"]))}">{escape(link["path"].removesuffix(".md"))}</a>'
        f"<span>{escape(link['text'])}</span></li>"
        for link in note["backlinks"]
    )
    count = note["backlink_count"]
    linked = f"<details><summary>Links to this note: {count}</summary><ul>{links}</ul></details>" if count else ""
    body = f"""<header>
<h1>{escape(note["name"])}</h1>
<p>{escape(where)} · changed <time datetime="{note["changed"]}">{note["changed"][:16].replace("T", " ")}</time></p>
<p><a class="button" href="{open_in_app}">Open in Obsidian</a></p>
</header>
{problems}
<article>{to_html(note["tree"])}</article>
{linked}
<div class="small">{_sign_out(person)}</div>"""
    return page(note["name"], body, _STYLE, has_heading=True)


_NO_END = ("br", "hr")
_IN_PAGE = re.compile(r"#/([^/?]+)/(note|base)/([^?]+)")


def to_html(tree: list[Any]) -> str:
    """Return a tree of ``review.rendering`` as HTML: no element, attribute or address that is not allowed there."""
    from vaultwire.review.rendering import only_allowed  # noqa: PLC0415 - most runs show no page

    parts: list[str] = []
    _write(only_allowed(tree), parts)
    return "".join(parts)


def _write(nodes: list[Any], parts: list[str]) -> None:
    for node in nodes:
        if isinstance(node, str):
            parts.append(escape(node))
            continue
        name, attributes, children = node
        if name[0] == "h" and name[1:].isdigit():  # the page's own heading comes first
            name = f"h{min(6, int(name[1:]) + 1)}"
        parts.append(f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>")
        if name not in _NO_END:
            _write(children, parts)
            parts.append(f"</{name}>")


def _attribute(key: str, value: object) -> str:
    if key == "href":
        # The word for search engines and the like; "noreferrer" holds whatever the policy of a browser is.
        return f' href="{escape(_address(str(value)))}" rel="noopener noreferrer nofollow"'
    return f' {key}="{escape(str(value))}"' if key in ("class", "title", "start", "data-callout") else ""


def _address(href: str) -> str:
    """Return an address of the desk's page as one of these pages; a base opens in the app. Others stay."""
    found = _IN_PAGE.match(href)
    if found is None:
        return href
    return f"{PATH}/{found[1]}/{found[3]}" if found[2] == "note" else _in_app(found[1], found[3])


def _in_app(vault: str, path: str) -> str:
    """Return the address that opens a file in Obsidian; both parts are quoted already."""
    return f"obsidian://open?vault={vault}&file={path}"
