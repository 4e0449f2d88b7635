"""What is kept of a note is what its file holds now, or it is not kept."""

from __future__ import annotations

import os
from pathlib import Path

from support.vaults import write_vault
from vaultwire.vault.facts import KeptFacts
from vaultwire.vault.files import Files
from vaultwire.vault.model import NO_PROGRESS, NoteStat, VaultPath
from vaultwire.vault.scan_index import ScanIndex

LONG_AGO = 1_700_000_000 * 10**9


def reader(reads: list[VaultPath], text: str = "#tag [[Link]]\n") -> KeptFacts:
    """Return facts over a text, noting each read."""

    def read(path: VaultPath) -> str:
        reads.append(path)
        return text

    return KeptFacts(read)


def test_a_note_that_did_not_change_is_read_once() -> None:
    reads: list[VaultPath] = []
    facts = reader(reads)
    note = NoteStat(VaultPath("A.md"), 14, LONG_AGO, 7)
    assert facts.of(note).tags == facts.of(note).tags == ["tag"]
    assert reads == ["A.md"]


def test_a_change_of_size_time_or_inode_is_a_change() -> None:
    reads: list[VaultPath] = []
    facts = reader(reads)
    note = NoteStat(VaultPath("A.md"), 14, LONG_AGO, 7)
    for changed in (note, note._replace(size=15), note._replace(modified_ns=LONG_AGO + 1), note._replace(inode=8)):
        facts.of(changed)
    assert len(reads) == 4


def test_a_note_changed_a_moment_ago_is_not_kept(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== A.md\n#one\n")
    index = ScanIndex(Files(str(root), 1000))
    assert [note.tags for note in index.tagged(None, NO_PROGRESS)] == [["one"]]
    before = (root / "A.md").stat()
    with (root / "A.md").open("r+b") as file:  # in place, the same size, and the same time as far as anyone can see
        file.write(b"#two")
    os.utime(root / "A.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [note.tags for note in index.tagged(None, NO_PROGRESS)] == [["two"]]


def test_notes_that_are_gone_are_forgotten() -> None:
    reads: list[VaultPath] = []
    facts = reader(reads)
    note = NoteStat(VaultPath("A.md"), 14, LONG_AGO, 7)
    facts.of(note)
    facts.keep_only([])
    facts.of(note)
    assert len(reads) == 2


def test_a_note_that_cannot_be_read_has_no_facts_and_is_tried_again() -> None:
    tries: list[VaultPath] = []
    facts = KeptFacts(tries.append)
    note = NoteStat(VaultPath("A.md"), 14, LONG_AGO, 7)
    assert facts.of(note) == facts.of(note) == ([], [])
    assert len(tries) == 2
