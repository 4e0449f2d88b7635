"""Notes that are broken in any way are in the answers as far as they can be read, and stop nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.stores import BACKENDS, Backend, answers, answers_of_new, difference, open_stored
from vaultwire.vault.index.index import Index
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS

QUERIES = ["sound", "-sound", "-nothing", "broken", "content:letters"]
ENDLESS = "a" * 150_000 + "needle" + "a" * 150_000
BROKEN = {
    "yaml.md": b"---\ntags: [sound\nbroken: }\n---\nsound\n",
    "integer.md": b"---\nbroken: " + b"1" * 5000 + b"\n---\nsound\n",
    "surrogate.md": b'---\naliases: ["\\ud800x"]\ntags: ["\\udfffy"]\n"\\ud800": "\\ud800"\n---\nsound\n',
    "anchors.md": b"---\na: &a [*a]\nb: &b {b: *b}\n---\nsound\n",
    "number.md": b"---\nn: .nan\nm: 1e999\n? [a]\n: b\n---\nsound\n",
    "latin.md": b"sound caf\xe9 \xff\xfe\n",
    "utf16.md": "sound\n".encode("utf-16"),
    "zeros.md": b"\0\0sound\0\n[[a\0b]] #a\0b\n",
    "endless.md": ENDLESS.encode() + b" sound\n",
    "endless marks.md": ("\u1fb7" * 14_000 + " sound\n").encode(),
    "deep.md": b"---\na: " + b"[" * 3000 + b"]" * 3000 + b"\n---\nsound\n" + b">" * 3000 + b"x\n",
    "big.md": b"sound " * 100_000,
}


def total(index: Index, query: str) -> int:
    return index.search(parse_query(query), None, 0, 99, NO_PROGRESS).total


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_a_broken_note_stops_nothing(tmp_path: Path, backend: Backend) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "sound.md").write_text("sound #sound\n")
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    for name, data in BROKEN.items():
        (root / name).write_bytes(data)
        assert total(index, "sound") >= 1, name
    if sys.platform != "win32":
        (root / "dangling.md").symlink_to("nowhere.md")
        (root / "loop.md").symlink_to("loop.md")
    assert difference(answers(index, QUERIES), answers_of_new(root, QUERIES)) == {}
    # All but the one that is too big and the one in UTF-16 have the word.
    assert total(index, "sound") == len(BROKEN) + 1 - 2
    assert total(index, "aneedlea") == 1
    assert total(index, '"needle"') == 0
    assert total(index, "\u1fb7" * 13_500) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="permissions as POSIX has them")
def test_a_note_that_could_not_be_read_is_there_once_it_can(tmp_path: Path) -> None:
    """Permissions change no time of a file. Nobody is refused as root, a link that leads nowhere is not even root's."""
    root = tmp_path / "vault"
    root.mkdir()
    (root / "big.md").write_bytes(b"sound " * 100)
    (root / "link.md").symlink_to("later.txt")
    _, index, _ = open_stored(root, tmp_path / "cache", max_bytes=500)
    assert total(index, "sound") == 0
    assert index.search(parse_query("sound"), None, 0, 9, NO_PROGRESS).skipped == 1
    index.close()
    (root / "later.txt").write_text("sound")
    _, index, _ = open_stored(root, tmp_path / "cache", max_bytes=5000)  # the file is as it was
    assert total(index, "sound") == 2
