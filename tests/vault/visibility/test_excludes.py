"""What searches leave out: Obsidian's filters as Obsidian reads them, ``.vaultwireignore`` as Git reads such a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from support.vaults import write_vault
from vaultwire.vault.settings.obsidian_settings import CachedSettings, FileContent
from vaultwire.vault.visibility.excludes import CachedExcludes, Excludes

FILTERS = [
    # a filter, what it excludes, what it does not
    ("Archive/", ["Archive/a.md", "Archive/b/c.md", "archive/a.md"], ["Archive.md", "x/Archive/a.md", "Archives/a.md"]),
    ("Arch", ["Archive/a.md", "Arch.md", "architecture.md"], ["My Arch.md", "x/Arch/a.md"]),
    ("a.b", ["a.b.md", "A.B/c.md"], ["axb.md"]),
    ("(x)*", ["(x)*/a.md"], ["x.md", "xx.md"]),
    ("*.tmp", ["*.tmp"], ["a.tmp"]),
    ("/Archive", [], ["Archive/a.md"]),
    ("/", [], ["a.md", "a/b.md"]),
    ("Caf\u00e9/", ["Cafe\u0301/a.md", "CAF\u00c9/a.md"], ["Cafe/a.md"]),
    ("Cafe\u0301/", ["Caf\u00e9/a.md"], []),
    ("/\\.tmp\\.md$/", ["a.tmp.md", "x/B.TMP.md"], ["a.tmp.md/b.md", "tmp.md"]),
    ("/^Archive/", ["Archive/a.md", "archived.md"], ["x/Archive/a.md"]),
    ("/draft/", ["draft.md", "x/My Drafts/a.md"], ["raft.md"]),
    ("/(^|[/])[^/]*private[^/]*[/]/", ["private/a.md", "x/my private things/a.md"], ["private.md"]),
    ("/(?<year>\\d{4})-\\k<year>/", ["2024-2024.md"], ["2024-2023.md"]),
    ("/caf\u00e9/", ["cafe\u0301.md"], ["cafe.md"]),
]


@pytest.mark.parametrize(("text", "excluded", "shown"), FILTERS)
def test_obsidians_filters_hide_what_they_hide_in_obsidian(text: str, excluded: list[str], shown: list[str]) -> None:
    excludes = Excludes((text,))
    assert [path for path in excluded + shown if excludes.is_excluded(path)] == excluded
    assert excludes.problems == ()


def test_several_filters_hide_what_any_of_them_hides() -> None:
    excludes = Excludes(("a/", "/x$/", "b/"), FileContent("*.log\n"))
    assert [path for path in ("a/1", "b/1", "c/1", "c/x", "c/1.log") if excludes.is_excluded(path)] == [
        "a/1",
        "b/1",
        "c/x",
        "c/1.log",
    ]


BAD_FILTERS = [
    ("", "has an empty filter"),
    ("//", "has an empty filter"),
    ("/(/", "/(/ is no regular expression: "),
    ("/a{2,1}/", "/a{2,1}/ is no regular expression: "),
    ("/[z-a]/", "/[z-a]/ is no regular expression: "),
]


@pytest.mark.parametrize(("text", "problem"), BAD_FILTERS)
def test_a_filter_that_is_none_excludes_nothing_and_is_told(text: str, problem: str) -> None:
    excludes = Excludes((text,))
    assert excludes.is_empty
    assert not excludes.is_excluded("(a/z.md")
    assert [told.path for told in excludes.problems] == ["userIgnoreFilters in app.json"]
    assert excludes.problems[0].text.startswith(problem)


def test_an_expression_without_end_is_given_up_excludes_nothing_and_is_told() -> None:
    excludes = Excludes(("/^(a|a)*$/", "b/"))
    stamp = excludes.stamp
    assert excludes.is_excluded("aaa")
    started = time.process_time()
    assert not excludes.is_excluded("a" * 60 + "!.md")
    assert time.process_time() - started < 10
    assert not excludes.is_excluded("aaa")
    assert excludes.is_excluded("b/a.md")
    assert "takes too long" in excludes.problems[0].text
    assert excludes.stamp not in ("", stamp)
    assert excludes.stamp == Excludes(("b/",)).stamp


def test_an_expression_that_does_no_harm_is_never_given_up() -> None:
    excludes = Excludes(("/(draft|tmp)[^/]*\\.md$/",))
    # Ten times what it may take at once, in paths that take it a few microseconds each.
    assert not any(excludes.is_excluded(f"Folder {number % 7}/a note.md") for number in range(100_000))
    assert excludes.problems == ()


# ---------------------------------------------------------------------- .vaultwireignore

IGNORED = [
    # lines, what they exclude, what they do not
    ("*.tmp", ["a.tmp", "x/y/a.tmp", "x.tmp/a.md"], ["a.tmp.md", "A.TMP"]),
    ("Archive/", ["Archive/a.md", "x/Archive/b/c.md"], ["Archive", "Archives/a.md"]),
    ("/Archive", ["Archive", "Archive/a.md"], ["x/Archive/a.md"]),
    ("a/b", ["a/b", "a/b/c.md"], ["x/a/b"]),
    ("a/*.md", ["a/b.md"], ["a/b/c.md", "b.md"]),
    ("a/**/z.md", ["a/z.md", "a/b/c/z.md"], ["b/a/z.md"]),
    ("**/z", ["z", "a/z", "a/z/b.md"], ["az"]),
    ("a/**/", ["a/b/c.md"], ["a", "a/b.md"]),
    ("a/**", ["a/b.md", "a/b/c.md"], ["a", "b/a/c.md"]),
    ("*\n!*.md", ["a.txt", "x/a.md"], ["a.md"]),
    ("*\n!*/\n!*.md", ["a.txt", "x/a.txt"], ["a.md", "x/a.md"]),
    ("Archive/\n!Archive/keep.md", ["Archive/keep.md"], []),
    ("Archive/*\n!Archive/keep.md", ["Archive/a.md"], ["Archive/keep.md"]),
    ("*.md\n!keep/", ["keep/a.md"], []),
    ("foo\n!foo/", ["x/foo"], ["foo/a.md"]),
    ("# a comment\n\n\\#a\n\\!b", ["#a", "!b"], ["# a comment", "b"]),
    ("a  \nb\\ ", ["a", "b "], ["a  ", "b"]),
    ("n[0-9].md\nm[!0-9].md", ["n1.md", "mx.md"], ["nx.md", "m1.md"]),
    ("[!]a]x\n[]b]y", ["bx", "]y", "by"], ["ax", "]x", "ay"]),
    ("[[&&||~~]x", ["[x", "&x", "~x"], ["ax"]),
    ("a[!x]b", ["ayb"], ["a/b", "axb"]),
    ("a?c", ["abc"], ["a/c", "ac"]),
    ("\ufeffx\r\ny\r\n", ["y"], ["x\r"]),
    ("Caf\u00e9", ["Cafe\u0301", "Caf\u00e9/a.md"], ["Cafe"]),
]


@pytest.mark.parametrize(("lines", "excluded", "shown"), IGNORED)
def test_the_ignore_file_excludes_what_git_would_ignore(lines: str, excluded: list[str], shown: list[str]) -> None:
    excludes = Excludes((), FileContent(lines))
    assert [path for path in excluded + shown if excludes.is_excluded(path)] == excluded
    assert excludes.problems == ()


NAMES = st.sampled_from(["a", "b", "ab", "a.md", "b.md", "x.tmp"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
LINE_PARTS = NAMES | st.sampled_from(["*", "**", "?", "*.md", "a*", "[ab]", "[!a]*"])
LINES = st.builds(
    lambda negated, start, parts, end: negated + start + "/".join(parts) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(LINE_PARTS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)


CASES = st.lists(st.tuples(st.lists(LINES, min_size=1, max_size=4), PATHS), min_size=100, max_size=100)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
@settings(
    max_examples=5, phases=[Phase.generate]
)  # a hundred cases each, because starting Git takes longer than its work
@given(cases=CASES)
def test_any_ignore_file_excludes_what_git_ignores(
    tmp_path_factory: pytest.TempPathFactory, cases: list[tuple[list[str], str]]
) -> None:
    root = tmp_path_factory.mktemp("vault")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for number, (lines, _) in enumerate(cases):
        (root / str(number)).mkdir()
        (root / str(number) / ".gitignore").write_text("\n".join(lines))
    told = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(f"{number}/{path}" for number, (_, path) in enumerate(cases)).encode(),
        capture_output=True,
        check=False,  # it is 1 if nothing is ignored
    )
    assert told.stderr == b""
    ignored = set(told.stdout.decode().split("\0"))
    for number, (lines, path) in enumerate(cases):
        excludes = Excludes((), FileContent("\n".join(lines)))
        assert (lines, path, excludes.is_excluded(path)) == (lines, path, f"{number}/{path}" in ignored)


BAD_LINES = [
    (FileContent("a\n!\n"), "line 2: "),
    (FileContent("a\n[z-a]\n"), "line 2: "),
    (FileContent("a\n[a--x]\n"), "line 2: "),
    (FileContent("a\n[[:alpha:]]*\n"), "line 2: "),
    (FileContent("a\n" + "*x" * 20), "line 2 has too many '*'"),
    (FileContent("a\n/**/x/**/x/**/x/**/x\n"), "line 2 has too many '*'"),
]


@pytest.mark.parametrize(("ignore", "problem"), BAD_LINES)
def test_a_line_that_is_none_leaves_the_others(ignore: FileContent, problem: str) -> None:
    excludes = Excludes((), ignore)
    assert excludes.is_excluded("a")
    assert not excludes.is_excluded("x" * 255)
    assert [told.path for told in excludes.problems] == [".vaultwireignore"]
    assert excludes.problems[0].text.startswith(problem)


def test_an_ignore_file_that_cannot_be_read_excludes_nothing_and_is_told() -> None:
    excludes = Excludes((), FileContent(None, "is not UTF-8"))
    assert excludes.is_empty
    assert [*map(tuple, excludes.problems)] == [(".vaultwireignore", "is not UTF-8")]


WORST = [
    ("*a*a*a*b", "a" * 255),
    ("**/*a*a*a*b", "a" * 255),
    ("/**/a/**/a/b", "a/" * 200 + "a"),
]


@pytest.mark.parametrize(("line", "path"), WORST)
def test_the_worst_line_that_is_taken_ends_on_the_worst_path(line: str, path: str) -> None:
    excludes = Excludes((), FileContent(line))
    assert excludes.problems == ()
    started = time.process_time()
    assert not excludes.is_excluded(path)
    assert time.process_time() - started < 20  # without the limit, years


def test_a_path_deeper_than_python_may_recurse_is_answered() -> None:
    assert Excludes((), FileContent("a/b\nz")).is_excluded("a/" * 2000 + "z")


# ---------------------------------------------------------------------- no rules, the same rules, other rules


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "!a\n"])
def test_no_rule_is_known_at_once(text: str) -> None:
    excludes = Excludes((), FileContent(text))
    assert excludes.is_empty
    assert excludes.stamp == ""
    assert not excludes.is_excluded("a")


def test_a_vault_without_an_ignore_file_does_not_pay_for_the_library_of_expressions(tmp_path: Path) -> None:
    write_vault(tmp_path, '=== .obsidian/app.json\n{"userIgnoreFilters": ["a/"]}\n')
    code = (
        "import sys\n"
        "from vaultwire.vault.visibility.excludes import CachedExcludes\n"
        "from vaultwire.vault.settings.obsidian_settings import CachedSettings\n"
        "assert CachedExcludes(sys.argv[1], CachedSettings(sys.argv[1])).get().is_excluded('a/b') is (len(sys.argv) == 2)\n"
        "print(sorted({'regex'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


def test_the_stamp_tells_rules_apart_and_is_the_same_in_every_process() -> None:
    rules = [
        (("a",), ""),
        (("A/",), ""),
        (("/a/",), ""),
        ((), "a"),
        (("a",), "a"),
        (("a", "b"), ""),
        ((), "a\nb"),
    ]
    stamps = [Excludes(filters, FileContent(text)).stamp for filters, text in rules]
    assert len(set(stamps)) == len(rules)
    assert stamps == [Excludes(filters, FileContent(text)).stamp for filters, text in rules]
    code = "from vaultwire.vault.visibility.excludes import Excludes; print(Excludes(('a',)).stamp)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.strip() == stamps[0]


def test_the_rules_are_those_of_the_files_as_they_are_now(tmp_path: Path) -> None:
    write_vault(
        tmp_path, '=== .obsidian/app.json\n{"userIgnoreFilters": ["Archive/"]}\n=== .vaultwireignore\n*.log.md\n'
    )
    kept = CachedExcludes(str(tmp_path), CachedSettings(str(tmp_path)))
    first = kept.get()
    assert first.is_excluded("Archive/a.md")
    assert first.is_excluded("x/a.log.md")
    assert kept.get() is first
    (tmp_path / ".vaultwireignore").unlink()
    assert not kept.get().is_excluded("x/a.log.md")
    (tmp_path / ".obsidian" / "app.json").write_text("{}")
    assert kept.get().is_empty
    write_vault(tmp_path, "=== .vaultwireignore\nb\n")
    assert kept.get().is_excluded("b")
    (tmp_path / ".vaultwireignore").write_bytes(b"\xff")
    assert kept.get().problems[0].text.startswith("is not UTF-8")
