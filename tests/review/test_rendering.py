"""A note rendered as a tree: only allowed elements, whatever the note holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.review.rendering import (
    CLASSES,
    ELEMENTS,
    MAX_DEPTH,
    MAX_NODES,
    MAX_TEXT,
    REST,
    is_allowed_address,
    only_allowed,
    to_tree,
)

DOCS = Path(__file__).parents[2] / "docs"
# VAULTWIRE_REAL_VAULT=FOLDER names a vault of people besides the project's own pages.
REAL = [DOCS, *map(Path, filter(None, [os.environ.get("VAULTWIRE_REAL_VAULT")]))]


def known(linktext: str) -> str | None:
    return {"Note": "My Note.md", "Note#Part": "My Note.md", "My Note.md": "My Note.md", "a.png": "a.png"}.get(linktext)


def rendered(text: str) -> list[Any]:
    return to_tree(text, known, vault="V")


def nodes_of(tree: Any, depth: int = 0) -> Iterator[tuple[Any, int]]:
    assert isinstance(tree, list)
    for node in tree:
        yield node, depth
        if not isinstance(node, str):
            yield from nodes_of(node[2], depth + 1)


def text_of(tree: Any) -> str:
    return "".join(node for node, _ in nodes_of(tree) if isinstance(node, str))


def is_safe(tree: Any) -> bool:
    """Judge a tree by rules of the test's own, as a browser would read it."""
    count = 0
    for node, depth in nodes_of(tree):
        count += 1
        assert depth <= MAX_DEPTH + 1
        if isinstance(node, str):
            continue
        name, attributes, _ = node
        assert name in ELEMENTS
        assert name not in {
            "script",
            "style",
            "iframe",
            "img",
            "svg",
            "object",
            "embed",
            "form",
            "input",
            "link",
            "base",
        }
        for key, value in attributes.items():
            assert key in {"href", "class", "title", "start", "data-line", "data-callout", "data-mark"}
            assert key != "class" or value in CLASSES
            if key == "href":
                assert name == "a"
                seen = re.sub(r"[\x00-\x20]", "", value).lower()  # a browser leaves these out
                assert seen == value.lower()
                assert seen.startswith(("http://", "https://", "mailto:", "obsidian://", "#/"))
    return count <= MAX_NODES + 10


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](&#x6A;avascript:alert(1))",
    "[a](JaVaScRiPt&colon;alert(1))",
    "[a](<java\nscript:alert(1)>)",
    "[a](\x01javascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](//evil.example/x)",
    "[a](#/V/note/x%22onclick=alert)",
    "[a](file:///etc/passwd)",
    "![a](https://evil.example/a.png)",
    "![a](data:image/svg+xml,<svg/onload=alert(1)>)",
    "<javascript:alert(1)>",
    "[a]: javascript:alert(1)\n\n[a]",
    '[a](http://x "\\" onmouseover=alert(1))',
    "[[javascript:alert(1)|x]] ![[data:text/html,x]]",
    "---\na: '<b onclick=x>[[javascript:x]]'\n---\n",
    "> [!<script>]\n> x",
    "```<script>\n</script>\n```",
    "[^<b>]\n\n[^<b>]: <script>",
    "$<script>$ ==<b>== %%<i>%% #<u>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_text_or_nothing(text: str) -> None:
    assert is_safe(rendered(text))


_PIECES = [
    *HOSTILE,
    *"[]()<>!*_`~=$%#>-|\\^:&; \n\t\x00\u202e",
    "[[",
    "]]",
    "![[",
    "==",
    "%%",
    "$$",
    "- [ ] ",
    "> [!a]",
    "\n\n",
]


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=5)), max_size=40).map("".join))
@example("> " * 500 + "a")
@example("- " * 200 + "a")
def test_random_markdown_holds_only_what_is_allowed(text: str) -> None:
    assert is_safe(rendered(text))


