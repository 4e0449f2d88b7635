"""Tags and properties renamed in every note that has them: what the plan says, byte for byte, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calls import call
from support.refusals import refusal, refused
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.app.engine import open_index
from vaultwire.markdown.parse import has_tag, parse_note
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.changes.change import Step, Write
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import INVALID_ARGUMENTS
from vaultwire.vault.plans.context import PlanContext
from vaultwire.vault.plans.renaming_metadata import RenamePlan, plan_rename_property, plan_rename_tag
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import NO_PROGRESS, TagCount

HELP = Path(__file__).parents[4] / "shared" / "vaults" / "obsidian-help"

VAULT = """
=== a.md
---
tags: [project, "#Project/Garden"]
status: open
---
#project `#project` [[x#project]]
=== b/c.md
#projects and #PROJECT/x #area
=== d.md
#work
status: no property here
=== e.md
---
Status:
  - open
---
#area
=== board.canvas
{"nodes":[{"id":"1","type":"text","text":"#project","x":0,"y":0,"width":1,"height":1}],"edges":[]}
"""


def rename_tag(root: Path, old: str, new: str) -> RenamePlan:
    files = Files(str(root), 400_000)
    return plan_rename_tag(PlanContext(files, open_index(files, None), Settings()), old, new)


def rename_property(root: Path, old: str, new: str) -> RenamePlan:
    files = Files(str(root), 400_000)
    return plan_rename_property(PlanContext(files, open_index(files, None), Settings()), old, new)


def changes(steps: list[Step]) -> dict[str, str]:
    """Return what each file of a plan holds afterwards."""
    after = {}
    for step in steps:
        assert isinstance(step, Write)
        assert step.after is not None
        after[str(step.path)] = step.after.decode()
    return after


def test_a_tag_and_those_below_it_are_renamed_in_every_note(tmp_path: Path) -> None:
    before = snapshot(write_vault(tmp_path, VAULT))
    plan = rename_tag(tmp_path, "#Project", "plan/big")
    assert changes(plan.steps) == {
        "a.md": '---\ntags: [plan/big, "#plan/big/Garden"]\nstatus: open\n---\n#plan/big `#project` [[x#project]]\n',
        "b/c.md": "#projects and #plan/big/x #area\n",
    }
    assert (plan.old, plan.new, plan.places, plan.merged) == ("Project", "plan/big", 4, [])
    assert snapshot(tmp_path) == before


def test_a_renaming_that_merges_tags_says_so(tmp_path: Path) -> None:
    write_vault(tmp_path, VAULT)
    assert rename_tag(tmp_path, "area", "work").merged == [TagCount("work", 1)]
    assert rename_tag(tmp_path, "area", "WORK").merged == [TagCount("work", 1)]
    assert rename_tag(tmp_path, "project", "area").merged == [TagCount("area", 2)]
    assert rename_tag(tmp_path, "project", "Project").merged == []
    assert rename_tag(tmp_path, "project", "project/all").merged == []
    write_vault(tmp_path, "=== f.md\n#area/garden\n")
    merged = rename_tag(tmp_path, "project", "area").merged
    assert merged == [TagCount("area", 3), TagCount("area/garden", 1)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("project", "a b", "no spaces"),
        ("project", "12", "no digit"),
        ("nowhere", "x", "no note has the tag #nowhere"),
        ("", "x", "no note has the tag"),
        ("proj", "x", "#project"),
    ],
)
def test_a_tag_that_is_none_or_nowhere_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    error = refusal(rename_tag, write_vault(tmp_path, VAULT), old, new)
    assert error.code == INVALID_ARGUMENTS
    assert words in error.message


def test_one_note_that_cannot_be_changed_keeps_all_as_they_are(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== a.md\n#old\n=== b.md\nx _#old_\n=== c.md\nx _#old_ y\n")
    error = refusal(rename_tag, tmp_path, "old", "new_")
    assert error.details["notes"] == ["b.md", "c.md"]
    assert "nothing was changed" in error.message


def test_bytes_that_are_no_text_and_a_byte_order_mark_stay(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf---\r\ntags: [old]\r\n---\r\n\xff #old\r\n")
    steps = rename_tag(tmp_path, "old", "new").steps
    assert steps == [
        Write(
            path=steps[0].path,  # type: ignore[union-attr]
            before=b"\xef\xbb\xbf---\r\ntags: [old]\r\n---\r\n\xff #old\r\n",
            after=b"\xef\xbb\xbf---\r\ntags: [new]\r\n---\r\n\xff #new\r\n",
        )
    ]


EXCLUDED = """
=== .obsidian/app.json
{"userIgnoreFilters": ["Templates/"]}
=== .vaultwireignore
Old/
=== Templates/Day.md
---
status: new
tags: Project/day
---
=== Templates/Broken.md
---
status: {{title}}
tags: [project
---
=== Old/x.md
---
STATUS: done
---
#project #projects
"""


def test_notes_the_vault_excludes_are_renamed_too_and_counted(tmp_path: Path) -> None:
    write_vault(tmp_path, VAULT + EXCLUDED)
    plan = rename_tag(tmp_path, "project", "x")
    assert list(changes(plan.steps)) == ["a.md", "b/c.md", "Old/x.md", "Templates/Day.md"]
    assert changes(plan.steps)["Old/x.md"].endswith("#x #projects\n")
    assert (plan.places, plan.excluded) == (6, 2)
    named = rename_property(tmp_path, "status", "state")
    assert list(changes(named.steps)) == ["a.md", "e.md", "Old/x.md", "Templates/Day.md"]
    assert named.excluded == 2
    assert [problem.path for problem in named.unchanged] == ["Templates/Broken.md"]


def test_a_name_that_only_excluded_notes_have_is_renamed(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== .vaultwireignore\nOld/\n=== a.md\n#other\n" + EXCLUDED)
    assert list(changes(rename_tag(tmp_path, "projects", "x").steps)) == ["Old/x.md"]
    write_vault(tmp_path, "=== Templates/Day.md\n=== Old/x.md\n")
    error = refusal(rename_property, tmp_path, "status", "state")
    assert error.details["notes"] == ["Templates/Broken.md"]


def test_what_is_told_of_excluded_notes(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT + EXCLUDED))
    done = call(vault, "rename", what="property", old="status", new="state").data
    assert done["file_count"] == 4
    assert done["notices"][0] == "Of the notes changed, 2 are ones that the vault excludes from searches."
    assert done["notices"][1].startswith(
        "Templates/Broken.md was left as it is (the vault excludes it): the frontmatter"
    )
    assert call(vault, "rename", what="tag", old="work", new="job").data["notices"] == []


def test_notes_that_may_not_be_seen_are_neither_renamed_nor_counted(tmp_path: Path) -> None:
    root = write_vault(tmp_path, VAULT + EXCLUDED)
    rules = PathRules(deny=(Rule("deny", "Templates/", 1),))
    done = call(open_vault(root, rules=rules), "rename", what="tag", old="project", new="x").data
    assert (done["file_count"], done["places"]) == (3, 5)
    assert done["notices"] == ["Of the notes changed, 1 is one that the vault excludes from searches."]
    assert "Project/day" in (root / "Templates/Day.md").read_text()


def test_every_tag_of_real_notes_can_be_renamed() -> None:
    if not HELP.is_dir():
        pytest.skip("no copy of obsidian-help")
    files = Files(str(HELP), 4_000_000)
    index = open_index(files, None)
    tags = [tag.tag for tag in index.count_tags(None, NO_PROGRESS)]
    assert len(tags) > 5
    for tag in tags:
        plan = plan_rename_tag(PlanContext(files, index, Settings()), tag, "brand-new")
        assert len(plan.steps) == len(index.tagged([tag], None, NO_PROGRESS, every=True))
        for step in plan.steps:
            assert isinstance(step, Write)
            assert step.after is not None
            assert not has_tag(parse_note(plain_text(step.after)).tags, tag)


def test_a_property_is_renamed_in_every_note_that_has_it(tmp_path: Path) -> None:
    before = snapshot(write_vault(tmp_path, VAULT))
    plan = rename_property(tmp_path, "STATUS", "state")
    assert changes(plan.steps) == {
        "a.md": '---\ntags: [project, "#Project/Garden"]\nstate: open\n---\n#project `#project` [[x#project]]\n',
        "e.md": "---\nstate:\n  - open\n---\n#area\n",
    }
    assert plan.in_use == 0
    assert snapshot(tmp_path) == before


def test_a_renaming_onto_a_property_in_use_elsewhere_says_so(tmp_path: Path) -> None:
    write_vault(tmp_path, VAULT + "=== f.md\n---\nState: x\n---\n=== g.md\n---\nstate: x\n---\n")
    assert rename_property(tmp_path, "status", "state").in_use == 2


def test_a_property_that_cannot_be_renamed_in_a_note_is_renamed_in_none(tmp_path: Path) -> None:
    write_vault(
        tmp_path,
        """
=== a.md
---
old: 1
---
=== b.md
---
old: 1
NEW: 2
---
=== c.md
---
old: 1
x: a: b
---
""",
    )
    error = refusal(rename_property, tmp_path, "old", "new")
    assert error.details["notes"] == ["b.md", "c.md"]
    assert all(name in error.message for name in ("b.md", "c.md", "NEW", "broken"))


def test_a_property_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    write_vault(tmp_path, VAULT)
    assert refused(rename_property, tmp_path, "nowhere", "x") == INVALID_ARGUMENTS
    assert refused(rename_property, tmp_path, " ", "x") == INVALID_ARGUMENTS
    assert refused(rename_property, tmp_path, "status", " ") == INVALID_ARGUMENTS
