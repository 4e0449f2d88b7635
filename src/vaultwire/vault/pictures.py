"""Makes a picture fit into an answer: smaller, and in a format that models see, by the library Pillow (the extra "images")."""

from __future__ import annotations

import io
import threading

from vaultwire.installation import hint_for_clients
from vaultwire.vault.errors import CANNOT_SHOW, NOT_INSTALLED, TOO_LARGE, VaultError

SEEN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The formats that the models of all vendors see."""

# Pixels of the longer side: models see no more of a larger picture.
_SIDES = (1568, 1024, 640)
_QUALITY = 80
# A few kilobytes can unpack to gigabytes. A camera's picture has 50 million pixels.
_MOST_PIXELS = 60_000_000
# No others: for some the library starts a program on the file's bytes.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")
_one_at_a_time = threading.Lock()  # a large picture takes a few hundred megabytes for a moment


def shrunk(path: str, data: bytes, media_type: str, most: int) -> tuple[bytes, str]:
    """Return a picture of at most ``most`` bytes as a model sees it, and its media type: as it is, if it can.

    Raises VaultError: TOO_LARGE or CANNOT_SHOW without the library; CANNOT_SHOW for a picture that it cannot read.
    """
    if len(data) <= most and media_type in SEEN:
        return data, media_type
    try:
        from PIL import Image, ImageOps  # noqa: PLC0415 - an extra; 50 ms, for the first such picture only
    except ImportError:
        raise _refusal(path, data, media_type, most) from None
    Image.init()
    formats = [name for name in _FORMATS if name in Image.OPEN]
    try:
        with _one_at_a_time, Image.open(io.BytesIO(data), formats=formats) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise VaultError(
                    CANNOT_SHOW, f"{path!r} has {opened.width} x {opened.height} pixels, too many to show."
                )
            opened.draft("RGB", (_SIDES[0], _SIDES[0]))  # a JPEG is read smaller, in a fraction of the time
            opened.thumbnail((_SIDES[0], _SIDES[0]))
            picture = ImageOps.exif_transpose(opened).convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise VaultError(CANNOT_SHOW, f"{path!r} cannot be read as a picture: {error}.", path=path) from None
    white = Image.new("RGB", picture.size, "white")  # JPEG has no transparency
    white.paste(picture, mask=picture.getchannel("A"))
    for side in _SIDES:
        white.thumbnail((side, side))
        written = io.BytesIO()
        white.save(written, "JPEG", quality=_QUALITY)
        if written.tell() <= most:
            break
    return written.getvalue(), "image/jpeg"


def _refusal(path: str, data: bytes, media_type: str, most: int) -> VaultError:
    install = f"To add it: {hint_for_clients('images')}"
    if media_type not in SEEN:
        return VaultError(
            NOT_INSTALLED,
            f"{path!r} is {media_type}, which models do not see. With one more package this server makes a JPEG of it. "
            f"{install}",
            path=path,
        )
    return VaultError(
        TOO_LARGE,
        f"{path!r} has {len(data)} bytes; a picture that is shown may have at most {most}. "
        f"With one more package this server makes it smaller. {install}",
        path=path,
        size=len(data),
        max_size=most,
    )
