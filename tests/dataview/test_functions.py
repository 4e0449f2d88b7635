"""The functions, operators and literals of Dataview, with the examples of its documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from support.dql_text import parse_expression
from vaultwire.bases.row import FileFacts, LinkFact
from vaultwire.bases.values import Budget, CellError, Value
from vaultwire.dataview.fields import NO_FIELDS, NoteFields, note_fields
from vaultwire.dataview.functions import FUNCTION_NAMES, Frame, Shared
from vaultwire.dataview.pages import Page, Vault
from vaultwire.dataview.parser import QueryProblem, nodes_of, parse_query
from vaultwire.dataview.running import check_calls, compile_expression, evaluate
from vaultwire.dataview.values import equal, text_of
from vaultwire.markdown.parse import parse_note

_ZONE = ZoneInfo("Europe/Berlin")
# A Wednesday.
_NOW = datetime(2022, 9, 21, 13, 30, tzinfo=_ZONE)
_NOTES = {
    "A/My Project.md": (
        "---\nrating: 8\nday: 2021-04-16\nlast-reviewed: 2021-08-17\nthoughts:\n  rating: 8\n---\nlength:: 2 hours\n"
    ),
    "Hello.md": "See [[My Project#Next|it]] and ![[Hello]]. #a/b/c\n- [ ] one [due:: 2022-01-01]\n- [x] two ✅2022-02-02\n",
}


class _Notes:
    """A vault of a few notes in memory."""

    def resolve(self, linktext: str, source: str) -> str | None:
        """See ``Host``."""
        path = linktext.partition("#")[0]
        if not path:
            return source or None
        return next((each for each in _NOTES if each == path or each.removesuffix(".md").endswith(path)), None)

    def facts(self, path: str) -> FileFacts | None:
        """See ``Host``."""
        return FileFacts(len(_NOTES[path]), 1_600_000_000_000, 1_650_000_000_000) if path in _NOTES else None

    def properties(self, path: str) -> Mapping[str, Any]:
        """See ``Host``."""
        return parse_note(_NOTES[path]).frontmatter.values if path in _NOTES else {}

    def tags(self, path: str) -> Sequence[str]:
        """See ``Host``."""
        return parse_note(_NOTES[path]).tags if path in _NOTES else []

    def links(self, path: str) -> Sequence[LinkFact]:
        """See ``Host``."""
        links = parse_note(_NOTES[path]).links if path in _NOTES else []
        return [LinkFact(link.linktext, link.display or link.linktext, link.is_embed) for link in links]

    def backlinks(self, path: str) -> Sequence[str]:
        """See ``Host``."""
        return ["Hello.md"] if path == "A/My Project.md" else []

    def property_type(self, name: str) -> str:
        """See ``Host``."""
        return ""

    def fields(self, path: str) -> NoteFields:
        """See ``Notes``."""
        return note_fields(_NOTES[path]) if path in _NOTES else NO_FIELDS


def _frame(budget: Budget | None = None) -> Frame:
    vault = Vault(_Notes(), _ZONE)
    page = Page(vault, "Hello.md")
    return Frame(Shared(vault, _NOW, page), page, budget or Budget())


def _value(text: str) -> Value:
    node = parse_expression(text)
    check_calls(nodes_of(parse_query(f"LIST {text}")), f"LIST {text}")
    return evaluate(compile_expression(node), _frame())


@pytest.mark.parametrize(
    "text",
    r"""
