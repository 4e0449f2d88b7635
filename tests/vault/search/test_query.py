"""The query language as such: what is read as what, and errors that point at the character at fault."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.query import MAX_DEPTH, And, Expression, Not, Or, Within, parse_query
from vaultwire.vault.search.terms import Text


def word(text: str) -> Text:
    return Text(text, full_words=False, match_case=False)


READINGS: list[tuple[str, Expression]] = [
    ("a b OR c", Or((And((word("a"), word("b"))), word("c")))),
    ("a (b OR c)", And((word("a"), Or((word("b"), word("c")))))),
    ("((a))", word("a")),
    ("a(b)", And((word("a"), word("b")))),
    ("a OR(b)", Or((word("a"), word("b")))),
    ("-(a b)", Not(And((word("a"), word("b"))))),
    ("--a", Not(word("-a"))),
    ("- a", And((word("-"), word("a")))),
    ("-", word("-")),
    ("(-)", word("-")),
    ("-OR", Not(word("OR"))),
    ("ORb", word("ORb")),
    ("FILE:a", Within("file", word("a"))),
    ("-line:(a b)", Not(Within("line", And((word("a"), word("b")))))),
    ("match-case:a", Text("a", full_words=False, match_case=True)),
    ("match-case:(a ignore-case:b)", And((Text("a", full_words=False, match_case=True), word("b")))),
    ("line:match-case:a", Within("line", Text("a", full_words=False, match_case=True))),
    ("tag:#a/b", Within("tag", word("a/b"))),
    ('task:""', Within("task", And(()))),
    ("file:a:b", Within("file", word("a:b"))),
    # Plain text, though it looks like something else.
    ("http://x", word("http://x")),
    ("12:30", word("12:30")),
    ("foo:bar", word("foo:bar")),
    ("and/or", word("and/or")),
    ("/usr/local/bin", word("/usr/local/bin")),
    ("/", word("/")),
    ("//", word("//")),
    ("/a", word("/a")),
    ('a"b', word('a"b')),
    ("a[b]", word("a[b]")),
    ("AND", word("AND")),
    ("tag", word("tag")),
]


@pytest.mark.parametrize(
    "operator", ["file", "path", "content", "tag", "line", "block", "section", "task", "task-done", "match-case"]
)
@pytest.mark.parametrize("sought", ["#x", '"A b"', "(a b)", "/a b/", "a:b"])
def test_spaces_after_an_operator_mean_nothing(operator: str, sought: str) -> None:
    spaced = parse_query(f'path: "A b" -{operator}:  {sought} c').expression
    expected = parse_query(f'path:"A b" -{operator}:{sought} c').expression
    assert "Pattern" in repr(spaced) or spaced == expected  # a pattern knows its position
    assert repr(spaced).count("Within") == repr(expected).count("Within")


@pytest.mark.parametrize(("query", "expected"), READINGS, ids=[case[0] for case in READINGS])
def test_a_query_is_read_as_it_says(query: str, expected: Expression) -> None:
    assert parse_query(query).expression == expected


@pytest.mark.parametrize(
    ("query", "position", "words"),
    [
        ("", 0, "empty"),
        ("   ", 3, "empty"),
        ('a "b', 2, "never closed"),
        ('a -"b', 3, "never closed"),
        ('"a\\"', 0, "never closed"),
        ('a ""', 2, "nothing to look for"),
        ('a -"  "', 3, "nothing to look for"),
        ("OR a", 0, "before it"),
        ("a OR OR b", 5, "before it"),
        ("a OR", 4, "after it"),
        ("a OR  ", 6, "after it"),
        ("x (a OR) b", 7, "after it"),
        ("(OR a)", 1, "before it"),
        ("x (a", 2, "never closed"),
        ("x ((a)", 2, "never closed"),
        ("a) b", 1, "closes nothing"),
        ("a )", 2, "closes nothing"),
        ("x ()", 2, "nothing to look for"),
        ("x -( )", 3, "nothing to look for"),
        ("(" * (MAX_DEPTH + 1) + "a", MAX_DEPTH, "nested"),
        ("match-case:" * (MAX_DEPTH + 1) + "a", 11 * MAX_DEPTH + 11, "nested"),
        # operators
        ("x file: ", 2, "after it"),
        ("x -Path:", 3, "after it"),
        ("(tag:)", 1, "after it"),
        ("(tag: )", 1, "after it"),
        ("path: OR a", 0, "after it"),
        ("tag:#", 4, "nothing to look for"),
        ('line:""', 5, "nothing to look for"),
        ("line:(a tag:b)", 8, "cannot stand inside line:"),
        ("section:line:a", 8, "cannot stand inside section:"),
        ("task:[a]", 5, "cannot stand inside task:"),
        # properties
        ("x [status", 2, "never closed"),
        ("x [a:b", 2, "never closed"),
        ("[]", 0, "name is missing"),
        ("x [:a]", 2, "name is missing"),
        ("see [[Note]]", 4, "quote"),
        ("[a:]", 3, "value is missing"),
        ("[a:[b]]", 3, "cannot stand inside"),
        ("[a:>]", 3, "number or a date"),
        ("[a:b OR <c]", 8, "number or a date"),
        ("[a:(b]", 3, "never closed"),
        # regular expressions: the character in the pattern
        ("x /a(/", 5, "missing )"),
        ("/[a/", 3, "cannot be read"),
        ("/a**/", 3, "multiple repeat"),
        ("/a[^]b(/", 7, "missing )"),
        ("/(?<n>a)\\k<n>(/", 14, "missing )"),
        ("/(?<n>a)\\k<m>/", 8, "unknown group"),
        ("tag:/*/", 5, "nothing to repeat"),
        ("/(?V1)a/", 1, "cannot be read"),
        ("/" + "(" * 400 + ")" * 400 + "/", 1, "too deeply"),
        ("x /a/i", 5, "no flags"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_at_the_character_at_fault(
    query: str, position: int, words: str
) -> None:
    error = refusal(parse_query, query)
    assert error.code == INVALID_ARGUMENTS
    assert error.details == {"argument": "query", "position": position}
    assert f"character {position + 1} of" in error.message
    assert words in error.message


PIECES = [*list('"- \\/:()[]{}<>*+?|^$.abR0'), "OR ", "é", "\u0301", "tag:#", "line:(", "match-case:", "[a:", "null", "/a",
    "task:", ")", "]", "(?", "\\k<a>", "(?<a>", "[^", "\n", ">=5"]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=12).map("".join)))
def test_any_query_is_read_or_refused(query: str) -> None:
    try:
        parsed = parse_query(query)
    except VaultError as error:
        code, position = error.code, error.details["position"]
    else:
        code, position = INVALID_ARGUMENTS, 0
        Matcher(parsed).match("x.md", f"---\na: b\nlist: [1, 2]\n---\n# {query[:50]}\n- [ ] #a {query[:50]}\n")
    assert code == INVALID_ARGUMENTS
    assert 0 <= position <= len(query)
