"""Builds the companion plugin's files for people who publish it: the folder of its repository, and a zip to install by hand.

``obsidian-plugin/`` is the content of the plugin's own repository, and has the three files that a release there needs:
``main.js``, ``manifest.json``, ``styles.css``. Obsidian's directory takes a repository only if the manifest lies at its head.
The plugin has a version of its own, in the manifest: the version of vaultwire has no influence on the files.
"""

from __future__ import annotations

import json
import os
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SHIPPED = ROOT / "src" / "vaultwire" / "obsidian" / "plugin"
RELEASE_FILES = ("main.js", "manifest.json", "styles.css")  # what Obsidian downloads
SOURCE_FILES = ("README.md", "versions.json", "package.json", "tsconfig.json", "eslint.config.mjs")
# main.js is made from src, and belongs to a release, not to the repository.
_IGNORED = "main.js\nnode_modules/\n"
_FIRST_TIME = 315_532_800  # 1980-01-01, the earliest that a zip knows


def build(version: str, into: Path) -> list[Path]:
    """Write the files into a folder, and return them. The same files give the same bytes."""
    del version
    folder = into / "obsidian-plugin"
    folder.mkdir(parents=True, exist_ok=True)
    contents = {name: (SHIPPED / name).read_bytes() for name in RELEASE_FILES}
    contents |= {name: (HERE / name).read_bytes() for name in SOURCE_FILES}
    contents |= {f"src/{path.name}": path.read_bytes() for path in (HERE / "src").glob("*.ts")}
    contents |= {"LICENSE": (ROOT / "LICENSE").read_bytes(), ".gitignore": _IGNORED.encode()}
    made = []
    (folder / "src").mkdir(exist_ok=True)
    for name, content in sorted(contents.items()):
        (folder / name).write_bytes(content)
        made.append(folder / name)
    manifest = json.loads(contents["manifest.json"])
    archive = into / f"{manifest['id']}-obsidian-plugin-{manifest['version']}.zip"
    _write_zip(archive, {f"{manifest['id']}/{name}": contents[name] for name in (*RELEASE_FILES, "LICENSE")})
    return [*made, archive]


def _write_zip(archive: Path, contents: dict[str, bytes]) -> None:
    """Write a zip: names sorted, the time of SOURCE_DATE_EPOCH, no attributes of this system."""
    moment = time.gmtime(max(_FIRST_TIME, int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, moment[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, also when built on Windows
            entry.external_attr = 0o644 << 16
            file.writestr(entry, content)
