"""Characters that nobody sees, letters that look alike, line ends and spaces: marked in their places and counted."""

# ruff: noqa: RUF001 - letters that look alike are what is tested

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.review.diff import file_diff
from vaultwire.review.diff.parts import hidden_in, name_of, visible


def notices(before: str | bytes, after: str | bytes, path: str = "Note.md") -> dict[str, tuple[int, str]]:
    old, new = (text.encode() if isinstance(text, str) else text for text in (before, after))
    return {each["what"]: (each["count"], each["words"]) for each in file_diff(path, old, new)["notices"]}


def marks(before: str, after: str) -> list[tuple[str, str]]:
    """Return the marked parts of the new lines that changed, each with its mark."""
    view = file_diff("Note.md", before.encode(), after.encode())
    rows = [row for hunk in view["hunks"] for row in hunk["rows"] if row["kind"] in ("added", "changed")]
    parts: list[dict[str, Any]] = [part for row in rows for part in row.get("new_parts", row["parts"])]
    return [
        (part["t"], part.get("hidden") or part["lookalike"]) for part in parts if {"hidden", "lookalike"} & part.keys()
    ]


HIDDEN = [
    ("a \u202eb", "\u202e", "U+202E right-to-left override", "direction"),
    ("a \u2066b", "\u2066", "U+2066 left-to-right isolate", "direction"),
    ("שלום \u202bb", "\u202b", "U+202B right-to-left embedding", "direction"),
    ("a\u200eb", "\u200e", "U+200E left-to-right mark", "direction"),
    ("pay\u200bpal", "\u200b", "U+200B zero width space", "zero-width"),
    ("pay\u200cpal", "\u200c", "U+200C zero width non-joiner", "zero-width"),
    ("pay\u200dpal", "\u200d", "U+200D zero width joiner", "zero-width"),
    ("a\u2060b", "\u2060", "U+2060 word joiner", "zero-width"),
    ("a\ufeffb", "\ufeff", "U+FEFF zero width no-break space", "zero-width"),
    ("می\u200c\u200cخواهم", "\u200c", "U+200C zero width non-joiner", "zero-width"),
    ("a\u00adb", "\u00ad", "U+00AD soft hyphen", "invisible"),
    ("a\x1bb", "\x1b", "U+001B escape", "invisible"),
    ("a\u0085b", "\u0085", "U+0085 next line", "invisible"),
    ("a\u2028b", "\u2028", "U+2028 line separator", "invisible"),
    ("a\u3164b", "\u3164", "U+3164 hangul filler", "invisible"),
    ("a\U000e0041b", "\U000e0041", "U+E0041 tag latin capital letter a", "invisible"),
    ("a\ufe01", "\ufe01", "U+FE01 variation selector-2", "invisible"),
    ("😀\ufe0f\ufe01", "\ufe01", "U+FE01 variation selector-2", "invisible"),
    ("a\u00a0b", "\u00a0", "U+00A0 no-break space", "space"),
    ("\u00a0- item", "\u00a0", "U+00A0 no-break space", "space"),
    ("a\u2003b", "\u2003", "U+2003 em space", "space"),
]


@pytest.mark.parametrize(("line", "character", "name", "what"), HIDDEN)
def test_a_hidden_character_is_a_part_of_its_own_and_counted(line: str, character: str, name: str, what: str) -> None:
    assert marks("x\n", line + "\n") == [(character, name)]
    found = notices("x\n", line + "\n")
    assert set(found) == {what}
    assert found[what][0] == 1
    assert name in found[what][1]