lower("YES") = "yes"
lower(["YES", "NO"]) = ["yes", "no"]
replace("yes", "e", "a") = "yas"
replace(["yes", "ree"], "e", "a") = ["yas", "raa"]
length(object()) = 0
object("a", 4, "c", "yes").c = "yes"
list(1, 2, 3) = [1, 2, 3]
array("a", "b") = ["a", "b"]
date("2020-04-18") = date(2020-04-18)
date([[2021-04-16]]) = date(2021-04-16)
date([[My Project]]) = date(2021-04-16)
date("12/31/2022", "MM/dd/yyyy") = date(2022-12-31)
date("210313", "yyMMdd") = date(2021-03-13)
date("946778645000", "x") = date("2000-01-02T03:04:05")
date("12/31/2022") = null
dur("8 minutes, 4 seconds") = dur(8 minutes 4 seconds)
dur(dur(8 minutes)) = dur(8 minutes)
dur("x") = null
number("18 years") = 18
number(34) = 34
number("hmm") = null
string(18) = "18"
string(dur(8 hours)) = "8 hours"
string(date(2021-08-15)) = "August 15, 2021"
link("Hello") = [[Hello]]
meta(link("Hello", "Goodbye")).display = "Goodbye"
meta(embed(link("Hello.png"))).embed = true
elink("www.google.com", "Google") = "[Google](www.google.com)"
typeof(8) = "number"
typeof("text") = "string"
typeof([1, 2, 3]) = "array"
typeof({ a: 1, b: 2 }) = "object"
typeof(date(2020-01-01)) = "date"
typeof(dur(8 minutes)) = "duration"
typeof([[A]]) = "link"
typeof(null) = "null"
round(16.555555) = 17
round(16.555555, 2) = 16.56
round(-0.5) = 0
trunc(12.937) = 12
trunc(-93.33333) = -93
floor(-93.33333) = -94
floor(-0.837764) = -1
ceil(12.937) = 13
ceil(-93.33333) = -93
ceil(-0.837764) = 0
min(1, 2, 3) = 1
min([1, 2, 3]) = 1
min("a", "ab", "abc") = "a"
max(1, 2, 3) = 3
max("a", "ab", "abc") = "abc"
max(null, 1) = 1
sum([1, 2, 3]) = 6
sum([]) = null
sum(nonnull([null, 1, 8])) = 9
product([1,2,3]) = 6
product([]) = null
product(nonnull([null, 1, 2, 4])) = 8
reduce([100, 20, 3], "-") = 77
reduce([200, 10, 2], "/") = 10
reduce(["⭐", 3], "*") = "⭐⭐⭐"
reduce([1], "+") = 1
reduce([1, null, 3], (a, b) => a + b) = 4
average([1, 2, 3]) = 2
average([]) = null
average(nonnull([null, 1, 2])) = 1.5
minby([1, 2, 3], (k) => k) = 1
minby([1, 2, 3], (k) => 0 - k) = 3
maxby([1, 2, 3], (k) => k) = 3
maxby([1, 2, 3], (k) => 0 - k) = 1
minby(this.file.tasks, (k) => k.due).text = "one [due:: 2022-01-01]"
contains("Hello", "Lo") = false
contains("Hello", "lo") = true
icontains("Hello", "Lo") = true
econtains("Hello", "Lo") = false
econtains(["this","is","example"], "ex") = false
econtains(["this","is","example"], "is") = true
contains(["this","is","example"], "ex") = true
contains(file, "ctime") = true
contains(file, "day") = false
contains(list(1, 2, 3), 3) = true
contains(list(), 1) = false
econtains({key:"value", pairs:"here"}, "here") = false
econtains({key:"value", pairs:"here"}, "key") = true
econtains({key:"value", recur:{recurkey: "val"}}, "recurkey") = false
containsword("word", "Word") = true
containsword("words", "Word") = false
containsword("Hello there!", "HeLLo") = true
containsword("Hello there chaps!", "chap") = false
containsword(["I have no words.", "words"], "Word") = [false, false]
containsword(["Word", "Words in word"], "WORD") = [true, true]
extract(file, "name", "ext") = object("name", "Hello", "ext", "md")
sort(list(3, 2, 1)) = list(1, 2, 3)
sort(list("a", "b", "aa")) = list("a", "aa", "b")
sort([1, 2, 3], (x) => 0 - x) = [3, 2, 1]
reverse(list(1, 2, 3)) = list(3, 2, 1)
length([]) = 0
length(object("hello", 1, "goodbye", 2)) = 2
nonnull([]) = []
nonnull([null, false]) = [false]
all([1, 2, 3]) = true
all([true, false]) = false
all(true, false) = false
all(true, true, true) = true
all([1, 2, 3], (x) => x > 1) = false
all(["apple", "pie", 3], (x) => typeof(x) = "string") = false
any(list(true, false)) = true
any(list(false, false, false)) = false
any(true, false) = true
any(list(1, 2, 3), (x) => x > 2) = true
any(list(1, 2, 3), (x) => x = 0) = false
none([]) = true
none([false, true]) = false
none([true, true], (x) => x = false) = true
none(["Apple", "Pi", "Banana"], (x) => startswith(x, "A")) = false
join(list(1, 2, 3)) = "1, 2, 3"
join(list(1, 2, 3), " ") = "1 2 3"
join(6) = "6"
join(list()) = ""
filter([1, 2, 3], (x) => x >= 2) = [2, 3]
map([1, 2, 3], (x) => x + 2) = [3, 4, 5]
map(["yes", "no"], (x) => x + "?") = ["yes?", "no?"]
flat(list(1, 2, 3, list(4, 5), 6)) = list(1, 2, 3, 4, 5, 6)
flat(list(1, list(21, 22), list(list(311, 312, 313))), 4) = list(1, 21, 22, 311, 312, 313)
slice([1, 2, 3, 4, 5], 3) = [4, 5]
slice(["ant", "bison", "camel", "duck", "elephant"], 0, 2) = ["ant", "bison"]
slice([1, 2, 3, 4, 5], -2) = [4, 5]
unique([1, 2, 1, "a", "a"]) = [1, 2, "a"]
regextest("\w+", "hello") = true
regextest("what", "what's up dog?") = true
regextest("yes|no", "maybe") = false
regexmatch("\w+", "hello") = true
regexmatch("yes|no", "maybe") = false
regexmatch("what", "what's up dog?") = false
regexreplace("yes", "[ys]", "a") = "aea"
regexreplace("Suite 1000", "\d+", "-") = "Suite -"
replace("The big dog chased the big cat.", "big", "small") = "The small dog chased the small cat."
upper("test") = "TEST"
split("hello world", " ") = list("hello", "world")
split("hello  world", "\s+") = list("hello", "world")
split("hello there world", " ", 2) = list("hello", "there")
split("hello there world", "(t?here)") = list("hello ", "there", " world")
split("hello there world", "( )(x)?") = list("hello", " ", "", "there", " ", "", "world")
startswith("path/to/something", "path/") = true
endswith("yes", "ye") = false
padleft("hello", 7) = "  hello"
padleft("yes", 5, "!") = "!!yes"
padright("hello", 7) = "hello  "
padright("yes", 5, "!") = "yes!!"
substring("hello", 0, 2) = "he"
substring("hello", 2, 4) = "ll"
substring("hello", 2) = "llo"
substring("hello", 0) = "hello"
truncate("Hello there!", 8) = "Hello..."
truncate("Hello there!", 8, "/") = "Hello t/"
truncate("Hello there!", 10) = "Hello t..."
truncate("Hello there!", 10, "!") = "Hello the!"
truncate("Hello there!", 20) = "Hello there!"
default(nothing, "incomplete") = "incomplete"
default(list(1, 2, null), 3) = list(1, 2, 3)
ldefault(list(1, 2, null), 3) = list(1, 2, null)
choice(true, "yes", "no") = "yes"
choice(0, "yes", "no") = "no"
hash("2024-03-17", "a") = hash("2024-03-17", "a")
hash("2024-03-17", "a") != hash("2024-03-17", "b")
striptime(file.ctime) = file.cday
striptime(file.mtime) = file.mday
dateformat(date(2022-01-05T12:18:04),"yyyy-MM-dd") = "2022-01-05"
dateformat(date(2022-01-05T12:18:04),"HH:mm:ss") = "12:18:04"
dateformat(date(2014-08-06T13:07), "DDDD, t") = "Wednesday, August 6, 2014, 1:07 PM"
dateformat(date(1970-01-01T01:00:01), "x") = "1000"
dateformat(null, "yyyy") = null
durationformat(dur("3 days 7 hours 43 seconds"), "ddd'd' hh'h' ss's'") = "003d 07h 43s"
durationformat(dur("365 days 5 hours 49 minutes"), "yyyy ddd hh mm ss") = "0001 000 05 49 00"
durationformat(dur("2000 years"), "M months") = "24000 months"
durationformat(dur("14d"), "s 'seconds'") = "1209600 seconds"
currencyformat(123456.789, "EUR") = "€123,456.79"
localtime(date(2022-01-01)) = date(2022-01-01)
meta([[2021-11-01|Displayed link text]]).display = "Displayed link text"
meta([[2021-11-01]]).display = null
meta([[My Project#Next Actions]]).path = "My Project"
meta([[My Project#Next Actions]]).subpath = "Next Actions"
meta([[My Project#^9bcbe8]]).subpath = "9bcbe8"
meta([[My Project]]).subpath = null
meta([[My Project#^9bcbe8]]).type = "block"
meta([[My Project#Next Actions]]).type = "header"
list(1, 2, 3)[0] = 1
list(1, 2, 3)[7] = null
{ a: 1, b: 2 }.b = 2
[[My Project]].rating = 8
[[My Project]].length = dur(120 minutes)
[[My Project]]["last-reviewed"] = date(2021-08-17)
[[My Project]].thoughts.rating = 8
[[Nothing]].rating = null
file.name = "Hello"
file.folder = ""
file.link = [[Hello]]
file.link = this.file.link
[[]].file.name = "Hello"
file.tags = ["#a", "#a/b", "#a/b/c"]
file.etags = ["#a/b/c"]
length(file.outlinks) = 2
file.outlinks[0].rating = 8
[[My Project]].file.inlinks = [[[Hello]] ]
file.tasks.due = [date(2022-01-01), null]
file.tasks.completion = [null, date(2022-02-02)]
file.tasks.completed = [false, true]
length(file.lists) = 2
date(today) = date(2022-09-21)
date(yesterday) = date(2022-09-20)
date(tomorrow) = date(2022-09-22)
date(sow) = date(2022-09-19)
date(eow) = date(2022-09-25T23:59:59.999)
date(som) = date(2022-09-01)
date(eom) = date(2022-09-30T23:59:59.999)
date(soy) = date(2022-01-01)
date(end-of-year) = date(2022-12-31T23:59:59.999)
date(now) > date(today)
date(2021-11-11).month = 11
date(2022-09-21).weekyear = 38
date(2022-09-21).weekday = 3
dur(1 day).hours = 24
dur(2 years).months = 24
date(2022-01-31) + dur(1 month) = date(2022-02-28)
dur(1 day) + date(2022-01-31) = date(2022-02-01)
date(2022-03-27T00:00) + dur(1 day) = date(2022-03-28)
date(2022-05-16) - date(2021-04-16) = dur(1 year 1 month)
date(2022-03-28) - date(2022-03-27) = dur(1 day)
date(2022-01-01) - dur(1 week) = date(2021-12-25)
dur(2 hours) * 2 = dur(4 hours)
dur(2 hours) / 2 = dur(1 hour)
string(dur(400 days)) = "57 weeks, 1 day"
string(dur(14 months)) = "1 year, 2 months"
"a" + 1 = "a1"
1 + "a" = "1a"
"a" + null = "a-"
"ab" * 2 = "abab"
"a" + [[Hello|x]] = "a[[Hello|x]]"
[1] + [2] = [1, 2]
[1, [2, 3]] + "" = "1, [2, 3]"
{ a: 1 } + { b: 2 } = { a: 1, b: 2 }
null + null = null
7 % 4 = 3
null < 1
null < "a"
null < date(today)
!(1 = "1")
!(true = 1)
"a" < "B"
"ä" < "b"
"ß" != "ss"
!(["ß"] = ["ss"])
"ß" < "ss" or "ß" > "ss"
"Note 10" < "Note 9"
[1, 2] < [1, 3]
[[Hello]] = [[Hello.md]]
[[Hello]] != [[Hello#Part]]
!nothing
!0
!""
![]
!{}
!dur(0 days)
row["file"].name = "Hello"
""".strip().split("\n"),
)  # fmt: skip
def test_an_example_holds(text: str) -> None:
    """The two sides are equal, or the expression is true. Those of the documentation, and what differs from bases."""
    assert _value(text) is True, text_of(_value(text.rpartition(" = ")[0] or text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 + true", "No implementation found for 'number + boolean'"),
        ("[1] + 1", "No implementation found for 'array + number'"),
        ("null * 2", "No implementation found for 'null * number'"),
        ("lower(1)", "No implementation of 'lower' found for arguments: number"),
        ("{ a: 1 }[0]", "An object has names"),
        ('object("a")', "a value for each name"),
        ('"a" * 1000000', "longer than"),
        ('padleft("a", 1000000)', "longer than"),
        ("map(1, (x) => x)", "No implementation of 'map' found for arguments: number, function"),
        ("((x) => x) + 1", "A lambda stands only"),
        ("date(9999-12-31) + dur(1 day)", "after 9999"),
        ("dur(1 day) * 1000000000000", "too long"),
    ],
)
def test_what_fails_says_why(text: str, words: str) -> None:
    """An expression that has no value for a row is an error, which names the types."""
    with pytest.raises(CellError, match=r".") as raised:
        _value(text)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("((x) => x + 1)(2)", 3.0),
        ('default(((x) => {"done": "yes"}["done"])(1), "no")', "yes"),
        ("((x, y) => y)(1)", None),
        ("((x) => 5)(1, 2)", 5.0),
        ("map([1, 2], (x) => ((y) => x * y)(10))", [10.0, 20.0]),
    ],
)
def test_a_lambda_may_be_called_where_it_stands(text: str, value: Value) -> None:
    """An argument that is not given is null; one too many is left out."""
    assert _value(text) == value


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("1 + lowr(a)", 5, "There is no function 'lowr'. There is lower."),
        ("lower()", 1, "lower takes 1 argument, not 0."),
        ("round(1, 2, 3)", 1, "round takes 1 to 2 arguments, not 3."),
        ("map(a)", 1, "map needs a list and a lambda"),
        ("lower(a, (x) => x)", 1, "lower takes no lambda there."),
        ("1 + [a, (x) => x]", 5, "list takes no lambda there."),
    ],
)
def test_calls_that_never_work_are_told_before_the_rows(text: str, column: int, words: str) -> None:
    """They are mistakes of the text, with their place."""
    with pytest.raises(QueryProblem) as raised:
        check_calls(nodes_of(parse_query(f"LIST {text}")), f"LIST {text}")
    assert words in str(raised.value)
    assert raised.value.column == column + len("LIST ")


def test_work_and_memory_are_bounded() -> None:
    """A cell that would work for very long, or hold very much, ends with an error."""
    many = "flat(map(list(" + ",".join("0" * 90) + "), (x) => map(list(" + ",".join("0" * 90) + "), (y) => x)))"
    for text in (f"map({many}, (a) => length(map({many}, (b) => b)))", f'map({many}, (a) => padleft("", 100000))'):
        with pytest.raises(CellError, match=r"too long|more than"):
            _value(text)


def test_equal_values_are_equal_in_both_ways() -> None:
    """Equality is what the order says."""
    host = _Notes()
    values: list[Value] = [
        None,
        False,
        True,
        0,
        1.5,
        "",
        "a",
        "A",
        [],
        [1],
        {},
        {"a": 1},
        _value("date(today)"),
        _value("dur(1 d)"),
    ]
    for place, one in enumerate(values):
        assert [equal(one, other, host) for other in values] == [number == place for number in range(len(values))]


def test_there_is_a_page_of_all_functions() -> None:
    """Every function is in the table of the documentation, and the other way round."""
    from pathlib import Path  # noqa: PLC0415

    page = (Path(__file__).parents[2] / "docs/dataview.md").read_text()
    table = page.partition("## Functions")[2].partition("\n## ")[0]
    assert {name for name in FUNCTION_NAMES if f"`{name}`" not in table} == set()
