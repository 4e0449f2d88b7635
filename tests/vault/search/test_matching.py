"""What each form of a query finds, how well, and in which lines."""

from __future__ import annotations

import subprocess
import sys
import threading
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refusal
from support.vaults import open_vault
from vaultwire.markdown.parsed_note import ParsedNote, Span, Task
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.errors import TIMEOUT
from vaultwire.vault.search.matching import Match, Matcher
from vaultwire.vault.search.note_parts import MAX_LINES_SHOWN
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.search.terms import fold_case, strip_diacritics
from vaultwire.vault.value_types import NoProgress


def found(query: str, text: str, path: str = "x.md") -> Match | None:
    return Matcher(parse_query(query)).match(path, text)


FINDS = [
    # what each leaf says holds for that leaf alone
    ("(/abc/ OR match-case:abc)", "ABC", True),
    ("(match-case:abc OR /abc/)", "ABC", True),
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
    ("12:30", "at 12:30", True),
    ("foo:bar", "foo: bar", False),
    ('a"b', 'a"b', True),
    # phrases: full words, in order, on one line
    ('"red apple"', "a red apple.", True),
    ('"red apple"', "a red apples", False),
    ('"red apple"', "apple red", False),
    ('"red apple"', "red\napple", False),
    ('"RED Apple"', "red apple", True),
    ('"apple"', "pineapple", False),
    ('"apple"', "pineapple, apple", True),
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
    # case
    ("match-case:Happy", "happy", False),
    ("match-case:Happy", "Happy", True),
    ('match-case:"Happy cat"', "a Happy cat", True),
    ("match-case:(Happy ignore-case:CAT)", "Happy cat", True),
    ("match-case:cafe", "café", False),
    ("match-case:/A/", "a", False),
    ("/A/", "a", True),
    # regular expressions: JavaScript's, a line's begin and end
    ("/^b$/", "a\nb\nc", True),
    ("/a.b/", "a\nb", False),
    ("/a\\nb/", "a\nb", True),
    ("/a[^]b/", "a\nb", True),
    ("/a[]/", "a", False),
    ("/(?<d>\\d)-\\k<d>/", "1-1", True),
    ("/(?<d>\\d)-\\k<d>/", "1-2", False),
    ("/a\\/b/", "a/b", True),
    ("/[/]b/", "a/b", True),
    ("/[[a]/", "[", True),
    ("/ss/", "ß", False),
    ("/three \\d/", "three ٣", False),
    ("/caf\\W/", "caféx", True),
    ("/é/", "cafe\u0301", True),
    # Unicode
    ("straße", "STRASSE", True),
    ("STRASSE", "straße", True),
    ("caf\u00e9", "cafe\u0301", True),
    ("cafe\u0301", "CAF\u00c9", True),
    ('"caf\u00e9"', "un cafe\u0301 noir", True),
    ("cafe", "un café", True),
    ("café", "un cafe", True),
    ('"cafe"', "un café noir", True),
    ("-cafe", "un café", False),
    ("μηνις", "μῆνιν μῆνις", True),
    ("か", "が", False),
    ("日本", "私は日本語を話す", True),
    ('"日本"', "私は日本語を話す", True),  # no blanks, so no edges
    ("ไทย", "ภาษาไทยง่าย", True),
    ('"ไทย"', "ภาษาไทยง่าย", True),
    ("한국", "한국어", True),
    ("東京", "東京タワー", True),
    ("σοφος", "ΣΟΦΟΣ", True),
    ("\u0301", "x\u0301", True),
    ("\u0301", "x", False),
]


@pytest.mark.parametrize(("query", "text", "expected"), FINDS, ids=[f"{case[0]} in {case[1]!r}" for case in FINDS])
def test_a_query_finds_what_it_says(query: str, text: str, expected: bool) -> None:
    assert (found(query, text) is not None) is expected


