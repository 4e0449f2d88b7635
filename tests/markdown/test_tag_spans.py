"""Every place of a tag is found, exactly where the note's tags come from, and renaming changes nothing besides."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.tag_spans import TagError, TagSpan, check_tag, rename_tag, renamed_tag, tag_spans

HELP = Path(__file__).parents[3] / "shared" / "vaults" / "obsidian-help"

# Pieces that mean something to lines and to YAML, so that random notes reach their corners.
PROSE = st.sampled_from([
    "\n", "\n\n", "#a", "#b/c", "#A/x", " #b", "_#a_", "#", "# ", "`", "```", "$", "$$", "<!--", "-->", "<div>", "[[", "]]",
    "](", ")", "> ", "- ", "|", "\\", "/", "x", "\u00a0", "[[a]]", "[d](e#a)", "%%", "$x$", "`#a`", "&", "---", "    ",
])  # fmt: skip
YAML = st.sampled_from([
    "tags: ", "tags:", "Tags: ", '"tags": ', "x: ", "\n", "\n  - ", "\n- ", "a", "b/c", "A/x", "#a", "'", '"', ", ", ",", "[",
    "]", "{", "}", " ", "\\", "&x ", "*x", "!!str ", "|\n  ", ">-\n  ", " # c", "\t", "1e3", "null", "''", "\\u0061", "\\\n  ",
    "\x01", "\u2028", "a: b: c\n", "? ", ": ", "\n  ", "---\n", '"#a"', "'b'", "\r", "-",
])  # fmt: skip
BODIES = st.lists(PROSE, max_size=20).map("".join)
BLOCKS = st.lists(YAML, max_size=12).map(lambda pieces: "---\ntags: " + "".join(pieces) + "\n---\n")
NOTES = st.one_of(BODIES, st.builds(str.__add__, BLOCKS, BODIES), st.text())
TEXTS = st.one_of(NOTES, NOTES.map(lambda text: text.replace("\n", "\r\n")))


def _folded(tags: list[str]) -> set[str]:
    return {tag.casefold() for tag in tags}


def check_spans(text: str) -> list[TagSpan]:
    """Return the spans of a text, once they are what the note's own reading says."""
    spans = tag_spans(text)
    assert _folded([span.tag for span in spans]) == _folded(parse_note(to_plain(text)).tags)
    plain = to_plain(text)
    top = plain.count("\n", 0, parse_note(plain).frontmatter.end)
    for span in spans:
        assert span.line == text.count("\n", 0, span.start) + 1
        if span.line > top:
            assert text[span.start : span.end] == span.tag
    return spans


@given(TEXTS)
@example("`[[a]]`$x$ #a `#a` #b")
@example("---\ntags: &x\n  - a\n  - '#b'\n---\n")
@example("---\ntags:\n- \ta\n---\n")  # a tab that libyaml refuses
@example("---\ntags: [a]\nx: a: b\n---\n")  # no YAML as a whole
@example('---\r\ntags: "a\\\r\n  b"\r\n---\r\n')
def test_the_tags_found_in_any_text_are_those_of_the_note(text: str) -> None:
    check_spans(text)


def test_the_tags_found_in_real_notes_are_those_of_the_note() -> None:
    notes = sorted(HELP.rglob("*.md"))
    if not notes:
        pytest.skip("no copy of obsidian-help")
    texts = [note.read_bytes().decode() for note in notes]
    assert sum(len(check_spans(text)) for text in texts) == 10
    assert sum(len(check_spans(to_plain(text).replace("\n", "\r\n"))) for text in texts) == 10


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("x #a #b/c", ["a", "b/c"]),
        ("[[x#a]] #a `#a` #a", ["a", "a"]),
        ("x _#uc_ #uc", ["uc", "uc"]),
        ("#/a/ #a", ["a", "a"]),
        ("---\ntags: a #b\n---\n", ["a"]),  # ' #' begins a comment
        ("---\ntags: a,#b,c\n---\n", []),
        ("---\ntags: [a, 'b', \"#c\"]\n---\n#d", ["a", "b", "c", "d"]),
        ('---\ntags:\n  - a # not b\n  - "\\x62"\n---\n', ["a", "\\x62"]),
        ("---\ntags: |\n  a\n---\n", ["a"]),
        ("---\nother: &t old\ntags: [*t, a]\n---\n", ["old", "a"]),
        ("---\ntags: [a b, 12, true, {a: b}, [c], d]\n---\n", ["d"]),
        ("---\ntag: a\n---\n", []),
    ],
)
def test_a_span_is_the_name_as_it_is_written(text: str, places: list[str]) -> None:
    for written in (text, text.replace("\n", "\r\n")):
        assert [written[span.start : span.end] for span in tag_spans(written)] == places


