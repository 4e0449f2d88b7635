"""The media type of a file by its extension, and the text of a file that is text. Pure."""

from __future__ import annotations

NOTE_TYPE = "text/markdown"
# The files that Obsidian opens itself (Obsidian help, "Accepted file formats"), and common text files. We have a table of our
# own, because the standard library's depends on files in /etc or the registry of the machine.
_TYPES = {
    "md": NOTE_TYPE,
    "canvas": "application/json",
    "base": "application/yaml",
    "txt": "text/plain",
    "csv": "text/csv",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "3gp": "video/3gpp",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp4": "video/mp4",
    "ogv": "video/ogg",
    "webm": "video/webm",
    "pdf": "application/pdf",
}
_NEVER_TEXT = ("image/", "audio/", "video/", "application/pdf")
_KINDS = ("image", "audio", "video")


def media_type_of(path: str) -> str | None:
    """Return the media type for the extension; None if it is unknown."""
    return _TYPES.get(path.rsplit("/", 1)[-1].rpartition(".")[2].lower())


def kind_of(path: str) -> str:
    """Return what a file is, in a word: image, audio, video, pdf, canvas, base or other."""
    media_type = media_type_of(path) or ""
    extension = path.rpartition(".")[2].lower()
    if extension in ("pdf", "canvas", "base"):
        return extension
    kind = media_type.partition("/")[0]
    return kind if kind in _KINDS else "other"


def is_media(path: str) -> bool:
    """Tell whether the name is that of a picture, recording, video or PDF."""
    return kind_of(path) in (*_KINDS, "pdf")


def text_of(path: str, data: bytes) -> str | None:
    """Return the text of a file; None for one that is no text, by its type or by its bytes."""
    media_type = media_type_of(path)
    if media_type is not None and media_type != _TYPES["svg"] and media_type.startswith(_NEVER_TEXT):
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text  # bytes that happen to be UTF-8
