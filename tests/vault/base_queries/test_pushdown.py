"""What is asked of the index gives the same rows as a look at every file, for any base and any vault."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.vaults import open_vault, write_vault
from vaultwire.app.engine import open_index, open_settings
from vaultwire.bases.base import read_base, read_expression
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.base_queries.bases import Bases, find_view
from vaultwire.vault.base_queries.host import VaultHost
from vaultwire.vault.base_queries.narrowing import Plan, narrowed
from vaultwire.vault.base_queries.running import BaseSource, ViewQuery
from vaultwire.vault.caller import RememberedResults
from vaultwire.vault.disk.files import Files
from vaultwire.vault.index.rows import Every, HasProperty, HasValue, Tagged
from vaultwire.vault.value_types import NO_PROGRESS

_FOLDERS = ["", "Work/", "Work/Deep/", "work stuff/", "Über/", "Excluded/"]
_NAMES = ["A", "B", "Note 1", "note 1", "Ä", "x.y"]
_TAGS = ["work", "Work/now", "home", "wörk", "wo\u0308rk", "a/b/c", "x-1"]
_VALUES: list[Any] = [
    None, True, False, 0, 1, 2.5, -3, "", "a", "A", "open", "2026-01-02", "2026-01-02T10:00", "[[A]]", "[[B|shown]]",
    "[[#Part]]", "[[Nothing]]", ["a", "b"], [], [1, None], ["[[A]]", "x"], "1", "[1](A.md)", {"k": 1}, "  a", "ä",
]  # fmt: skip
_LINKS = ["[[A]]", "[[Work/B]]", "![[A#x]]", "[[#own]]", "[[nothing]]", "[t](B.md)", "[[note 1|n]]", "![](pic.png)"]
_PROPERTIES = ["status", "Status", "n", "tags", "up", "ärt"]

_TEXTS = st.sampled_from(["a", "A", "open", "work", "Work", "Work/Deep", "wörk", "#home", "a/b", "", "/", "2026-01-02"])
_FIELDS = st.sampled_from(["status", "note.n", 'note["up"]', "tags", "ärt", "missing", "STATUS", "formula.f"])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_LEAVES = st.one_of(
    st.builds(lambda text: f"file.hasTag({_quoted(text)})", _TEXTS),
    st.builds(lambda one, two: f"file.hasTag({_quoted(one)}, {_quoted(two)})", _TEXTS, _TEXTS),
    st.builds(lambda text: f"file.tags.contains({_quoted(text)})", _TEXTS),
    st.builds(lambda text: f"file.inFolder({_quoted(text)})", _TEXTS),
    st.builds(lambda sign, text: f"file.folder {sign} {_quoted(text)}", st.sampled_from(["==", "!="]), _TEXTS),
    st.builds(lambda text: f"file.hasProperty({_quoted(text)})", st.sampled_from([*_PROPERTIES, "STATUS"])),
    st.sampled_from(
        [f"file.hasLink({each})" for each in ('"A"', '"a.md"', '"[[B]]"', '"Nothing"', '"pic.png"', "this", "this.file",
         'link("B")', 'file("A")', '"./A"', "up", '"Work/B"', '"Excluded/A"')]
    ),
    st.sampled_from(
        ['file.ext == "md"', 'file.ext != "png"', 'file.path == "A.md"', "file.folder == this.file.folder", "file.name",
         'file.name == "A"', "file.size > 30", "file.links.length > 1", "true", "false", "(", "file.nothing", "this.status",
         "list(up).contains(this)", "status == up", "file.path == this.file.path"]
    ),
    st.builds(
        lambda of, asked: of.format(asked),
        st.sampled_from(["up == {}", "{} == status", "up.contains({})", "list(up).contains({})", "file.links.contains({})",
                         "list(status).contains({})", "file.embeds.contains({})", "{} == this"]),
        st.sampled_from(['link("A")', 'link("B", "shown")', "this", "this.file", 'file("A")', 'link("Nothing")', 'link("./A")',
                         'link("work/b")', 'link("A#x")', '"A"', 'link("[[A]]")', 'link("")', 'link("Excluded/A")']),
    ),
    st.builds(
        lambda of, sign, moment: f"{of} {sign} {moment}",
        st.sampled_from(["file.mtime", "status", "n", "up", "file.mtime.date()", "note.n"]),
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        st.sampled_from(["now()", "today()", "now() - '1d'", "today() + '1M'", '"2026-03-29"', 'date("2026-03-29 02:30")',
                         '"2026-03-29T03:00:00"', "date(up)", '"nothing"', "null", "file.ctime", "now() - duration('2h')",
                         'date("2026-10-25T02:30")', "1774747800000"]),
    ),
    st.builds(lambda sign, moment: f"{moment} {sign} file.mtime", st.sampled_from(["<", "<=", ">", ">="]),
              st.sampled_from(["now()", 'date("2026-03-29 02:30")', '"2026-03-29T01:30:00Z"'])),
    st.builds(
        lambda field, rest: field + rest,
        _FIELDS,
        st.sampled_from(
            ["", ".isEmpty()", ' == "open"', ' != "open"', " > 1", " <= 2", ".length > 0", '.contains("a")', " + 1 > 2",
             ' == link("A")', ".nothing()", ".nothing", '.containsAny("a", "work")', " == null", " == [1]",
             '.linksTo(file("A"))', ".isEmpty() == false", ' < "10"', " > 0 && true",
             '.toString() == "1"', '.filter(value == "a").length > 0', ".map(value).length == 2", ".asFile()",
             ' == "2026-01-02"', ' < "2027"', ".date().year == 2026", "[0]", " ? 1", '.isType("list")']
        ),
    ),
)  # fmt: skip


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda one, sign, two: f"({one}) {sign} ({two})", inner, st.sampled_from(["&&", "||"]), inner),
        st.builds(lambda one: f"!({one})", inner),
    )


_EXPRESSIONS = st.recursive(_LEAVES, _joined, max_leaves=4)
_FILTERS: st.SearchStrategy[Any] = st.recursive(
    _EXPRESSIONS,
    lambda inner: st.builds(
        lambda kind, filters: {kind: filters}, st.sampled_from(["and", "or", "not"]), st.lists(inner, max_size=3)
    ),
    max_leaves=5,
)
_BASES = st.lists(st.tuples(_FILTERS, _FILTERS, st.sampled_from(["", "A.md", "Work/B.md"])), min_size=6, max_size=12)


def _note(properties: dict[str, Any], tags: list[str], links: list[str]) -> str:
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in properties.items()]
    text = " ".join([*links, *(f"#{tag}" for tag in tags)])
    return "\n".join(["---", *lines, "---", text, ""])


_NOTES = st.builds(
    _note,
    st.dictionaries(st.sampled_from(_PROPERTIES), st.sampled_from(_VALUES), max_size=4),
    st.lists(st.sampled_from(_TAGS), max_size=3),
    st.lists(st.sampled_from(_LINKS), max_size=3),
)
_PATHS = st.builds(
    lambda folder, name, ending: f"{folder}{name}{ending}",
    st.sampled_from(_FOLDERS),
    st.sampled_from(_NAMES),
    st.sampled_from([".md", ".md", ".md", ".MD", ".png", ".canvas"]),
)
_VAULTS = st.dictionaries(_PATHS, _NOTES, max_size=14)


# Zones with a daylight change, at times around it; files changed there, too, and at its very milliseconds.
_DAYLIGHT = 1_774_747_800_000  # 2026-03-29 01:30 UTC, in milliseconds
_NOW = st.builds(
    lambda zone, hours: datetime.fromtimestamp(_DAYLIGHT / 1000 + hours * 3600, ZoneInfo(zone)),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]),
    st.integers(-60, 6000),
)
_CHANGED = st.lists(
    st.builds(
        lambda hours, ns: (_DAYLIGHT + hours * 1_800_000) * 1_000_000 + ns,
        st.integers(-60, 60),
        st.sampled_from([0, 1, -1, 499, 500, -500, -501, 999_999, 1_000_000, 5_000]),
    ),
    max_size=14,
)


def _write(root: Path, vault: dict[str, str]) -> None:
    for path, text in vault.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text if path.lower().endswith(".md") else "{}")
    (root / ".obsidian").mkdir()
    (root / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["Excluded/"]}')


@settings(max_examples=settings().max_examples // 4)
@given(_VAULTS, _BASES, _NOW, _CHANGED)
@example(
    {"A.md": _note({"status": "open"}, ["work"], []), "B.md": _note({}, [], ["[[A]]"])},
    [
        ({"not": ['status == "open"']}, "true", ""),
        ('!file.hasTag("work")', {"or": []}, ""),
        ('status.nothing() || file.ext == "md"', "true", ""),
        ({"not": ['!(status.nothing() || file.hasTag("home"))']}, "true", ""),
    ],
    datetime(2026, 3, 29, 12, tzinfo=ZoneInfo("Europe/Berlin")),
    [],
)
def test_push_down_gives_the_same_rows_as_a_full_scan(
    vault: dict[str, str], bases: list[tuple[Any, Any, str]], now: datetime, changed: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), vault)
        for path, changed_ns in zip(vault, changed, strict=False):
            os.utime(Path(folder) / path, ns=(changed_ns, changed_ns))
        files = Files(folder, MAX_NOTE_BYTES)
        index, known = open_index(files, None), open_settings(files)
        by_index = Bases(files, index, known, lambda: now, RememberedResults())
        by_scan = Bases(files, index, known, lambda: now, RememberedResults(), by_index=False)
        there = {path for path in vault if not path.startswith("Excluded/")}
        for of_base, of_view, this in bases:
            base = {
                "filters": of_base,
                "formulas": {"f": "n + 1", "g": "formula.f > 1"},
                "views": [{"type": "table", "name": "V", "filters": of_view, "order": ["file.path", "note.status"]}],
            }
            source = BaseSource(text=json.dumps(base, ensure_ascii=False))
            around = this if this in there else ""
            found, scanned = (each.query(source, this=around) for each in (by_index, by_scan))
            paths = [row.path for row in found.rows]
            assert paths == [row.path for row in scanned.rows], base
            assert [*found.rows] == [*scanned.rows]
            assert found.total == scanned.total == len(paths)
            assert there.issuperset(paths)


_VAULT = """
=== A.md
---
status: open
price: 3
up: "[[B]]"
---
#work
=== B.md
---
status: done
---
=== Folder/C.md
text
"""


def _plan(tmp_path: Path, filters: str, formulas: str = "{}") -> Plan:
    files = Files(str(write_vault(tmp_path, _VAULT)), MAX_NOTE_BYTES)
    index = open_index(files, None)
    base = read_base(f"filters: {filters}\nformulas: {formulas}")
    rows = index.rows(NO_PROGRESS)
    host = VaultHost(index, rows, files, {}, NO_PROGRESS)
    query = ViewQuery(rows, host, base, find_view(base, ""), this="A.md", now=datetime.now().astimezone())
    return narrowed(query.filter, query.shared, rows, NO_PROGRESS)


@pytest.mark.parametrize(
    "filters",
    [
        "file.hasTag('work')",
        "'!file.hasTag(\"work\")'",
        "file.tags.contains('work')",
        "file.inFolder('Folder')",
        "file.folder == '/'",
        "file.folder != 'Folder'",
        "file.path == 'A.md'",
        "file.path == this.file.path",
        "file.ext == 'md'",
        "file.hasProperty('status')",
        "status == 'open'",
        "status != 'open'",
        "price * 2 > 5",
        "formula.double > 5",
        "note['status'].lower().startsWith('o')",
        "list(status).filter(value == 'open').length > 0",
        "status < today()",
        "file.mtime > '2020-01-01'",
        "now() - '1d' > file.mtime",
        '\'file.hasTag("work") && status == "open"\'',
        "{or: [file.hasTag('work'), {not: [file.inFolder('Folder')]}]}",
    ],
)
def test_the_index_alone_answers(tmp_path: Path, filters: str) -> None:
    plan = _plan(tmp_path, filters, "{double: price * 2}")
    assert plan.rest is None
    assert plan.possible != Every(())


@pytest.mark.parametrize(
    "filters",
    [
        "file.size > 3",
        "file.name == 'A'",
        "status == up",
        "file.mtime > file.ctime",
        "file.mtime == now()",
        "random() > 1",
    ],
)
def test_other_filters_are_left_for_the_files(tmp_path: Path, filters: str) -> None:
    plan = _plan(tmp_path, filters)
    assert plan.rest is not None
    assert plan.possible == Every(())


def test_only_what_is_left_is_evaluated_for_the_files_that_are_left(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "{and: [file.hasTag('work'), file.size > 3, {and: [file.hasProperty('status')]}]}")
    assert plan.possible == Every((Tagged("work"), HasProperty("status")))
    assert plan.rest is not None
    assert plan.rest == read_base("filters: file.size > 3").filter


def test_a_property_with_links_is_looked_at_again(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "up == 'x'")
    assert plan.possible == HasValue("up", ('"[[B]]"',), or_none=False)
    assert plan.rest is not None


def test_more_conditions_than_the_index_takes_are_evaluated_file_by_file(tmp_path: Path) -> None:
    bases = open_vault(write_vault(tmp_path, _VAULT)).bases
    one_by_one = ", ".join(f"file.hasTag('t{number}')" for number in range(1500))
    assert bases.query(BaseSource(text=f"filters: {{or: [{one_by_one}, file.hasTag('work')]}}")).total == 1
    many = ", ".join(f'"t{number}"' for number in range(2000))
    assert bases.query(BaseSource(text=f"filters: 'file.hasTag({many}, \"work\")'")).total == 1


def test_what_cannot_be_read_lets_nothing_pass(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "'('")
    assert plan.rest is None
    assert read_expression("(") is not None