RENAMED = [
    # inline
    ("x #old.", "x #new."),
    ("#old #OLD #Old/Sub #older #x/old", "#new #new #new/Sub #older #x/old"),
    ("#old#old", "#new#new"),
    ("_#old_ | #old |", "_#new_ | #new |"),
    ("`#old` [[n#old]] <!-- #old --> $#old$ #old", "`#old` [[n#old]] <!-- #old --> $#old$ #new"),
    ("```\n#old\n```\n#old\n", "```\n#old\n```\n#new\n"),
    ("a\r\n#old\r\n", "a\r\n#new\r\n"),
    # the property keeps its form
    ("---\ntags: old\n---\n", "---\ntags: new\n---\n"),
    ("---\ntags: old  # why\n---\n", "---\ntags: new  # why\n---\n"),
    ("---\ntags: old/x\n---\n", "---\ntags: new/x\n---\n"),
    ("---\ntags: a, old/x b\n---\n#old", "---\ntags: a, old/x b\n---\n#new"),  # no tag: it has spaces
    ("---\nTags: '#old'\n---\n", "---\nTags: '#new'\n---\n"),
    ("---\ntags: [ old , 'old/x', \"#a\" ]\n---\n", "---\ntags: [ new , 'new/x', \"#a\" ]\n---\n"),
    ("---\ntags:\n- old\n-   OLD/x # c\n---\n", "---\ntags:\n- new\n-   new/x # c\n---\n"),
    ("---\ntags: >-\n  old\n---\n", "---\ntags: >-\n  new\n---\n"),
    ("---\r\ntags:\r\n  - old\r\n---\r\n", "---\r\ntags:\r\n  - new\r\n---\r\n"),
    ("---\nx: [old\ntags: [old]\n---\n", "---\nx: [old\ntags: [new]\n---\n"),  # broken, and its tags read all the same
    ("---\nother: old\ntag: old\n---\n#old", "---\nother: old\ntag: old\n---\n#new"),
    ("---\ntags: [old b]\n---\n#old", "---\ntags: [old b]\n---\n#new"),  # no tag: it has a space
    # what would be there twice is there once
    ("---\ntags: [new, old, b]\n---\n", "---\ntags: [new, b]\n---\n"),
    ("---\ntags: [old, NEW]\n---\n", "---\ntags: [NEW]\n---\n"),
    ("---\ntags: [a, old, OLD, new]\n---\n", "---\ntags: [a, new]\n---\n"),
    ("---\ntags: [new, old, OLD]\n---\n", "---\ntags: [new]\n---\n"),
    ("---\ntags: [old, OLD]\n---\n", "---\ntags: [new]\n---\n"),
    ("---\ntags:\n  - new\n  - old # gone\n  - b\n---\n", "---\ntags:\n  - new\n  - b\n---\n"),
    ("---\ntags:\n  - old/x\n  - >-\n    old\n  - new\n---\n", "---\ntags:\n  - new/x\n  - new\n---\n"),
    ("---\r\ntags:\r\n- new\r\n- old\r\n---\r\n", "---\r\ntags:\r\n- new\r\n---\r\n"),
    ("---\ntags: [new]\n---\n#old", "---\ntags: [new]\n---\n#new"),  # each place by itself
    # aliases have their text elsewhere
    ("---\nx: &t old\ntags: [*t]\n---\n", "---\nx: &t new\ntags: [*t]\n---\n"),
    ("---\nx: &t old\ntags: [new, *t]\n---\n", "---\nx: &t old\ntags: [new]\n---\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RENAMED, ids=[repr(case[0]) for case in RENAMED])
def test_a_tag_is_renamed_in_place(text: str, expected: str) -> None:
    assert rename_tag(text, "old", "new") == expected
    assert rename_tag(text, "#OLD", "#new") == expected


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("---\ntags: [old]\n---\n", "null", '---\ntags: ["null"]\n---\n'),
        ("---\ntags:\n  - old\n---\n", "1e3", '---\ntags:\n  - "1e3"\n---\n'),
        ("---\ntags: old # c\n---\n", "-", '---\ntags: "-" # c\n---\n'),
        ("---\ntags: old\n---\n", "true", '---\ntags: "true"\n---\n'),
        ("---\ntags: ['old']\n---\n", "null", "---\ntags: ['null']\n---\n"),
        ("---\ntags: [old]\n---\n", "日本/🔥", "---\ntags: [日本/🔥]\n---\n"),
    ],
)
def test_a_name_that_yaml_takes_for_something_else_gets_quotes(text: str, new: str, expected: str) -> None:
    assert rename_tag(text, "old", new) == expected


