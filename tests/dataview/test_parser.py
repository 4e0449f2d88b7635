"""Queries of Dataview as trees: what is written is read again, and every mistake has its place."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dql_text import expression_text, parse_expression, to_text
from vaultwire.bases.values import Duration
from vaultwire.dataview.parser import (
    Applied,
    Binary,
    BothSources,
    Call,
    Column,
    Command,
    DateLiteral,
    FolderSource,
    Index,
    Lambda,
    LinkLiteral,
    LinkSource,
    Literal,
    Name,
    Not,
    NotSource,
    Query,
    QueryProblem,
    QueryType,
    TagSource,
    parse_duration,
    parse_query,
)

_NAMES = st.sampled_from(["due", "file", "simple-field", "Größe", "row", "x1", "sort", "🎅", "a_b", "this"])
_TEXTS = st.text(st.sampled_from('ab "\\|#[]()\nä,'), max_size=8)
_LINKTEXTS = st.sampled_from(["A", "A b#Part", "F/A#^id", "", "a|b", "2021-04-16"])


def _object(items: dict[str, Any]) -> Call:
    return Call("object", tuple(node for name, value in items.items() for node in (Literal(name), value)))


_NODES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.builds(
            Literal,
            st.one_of(st.none(), st.booleans(), st.integers(-9, 999).map(float), st.floats(-1e20, 1e20), _TEXTS),
        ),
        st.builds(
            DateLiteral, st.sampled_from(["today", "eom", "start-of-week", "2021-07", "2021-07-14T10:00:05.000+06:30"])
        ),
        st.builds(
            Literal,
            st.builds(Duration, st.integers(0, 99), st.integers(0, 9), st.integers(0, 99).map(lambda s: s * 1000)),
        ),
        st.builds(LinkLiteral, _LINKTEXTS, st.sampled_from([None, "", "shown", "a|b"]), is_embed=st.booleans()),
        st.builds(Name, _NAMES.filter(lambda name: name != "sort")),
    ),
    lambda inner: st.one_of(
        st.builds(lambda items: Call("list", tuple(items)), st.lists(inner, max_size=3)),
        st.builds(_object, st.dictionaries(_TEXTS, inner, max_size=3)),
        st.builds(lambda name, items: Call(name, tuple(items)), _NAMES, st.lists(inner, max_size=3)),
        st.builds(Index, inner, inner.filter(lambda node: not isinstance(node, Name))),
        st.builds(lambda of, name: Index(of, Literal(name)), inner, _NAMES),
        st.builds(lambda names, body: Lambda(tuple(names), body), st.lists(_NAMES, max_size=2), inner),
        st.builds(
            lambda names, body, items: Applied(Lambda(tuple(names), body), tuple(items)),
            st.lists(_NAMES, max_size=2),
            inner,
            st.lists(inner, max_size=2),
        ),
        st.builds(Not, inner),
        st.builds(
            Binary, st.sampled_from(["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "&", "|"]), inner, inner
        ),
    ),
    max_leaves=12,
)
_COLUMNS = st.builds(Column, _NODES, st.text(st.sampled_from('abc "\\.'), min_size=1, max_size=6))
_SOURCES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.builds(TagSource, st.sampled_from(["#a", "#a/b-c", "#ä1"])),
        st.builds(FolderSource, _TEXTS),
        st.builds(LinkSource, _LINKTEXTS, is_outgoing=st.booleans()),
    ),
    lambda inner: st.one_of(
        st.builds(NotSource, inner), st.builds(BothSources, st.sampled_from(["&", "|"]), inner, inner)
    ),
    max_leaves=5,
)
_COMMANDS = st.one_of(
    st.builds(Command, st.sampled_from(["WHERE", "LIMIT"]), st.tuples(st.builds(Column, _NODES, st.just("")))),
    st.builds(Command, st.sampled_from(["GROUP BY", "FLATTEN"]), st.tuples(_COLUMNS)),
    st.builds(
        lambda keys: Command("SORT", tuple(Column(key, "") for key, _ in keys), tuple(is_last for _, is_last in keys)),
        st.lists(st.tuples(_NODES, st.booleans()), min_size=1, max_size=3),
    ),
)


def _named(node: Any) -> Column:
    return Column(node, expression_text(node))


@st.composite
def _queries(draw: st.DrawFn) -> Query:
    kind: QueryType = draw(st.sampled_from(get_args(QueryType)))
    most = {"table": 3, "list": 1, "task": 0, "calendar": 1}[kind]
    columns = draw(st.lists(_COLUMNS, min_size=int(kind == "calendar"), max_size=most))
    if kind == "list":
        columns = [_named(column.expression) for column in columns]
    has_id = kind not in ("table", "list") or draw(st.booleans())
    return Query(kind, tuple(columns), has_id, draw(st.none() | _SOURCES), tuple(draw(st.lists(_COMMANDS, max_size=4))))


@given(_queries())
@settings(max_examples=300, deadline=None)
def test_what_is_written_is_read_again(query: Query) -> None:
    """The names of columns of a list are their texts, whose line breaks are taken out; all else is the same."""
    again = parse_query(to_text(query))
    assert again.commands == query.commands
    assert again.source == query.source
    assert [column.expression for column in again.columns] == [column.expression for column in query.columns]
    assert (again.type, again.has_id) == (query.type, query.has_id)
    assert parse_query(to_text(again)) == again


@given(
    st.text(st.sampled_from("TABLELIST FROM WHERE a1.,()[]{}\"\\#-!=<>&|*%\n'date(today)dur(1 d)=>äß🎅"), max_size=60)
)
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_query_or_a_problem(text: str) -> None:
    """Nothing else comes out, and a problem has its place in the text."""
    for query in (text, f"LIST WHERE {text}"):
        problem = _problem(query)
        if problem is not None:
            lines = query.split("\n")
            assert 1 <= problem.line <= len(lines)
            assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1


def _problem(text: str) -> QueryProblem | None:
    try:
        parse_query(text)
    except QueryProblem as problem:
        return problem
    return None


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("LIS", 1, 1, "A query begins with TABLE, LIST, TASK or CALENDAR"),
        ("LIST\nFROM books", 2, 6, "A source is expected"),
        ("LIST\nWHERE due == 1", 2, 11, "Equality is one ="),
        ("TABLE a,\nFROM #b", 2, 1, "A value is expected"),
        ("LIST WHERE (a", 1, 14, "“)” is expected, but the query ends"),
        ("LIST WHERE 'a'", 1, 12, "double quotation marks"),
        ('LIST WHERE "a', 1, 12, "not closed"),
        ("LIST FROM #a WHERE x FROM #b", 1, 22, "FROM stands only once"),
        ("LIST WHERE a SORTED b", 1, 14, "WHERE, SORT, GROUP BY, FLATTEN, LIMIT"),
        ("TABLE a AS", 1, 11, "A name is expected after AS"),
        ("LIST WHERE a. b", 1, 15, "A name is expected after the dot"),
        ('LIST FROM csv("a.csv")', 1, 11, "CSV"),
        ("LIST WHERE " + "(" * 60 + "a", 1, 52, "brackets within each other"),
        ("LIST WHERE " + "!" * 60 + "a", 1, 52, "exclamation marks"),
        ("LIST FROM " + "-" * 60 + "#a", 1, 53, "signs stand before each other"),
        ("LIST WHERE " + " + ".join("a" * 300), 1, 11, "steps within each other"),
        ("LIST WHERE " + "a" * 1_000_000, 1, 1, "at most 10,000 characters"),
        ("LIST WHERE -rating > 3", 1, 12, "A minus sign stands before a number only"),
        ("LIST WHERE dur(3 apples)", 1, 12, "A duration is expected"),
    ],
)  # fmt: skip
def test_mistakes_have_their_place(text: str, line: int, column: int, words: str) -> None:
    """Line and column are those of the mistake, and the words say what would be right."""
    with pytest.raises(QueryProblem) as raised:
        parse_query(text)
    assert words in str(raised.value)
    assert (raised.value.line, raised.value.column) == (line, column)


def test_comments_stand_between_the_parts() -> None:
    """The plugin takes them wherever a part of the query begins, and at the end."""
    text = """// What is left to read
    TABLE pages / 2 AS half, url // the rest is known
    // A longer page counts twice.
    FROM #book
    //WHERE pages > 9
    WHERE url != "https://example.org" // not ours
    // "
    SORT pages // DESC
    GROUP BY shelf AS Place
    //LIMIT 3"""
    plain = """TABLE pages / 2 AS half, url FROM #book WHERE url != "https://example.org" SORT pages
    GROUP BY shelf AS Place"""
    assert parse_query(text) == parse_query(plain)
    assert parse_query("LIST // all").columns == ()
    assert parse_query("TASK//").type == "task"


