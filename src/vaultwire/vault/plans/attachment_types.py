"""What an attachment may be: the kinds of files Obsidian takes, told by name and by first bytes. Pure; where one goes is
said by ``plans.creating``.
"""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from vaultwire.vault.errors import INVALID_ARGUMENTS, TOO_LARGE, VaultError

# Obsidian's help, "Accepted file formats", without notes, canvases and bases, which are text.
EXTENSIONS = frozenset(
    "avif bmp gif jpeg jpg png svg webp flac m4a mp3 ogg wav webm 3gp mkv mov mp4 ogv pdf".split()  # noqa: SIM905
)


class _Kind(NamedTuple):
    """A kind of file that its first bytes tell, and the extensions it may have."""

    name: str
    start: re.Pattern[bytes]
    extensions: tuple[str, ...]


def _kind(name: str, start: bytes, *extensions: str) -> _Kind:
    return _Kind(name, re.compile(start, re.DOTALL), extensions)


# The first that matches says what a file is. Those without extensions are recognised to say what was sent instead.
_KINDS = (
    _kind("PNG image", rb"\x89PNG\r\n\x1a\n", "png"),
    _kind("JPEG image", rb"\xff\xd8\xff", "jpg", "jpeg"),
    _kind("GIF image", rb"GIF8[79]a", "gif"),
    _kind("WebP image", rb"RIFF.{4}WEBP", "webp"),
    _kind("BMP image", rb"BM.{4}\0{4}", "bmp"),
    _kind("AVIF image", rb".{4}ftyp(?=.{0,40}?avi[fs])", "avif"),  # first of its brands or a later one
    _kind("HEIC image", rb".{4}ftyp(?:hei|hev|mif1|msf1)"),
    _kind("PDF document", rb"%PDF-", "pdf"),
    _kind("WAV recording", rb"RIFF.{4}WAVE", "wav"),
    _kind("MP4 or QuickTime file", rb".{4}ftyp", "mp4", "m4a", "mov", "3gp"),
    _kind("Ogg file", rb"OggS", "ogg", "ogv"),
    _kind("FLAC recording", rb"fLaC", "flac"),
    _kind("Matroska or WebM file", rb"\x1aE\xdf\xa3", "mkv", "webm"),
    _kind("MP3 recording", rb"ID3", "mp3", "flac"),  # some programs put such tags before FLAC too
    _kind("program", rb"MZ|\x7fELF|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe|#!"),
    _kind("ZIP archive or Office document", rb"PK(?:\x03\x04|\x05\x06)"),
    _kind("web page", rb"(?:\xef\xbb\xbf)?\s*+<(?i:!doctype html|html|script)\b"),
    # A declaration and comments may come first; the lookahead ends, so that a large file of anything else costs nothing.
    _kind("SVG image", rb"(?:\xef\xbb\xbf)?\s*+(?=<)(?=.{0,4000}?<svg\b)", "svg"),
)
# These must begin as their kind says; of audio and video there are older forms that begin otherwise.
_ALWAYS_TOLD = frozenset("avif bmp gif jpeg jpg png svg webp pdf flac mkv webm ogg ogv mp4 m4a 3gp".split())  # noqa: SIM905


def check_attachment(name: str, data: bytes, max_bytes: int) -> None:
    """Refuse what is no attachment. Raises VaultError: INVALID_ARGUMENTS for a kind that Obsidian does not take, and for
    bytes that are of another kind than the name says; TOO_LARGE.
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
    kind = next((kind for kind in _KINDS if kind.start.match(data)), None)
    if kind is None and extension in _ALWAYS_TOLD:
        raise VaultError(INVALID_ARGUMENTS, f"{name!r}: these bytes are no {extension} file.")
    if kind is not None and extension not in kind.extensions:
        right = f" Name it with .{kind.extensions[0]}." if kind.extensions else ""
        raise VaultError(INVALID_ARGUMENTS, f"{name!r}: these bytes are no {extension} file but a {kind.name}.{right}")


def decode_base64(text: str, name: str, max_bytes: int) -> bytes:
    """Return the bytes of base64 text (RFC 4648, section 4; line breaks and blanks allowed).

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
    """Return the extension in small letters, without its dot; empty where there is none."""
    return name.rpartition("/")[2].rpartition(".")[2].lower() if "." in name.rpartition("/")[2] else ""


def _too_large(name: str, size: int, max_bytes: int) -> VaultError:
    return VaultError(
        TOO_LARGE,
        f"{name!r} has {size} bytes; an attachment may have at most {max_bytes}.",
        size=size,
        max_size=max_bytes,
    )
