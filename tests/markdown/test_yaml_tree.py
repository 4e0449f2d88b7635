"""Where the texts of YAML stand: every text, in every style, character by character."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import NotYamlError
from vaultwire.markdown.yaml_tree import YamlText, property_nodes, texts_in

HEADS = ["", "'", '"', "|", ">", "|-", ">-", "|+", ">+", "|2", ">1", "> # why", "&x ", "!!str ", "&x !!str\n  "]
PIECES = [
    *(
        "a",
        "b c",
        " ",
        "  ",
        "\t",
        "\n",
        "\n  ",
        "\n    ",
        "\n\n  ",
        "\n \t\n  ",
        "#",
        " # c",
        "''",
        "'",
        '"',
        "\\\\",
        "\\n",
    ),
    *(
        "\\\n  ",
        "\\x41",
        "\\u00e9",
        "\\U0001F600",
        "\\_",
        "é",
        "😀",
        "\u2028",
        "\x85",
        "\x07",
        "\U00100041",
        ": ",
        ":",
        "- ",
        "[",
        "]",
    ),
]
FRAMES = [
    "k: {}\n",
    "k:\n  - {}\n  - z\n",
    "- {}\n",
    "o:\n  k: {}\n# below\np: 1\n",
    "k: [{}, z]\n",
    "k: {}",
    "k: {{z: {}}}\n",
]


@st.composite
def yaml(draw: st.DrawFn) -> str:
    head = draw(st.sampled_from(HEADS))
    text = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=8)))
    quote = head if head in ("'", '"') else ""
    below = "\n    " if head[:1] in ("|", ">") else ""
    return draw(st.sampled_from(FRAMES)).format(head + below + text + quote)


def values(text: str) -> list[str]:
    root = YamlText(text).root
    return [] if root is None else [node.event.value for node in texts_in(root)]  # type: ignore[attr-defined]


@given(yaml())
def test_each_text_is_found_and_every_character_of_it_is_where_it_is_said_to_be(text: str) -> None:
    try:
        read = YamlText(text)
    except NotYamlError:
        return
    nodes = [*texts_in(read.root)] if read.root else []
    for number, node in enumerate(nodes):
        scalar = read.scalar(node)
        assert scalar is not None
        assert len(scalar.places) == len(scalar.text) + 1
        assert scalar.places == sorted(scalar.places)
        assert scalar.start <= scalar.places[0]
        assert scalar.places[-1] <= scalar.end
        for at, place in enumerate(scalar.places[:-1]):
            if text[place] == scalar.text[at] and re.fullmatch(r"[a-z]", text[place]):
                changed = values(f"{text[:place]}Z{text[place + 1 :]}")
                assert changed[number][at] == "Z"


@pytest.mark.parametrize(
    "block", ["k: |+\n  a\n\n\n", "k: >2\n     a\n   b\n", 'k: "a \\\n   b"\n', "k: 'it''s\n\n  b'\n"]
)
def test_a_text_says_what_the_reader_reads(block: str) -> None:
    read = YamlText(f"x\n{block}", 2)
    assert read.root is not None
    scalar = read.scalar(read.root.inner[1])
    assert scalar is not None
    assert scalar.text == parse_frontmatter(f"---\n{block}---\n").values["k"]
    assert read.line(read.root.inner[1]) == 2


def test_of_a_block_that_is_no_yaml_the_properties_that_can_be_read_are_found() -> None:
    plain = "---\na: [x\nb: '[[y]]'\nc: z\nd: >-\n  [[v\n  w]]\n---\n"
    found = property_nodes(plain, parse_frontmatter(plain), re.compile(r"\[\["))
    scalars = [(name, read.scalar(node)) for name, node, read in found]
    assert [(name, scalar and scalar.text) for name, scalar in scalars] == [("b", "[[y]]"), ("d", "[[v w]]")]
    assert [scalar and plain[scalar.places[0] : scalar.places[-1]] for _, scalar in scalars] == ["[[y]]", "[[v\n  w]]"]
