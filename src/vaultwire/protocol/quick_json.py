"""Messages by a library that takes a tenth of the time of Python's own.

It loads in 15 ms, so the first answers go without. What it refuses, or would take otherwise than Python's own does, is left
to that, which also says why: whichever reads a message, the message is the same.
"""

from __future__ import annotations

import functools
import re

import orjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.json_types import Json, JsonObject

# Beyond 64 bits it makes floats of whole numbers, and an id must come back as it came.
_LONG_NUMBER = re.compile(rb"\d{19}")
_DIGITS = b"0123456789"
# Looking for such a number takes as long as a large frame's reading.
_MOST_BYTES = 64 * 1024
# Of what JSON does not have it would write these as text; there they are mistakes, as they are to Python's own.
_OPTIONS = (
    orjson.OPT_APPEND_NEWLINE
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


def read(frame: bytes) -> Json:
    """Return the value a frame holds. Raises ValueError for one that Python's own should look at."""
    length = len(frame)
    # Most frames have fewer digits than that, which takes less time to see.
    if length > _MOST_BYTES or (length - len(frame.translate(None, _DIGITS)) >= 19 and _LONG_NUMBER.search(frame)):  # noqa: PLR2004
        raise ValueError("left to Python's own")
    return orjson.loads(frame)


write: Callable[[JsonObject], bytes] = functools.partial(orjson.dumps, option=_OPTIONS)
"""Return a message as one line. Raises TypeError for one that Python's own should look at.

What is no number (NaN) and what has no end becomes null: JSON knows neither.
"""
