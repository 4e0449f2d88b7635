"""The text of a PDF, page by page, by the library ``pypdf`` (the extra "pdf").

A PDF may come from anywhere. The library limits what it unpacks; the pages, characters and seconds are limited here. It is
Python throughout, so a profile function can end it anywhere: it asks every few thousand calls whether there is time left.
That makes it five times slower, 12 ms a page. Without it a file made for that could keep a thread busy for ever.
"""

from __future__ import annotations

import io
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from vaultwire.installation import hint_for_clients
from vaultwire.vault.errors import CANNOT_SHOW, NOT_INSTALLED, Stopped, VaultError
from vaultwire.vault.value_types import Progress

if TYPE_CHECKING:
    import pypdf

MOST_PAGES = 500
MOST_CHARACTERS = 2_000_000
SECONDS = 20.0

_CALLS_BETWEEN_CHECKS = 5_000


class PdfText(NamedTuple):
    """The text of a PDF, each page below a line that says its number. ``problems`` says what of it could not be read."""

    text: str
    pages: int
    problems: list[str]


class _Halt(BaseException):
    """Ends the library: no ``except Exception`` of its own keeps it."""


def pdf_text(path: str, data: bytes, progress: Progress, seconds: float = SECONDS) -> PdfText:
    """Return the text of a PDF.

    Raises VaultError: NOT_INSTALLED without the library; CANNOT_SHOW for a file that is no PDF, is damaged or asks for a
    password. What is read when the time is over is returned with a problem.
    """
    try:
        import pypdf  # noqa: PLC0415 - an extra; 150 ms, for the first PDF only
    except ImportError:
        raise VaultError(
            NOT_INSTALLED,
            f"{path!r} is a PDF of {len(data)} bytes. To read its text this server needs one more package. To add it: "
            f"{hint_for_clients('pdf')}",
            path=path,
        ) from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it remarks on damaged files, on stderr
    pages: list[str] = []
    problems: list[str] = []
    count = 0
    try:
        with _bounded(progress, seconds):
            reader = pypdf.PdfReader(io.BytesIO(data))
            _check_is_open(path, reader)
            count = len(reader.pages)
            for number in range(1, min(count, MOST_PAGES) + 1):
                progress.report(number - 1, min(count, MOST_PAGES), "pages read")
                pages.append(_page(number, count, reader.pages[number - 1].extract_text, problems))
                if sum(map(len, pages)) > MOST_CHARACTERS:
                    break
    except _Halt:
        problems.append(f"only the first {len(pages)} pages were read in {seconds:g} seconds")
    except (VaultError, Stopped):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file makes the library raise anything
        raise VaultError(CANNOT_SHOW, f"{path!r} cannot be read as a PDF: {_reason(error)}.", path=path) from None
    if not problems and len(pages) < count:
        problems.append(f"only the first {len(pages)} of {count} pages were read")
    if not any(page.partition("\n")[2].strip() for page in pages) and not problems:
        problems.append("there is no text in it; perhaps its pages are pictures")
    return PdfText("\n".join(pages), count, problems)


def _check_is_open(path: str, reader: pypdf.PdfReader) -> None:
    if reader.is_encrypted and not reader.decrypt(""):
        raise VaultError(CANNOT_SHOW, f"{path!r} can only be read with its password.", path=path)


def _page(number: int, count: int, extract: Callable[[], str], problems: list[str]) -> str:
    try:
        text = extract().strip()
    except Exception as error:  # noqa: BLE001 - as above; the other pages may be whole
        problems.append(f"page {number} cannot be read: {_reason(error)}")
        text = ""
    # A font may name characters that are none.
    return f"--- page {number} of {count} ---\n{text.encode('utf-8', 'replace').decode()}\n"


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


@contextmanager
def _bounded(progress: Progress, seconds: float) -> Iterator[None]:
    """Raise ``_Halt`` in the block when the time is over, and what ``progress.check`` raises."""
    until = time.monotonic() + seconds
    calls = 0
    stopped: list[BaseException] = []

    def look(_frame: FrameType, _event: str, _argument: Any) -> None:
        nonlocal calls
        calls += 1
        if calls % _CALLS_BETWEEN_CHECKS:
            return
        if time.monotonic() > until:
            raise _Halt
        try:
            progress.check()
        except BaseException as error:
            stopped.append(error)
            raise _Halt from error

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    except _Halt:
        if stopped:
            raise stopped[0] from None
        raise
    finally:
        sys.setprofile(before)
