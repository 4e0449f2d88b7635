"""The text of one attachment, in pages: a PDF's own pages, or parts of a text file.

PDFs are read by the library ``pypdf`` (the extra "pdf") in a process of their own (``pdf_process``), which is ended when
its time is over or its caller goes. So no PDF, however it was made, keeps a thread of the server busy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import IO, Any, NamedTuple

from vaultwire.installation import hint_for_clients
from vaultwire.vault.attachment_texts import pdf_process
from vaultwire.vault.disk.paths import kind_of, text_of
from vaultwire.vault.errors import CANNOT_SHOW, NOT_INSTALLED, VaultError
from vaultwire.vault.value_types import Progress

MOST_PAGES = 500
MOST_CHARACTERS = 2_000_000
SECONDS = 20.0

# A part of a text file has about so many characters: what a page has that is full of words.
_PART_CHARACTERS = 4_000
_POLL_SECONDS = 0.02
_LOW_PRIORITY = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)


class Page(NamedTuple):
    """A page of a PDF or a part of a text file; ``first_line``: the number of its first line in the whole text, from 1."""

    text: str
    first_line: int


class Pages(NamedTuple):
    """The pages of an attachment that were read, of ``total``; ``problems`` say what could not be read."""

    pages: list[Page]
    total: int
    problems: list[str]


class PdfText(NamedTuple):
    """The text of a PDF, each page below a line that says its number. ``problems`` says what of it could not be read."""

    text: str
    pages: int
    problems: list[str]


def has_pdf_reader() -> bool:
    """Tell whether the text of PDFs can be read here."""
    return find_spec("pypdf") is not None


def pdf_text(path: str, data: bytes, progress: Progress, seconds: float = SECONDS) -> PdfText:
    """Return the text of a PDF. Raises VaultError as ``pdf_pages`` does."""
    pages, count, problems = pdf_pages(path, data, progress, seconds)
    text = "\n".join(f"{_heading(number, count)}\n{page.text}\n" for number, page in enumerate(pages, 1))
    return PdfText(text, count, problems)


def pdf_pages(path: str, data: bytes, progress: Progress, seconds: float = SECONDS) -> Pages:
    """Return the pages of a PDF, with the numbers of their lines in ``pdf_text``.

    Raises VaultError: NOT_INSTALLED without the library; CANNOT_SHOW for a file that is no PDF, is damaged or asks for a
    password. What is read when the time is over is returned with a problem.
    """
    if not has_pdf_reader():
        raise VaultError(
            NOT_INSTALLED,
            f"{path!r} is a PDF of {len(data)} bytes. To read its text this server needs one more package. To add it: "
            f"{hint_for_clients('pdf')}",
            path=path,
        )
    lines, is_late = _read_apart(data, progress, seconds)
    head, *rest = lines or [{}]
    if head.get("needs_password"):
        raise VaultError(CANNOT_SHOW, f"{path!r} can only be read with its password.", path=path)
    if "pages" not in head and not is_late:
        reason = head.get("error") or "reading it ended before its first page"
        raise VaultError(CANNOT_SHOW, f"{path!r} cannot be read as a PDF: {reason}.", path=path)
    count = int(head.get("pages", 0))
    problems = [
        f"page {number} cannot be read: {each['problem']}" for number, each in enumerate(rest, 1) if "problem" in each
    ]
    pages: list[Page] = []
    line = 1
    for each in rest:
        text = str(each.get("text", "")).encode("utf-8", "replace").decode()
        pages.append(Page(text, line + 1))
        line += text.count("\n") + 3  # its heading, its lines and an empty one
    if is_late:
        problems.append(f"only the first {len(pages)} pages were read in {seconds:g} seconds")
    elif not problems and len(pages) < count:
        problems.append(f"only the first {len(pages)} of {count} pages were read")
    if not any(page.text for page in pages) and not problems:
        problems.append("there is no text in it; perhaps its pages are pictures")
    return Pages(pages, count, problems)


def _heading(number: int, count: int) -> str:
    return f"--- page {number} of {count} ---"


def attachment_pages(path: str, data: bytes, progress: Progress) -> Pages | None:
    """Return the text of an attachment in pages; None if it is no text. Raises VaultError as ``pdf_pages`` does."""
    if kind_of(path) == "pdf":
        return pdf_pages(path, data, progress)
    text = text_of(path, data)
    if text is None:
        return None
    parts = list(_parts(text[:MOST_CHARACTERS].replace("\r\n", "\n")))
    problems = [f"only its first {MOST_CHARACTERS:,} characters are searched"] if len(text) > MOST_CHARACTERS else []
    return Pages(parts, len(parts), problems)


def _parts(text: str) -> Iterator[Page]:
    """Yield parts of a text that end with a line, or within a very long one."""
    start, line = 0, 1
    while start < len(text):
        end = text.rfind("\n", start, start + _PART_CHARACTERS) + 1
        if end <= start:
            end = start + _PART_CHARACTERS
        part = text[start:end]
        yield Page(part, line)
        start, line = end, line + part.count("\n")


def _read_apart(data: bytes, progress: Progress, seconds: float) -> tuple[list[dict[str, Any]], bool]:
    """Return the lines that a process wrote about a PDF, and whether its time was over before it ended."""
    bounds = (MOST_PAGES, MOST_CHARACTERS, int(seconds) + 1)
    # By its path, and with no folder put in front of those in which modules are looked for: the current one may be anybody's.
    command = [sys.executable, "-P", pdf_process.__file__, *map(str, bounds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # Files, not pipes: they need no thread that reads them, on any system. Nobody else can open them.
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output:
        source.write(data)
        source.seek(0)
        process = subprocess.Popen(  # noqa: S603 - our own program, and no shell
            command,
            stdin=source,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=environment,
            creationflags=_LOW_PRIORITY,
        )
        try:
            is_late = not _ends_in_time(process, progress, time.monotonic() + seconds)
        finally:
            process.kill()  # no effect if it has ended
            process.wait()
        output.seek(0)
        return list(_whole_lines(output)), is_late


def _ends_in_time(process: subprocess.Popen[bytes], progress: Progress, until: float) -> bool:
    while time.monotonic() < until:
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            progress.check()
            progress.report(0, 0, "reading the PDF")
        else:
            return process.returncode in (0, 1)  # else the system has ended it: its CPU time was over
    return False


def _whole_lines(output: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield what was written. The last line may be cut."""
    for line in output:
        try:
            yield json.loads(line)
        except ValueError:
            return