_ANY = st.recursive(
    st.one_of(st.text(max_size=8), st.integers(), st.none(), st.sampled_from([*HOSTILE, "script", "a", "p", "href"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(
            st.sampled_from(["script", "a", "p", "img", "iframe", "span"]),
            st.dictionaries(
                st.sampled_from(["href", "onclick", "src", "style", "class", "start", "title"]), inner, max_size=3
            ),
            st.lists(inner, max_size=3),
        ).map(list),
    ),
    max_leaves=20,
)


@given(_ANY)
def test_any_tree_at_all_is_reduced_to_what_is_allowed(tree: Any) -> None:
    assert is_safe(only_allowed(tree))


@pytest.mark.parametrize(
    "piece", ["[", "![", "[[", ">", "- ", "*a **a ", "`a", "==a ", "[a](", "$", "%%", "|", "&#x", "[^1]"]
)
def test_a_megabyte_of_anything_stays_small_and_says_what_is_not_shown(piece: str) -> None:
    tree = rendered(piece * (1_000_000 // len(piece)))
    assert is_safe(tree)
    assert tree[-1] == REST
    assert len(text_of(tree)) <= MAX_TEXT + 200


def test_too_many_nodes_end_with_a_node_that_says_so() -> None:
    tree = rendered("*a* b\n\n" * 20_000)
    assert is_safe(tree)
    assert tree[-1] == REST


def test_too_deep_a_tree_is_cut_and_says_so() -> None:
    tree: list[Any] = ["x"]
    for _ in range(500):
        tree = [["blockquote", {}, tree]]
    assert only_allowed(tree)[-1] == REST


def test_html_is_shown_as_text() -> None:
    assert rendered("a <b>c</b>") == [["p", {"data-line": 1}, ["a <b>c</b>"]]]


def test_wikilinks_lead_to_notes_of_this_page() -> None:
    link = rendered("[[Note#Part|shown]]")[0][2][0]
    assert link == ["a", {"href": "#/V/note/My%20Note.md", "class": "note", "title": "My Note.md"}, ["shown"]]


def test_markdown_links_to_notes_are_decoded() -> None:
    assert rendered("[x](My%20Note.md)")[0][2][0][1]["href"] == "#/V/note/My%20Note.md"


def test_a_link_that_leads_nowhere_is_marked() -> None:
    assert rendered("[[Gone]]")[0][2][0] == [
        "span",
        {"class": "missing", "title": "Gone is not in the vault"},
        ["Gone"],
    ]


def test_an_outside_picture_is_its_text_and_address() -> None:
    assert text_of(rendered("![cat](https://e.example/c.png)")) == "cat (https://e.example/c.png)"


def test_a_picture_of_the_vault_opens_in_obsidian() -> None:
    link = rendered("![[a.png|100x20]]")[0][2][0]
    assert link[1]["href"] == "obsidian://open?vault=V&file=a.png"
    assert link[2] == ["a.png"]


@pytest.mark.parametrize(
    "address",
    [
        "obsidian://new?vault=V&file=Plan&content=x&overwrite",
        "obsidian://open?vault=V&file=Plan&append&content=x",
        "obsidian://open?vault=V&file=Plan&content=x",
        "obsidian://open?vault=V&file=Plan#&content=x",
        "obsidian://daily?vault=V&append&content=x",
        "obsidian://advanced-uri?vault=V&commandid=x",
        "OBSIDIAN://new?vault=V",
        "obsidian://hook-get-address",
    ],
)
def test_a_link_cannot_write_or_run_anything_in_obsidian(address: str) -> None:
    assert not is_allowed_address(address)
    assert "href" not in str(rendered(f"[open]({address}) <{address}> ![p]({address})"))


@pytest.mark.parametrize("query", ["vault=V&file=Plan%26append", "file=A/B.md", "vault=V"])
def test_a_link_can_open_a_file_in_obsidian(query: str) -> None:
    assert is_allowed_address(f"obsidian://open?{query}")


def test_a_callout_has_its_kind_and_title() -> None:
    found = rendered("> [!Warning]- Take *care*\n> body")[0]
    assert found[1] == {"data-line": 1, "class": "callout", "data-callout": "warning"}
    assert text_of([found]) == "Take carebody"


def test_tasks_show_their_boxes() -> None:
    items = rendered("- [ ] do\n- [x] done")[0][2]
    assert [(item[1]["data-mark"], text_of([item])) for item in items] == [(" ", "☐ do"), ("x", "☑ done")]


def test_comments_are_hidden_in_a_line_and_over_paragraphs() -> None:
    assert text_of(rendered("a %%b%% c\n\n%%\nhidden\n\nmore\n%%\nd")) == "a  cd"


def test_highlights_tags_math_and_footnotes() -> None:
    tree = rendered("==x *y*== #tag $a_b$ n[^1] costs $5 and $6\n\n[^1]: foot")
    assert ["mark", {}, ["x ", ["em", {}, ["y"]]]] in tree[0][2]
    assert ["span", {"class": "tag"}, ["#tag"]] in tree[0][2]
    assert ["span", {"class": "math"}, ["a_b"]] in tree[0][2]
    assert ["sup", {"class": "footnote"}, ["1"]] in tree[0][2]
    assert text_of(tree).endswith("costs $5 and $6foot")


def test_properties_are_a_table_with_links() -> None:
    tree = rendered('---\na: 1\nb: [x, "[[Note]]"]\n---\ntext')
    assert tree[0][1] == {"class": "properties"}
    assert text_of([tree[0]]) == "a1bx, Note"
    assert tree[1] == ["p", {"data-line": 5}, ["text"]]


def test_code_is_not_read_for_links() -> None:
    assert rendered("`[[Note]]`")[0][2] == [["code", {}, ["[[Note]]"]]]


def test_a_table_cell_may_hold_a_wikilink_with_a_display_text() -> None:
    tree = rendered("|a|\n|-|\n|[[Note\\|n]]|")
    assert [node[2] for node, _ in nodes_of(tree) if node[:1] == ["a"]] == [["n"]]


def test_block_ids_are_hidden() -> None:
    assert text_of(rendered("para ^id1")).strip() == "para"


@pytest.mark.parametrize("folder", REAL, ids=str)
def test_every_note_of_a_real_vault_is_rendered(folder: Path) -> None:
    for path in folder.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        tree = to_tree(text, lambda link: f"{link}.md", vault="help")
        assert is_safe(tree), path
        assert tree or not text.strip(), path