VAULT = """
=== Meetings/Standup.md
---
status: Draft
duration: 4
aliases:
---
Our meeting about work.
=== Meetings/Meetup 202209.md
---
Status: Published
duration: 15
aliases: [Name, Other]
due: 2024-05-01
---
personal meetup of the meeting group
=== Daily notes/2022-07-01.md
#work/home they said "hello" to each other
=== Daily notes/2023-01-05.md
#myjob/work on 2022-01-01
`#work` in code
=== Cooking.md
---
empty: ""
list: []
done: true
---
mix the flour
mix
# Animals
happy cat
a HappyCat

dog
## More
cat
"""
MEETINGS = {"Standup", "Meetup 202209"}

EXAMPLES: list[tuple[str, set[str], str]] = [
    # "help": an example of https://help.obsidian.md/plugins/search, or its form on other words
    ("meeting work", {"Standup"}, "help"),
    ("meeting OR flour", {*MEETINGS, "Cooking"}, "help"),
    ("meeting work OR meetup personal", MEETINGS, "help"),
    ("meeting (work OR meetup) personal", {"Meetup 202209"}, "help"),
    ("meeting -work", {"Meetup 202209"}, "help"),
    ("meeting -work -meetup", set(), "help"),
    ("meeting -(work meetup)", MEETINGS, "help"),
    ('"said \\"hello\\" to each other"', {"2022-07-01"}, "help"),
    ("meeting [duration:<5]", {"Standup"}, "help"),
    ("meeting [duration:>5]", {"Meetup 202209"}, "help"),
    ("file:202209", {"Meetup 202209"}, "help"),
    ("file:.jpg", set(), "help: notes only"),
    ('path:"Daily notes/2022-07"', {"2022-07-01"}, "help"),
    ('content:"happy cat"', {"Cooking"}, "help"),
    ("match-case:HappyCat", {"Cooking"}, "help"),
    ("match-case:happycat", set(), "help"),
    ("ignore-case:happycat", {"Cooking"}, "help"),
    ("tag:#work", {"2022-07-01"}, "help: not #myjob/work, nothing in code"),
    ("line:(mix flour)", {"Cooking"}, "help"),
    ("-line:(mix flour)", {*MEETINGS, "2022-07-01", "2023-01-05"}, "help"),
    ("section:(dog cat)", {"Cooking"}, "help"),
    ("[aliases]", MEETINGS, "help"),
    ("[aliases:Name]", {"Meetup 202209"}, "help"),
    ("[aliases:null]", {"Standup"}, "help"),
    ("[empty:null] OR [list:null]", set(), 'help: not "" or []'),
    ("[status:Draft OR Published]", MEETINGS, "help"),
    ("/\\d{4}-\\d{2}-\\d{2}/", {"Meetup 202209", "2022-07-01", "2023-01-05"}, "help"),
    ("path:/\\d{4}-\\d{2}-\\d{2}/", {"2022-07-01", "2023-01-05"}, "help"),
    # beyond the examples
    ("file:standup.md", {"Standup"}, ""),
    ("file:meetings", set(), "a folder is no name"),
    ("path:meetings", MEETINGS, ""),
    ("PATH:(meetings -standup)", {"Meetup 202209"}, "names in any case"),
    ("content:standup", set(), "not the name"),
    ("tag:work/home", {"2022-07-01"}, ""),
    ("tag:wor", set(), "whole parts of a tag"),
    ("tag:/^#my/ OR tag:/home$/", {"2022-07-01", "2023-01-05"}, ""),
    ("tag:(work -myjob)", {"2022-07-01"}, ""),
    ("-tag:work path:daily", {"2023-01-05"}, ""),
    ("line:(happy dog)", set(), ""),
    ("line:/^cat$/", {"Cooking"}, ""),
    ("section:(flour mix)", {"Cooking"}, "before the first heading"),
    ("section:(flour cat)", set(), ""),
    ("section:(Animals dog -flour)", {"Cooking"}, "with its heading"),
    ("section:(more dog)", set(), ""),
    ("[STATUS]", MEETINGS, "names in any case"),
    ("[stat]", set(), "whole names"),
    ("[/^stat/]", MEETINGS, ""),
    ("[status OR done]", {*MEETINGS, "Cooking"}, ""),
    ("[status:pub]", {"Meetup 202209"}, "part of a value"),
    ('[status:"pub"]', set(), "quoted: the whole value"),
    ('[status:"published"]', {"Meetup 202209"}, ""),
    ("[status:/^d/]", {"Standup"}, ""),
    ("[status:-draft]", {"Meetup 202209"}, ""),
    ("-[status:draft] [duration]", {"Meetup 202209"}, ""),
    ("[aliases:(name other)]", {"Meetup 202209"}, ""),
    ('[aliases:"name, other"]', set(), "each value on its own"),
    ('[empty:""]', {"Cooking"}, ""),
    ("[empty:EMPTY] [list:EMPTY]", {"Cooking"}, ""),
    ("[aliases:EMPTY]", {"Standup"}, ""),
    ("[done:TRUE]", {"Cooking"}, ""),
    ("[done:FALSE]", set(), ""),
    ("[duration:>=15]", {"Meetup 202209"}, ""),
    ("[duration:<=4]", {"Standup"}, ""),
    ("[duration:> 4]", {"Meetup 202209"}, ""),
    ("[duration:<4]", set(), ""),
    ("[due:<2024-06-01]", {"Meetup 202209"}, ""),
    ("[due:>2024-06-01]", set(), ""),
    ("[due:>5]", set(), "a date is no number"),
    ("[status:>5]", set(), "nor is a word"),
    ("match-case:[status:draft]", set(), ""),
    ("match-case:(tag:work meeting) OR match-case:path:Cook", {"Cooking"}, ""),
]  # fmt: skip


