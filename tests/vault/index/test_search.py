"""The text index and brute force agree: what it says of a query is what looking into every note says."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.memory_text import MemoryText
from support.stores import note_facts
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.search_plan import Vocabularies, as_written, make_plan
from vaultwire.vault.index.text_index import TextDocument, TextIndex, to_fields
from vaultwire.vault.index.words import NgramFilter, Vocabulary
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.query import Query, parse_query

BACKENDS: list[Callable[[str | None], TextIndex]] = [MemoryText, TextIndex]

# What cutting text into words has to get right: letters beside letters of scripts without blanks, marks with and without
# a letter to stand on, signs, characters that change their length without case, and Markdown and YAML that say a thing
# otherwise than they write it.
PIECES = [
    *["a", "b", "ab", "ba", "A", "abba", "1", "12", "_", "a_b"],
    *[" ", "  ", "\n", "\t", "\u00a0", "\u3000", "-", "--", ".", "/", "'", "|", "!", "\x01", "\x00", "(b)"],
    *[". ", ", ", " (", "- [ ] ", "#", "–", "“", "\u2028", "\ue020", "X", "-" * 70, "= " * 40],  # noqa: RUF001
    *["日", "本", "日本", "か", "が", "か\u3099", "한", "\u1112\u1161\u11ab", "ไทย", "กิน", "म", "हिन्दी", "कि"],
    *["é", "e\u0301", "E\u0301", "\u0301", "\u0308", "ü", "u\u0308", "ñ", "q\u0303", "a\u0301\u0323", "\u0345", "ᾳ"],
    *["σ", "ς", "Σ", "İ", "ı", "i\u0307", "I", "i", "ß", "ẞ", "ss", "ﬁ", "fi", "ŉ", "ǰ", "K", "ϓ", "й"],  # noqa: RUF001 - that is what they are for
    *["❤\ufe0f", "❤", "👩\u200d💻", "葛\U000e0100", "葛", "½", "²", "ª", "·", "ʹ", "¨", "΅", "\u200b", "\ufffd"],  # noqa: RUF001
]
MARKDOWN = [
    *["\n# ", "\n## a *b* c\n", "\n- [ ] ", "\n- [x] a b", " #a", " #a/b", " #é", " #日本", "[[a|b]]", "\n\n", "`#b`"],
    *["**", "<b>", "&eacute;", "\n> ", "%%", "\n```\n", " ^b\n"],
]
YAML = [
    "tags: [a, é, B/a]",
    "tags: a b",
    'tags: ["caf\\u00e9", "\\x61b"]',
    'aliases: ["\\x61b a", "日\\u672c"]',
    "aliases:\n  - a\n    b\n  - a  b",
    "aliases: >-\n  a\n  ab",
    "a: b",
    "É: é",
    '"\\x61b": a',
    "ab: [a, b]",
    "b:",
    "aliases: a b",
    "日本: 日",
]
FOLDERS = ["", "a/", "a b/", "é/", "日本/ab/"]

PREFIXES = [
    *["", "", "", "", "-", "content:", "-content:", "file:", "path:", "tag:", "-tag:", "#", "match-case:", "line:"],
    *["block:", "section:", "task:", "task-todo:", "ignore-case:", "content:match-case:", "-file:", "-path:", "-line:"],
]
PROPERTIES = [
    "[a]",
    "[é]",
    '["ab"]',
    "-[ab]",
    "[a:b]",
    "[e:e]",
    "[日本]",
    "[a OR b]",
    "[b:null]",
    "/a+b/",
    "[match-case:É]",
]
# The n-gram filter of a vault with thousands of words.
NGRAMS = ["a", "b", "ab", "ba", "bb", "abb", "1", "12", "_", "e", "i", "u", "s", "ss", "fi", "κ"]
GROUPS = ["", "-", "content:", "file:", "tag:", "line:", "-content:"]


@st.composite
def vaults_and_queries(draw: st.DrawFn, *, plain: bool) -> tuple[dict[str, str], list[str], str]:
    """Draw notes, queries and ngrams out of the same few pieces, so that they have to do with each other."""
    pieces = ["a", "b", " ", "é", "日本"]
    if plain:
        pieces = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5, unique=True))
    texts = st.lists(st.sampled_from(pieces), max_size=6).map("".join)
    marked_up = st.lists(st.sampled_from(pieces + MARKDOWN), max_size=8).map("".join)
    frontmatters = st.lists(st.sampled_from(YAML), min_size=1, max_size=3, unique=True).map(
        lambda lines: "---\n" + "\n".join(lines) + "\n---\n"
    )
    bodies = st.one_of(texts, marked_up) if plain else st.tuples(frontmatters, marked_up).map("".join)
    names = st.one_of(st.just("n"), texts.map(lambda name: name.replace("/", "").replace("\0", "").strip(".") or "n"))
    paths = st.tuples(st.sampled_from(FOLDERS), names).map(lambda parts: f"{parts[0]}{parts[1]}.md")
    vault = draw(st.dictionaries(paths, bodies, min_size=1, max_size=4))
    needles = st.one_of(
        texts.map(lambda text: "".join(text.split())), texts.map(lambda text: f'"{text}"'), st.sampled_from(PROPERTIES)
    )
    leaves = st.tuples(st.sampled_from(PREFIXES), needles).map("".join)
    queries = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(" ".join),
            st.lists(inner, min_size=2, max_size=2).map(lambda parts: f"({' OR '.join(parts)})"),
            st.tuples(st.sampled_from(GROUPS), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        ),
        max_leaves=3,
    )
    ngrams = st.lists(st.sampled_from(NGRAMS), unique=True).map(" ".join)
    return vault, draw(st.lists(queries, min_size=1, max_size=8)), draw(ngrams)


def parsed(text: str) -> Query | None:
    try:
        return parse_query(text)
    except VaultError:
        return None


def brute_force(query: Query, vault: dict[str, str]) -> set[str]:
    """Return the notes that match, by looking into each."""
    return {path for path, text in vault.items() if Matcher(query).match(path, text) is not None}


def documents(vault: dict[str, str], ngrams: NgramFilter) -> tuple[dict[int, str], list[TextDocument], Vocabularies]:
    """Return the notes as a text index gets them, and the words in use."""
    by_id = dict(enumerate(vault, start=1))
    found = [
        TextDocument(note_id, *to_fields(path, vault[path], note_facts(vault[path]), ngrams))
        for note_id, path in by_id.items()
    ]
    words: list[set[str]] = [set(), set()]
    for document in found:
        for field, text in document.words.items():
            if field in ("body", "name", "file", "path"):
                words[field != "body"] |= set(text.split(" ")) - {""}
    of_texts, of_paths = Vocabulary(), Vocabulary()
    of_texts.add(words[0])
    of_paths.add(words[1])
    return by_id, found, Vocabularies(of_texts, of_paths)


def check_plans(
    backend: Callable[[str | None], TextIndex], vault: dict[str, str], asked: list[str], marked: str = ""
) -> None:
    """Check that a plan said to be exact finds what looking into each note finds, and any other plan no less.

    And that notes that it finds with their diacritics come first.
    """
    vault = {path: plain_text(text.encode()) for path, text in vault.items()}
    ngrams = NgramFilter(marked)
    by_id, found, vocabularies = documents(vault, ngrams)
    index = backend(None)
    index.start_writing()
    for document in found:
        index.put(document)
    index.commit()
    index.stop_writing()
    for text in asked:
        query = parsed(text)
        if query is None:
            continue
        planned = make_plan(query.expression, vocabularies, ngrams)
        hits = index.search(planned.plan, (), 0, None)
        got = {by_id[note_id] for note_id in hits.ids}
        expected = brute_force(query, vault)
        assert hits.total == len(got)
        written = set(index.search(as_written(planned.plan), (), 0, None).ids)
        assert set(hits.ids[: len(written)]) == written, (text, planned)
        if planned.is_exact:
            assert got == expected, (text, planned)
        else:
            assert got >= expected, (text, planned)


@given(drawn=vaults_and_queries(plain=True))
def test_a_plan_finds_what_looking_into_each_note_finds(drawn: tuple[dict[str, str], list[str], str]) -> None:
    check_plans(MemoryText, *drawn)


@given(drawn=vaults_and_queries(plain=False))
def test_what_yaml_says_otherwise_than_it_writes_it_is_found_as_written(
    drawn: tuple[dict[str, str], list[str], str],
) -> None:
    check_plans(MemoryText, *drawn)


@settings(max_examples=settings().max_examples // 5)
@given(drawn=st.one_of(vaults_and_queries(plain=True), vaults_and_queries(plain=False)))
def test_the_text_index_reads_plans_as_they_are_meant(drawn: tuple[dict[str, str], list[str], str]) -> None:
    check_plans(TextIndex, *drawn)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_text_across_breaks_is_found_among_many_words(backend: Callable[[str | None], TextIndex]) -> None:
    """So many words end and begin as the typed ones that a text index cannot try each pair."""
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    words = ["".join(chance.choices("abé1", k=chance.randint(1, 4))) for _ in range(400)]
    breaks = [" ", " ", "-", ". ", ", ", "/", "  ", "\n", "日", " 日", "日́ "]
    texts = ["".join(chance.choice(words) + chance.choice(breaks) for _ in range(60)) for _ in range(30)]
    asked = ["a-b", "a.", "/b", "-", "1-1", '"a. b"', "é-a", "-(a-b)", "a-b OR b/a", "content:(a-b -1/1)"]
    for _ in range(60):
        text = chance.choice(texts)
        start = chance.randrange(len(text))
        piece = text[start : start + chance.randint(2, 9)]
        asked += [f'"{piece}"', *piece.split()]
    check_plans(backend, {f"{number}/{chance.choice(words)}.md": text for number, text in enumerate(texts)}, asked)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_the_sign_with_which_breaks_begin_in_the_index_is_found_only_where_it_is_written(
    backend: Callable[[str | None], TextIndex],
) -> None:
    texts = {"n.md": "a | b", "m.md": "a, b", "o.md": "a|b", "p.md": "[[a|b]]", "q.md": "a. b | ", "r.md": "a -- b"}
    check_plans(backend, texts, ["|", "-|", '"|"', '-"|"', "a|b", '"a | b"', "-(a|b)", "a -|", '", b" OR |'])


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_a_deeply_nested_query_is_answered(backend: Callable[[str | None], TextIndex]) -> None:
    query = "a"
    for _ in range(20):
        query = f"(b (x OR {query}))"
    assert parsed(query)
    check_plans(backend, {"n.md": "a b", "m.md": "a", "o.md": "b x"}, [query])


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_what_holds_a_gram_with_its_diacritics_comes_first(backend: Callable[[str | None], TextIndex]) -> None:
    vault = {"n.md": "ér red", "her.md": "red", "o.md": "her red her", "p.md": "red"}
    check_plans(backend, vault, ["er", "er red", "red er", "er OR red", "er red -o", "content:er"], "er")


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_signs_in_a_row_that_the_index_cuts_short_are_found_by_their_number(
    backend: Callable[[str | None], TextIndex],
) -> None:
    """The index has the first and the last 64 of them: then many and more of them are the same to it."""
    lengths = (64, 65, 127, 128, 129, 130, 140, 210)
    texts = {f"{length}.md": "-" * length for length in lengths}
    texts |= {f"a{length}.md": f"a{'-' * length}b" for length in lengths}
    texts["mixed.md"] = f"{'!' * 70}{'-' * 140}{'?' * 70}"
    rows = ["-" * length for length in (*lengths, 200, 300)]
    asked = [f'"{row}"' for row in rows] + [f'-"{row}"' for row in rows]
    asked += [f'{sign}"{text}"' for row in rows for text in (f"a{row}", f"{row}b", f"a{row}b") for sign in ("", "-")]
    check_plans(backend, texts, asked)
    for path, text in texts.items():  # alone, so that no other note makes the plan an inexact one
        check_plans(backend, {path: text}, asked)
