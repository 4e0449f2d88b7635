"""The types of files that an attachment may have: those Obsidian shows, recognised by extension and by first bytes.

Pure. The folder of an attachment is chosen by ``plans.creating``.
"""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from vaultwire.vault.errors import INVALID_ARGUMENTS, TOO_LARGE, VaultError


class _FileType(NamedTuple):
    """A type of file, recognised by its first bytes, and the extensions it may have."""

    name: str
    start: re.Pattern[bytes]
    extensions: tuple[str, ...]


def _type(name: str, start: bytes, *extensions: str) -> _FileType:
    return _FileType(name, re.compile(start, re.DOTALL), extensions)


# The first match is the file's type. Types without extensions are no attachments; they are here so that an error can name them.
_TYPES = (
    _type("PNG image", rb"\x89PNG\r\n\x1a\n", "png"),
    _type("JPEG image", rb"\xff\xd8\xff", "jpg", "jpeg"),
    _type("GIF image", rb"GIF8[79]a", "gif"),
    _type("WebP image", rb"RIFF.{4}WEBP", "webp"),
    _type("BMP image", rb"BM.{4}\0{4}", "bmp"),
    _type("AVIF image", rb".{4}ftyp(?=.{0,40}?avi[fs])", "avif"),  # first of its brands or a later one
    _type("HEIC image", rb".{4}ftyp(?:hei|hev|mif1|msf1)"),
    _type("PDF document", rb"%PDF-", "pdf"),
    _type("WAV recording", rb"RIFF.{4}WAVE", "wav"),
    _type("MP4 or QuickTime file", rb".{4}ftyp", "mp4", "m4a", "mov", "3gp"),
    _type("Ogg file", rb"OggS", "ogg", "ogv"),
    _type("FLAC recording", rb"fLaC", "flac"),
    _type("Matroska or WebM file", rb"\x1aE\xdf\xa3", "mkv", "webm"),
    _type("MP3 recording", rb"ID3", "mp3", "flac"),  # some programs put such tags before FLAC too
    _type("program", rb"MZ|\x7fELF|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe|#!"),
    _type("ZIP archive or Office document", rb"PK(?:\x03\x04|\x05\x06)"),
    _type("web page", rb"(?:\xef\xbb\xbf)?\s*+<(?i:!doctype html|html|script)\b"),
    # A declaration and comments may come first. The lookahead is bounded, so a large file of another type costs nothing.
    _type("SVG image", rb"(?:\xef\xbb\xbf)?\s*+(?=<)(?=.{0,4000}?<svg\b)", "svg"),
)
# Those of Obsidian's help, "Accepted file formats", without notes, canvases and bases, which are text.
EXTENSIONS = frozenset(extension for each in _TYPES for extension in each.extensions)
# Files of these types always begin as their type says; of the other audio and video types there are older forms.
_ALWAYS_RECOGNISED = frozenset("avif bmp gif jpeg jpg png svg webp pdf flac mkv webm ogg ogv mp4 m4a 3gp".split())  # noqa: SIM905


def check_attachment(name: str, data: bytes, max_bytes: int) -> None:
    """Refuse a file that is no attachment. Raises VaultError: INVALID_ARGUMENTS for a type that Obsidian does not show, and
    for bytes of another type than the name says; TOO_LARGE.
    """
    extension = extension_of(name)
    if extension not in EXTENSIONS:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{name!r} is no kind of attachment that Obsidian shows. Its extension must be one of "
            f"{', '.join(sorted(EXTENSIONS))}.",
        )
    if not data:
        raise VaultError(INVALID_ARGUMENTS, f"{name!r} would be empty; give the file's bytes.")
    if len(data) > max_bytes:
        raise _too_large(name, len(data), max_bytes)
    found = next((each for each in _TYPES if each.start.match(data)), None)
    if found is None and extension in _ALWAYS_RECOGNISED:
        raise VaultError(INVALID_ARGUMENTS, f"{name!r}: these bytes are no {extension} file.")
    if found is not None and extension not in found.extensions:
        right = f" Name it with .{found.extensions[0]}." if found.extensions else ""
        raise VaultError(INVALID_ARGUMENTS, f"{name!r}: these bytes are no {extension} file but a {found.name}.{right}")


def decode_base64(text: str, name: str, max_bytes: int) -> bytes:
    """Return the bytes of base64 text (RFC 4648, section 4; line breaks and spaces are allowed).

    Raises VaultError: INVALID_ARGUMENTS, and TOO_LARGE before anything is decoded.
    """
    packed = "".join(text.split())
    if len(packed) // 4 * 3 - packed[-2:].count("=") > max_bytes:
        raise _too_large(name, len(packed) // 4 * 3, max_bytes)
    try:
        return base64.b64decode(packed, validate=True)
    except ValueError as error:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{name!r}: its content is not base64 ({error}). Give the file's bytes as base64, without a 'data:' prefix.",
        ) from None


def extension_of(name: str) -> str:
    """Return the extension in lower case, without its dot; empty if there is none."""
    return name.rpartition("/")[2].rpartition(".")[2].lower() if "." in name.rpartition("/")[2] else ""


def _too_large(name: str, size: int, max_bytes: int) -> VaultError:
    return VaultError(
        TOO_LARGE,
        f"{name!r} has {size} bytes; an attachment may have at most {max_bytes}.",
        size=size,
        max_size=max_bytes,
    )
