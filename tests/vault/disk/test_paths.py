"""Which texts may name a note: what is refused with which code, and that nothing accepted can leave the vault."""

from __future__ import annotations

import ntpath
import os
import posixpath
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.vault.disk.paths import (
    check_new_names,
    compose,
    fold,
    is_note,
    parse_folder,
    parse_note_path,
    parse_path,
    stem,
)
from vaultwire.vault.errors import INVALID_ARGUMENTS, PATH_OUTSIDE_VAULT, PERMISSION_DENIED, VaultError

REFUSED = [
    ("..", PATH_OUTSIDE_VAULT),
    ("../x.md", PATH_OUTSIDE_VAULT),
    ("a/../../x.md", PATH_OUTSIDE_VAULT),
    ("a/../x.md", PATH_OUTSIDE_VAULT),
    ("a/..", PATH_OUTSIDE_VAULT),
    ("./K:", PATH_OUTSIDE_VAULT),
    ("..\\x.md", PATH_OUTSIDE_VAULT),
    ("a\\..\\x.md", PATH_OUTSIDE_VAULT),
    ("/etc/passwd", PATH_OUTSIDE_VAULT),
    ("//server/share/x.md", PATH_OUTSIDE_VAULT),
    ("\\\\server\\share\\x.md", PATH_OUTSIDE_VAULT),
    ("\\\\?\\C:\\x.md", PATH_OUTSIDE_VAULT),
    ("\\x.md", PATH_OUTSIDE_VAULT),
    ("C:\\x.md", PATH_OUTSIDE_VAULT),
    ("C:/x.md", PATH_OUTSIDE_VAULT),
    ("c:x.md", PATH_OUTSIDE_VAULT),
    ("é:x.md", PATH_OUTSIDE_VAULT),  # a drive to Windows, as any character before a colon
    ("e\u0301:x.md", PATH_OUTSIDE_VAULT),  # which is stored as the one above
    ("\u212a:/x.md", PATH_OUTSIDE_VAULT),  # the Kelvin sign, which NFC makes a K
    ("x\0.md", PATH_OUTSIDE_VAULT),
    ("x\n.md", PATH_OUTSIDE_VAULT),
    ("x\x1b.md", PATH_OUTSIDE_VAULT),
    ("x\x7f.md", PATH_OUTSIDE_VAULT),
    ("CON", PATH_OUTSIDE_VAULT),
    ("con.md", PATH_OUTSIDE_VAULT),
    ("Con.tar.md", PATH_OUTSIDE_VAULT),
    ("nul .md", PATH_OUTSIDE_VAULT),
    ("PRN/x.md", PATH_OUTSIDE_VAULT),
    ("aux\\x.md", PATH_OUTSIDE_VAULT),
    ("a/com1.md", PATH_OUTSIDE_VAULT),
    ("LPT9", PATH_OUTSIDE_VAULT),
    ("com\u00b9.md", PATH_OUTSIDE_VAULT),
    ("CONIN$", PATH_OUTSIDE_VAULT),
    (".obsidian/app.json", PERMISSION_DENIED),
    (".trash/x.md", PERMISSION_DENIED),
    ("a/.hidden/x.md", PERMISSION_DENIED),
    (".x.md", PERMISSION_DENIED),
    ("...", PERMISSION_DENIED),
    (".. /x.md", PERMISSION_DENIED),  # Windows drops the blank
    ("", INVALID_ARGUMENTS),
    (".", INVALID_ARGUMENTS),
    ("./", INVALID_ARGUMENTS),
    ("x\ud800.md", INVALID_ARGUMENTS),
]


@pytest.mark.parametrize(("text", "code"), REFUSED, ids=[ascii(case[0]) for case in REFUSED])
def test_what_could_leave_the_vault_is_refused_with_a_code(text: str, code: str) -> None:
    for parse in (parse_path, parse_note_path):
        with pytest.raises(VaultError) as caught:
            parse(text)
        assert caught.value.code == code
        assert "\n" not in caught.value.message


