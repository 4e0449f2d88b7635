"""Which bytes are a picture that a browser may show, by the bytes themselves. Not what a picture shows."""

from __future__ import annotations

_HEADS = (
    (b"\x89PNG\r\n\x1a\n", b"image/png"),
    (b"\xff\xd8\xff", b"image/jpeg"),
    (b"GIF87a", b"image/gif"),
    (b"GIF89a", b"image/gif"),
    (b"BM", b"image/bmp"),
)
_AVIF = (b"avif", b"avis")
# Of an SVG before its first element: a declaration, comments, a document type.
_SVG_HEAD_BYTES = 4096


def picture_type(data: bytes, path: str) -> bytes | None:
    """Return the media type of a picture, None for anything else. An SVG also needs its name to say so: it is text."""
    for head, kind in _HEADS:
        if data.startswith(head):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return b"image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF:
        return b"image/avif"
    if path.lower().endswith(".svg") and b"<svg" in data[:_SVG_HEAD_BYTES]:
        return b"image/svg+xml"
    return None
