"""Where links stand, and links written anew: the form stays, and so does every character that is not the link's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.links import replace_links
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.link_spans import LinkSpan, NewLink, UnwritableLinkError, link_spans
from vaultwire.markdown.parse import parse_note

HELP = Path(__file__).parents[3] / "shared" / "vaults" / "obsidian-help"

# Pieces that mean something where links are looked for, so that random texts reach the corners.
PIECES = st.sampled_from([
    "---\n", "\n", "\r\n", "\r\r\n", "\r", "`", "```\n", "$", "$$", "<!--", "-->", "<div>", "[[", "]]", "](", ")", "> ", "- ",
    "|", "\\", "\\|", " [", "]", '"', "'", "''", '\\"', ",", ": ", "x", "[[a]]", "![[b|c]]", "[[Old#x|Old]]", "[d](e%20f.md)",
    '"[[a]]"', "'[[it''s]]'", "k: ", "- ", '"![[A \\"b\\"]]"', "k: |-\n  [[a]]\n", "k: >-\n  [[a\n  b]]\n", "!", "(", "<", ">",
    '![p](<a b.png> "t")', "&x ", "*x", "{", "}", "[", "]", "#", "\\u005b",
])  # fmt: skip
BODIES = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))
TEXTS = st.one_of(BODIES, BODIES.map(lambda yaml: f"---\n{yaml}\n---\n{yaml}"))
NAMES = st.sampled_from(
    ["New", "a b", "it's", 'q"q', "100%25", "(1", "x)", "sub/New.md", "<a>", "日", "a]b", "a: b", "x#y z"]
)


def _facts(text: str) -> list[tuple[object, ...]]:
    return [(s.linktext, s.display, s.line, s.is_embed, s.is_markdown) for s in link_spans(text)]


def _rewritten(text: str, new: str, display: str | None = None) -> str:
    return replace_links(text, lambda span: NewLink(new, display) if span.linktext.startswith("Old") else None)


@given(TEXTS)
def test_the_spans_of_any_text_are_the_links_a_note_has(text: str) -> None:
    assert _facts(text) == [tuple(link) for link in parse_note(to_plain(text)).links]


@given(TEXTS)
def test_what_a_span_holds_is_the_link_itself(text: str) -> None:
    for span in link_spans(text):
        if not span.end:
            continue
        whole = text[span.start : span.end]
        assert whole.startswith("!" * span.is_embed + "[")
        assert whole[-1:] == (")" if span.is_markdown else "]")
        if not span.in_frontmatter:
            target = text[slice(*span.target)]
            assert span.is_markdown or target == span.linktext or "\\|" in whole
            assert span.display_place is None or text[slice(*span.display_place)].replace("\\|", "|") == span.display


@given(TEXTS, NAMES, st.booleans())
def test_only_the_links_chosen_change_and_what_is_outside_links_never(text: str, new: str, every: bool) -> None:
    chosen = [span.start for span in link_spans(text)][:: 1 if every else 2]
    try:
        after = replace_links(text, lambda span: NewLink(new) if span.start in chosen else None)
    except UnwritableLinkError:
        return
    old, now = link_spans(text), link_spans(after)
    assert [s.linktext for s in now] == [new if s.start in chosen else s.linktext for s in old]
    assert _outside(text, old) == _outside(after, now)


def _outside(text: str, spans: list[LinkSpan]) -> str:
    """Return the text without the targets of its links."""
    for start, end in sorted({span.target for span in spans}, reverse=True):
        text = text[:start] + text[end:]
    return text


@given(TEXTS)
def test_links_written_as_they_are_leave_every_character(text: str) -> None:
    assert replace_links(text, lambda _: None) == text
    spans = [span for span in link_spans(text) if not span.is_markdown and not span.in_frontmatter]
    try:
        after = replace_links(
            text, lambda span: NewLink(span.linktext) if span in spans and "|" not in span.linktext else None
        )
    except UnwritableLinkError:
        return
    assert after == text


def test_the_spans_of_real_notes_are_the_links_they_have() -> None:
    texts = [path.read_text("utf-8") for path in sorted(HELP.rglob("*.md"))]
    if not texts:
        pytest.skip("no copy of obsidian-help")
    assert sum(len(link_spans(text)) for text in texts) > 1000
    for text in texts:
        for spelt in (text, text.replace("\n", "\r\n")):
            assert _facts(spelt) == [tuple(link) for link in parse_note(to_plain(text)).links]


FORMS = [
    ("[[Old]]", "[[New name]]"),
    ("![[Old#^id]]", "![[New name]]"),
    ("[[ Old | shown ]]", "[[ New name | shown ]]"),
    ("| [[Old\\|a]] | x |\n|-|-|", "| [[New name\\|a]] | x |\n|-|-|"),
    ("[a](Old.md)", "[a](New%20name)"),
    ("[a]( <Old.md> 'title' )", "[a]( <New name> 'title' )"),
    ('![a](Old.md "t (1)")', '![a](New%20name "t (1)")'),
    ("[![[Old]]](Old.md)", "[![[New name]]](New%20name)"),
    ("[[Old]] `[[Old]]` $[[Old]]$ <!-- [[Old]] -->", "[[New name]] `[[Old]]` $[[Old]]$ <!-- [[Old]] -->"),
    ("```\n[[Old]]\n```\n", "```\n[[Old]]\n```\n"),
    ("$$\n[[Old]]\n$$\n[[Old]]", "$$\n[[Old]]\n$$\n[[New name]]"),
    ("%% [[Old]] %%", "%% [[New name]] %%"),
    ('---\r\nup: "[[Old]]"\r\n---\r\n[[Old]]\r\n', '---\r\nup: "[[New name]]"\r\n---\r\n[[New name]]\r\n'),
    ("---\nup: ['[[Old]]', \"[[Old|a]]\"]\n---\n", "---\nup: ['[[New name]]', \"[[New name|a]]\"]\n---\n"),
    ("---\nup: text [[Old]] text\n---\n", "---\nup: text [[Old]] text\n---\n"),
    ('---\n"[[Old]]": "[[Old]]" # "[[Old]]"\n---\n', '---\n"[[Old]]": "[[New name]]" # "[[Old]]"\n---\n'),
    ("---\nup: |-\n  [[Old]]\n---\n", "---\nup: |-\n  [[New name]]\n---\n"),
    ("---\nup: >-\n  [[Old\n  man]]\n---\n", "---\nup: >-\n  [[New name]]\n---\n"),
    ('---\nup: "[[Old\n  man|x]]"\n---\n', '---\nup: "[[New name|x]]"\n---\n'),
    ('---\nup: "[[Old \\\n  man|x]]"\n---\n', '---\nup: "[[New name|x]]"\n---\n'),
    ('---\nup: "[[Old|\\"x\\"]]"\n---\n', '---\nup: "[[New name|\\"x\\"]]"\n---\n'),
    ("---\nup: '[[Old|it''s]]'\n---\n", "---\nup: '[[New name|it''s]]'\n---\n"),
    ('---\na: &x "[[Old]]"\nb: *x\n---\n', '---\na: &x "[[New name]]"\nb: *x\n---\n'),
    ('---\n{"a": "[[Old]]"}\n---\n', '---\n{"a": "[[New name]]"}\n---\n'),
    ('---\na: "[x](Old.md)"\nb: @\n---\n', '---\na: "[x](New%20name)"\nb: @\n---\n'),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), FORMS)
def test_a_link_keeps_its_form(before: str, after: str) -> None:
    assert _rewritten(before, "New name") == after


TARGETS = [
    ("100%25", "[a](100%2525)", "[a](<100%2525>)"),
    ("50% off", "[a](50%%20off)", "[a](<50% off>)"),
    ("We!rd (name) [x] #1", "[a](We!rd%20(name)%20[x]%20#1)", "[a](<We!rd (name) [x] #1>)"),
    ("open (1", "[a](open%20%281)", "[a](<open (1>)"),
    ("a<b>c", "[a](a<b>c)", "[a](<a%3Cb%3Ec>)"),
    ("日 本", "[a](日%20本)", "[a](<日 本>)"),
    ("ab:c", "[a](ab%3Ac)", "[a](<ab%3Ac>)"),
]


@pytest.mark.parametrize(("name", "bare", "angled"), TARGETS)
def test_spaces_of_a_destination_are_encoded_and_else_only_what_would_break_it(
    name: str, bare: str, angled: str
) -> None:
    assert _rewritten("[a](Old.md)", name) == bare
    assert _rewritten("[a](<Old.md>)", name) == angled
    assert [link.linktext for link in parse_note(f"{bare} {angled}").links] == [name, name]


def test_a_subpath_that_stays_is_not_written_anew() -> None:
    assert _rewritten("[a](Old.md#%C3%89tape%20un)", "New.md#Étape un") == "[a](New.md#%C3%89tape%20un)"
    assert _rewritten("[a](Old.md#un)", "New.md#deux trois") == "[a](New.md#deux%20trois)"


def test_display_text_is_replaced_where_it_is_asked_for() -> None:
    assert _rewritten("[[Old|Old]] [Old](Old.md)", "New", "New") == "[[New|New]] [New](New)"
    assert _rewritten("[[Old]]", "New", "New") == "[[New]]"
    assert _rewritten("[Old](Old.md)", "a]b", "a]b") == "[Old](a]b)"
    assert _rewritten("[[Old|Old]]", "a [b]", "a [b]") == "[[a [b]|Old]]"


@pytest.mark.parametrize("name", ["a]]b", "a|b", "[[a", "a\nb", "`a", "a]"])
def test_a_name_that_would_break_the_link_is_refused(name: str) -> None:
    with pytest.raises(UnwritableLinkError, match="line 2"):
        _rewritten("x\n[[Old]] ` x", name)


@pytest.mark.parametrize("quoted", ['"[[Old]]"', "'[[Old]]'"])
@pytest.mark.parametrize("name", ['say "x"', "it's", "back\\slash", "a: b # c", "日"])
def test_the_quotes_of_a_property_stay_valid(quoted: str, name: str) -> None:
    after = _rewritten(f"---\na: {quoted}\nb: [{quoted}, 1]\n---\n", name)
    assert [link.linktext for link in parse_note(after).links] == [name, name]
    assert after.count(quoted[0] + "[[") == 2
