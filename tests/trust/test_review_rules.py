"""The rules for changes that the person wants to see first: their file, what they match, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.calls import DESCRIPTIONS
from vaultwire.cli import main
from vaultwire.toolkit.catalog import work_of
from vaultwire.trust.policy_file import PolicyError, describe, load_policy
from vaultwire.trust.policy_rules import MODES, ReviewRule, ReviewRules
from vaultwire.vault.holding.review_mode import Mode, PlannedChange

RULES = """
[[review]]
mode = "record"
clients = ["trusted"]

[[review]]
mode = "hold"
folders = ["/Journal/"]

[[review]]
mode = "ask"
clients = ["curious"]

[[review]]
mode = "hold"
tools = ["move-notes", "write_*"]

[[review]]
mode = "ask"
above_notes = 3
above_bytes = 100
"""


def rules(folder: Path, text: str) -> ReviewRules:
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    found = load_policy(str(folder / "policy.toml"), DESCRIPTIONS).review
    assert found is not None
    return found


PLANNED = PlannedChange("someone", "", "edit_note", (), ("A.md",), 1, 10, {})


@pytest.mark.parametrize(
    ("planned", "mode"),
    [
        (PLANNED, "record"),
        (PLANNED._replace(paths=("A.md", "journal/Day.md")), "hold"),
        (PLANNED._replace(paths=("Journal",)), "hold"),
        (PLANNED._replace(paths=("Journals/Day.md",)), "record"),
        (PLANNED._replace(tool="move_notes"), "hold"),
        (PLANNED._replace(tool="create_note"), "hold"),  # it can do what write_note does
        (PLANNED._replace(files=4), "record"),
        (PLANNED._replace(files=4, written=101), "ask"),
        (PLANNED._replace(files=3, written=101), "record"),
        # A client without a key is who it says; with one, its own name can only make the answer stricter.
        (PLANNED._replace(client="trusted", tool="move_notes"), "record"),
        (PLANNED._replace(client="trusted", principal="key", tool="move_notes"), "hold"),
        (PLANNED._replace(client="x", principal="trusted", tool="move_notes"), "record"),
        (PLANNED._replace(client="curious", principal="trusted"), "ask"),
        (PLANNED._replace(client="x", principal="curious"), "ask"),
    ],
)
def test_the_first_table_that_all_of_a_change_meets_decides(tmp_path: Path, planned: PlannedChange, mode: str) -> None:
    assert rules(tmp_path, RULES).mode(planned) == mode


def test_without_tables_there_are_no_rules(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("read_only = false\n")
    assert load_policy(str(tmp_path / "policy.toml"), DESCRIPTIONS).review is None
    assert not rules(tmp_path, '[[review]]\nmode = "record"\n').can_hold


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('[review]\nmode = "hold"\n', 1, "[[review]]"),
        ('[[review]]\nmode = "hold"\n[[review]]\nfolders = ["A"]\n', 3, "mode in [[review]] must be"),
        ('[[review]]\nmode = "hold"\n[[review]]\n\nmode = "wait"\n', 5, "mode in [[review]] must be"),
        ('[[review]]\nmode = "hold"\ntools = ["edit_notes"]\n', 3, "did you mean 'edit_note'?"),
        ('[[review]]\nmode = "hold"\nfolder = ["A"]\n', 3, "did you mean 'folders'?"),
        ('[[review]]\nmode = "hold"\nfolders = []\n', 3, "not empty"),
        ('[[review]]\nmode = "hold"\nfolders = ["../x"]\n', 3, "is not a folder of the vault"),
        ('[[review]]\nmode = "hold"\nabove_notes = -1\n', 3, "a number from 0 on"),
        ('[[review]]\nmode = "hold"\nabove_bytes = true\n', 3, "a number from 0 on"),
        ('[[review]]\nmode = "hold"\nclients = "x"\n', 3, "must be a list of texts"),
        ('review = [{mode = "no"}]\n', 1, "mode in [[review]] must be"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(PolicyError) as error:
        rules(tmp_path, text)
    assert f"policy.toml:{line}: " in str(error.value)
    assert problem in str(error.value)


def test_the_rules_are_told_in_words(tmp_path: Path) -> None:
    rules(tmp_path, RULES)
    lines = describe(load_policy(str(tmp_path / "policy.toml"), DESCRIPTIONS))
    assert "review 2: hold changes in the folders Journal" in lines
    assert "review 5: ask about changes of more than 3 notes and other files and of more than 100 bytes" in lines


# ------------------------------------------------------------------ a rule that loosens is met by the whole change only

INBOX_FIRST = """
[[review]]
mode = "{mode}"
folders = ["Inbox"]

