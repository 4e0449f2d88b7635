"""The query language: what each form finds, and errors that point at the character at fault."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.query import MAX_LINES_SHOWN, Match, fold_text, match_note, parse_query


def found(query: str, text: str, path: str = "x.md") -> Match | None:
    return match_note(parse_query(query), path, text)


FINDS = [
    # words: anywhere, in any case, all of them
    ("need", "a needle", True),
    ("NEEDLE", "a Needle", True),
    ("eed", "a needle", True),
    ("a b", "b\n\na", True),
    ("a b", "a c", False),
    ("it's", "it's", True),
    ("50%", "50% off", True),
    ("a-b", "a-b", True),
    ("-", "a - b", True),
    ("or", "for", True),
    ("C++", "C++ rules", True),
    ("http://x", "see http://x/y", True),
    ('a"b', 'a"b', True),
    # phrases: full words, in order, on one line
    ('"red apple"', "a red apple.", True),
    ('"red apple"', "a red apples", False),
    ('"red apple"', "apple red", False),
    ('"red apple"', "red\napple", False),
    ('"RED Apple"', "red apple", True),
    ('"apple"', "pineapple", False),
    ('"apple"', "apple-pie", True),
    ('"apple"', "apple_pie", False),
    ('"say \\"hi\\""', 'I say "hi" now', True),
    ('"a\\\\b"', "a\\b", True),
    ('"C++"', "in C++ now", True),
    ('".md"', "Note.md", True),  # no word begins at a dot, so no edge is asked for
    ('"(see"', "x(see y", True),
    ('"OR"', "this OR that", True),
    ('"-x"', "a -x", True),
    ('"file:"', "file: x", True),
    # without
    ("a -b", "a c", True),
    ("a -b", "a b", False),
    ("-b", "a", True),
    ("-b", "abc", False),
    ('-"red apple"', "red apples", True),
    ('-"red apple"', "red apple", False),
    ("--b", "x -b", False),
    # alternatives
    ("a OR b", "b", True),
    ("a OR b", "c", False),
    ("a b OR c", "c", True),
    ("a b OR c", "a", False),
    ("a OR b -c", "b c", False),
    ("a OR b OR c", "c", True),
    ("a or b", "a b", False),  # only capitals are the operator
    # Unicode
    ("straße", "STRASSE", True),
    ("STRASSE", "straße", True),
    ("caf\u00e9", "cafe\u0301", True),
    ("cafe\u0301", "CAF\u00c9", True),
    ('"caf\u00e9"', "un cafe\u0301 noir", True),
    ("日本", "私は日本語を話す", True),
    ('"日本"', "私は日本語を話す", True),  # no blanks, so no edges
    ("ไทย", "ภาษาไทยง่าย", True),
    ('"ไทย"', "ภาษาไทยง่าย", True),
    ("한국", "한국어", True),
    ("σοφος", "ΣΟΦΟΣ", True),
]


@pytest.mark.parametrize(("query", "text", "expected"), FINDS, ids=[f"{case[0]} in {case[1]!r}" for case in FINDS])
def test_a_query_finds_what_it_says(query: str, text: str, expected: bool) -> None:
    assert (found(query, text) is not None) is expected


@pytest.mark.parametrize(
    ("query", "position", "words"),
    [
        ("", 0, "empty"),
        ("   ", 3, "empty"),
        ('a "b', 2, "never closed"),
        ('a -"b', 2, "never closed"),
        ('"a\\"', 0, "never closed"),
        ('a ""', 2, "nothing to look for"),
        ('a -"  "', 2, "nothing to look for"),
        ("OR a", 0, "before it"),
        ("a OR OR b", 5, "before it"),
        ("a OR", 4, "after it"),
        ("a OR  ", 6, "after it"),
        ("tag:#a", 0, "search_by_tags"),
        ("x Path:a", 2, "Path:"),
        ("x -file:a", 3, "file:"),
        ("section:(a b)", 0, "section:"),
        ("x (a OR b)", 2, "quote it"),
        ("x [status]", 2, "quote it"),
        ("-(a b)", 1, "quote it"),
        ("x /a.b/", 2, "regular expressions"),
    ],
)
def test_a_query_that_cannot_be_served_is_refused_at_the_character_at_fault(
    query: str, position: int, words: str
) -> None:
    error = refusal(parse_query, query)
    assert error.code == INVALID_ARGUMENTS
    assert error.details == {"argument": "query", "position": position}
    assert f"character {position + 1} of" in error.message
    assert words in error.message


@given(st.one_of(st.text(), st.lists(st.sampled_from([*list('"- \\/:()[]ab'), "OR ", "tag:", "é"])).map("".join)))
def test_any_query_is_read_or_refused(query: str) -> None:
    try:
        alternatives = parse_query(query).alternatives
    except VaultError as error:
        position = error.details["position"]
    else:
        position = 0
        assert all(terms and all(term.text for term in terms) for terms in alternatives)
        match_note(parse_query(query), "x.md", query)
    assert 0 <= position <= len(query)


@given(st.text(min_size=1), st.text(), st.text())
def test_every_part_of_a_text_is_found_in_it_whatever_its_case_or_form(part: str, before: str, behind: str) -> None:
    # A blank on both sides, so that no combining mark of the rest joins the part.
    text = f"{before} {part} {behind}"
    term = fold_text(unicodedata.normalize("NFD", part))
    assert term in fold_text(text)
    assert term in fold_text(unicodedata.normalize("NFD", text))


def test_a_term_counts_in_the_name_too() -> None:
    match = found("plan money", "about money", "Work/Plan.md")
    assert match is not None
    assert (match.matches, [line.text for line in match.lines]) == (1, ["about money"])
    assert found("work", "x", "Work/Plan.md") is None  # the folder is not the name
    assert found("plan -money", "x", "Plan.md") is not None
    assert found("money -plan", "money", "Plan.md") is None


def test_all_matching_lines_are_counted_and_the_first_few_shown_with_their_numbers() -> None:
    text = "\n".join(["x", "needle"] * 20)
    match = found("needle", text)
    assert match is not None
    assert match.matches == 20
    assert [line.number for line in match.lines] == [2, 4, 6, 8, 10][:MAX_LINES_SHOWN]


def test_a_name_beats_a_heading_and_a_heading_beats_a_mention() -> None:
    scores = [
        match.score
        for match in (
            found("plan", "x", "Plan.md"),
            found("plan", "# plan"),
            found("plan", "plan\nplan"),
            found("plan", "plan"),
        )
        if match is not None
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


def test_mentions_without_end_do_not_beat_a_name() -> None:
    many, name = found("plan", "plan\n" * 1000), found("plan", "plan", "plan.md")
    assert many is not None
    assert name is not None
    assert name.score > many.score


@pytest.mark.parametrize("start", [0, 100, 5000, 9990])
def test_a_long_line_is_cut_around_its_match(start: int) -> None:
    match = found("needle", "x" * start + " needle " + "y" * (10_000 - start))
    assert match is not None
    assert "needle" in match.lines[0].text
    assert len(match.lines[0].text) <= 202


def test_a_line_is_shown_as_it_is_written() -> None:
    match = found("straße", "  Die STRASSE ist LANG  ")
    assert match is not None
    assert match.lines[0].text == "Die STRASSE ist LANG"