USUAL = [
    "family 👨\u200d👩\u200d👧\u200d👦, 👩🏽\u200d🚀, ❤\ufe0f\u200d🔥, 🏳\ufe0f\u200d🌈",
    "1\ufe0f\u20e3 and ©\ufe0f and ☀\ufe0e",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "می\u200cخواهم",
    "क्\u200dष and ക്\u200c",
    "ශ්\u200dරී",
    "العربية \u200f(abc)\u200f",
    "שלום\u200e 5",
    "ภาษา\u200bไทย",
    "葛\U000e0100",
    "Vraiment\u00a0? «\u00a0oui\u00a0» 10\u00a0km 1\u202f000",
    "日本語\u3000です",
    "e\u0301 Å ñ ö \t tab",
    "⠓\u2800⠊",
    "Привет, мир: это USB-кабель",
    "αβγ and ΔT = 5 μm, Ωmega? no",
    "Ελληνικά και English",
]


@pytest.mark.parametrize("line", USUAL)
def test_what_a_script_needs_is_not_marked(line: str) -> None:
    assert marks("x\n", line + "\n") == []
    assert notices("x\n", line + "\n") == {}


@given(st.text(alphabet="ab ש字👩\u200d\u200c\u200b\u202e\u200f\ufe0f\u00a0\x07\U000e0041", max_size=30))
def test_a_text_for_labels_has_no_hidden_character_that_is_not_usual(text: str) -> None:
    assert not [
        mark for mark in hidden_in(visible(text)) if mark.kind == "direction" and mark.name != name_of("\u200f")
    ]
    for mark in hidden_in(text):
        assert mark.name in visible(text)


ALWAYS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2060\ufeff\x00\x07\x7f\u0085\u00ad\u2028"
odd_lines = st.lists(
    st.text(alphabet="ab -[]|#\tש字👩\u200d" + ALWAYS.replace("\x00", ""), max_size=20), min_size=1, max_size=6
)


@given(odd_lines, odd_lines)
def test_a_hidden_character_never_stands_in_a_part_with_others(before: list[str], after: list[str]) -> None:
    view = file_diff("N.md", ("k\n" + "\n".join(before)).encode(), ("k\n" + "\n".join(after)).encode())
    for hunk in view["hunks"]:
        for row in hunk["rows"]:
            for part in [
                *row["parts"],
                *row.get("new_parts", []),
                *(each for cell in row.get("cells", []) for each in cell),
            ]:
                if any(character in ALWAYS for character in part["t"]):
                    assert len(part["t"]) == 1
                    assert part["hidden"].startswith("U+")
                assert "\u202e" not in row.get("note", "")


def test_a_hidden_character_in_an_unchanged_line_is_marked_and_not_counted() -> None:
    view = file_diff("Note.md", "a\u202eb\nx\n".encode(), "a\u202eb\ny\n".encode())
    (row,) = [row for row in view["hunks"][0]["rows"] if row["kind"] == "same"]
    assert [part.get("hidden") for part in row["parts"]] == [None, "U+202E right-to-left override", None]
    assert view["notices"] == []


def test_a_no_break_space_that_stays_is_not_marked() -> None:
    assert marks("one\u00a0two three\n", "one\u00a0two four\n") == []
    assert notices("one\u00a0two three\n", "one\u00a0two four\n") == {}
    assert marks("one two three\n", "one\u00a0two three\n") == [("\u00a0", "U+00A0 no-break space")]


def test_spaces_at_the_end_that_stay_are_no_news() -> None:
    assert notices("one two  \n", "one three  \n") == {}


def test_hidden_characters_that_are_removed_are_said() -> None:
    count, words = notices("a\u200bb\n", "ab\n")["zero-width"]
    assert (count, words) == (0, "1 character without width removed: U+200B zero width space.")


def test_hidden_characters_in_properties_links_and_names_are_named() -> None:
    view = file_diff("N.md", b"---\na: b\n---\n[x](c)\n", "---\na: b\u202ec\n---\n[x](d\u202ee)\n".encode())
    assert view["properties"][0]["new"]["text"] == "b[U+202E right-to-left override]c"
    assert "\u202e" not in view["links"][0]["words"]
    assert "[U+202E right-to-left override]" in view["links"][0]["words"]


# ------------------------------------------------------------------ look-alikes


