"""Any text is an expression or a syntax problem, any expression has a value, and printing one keeps it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bases import recorded, recorded_row
from vaultwire.bases.base import Broken, NotABaseError, read_base, read_expression
from vaultwire.bases.comparing import to_json
from vaultwire.bases.evaluation import evaluate
from vaultwire.bases.functions import FILE_FIELDS, GLOBALS, LAMBDAS, METHODS
from vaultwire.bases.parser import (
    Binary,
    Call,
    Index,
    ListLiteral,
    Literal,
    Member,
    Name,
    Node,
    RegexpLiteral,
    SyntaxProblem,
    Unary,
    parse,
    to_text,
)
from vaultwire.bases.value_functions import DATE_FIELDS, DURATION_FIELDS
from vaultwire.bases.values import ErrorValue, text_of

CONTEXT: dict[str, Any] = recorded()["context"]
_PIECES = st.sampled_from(
    [
        "a",
        "file",
        ".",
        "(",
        ")",
        "[",
        "]",
        ",",
        "+",
        "-",
        "==",
        "!",
        "&&",
        "'x'",
        '"',
        "1",
        "2.5",
        "/a/g",
        " ",
        "{",
        "é",
        "\\",
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(_PIECES, max_size=30).map("".join))
_NAMES = [
    "price",
    "status",
    "tags",
    "values",
    "missing",
    "frontWiki",
    "file",
    "this",
    "note",
    "formula",
    "value",
    "index",
]
_MEMBERS = sorted({*FILE_FIELDS, *DATE_FIELDS, *DURATION_FIELDS, "length", "price", "label", "nothing"})
_METHODS = sorted({*(each for functions in METHODS.values() for each in functions), *LAMBDAS, "toString", "isType"})
_BINARY = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]
_LEAVES: st.SearchStrategy[Node] = st.one_of(
    st.sampled_from([None, True, False]).map(Literal),
    st.floats(min_value=0, allow_nan=False, allow_infinity=False).map(Literal),
    st.sampled_from(["", "a", "1d", "2026-06-10", "[[Other]]", "Other", "é\n\"'\\"]).map(Literal),
    st.sampled_from(_NAMES).map(Name),
    st.sampled_from([RegexpLiteral("a+", "g"), RegexpLiteral("(x+x+)+y"), RegexpLiteral("[^]")]),
)


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    arguments = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ListLiteral, arguments),
        st.builds(Member, inner, st.sampled_from(_MEMBERS)),
        st.builds(Index, inner, inner),
        st.builds(Call, st.sampled_from(GLOBALS).map(Name), arguments),
        st.builds(Call, st.builds(Member, inner, st.sampled_from(_METHODS)), arguments),
        st.builds(Unary, st.sampled_from(["-", "!"]), inner),
        st.builds(Binary, st.sampled_from(_BINARY), inner, inner),
    )


TREES = st.recursive(_LEAVES, _larger, max_leaves=12)


def bare(node: Node) -> str:
    """Return a tree without its positions."""
    return re.sub(r", start=\d+\)", ")", repr(node))


@given(TEXTS)
def test_any_text_is_an_expression_or_a_problem(text: str) -> None:
    try:
        tree = parse(text)
    except SyntaxProblem as problem:
        assert 0 <= problem.position <= len(text)  # noqa: PT017 - either is right
        return
    assert bare(parse(to_text(tree))) == bare(tree)


@given(TREES)
def test_printing_an_expression_keeps_it(tree: Node) -> None:
    assert bare(parse(to_text(tree))) == bare(tree)


@given(TREES)
def test_any_expression_has_a_value(tree: Node) -> None:
    row = recorded_row(CONTEXT)
    value = evaluate(tree, row)
    text_of(value)
    to_json(value, row.host)


@given(
    st.one_of(
        TEXTS,
        st.lists(
            st.sampled_from(
                [
                    "views:\n",
                    "  - type: table\n",
                    "    sort: x\n",
                    "filters:\n",
                    "  and:\n",
                    "    - a\n",
                    "formulas: {a: b}\n",
                ]
            )
        ).map("".join),
    )
)
def test_any_text_is_a_base_or_none(text: str) -> None:
    with suppress(NotABaseError):
        read_base(text)


@pytest.mark.parametrize(
    ("text", "words", "position"),
    [
        ("status ==", "A value is expected, but the formula ends (character 10).", 9),
        ("+price", "A value is expected, but there is “+” (character 1).", 0),
        ("a.", "A name is expected after the dot, but the formula ends (character 3).", 2),
        ("(1", "“)” is expected, but the formula ends (character 3).", 2),
        ("'a", "A quotation mark is not closed (character 1).", 0),
        ("a # b", "'#' means nothing here (character 3).", 2),
        ("1.round()", "Put a number in parentheses before a dot: (1).round().", 1),
        ("a" * 20_001, "A formula has at most 20,000 characters; this one has 20,001.", 0),
        ("(" * 100 + ")" * 100, "A formula has at most 40 brackets within each other.", 40),
        ("1+" * 300 + "1", "A formula has at most 200 steps within each other.", 0),
    ],
)
def test_a_mistake_is_named_at_its_character(text: str, words: str, position: int) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse(text)
    assert (caught.value.words, caught.value.position) == (words, position)
    assert isinstance(read_expression(text), Broken)


@pytest.mark.parametrize(
    "text",
    [
        '"ab".repeat(1000000000)',
        '"ab".repeat(100000).split("").map(value + value)',
        'list("a").map(list(1)).map([value,value].flat()).map([value,value,value].flat()).join("x").repeat(100000)',
        '"' + "a" * 300 + '".matches("x")',
        "[1,2,3,4,5,6,7,8,9].map([1,2,3,4,5,6,7,8,9].map([1,2,3,4,5,6,7,8,9].map([1,2,3,4,5,6,7,8,9].map([1,2,3,4,5,6,7,8,9].map(1)))))",
        '/^(a|aa)+$/.matches("' + "a" * 60 + 'b")',
        '"x".repeat(2000).split("").map(/^(a|aa)+$/.matches("' + "a" * 24 + 'b"))',
        'date("9999-12-31") + "1d"',
        'date("2026-01-01") - "99999y"',
    ],
)
def test_a_formula_that_does_too_much_is_an_error_of_its_cell(text: str) -> None:
    value = evaluate(read_expression(text), recorded_row(CONTEXT))
    assert isinstance(value, ErrorValue), value


def test_formulas_that_need_each_other_are_errors() -> None:
    row = recorded_row(CONTEXT)
    row.query.formulas = {"a": read_expression("formula.b + 1"), "b": read_expression("formula.a"), "c": parse("1 + 1")}
    assert evaluate(parse("formula.a"), row) == ErrorValue('Formula "a" refers to itself')
    assert evaluate(parse("formula.c"), row) == 2
