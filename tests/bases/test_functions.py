"""Functions and operators of which no answer of the app is recorded: documentation, release notes, then JavaScript decide."""

from __future__ import annotations

from typing import Any

import pytest

from bases.test_recorded_answers import plain
from support.bases import recorded, recorded_row
from vaultwire.bases.base import read_expression
from vaultwire.bases.evaluation import evaluate

CONTEXT: dict[str, Any] = recorded()["context"]
ERROR = "<an error of the cell>"  # a text, as its address would stand in the names of tests

DOCUMENTED = [
    # Obsidian help, "Functions": every example there, and what its sentences say.
    ("if(missing, 1)", None),
    ('list("value")', ["value"]),
    ("list([1])", [1]),
    ("list(missing).length", 1),
    ('number("3.4")', 3.4),
    ("number(false)", 0),
    ('number("")', ERROR),
    ("(0).isTruthy()", False),
    ('"example".isType("string")', True),
    ('file.isType("file")', True),
    ('link("Other").isType("link")', True),
    ('[1].isType("list")', True),
    ('note.isType("object")', True),
    ('/a/.isType("regexp")', True),
    ('duration("1d").isType("duration")', True),
    ('(1).isType("number")', True),
    ('missing.isType("null")', True),
    ("(123).toString()", "123"),
    ('date("2025-12-31 23:58:57").date().format("YYYY-MM-DD HH:mm:ss")', "2025-12-31 00:00:00"),
    ('date("2025-05-27").format("YYYY-MM-DD")', "2025-05-27"),
    ('date("2025-05-27 23:59:58").time()', "23:59:58"),
    ('date("2025-05-27").isEmpty()', False),
    ('date("2026-06-07 12:00:00").relative()', "3 days ago"),
    ('date("2025-05-27T10:11:12.345").millisecond', 345),
    ('"hello".length', 5),
    ('"hello".containsAll("h", "x")', False),
    ('"hello".containsAny("x", "y", "e")', True),
    ('"Hello world".isEmpty()', False),
    ('"a:b:c:d".replace(/:/, "-")', "a-b:c:d"),
    ('"a:b:c:d".replace(/:/g, "-")', "a-b-c-d"),
    (r'"John Smith".replace(/(\w+) (\w+)/, "$2, $1")', "Smith, John"),
    ('"123".repeat(2)', "123123"),
    ('"hello".slice(-3)', "llo"),
    ('"hello".slice(1, -1)', "ell"),
    ('"a,b,c,d".split(",", 3)', ["a", "b", "c"]),
    ('"a,b,c,d".split(/,/, 3)', ["a", "b", "c"]),
    ('"a,b,c,d".split(",")', ["a", "b", "c", "d"]),
    ('"hello wORLD".title()', "Hello World"),
    ("(-2.5).round()", -2),
    ("(1234.5).round(-2)", 1200),
    ("(2.5).toFixed(0)", "3"),
    ("(1.005).toFixed(2)", "1.00"),
    ("[1,2,3].containsAny(3,4)", True),
    ("[1,2,3].containsAll(2,4)", False),
    ("[1,[2,3]].flat()", [1, 2, 3]),
    ("[1,2,3].isEmpty()", False),
    ("[1,2,3,4].map(value + 1)", [2, 3, 4, 5]),
    ('values.filter(value.isType("number")).reduce(if(acc == null || value > acc, value, acc), null)', 3),
    ("[].reduce(acc + value, 7)", 7),
    ("[1,2,3,4].slice(-2)", [3, 4]),
    ("note.isEmpty()", False),
    ('note.keys().contains("price")', True),
    ("note.values()[0]", 12.5),
    ('link("[[Other]]").asFile().basename', "Other"),
    ('file(link("[[Other]]")).basename', "Other"),
    ("link(file).asFile() == file", True),
    # "Returns true if the file represented by link has a link to file."
    ('file.asLink().linksTo(file("Other"))', True),
    ('link("Backlink Source").linksTo(file)', True),
    ('link("Backlink Source").linksTo(file("Backlink Source"))', False),
    ('link("Missing Note").linksTo(file)', False),
    ('file.hasProperty("price")', True),
    ('file.hasProperty("nothing")', False),
    ('file.hasTag("nothing", "work")', True),
    ('file.inFolder("__codex_bases_expression_oracle")', True),
    ('file("Sub/Target.md").inFolder("__codex_bases_expression_oracle")', True),
    ('file.inFolder("__codex")', False),
    # "Bases syntax", and "Formulas".
    ('date("2024-12-01") + "1M" + "4h" + "3m"', "2025-01-01T04:03:00"),
    ('(now() + "1d") - now()', "a day"),
    ('(now() + "1 hour") > now()', True),
    ('if(price, "$" + price.toFixed(2), "")', "$12.50"),
    ('file.name + " - " + status', "row - Todo"),
    ('link("https://obsidian.md").toString()', "https://obsidian.md"),
    ('link("Re: lunch").toString()', "[[Re: lunch]]"),
    ("link(file.ctime.date().toString()).toString()", "[[2026-06-10]]"),
    ('link("filename", icon("plus")).toString()', "[[filename|plus]]"),
    ("(10 / 5 / 2)", 1),
]

