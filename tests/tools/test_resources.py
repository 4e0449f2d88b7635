"""Resources: URIs that give their path back, what is text and what is base64, pages, and what is refused."""

from __future__ import annotations

import base64
import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal, refused
from support.vaults import open_vault, write_vault
from vaultwire.tools.resources import (
    list_resources,
    names_view,
    path_of,
    read_resource,
    template_of,
    uri_of,
    view_uri_of,
)
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.disk.paths import media_type_of, stem
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault

CAP = 1000
# RFC 3986, appendix A: a scheme, an authority and a path of pchars, and nothing else.
URI = re.compile(r"obsidian://[a-z]+(/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})*)+")

ODD_PATHS = [
    "Note.md",
    "Folder/Sub folder/Note.md",
    "Grüße 日本 🗝.md",
    "C# notes?.md",
    "100%.md",
    "100%25.md",
    "a&b=c+d;e,f.md",
    "'quoted' \"twice\".md",
    "[brackets] {braces} (parens).md",
    "~tilde_-.md",
    "e\u0301.md",
    " blank at both ends ",
]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path / "My vault", "=== Note.md\nhello\n"))


# ---------------------------------------------------------------------- URIs


@pytest.mark.parametrize("path", ODD_PATHS)
def test_a_uri_is_valid_and_gives_its_path_back(vault: Vault, path: str) -> None:
    uri = uri_of(vault, VaultPath(path))
    assert URI.fullmatch(uri), uri
    assert path_of(vault, uri) == path


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_path_survives_its_uri(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    vault = open_vault(tmp_path_factory.getbasetemp())
    uri = uri_of(vault, VaultPath(path))
    assert set(uri) <= set(string.ascii_letters + string.digits + "-._~/%:")
    assert path_of(vault, uri) == path


def test_a_uri_is_the_short_form_that_opens_the_note_in_obsidian(vault: Vault) -> None:
    assert uri_of(vault, VaultPath("A/My note.md")) == "obsidian://vault/My%20vault/A/My%20note.md"
    assert template_of(vault) == "obsidian://vault/My%20vault/{+path}"


@pytest.mark.parametrize("path", [path for path in ODD_PATHS if "%" not in path])
def test_a_template_filled_in_with_reserved_characters_as_they_are_names_the_same_path(vault: Vault, path: str) -> None:
    assert path_of(vault, template_of(vault).replace("{+path}", path)) == path


@pytest.mark.parametrize(
    "uri",
    [
        "OBSIDIAN://vault/My%20vault/Note.md",
        "obsidian://VAULT/My%20vault/Note.md",
        "obsidian://vault/my vault/Note.md",
        "obsidian://vault/%4dy%20vault/%4eote.md",
    ],
)
def test_spellings_that_mean_the_same_name_the_same_path(vault: Vault, uri: str) -> None:
    assert path_of(vault, uri) == "Note.md"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "Note.md",
        "file:///etc/passwd",
        "obsidian://open?vault=My%20vault&file=Note.md",
        "obsidian://vault/Other/Note.md",
        "obsidian://vault//Note.md",
        "obsidian://vault/My%20vault/%FF.md",
        "obsidian://vault/%FF/Note.md",
        "x" * 100_000,
        "obsidian://vault/My%20vault/" + "x" * 20_000,
    ],
)
def test_a_uri_of_something_else_is_not_found_and_told_how_ours_begin(vault: Vault, uri: str) -> None:
    error = refusal(path_of, vault, uri)
    assert error.code == "FILE_NOT_FOUND"
    assert "'obsidian://vault/My%20vault/'" in error.message
    assert len(error.message) < 400


# ---------------------------------------------------------------------- what is listed


def listed(vault: Vault, limit: int = 100) -> list[str]:
    """Return the paths of all pages together."""
    paths: list[str] = []
    cursor = None
    while True:
        page = list_resources(vault, cursor, limit, NO_PROGRESS)
        assert len(page.files) <= limit
        paths += [file.path for file in page.files]
        if page.next_cursor is None:
            return paths
        cursor = page.next_cursor


