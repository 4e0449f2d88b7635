"""Patterns in Git's syntax mean what Git says they mean."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.vault.visibility.excludes import BadRuleError, GitignoreRules, compile_rule

FOLDERS = ["a", "a/b", "a/b/a", "b", "b/a b", "ab", "ab/-", "x[a]", "a/a", "a/a/a"]
NAMES = ["a", "b", "ab", "ba.md", "a b", "b ", "-", "!a", "#a", "[a]", "a]", "\\a", "a*", "c^", "5"]
LINES = st.text("ab*?/!\\[]^- .#5", min_size=1, max_size=9) | st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "**",
            "/",
            "*",
            "?",
            "[ab]",
            "[!a]",
            "[^b]",
            "[]a]",
            "[a-b]",
            "[+-9]",
            "[b-a]",
            "[\\]]",
            "\\*",
            "[a-]",
            ".md",
            " ",
        ]
    ),
    min_size=1,
    max_size=7,
).map("".join)

# Git's manual says that these are one star; Git itself takes what stands before them away first, so that they begin a part.
_INNER_STARS = re.compile(r"[^/*]\*\*")


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with a file of each name in each folder, and all of these, a folder with a slash behind it."""
    root = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for folder in ["", *FOLDERS]:
        (root / folder).mkdir(exist_ok=True)
    for folder in ["", *FOLDERS]:
        for name in NAMES:
            if not (root / folder / name).is_dir():
                (root / folder / name).write_text("")
    found = [path for path in root.rglob("*") if ".git" not in path.parts]
    return root, [f"{path.relative_to(root).as_posix()}{'/' * path.is_dir()}" for path in found]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
@given(st.lists(LINES, min_size=1, max_size=3))
@example(["**/a/**", "!/a/b/"])
@example(["a/**"])
@example(["/a*"])
@example(["a/b"])
@example(["*", "!*/"])
@example(["a/*"])
@example(["a/*", "!a/b"])
@example(["a/**/"])
@example(["**/"])
@example(["**\\/a"])
@example(["***/a"])
@example(["b\\ ", "a "])
@example(["[!a]/[a-b]"])
@example(["/"])
def test_a_line_matches_what_git_matches(entries: tuple[Path, list[str]], lines: list[str]) -> None:
    root, all_entries = entries
    good = []
    rules = []
    for line in lines:
        if _INNER_STARS.search(line.removeprefix("!")):
            continue
        try:
            rule = compile_rule(line)
        except BadRuleError:
            continue
        good.append(line)
        rules += [] if rule is None else [rule]
    (root / ".gitignore").write_text("".join(f"{line}\n" for line in good))
    said = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(entry.removesuffix("/") for entry in all_entries).encode(),  # it looks which are folders
        capture_output=True,
        check=False,
    ).stdout.decode()
    compiled = GitignoreRules(rules)
    matched = {entry.removesuffix("/") for entry in all_entries if compiled.matches(entry)}
    assert matched == set(filter(None, said.split("\0")))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
@pytest.mark.parametrize(
    "line", ["[a", "a\\", "x[!]", "!", "! ", "[b-a]", "[[:alpha:]]", "[[:x]", "*a*a*a*a*", "a/**/b/**/c/**/d/**/e"]
)
def test_a_line_that_cannot_be_used_is_refused(line: str) -> None:
    with pytest.raises(BadRuleError):
        compile_rule(line)


def test_sets_and_question_marks_are_about_characters() -> None:
    for line in ("?.md", "[é].md", "[!a].md", "[à-ü].md"):
        rule = compile_rule(line)
        assert rule is not None
        assert GitignoreRules([rule]).matches("x/é.md")


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
    rule = compile_rule(line)
    assert rule is not None
    assert GitignoreRules([rule]).matches(entry) is matches