[[review]]
mode = "hold"
"""


@pytest.mark.parametrize("mode", ["record", "ask"])
def test_a_note_that_moves_into_a_free_folder_or_out_of_it_waits(tmp_path: Path, mode: str) -> None:
    free = rules(tmp_path, INBOX_FIRST.format(mode=mode))
    for paths in (("Diary/D.md", "Inbox/D.md"), ("Inbox/D.md", "Diary/D.md"), ("Inbox/A.md", "B.md")):
        assert free.mode(PLANNED._replace(paths=paths)) == "hold"
    assert free.mode(PLANNED._replace(paths=("Inbox/D.md", "inbox/E.md"))) == mode


def test_a_call_that_also_does_other_work_is_not_free_by_its_own_name(tmp_path: Path) -> None:
    free = rules(tmp_path, '[[review]]\nmode = "record"\ntools = ["create_note"]\n[[review]]\nmode = "hold"\n')
    planned = PLANNED._replace(tool="create_note")
    assert free.mode(planned) == "record"
    assert free.mode(planned._replace(also=tuple(work_of("create_note", {"if_exists": "overwrite"})))) == "hold"


_FOLDERS = ["", "A", "A/B", "B", "C"]
_TOOLS = ["edit_note", "create_note", "write_note", "set_*", "move_notes"]
_CALLS: list[tuple[str, dict[str, object]]] = [
    ("edit_note", {}),
    ("create_note", {}),
    ("create_note", {"if_exists": "append"}),
    ("set_properties", {"remove": ["x"]}),
    ("move_notes", {}),
    ("create_note_in_view", {}),
]
_some = st.lists(st.sampled_from(_FOLDERS), min_size=1, max_size=2).map(tuple)
_rule = st.builds(
    ReviewRule,
    st.sampled_from(MODES),
    st.none() | st.lists(st.sampled_from(["me", "you", "*"]), min_size=1, max_size=2).map(tuple),
    st.none() | _some,
    st.none() | st.lists(st.sampled_from(_TOOLS), min_size=1, max_size=2).map(tuple),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(0, 3),
)
_path = st.sampled_from(["A/x.md", "a/B/y.md", "B/z.md", "C/x.md", "top.md"])


@st.composite
def _changes(draw: st.DrawFn) -> PlannedChange:
    tool, arguments = draw(st.sampled_from(_CALLS))
    paths = draw(st.lists(_path, min_size=1, max_size=3, unique=True))
    also = tuple(work_of(tool, arguments))
    return PlannedChange("me", "", tool, also, tuple(paths), len(paths), draw(st.integers(0, 4)), {})


def _meets(rule: ReviewRule, planned: PlannedChange, path: str, tool: str) -> bool:
    """Say of one file and one kind of work, in plain words, whether a rule is about it."""
    names = rule.tools or ["*"]
    return (
        (rule.clients is None or bool({"*", "me"} & set(rule.clients)))
        and any(not folder or path.lower().startswith(folder.lower() + "/") for folder in rule.folders or ("",))
        and any(fnmatchcase(tool, name) for name in names)
        and planned.files > (-1 if rule.above_notes is None else rule.above_notes)
        and planned.written > (-1 if rule.above_bytes is None else rule.above_bytes)
    )


def _first(rules: Sequence[ReviewRule], planned: PlannedChange, path: str, tool: str) -> Mode:
    return next((rule.mode for rule in rules if _meets(rule, planned, path, tool)), "record")


@given(st.lists(_rule, max_size=4), _changes())
def test_no_part_of_a_change_is_freed_by_the_rest_of_it(rules: list[ReviewRule], planned: PlannedChange) -> None:
    work = (planned.tool, *planned.also)
    parts = [(path, tool) for path in planned.paths for tool in work]
    mode = MODES.index(ReviewRules(rules).mode(planned))
    assert mode >= max(MODES.index(_first(rules, planned, *part)) for part in parts)
    # A looser rule before a stricter one, which some of the change meets, counts only if all of the change meets it.
    for number, rule in enumerate(rules):
        if all(_meets(rule, planned, *part) for part in parts):
            break
        if any(_meets(rule, planned, *part) for part in parts):
            assert mode >= MODES.index(rule.mode), number


@given(st.lists(_rule, max_size=4), _changes())
def test_a_change_of_one_file_and_one_kind_is_decided_by_the_first_rule_about_it(
    rules: list[ReviewRule], planned: PlannedChange
) -> None:
    one = planned._replace(tool="edit_note", also=(), paths=planned.paths[:1])
    assert ReviewRules(rules).mode(one) == _first(rules, one, one.paths[0], one.tool)


def test_policy_check_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[review]]\nmode = "record"\ntools = ["edit_note"]\n[[review]]\nmode = "hold"\nfolders = ["J"]\n'
    )
    assert main(["policy", "check", str(policy)]) == 0
    assert "Check:\n- review 1 comes before review 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('record tools=["edit_note"]|hold folders=["Journal"]', "review 1 comes before review 2"),
        ('ask folders=["Journal"]|hold above_notes=5', "review 1 comes before review 2"),
        ('record folders=["Journal"]|hold folders=["Journal/Private"]', "review 2 decides about nothing"),
        ('record tools=["create_note_in_view"]|hold ', "name that, too"),
        # What these say is what they do: an exception first, apart from each other, or the stricter first.
        ('record folders=["Inbox"]|hold ', ""),
        ('record folders=["Journal/Inbox"]|hold folders=["Journal"]', ""),
        ('record tools=["edit_note"]|hold tools=["move_notes"]', ""),
        ('record folders=["A"]|hold folders=["B"]', ""),
        ('hold folders=["Journal"]|record tools=["edit_note"]', ""),
        ('record clients=["mine"]|hold folders=["Journal"]', ""),
    ],
)
def test_orders_that_free_more_than_they_say_are_named(tmp_path: Path, text: str, said: str) -> None:
    tables = [each.split(" ", 1) for each in text.split("|")]
    loaded = rules(tmp_path, "".join(f'[[review]]\nmode = "{mode}"\n{rest}\n' for mode, rest in tables))
    sentences = loaded.surprises(DESCRIPTIONS)
    assert (len(sentences) == 1 and said in sentences[0]) if said else not sentences
