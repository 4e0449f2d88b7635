"""Which words of a note are tags: every rule that was observed on Obsidian, with where it was observed."""

from __future__ import annotations

import pytest

from vaultwire.markdown.parse import has_tag, parse_note

HELP = "obsidian-help: Tags"
TOKEN = "obsidian-help#816, the token pattern in app.js"
LEFT = "cyanheads/obsidian-mcp-server#138, Obsidian 1.13.7"
NEXT = "cyanheads/obsidian-mcp-server#140"
COMMONMARK = "CommonMark 0.31"
MARKUP = "seen on real vaults: a tag right behind markup counts, as behind the _ of #140"
OURS = "ours: the line as a reader sees it"

RULES = [
    # what a tag is made of
    ("#a", ["a"], HELP),
    ("#camelCase #PascalCase #snake_case #kebab-case", ["camelCase", "PascalCase", "snake_case", "kebab-case"], HELP),
    ("#inbox/to-read", ["inbox/to-read"], HELP),
    ("#a/", ["a"], TOKEN),
    ("#1984", [], HELP),
    ("#y1984 #1990s #3d", ["y1984", "1990s", "3d"], HELP),
    ("#日本 #тег #🔥 #שלום", ["日本", "тег", "🔥", "שלום"], HELP),
    ("#a.b", ["a"], TOKEN),
    ("#a, #b; #c! #d: #e? #f)", ["a", "b", "c", "d", "e", "f"], TOKEN),
    ("#a\u2014b", ["a"], TOKEN),  # general punctuation ends a tag
    ("#a\u2e3ab", ["a"], TOKEN),  # and so does supplemental punctuation
    ("#a'b #c`d", ["a", "c"], TOKEN),
    ("#", [], TOKEN),
    ("#/", [], TOKEN),
    ("##", [], TOKEN),
    ("#Tag #tag #TAG", ["Tag"], HELP),  # the first casing is shown
    ("#b #a #b", ["b", "a"], OURS),
    # what may stand before it
    ("x #a", ["a"], LEFT),
    ("x\t#a", ["a"], LEFT),
    ("x\u00a0#a", ["a"], LEFT),
    ("x\u3000#a", ["a"], LEFT),
    ("x#a", [], LEFT),
    ('(#a "#a .#a \u2014#a x>#a ~#a =#a !#a', [], LEFT),
    ("*#a* **#b** ***#c*** __#d__", ["a", "b", "c", "d"], MARKUP),
    ("==#a== ~~#b~~", ["a", "b"], MARKUP),
    ("[#a](url) [#b]", ["a", "b"], MARKUP),
    ("<b>#a</b> <span class='x'>#b</span>#c", ["a", "b", "c"], MARKUP),
    (r"\[#a \*#b \\#c", ["a", "b", "c"], MARKUP),
    (">#a", ["a"], COMMONMARK),  # a quote needs no space
    ("> | x |#a|", ["a"], NEXT),
    ("[x #a]", ["a"], LEFT),
    ("#a#b", ["a", "b"], NEXT),
    ("#a/#b", ["a", "b"], NEXT),
    ("x _#uc_", ["uc"], NEXT),
    ("snake_case_#wc", ["wc"], NEXT),
    ("| x |#a|#b |", ["a", "b"], NEXT),
    ("x |#a", [], LEFT),  # a bar outside a table is punctuation
    ("- #a", ["a"], OURS),
    ("- [ ] task #a", ["a"], OURS),
    ("> #a", ["a"], OURS),
    ("# Heading #a", ["a"], OURS),
    # links
    ("[Discord #a](https://x)", ["a"], NEXT),
    ("[x](y#a)", [], NEXT),
    ("[x](#a)", [], NEXT),
    ("[[Note#a]]", [], "cyanheads/obsidian-mcp-server#119"),
    ("[[#a]]", [], "cyanheads/obsidian-mcp-server#119"),
    ("[[Note| #a]] #b", ["b"], OURS),
    ("[[Note]]#a", [], LEFT),
    ("[x](y)#a", [], LEFT),
    ("<https://x/#a>", [], OURS),
    ("https://x/#a", [], LEFT),
    # escapes
    (r"\#a", [], "obsidian-help: Basic formatting syntax"),
    # code
    ("`#a` #b", ["b"], LEFT),
    ("`` ` #a `` #b", ["b"], COMMONMARK),
    ("` #a", ["a"], COMMONMARK),  # a backtick that no other closes
    ("`x`#a", [], LEFT),
    ("`a` #b `c` #d `", ["b", "d"], COMMONMARK),
    ("```\n#a\n```\n#b", ["b"], LEFT),
    ("~~~\n#a\n~~~\n#b", ["b"], LEFT),
    ("```\n~~~\n#a\n```\n#b", ["b"], COMMONMARK),
    ("````\n```\n#a\n````\n#b", ["b"], NEXT),
    ("```\n#a\n`````\n#b", ["b"], COMMONMARK),
    ("```\n``` js\n#a\n```\n#b", ["b"], NEXT),  # a closing fence carries no info string
    ("```js\n#a\n```\n#b", ["b"], COMMONMARK),
    ("``` a`b\n#a", ["a"], COMMONMARK),  # no fence: a backtick in the info string
    ("~~~ a`b\n#a\n~~~\n#b", ["b"], COMMONMARK),
    ("```\n#a", [], COMMONMARK),  # never closed
    ("- x\n  ```\n  #a\n  ```\n  #b", ["b"], COMMONMARK),
    ("- ```\n  #a\n  ```\n- #b", ["b"], COMMONMARK),
    ("1. ~~~\n   #a\n   ~~~\n2. #b", ["b"], COMMONMARK),
    ("> ```\n> #a\n> ```\n> #b", ["b"], COMMONMARK),
    ("> ```\n> #a\n\n#b", ["b"], COMMONMARK),  # a block ends with its quote
    ("    #a\n#b", ["b"], COMMONMARK),
    ("\t#a\n\n\t#b\n#c", ["c"], COMMONMARK),
    ("x\n    #a", ["a"], COMMONMARK),  # a paragraph goes on
    ("- x\n\n    #a", ["a"], COMMONMARK),  # a list item goes on
    ("- x\n\ny\n\n    #a", [], COMMONMARK),
    # math
    ("$#a$ $ #a $", ["a"], LEFT),
    ("$x #a$ #b", ["b"], LEFT),
    ("$$x #a$$ #b", ["b"], LEFT),
    ("$$\n#a\n$$\n#b", ["b"], LEFT),
    ("paid $5 #a and $6", ["a"], OURS),  # a digit behind: money
    ("paid $5 for #a and $x", ["a"], OURS),  # a space before: money
    (r"\$x #a$ #b", ["a", "b"], OURS),
    # comments and HTML
    ("<!-- #a --> #b", ["b"], LEFT),
    ("<!-- #a\n#a\n--> \n#b", ["b"], LEFT),
    ("x <!-- #a --> #b <!-- #a --> #c", ["b", "c"], LEFT),
    ("`<!--` #a", ["a"], OURS),
    ("%% #a %%", ["a"], "pvliesdonk/markdown-vault-mcp#1358: what stands in a comment counts"),
    ("<div>\n#a\n</div>\n\n#b", ["b"], LEFT),
    ("<div>#a</div>\n\n#b", ["b"], LEFT),
    ("<DIV class='x'>\n #a\n\n#b", ["b"], COMMONMARK),
    ("</details>\n #a\n\n#b", ["b"], COMMONMARK),
    ("<custom-tag>\n #a\n\n#b", ["b"], COMMONMARK),
    ("x\n<custom-tag>\n#a", ["a"], COMMONMARK),  # cannot interrupt a paragraph
    ("<mark>x</mark> #a", ["a"], COMMONMARK),  # a paragraph that begins with a tag
    ("<divide> #a", ["a"], COMMONMARK),
    ('<span style="color: #ff0000">x</span> #a', ["a"], OURS),
    ("<style>\n\n #a\n</style>\n#b", ["b"], COMMONMARK),
    ("<pre>x #a</pre>\n#b", ["b"], COMMONMARK),
    ("1 <2 #a", ["a"], OURS),
]