LOOKALIKES = [
    ("x", "p\u0430ypal", [("\u0430", "Cyrillic \u0430")]),
    ("x", "сpок", [("p", "Latin p")]),
    ("x", "G\u039fOGLE", [("\u039f", "Greek \u039f")]),
    ("to pay now", "to р\u0430у now", [("р", "Cyrillic р"), ("\u0430", "Cyrillic \u0430"), ("у", "Cyrillic у")]),
    ("key aIl0", "key aI10", [("1", "digit 1")]),
    ("call Bill now", "call BiIl now", [("I", "Latin capital I")]),
]


@pytest.mark.parametrize(("before", "after", "expected"), LOOKALIKES)
def test_letters_that_look_like_others_are_marked(before: str, after: str, expected: list[tuple[str, str]]) -> None:
    assert marks(before + "\n", after + "\n") == expected
    assert notices(before + "\n", after + "\n")["lookalike"][0] == len(expected)


def test_a_word_in_its_own_letters_again_marks_the_old_one() -> None:
    assert marks("the р\u0430у day\n", "the pay day\n") == []
    assert notices("the р\u0430у day\n", "the pay day\n")["lookalike"][1].startswith(
        "3 letters that look like others removed"
    )


# ------------------------------------------------------------------ bytes and spaces


def test_other_line_ends_are_one_notice_and_no_hunk() -> None:
    view = file_diff("Note.md", b"a\r\nb\r\n", b"a\nb\n")
    assert (view["hunks"], view["added"]) == ([], 0)
    assert view["notices"] == [
        {
            "what": "line-ends",
            "count": 2,
            "words": "The line ends are those of Linux and macOS (LF) now; they were those of Windows (CRLF) before. "
            "No word changes.",
        }
    ]


def test_mixed_line_ends_are_said() -> None:
    assert "mixed (CRLF and LF)" in notices(b"a\r\nb\r\n", b"a\r\nb\n")["line-ends"][1]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b"a\n", b"\xef\xbb\xbfa\n", "The file begins with a byte order mark (U+FEFF) now."),
        (b"\xef\xbb\xbfa\n", b"a\n", "The file has no byte order mark (U+FEFF) any more."),
    ],
)
def test_a_byte_order_mark_is_said(before: bytes, after: bytes, words: str) -> None:
    assert notices(before, after) == {"bom": (1, words)}


def test_a_line_end_at_the_end_is_said() -> None:
    assert notices(b"a\nb\n", b"a\nb") == {"final-newline": (1, "The last line ends without a line end now.")}


def test_spaces_at_the_end_of_changed_lines_are_marked_and_counted() -> None:
    before, after = "one  \ntwo\n\nthree\n", "one  \nTwo  \n\nthree \n"
    assert marks(before, after) == [("  ", "2 spaces at the end"), (" ", "1 space at the end")]
    count, words = notices(before, after)["trailing-spaces"]
    assert (count, words) == (
        2,
        "2 changed lines end with spaces or tabs; two spaces there are a line break in Markdown (1 line).",
    )
    assert notices("a \n", "a\n")["trailing-spaces"] == (0, "The spaces at the end of 1 line are gone.")


def test_tabs_in_place_of_spaces_are_marked_and_counted() -> None:
    before, after = "- a\n    - b\n    - c\n", "- a\n\t- b\n\t- c\n"
    assert marks(before, after) == [("\t", "1 tab"), ("\t", "1 tab")]
    assert notices(before, after)["tabs"] == (2, "2 lines are indented with tabs now, with spaces before.")


def test_bytes_that_are_no_text_are_shown_and_said() -> None:
    view = file_diff("Note.md", b"caf\xe9\n", "café\n".encode())
    assert "\ufffd" in "".join(part["t"] for part in view["hunks"][0]["rows"][0]["parts"])
    assert [each["words"] for each in view["notices"]] == [
        "1 piece of the file is no text in UTF-8 before, shown as �."
    ]
    count, words = notices(b"caf\xe9\n", b"caf\xe9!\n")["not-utf-8"]
    assert (count, words) == (1, "1 piece of the file is no text in UTF-8: each is shown as �, and the file keeps it.")