def test_notes_and_attachments_are_listed_and_hidden_files_are_not(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== b/Note.md\n=== a.png\n=== .obsidian/app.json\n=== .hidden.md\n=== Board.canvas\n")
    assert listed(open_vault(tmp_path)) == ["Board.canvas", "a.png", "b/Note.md"]


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
def test_pages_together_hold_every_file_once_in_one_order(tmp_path: Path, limit: int) -> None:
    names = ["a b.md", "a.md", "a/b.md", "ä.md", "z#?.png", "z%.md", "z%25.md"]
    for name in names:
        write_vault(tmp_path, f"=== {name}\nx\n")
    assert listed(open_vault(tmp_path), limit) == sorted(names)


def test_a_page_goes_on_behind_the_one_before_whatever_came_and_went_meanwhile(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== a.md\n=== b.md\n=== c.md\n=== d.md\n"))
    first = list_resources(vault, None, 2, NO_PROGRESS)
    (tmp_path / "b.md").unlink()
    (tmp_path / "0.md").write_text("new")
    second = list_resources(vault, first.next_cursor, 2, NO_PROGRESS)
    assert [file.path for file in second.files] == ["c.md", "d.md"]
    assert second.next_cursor is None


@pytest.mark.parametrize("cursor", ["", "2", "Note.md", "obsidian://vault/Other/Note.md"])
def test_a_cursor_no_page_gave_is_refused(vault: Vault, cursor: str) -> None:
    assert refused(list_resources, vault, cursor, 100, NO_PROGRESS) == "INVALID_ARGUMENTS"


def test_what_no_caller_could_name_is_not_offered(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== con.md\n=== new\\line.md\n=== fine.md\n")
    (tmp_path / "tab\tin it.md").write_text("x")
    assert listed(open_vault(tmp_path)) == ["fine.md"]


def test_everything_listed_can_be_read(tmp_path: Path) -> None:
    for path in [*ODD_PATHS, "Mixed Case/ÉCOLE.png"]:
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path)
    vault = open_vault(tmp_path)
    paths = listed(vault)
    assert len(paths) == len(ODD_PATHS) + 1
    for path in paths:
        resource = read_resource(vault, uri_of(vault, VaultPath(path)), CAP)
        text = resource.text if resource.blob is None else base64.b64decode(resource.blob).decode()
        assert text == path


# ---------------------------------------------------------------------- what is read

READ: dict[str, tuple[bytes, str, str | None]] = {
    "note.md": ("Grüße 🗝\n".encode(), "text/markdown", "Grüße 🗝\n"),
    "NOTE2.MD": (b"a\r\nb\r\n", "text/markdown", "a\r\nb\r\n"),
    "bom.md": (b"\xef\xbb\xbfhello", "text/markdown", "hello"),
    "latin.md": (b"caf\xe9", "text/markdown", "caf\ufffd"),
    "zero byte.md": (b"a\0b", "text/markdown", "a\0b"),
    "empty.md": (b"", "text/markdown", ""),
    "board.canvas": (b"{}", "application/json", "{}"),
    "table.csv": (b"a,b\n", "text/csv", "a,b\n"),
    "latin.csv": (b"caf\xe9", "text/csv", None),
    "utf16.txt": ("héllo".encode("utf-16-le"), "text/plain", None),
    "picture.svg": (b"<svg/>", "image/svg+xml", "<svg/>"),
    "picture.PNG": (b"\x89PNG\r\n", "image/png", None),
    "ascii.png": (b"GIF89a", "image/png", None),
    "sound.mp3": (b"ID3", "audio/mpeg", None),
    "film.webm": (b"\x1aE", "video/webm", None),
    "paper.pdf": (b"%PDF-1.7", "application/pdf", None),
    "script.py": (b"print()\n", "text/plain", "print()\n"),
    "LICENSE": (b"free", "text/plain", "free"),
    "archive.zip": (b"PK\x03\x04\xff", "application/octet-stream", None),
    "zeros.bin": (b"\0\0", "application/octet-stream", None),
}


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_text_if_it_is_some_and_as_base64_if_not(tmp_path: Path, name: str) -> None:
    data, mime_type, text = READ[name]
    (tmp_path / name).write_bytes(data)
    vault = open_vault(tmp_path)
    uri = uri_of(vault, VaultPath(name))
    resource = read_resource(vault, uri, CAP)
    assert (resource.uri, resource.mime_type, resource.text) == (uri, mime_type, text)
    if text is None:
        assert resource.blob is not None
        assert base64.b64decode(resource.blob, validate=True) == data
    else:
        assert resource.blob is None


def test_the_list_promises_the_media_type_that_reading_gives() -> None:
    for name, (_, mime_type, _) in READ.items():
        assert media_type_of("Folder.png/" + name) in (mime_type, None)
    assert media_type_of("v1.md/README") is None


def test_a_note_is_called_by_its_name_and_any_other_file_with_its_extension() -> None:
    assert (stem("A/Note.md"), stem("A/v1.2.png")) == ("Note", "v1.2.png")


def test_an_attachment_may_be_as_large_as_its_cap_and_a_note_as_its_own(tmp_path: Path) -> None:
    for name, size in {"fits.png": CAP, "large.png": CAP + 1, "fits.md": 2 * CAP, "large.md": 2 * CAP + 1}.items():
        (tmp_path / name).write_bytes(b"x" * size)
    vault = open_vault(tmp_path, max_bytes=2 * CAP)
    for name in ("fits.png", "fits.md"):
        read_resource(vault, uri_of(vault, VaultPath(name)), CAP)
    for name, thing, most in (("large.png", "an attachment", CAP), ("large.md", "a note", 2 * CAP)):
        error = refusal(read_resource, vault, uri_of(vault, VaultPath(name)), CAP)
        assert error.code == "TOO_LARGE"
        assert f"has {most + 1} bytes; {thing} may have at most {most}" in error.message
        assert (error.details["size"], error.details["max_size"]) == (most + 1, most)


def test_a_name_is_no_uri_so_only_the_exact_path_is_read(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== Folder/Note.md\nhello\n"))
    for path in ("Note.md", "Folder/Note", "Note", "Folder", "Folder/", "Nowhere.md"):
        assert refused(read_resource, vault, uri_of(vault, VaultPath(path)), CAP) == "FILE_NOT_FOUND", path


REFUSED = {
    "../secret.md": "PATH_OUTSIDE_VAULT",
    "%2e%2e/secret.md": "PATH_OUTSIDE_VAULT",
    "a/..%2f..%2fsecret.md": "PATH_OUTSIDE_VAULT",
    "..%5Csecret.md": "PATH_OUTSIDE_VAULT",
    "/etc/passwd": "PATH_OUTSIDE_VAULT",
    "%2Fetc/passwd": "PATH_OUTSIDE_VAULT",
    "C:%5Csecret.md": "PATH_OUTSIDE_VAULT",
    "Note.md%00.png": "PATH_OUTSIDE_VAULT",
    "link.md": "PATH_OUTSIDE_VAULT",
    "link.png": "PATH_OUTSIDE_VAULT",
    "folder/secret.md": "PATH_OUTSIDE_VAULT",
    "hidden.md": "PERMISSION_DENIED",
    ".obsidian/app.json": "PERMISSION_DENIED",
    "%2Eobsidian/app.json": "PERMISSION_DENIED",
    ".trash/Note.md": "PERMISSION_DENIED",
    "": "INVALID_ARGUMENTS",
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_hidden_or_outside_is_refused_without_saying_where_that_is(tmp_path: Path, path: str) -> None:
    root = write_vault(tmp_path / "vault", "=== Note.md\n=== .obsidian/app.json\n{}\n=== .trash/Note.md\n")
    write_vault(tmp_path, "=== secret.md\na secret\n=== secret.png\na secret\n")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    (root / "folder").symlink_to(tmp_path)
    (root / "hidden.md").symlink_to(root / ".trash" / "Note.md")
    vault = open_vault(root)
    error = refusal(read_resource, vault, f"obsidian://vault/vault/{path}", CAP)
    assert error.code == REFUSED[path]
    assert str(tmp_path) not in error.message + repr(error.details)


# ---------------------------------------------------------------------- views of bases

BOOKS = """=== Dune.md
---
status: read
rating: 5
---
=== Straße.md
---
status: to read
rating: 3
---
=== Secret/Diary.md
---
status: read
rating: 9
---
=== Straße & co.base
filters: rating
views:
  - {type: table, name: "All #1/2 | x", order: [file.name, rating], summaries: {rating: Sum}}
  - {type: table, name: By status, groupBy: {property: status, direction: ASC}}
=== Odd.base#All.md
a note
=== Broken.base
views: [
"""


@pytest.fixture
def books(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path / "My vault", BOOKS), rules=PathRules(deny=(Rule("deny", "Secret/", 1),)))


def test_a_view_is_a_resource_of_its_own(books: Vault) -> None:
    uri = view_uri_of(books, VaultPath("Straße & co.base"), "All #1/2 | x")
    assert URI.fullmatch(uri.partition("#")[0])
    assert names_view(uri)
    found = read_resource(books, uri, CAP)
    assert (found.uri, found.mime_type, found.blob) == (uri, "text/markdown", None)
    assert found.text == (
        "# Straße & co.base: All #1/2 | x\n\n2 rows\n\n| path | rating |\n|---|---|\n"
        "| Dune.md | 5 |\n| Straße.md | 3 |\n\n- rating: 8\n"
    )


@pytest.mark.parametrize("spelt", ["#All%20%231/2%20%7C%20x", "#", "%23all #1/2 | x", ""])
def test_a_view_is_named_as_links_name_it_and_the_base_alone_is_its_text(books: Vault, spelt: str) -> None:
    found = read_resource(books, uri_of(books, VaultPath("Straße & co.base")) + spelt, CAP)
    assert found.text is not None
    assert found.text.startswith("# Straße" if spelt else "filters:")


def test_groups_are_headings(books: Vault) -> None:
    text = read_resource(books, view_uri_of(books, VaultPath("Straße & co.base"), "By status"), CAP).text
    assert text is not None
    assert "## read (1)\n" in text
    assert "## to read (1)\n" in text


def test_a_file_whose_name_looks_like_a_view_is_that_file(books: Vault) -> None:
    assert read_resource(books, uri_of(books, VaultPath("Odd.base#All.md")), CAP).text == "a note\n"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("Straße & co.base#Nope", "FILE_NOT_FOUND"),
        ("Nowhere.base#All", "FILE_NOT_FOUND"),
        ("Broken.base#All", "INVALID_ARGUMENTS"),
        ("Dune.md#All", "FILE_NOT_FOUND"),
    ],
)
def test_a_view_that_is_not_there_says_so(books: Vault, path: str, code: str) -> None:
    assert refusal(read_resource, books, uri_of(books, VaultPath(path)), CAP).code == code


def test_a_long_view_ends_early_and_says_how_many_rows_are_left(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== B.base\nviews: [{type: table, name: All}]\n")
    for number in range(1005):
        (root / f"{number}.md").touch()
    text = read_resource(open_vault(root), view_uri_of(open_vault(root), VaultPath("B.base"), "All"), CAP).text
    assert text is not None
    assert text.startswith("# B.base: All\n\n1006 rows")
    assert text.endswith("6 more rows: query_base shows them.\n")
    assert text.count(".md |") == 1000


@pytest.mark.parametrize("uri", ["obsidian://vault/v/B.b%61se%23All", "obsidian://vault/v/B.BASE#All"])
def test_no_spelling_hides_that_a_uri_names_a_view(uri: str) -> None:
    assert names_view(uri)
    assert not names_view("obsidian://vault/v/B.base")
    assert not names_view("obsidian://vault/v/%FF.base#All")