@pytest.mark.parametrize("text", ["LIST a / / b", "LIST a /", "LIST / a", "// LIST"])
def test_one_stroke_divides(text: str) -> None:
    with pytest.raises(QueryProblem):
        parse_query(text)


@pytest.mark.parametrize("head", ['WITHOUT ID"a"', "without id(a)", "WITHOUT\nID [a]"])
def test_a_value_may_touch_without_id(head: str) -> None:
    assert parse_query(f"TABLE {head}, b").has_id is False
    assert parse_query("TABLE without, idea").has_id is True


def test_and_and_or_bind_alike() -> None:
    """They go from left to right, as in Dataview itself; comparisons bind closer."""
    assert expression_text(parse_expression("a or b = 1 and c")) == "a or b = 1 and c"
    tree = parse_expression("a or b and c")
    assert isinstance(tree, Binary)
    assert tree.operator == "&"


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("1 s, 2 m, 3 h", Duration(milliseconds=10_921_000)),
        ("1second 2min 3h", Duration(milliseconds=10_921_000)),
        ("9 years, 8 months, 4 days", Duration(116, 4)),
        ("6hr4min", Duration(milliseconds=21_840_000)),
        ("2 wks", Duration(days=14)),
        ("0.5 mo", Duration(days=15)),
        ("3", None),
        ("three days", None),
        ("", None),
    ],
)
def test_durations(text: str, duration: Duration | None) -> None:
    """Units have several names; commas between them may be left out."""
    assert parse_duration(text) == duration
