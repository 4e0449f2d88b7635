"""Which links and embeds a note holds: every rule with where it comes from."""

from __future__ import annotations

import pytest

from vaultwire.markdown.inline import decoded_destination
from vaultwire.markdown.parse import parse_note

SEEN = "pvliesdonk/markdown-vault-mcp#1358, Obsidian 1.13.7"
NEXT = "pvliesdonk/markdown-vault-mcp#1383"
HELP = "obsidian-help: Internal links"
EMBED = "obsidian-help: Embed files"
TABLE = "obsidian-help: Advanced formatting syntax"
API = "obsidian.d.ts parseLinktext"
COMMONMARK = "CommonMark 0.31"
OURS = "ours: the line as a reader sees it"

# linktext and display of each link; an embed's linktext begins with !, a Markdown link's with @.
RULES = [
    # the wikilink
    ("[[Note]]", [("Note", "")], HELP),
    ("x [[Note]] y [[Other]].", [("Note", ""), ("Other", "")], HELP),
    ("[[Note|shown]]", [("Note", "shown")], API),
    ("[[Note#Part|shown]]", [("Note#Part", "shown")], API),
    ("[[Note#A#B]]", [("Note#A#B", "")], API),
    ("[[Note|a|b]]", [("Note", "a|b")], API),
    ("[[Note|a#b]]", [("Note", "a#b")], API),
    ("[[ Note | shown ]]", [("Note", "shown")], OURS),
    ("[[Note#^id]]", [("Note#^id", "")], HELP),
    ("[[Folder/Note.md]]", [("Folder/Note.md", "")], HELP),
    ("![[Figure.png]]", [("!Figure.png", "")], EMBED),
    ("![[Figure.png|100x145]]", [("!Figure.png", "100x145")], EMBED),
    ("![[Document.pdf#page=3]]", [("!Document.pdf#page=3", "")], EMBED),
    ("![[File.base#View]]", [("!File.base#View", "")], EMBED),
    ("\\![[Note]]", [("Note", "")], COMMONMARK),
    ("[[#Part]]", [("#Part", "")], SEEN),
    ("[[]] [[ ]] [[#]] [[|x]] [[", [], OURS),
    ("[[Sq]uare]]", [("Sq]uare", "")], SEEN),
    ("[[a\nb]]", [], SEEN),
    ("[[a [[b]] c]]", [("b", "")], SEEN),
    ("[[[a]]]", [("a", "")], OURS),
    ("[[a]] ]] [[b", [("a", "")], OURS),
    ("[[https://x]]", [("https://x", "")], SEEN),
    ("[[日本 🔥]]", [("日本 🔥", "")], HELP),
    ("\\[[a]]", [], COMMONMARK),
    ("\\\\[[a]]", [("a", "")], COMMONMARK),
    # the Markdown link
    ("[text](Note.md)", [("@Note.md", "text")], HELP),
    ("[text](Sub/My%20Note.md#Part%20one)", [("@Sub/My Note.md#Part one", "text")], SEEN),
    ("[w](Sub/My Note.md)", [], SEEN),
    ("[w](<Sub/My Note.md>)", [("@Sub/My Note.md", "w")], "obsidian release notes 1.7.0"),
    (
        "[We!rd (name) [x] #1](Sub/We!rd%20(name)%20[x]%20#1.md)",
        [("@Sub/We!rd (name) [x] #1.md", "We!rd (name) [x] #1")],
        SEEN,
    ),
    ("[x](%E6%97%A5.md)", [("@日.md", "x")], NEXT),
    ("[x](%E6.md) [y](100%.md)", [("@%E6.md", "x"), ("@100%.md", "y")], OURS),  # no UTF-8: as written
    ("![alt](a.png)", [("!@a.png", "alt")], EMBED),
    ("![alt|100](a.png)", [("!@a.png", "alt|100")], EMBED),
    ("[](a.md)", [("@a.md", "")], COMMONMARK),
    ("[x](#Part)", [("@#Part", "x")], SEEN),
    ("[x]() [y](#) [z](<>)", [], OURS),
    ("[x](a.md \"title\") [y](b.md 'it''s)", [("@a.md", "x")], COMMONMARK),
    ("[x](a.md 'title') [y](<b c.md> (title))", [("@a.md", "x"), ("@b c.md", "y")], COMMONMARK),
    ("[x]( a.md )", [("@a.md", "x")], COMMONMARK),
    ("[x] (a.md)", [], COMMONMARK),
    ('[x](a\\ "t")', [("@a\\", "x")], COMMONMARK),
    ("x](a.md)", [], COMMONMARK),
    ("\\[x](a.md) [y\\](b.md)", [], COMMONMARK),
    ("[x](a\\(b.md) [y](a(b)c.md)", [("@a(b.md", "x"), ("@a(b)c.md", "y")], COMMONMARK),
    ("[![alt](a.png)](b.md)", [("!@a.png", "alt"), ("@b.md", "![alt](a.png)")], COMMONMARK),
    ("[a [b](c.md) d](e.md)", [("@c.md", "b")], COMMONMARK),
    ("[`code` x](a.md)", [("@a.md", "`code` x")], COMMONMARK),
    ("[x](https://a.b) [y](mailto:a@b) [z](obsidian://open?x) ![](file:///a.png)", [], OURS),
    ("[x](C:/a.md)", [("@C:/a.md", "x")], OURS),
    # where they stand
    ("# About [[Note]]", [("Note", "")], HELP),
    ("- [[a]]\n  1. [[b]]\n- [ ] [[c]]", [("a", ""), ("b", ""), ("c", "")], HELP),
    ("> [!note] [[a]]\n> [[b]]", [("a", ""), ("b", "")], HELP),
    ("| x |\n| --- |\n| [[a\\|b]] [[c]] |", [("a", "b"), ("c", "")], TABLE),
    ("==[[a]]== **[[b]]** ~~[[c]]~~", [("a", ""), ("b", ""), ("c", "")], OURS),
    ("%% [[a]] %%\n%%\n[[b]]\n%%", [("a", ""), ("b", "")], SEEN),
    ("<mark>[[a]]</mark>", [("a", "")], OURS),
    ("[^1]: [[a]]", [("a", "")], OURS),
    # and where none does
    ("`[[a]]` [[b]]", [("b", "")], SEEN),
    ("`[a](b.md)` `` ` [[c]] ``", [], SEEN),
    ("[[a `b]] c`", [], COMMONMARK),
    ("[[a`b]] and [[c`d]]", [], COMMONMARK),
    ("[[The `!` Type]] [[a`b]]", [("The `!` Type", ""), ("a`b", "")], "jackyzha0/quartz#1246"),
    ("[[a$b]] and [[c$d]]", [("a$b", ""), ("c$d", "")], OURS),
    ("```\n[[a]]\n```\n[[b]]", [("b", "")], SEEN),
    ("~~~\n[a](b.md)\n~~~", [], SEEN),
    ("    [[a]]\n[[b]]", [("b", "")], SEEN),
    ("- ```\n  [[a]]\n  ```\n- [[b]]", [("b", "")], SEEN),
    ("> ```\n> [[a]]\n\n[[b]]", [("b", "")], SEEN),
    ("<!-- [[a]] --> [[b]] <!-- [[c]]\n[[d]] -->", [("b", "")], OURS),
    ("$[[a]]$ $$[[b]]$$ [[c]] $$ [[d]]\n[[e]]\n$$", [("c", "")], OURS),
    ("it costs $5 [[a]] or $6", [("a", "")], OURS),
    ('<a href="[[a]]">x</a>', [], OURS),
    ("<div>\n[[a]]\n</div>", [], OURS),
]