RELEASE_NOTES = [
    ("[1] + [2]", [1, 2]),
    ('date("20260610").toString()', "2026-06-10"),
    ('date("202606101234").toString()', "2026-06-10T12:34:00"),
    ('date("2026-06-10T02:34:56Z").toString()', "2026-06-10T12:34:56"),
    ('date("2026-06-10T02:34:56+02:00").toString()', "2026-06-10T10:34:56"),
    ('date("2026-06-10") > "2026-06-09"', True),
    ('date("2026-06-10") == "2026-06-10"', True),
    ("PRICE", 12.5),
    ('file.hasTag("WORK")', True),
    ("true * 2", ERROR),
    ("missing.lower()", None),
]

AS_JAVASCRIPT = [
    ("[1,[2,[3]]].flat()", [1, 2, [3]]),
    ("[1, 2].toString()", "1, 2"),
    ('"2" < 10', True),
    ('10 >= "2"', True),
    ('"abc" > 1', False),
    ('"10" < "9"', True),
    ("1 < 2 == true", True),
    ('date("2026-06-10 12:34:56").format("")', "2026-06-10T12:34:56+10:00"),
    ('date("2026-06-10 12:34:56").format()', "2026-06-10T12:34:56+10:00"),
    ('date("2026-06-10") + " (due)"', "2026-06-10 (due)"),
    ('"1d" + date("2026-06-10")', "1d2026-06-10"),
    ('date("2026-06-10") - " (due)"', ERROR),
    ("true.isEmpty()", False),
    ("false.isEmpty()", False),
    ("/a/.isEmpty()", False),
    ('html("").isEmpty()', False),
    ('duration("1d").isEmpty()', False),
    ("(0).isEmpty()", False),
    ("(0 / 0).isEmpty()", True),
    ("missing.isEmpty()", True),
    ("file.isEmpty()", False),
    ("[].isTruthy()", False),
]


SORTED = [
    ('["é","f","e","É","z","a"].sort()', ["a", "e", "É", "é", "f", "z"]),
    ('["Note 10","note 2","Note 1b","Note 1"].sort()', ["Note 1", "Note 1b", "note 2", "Note 10"]),
    ('["a1","a-b","ab","a","[x","_x","2","10"].sort()', ["_x", "[x", "2", "10", "a", "a-b", "a1", "ab"]),
    ('["x01","x1","x1"].sort().length', 3),
    ('["Ω","я","日","!"].sort()[0]', "!"),
    ("link(2026).toString()", "[[2026]]"),
    ('link(date("2026-06-10")).toString()', "[[2026-06-10]]"),
    ("link(missing)", None),
    ("file.hasLink(12)", False),
]
REGEXPS = [
    (r"/[\w-]+/.matches('é')", False),
    (r"/^[^\W\d]$/.matches('é')", False),
    (r"/^[\W_]$/.matches('é')", True),
    (r"/^[\D]$/.matches('5')", False),
    (r"'été a'.replace(/\b/g, '|')", "é|t|é |a|"),
    (r"'été'.replace(/\B/g, '|')", "|été|"),
    (r"'a\r\nb'.split(/./)", ["", "\r\n", ""]),
    (r"'a\r\nb'.replace(/$/gm, '|')", "a|\r|\nb|"),
    (r"'a\r\nb'.replace(/^/gm, '|')", "|a\r|\n|b"),
    ("'a'.replace(/a/, '$0')", "$0"),
    ("'ab'.replace(/(a)/, '$10')", "a0b"),
    ("'ab'.replace(/a/, '$1')", "$1b"),
    ("'ab'.replace(/(?<n>a)/, '[$<n>]')", "[a]b"),
    (r"/^(?<n>a)\k<n>$/.matches('aa')", True),
    (r"/^\1(a)$/.matches('a')", True),
    ("''.split(/x*/)", []),
    ("''.split(/x/)", [""]),
    ("'abc'.split(/(b)/)", ["a", "b", "c"]),
    ("'a[b'.split(/[[]/)", ["a", "b"]),
]


@pytest.mark.parametrize(
    ("text", "expected"), [*DOCUMENTED, *RELEASE_NOTES, *AS_JAVASCRIPT, *SORTED, *REGEXPS], ids=str
)
def test_an_expression_gives_what_is_said_of_it(text: str, expected: Any) -> None:
    value = plain(evaluate(read_expression(text), recorded_row(CONTEXT)))
    if expected is ERROR:
        assert isinstance(value, dict)
        assert "error" in value
    else:
        assert value == expected
        assert isinstance(value, bool) == isinstance(expected, bool)


@pytest.mark.parametrize(("first", "second"), [("1", "true"), ("true", "1"), ("0", "false"), ("[1]", "[true]")])
def test_numbers_and_truths_are_not_taken_for_each_other(first: str, second: str) -> None:
    """Python's ``True == 1``: what is remembered of one expression is not the other's."""
    row = recorded_row(CONTEXT)
    assert evaluate(read_expression(first), row) is not evaluate(read_expression(second), row)
    assert [type(plain(evaluate(read_expression(text), row))) for text in ("1", "true")] == [float, bool]
    assert plain(evaluate(read_expression("(quantity == 4) == true"), row)) is True
    assert plain(evaluate(read_expression("(quantity == 4) == 1"), row)) is False
