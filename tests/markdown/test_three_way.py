"""Two changes of one text joined: what stands in the result, what clashes, and that nothing added is lost."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

import pytest

from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.three_way import Choice, Conflict, Form, Joined, form_of, join, revert
from vaultwire.markdown.yaml_core import read_yaml

BASE = """---
tags: [a, b]
status: draft
due: 2026-01-01
---
# Plan

The quick brown fox jumps over the lazy dog.

- [ ] buy milk
- [ ] call Ann

| name | age |
| --- | --- |
| Ann | 30 |
| Bob | 40 |

The end.
"""


def changed(*pairs: tuple[str, str], text: str = BASE) -> str:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def both_ways(base: str | None, mine: str, theirs: str) -> tuple[Joined, Joined]:
    one, other = join(base, mine, theirs), join(base, theirs, mine)
    if not any(clash.what == "property" for clash in one.clashes):  # of two values one stands in the text
        assert Counter(filter(str.strip, one.text.split("\n"))) == Counter(filter(str.strip, other.text.split("\n")))
    assert len(one.clashes) == len(other.clashes)
    return one, other


# what mine changes, what theirs changes, what the joined text is changed by
CLEAN = [
    ([("brown", "red")], [("lazy", "old")], [("brown", "red"), ("lazy", "old")]),
    ([("brown", "red")], [("brown", "red"), ("lazy", "old")], [("brown", "red"), ("lazy", "old")]),
    ([("milk", "oat milk")], [("call Ann", "call Bob")], [("milk", "oat milk"), ("call Ann", "call Bob")]),
    ([("[ ] buy", "[x] buy")], [("[ ] buy", "[x] buy")], [("[ ] buy", "[x] buy")]),
    ([("| Ann | 30 |", "| Anna | 30 |")], [("| Ann | 30 |", "| Ann | 31 |")], [("| Ann | 30 |", "| Anna | 31 |")]),
    ([("The end.\n", "The end.\nA\n")], [("The end.\n", "The end.\nB\n")], [("The end.\n", "The end.\nA\nB\n")]),
    (
        [("The end.\n", "The end.\nA\nB\n")],
        [("The end.\n", "The end.\nB\nC\n")],
        [("The end.\n", "The end.\nA\nB\nC\n")],
    ),
    ([("[a, b]", "[a, b, c]")], [("[a, b]", "[b, d]")], [("[a, b]", "[b, c, d]")]),
    ([("[a, b]", "[a, b, C]")], [("[a, b]", "[a, b, c]")], [("[a, b]", "[a, b, C]")]),
    ([("draft", "done")], [("2026-01-01", "2026-02-02")], [("draft", "done"), ("2026-01-01", "2026-02-02")]),
    ([("status: draft\n", "")], [("due:", "x: 1\ndue:")], [("status: draft\n", "x: 1\n")]),
    (
        [("- [ ] buy milk\n", "")],
        [("The end.", "The very end.")],
        [("- [ ] buy milk\n", ""), ("The end.", "The very end.")],
    ),
    (
        [("- [ ] buy milk\n- [ ] call Ann\n", "")],
        [("- [ ] call Ann\n", "")],
        [("- [ ] buy milk\n- [ ] call Ann\n", "")],
    ),
]


@pytest.mark.parametrize(("mine", "theirs", "both"), CLEAN, ids=[str(number) for number in range(len(CLEAN))])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_changes_that_do_not_touch_are_joined(
    mine: list[tuple[str, str]], theirs: list[tuple[str, str]], both: list[tuple[str, str]], ending: str
) -> None:
    one = join(BASE, changed(*mine).replace("\n", ending), changed(*theirs))
    assert one.clashes == []
    assert one.text == changed(*both).replace("\n", ending)


CLASHING = [
    ([("brown", "red")], [("brown", "black")], "lines", "The quick"),
    ([("brown fox", "brown cat")], [("quick brown", "quick red")], "lines", "The quick"),  # no word between
    ([("[ ] buy", "[x] buy")], [("milk", "milk and eggs")], "lines", "buy"),  # a task is done as it was worded
    ([("| 30 |", "| 31 |")], [("| 30 |", "| 32 |")], "lines", "Ann"),
    ([("draft", "done")], [("draft", "waiting")], "property", "status"),
    ([("status: draft\n", "")], [("draft", "waiting")], "property", "status"),
    ([("The end.\n", "")], [("The end.", "The very end.")], "lines", "end"),
]


@pytest.mark.parametrize(
    ("mine", "theirs", "what", "word"), CLASHING, ids=[str(number) for number in range(len(CLASHING))]
)
def test_what_both_changed_differently_is_a_clash_with_three_choices(
    mine: list[tuple[str, str]], theirs: list[tuple[str, str]], what: str, word: str
) -> None:
    own, other = changed(*mine), changed(*theirs)
    one, _ = both_ways(BASE, own, other)
    (clash,) = one.clashes
    assert clash.what == what
    assert word in f"{clash.name}{clash.mine}{clash.theirs}"
    assert one.open == {0: clash}
    assert join(BASE, own, other, choices={0: "mine"}).text == own
    theirs_chosen = join(BASE, own, other, choices={0: "theirs"}).text
    assert theirs_chosen == other or parse_frontmatter(theirs_chosen).values == parse_frontmatter(other).values
    assert join(BASE, own, other, choices={0: "theirs"}).open == {}
    text = join(BASE, own, other, choices={0: "both"}).text
    assert clash.mine.strip() in text
    assert clash.theirs.strip() in text


def test_without_a_base_only_what_is_the_same_or_added_is_joined() -> None:
    assert join(None, "a\nb\nc\n", "a\nc\nd\n").text == "a\nb\nc\nd\n"
    joined = join(None, "a\nb\nc\n", "a\nB\nc\n")
    assert [(clash.base, clash.mine, clash.theirs) for clash in joined.clashes] == [(None, "b\n", "B\n")]
    assert joined.text == "a\nb\nB\nc\n"
    texts = "---\ntags: [a]\nx: 1\n---\nt\n", "---\ntags: [b]\ny: 2\n---\nt\n"
    assert join(None, *texts).text == "---\ntags: [a, b]\nx: 1\ny: 2\n---\nt\n"


def test_both_clashing_places_get_numbers_in_order() -> None:
    mine = changed(("draft", "done"), ("brown", "red"), ("| 40 |", "| 41 |"))
    theirs = changed(("draft", "waiting"), ("brown", "black"), ("| 40 |", "| 42 |"))
    joined = join(BASE, mine, theirs)
    assert [clash.what for clash in joined.clashes] == ["property", "lines", "lines"]
    chosen = join(BASE, mine, theirs, choices={0: "theirs", 2: "mine"})
    assert [*chosen.open] == [1]
    assert "status: waiting" in chosen.text
    assert "| 41 |" in chosen.text
    assert "| 42 |" not in chosen.text
    lines = chosen.text.split("\n")
    span = chosen.clashes[1].span
    assert [line[:13] for line in lines[span.first - 1 : span.last]] == ["The quick red", "The quick bla"]


def test_a_comment_among_properties_is_kept() -> None:
    base = "---\na: 1\nb: 2\n---\n"
    assert join(base, "---\na: 1\nb: 3\n---\n", "---\n# why\na: 1\nb: 2\n---\n").text == "---\n# why\na: 1\nb: 3\n---\n"
    joined = join(base, "---\na: 1\nb: [3, 4]\n---\n", "---\na: 1\n# why\nb: [4, 5]\n---\n")
    assert "# why" in joined.text


def test_broken_properties_are_joined_by_lines() -> None:
    joined = join("---\na: [1\n---\nx\n", "---\na: [1\n---\nx\ny\n", "---\na: [2\n---\nx\n")
    assert joined.text == "---\na: [2\n---\nx\ny\n"


def test_code_blocks_added_by_both_stay_two() -> None:
    joined = join("a\n", "a\n```\none\n```\n", "a\n```\ntwo\n```\n")
    assert joined.text == "a\n```\none\n```\n```\ntwo\n```\n"


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "text"),
    [
        ("a", "a\nb", "a", "a\nb"),
        ("a", "a\n", "b", "b\n"),
        ("a\n", "a\nb\n", "a", "a\nb"),
        ("", "a", "b", "a\nb"),
        ("a", "a\nb", "c\na", "c\na\nb"),
        ("a\r\nb", "a\r\nb\r\nc", "A\nb", "A\r\nb\r\nc"),
        (
            "\ufeff---\nx: 1\n---\na\n",
            "\ufeff---\nx: 2\n---\na\n",
            "---\nx: 1\ny: 1\n---\na\n",
            "\ufeff---\nx: 2\ny: 1\n---\na\n",
        ),
    ],
)
def test_the_end_of_a_text_is_joined_too(base: str, mine: str, theirs: str, text: str) -> None:
    assert join(base, mine, theirs).text == text


CANVAS = {
    "nodes": [
        {"id": "a", "type": "text", "text": "one\ntwo", "x": 0, "y": 0, "width": 10, "height": 10},
        {"id": "b", "type": "file", "file": "Plan.md", "x": 50, "y": 0, "width": 10, "height": 10},
    ],
    "edges": [{"id": "e", "fromNode": "a", "toNode": "b"}],
}


def canvas(**more: object) -> str:
    data = json.loads(json.dumps(CANVAS))
    for key, value in more.items():
        part, _, field = key.partition("_")
        if value is None:
            data["nodes"] = [node for node in data["nodes"] if node["id"] != part]
        elif field:
            next(node for node in data["nodes"] if node["id"] == part)[field] = value
        else:
            data["nodes"].append({"id": part, "type": "text", "text": value, "x": 0, "y": 9, "width": 1, "height": 1})
    return json.dumps(data)


def nodes(joined: Joined) -> dict[str, dict[str, object]]:
    return {node["id"]: node for node in json.loads(joined.text)["nodes"]}


def test_canvases_are_joined_by_element() -> None:
    joined = join(canvas(), canvas(a_x=5, c="new", b_y=7), canvas(a_text="one\ntwo\nthree", d="other", b_y=7), "canvas")
    assert joined.clashes == []
    both = nodes(joined)
    assert [*both] == ["a", "b", "c", "d"]
    assert (both["a"]["x"], both["a"]["text"], both["b"]["y"]) == (5, "one\ntwo\nthree", 7)
    assert json.loads(joined.text)["edges"] == CANVAS["edges"]


def test_elements_of_a_canvas_clash_by_name() -> None:
    joined = join(canvas(), canvas(a_x=5), canvas(a_x=6), "canvas")
    assert [(clash.what, clash.name, clash.mine, clash.theirs) for clash in joined.clashes] == [
        ("element", "nodes/a/x", "5", "6")
    ]
    assert nodes(join(canvas(), canvas(a_x=5), canvas(a_x=6), "canvas", {0: "theirs"}))["a"]["x"] == 6
    gone = join(canvas(), canvas(b=None), canvas(b_y=3), "canvas")
    assert [clash.name for clash in gone.clashes] == ["nodes/b"]
    assert "b" in nodes(join(canvas(), canvas(b=None), canvas(b_y=3), "canvas", {0: "both"}))


def test_a_canvas_that_is_no_json_is_joined_by_lines() -> None:
    assert join("{\na\nb\n", "{\na\nb\nc\n", "{\nA\nb\n", "canvas").text == "{\nA\nb\nc\n"


def test_bases_are_joined_by_view() -> None:
    base = "filters:\n  and:\n    - a\nviews:\n  - type: table\n    name: One\n    limit: 5\n  - type: table\n    name: Two\n"
    mine = base.replace("limit: 5", "limit: 6") + "  - type: cards\n    name: Three\n"
    theirs = base.replace("    - a\n", "    - a\n    - b\n") + "  - type: cards\n    name: Four\n"
    joined = join(base, mine, theirs, "base")
    assert joined.clashes == []
    values = read_yaml(joined.text, 1).values
    assert values["filters"] == {"and": ["a", "b"]}
    views = values["views"]
    assert isinstance(views, list)
    assert [view["name"] for view in views if isinstance(view, dict)] == ["One", "Two", "Three", "Four"]
    assert views[0] == {"type": "table", "name": "One", "limit": 6}
    clashing = join(base, mine, base.replace("limit: 5", "limit: 7"), "base")
    assert [clash.name for clash in clashing.clashes] == ["views/One/limit"]


def test_the_form_is_that_of_the_file() -> None:
    assert [form_of(name) for name in ("A/b.md", "b.CANVAS", "c.base", "d.txt", "e")] == [
        "note",
        "canvas",
        "base",
        "text",
        "text",
    ]


# ---------------------------------------------------------------------- what holds for all texts


WORDS = ["plan", "garden", "tomato", "soup", "letter", "bridge", "winter", "paper", "river", "stone"]


def random_text(chance: random.Random, lines: int) -> list[str]:
    kinds = ["{}", "- {}", "- [ ] {}", "## {}", "> {}", "| {} |"]
    return [chance.choice(kinds).format(f"{chance.choice(WORDS)} {chance.randrange(10**6)}") for _ in range(lines)]


def edited(chance: random.Random, lines: list[str], count: int) -> tuple[list[str], set[str], set[str]]:
    """Return lines with some added and some removed, and which."""
    added: set[str] = set()
    removed: set[str] = set()
    result = [*lines]
    for _ in range(count):
        place = chance.randrange(len(result) + 1)
        if chance.random() < 0.6 or not result:
            new = random_text(chance, chance.randrange(1, 3))
            result[place:place] = new
            added.update(new)
        else:
            gone = result.pop(min(place, len(result) - 1))
            (added.discard if gone in added else removed.add)(gone)
    return result, added, removed


def test_no_line_that_one_side_added_is_lost_and_no_removed_one_comes_back() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(400):
        base = random_text(chance, chance.randrange(0, 12))
        mine, own_added, own_removed = edited(chance, base, chance.randrange(0, 5))
        theirs, other_added, other_removed = edited(chance, base, chance.randrange(0, 5))
        texts = ["".join(f"{line}\n" for line in lines) for lines in (base, mine, theirs)]
        one = join(texts[0], texts[1], texts[2])
        other = join(texts[0], texts[2], texts[1])
        lines = one.text.split("\n")
        assert own_added | other_added <= {*lines}, seed
        assert Counter(filter(None, lines)) == Counter(filter(None, other.text.split("\n"))), seed
        assert max(Counter(filter(None, lines)).values(), default=1) == 1 or one.clashes, seed
        if not one.clashes:
            assert not (own_removed | other_removed) & {*lines}, seed
            assert {*base} - own_removed - other_removed <= {*lines}, seed


def test_without_a_base_no_line_is_lost() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(200):
        base = random_text(chance, chance.randrange(0, 12))
        mine, theirs = (edited(chance, base, chance.randrange(0, 5))[0] for _ in range(2))
        joined = join(None, "\n".join(mine), "\n".join(theirs))
        assert {*mine, *theirs} <= {*joined.text.split("\n")}, seed


def test_equal_edits_are_made_once() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(200):
        base = random_text(chance, chance.randrange(0, 12))
        both = edited(chance, base, chance.randrange(0, 5))[0]
        more, _, _ = edited(chance, both, 0)
        for known in ("\n".join(base), None):
            joined = join(known, "\n".join(both), "\n".join(more))
            assert joined == Joined("\n".join(both), [], {}), seed
            assert join(known, "\n".join(both), "\n".join([*more, "last one"])).text == "\n".join(
                [*both, "last one"]
            ), seed


def test_properties_are_joined_by_name_in_random_notes() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)

    def note(values: dict[str, object]) -> str:
        return "---\n" + "".join(f"{name}: {value}\n" for name, value in values.items()) + "---\ntext\n"

    def change(values: dict[str, object]) -> dict[str, object]:
        new = dict(values)
        for _ in range(chance.randrange(4)):
            name = chance.choice("abcdefg")
            if chance.random() < 0.3:
                new.pop(name, None)
            else:
                new[name] = chance.choice([chance.randrange(9), f"[{chance.randrange(9)}, {chance.randrange(9)}]"])
        return new

    for _ in range(300):
        base: dict[str, object] = {name: chance.randrange(9) for name in chance.sample("abcdefg", 4)}
        mine, theirs = change(base), change(base)
        joined = join(note(base), note(mine), note(theirs))
        read = parse_frontmatter(joined.text)
        assert not read.problems, seed
        clashing = {clash.name for clash in joined.clashes}
        for name in "abcdefg":
            old, own, other = (side.get(name) for side in (base, mine, theirs))
            if name in clashing:
                assert old not in (own, other) or own != other, seed
            elif own == old:
                assert str(read.values.get(name)) == str(other), seed
            elif other == old:
                assert str(read.values.get(name)) == str(own), seed


def test_a_change_among_later_ones_is_undone_by_word_and_property() -> None:
    text = "---\na: 1\nb: 2\n---\nThe quick brown fox jumps over the lazy dog.\n"
    changed_a = text.replace("a: 1", "a: 5").replace("brown", "red")
    later = changed_a.replace("b: 2", "b: 6").replace("lazy", "old")
    assert revert(later, text, changed_a, "note") == text.replace("b: 2", "b: 6").replace("lazy", "old")
    assert isinstance(revert(later, text, changed_a), Conflict)
    assert isinstance(revert(later.replace("red", "blue"), text, changed_a, "note"), Conflict)


def test_any_three_texts_can_be_joined() -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    pieces = [
        "---\n",
        "a: 1\n",
        "a: [1\n",
        "tags: x\n",
        "\r\n",
        "```\n",
        "- [x] t\n",
        "| a |\n",
        "é\u0301",
        "\ufeff",
        "{",
        "\x00",
        "<<<<<<< a\n",
    ]
    forms: tuple[Form, ...] = ("note", "canvas", "base", "text")
    choices: tuple[Choice, ...] = ("mine", "theirs", "both")
    for _ in range(500):
        texts = ["".join(chance.choices(pieces, k=chance.randrange(8))) for _ in range(3)]
        base = texts[0] if chance.random() < 0.7 else None
        for form in forms:
            joined = join(base, texts[1], texts[2], form)
            for choice in choices:
                chosen = dict.fromkeys(range(len(joined.clashes)), choice)
                assert join(base, texts[1], texts[2], form, chosen).open == {}, seed


def test_long_texts_are_joined_in_good_time() -> None:
    lines = [f"line {number} {WORDS[number % 10]}" for number in range(5_000)]
    mine = [*lines[:100], "mine", *lines[100:]]
    theirs = [*lines[:4_000], "theirs", *lines[4_000:]]
    joined = join("\n".join(lines), "\n".join(mine), "\n".join(theirs))
    assert re.search(r"^mine$", joined.text, re.MULTILINE)
    assert re.search(r"^theirs$", joined.text, re.MULTILINE)
