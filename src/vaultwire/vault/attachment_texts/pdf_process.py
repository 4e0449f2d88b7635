"""Reads one PDF, as a program of its own: the file on stdin, its pages on stdout as lines of JSON.

A PDF may come from anywhere, and the library that reads it may need any time and memory for it. So it runs apart from the
server, with bounds that the system keeps where it can: address space, CPU time, the size of what is written. The module
imports nothing of the program: it is started by its path.
"""

import contextlib
import io
import json
import logging
import os
import sys

MEMORY_BYTES = 1_500_000_000
"""Address space. An ordinary PDF of 100 MB takes about 500 MB."""

_NICENESS = 10


def main(most_pages: int, most_characters: int, seconds: int) -> None:
    """Write ``{"pages": N}``, then ``{"text": …}`` or ``{"problem": …}`` for each page; or ``{"error": …}``."""
    _limit(most_characters, seconds)
    data = sys.stdin.buffer.read()
    out = sys.stdout.buffer

    def say(**line: object) -> None:
        out.write(json.dumps(line).encode() + b"\n")
        out.flush()  # what is written counts, also if this process is ended

    try:
        import pypdf  # noqa: PLC0415 - what it raises is told

        logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it remarks on damaged files
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            say(error="", needs_password=True)
            return
        count = len(reader.pages)
        say(pages=count)
    except Exception as error:  # noqa: BLE001 - a damaged file makes the library raise anything
        say(error=_reason(error))
        return
    characters = 0
    for number in range(min(count, most_pages)):
        try:
            text = reader.pages[number].extract_text().strip()[:most_characters]
        except Exception as error:  # noqa: BLE001 - a damaged file makes the library raise anything
            say(problem=_reason(error))
            continue
        say(text=text)  # ASCII: a font may name characters that are none
        characters += len(text)
        if characters > most_characters:
            return


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it needs too much memory"
    return str(error).rstrip(".")[:300] or type(error).__name__


def _limit(most_characters: int, seconds: int) -> None:
    """Give way to other programs, and have the system end this one beyond its bounds."""
    if sys.platform == "win32":
        return  # the parent starts it with a low priority, and ends it when its time is over
    import resource  # noqa: PLC0415 - not on Windows

    # Ten bytes a character as JSON, and the names of what surrounds them. macOS keeps no bound of address space.
    written = 12 * most_characters + 1_000_000
    bounds = {"RLIMIT_AS": MEMORY_BYTES, "RLIMIT_CPU": seconds + 1, "RLIMIT_FSIZE": 2 * written, "RLIMIT_CORE": 0}
    for name, bound in bounds.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (bound, bound))
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
