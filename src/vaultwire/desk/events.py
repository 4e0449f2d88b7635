"""News for open pages: looks, while a page is open, whether any process has changed what the desk shows.

A page is told that something changed and how much waits, never what: it asks. So nothing is stored for a page that reads
slowly but the names of the vaults that it has not been told of.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from vaultwire.vault.errors import VaultError

# A person would notice a second. A look is a few questions to the disk for each vault.
_LOOK_SECONDS = 0.5
# Proxies and browsers close a connection that is silent for a minute.
_COMMENT_SECONDS = 15.0
# Open pages: tabs of one person.
_MAX_PAGES = 30
# A page that takes nothing for so long is closed; it connects again.
_SLOW_SECONDS = 20.0


class TooManyPages(Exception):  # noqa: N818 - an answer, not a failure
    """There are as many open pages as there may be."""


class Events:
    """The open pages of one desk, and the task that looks for news for them. On the event loop."""

    def __init__(
        self, look: Callable[[], Awaitable[dict[str, Hashable]]], counts: Callable[[str], Awaitable[dict[str, Any]]]
    ) -> None:
        """``look`` returns a value for each vault that differs once something changed; ``counts`` what waits in a vault."""
        self._look = look
        self._counts = counts
        self._pages: set[_Page] = set()
        self._watch: asyncio.Task[None] | None = None
        self._has_looked = asyncio.Event()
        self._is_closed = False

    @property
    def pages(self) -> int:
        """The number of open pages."""
        return len(self._pages)

    async def serve(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send news to one page until it is cancelled, the page reads too slowly, or the server ends.

        Raises TooManyPages.
        """
        if len(self._pages) >= _MAX_PAGES:
            raise TooManyPages
        page = _Page()
        self._pages.add(page)
        if self._watch is None or self._watch.done():
            self._has_looked.clear()
            self._watch = asyncio.get_running_loop().create_task(self._run())
        try:
            await self._has_looked.wait()  # from here on every change is told: the page asks once it is open
            await _send(send, b": open\n\n")
            while not self._is_closed:
                await _send(send, await self._next(page))
        except TimeoutError:
            return
        finally:
            self._pages.discard(page)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
        self._has_looked.set()
        for page in self._pages:
            page.wake.set()

    async def _next(self, page: _Page) -> bytes:
        """Return what a page is told next: what changed, or a comment if nothing has for some time."""
        try:
            async with asyncio.timeout(_COMMENT_SECONDS):
                await page.wake.wait()
        except TimeoutError:
            return b": nothing new\n\n"
        page.wake.clear()
        changed, page.changed = page.changed, {}
        return b"".join(_event(name, counts) for name, counts in changed.items())

    async def _run(self) -> None:
        """Look for changes as long as a page is open."""
        seen: dict[str, Hashable] = {}
        with contextlib.suppress(OSError, VaultError):
            seen = await self._look()
        self._has_looked.set()
        while self._pages:
            await asyncio.sleep(_LOOK_SECONDS)
            with contextlib.suppress(OSError, VaultError):  # such as a disk that is away: the next look tries again
                await self._tell(seen, await self._look())

    async def _tell(self, seen: dict[str, Hashable], now: dict[str, Hashable]) -> None:
        """Note for each page which vaults have changed, and in ``seen`` what the pages know."""
        for name, stamp in now.items():
            if name not in seen or seen[name] != stamp:
                counts = await self._counts(name)
                for page in self._pages:
                    page.changed[name] = counts
                    page.wake.set()
                seen[name] = stamp


class _Page:
    """One open page: what it is to be told."""

    def __init__(self) -> None:
        self.changed: dict[str, dict[str, Any]] = {}
        self.wake = asyncio.Event()


async def _send(send: Callable[[bytes], Awaitable[None]], data: bytes) -> None:
    """Send to a page. Raises TimeoutError if it does not read."""
    if data:
        async with asyncio.timeout(_SLOW_SECONDS):
            await send(data)


def _event(name: str, counts: dict[str, Any]) -> bytes:
    data = json.dumps({"vault": name, "waiting": counts["waiting"], "unreviewed": counts["unreviewed"]})
    return f"event: changed\ndata: {data}\n\n".encode()