ACCEPTED = [
    ("x.md", "x.md"),
    ("a/b/x.md", "a/b/x.md"),
    ("a\\b\\x.md", "a/b/x.md"),
    ("./a/./x.md", "a/x.md"),
    ("a//x.md", "a/x.md"),
    ("a/", "a"),
    ("x", "x"),
    ("C# notes", "C# notes"),
    ("v1.2", "v1.2"),
    ("what?.md", "what?.md"),  # may be there on this system
    ("console.md", "console.md"),
    ("com10.md", "com10.md"),
    ("a..b.md", "a..b.md"),
    ("a...", "a..."),
    (" x .md", " x .md"),
    ("日本/🔥.md", "日本/🔥.md"),
    ("cafe\u0301.md", "cafe\u0301.md"),  # the form stays: it may tell two notes apart
    ("caf\u00e9.md", "caf\u00e9.md"),
]


@pytest.mark.parametrize(("text", "path"), ACCEPTED, ids=[ascii(case[0]) for case in ACCEPTED])
def test_other_texts_are_paths(text: str, path: str) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("x", "x.md"),
        (" x ", "x.md"),
        ("x.md", "x.md"),
        ("x.MD", "x.MD"),
        ("a/x", "a/x.md"),
        ("v1.2", "v1.2.md"),
        ("Mr. Smith", "Mr. Smith.md"),
        ("2024.01.05", "2024.01.05.md"),
        ("C# notes", "C# notes.md"),
    ],
)
def test_a_note_that_is_to_be_written_ends_in_md(text: str, path: str) -> None:
    assert parse_note_path(text) == path


@pytest.mark.parametrize("text", ["x.txt", "a/x.png", "x.canvas", "Node.js", "a/", "a\\", "x.md/", "  "])
def test_what_is_no_note_cannot_be_written(text: str) -> None:
    with pytest.raises(VaultError) as caught:
        parse_note_path(text)
    assert caught.value.code == INVALID_ARGUMENTS


@pytest.mark.parametrize(
    "name",
    [
        "a:b.md",
        "a<b.md",
        "a>b.md",
        'a"b.md',
        "a|b.md",
        "a?.md",
        "a*.md",
        "a.",
        "a ",
        " a.md",
        "x" * 253 + ".md",
        "é" * 127 + ".md",
    ],
)
def test_new_names_travel_to_every_system(name: str) -> None:
    with pytest.raises(VaultError) as caught:
        check_new_names([name])
    assert caught.value.code == INVALID_ARGUMENTS
    assert len(caught.value.message) < 200


def test_new_names_may_be_as_long_as_file_systems_allow() -> None:
    check_new_names(["x" * 252 + ".md", "é" * 126 + ".md", "a b", "C# notes.md"])


@pytest.mark.parametrize("text", ["", ".", "/", "./", " "])
def test_the_whole_vault_is_a_folder_too(text: str) -> None:
    assert parse_folder(text) is None


def test_a_folder_is_a_path_like_any() -> None:
    assert parse_folder("a\\b/") == "a/b"
    with pytest.raises(VaultError):
        parse_folder("../a")


HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "..",
                ".",
                "/",
                "\\",
                "C:",
                "~",
                " ",
                "\0",
                "con",
                ".md",
                "\u212a:",
                "\uff0e\uff0e",
                "\u2024",
                "\u2215",
                "a",
                "%2e",
            ]
        ),
        st.characters(),
    ),
    max_size=12,
).map("".join)


@given(HOSTILE)
def test_whatever_is_accepted_stays_in_the_vault_on_every_system(text: str) -> None:
    for parse in (parse_path, parse_note_path):
        try:
            path = parse(text)
        except VaultError:
            continue
        for spelt in (path, compose(path)):
            assert posixpath.normpath(posixpath.join("/vault", spelt)).startswith("/vault/")
            assert ntpath.normpath(ntpath.join("V:\\vault", spelt)).startswith("V:\\vault\\")
            assert not any(part.startswith(".") or part == "" for part in spelt.split("/"))
        os.fsencode(path)
        assert "\0" not in path


@given(st.text(), st.text())
def test_names_that_differ_in_case_or_form_only_are_the_same_name(name: str, other: str) -> None:
    key = fold(name)
    assert fold(unicodedata.normalize("NFD", name)) == fold(unicodedata.normalize("NFC", name)) == key
    assert fold(name.casefold()) == key
    assert (fold(other) == key) == (fold(unicodedata.normalize("NFD", other)) == key)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/x.md", "x"), ("x.MD", "x"), ("x", "x"), ("a/v1.2.md", "v1.2"), ("x.md.md", "x.md"), (".md", "")],
)
def test_a_note_is_named_by_its_last_part_without_md(path: str, name: str) -> None:
    assert stem(path) == name
    assert is_note(path) is path.lower().endswith(".md")
