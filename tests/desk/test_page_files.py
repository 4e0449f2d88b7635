"""The files of the desk's page: foreign code is what its register says, and our own makes no markup from text."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "vaultwire"
PAGE = PACKAGE / "desk" / "page"
VENDOR = PAGE / "vendor"
OURS = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".css", ".html") and VENDOR not in path.parents]


def test_foreign_files_are_those_of_the_register() -> None:
    register = json.loads((VENDOR / "vendored.json").read_text())["files"]
    named = {"vendored.json"}
    for each in register:
        assert hashlib.sha256((VENDOR / each["file"]).read_bytes()).hexdigest() == each["sha256"], each["file"]
        assert each["version"] in each["source"]
        assert each["licence"]
        named |= {each["file"], *each["licence_files"]}
    assert named == {path.name for path in VENDOR.iterdir()}


def test_the_page_makes_no_markup_from_text_and_asks_no_other_address() -> None:
    unsafe = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|\bstyle=|https?://(?!www\.w3\.org/)"
    )
    found = [(path.name, hit) for path in OURS for hit in unsafe.findall(path.read_text(encoding="utf-8"))]
    assert found == []


def test_all_that_the_page_imports_is_there() -> None:
    imported = re.compile(r"""(?:from|import)\s*\(?["'](\.[^"']+)["']""")
    missing = [
        (path.name, name)
        for path in OURS
        for name in imported.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / name).is_file()
    ]
    assert missing == []


def test_no_module_of_the_page_is_long() -> None:
    assert [path.name for path in OURS if path.suffix == ".js" and len(path.read_text().splitlines()) > 400] == []
