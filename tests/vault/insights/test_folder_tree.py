"""The folder tree: counts that add up, whatever part of it is shown."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.vaults import open_vault, write_vault
from vaultwire.vault.errors import FILE_NOT_FOUND
from vaultwire.vault.index.summaries import FolderFiles
from vaultwire.vault.insights.listing import Branch, folder_tree

VAULT = """
=== Root.md
=== A/One.md
=== A/Two.md
=== A/B/Three.md
=== A/B/p.png
=== A/B/C/Four.md
=== Z z/q.png
=== Hide/Five.md
"""


def test_each_folder_has_its_own_counts_and_those_below(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, VAULT + '=== .obsidian/app.json\n{"userIgnoreFilters": ["Hide/"]}\n'))
    assert vault.overview.folder_tree("", 9, 99) == [
        Branch("", 0, 1, 5, 2, 2, 0),
        Branch("A", 1, 2, 4, 1, 1, 0),
        Branch("A/B", 2, 1, 2, 1, 1, 0),
        Branch("A/B/C", 3, 1, 1, 0, 0, 0),
        Branch("Z z", 1, 0, 0, 1, 0, 0),
    ]
    assert vault.overview.folder_tree("a", 1, 99) == [Branch("A", 0, 2, 4, 1, 1, 0), Branch("A/B", 1, 1, 2, 1, 1, 1)]
    assert refused(vault.overview.folder_tree, "Nowhere", 1, 9) == FILE_NOT_FOUND


def test_of_a_level_that_does_not_fit_the_largest_are_shown() -> None:
    found = [FolderFiles(name, notes, 0) for name, notes in (("a", 1), ("b", 5), ("b/x", 9), ("c", 3), ("d", 2))]
    shown = folder_tree(found, "", 3, 3)
    assert [(branch.folder, branch.unshown) for branch in shown] == [("", 2), ("b", 1), ("c", 0)]


FOLDERS = st.lists(st.sampled_from("abc"), max_size=4).map("/".join)


@given(st.dictionaries(FOLDERS, st.tuples(st.integers(0, 9), st.integers(0, 9))), st.integers(0, 5), st.integers(1, 12))
def test_counts_are_those_of_the_whole_tree_at_any_depth_and_limit(
    files: dict[str, tuple[int, int]], depth: int, limit: int
) -> None:
    shown = folder_tree([FolderFiles(folder, *counts) for folder, counts in sorted(files.items())], "", depth, limit)
    assert len(shown) <= limit
    assert shown[0].folder == ""
    paths = {branch.folder for branch in shown}
    for branch in shown:
        inside = [folder for folder in files if not branch.folder or f"{folder}/".startswith(f"{branch.folder}/")]
        assert branch.notes_below == sum(files[folder][0] for folder in inside)
        assert branch.attachments_below == sum(files[folder][1] for folder in inside)
        assert branch.depth <= depth
        assert not branch.folder or branch.folder.rpartition("/")[0] in paths
        assert branch.folders - branch.unshown == sum(
            path != "" and path.rpartition("/")[0] == branch.folder for path in paths
        )