def notes_of(literal: str) -> dict[str, str]:
    parts = literal.lstrip("\n").split("=== ")[1:]
    return {path.strip(): text for path, _, text in (part.partition("\n") for part in parts)}


@pytest.mark.parametrize(("query", "expected", "source"), EXAMPLES, ids=[case[0] for case in EXAMPLES])
def test_operators_find_what_the_documentation_says(query: str, expected: set[str], source: str) -> None:
    matcher = Matcher(parse_query(query))
    paths = {path for path, text in notes_of(VAULT).items() if matcher.match(path, text)}
    assert {path.rsplit("/", 1)[-1].removesuffix(".md") for path in paths} == expected, source


PROPERTIES = [
    ("[p:null]", "p:", True),
    ("[p:null]", "p: ~", True),
    ("[p:null]", "p: Null # none", True),
    ("[p:null]", 'p: "null"', False),  # a text
    ("[p:null]", "p: ''", False),
    ("[p:null]", "p: {q: ~}", False),
    ("[p:null]", "p: |\n  text", False),
    ("[p:null]", "p: [[Link]]", False),
    ("[p:null]", "p: a: b", False),  # no YAML: what it says is not known
    ("[p:EMPTY]", "p: {}", True),
    ("[p:EMPTY]", "p: [~]", False),
    ("[p:EMPTY]", "p: 0", False),
    ("[p:EMPTY]", "p: false", False),
    ("[p:TRUE]", "p: True", True),
    ("[p:TRUE]", "p: 'true'", True),
    ("[p:TRUE]", "p: yes", False),
    ("[p:FALSE]", "p: FALSE", True),
    ("[p:FALSE]", "p:", False),
    ("[p:inner]", "p: {q: {r: [an inner text]}}", True),
    ("[p:q]", "p: {q: r}", False),  # a name within a map is no value
    ("[p:second]", "p: >\n  first\n  second", True),
    ("[p:Link]", "p: [[Link]]", True),
    ("[p:>10]", "p: 012", True),
    ("[p:>10]", "p: 0x1F", True),
    ("[p:>10]", "p: 1e3", True),
    ("[p:1.0]", "p: 1.0", True),
    ("[p:<1]", "p: .5", True),
    ("[p:>10]", "p: {q: [3, 12]}", True),
    ("[p:>10]", "p: 1_000", False),  # a text
    ("[p:>10]", "p: '12'", True),  # as a number that a person put in quotes
    ("[p:>10]", "p: true", False),
    ("[p:<2024-06-01]", "p: 2024-05-01", True),
]