def test_a_tag_goes_below_another_and_comes_up_again() -> None:
    assert rename_tag("#a #a/b #x/a", "a", "x/a") == "#x/a #x/a/b #x/a"
    assert rename_tag("#x/a/b #x", "X/A", "a") == "#a/b #x"
    assert renamed_tag("STRASSE/x", "straße", "weg") == "weg/x"


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("a b", "no spaces"),
        ("", "no digit"),
        ("#", "no digit"),
        ("1984", "no digit"),
        ("a.b", "punctuation"),
        ("a,b", "punctuation"),
        ("##a", "punctuation"),
        ("a\u2014b", "punctuation"),
        ("/a", "slash"),
        ("a/", "slash"),
        ("a//b", "slash"),
        ("a\x01", "control"),
        ("a\ud800", "control"),
    ],
)
def test_what_is_no_tag_is_refused_with_the_reason(tag: str, reason: str) -> None:
    with pytest.raises(TagError, match=reason):
        check_tag(tag)
    with pytest.raises(TagError, match=reason):
        rename_tag("#old", "old", tag)


@pytest.mark.parametrize("tag", ["a", "y1984", "1/2", "a-b_c/d", "тег", "日本", "🔥", "#a"])
def test_what_is_a_tag_is_taken_without_its_mark(tag: str) -> None:
    assert check_tag(tag) == tag.removeprefix("#")


def test_a_place_that_would_be_read_as_another_tag_is_refused() -> None:
    with pytest.raises(TagError, match="another tag"):
        rename_tag("_#old_", "old", "new_")


@given(TEXTS)
def test_outside_of_tags_every_character_stays(text: str) -> None:
    """With a name that is nowhere: nothing is left out, so what is between the spans is the same."""
    try:
        renamed = rename_tag(text, "a", "unused-\u00e9")
    except TagError:
        return
    assert _between(renamed) == _between(text)
    wanted = [renamed_tag(tag, "a", "unused-\u00e9").casefold() for tag in _unlike(text)]
    assert [tag.casefold() for tag in _unlike(renamed)] == list(dict.fromkeys(wanted))


def _between(text: str) -> list[str]:
    """Return what lies between a text's tags; a property that could have two alike counts as one tag."""
    spans = tag_spans(text)
    top = parse_note(to_plain(text)).frontmatter.end
    lines = to_plain(text).count("\n", 0, top)
    position = 0
    for _ in range(lines):
        position = text.index("\n", position) + 1
    pieces = []
    for span in spans:
        if span.line > lines:
            pieces.append(text[position : span.start])
            position = span.end
    return [*pieces, text[position:]]


def _unlike(text: str) -> list[str]:
    return list({span.tag.casefold(): span.tag for span in tag_spans(text)})


@given(
    st.lists(st.sampled_from(["old", "old/x", "b", "c/old"]), unique=True, max_size=4),
    st.sampled_from(["flow", "block", "text", "quoted"]),
    BODIES.map(lambda text: text.replace("A/x", "old").replace("#a", "#old")),
    st.sampled_from(["\n", "\r\n"]),
)
def test_renaming_there_and_back_is_the_same_bytes(tags: list[str], form: str, body: str, ending: str) -> None:
    written = {
        "flow": f"tags: [{', '.join(tags)}] # c",
        "block": "\n  - ".join(["tags:", *tags]),
        "text": f"tags: {', '.join(tags)}",
        "quoted": f"tags: '{' '.join('#' + tag for tag in tags)}'",
    }[form]
    text = f"---\n{written}\nx: old\n---\n{body}".replace("\n", ending)
    there = rename_tag(text, "old", "brand-new")
    assert not any(tag.split("/")[0] == "old" for tag in _unlike(there))
    assert rename_tag(there, "brand-new", "old") == text


REPEATED = [
    "#a", "#a ", "`#a`", "[[#a]]", "$#a$ ", "#a `", "_#a", "|#a", "#a\n", "a,", "'a',", '"a",', "\\", "\\u0061", "''", "- a\n",
    "#", "#a/", "&x ", "[", "a: b: c\n", "tags: a\n", "tags: [a\n",
]  # fmt: skip


FRAMES = ["{}", "---\ntags: {}\n---\n", '---\ntags: "{}"\n---\n', "---\ntags: [{}]\n---\n", "---\ntags:\n{}---\n"]


@pytest.mark.parametrize("piece", REPEATED)
def test_long_texts_take_time_in_proportion(piece: str) -> None:
    """100 KB each: one quadratic step would take minutes, and the test's own time limit ends it."""
    frames = FRAMES[:1] if "#a" in piece else FRAMES[1:]
    if (
        os.environ.get("HYPOTHESIS_PROFILE") != "soak"
    ):  # each piece in half of its frames, in which is up to the run's seed
        first = random.Random(f"{os.environ['VAULTWIRE_SEED']} {piece}").randrange(2)
        frames = frames[first::2] or frames
    for frame in frames:
        text = frame.format(piece * (100_000 // len(piece)))
        try:
            rename_tag(text, "a", "b")
        except TagError:
            pass
