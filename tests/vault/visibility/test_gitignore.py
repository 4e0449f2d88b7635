"""Patterns in Git's syntax: those of the usual form are read here, and mean what the library says they mean."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.vault.visibility.excludes import BadRuleError, GitignoreRules, compile_any_rule, compile_rule

LINES = st.text("ab*?/! .#-+(é", min_size=1, max_size=9)
ENTRIES = st.lists(st.text("ab. +(é", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@given(st.lists(LINES, min_size=1, max_size=3), ENTRIES, st.booleans())
@example(["**/a/**", "!/a/b/"], "b/a/b", True)
@example(["a/**"], "a", True)
@example(["/a*"], "ab/b", False)
@example(["a/b"], "b/a/b", False)
@example(["*", "!*/"], "a/b", False)
@example(["a/*"], "a", True)
@example(["a/*", "!a/b"], "a/b", False)
def test_the_short_way_finds_what_the_library_finds(lines: list[str], path: str, is_folder: bool) -> None:
    entry = f"{path}/" if is_folder else path
    try:
        short = [compile_rule(line) for line in lines]
    except BadRuleError:
        return
    long = [compile_any_rule(line) for line in lines]
    assert [glob is None for glob in short] == [glob is None for glob in long]
    found, wanted = (GitignoreRules(glob for glob in globs if glob is not None).find(entry) for globs in (short, long))
    assert (found and found.text) == (wanted and wanted.text)


def test_usual_lines_need_no_library() -> None:
    code = (
        "import sys; from vaultwire.vault.visibility.excludes import compile_rule\n"
        "for line in ('/Private/', 'Private/', '*.md', '**/x', '/a/**', 'a b/c?.md', '!open.md', 'a-b+(c).md'):\n"
        "    assert compile_rule(line)\n"
        "assert 'pathspec' not in sys.modules\n"
        "assert compile_rule('[ab].md')\n"
        "assert 'pathspec' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("line", "entry", "matches"),
    [
        ("/a/", "a/b/c", True),
        ("/a/", "b/a/c", False),
        ("a/", "b/a/c", True),
        ("a/", "a", False),
        ("/a/**", "a/", False),
        ("*.md", "x/y.md", True),
        ("x/*.md", "x/y/z.md", False),
        ("a?c", "a/c", False),
    ],
)
def test_what_a_line_matches(line: str, entry: str, *, matches: bool) -> None:
    glob = compile_rule(line)
    assert glob is not None
    assert GitignoreRules([glob]).matches(entry) is matches
