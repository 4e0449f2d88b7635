"""Links that lead nowhere: what may be meant, and fixing many of them as one change."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.killing import tree
from support.refusals import refused
from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.editing.arranging import Fixed, GivenFix
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOT_READ, TEXT_NOT_FOUND
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

VAULT = """
=== Garden plan.md
# Beds and paths
=== Deep/Kitchen.md
=== Deep/Other.md
=== Meeting 12.md
=== Files/Plan of house.png
=== A.md
[[Gardn plan]] [[garden-plan|shown]] [x](Gardn%20plan.md#Beds)
=== B.md
[[Old place/Kitchen]] [[Meeting 13]] ![[plan-of-house.png]] [[Nothing like it]]
=== C.md
[[Garden plan#Beds & path]] [[#Hedings]]
## Headings
=== K.canvas
{"nodes":[{"id":"1","type":"file","file":"Old/Kitchen.md"},{"id":"2","type":"text","text":"[[Gardn plan]]"}]}
"""


def fix(vault: Vault, *given: tuple[str, str, str], dry_run: bool = False) -> Fixed:
    return vault.arranging.fix_links([GivenFix(*each) for each in given], NO_PROGRESS, dry_run=dry_run)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


def suggested(vault: Vault, name: str) -> dict[str, list[tuple[str, bool]]]:
    return {each.linktext: [tuple(meant) for meant in each.suggestions] for each in vault.check(name)[1]}  # type: ignore[misc]


def test_what_may_be_meant_is_suggested(root: Path) -> None:
    vault = open_vault(root)
    assert suggested(vault, "A") == {
        "Gardn plan": [("Garden plan", True)],
        "garden-plan": [("Garden plan", True)],
        "Gardn plan.md#Beds": [("Garden plan#Beds", True)],
    }
    assert suggested(vault, "B") == {
        "Old place/Kitchen": [("Deep/Kitchen", True)],
        "Meeting 13": [],
        "plan-of-house.png": [("Files/Plan of house.png", True)],
        "Nothing like it": [],
    }
    assert suggested(vault, "C") == {
        "Garden plan#Beds & path": [],
        "#Hedings": [("#Headings", True)],
    }
    (finding,) = [each for each in vault.check("A")[1] if each.linktext == "garden-plan"]
    assert finding.message.endswith("there is no file 'garden-plan'; did you mean [[Garden plan]]?")


def test_two_that_may_be_meant_are_both_suggested_and_neither_is_sure(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, "=== X/Recipes.md\n=== Y/Recipes.md\n=== A.md\n[[Recipe]]\n"))
    assert suggested(vault, "A") == {"Recipe": [("X/Recipes", False), ("Y/Recipes", False)]}
    assert vault.arranging.fix_suggested("", "", NO_PROGRESS, dry_run=False).done.steps == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Gardennig", [("Gardening", True)]),  # swapped
        ("Agrdening", [("Gardening", True)]),
        ("Gardning", [("Gardening", True)]),  # lacks one
        ("Gardenning", [("Gardening", True)]),  # one too many
        ("Gardeming", [("Gardening", False)]),  # another one: it may be another word
        ("Gardenings", [("Gardening", False)]),  # a plural
        ("Garednign", []),  # two slips
        ("Plasn", [("Plans", False)]),  # short
        ("Offic", [("Office for papers", False)]),  # three times as long
        ("Bread", []),  # longer than that
    ],
)
def test_a_slip_is_sure_in_a_long_name_if_nothing_else_may_be_meant(
    tmp_path: Path, name: str, meant: list[tuple[str, bool]]
) -> None:
    notes = "=== Gardening.md\n=== Plans.md\n=== Office for papers.md\n=== Breads, cakes and rolls.md\n"
    vault = open_vault(write_vault(tmp_path, f"{notes}=== A.md\n[[{name}]]\n"))
    assert suggested(vault, "A") == {name: meant}


def test_all_that_is_sure_is_fixed_as_one_change(root: Path) -> None:
    vault = open_vault(root)
    start = tree(root)
    assert vault.arranging.fix_suggested("", "", NO_PROGRESS, dry_run=True).done.change is None
    assert tree(root) == start
    fixed = vault.arranging.fix_suggested("", "", NO_PROGRESS, dry_run=False)
    assert (root / "A.md").read_text() == "[[Garden plan]] [[Garden plan|shown]] [x](Garden%20plan.md#Beds)\n"
    assert (root / "B.md").read_text() == "[[Kitchen]] [[Meeting 13]] ![[Plan of house.png]] [[Nothing like it]]\n"
    assert (root / "C.md").read_text() == "[[Garden plan#Beds & path]] [[#Headings]]\n## Headings\n"
    assert '"file":"Deep/Kitchen.md"' in (root / "K.canvas").read_text()
    left = {finding.linktext for _, finding in fixed.left}
    assert left == {"Meeting 13", "Nothing like it", "Garden plan#Beds & path"}
    vault.history.undo([1], "", NO_PROGRESS, dry_run=False)
    assert tree(root) == start


def test_named_links_are_fixed_in_one_note_or_wherever_they_lead_nowhere(root: Path) -> None:
    vault = open_vault(root)
    write_vault(root, "=== D.md\n[[Gardn plan#x|y]]\n=== E.md\n`[[Gardn plan]]` [[Deep/Other]]\n")
    fixed = fix(vault, ("", "[[Gardn plan]]", "Kitchen"), ("E", "Deep/Other", "[[Garden plan#Beds and paths]]"))
    assert (root / "A.md").read_text() == "[[Kitchen]] [[garden-plan|shown]] [x](Kitchen.md#Beds)\n"
    assert (root / "D.md").read_text() == "[[Kitchen#x|y]]\n"
    assert (root / "E.md").read_text() == "`[[Gardn plan]]` [[Garden plan#Beds and paths]]\n"
    assert [change.path for change in fixed.plan.links] == ["A.md", "A.md", "D.md", "E.md"]
    assert len(vault.history.latest("", 9, None)) == 1


def test_a_heading_alone_is_fixed_where_the_link_leads(root: Path) -> None:
    fix(open_vault(root), ("C", "Garden plan#Beds & path", "#Beds and paths"), ("C.md", "[[#Hedings]]", "#Headings"))
    assert (root / "C.md").read_text() == "[[Garden plan#Beds and paths]] [[#Headings]]\n## Headings\n"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("A", "Not there", "Kitchen"), TEXT_NOT_FOUND),
        (("", "Not there", "Kitchen"), TEXT_NOT_FOUND),
        (("", "Garden plan", "Kitchen"), TEXT_NOT_FOUND),
        (("A", "Gardn plan", "Nowhere"), FILE_NOT_FOUND),
        (("Nowhere", "Gardn plan", "Kitchen"), FILE_NOT_FOUND),
        (("A", "", "Kitchen"), INVALID_ARGUMENTS),
        (("A", "Gardn plan", "#Beds"), INVALID_ARGUMENTS),
    ],
)
def test_one_fix_that_cannot_be_made_keeps_all(root: Path, given: tuple[str, str, str], code: str) -> None:
    before = tree(root)
    assert refused(fix, open_vault(root), ("B", "Meeting 13", "Meeting 12"), given) == code
    assert tree(root) == before


def test_nothing_hidden_is_suggested_and_reading_first_holds(root: Path) -> None:
    rules = PathRules(deny=(Rule("deny", "/Garden plan.md", 1), Rule("deny", "/Deep/", 1), Rule("deny", "/Files/", 1)))
    vault = open_vault(root, rules=rules)
    assert {each for name in "AB" for each in suggested(vault, name).values() if each} == set()
    assert refused(fix, open_vault(root, read_first=True), ("A", "Gardn plan", "Garden plan")) == NOT_READ


def test_what_is_sure_can_be_fixed_in_one_note_or_folder_only(root: Path) -> None:
    vault = open_vault(root)
    assert [link.path for link in vault.arranging.fix_suggested("C", "", NO_PROGRESS, dry_run=False).plan.links] == [
        "C.md"
    ]
    assert vault.arranging.fix_suggested("", "Deep", NO_PROGRESS, dry_run=False).plan.links == []


def test_a_note_that_may_still_be_written_is_not_taken_for_another(tmp_path: Path) -> None:
    links = "[[Maria Schmidt]] [[Plan of the house]] [[Meeting notes A]] [[plans]] ![[diagram.png]]\n"
    names = ["Marie Schmidt.md", "Plan of the houses.md", "Meeting notes B.md", "Plan.md", "Plane.md", "Diagrams.png"]
    vault = open_vault(write_vault(tmp_path, f"=== A.md\n{links}" + "".join(f"=== {name}\n" for name in names)))
    fixed = vault.arranging.fix_suggested("", "", NO_PROGRESS, dry_run=False)
    assert (fixed.done.steps, len(fixed.left)) == ([], 5)


def test_links_to_hidden_notes_are_not_fixed(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        "=== A.md\n[[Top secret]] [[Salery list]]\n=== Top-secret.md\n=== Salary list.md\n=== Hid/Top secret.md\n",
    )
    vault = open_vault(tmp_path, rules=PathRules(deny=(Rule("deny", "/Hid/", 1),)))
    assert vault.arranging.fix_suggested("", "", NO_PROGRESS, dry_run=False).done.steps == []


def test_two_different_fixes_of_one_link_are_refused(root: Path) -> None:
    before, vault = tree(root), open_vault(root)
    assert refused(fix, vault, ("A", "Gardn plan", "Kitchen"), ("A", "Gardn plan", "Other")) == INVALID_ARGUMENTS
    assert tree(root) == before