@pytest.mark.parametrize(("text", "expected", "source"), RULES, ids=[repr(rule[0]) for rule in RULES])
def test_tags_of_a_text_are_those_obsidian_shows(text: str, expected: list[str], source: str) -> None:
    assert parse_note(text).tags == expected, source


PROPERTY = "obsidian-help: Properties"
API = "obsidian.d.ts parseFrontMatterStringArray"
CACHE = "obsidian-tasks, tests/Obsidian/__test_data__: copies of the cache of Obsidian 1.9.2 and later"

PROPERTIES = [
    ("tags: a", ["a"], API),
    ('tags: "#a"', ["a"], API),
    ("tags: a, b", [], CACHE),
    ("tags: a,b", [], CACHE),
    ("tags: a b", [], CACHE),
    ('tags: "#a, #b"', [], CACHE),
    ("tags: [[a], [b, c], d]", ["d"], PROPERTY),  # a list within the list is no text
    ("tags: [a, b]", ["a", "b"], PROPERTY),
    ("tags: [\"#a\", 'b']", ["a", "b"], PROPERTY),
    ("tags:\n  - a\n  - b", ["a", "b"], PROPERTY),
    ("tags:\n- a\n- b", ["a", "b"], PROPERTY),
    ("tags:\n  - '#a'", ["a"], PROPERTY),
    ("tags:\n  - a b\n  - c", ["c"], PROPERTY),  # an element with a space is dropped
    ("tags:\n  - a b", [], PROPERTY),  # and so is the only one
    ("tags: ['a b']", [], PROPERTY),
    ("tags: ['a,b', c]", ["c"], CACHE),  # as it is no tag as a text
    ("tags: [1984, y1984]", ["y1984"], PROPERTY),
    ("Tags: [a]", ["a"], PROPERTY),
    ("TAGS: [a]", ["a"], PROPERTY),
    ("tag: a", [], "obsidian release notes 1.9"),
    ("tags:", [], PROPERTY),
    ("tags: []", [], PROPERTY),
    ("tags: [a/b/]", ["a/b"], PROPERTY),
    ("aliases: [a]", [], PROPERTY),
]


