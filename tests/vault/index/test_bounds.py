"""What one note may cost, whatever it holds: bounds on steps, memory and rows, and the others stay searchable.

``make soak`` indexes notes of 10 MB, each in a process of its own, and holds what the system says of its memory to a bound.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.costs import costs_of
from support.shapes import NOTES, of_bytes
from support.stores import note_facts, open_stored
from vaultwire.markdown import offsets
from vaultwire.markdown.link_spans import link_spans
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.tag_spans import tag_spans
from vaultwire.vault.disk.files import Files
from vaultwire.vault.index import updater
from vaultwire.vault.index.catalog import KnownFile, Record
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.text_index import NoteFacts
from vaultwire.vault.index.updater import ChangedFiles, read_fields, read_note
from vaultwire.vault.index.words import NgramFilter
from vaultwire.vault.links.sections import parse_structure, section_span
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, VaultPath
from vaultwire.vault.visibility.visible_files import PrivacyRules

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SMALL = 20_000 if IS_SOAK else 5_000
# Of a note's own bytes. The most is what is measured, twice: 175 for a note of nothing but links.
MEMORY_PER_BYTE, MEMORY_OF_ANY = 350, 1_500_000
ROWS_PER_BYTE, TEXT_PER_BYTE = 1.2, 60
# What a pattern compiled or a table filled at the first time costs.
STEPS_OF_ANY = 5_000
LARGE = 10_000_000
LARGE_MEGABYTES = 300
# Ten seconds are the bound on a machine that does nothing else; the process is ended far above that.
HANG_SECONDS = 90


def total(index: Index, query: str) -> int:
    return index.search(parse_query(query), None, 0, 9, NO_PROGRESS).total


@pytest.mark.parametrize("name", NOTES)
def test_a_note_of_any_shape_costs_in_proportion_to_its_length(tmp_path: Path, name: str) -> None:
    files = Files(str(tmp_path), 10 * SMALL)
    costs, sizes = [], []
    for size in (SMALL, 2 * SMALL):
        path = VaultPath(f"{size}.md")
        data = of_bytes(NOTES[name], size)
        sizes.append(len(data))
        (tmp_path / path).write_bytes(data)
        known = note_facts(data.decode("utf-8", "replace"))

        def read(path: VaultPath = path, facts: NoteFacts = known) -> Record:
            read_fields(files, path, facts, NgramFilter("a e i"))
            return read_note(files, NoteStat(path, 0, 0, 0), None, is_excluded=False)

        reading = read()
        assert reading.facts is not None
        rows = [row for table in reading.facts for row in table]
        assert len(rows) <= ROWS_PER_BYTE * size
        assert sum(len(str(value)) for row in rows for value in row) <= TEXT_PER_BYTE * size
        costs.append(costs_of(read))
        assert costs[-1].peak <= MEMORY_PER_BYTE * size + MEMORY_OF_ANY
    times = sizes[1] / sizes[0]
    assert costs[1].steps <= 1.1 * times * costs[0].steps + STEPS_OF_ANY
    assert costs[1].peak <= 1.2 * times * costs[0].peak + MEMORY_OF_ANY


INDEXING = """
import json, os, resource, sys, time
from pathlib import Path
from support.stores import open_stored
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.search.query import parse_query

root, cache, shape = sys.argv[1:]
index = open_stored(Path(root), Path(cache), max_bytes=10 * 1024 * 1024)[1]
def total():
    return index.search(parse_query("needle"), None, 0, 9, NO_PROGRESS).total
