"""A skill: its name, what its frontmatter says, and its files by size and digest. Also the skills that come with the program.

The format is that of https://agentskills.io/specification. The bounds of a skill are those of the MCP extension
(``io.modelcontextprotocol/skills``, "Limits"): no client has to take more.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from vaultwire.markdown.properties import parse_frontmatter

SKILL_FILE = "SKILL.md"
MOST_FILES = 512
MOST_BYTES = 16 * 1024 * 1024
MOST_DESCRIPTION = 1024

_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled")


class SkillError(ValueError):
    """A folder is no skill; the message says what is wrong and what would be right."""


class SkillFile(NamedTuple):
    """A file of a skill: bytes, and the SHA-256 of them in hexadecimal digits."""

    size: int
    digest: str


class Skill(NamedTuple):
    """A skill. ``files``: all of them, by their path within its folder, with ``/``; SKILL.md first."""

    name: str
    frontmatter: Mapping[str, Any]
    files: Mapping[str, SkillFile]


def is_name(name: str) -> bool:
    """Tell whether a folder of this name may be a skill: lower case letters, digits and single hyphens, at most 64."""
    return _NAME.fullmatch(name) is not None


def to_file(data: bytes) -> SkillFile:
    """Return the size and the digest of a file's bytes."""
    return SkillFile(len(data), hashlib.sha256(data).hexdigest())


def make_skill(name: str, text: bytes, files: Mapping[str, SkillFile]) -> Skill:
    """Return the skill in a folder of this name, ``text`` being its SKILL.md. Raises SkillError."""
    if not is_name(name):
        raise SkillError(
            f"{name!r} is no name of a skill: use lower case letters, digits and single hyphens, at most 64"
        )
    if len(files) > MOST_FILES or sum(file.size for file in files.values()) > MOST_BYTES:
        raise SkillError(f"a skill has at most {MOST_FILES} files of {MOST_BYTES // 1024 // 1024} MiB together")
    try:
        # A byte order mark would hide the frontmatter from a client, so it does from us.
        frontmatter = parse_frontmatter(text.decode("utf-8").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise SkillError(f"{SKILL_FILE} is not UTF-8 (byte {error.start + 1})") from None
    if not frontmatter.end:
        raise SkillError(f"{SKILL_FILE} must begin with frontmatter: name and description between two lines ---")
    if frontmatter.problems:
        raise SkillError(f"{SKILL_FILE}: {frontmatter.problems[0]}")
    values = frontmatter.values
    if values.get("name") != name:
        raise SkillError(f"{SKILL_FILE}: name must be {name!r}, the name of its folder")
    description = values.get("description")
    if not isinstance(description, str) or not 0 < len(description.strip()) <= len(description) <= MOST_DESCRIPTION:
        raise SkillError(f"{SKILL_FILE}: description must be a text of at most {MOST_DESCRIPTION} characters")
    try:
        json.dumps(values, allow_nan=False)
    except ValueError:
        raise SkillError(
            f"{SKILL_FILE}: JSON has no number .nan or .inf, and clients get the frontmatter as JSON"
        ) from None
    ordered = {SKILL_FILE: files[SKILL_FILE], **dict(sorted(files.items()))}
    return Skill(name, values, ordered)


@functools.cache
def bundled_skills() -> tuple[Skill, ...]:
    """Return the skills that come with the program, in the order of their names."""
    return tuple(_read_bundled(name) for name in sorted(os.listdir(_BUNDLED)))


def read_bundled(name: str, path: str) -> bytes:
    """Return the bytes of a file that a bundled skill lists. Raises KeyError for another one."""
    skill = next((each for each in bundled_skills() if each.name == name and path in each.files), None)
    if skill is None:
        raise KeyError(f"{name}/{path}")
    return _read(os.path.join(_BUNDLED, name, *path.split("/")))


def _read_bundled(name: str) -> Skill:
    folder = os.path.join(_BUNDLED, name)
    files = {path: to_file(_read(os.path.join(folder, *path.split("/")))) for path in _walk(folder)}
    return make_skill(name, _read(os.path.join(folder, SKILL_FILE)), files)


def _walk(folder: str) -> Iterator[str]:
    for above, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(above, name), folder).replace(os.sep, "/")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