def _found(text: str) -> list[tuple[str, str]]:
    return [
        ("!" * link.is_embed + "@" * link.is_markdown + link.linktext, link.display) for link in parse_note(text).links
    ]


@pytest.mark.parametrize(("text", "expected", "source"), RULES, ids=[repr(rule[0]) for rule in RULES])
def test_links_of_a_text_are_those_obsidian_follows(text: str, expected: list[tuple[str, str]], source: str) -> None:
    assert _found(text) == expected, source


SINCE_4 = "obsidian release notes 1.4"
SINCE_11 = "obsidian release notes 1.11"
WHOLE = "mnaoumov/obsidian-frontmatter-markdown-links#13"

PROPERTIES = [
    ('a: "[[Note]]"', [("Note", "", 2)], SINCE_4),
    ("a: '[[Note#Part|shown]]'", [("Note#Part", "shown", 2)], SINCE_4),
    ('a:\n  - "[[b]]"\n  - c\n  - "[[d]]"', [("b", "", 3), ("d", "", 5)], SINCE_4),
    ('x: y\na: ["[[b]]", "[[c]]"]', [("b", "", 3), ("c", "", 3)], SINCE_4),
    ('a: "[b](c%20d.md)"', [("@c d.md", "b", 2)], SINCE_11),
    ('a: "[b](https://c)"', [], SINCE_11),
    ("a: [[Note]]", [], "yaml 2.7: a list in a list"),
    ('a: "see [[Note]]"', [], WHOLE),
    ('a: "[[b]] and [[c]]"', [], WHOLE),
    ('a: "see [b](c.md)"', [], WHOLE),
    ('a: "[b](c.md) and more"', [], WHOLE),
    ('a: "...[[b]]"', [], WHOLE),
    ('a: "![[b]]"', [("b", "", 2)], SINCE_4),
    ('a: "![b](c.md)"', [("@c.md", "b", 2)], SINCE_11),
    ("# [[Note]]\na: b # [[Note]]", [], "YAML: comments"),
    ('a:\n  - "[[b]]"\n  c: d', [], OURS),  # a form that is not read
    ("a: |\n  [[b]]", [], OURS),
]


@pytest.mark.parametrize(("block", "expected", "source"), PROPERTIES, ids=[repr(rule[0]) for rule in PROPERTIES])
def test_a_property_that_is_one_link_and_nothing_else_is_a_link(
    block: str, expected: list[tuple[str, str, int]], source: str
) -> None:
    found = parse_note(f"---\n{block}\n---\n").links
    assert [("@" * link.is_markdown + link.linktext, link.display, link.line) for link in found] == expected, source


def test_links_are_told_with_their_line_properties_first() -> None:
    links = parse_note('---\na: "[[b]]"\n---\nx\n\n[[c]] [d](e.md)\n').links
    assert [(link.linktext, link.line) for link in links] == [("b", 2), ("c", 6), ("e.md", 6)]


@pytest.mark.parametrize(
    ("destination", "linktext"),
    [
        ("a%20b.md", "a b.md"),
        ("a%2Fb.md", "a/b.md"),
        ("a%2", "a%2"),
        ("%zz", "%zz"),
        ("a\\_b\\x.md", "a_b\\x.md"),
        ("HTTPS://x", ""),
        ("", ""),
    ],
)
def test_a_destination_is_decoded_as_far_as_it_is_encoded(destination: str, linktext: str) -> None:
    assert decoded_destination(destination) == linktext


def test_a_link_at_the_start_is_no_embed_though_the_text_ends_with_an_exclamation_mark() -> None:
    (link,) = parse_note("[so](Note.md) it is!").links
    assert not link.is_embed
