"""The files of the page. They are read once and listed by their paths, so no path of a request is ever opened."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

_FOLDER = os.path.join(os.path.dirname(__file__), "page")
_INDEX = "index.html"
# The types of the page's files; any other file of the folder, such as a licence, is not served.
_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
    ".woff2": b"font/woff2",
}


class Asset(NamedTuple):
    """One file: its bytes, its media type, and a tag that differs for other bytes."""

    body: bytes
    kind: bytes
    etag: bytes


class Assets:
    """The files of the page by their paths, with ``/`` between the parts."""

    def __init__(self, folder: str = _FOLDER) -> None:
        """Read the files. Raises OSError."""
        self._files: dict[str, Asset] = {}
        for where, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(where, name)
                kind = _TYPES.get(os.path.splitext(name)[1])
                if kind is not None:
                    self._files[os.path.relpath(path, folder).replace(os.sep, "/")] = _read(path, kind)

    @property
    def index(self) -> Asset:
        """The page itself."""
        return self._files[_INDEX]

    def get(self, path: str) -> Asset | None:
        """Return a file of the page, None for what is not there. The page itself is not one of its files."""
        return None if path == _INDEX else self._files.get(path)


def _read(path: str, kind: bytes) -> Asset:
    with open(path, "rb") as file:
        body = file.read()
    return Asset(body, kind, b'"%s"' % hashlib.sha256(body).hexdigest()[:32].encode())