def most():  # bytes that the process had at once; on Linux getrusage begins with those of whoever started it
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
total()
before, started = most(), time.process_time()
os.rename(shape, os.path.join(root, "shape.md"))
print(json.dumps([total(), time.process_time() - started, (most() - before) // 10**6]))
"""


@pytest.mark.skipif(not IS_SOAK, reason="seventy notes of 10 MB take minutes: make soak")
@pytest.mark.skipif(sys.platform == "win32", reason="the system tells no process what it used at most")
@pytest.mark.parametrize("name", NOTES)
def test_a_note_of_10_mb_of_any_shape_takes_little_memory(tmp_path: Path, name: str) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "other.md").write_text("needle")
    shape = tmp_path / "shape"
    shape.write_bytes(of_bytes(NOTES[name], LARGE))
    done = subprocess.run(
        [sys.executable, "-c", INDEXING, root, tmp_path / "cache", shape],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, seconds, megabytes = json.loads(done.stdout)
    assert found == 1
    assert megabytes <= LARGE_MEGABYTES, f"after {seconds:.1f} s"


# ---------------------------------------------------------------------- how far a note is looked into

# The bounds of these tests, unless they say otherwise: below the real ones, at which the same takes ten times as long.
MARKS, LINES, PIECE = 20_000, 100_000, 1 << 13
# Each begins as the one above it, and goes on with one mark too many: what stands there is not known.
CUT = {
    "links": "[[n]]\n" * (MARKS // 2) + "[[beyond]] #beyond\n# Beyond\nneedle\n",
    "tags": "#t\n" * MARKS + "# Beyond\n[[beyond]] #beyond needle\n",
    "lines": "x\n" * LINES + "# Beyond\n[[beyond]] #beyond needle\n" + "x " * PIECE,
}


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "MOST_MARKS", MARKS)
    monkeypatch.setattr(offsets, "MOST_LINES", LINES)
    monkeypatch.setattr(offsets, "_PIECE", PIECE)


@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("name", CUT)
def test_what_is_beyond_the_bounds_is_searched_and_not_looked_into(tmp_path: Path, name: str) -> None:
    text = CUT[name]
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text(text)
    index = open_stored(tmp_path / "vault", tmp_path / "cache", max_bytes=len(text))[1]
    assert total(index, "needle") == 1
    assert total(index, "tag:beyond") == 0
    (problem,) = index.stats(9, NO_PROGRESS).problems
    assert "links, tags, headings and tasks are not known" in problem.text
    number = int(problem.text.removeprefix("line ").partition(":")[0])
    assert 1 < number <= text[: text.index("eyond")].count("\n") + 1


def test_a_note_at_the_bounds_is_looked_into_to_its_end() -> None:
    """At the real ones."""
    text = "#t\n" * (offsets.MOST_MARKS - 1) + "#last\n"
    note = parse_note(text)
    assert note.problems == []
    assert note.tags == ["t", "last"]
    assert offsets.end_of_reading("x\n" * offsets.MOST_LINES) == 2 * offsets.MOST_LINES


@pytest.mark.usefixtures("bounds")
def test_all_that_reads_a_note_reads_it_as_far() -> None:
    text = CUT["links"] + "[[far]] #far\n"
    assert {span.linktext for span in link_spans(text)} == {"n"}
    assert tag_spans(text) == []
    assert len(parse_note(text).links) == len(link_spans(text)) > MARKS // 2 - PIECE


@pytest.mark.usefixtures("bounds")
def test_no_section_goes_on_where_a_note_was_not_looked_into() -> None:
    """Replacing it would replace headings that nobody saw."""
    text = "# First\n" + "[[n]]\n" * MARKS + "# Unseen\ntext\n"
    built = parse_structure(VaultPath("a.md"), text)
    end = offsets.end_of_reading(text)
    assert section_span(built, "First").last == text.count("\n", 0, end) < MARKS
    assert built.lines == MARKS + 3


@pytest.mark.usefixtures("bounds")
def test_a_note_that_was_not_looked_into_to_its_end_may_be_private_there() -> None:
    privacy = PrivacyRules(["secret"])
    assert privacy.is_private_note((CUT["tags"] + "#secret\n").encode())
    assert not privacy.is_private_note(CUT["tags"].encode())
    # No property stands there.
    assert not PrivacyRules(properties={"secret": None}).is_private_note(
        f"---\nsecret: false\n---\n{CUT['tags']}#secret\n".encode()
    )


def test_more_frontmatter_than_is_read_is_told_of_and_is_no_text() -> None:
    inside = "a: b\n" * (offsets.MOST_PROPERTIES // 5 + 1)
    note = parse_note(f"---\n{inside}---\n# Text\n")
    assert note.frontmatter.values == {}
    assert [heading.text for heading in note.headings] == ["Text"]
    assert note.problems == ["line 2: frontmatter is read up to 500,000 characters, and this has more"]
    assert PrivacyRules(properties={"a": None}).is_private_note(f"---\n{inside}---\n".encode())


# ---------------------------------------------------------------------- tags

TAGS = [
    ("a/b", "a/b"),
    ("/".join("a" * 50), "/".join("a" * 50)),
    ("/".join("a" * 51), "/".join("a" * 50)),
    ("/".join(["ab"] * 5_000), "/".join(["ab"] * 50)),
    ("a" * 500, "a" * 500),
    ("a" * 501, "a" * 500),
    ("b" * 300 + "/" + "a" * 199, "b" * 300 + "/" + "a" * 199),
    ("b" * 300 + "/" + "a" * 200, "b" * 300),
]


@pytest.mark.parametrize(("tag", "kept"), TAGS, ids=range(len(TAGS)))
@pytest.mark.parametrize("note", ["#{}", "---\ntags: [{}]\n---\n"])
def test_a_tag_is_known_by_its_first_levels(tag: str, kept: str, note: str) -> None:
    assert parse_note(note.format(tag)).tags == [kept]


def test_tags_that_differ_beyond_the_bounds_are_one() -> None:
    deep = "/".join("a" * 60)
    assert parse_note(f"#{deep}/x #{deep}/y #{deep.upper()}").tags == ["/".join("a" * 50)]
    assert PrivacyRules(["a"]).is_private_note(f"#{deep}".encode())


def test_tags_above_others_are_bounded_in_all() -> None:
    tags = [f"t{number}/" + "/".join("abcdefgh") for number in range(offsets.MOST_ABOVE)]
    found = list(offsets.tags_and_above(tags))
    assert set(tags) <= set(found)
    assert len(found) <= len(tags) + offsets.MOST_ABOVE + 8
    assert list(offsets.tags_and_above(["a", "b/c/d"])) == ["a", "b", "b/c", "b/c/d"]


# ---------------------------------------------------------------------- what one note does to the others


def test_more_words_than_an_index_keeps_are_searched_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "numbers.md").write_text(" ".join(f"n{number}e" for number in range(250_000)))
    (tmp_path / "vault" / "other.md").write_text("n1e and others")
    index = open_stored(tmp_path / "vault", tmp_path / "cache", max_bytes=LARGE)[1]
    assert [total(index, query) for query in ("n249999e", "249999", '"n1e n2e"', "others")] == [1, 1, 1, 1]
    words = index._fresh.parts.words.vocabularies.texts
    assert len(words.containing("n")) < 10


def test_a_note_that_its_reader_fails_at_takes_search_away_from_none(tmp_path: Path) -> None:
    """Here by its stack, which a name of a property that is a map within maps takes more of than there is."""
    (tmp_path / "vault").mkdir()
    deep = "---\n? " + "{a: " * 95 + "b" + "}" * 95 + "\n: c\n---\n# needle\n[[other]]\n"
    (tmp_path / "vault" / "deep.md").write_text(deep)
    (tmp_path / "vault" / "other.md").write_text("needle [[deep]]")
    usual = sys.getrecursionlimit()
    index = open_stored(tmp_path / "vault", tmp_path / "cache")[1]
    sys.setrecursionlimit(len(inspect.stack()) + 95)
    try:
        assert total(index, "content:needle") == 2
    finally:
        sys.setrecursionlimit(usual)
    (problem,) = index.stats(9, NO_PROGRESS).problems
    assert problem == (
        "deep.md",
        "cannot be indexed (RecursionError): its text is searched, its links, tags and properties are not known",
    )
    assert [source for source, _ in index.incoming(VaultPath("deep.md"), NO_PROGRESS)] == ["other.md"]


def test_what_waits_in_memory_to_be_written_down_is_bounded() -> None:
    """As many bytes as a batch may have, and one note more."""
    sizes = [3_000] * 1_200 + [10_000_000] * 3 + [900_000] * 5 + [0] * 600
    changed = ChangedFiles()
    for number, size in reversed([*enumerate(sizes)]):
        known = KnownFile(size, 0, 0, False, False, number) if number % 2 else None
        changed.add(NoteStat(VaultPath(f"{number:04}.md"), size, -number, (1 << 63) - 1), known)
    batches = list(changed.batches())
    files = [(stat, known) for batch in batches for stat, known in batch]
    assert [(int(stat.path[:4]), stat.size, -stat.modified_ns, stat.stamp) for stat, _ in files] == [
        (number, size, number, (1 << 63) - 1) for number, size in enumerate(sizes)
    ]
    assert [known.digest if known else None for _, known in files] == [
        number if number % 2 else None for number in range(len(sizes))
    ]
    for batch in batches:
        assert 0 < len(batch) <= updater._BATCH
        assert sum(stat.size for stat, _ in batch[:-1]) <= updater._BATCH_BYTES
    assert list(ChangedFiles().batches()) == []
    pictures = ChangedFiles()
    for number in range(9):
        pictures.add(NoteStat(VaultPath(f"{number}.png"), 10_000_000, 0, 0), None)
    assert [len(batch) for batch in pictures.batches()] == [9]