@pytest.mark.parametrize(
    ("query", "block", "expected"), PROPERTIES, ids=[f"{case[0]} in {case[1]!r}" for case in PROPERTIES]
)
def test_properties_are_matched_by_what_yaml_says_they_are(query: str, block: str, expected: bool) -> None:
    assert (found(query, f"---\n{block}\n---\nbody\n") is not None) == expected


TASKS_TEXT = "intro\n- [ ] call mum\n- [x] email dad\n- [?] call dad\n\ndog and cat\nbird\n"


def tasks_parse(text: str) -> ParsedNote:
    """Return the structure of ``TASKS_TEXT``, by hand: this is about the query, not about reading Markdown."""
    tasks = [Task(" ", "call mum", 2), Task("x", "email dad", 3), Task("?", "call dad", 4)]
    blocks = [Span(1, 1), Span(2, 2), Span(3, 3), Span(4, 4), Span(6, 7)]
    return ParsedNote(parse_frontmatter(text), [], [], [], [], tasks, blocks, [])


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("task:call", [2, 4]),
        ("task:(call OR email)", [2, 3, 4]),
        ('task:""', [2, 3, 4]),
        ('task-todo:""', [2]),
        ("task-todo:call", [2]),
        ("task-done:call", [4]),  # any mark is done but the blank
        ("task-done:(email dad)", [3]),
        ("task:(call -mum)", [4]),
        ("task:(mum dad)", None),
        ("task-todo:dad", None),
        ("task:intro", None),
        ("-task:intro", []),
        ("block:(dog bird)", [6, 7]),
        ("block:(intro call)", None),
        ("block:(-call -dad -bird)", [1]),
        ("TASK-DONE:/^e/", [3]),
    ],
)
def test_tasks_and_blocks_are_looked_into_one_by_one(query: str, lines: list[int] | None) -> None:
    match = Matcher(parse_query(query), parse=tasks_parse).match("x.md", TASKS_TEXT)
    assert (match and [line.number for line in match.lines]) == lines


def test_a_note_is_not_parsed_unless_its_text_holds_the_words_of_an_operator() -> None:
    def never(text: str) -> ParsedNote:
        raise AssertionError(text)

    for query in ("a needle", "task:needle", "block:(a needle)", "section:needle", "tag:needle", "line:needle"):
        assert Matcher(parse_query(query), parse=never).match("x.md", "a [ ] #b") is None


def test_a_term_counts_in_the_name_too() -> None:
    match = found("plan money", "about money", "Work/Plan.md")
    assert match is not None
    assert (match.matches, [line.text for line in match.lines]) == (1, ["about money"])
    assert found("work", "x", "Work/Plan.md") is None  # the folder is not the name
    assert found("plan -money", "x", "Plan.md") is not None
    assert found("money -plan", "money", "Plan.md") is None


def test_all_matching_lines_are_counted_and_the_first_few_shown_with_their_numbers() -> None:
    match = found("needle", "\n".join(["x", "needle needle"] * 20))
    assert match is not None
    assert match.matches == 20
    assert [line.number for line in match.lines] == [2, 4, 6, 8, 10][:MAX_LINES_SHOWN]


TOPICS = """---
title: Conflicts of sync
aliases: [Sync, conflicts]
tags: [sync]
---
Sync is on. How to sync: sync.
how to go on
sync again
Sync of phones
Conflicts are rare.
sync, too
Sync and conflicts
to sync
A sync that has conflicts
"""


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("sync conflicts", [6, 8, 10, 12, 14]),  # both words, then the rarer one, then the first
        ("how to sync conflicts", [6, 7, 10, 12, 14]),
        ("sync", [6, 8, 9, 11, 12]),  # equal: the first, but frontmatter last
    ],
)
def test_lines_with_most_and_rarest_words_are_shown_in_their_order(query: str, lines: list[int]) -> None:
    match = found(query, TOPICS)
    assert match
    assert [line.number for line in match.lines] == lines
    texts = TOPICS.split("\n")
    assert all(texts[line.number - 1] == line.text for line in match.lines)