@pytest.mark.parametrize(("block", "expected", "source"), PROPERTIES, ids=[repr(rule[0]) for rule in PROPERTIES])
def test_tags_of_the_frontmatter_come_from_the_tags_property_alone(
    block: str, expected: list[str], source: str
) -> None:
    assert parse_note(f"---\n{block}\n---\n").tags == expected, source


def test_tags_of_frontmatter_come_first_and_name_the_casing() -> None:
    assert parse_note("---\ntags: [Work]\n---\n#play #work").tags == ["Work", "play"]


def test_a_comment_in_the_frontmatter_is_no_tag() -> None:
    assert parse_note("---\n#a: b\nx: y #c\n---\n").tags == []


@pytest.mark.parametrize(
    ("tags", "wanted", "found"),
    [
        (["a"], "a", True),
        (["a/b"], "a", True),
        (["a/b"], "A/B", True),
        (["A"], "a", True),
        (["a"], "#a", True),
        (["a/b"], "a/", True),
        (["x/a"], "a", False),
        (["ab"], "a", False),
        (["a"], "a/b", False),
        (["ΣΟΦΟΣ"], "σοφος", True),
        ([], "a", False),
    ],
)
def test_a_tag_covers_those_below_it_in_any_case(tags: list[str], wanted: str, found: bool) -> None:
    assert has_tag(tags, wanted) is found
