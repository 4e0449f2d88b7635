"""What the official command is told and says, as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.obsidian.command import Finished, check_answer, to_arguments, to_lines
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    OBSIDIAN_FAILED,
    OBSIDIAN_NOT_RUNNING,
    VAULT_NOT_FOUND,
    VaultError,
)


@given(st.dictionaries(st.sampled_from(["path", "name", "content"]), st.text()))
def test_no_value_becomes_another_argument(values: dict[str, str]) -> None:
    arguments = to_arguments("id", "create", values, ["overwrite"])
    assert arguments[:2] == ["vault=id", "create"]
    assert arguments[-1] == "overwrite"
    assert dict(argument.split("=", 1) for argument in arguments[2:-1]) == values


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ('Error: File "x" not found.\n', FILE_NOT_FOUND),
        ('Error: Folder "x" not found.\n', FILE_NOT_FOUND),
        ('Error: Template "x" not found.\r\n', FILE_NOT_FOUND),
        ('Error: Tag "#x" not found.\n', FILE_NOT_FOUND),
        ("Vault not found.\n", VAULT_NOT_FOUND),
        ('Error: Vault "x" not found\n', VAULT_NOT_FOUND),
        ('Error: "Plan" matches multiple files: A/Plan.md, B/Plan.md\n', AMBIGUOUS_NAME),
        ('Error: Command "x" not found. It may require a plugin to be enabled.\n', OBSIDIAN_FAILED),
        ("Error: Missing required parameter: to\nUsage: move to=<path>\n", OBSIDIAN_FAILED),
        ("2026-02-11 02:29:05 Loading updated app package /x\nError: No active file.\n", OBSIDIAN_FAILED),
    ],
)
def test_errors_have_the_code_of_what_is_wrong(output: str, code: str) -> None:
    with pytest.raises(VaultError) as caught:
        check_answer(Finished(0, output, ""))
    assert caught.value.code == code


def test_an_app_that_cannot_be_found_does_not_run() -> None:
    with pytest.raises(VaultError) as caught:
        check_answer(
            Finished(1, "", "The CLI is unable to find Obsidian. Please make sure Obsidian is running and try again.\n")
        )
    assert caught.value.code == OBSIDIAN_NOT_RUNNING


@pytest.mark.parametrize(("errors", "why"), [("boom\n", "boom"), ("", "exit code 3")])
def test_any_other_exit_code_is_a_failure_that_says_why(errors: str, why: str) -> None:
    with pytest.raises(VaultError, match=why) as caught:
        check_answer(Finished(3, "", errors))
    assert caught.value.code == OBSIDIAN_FAILED


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("text\n", "text"),
        ("text\n\n", "text\n"),
        ("text", "text"),
        ("one\r\ntwo\r\n", "one\ntwo"),
        ("2026-02-11 02:29:05 Loading updated app package /x\nHome.md\n", "Home.md"),
        ("Your Obsidian installer is out of date. Please\n", ""),
        ("2026-02-11 02:29:05 is no preamble.md\n", "2026-02-11 02:29:05 is no preamble.md"),
    ],
)
def test_the_line_end_behind_an_answer_is_no_part_of_it(output: str, said: str) -> None:
    assert check_answer(Finished(0, output, "")) == said


def test_a_note_s_own_text_may_begin_like_an_error_or_a_message() -> None:
    for text in ("Error: one\ntwo", "2026-02-11 02:29:05 Loading\ntext"):
        assert check_answer(Finished(0, f"{text}\n", ""), "something else") == text
    for line in ("Error: one", "Vault not found."):
        assert check_answer(Finished(0, f"{line}\n", ""), line) == line
        with pytest.raises(VaultError):
            check_answer(Finished(0, f"{line}\n", ""), "something else")


@pytest.mark.parametrize(
    "said", ["No tags found.", "No matches found.", "No dead-end files found.", "No workspaces saved.", ""]
)
def test_a_sentence_that_says_there_is_nothing_is_nothing(said: str) -> None:
    assert to_lines(said) == []


def test_a_file_is_no_such_sentence() -> None:
    assert to_lines("No tags found.md\nb.base") == ["No tags found.md", "b.base"]