def test_lines_of_an_operator_are_the_first() -> None:
    match = found("line:(sync) conflicts", TOPICS)
    assert match
    assert [line.number for line in match.lines] == [2, 3, 4, 6, 8]


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("a -c", [1, 3]),
        ("a OR d", [1, 3, 4]),
        ("line:(a b)", [3]),
        ("/^.$/", [1, 4]),
        ("/d\\n\\n/", [4]),
        ("content:d", [4]),
        ("file:x", []),
        ("-c", []),
    ],
)
def test_the_lines_shown_are_those_that_hold_what_is_looked_for(query: str, lines: list[int]) -> None:
    match = found(query, "a\nbbb\na b\nd\n\n")
    assert match is not None
    assert [line.number for line in match.lines] == lines


def test_a_name_beats_a_heading_beats_a_tag_or_alias_beats_any_number_of_mentions() -> None:
    ranked = [
        found("plan", "x", "Plan.md"),
        found("plan", "# plan"),
        found("plan", "plan\n#plan"),
        found("plan", "#plan"),
        found("plan", "plan\n" * 1000),
        found("plan", "plan\nplan"),
        found("plan", "a cafe plan"),
    ]
    scores = [match.score for match in ranked if match is not None]
    assert len(set(scores)) == len(ranked)
    assert scores == sorted(scores, reverse=True)
    alias, property_ = found("plan", "---\naliases: [A plan]\n---\n"), found("plan", "---\ntitle: A plan\n---\n")
    assert alias is not None
    assert property_ is not None
    assert alias.score == scores[3]
    assert property_.score == scores[-1]


HEADINGS = [
    ("# plan", True),
    ("   ## a plan ##", True),
    ("#\tplan", True),
    ("a plan\n===", True),
    ("x\n\na\nplan\nc\n---\n", True),
    ("---\nx: plan\n---\nplan\n", False),
    ("plan\n\n---", False),
    ("- plan\n---", False),
    ("```\n# plan\n```", False),
    ("    # plan", False),
    ("> # plan", False),
    ("%%\n# plan\n%%", False),
    ("| plan |\n|---|\n\n# other", False),
]


@pytest.mark.parametrize(("text", "is_heading"), HEADINGS, ids=[repr(text) for text, _ in HEADINGS])
def test_a_word_weighs_as_in_a_heading_where_the_outline_has_one(text: str, is_heading: bool) -> None:
    match, heading = found("plan", text), found("plan", "# plan")
    assert match is not None
    assert heading is not None
    assert (match.score == heading.score) is is_heading


@pytest.mark.parametrize("mark", ["===", "---"])
def test_an_underlined_heading_begins_a_section(mark: str) -> None:
    match = found("section:(b c)", f"# A\nb\n\nB\n{mark}\nb c\n\nC\n{mark}\nc")
    assert match is not None
    assert [line.number for line in match.lines] == [4, 6]


def test_a_note_that_matches_only_without_diacritics_comes_after_every_other() -> None:
    exact, folded = found("cafe", "cafe"), found("cafe", "# café\ncafé\n", "Café.md")
    assert exact is not None
    assert folded is not None
    assert exact.score > folded.score
    assert folded.matches == 2


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


@given(st.text(min_size=1), st.text(), st.text())
def test_every_part_of_a_text_is_found_in_it_whatever_its_case_or_form(part: str, before: str, behind: str) -> None:
    # A blank on both sides, so that no combining mark of the rest joins the part.
    text = f"{before} {part} {behind}"
    term = fold_case(unicodedata.normalize("NFD", part))
    for folded in (fold_case(text), fold_case(unicodedata.normalize("NFD", text))):
        assert term in folded
        assert strip_diacritics(term) in strip_diacritics(folded)
        assert strip_diacritics(folded).count("\n") == text.count("\n")


