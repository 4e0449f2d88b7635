"""YAML as Obsidian reads it: what scalars mean, every form of value, where its texts stand, and what is refused."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import yaml

from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import NotYamlError, PropertyValue, plain_scalar, read_yaml

# Measured on npm yaml 2.7.0, Obsidian's parser.
SCALARS: list[tuple[str, PropertyValue]] = [
    ("", None),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("nULL", "nULL"),
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("false", False),
    ("False", False),
    ("FALSE", False),
    ("tRUE", "tRUE"),
    ("yes", "yes"),
    ("on", "on"),
    ("NO", "NO"),
    ("off", "off"),
    ("12", 12),
    ("-12", -12),
    ("+12", 12),
    ("012", 12),
    ("0", 0),
    ("0o14", 12),
    ("0O14", "0O14"),
    ("0o18", "0o18"),
    ("0x1F", 31),
    ("-0x1F", "-0x1F"),
    ("0b1", "0b1"),
    ("1_000", "1_000"),
    ("12345678901234567890", 12345678901234567890),
    ("1.5", 1.5),
    ("1.0", 1.0),
    ("1.", 1.0),
    (".5", 0.5),
    ("+.5", 0.5),
    (".", "."),
    ("1e3", 1000.0),
    ("1.5E-1", 0.15),
    ("1e", "1e"),
    ("1e400", math.inf),
    (".inf", math.inf),
    ("-.INF", -math.inf),
    ("+.Inf", math.inf),
    (".iNF", ".iNF"),
    ("inf", "inf"),
    ("nan", "nan"),
    ("2024-01-05", "2024-01-05"),
    ("2024-01-05T10:30:00", "2024-01-05T10:30:00"),
    ("1:30", "1:30"),
    ("12:30:45", "12:30:45"),
    ("1.2.3", "1.2.3"),
    ("١٢", "١٢"),  # digits, but not YAML's
    ("9" * 5000, "9" * 5000),  # more than Python turns into a number
    ("<<", "<<"),
    ("=", "="),
    ("50%", "50%"),
    ('"12"', "12"),
    ("'true'", "true"),
    ("'null'", "null"),
    ('""', ""),
    ("''", ""),
    ("'it''s'", "it's"),
    (r"'a\n'", r"a\n"),
    (r'"a\nb\t\\\"\/"', 'a\nb\t\\"/'),
    (r'"\x41\u263A\U0001F600\e\0\_"', "A\u263a\U0001f600\x1b\0\xa0"),
]


@pytest.mark.parametrize(("written", "value"), SCALARS, ids=[repr(case[0][:20]) for case in SCALARS])
@pytest.mark.parametrize(
    ("form", "wrapped"),
    [
        ("a: {}", lambda value: value),
        ("a: {} # c", lambda value: value),
        ("a:\n  - {}", lambda value: [value]),
        ("a: [{}, x]", lambda value: [value, "x"]),
        ("a: {{b: {}}}", lambda value: {"b": value}),
        ("a: {}\nb: {{}}", lambda value: value),  # one line in another form takes the whole block the long way
    ],
    ids=["alone", "with a comment", "in a block list", "in a list", "in a map", "beside another form"],
)
def test_scalars_mean_what_the_core_schema_says(form: str, wrapped: object, written: str, value: PropertyValue) -> None:
    if not written and "[" in form:
        pytest.skip("nothing between commas is no YAML")
    frontmatter = parse_frontmatter(f"---\n{form.format(written)}\n---\n")
    assert frontmatter.problems == []
    assert repr(frontmatter.values["a"]) == repr(wrapped(value))  # type: ignore[operator]  # 1, 1.0 and True are equal


def test_not_a_number_is_a_number() -> None:
    for written in (".nan", ".NaN", ".NAN"):
        value = plain_scalar(written)
        assert isinstance(value, float)
        assert math.isnan(value)


FORMS: list[tuple[str, dict[str, PropertyValue]]] = [
    ("", {}),
    ("# only a comment", {}),
    ("a: |\n  b\n  - c\nd: e", {"a": "b\n- c\n", "d": "e"}),
    ("a: |-\n  b\n\n  c", {"a": "b\n\nc"}),
    ("a: >\n  b\n  c\n\n  d", {"a": "b c\nd\n"}),
    ("a: b\n  c", {"a": "b c"}),
    ('a: "b\n  c"', {"a": "b c"}),
    ("a: {b: 1, c: {d: yes}}", {"a": {"b": 1, "c": {"d": "yes"}}}),
    ("a:\n  b: 1\n  c:\n    - d", {"a": {"b": 1, "c": ["d"]}}),
    ("a:\n  - b: 1\n    c: 2\n  - d", {"a": [{"b": 1, "c": 2}, "d"]}),
    ("a: [[Link]]", {"a": [["Link"]]}),
    ("a: [b,\n  c]", {"a": ["b", "c"]}),
    ("a: [b,\n  c\n]\nd: e", {"a": ["b", "c"], "d": "e"}),
    ("a: [b: c]", {"a": [{"b": "c"}]}),
    ("a: []\nb: {}", {"a": [], "b": {}}),
    ('{"a": 1, "b": [true]}', {"a": 1, "b": [True]}),
    ("a: {{date}}", {"a": {"{ date }": None}}),
    ("? [a, {b: c}]\n: d", {"[ a, { b: c } ]": "d"}),
    ("'a' : b", {"a": "b"}),
    ("a : b", {"a": "b"}),
    ('"a\\x41": b', {"aA": "b"}),
    ("true: a\n012: b\n~: c\n1e3: d\n.5: e", {"true": "a", "12": "b", "": "c", "1000": "d", "0.5": "e"}),
    ("<<: {a: 1}", {"<<": {"a": 1}}),  # merging is YAML 1.1
    ("a: !!str 12", {"a": "12"}),
    ('a: !!int "12"', {"a": 12}),
    ("a: !foo 12\nb: ! 12", {"a": "12", "b": "12"}),
    ("a: !!timestamp 2024-01-05\nb: !!python/name:os.system x", {"a": "2024-01-05", "b": "x"}),
    ("a: !foo {b: c}", {"a": {"b": "c"}}),
    ("a: &x b\nc: *x", {"a": "b", "c": "b"}),
    ("a: &x [b, 1]\nc: {d: *x}", {"a": ["b", 1], "c": {"d": ["b", 1]}}),
    ("a: &x b\nc: &x d\ne: *x", {"a": "b", "c": "d", "e": "d"}),
    ("a: b\n...", {"a": "b"}),
    ("  a: b\n  c: d", {"a": "b", "c": "d"}),
    ("a: {b: c}\n\t\nd: e", {"a": {"b": "c"}, "d": "e"}),  # a blank line, tab or not
]


@pytest.fixture(params=["libyaml", "no libyaml"])
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "no libyaml":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(("block", "expected"), FORMS, ids=[repr(case[0]) for case in FORMS])
def test_every_form_of_yaml_is_read_with_libyaml_and_without(block: str, expected: dict[str, PropertyValue]) -> None:
    read = read_yaml(block + "\n", 2)
    assert repr(read.values) == repr(expected)
    assert read.problems == []


@pytest.mark.usefixtures("_loader")
def test_each_text_is_told_with_its_line() -> None:
    block = "a: |\n  b\n  c\n\n# x\nd:\n  - 1\n  - {e: TRUE, f: ~}\n  - .50\n? [g]\n: &h [i,\n  1.0]\nj: {k: *h}\n'l': [[M]]\n"
    read = read_yaml(block, 2)
    assert read.texts == {
        "a": ["b\nc\n"],
        "d": ["1", "true", "0.5"],
        "[ g ]": ["i", "1.0"],
        "j": ["i", "1.0"],
        "l": ["M"],
    }
    assert read.lines == {"a": [2], "d": [8, 9, 10], "[ g ]": [12, 13], "j": [14, 14], "l": [15]}


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(
    "odd", [*map(chr, range(0x20)), "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\uffff", "\ud800"]
)
def test_a_character_that_libyaml_refuses_is_one_like_any(odd: str) -> None:
    if odd in "\t\n":
        pytest.skip("white space to YAML")
    assert read_yaml(f"a: {{b: x{odd}y}}\nc: 'x{odd}y'\nd{odd}e: |\n  x{odd}y\nf: g\n", 2).values == {
        "a": {"b": f"x{odd}y"},
        "c": f"x{odd}y",
        f"d{odd}e": f"x{odd}y\n",
        "f": "g",
    }


def test_the_texts_of_names_are_those_of_a_property_that_repeats_them() -> None:
    read = read_yaml("&k a: *k\n? &x [b, 1]\n: c\nd: *x\n", 2)
    assert read.values == {"a": "a", "[ b, 1 ]": "c", "d": ["b", 1]}
    assert read.texts == {"a": ["a"], "[ b, 1 ]": ["c"], "d": ["b", "1"]}
    assert read.lines == {"a": [2], "[ b, 1 ]": [4], "d": [5, 5]}


LAUGHS = "a0: &a0 [lol]\n" + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(30))
REFUSED = [
    (LAUGHS, "line 6: aliases add more than 10000 characters"),
    ("a: &x [*x]", "line 2: there is no &x before *x"),
    ("a: *x", "line 2: there is no &x before *x"),
    ("b:\n  - &x " + "y" * 9000 + "\n  - *x\n  - *x", "line 5: aliases add more than 10000 characters"),
    # A map for a name counts with all its characters: names of names would double as values do.
    (
        "a: &x {? [" + "y" * 1200 + "] : 1}\nb: &z {? [*x, *x] : 1}\nc: *z",
        "line 4: aliases add more than 10000 characters",
    ),
    ("a: " + "[" * 100_000, "line 2: nested more than 100 levels deep"),
    ("a: " + "{a: " * 100_000, "line 2: nested more than 100 levels deep"),
    ("a:\n  " + "- " * 100_000, "line 3: nested more than 100 levels deep"),
    ("".join(" " * n + "a:\n" for n in range(200)), "line 102: nested more than 100 levels deep"),
    ("a: b\n...\nc: d", "line 4: "),
    ("%YAML 1.1\na: b", "line 3: "),
    ("- a", "line 2: expected 'name: value'"),
    ("\n\njust text", "line 4: expected 'name: value'"),
    ("a: b: c", "line 2: a text with ': ' in it needs quotes"),
    ("a: b\nc: @x", "line 3: a text that begins with @, ` or % needs quotes"),
    ("a:\n  - @name", "line 3: a text that begins with @, ` or % needs quotes"),
    ("a:\n\t- b", "line 3: a tab cannot indent YAML"),
    ('a: "b', "line 2: "),
    (r'a: "\q"', "line 2: "),
    ("a: [b, c", "line 2: "),
    ("a: b\n- c", "line 3: "),
    ("a: 'b' c", "line 2: "),
]


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(("block", "said"), REFUSED, ids=[repr(case[0][:30]) for case in REFUSED])
def test_what_obsidian_would_not_read_or_nobody_could_is_refused_with_its_line(block: str, said: str) -> None:
    with pytest.raises(NotYamlError) as refusal:
        read_yaml(block + "\n", 2)
    assert str(refusal.value).startswith(said)
    assert len(str(refusal.value)) > len("line 2: ")


def test_a_hundred_levels_and_a_few_aliases_are_read() -> None:
    assert read_yaml("a: " + "[" * 99 + "]" * 99 + "\n", 2).texts == {"a": []}
    read = read_yaml("a: &x [b]\nc: [" + "*x, " * 1000 + "]\n", 2)
    assert read.texts["c"] == ["b"] * 1000


@pytest.mark.parametrize(
    ("block", "problems", "values"),
    [
        ("a: {}\na: [{}]", ["line 3: property 'a' is there twice"], {"a": [{}]}),
        ("a: {b: 1, b: 2}", ["line 2: 'b' is there twice"], {"a": {"b": 2}}),
        ("a:\n  - b: 1\n    b: 2\nc: d", ["line 4: 'b' is there twice"], {"a": [{"b": 2}], "c": "d"}),
    ],
)
def test_of_a_name_that_is_there_twice_the_last_value_counts(
    block: str, problems: list[str], values: dict[str, PropertyValue]
) -> None:
    read = read_yaml(block + "\n", 2)
    assert (read.problems, read.values) == (problems, values)
    assert read.texts.keys() == read.lines.keys() == values.keys()


def test_pyyaml_is_loaded_for_a_note_that_needs_it_and_no_other() -> None:
    program = (
        "import sys\n"
        "from vaultwire.markdown.parse import parse_note\n"
        "for value in sys.argv[1:]:\n"
        "    assert parse_note(f'---\\na: {value}\\n---\\n').frontmatter.values['a'] is not None\n"
        "    print('yaml' in sys.modules)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, "2024-01-05", "[b, 'c']", "{b: c}"], capture_output=True, text=True, check=True
    )
    assert finished.stdout.split() == ["False", "False", "True"]
