"""The four ways to write, on new notes and old: what each does to which file, and what none of them ever does."""

from __future__ import annotations

import codecs
import threading
import unicodedata
from pathlib import Path

import pytest

from support.refusals import refusal, refused
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOT_UTF8,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    STALE_EDIT,
    Stopped,
)
from vaultwire.vault.value_types import NoProgress, WriteMode

VAULT = """
=== Note.md
---
x: y
---
old
=== Folder/Inner.md
inner
=== a/Twin.md
a
=== b/Twin.md
b
"""
OLD = "---\nx: y\n---\nold\n"
MODES: list[WriteMode] = ["create", "overwrite", "append", "prepend"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


# mode, name, then the file that changes and its new text, or the code of the refusal
CASES = [
    ("create", "New", ("New.md", "text")),
    ("create", "New.md", ("New.md", "text")),
    ("create", "[[New|shown]]", ("New.md", "text")),
    ("create", "Deep/er/New", ("Deep/er/New.md", "text")),
    ("create", "folder/New", ("Folder/New.md", "text")),  # the folder that is there, however it is spelt
    ("create", "Note", NOTE_EXISTS),
    ("create", "note.MD", NOTE_EXISTS),
    ("create", "Inner", NOTE_EXISTS),  # the one in a folder may be meant
    ("create", "Twin", NOTE_EXISTS),
    ("create", "/Inner", ("Inner.md", "text")),
    ("create", "./Twin", ("Twin.md", "text")),
    ("create", "[[/Inner]]", ("Inner.md", "text")),
    ("create", "/Folder/Inner", PATH_OUTSIDE_VAULT),
    ("create", "/Note", NOTE_EXISTS),
    ("overwrite", "/Note", ("Note.md", "text\n")),
    ("overwrite", "/Inner", ("Inner.md", "text")),
    ("overwrite", "New", ("New.md", "text")),
    ("overwrite", "Note", ("Note.md", "text\n")),
    ("overwrite", "NOTE.md", ("Note.md", "text\n")),
    ("overwrite", "[[Folder/Inner]]", ("Folder/Inner.md", "text\n")),
    ("overwrite", "Inner", AMBIGUOUS_NAME),  # neither that note nor a new one may be meant
    ("overwrite", "Twin", AMBIGUOUS_NAME),
    ("overwrite", "Other/Inner", ("Other/Inner.md", "text")),
    ("append", "Note", ("Note.md", OLD + "text\n")),
    ("append", "Inner", ("Folder/Inner.md", "inner\ntext\n")),
    ("append", "[[Inner]]", ("Folder/Inner.md", "inner\ntext\n")),
    ("append", "[[Inner#Part]]", INVALID_ARGUMENTS),  # the lines would not be added to that part
    ("append", "New", FILE_NOT_FOUND),
    ("append", "Twin", AMBIGUOUS_NAME),
    ("prepend", "Note", ("Note.md", "---\nx: y\n---\ntext\nold\n")),
    ("prepend", "Inner", ("Folder/Inner.md", "text\ninner\n")),
    ("prepend", "New", FILE_NOT_FOUND),
    ("prepend", "Twin", AMBIGUOUS_NAME),
]


@pytest.mark.parametrize(("mode", "name", "expected"), CASES, ids=[f"{case[0]} {case[1]}" for case in CASES])
def test_a_write_changes_the_named_note_and_no_other(
    root: Path, mode: WriteMode, name: str, expected: tuple[str, str] | str
) -> None:
    vault, before = open_vault(root), snapshot(root)
    if isinstance(expected, str):
        assert refused(vault.writing.write, name, "text", mode) == expected
        assert snapshot(root) == before
        return
    path, text = expected
    written = vault.writing.write(name, "text", mode)
    assert (root / path).read_text() == text
    assert (written.path, written.created, written.changed) == (path, path not in before, True)
    assert written.etag == vault.read(path).etag
    assert written.size == len(text)
    after = snapshot(root)
    assert {other for other in after if after[other] != before.get(other)} == {path}


def test_overwriting_a_name_that_is_elsewhere_says_where(root: Path) -> None:
    error = refusal(open_vault(root).writing.write, "Inner", "x", "overwrite")
    assert error.details["candidates"] == ["Folder/Inner.md"]
    assert "mode 'create'" in error.message


@pytest.mark.parametrize(("stored", "asked"), [("Caf\u00e9", "Cafe\u0301"), ("Cafe\u0301", "Caf\u00e9")])
def test_a_name_that_is_there_in_another_unicode_form_is_taken(root: Path, stored: str, asked: str) -> None:
    (root / f"{stored}.md").write_text("old\n")
    vault = open_vault(root)
    assert refused(vault.writing.write, asked, "x", "create") == NOTE_EXISTS
    vault.writing.write(asked, "new", "overwrite")
    vault.writing.write(f"{asked}/in", "x", "create")
    assert (root / f"{stored}.md").read_text() == "new\n"


def test_new_names_are_stored_composed(root: Path) -> None:
    assert open_vault(root).writing.write("Cafe\u0301/Cre\u0300me", "x", "create").path == "Caf\u00e9/Cr\u00e8me.md"
    assert [path.name for path in root.glob("Caf*")] == [unicodedata.normalize("NFC", "Cafe\u0301")]


@pytest.mark.parametrize("name", ["a?", "New/a:b", "b*/New", "x./New", "x" * 300])
def test_new_names_that_do_not_travel_are_refused(root: Path, name: str) -> None:
    before = snapshot(root)
    for mode in ("create", "overwrite"):
        assert refused(open_vault(root).writing.write, name, "x", mode) == INVALID_ARGUMENTS
    assert snapshot(root) == before


def test_an_old_note_under_such_a_name_is_edited_all_the_same(root: Path) -> None:
    try:
        write_vault(root, "=== why?.md\nold\n=== so*/x.md\nold\n")
    except OSError:
        pytest.skip("this system cannot hold such names")
    vault = open_vault(root)
    vault.writing.write("why?", "new", "overwrite")
    vault.writing.write("so*/x", "new", "append")
    vault.writing.write("so*/new", "x", "create")
    assert refused(vault.writing.write, "why?", "x", "create") == NOTE_EXISTS
    assert (root / "why?.md").read_text() == "new\n"


@pytest.mark.parametrize("mode", ["overwrite", "append", "prepend"])
def test_with_an_etag_a_write_happens_only_to_what_was_read(root: Path, mode: WriteMode) -> None:
    vault = open_vault(root)
    etag = vault.read("Note").etag
    (root / "Note.md").write_text("the person's\n")
    error = refusal(vault.writing.write, "Note", "x", mode, etag)
    assert error.code == STALE_EDIT
    assert error.details["etag"] == vault.read("Note").etag
    assert (root / "Note.md").read_text() == "the person's\n"
    assert vault.writing.write("Note", "x", mode, error.details["etag"]).changed


def test_an_etag_cannot_match_a_note_that_is_not_there(root: Path) -> None:
    assert refused(open_vault(root).writing.write, "New", "x", "overwrite", "0" * 24) == STALE_EDIT
    assert refused(open_vault(root).writing.write, "New", "x", "create", "0" * 24) == STALE_EDIT
    assert not (root / "New.md").exists()


@pytest.mark.parametrize(
    ("mode", "content"), [("overwrite", OLD), ("overwrite", OLD[:-1]), ("append", ""), ("prepend", "")]
)
def test_a_write_that_changes_nothing_does_not_touch_the_file(root: Path, mode: WriteMode, content: str) -> None:
    before = (root / "Note.md").stat()
    written = open_vault(root).writing.write("Note", content, mode)
    after = (root / "Note.md").stat()
    assert (written.changed, written.created) == (False, False)
    assert (after.st_mtime_ns, after.st_ino, after.st_ctime_ns) == (
        before.st_mtime_ns,
        before.st_ino,
        before.st_ctime_ns,
    )


def test_reading_and_writing_back_changes_no_byte(root: Path) -> None:
    vault = open_vault(root)
    for data in (b"\xef\xbb\xbfa\r\nb\nc", b"a\rb\r\n\r\n", b"\r\r\n", b"", b"\xef\xbb\xbf", "é\u2028x\x0c\n".encode()):
        (root / "Note.md").write_bytes(data)
        assert not vault.writing.write("Note", vault.read("Note").text, "overwrite").changed
        assert (root / "Note.md").read_bytes() == data


@pytest.mark.parametrize(
    ("mode", "content", "expected"),
    [
        ("append", "x", b"\xef\xbb\xbf---\r\na: b\r\n---\r\nold\r\nx\r\n"),
        ("prepend", "x", b"\xef\xbb\xbf---\r\na: b\r\n---\r\nx\r\nold\r\n"),
        ("overwrite", "---\na: b\n---\nnew", b"\xef\xbb\xbf---\r\na: b\r\n---\r\nnew\r\n"),
        ("overwrite", "\ufeffnew", b"\xef\xbb\xbfnew\r\n"),  # a client that sends the mark along
    ],
)
def test_byte_order_mark_and_line_ends_stay(root: Path, mode: WriteMode, content: str, expected: bytes) -> None:
    (root / "Note.md").write_bytes(codecs.BOM_UTF8 + b"---\r\na: b\r\n---\r\nold\r\n")
    vault = open_vault(root)
    assert vault.read("Note").text == "---\na: b\n---\nold\n"
    vault.writing.write("Note", content, mode)
    assert (root / "Note.md").read_bytes() == expected


def test_a_note_that_is_not_utf8_is_shown_but_not_edited(root: Path) -> None:
    (root / "Latin.md").write_bytes(b"caf\xe9\n")
    vault = open_vault(root)
    note = vault.read("Latin")
    assert note.text == "caf\ufffd\n"
    assert "byte 3" in note.problems[0]
    for mode in ("append", "prepend", "overwrite"):
        assert refused(vault.writing.write, "Latin", "x", mode) == NOT_UTF8
    assert (root / "Latin.md").read_bytes() == b"caf\xe9\n"


@pytest.mark.parametrize("mode", MODES)
def test_half_a_surrogate_pair_is_refused_with_its_place(root: Path, mode: WriteMode) -> None:
    before = snapshot(root)
    error = refusal(open_vault(root).writing.write, "Note", "ab\ud83d", mode)
    assert error.code == INVALID_ARGUMENTS
    assert "character 3" in error.message
    assert snapshot(root) == before


@pytest.mark.parametrize("mode", MODES)
def test_a_nul_is_no_text(root: Path, mode: WriteMode) -> None:
    before = snapshot(root)
    error = refusal(open_vault(root).writing.write, "Note", "ab\0c", mode)
    assert error.code == INVALID_ARGUMENTS
    assert "NUL" in error.message
    assert snapshot(root) == before


def test_a_note_that_has_a_nul_is_edited_all_the_same(root: Path) -> None:
    (root / "Note.md").write_bytes(b"a\0b\n")
    vault = open_vault(root)
    vault.writing.write("Note", "c", "append")
    assert (root / "Note.md").read_bytes() == b"a\0b\nc\n"
    assert refusal(vault.writing.write, "Note", "\0", "append").code == INVALID_ARGUMENTS


def test_what_is_odd_about_a_note_is_told_when_it_is_read(root: Path) -> None:
    (root / "Odd.md").write_text("---\na: b\na: c\n---\n")
    assert open_vault(root).read("Odd").problems == ["line 3: property 'a' is there twice"]


def test_appends_from_many_threads_all_apply(root: Path) -> None:
    vault = open_vault(root)
    errors: list[BaseException] = []

    def append(thread: int) -> None:
        try:
            for number in range(15):
                vault.writing.write("Inner", f"{thread}.{number}", "append")
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    lines = (root / "Folder" / "Inner.md").read_text().splitlines()
    assert sorted(lines) == sorted(["inner", *(f"{thread}.{number}" for thread in range(8) for number in range(15))])


def test_of_many_threads_that_make_one_note_one_does(root: Path) -> None:
    vault = open_vault(root)
    codes: list[str] = []
    barrier = threading.Barrier(8)

    def create(number: int) -> None:
        other = open_vault(root) if number % 2 else vault  # a second program has another lock
        barrier.wait()
        try:
            other.writing.write("New", str(number), "create")
        except Exception as error:  # noqa: BLE001 - counted below
            codes.append(getattr(error, "code", repr(error)))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [NOTE_EXISTS] * 7
    assert (root / "New.md").read_text() in "01234567"


class _Cancelled(NoProgress):
    def check(self) -> None:
        raise Stopped


@pytest.mark.parametrize("mode", MODES)
def test_a_cancelled_write_or_delete_changes_nothing(root: Path, mode: WriteMode) -> None:
    vault, before = open_vault(root), snapshot(root)
    with pytest.raises(Stopped):
        vault.writing.write("New/Note" if mode == "create" else "Note", "x", mode, progress=_Cancelled())
    with pytest.raises(Stopped):
        vault.writing.delete("Note", permanent=mode == "create", progress=_Cancelled())
    assert snapshot(root) == before
    assert not (root / "New").exists()
    vault.writing.write("Note", "and the lock is free again", "append")


def test_pages_of_a_listing_cover_every_note_once(root: Path) -> None:
    listed = open_vault(root).overview.list_notes("")
    assert len(listed) == 4
    pages = [[note.path for note in listed.page(offset, 2)] for offset in (0, 2, 4)]
    assert pages == [["Folder/Inner.md", "Note.md"], ["a/Twin.md", "b/Twin.md"], []]


def test_a_later_page_leaves_out_what_is_gone_and_shows_the_rest_as_it_is(root: Path) -> None:
    listed = open_vault(root).overview.list_notes("")
    (root / "Note.md").unlink()
    (root / "a" / "New.md").write_text("x")
    (root / "b" / "Twin.md").write_text("longer than before")
    later = listed.page(1, 9)
    assert [note.path for note in later] == ["a/Twin.md", "b/Twin.md"]
    assert later[-1].size == 18


@pytest.mark.parametrize(("folder", "expected"), [("Folder", ["Folder/Inner.md"]), ("FOLDER/", ["Folder/Inner.md"])])
def test_a_folder_is_listed_under_any_spelling(root: Path, folder: str, expected: list[str]) -> None:
    assert [note.path for note in open_vault(root).overview.list_notes(folder).all()] == expected


@pytest.mark.parametrize("folder", ["nowhere", "Note.md"])
def test_a_folder_that_is_not_there_is_an_error(root: Path, folder: str) -> None:
    assert refused(open_vault(root).overview.list_notes, folder) == FILE_NOT_FOUND
    assert refused(open_vault(root).search, "x", folder, 0, 9) == FILE_NOT_FOUND