WORDS = [
    "red",
    "Apple",
    "apple",
    "apples",
    "Äpfel",
    "apfel",
    "日本",
    "#red/x",
    "# red",
    "- [ ] apple",
    "- [x] red",
    "\n",
    "\n\n",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join).map(lambda text: text.replace(" \n ", "\n"))
TERMS = ["red", '"apple"', "äpfel", "-red", "tag:red", "line:(red apple)", "section:red", "task:apple", "task-done:red", "/^a/",
    "(red OR apple)", "match-case:Apple", "file:a", "-line:apple", "block:(red -apple)", "日本"]  # fmt: skip
NAMES = ["a.md", "Red.md", "Äpfel.md", "x/y.md"]


@given(st.lists(TEXTS, min_size=4, max_size=4), st.sampled_from(TERMS), st.sampled_from(TERMS))
def test_the_operators_are_an_algebra_of_sets(texts: list[str], left: str, right: str) -> None:
    def of(query: str) -> set[str]:
        matcher = Matcher(parse_query(query))
        return {name for name, text in zip(NAMES, texts, strict=True) if matcher.match(name, text)}

    a, b, everything = of(left), of(right), set(NAMES)
    assert of(f"{left} {right}") == a & b
    assert of(f"{left} OR {right}") == a | b
    assert of(f"-({left})") == everything - a
    assert of(f"-({left} {right})") == everything - (a & b) == of(f"-({left}) OR -({right})")
    assert of(f"-({left} OR {right})") == everything - (a | b) == of(f"-({left}) -({right})")
    assert of(f"-(-({left}))") == a


# Tries every way to cut the run of letters into ones and twos.
CATASTROPHE, VICTIM = "/(a|aa)+$/", "a" * 60 + "!"


def test_a_catastrophic_regular_expression_ends_with_the_budget_of_a_note() -> None:
    matcher = Matcher(parse_query(f"x {CATASTROPHE}"), regex_seconds=0.05)
    assert matcher.match("fine.md", "x a") is not None
    error = refusal(matcher.match, "x.md", f"x {VICTIM}")
    assert error.code == TIMEOUT
    assert error.details == {"argument": "query", "position": 2, "path": "x.md"}
    assert "character 3" in error.message
    assert "'x.md'" in error.message
    assert matcher.match("fine.md", "x a") is not None  # each note has a budget of its own


def test_other_calls_go_on_while_a_regular_expression_runs_away(tmp_path: Path) -> None:
    (tmp_path / "victim.md").write_text(VICTIM)
    vault = open_vault(tmp_path)
    begun, ended = threading.Event(), threading.Event()
    codes: list[str] = []

    class Watched(NoProgress):
        def report(self, done: int, total: int, message: str) -> None:
            begun.set()

    def run_away() -> None:
        codes.append(refusal(vault.search, CATASTROPHE, "", 0, 9, Watched()).code)
        ended.set()

    thread = threading.Thread(target=run_away)
    thread.start()
    assert begun.wait(60)
    answered = 0
    while not ended.is_set():
        assert vault.search("aa", "", 0, 9).total == 1
        answered += 1
    thread.join()
    assert codes == [TIMEOUT]
    # Were the interpreter held, only the few calls before the expression began would have been answered.
    assert answered > 100


def test_only_a_query_with_a_regular_expression_loads_their_library() -> None:
    program = (
        "import sys\n"
        "from vaultwire.vault.search.matching import Matcher\n"
        "from vaultwire.vault.search.query import parse_query\n"
        "for query in sys.argv[1:]:\n"
        "    Matcher(parse_query(query)).match('x.md', 'a é')\n"
        "    print('regex' in sys.modules)\n"
    )
    plain = 'a -"b" tag:c line:(d OR é) [e:>5]'
    finished = subprocess.run([sys.executable, "-c", program, plain, "/a/"], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["False", "True"]
