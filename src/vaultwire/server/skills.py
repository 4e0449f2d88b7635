"""The Skills extension of MCP (``io.modelcontextprotocol/skills``, SEP-2640): lists of skills, and their files as resources.

Served are the skills that come with the program, as ``skill://NAME/FILE``, and, if asked for, those in a folder of each vault:
``skill://vault/NAME/FILE``, or ``skill://vault/VAULT/NAME/FILE`` where there are several vaults. A vault's skills are text of
the vault. They are there for who may read and list notes, and what a policy hides is in no list, size or digest.

Facts: modelcontextprotocol/ext-skills, specification/stable/skills.mdx, against 2026-07-28. It asks no declaration of a client.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from urllib.parse import quote, unquote

from vaultwire.server.features import SKILL_OF_VAULT, caching
from vaultwire.server.results import LISTING, READING, text_in
from vaultwire.skills import (
    MOST_BYTES,
    MOST_FILES,
    SKILL_FILE,
    Skill,
    SkillError,
    bundled_skills,
    is_name,
    make_skill,
    read_bundled,
    to_file,
)
from vaultwire.vault.disk.paths import NOTE_TYPE, media_type_of
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.vaults import Vaults
    from vaultwire.vault.value_types import Progress
    from vaultwire.vault.vault import Vault

LIST, GET = "skills/list", "skills/get"
SKILLS_PER_PAGE = 20  # an entry may have 512 files, and is never split
_SCHEME = "skill://"
_TTL_MS = 3_600_000  # ours change only with the program
_CHANGING_TTL_MS = 0
_FILES_PER_LOOK = 1000


class Skills:
    """The skills of one server. Safe to call from several threads."""

    def __init__(self, vaults: Vaults, folder: str | None) -> None:
        """``folder``: the folder of skills in each vault, None to serve none of a vault."""
        self._vaults = vaults
        self._folder = folder

    def answer(self, request: Request, may: Callable[[str], bool], progress: Progress) -> JsonObject | None:
        """Return the result of a request about skills, None if it is about something else. Raises VaultError.

        ``may`` tells whether the client may call a tool.
        """
        shelves = [_Bundled(), *(self._of_vaults() if may(READING) and may(LISTING) else ())]
        cached = caching(request.revision, _TTL_MS if self._folder is None else _CHANGING_TTL_MS)
        if request.method == LIST:
            return self._list(request, shelves, progress) | cached
        if request.method == GET:
            return self._get(text_in(request.params, "uri"), shelves, progress) | cached
        uri = request.params.get("uri")
        if request.method != "resources/read" or not isinstance(uri, str) or not uri.startswith(_SCHEME):
            return None
        for shelf in shelves:
            data = shelf.read(uri, progress)
            if data is not None:
                return {"contents": [_to_contents(uri, data)], **cached}
        raise VaultError(
            INVALID_ARGUMENTS, f"No file of a skill is served at {uri[:200]!r}. {LIST} names those that are."
        )

    def _get(self, uri: str, shelves: list[_Bundled | _OfVault], progress: Progress) -> JsonObject:
        base, _, file = uri.rpartition("/")
        for shelf in shelves if file == SKILL_FILE else ():
            skill = shelf.skill(base, progress)
            if skill is not None:
                return {"skill": _to_entry(base, skill)}
        raise VaultError(INVALID_ARGUMENTS, f"No skill is served at {uri[:200]!r}. {LIST} names those that are.")

    def _of_vaults(self) -> list[_OfVault]:
        if self._folder is None:
            return []
        names = self._vaults.names
        prefixes = (
            [f"{SKILL_OF_VAULT}{quote(name, safe='')}" for name in names]
            if self._vaults.are_several
            else [SKILL_OF_VAULT.removesuffix("/")]
        )
        return [
            _OfVault(self._vaults.get(name), prefix, self._folder)
            for name, prefix in zip(names, prefixes, strict=True)
            if self._vaults.is_here(name)
        ]

    def _list(self, request: Request, shelves: list[_Bundled | _OfVault], progress: Progress) -> JsonObject:
        cursor = request.params.get("cursor")
        if cursor is not None and not (isinstance(cursor, str) and cursor.startswith(_SCHEME)):
            raise VaultError(INVALID_ARGUMENTS, "cursor must be the nextCursor of an earlier answer")
        bases = sorted((base, shelf) for shelf in shelves for base in shelf.bases(progress))
        later = [each for each in bases if cursor is None or each[0] > cursor]
        entries = []
        for base, shelf in later[:SKILLS_PER_PAGE]:
            skill = shelf.skill(base, progress)
            if skill is not None:
                entries.append(_to_entry(base, skill))
        result: JsonObject = {"skills": entries}
        if len(later) > SKILLS_PER_PAGE:
            result["nextCursor"] = later[SKILLS_PER_PAGE - 1][0]
        return result


class _Bundled:
    """The skills that come with the program."""

    def bases(self, _: Progress) -> list[str]:
        """Return the URI of each skill's folder."""
        return [_SCHEME + skill.name for skill in bundled_skills()]

    def skill(self, base: str, _: Progress) -> Skill | None:
        """Return the skill in the folder of this URI, None if there is none."""
        return next((skill for skill in bundled_skills() if _SCHEME + skill.name == base), None)

    def read(self, uri: str, _: Progress) -> bytes | None:
        """Return the bytes of a skill's file, None if there is none of this URI."""
        name, _slash, path = uri.removeprefix(_SCHEME).partition("/")
        try:
            return read_bundled(name, path)
        except KeyError:
            return None


class _OfVault:
    """The skills in a folder of a vault, as the client may see it. Each question looks at the files again."""

    def __init__(self, vault: Vault, prefix: str, folder: str) -> None:
        self._vault = vault
        self._prefix = prefix
        self._folder = folder

    def __lt__(self, other: object) -> bool:
        return False  # two vaults never have the same URI; sorting asks only then

    def bases(self, progress: Progress) -> list[str]:
        """Return the URI of each folder that may be a skill."""
        files = self._files(self._folder, progress, most=None)
        names = {path.removesuffix(f"/{SKILL_FILE}") for path in files if path.endswith(f"/{SKILL_FILE}")}
        return [f"{self._prefix}/{name}" for name in sorted(names) if is_name(name)]

    def skill(self, base: str, progress: Progress) -> Skill | None:
        """Return the skill in the folder of this URI.

        None if there is none, if its form is wrong, if it is larger than a skill may be, or has a file larger than clients get.
        """
        name = self._name(base)
        if name is None:
            return None
        paths = self._files(f"{self._folder}/{name}", progress, most=MOST_FILES)
        if SKILL_FILE not in paths or len(paths) > MOST_FILES or sum(paths.values()) > MOST_BYTES:
            return None
        try:
            data = {path: self._bytes(f"{self._folder}/{name}/{path}", progress) for path in paths}
            return make_skill(name, data[SKILL_FILE], {path: to_file(content) for path, content in data.items()})
        except (VaultError, SkillError):  # also a file that has gone meanwhile
            return None

    def read(self, uri: str, progress: Progress) -> bytes | None:
        """Return the bytes of a file that one of the skills lists, None if there is none of this URI."""
        rest = uri.removeprefix(f"{self._prefix}/")
        name, _, path = rest.partition("/")
        skill = self.skill(f"{self._prefix}/{name}", progress) if rest != uri else None
        path = unquote(path)
        if skill is None or path not in skill.files:
            return None
        return self._bytes(f"{self._folder}/{name}/{path}", progress)

    def _name(self, base: str) -> str | None:
        name = base.removeprefix(f"{self._prefix}/")
        return name if name != base and is_name(name) else None

    def _bytes(self, path: str, progress: Progress) -> bytes:
        progress.check()
        return self._vault.read_file(path, MOST_BYTES)[1].data

    def _files(self, folder: str, progress: Progress, most: int | None) -> dict[str, int]:
        """Return the files below a folder by their path in it, with their sizes; one more than ``most`` at most."""
        start = f"{folder}/"
        files: dict[str, int] = {}
        after, has_more = start, True
        while has_more and (most is None or len(files) <= most):
            page, has_more = self._vault.overview.list_files(after, _FILES_PER_LOOK, progress)
            for file in page:
                if not file.path.startswith(start):  # paths come in order: all later ones lie elsewhere
                    return files
                files[file.path.removeprefix(start)] = file.size
            after = page[-1].path if page else after
        return files


def _to_entry(base: str, skill: Skill) -> JsonObject:
    """Return a skill as the extension describes it (``Skill``)."""
    return {
        "uri": f"{base}/{SKILL_FILE}",
        "frontmatter": dict(skill.frontmatter),
        "resources": [
            {"uri": f"{base}/{quote(path)}", "digest": f"sha256:{file.digest}", "size": file.size}
            for path, file in skill.files.items()
        ],
    }


def _to_contents(uri: str, data: bytes) -> JsonObject:
    """Return a file's content: as text if these bytes come out of the text again, which is what a client's check needs."""
    mime_type = NOTE_TYPE if uri.endswith(".md") else media_type_of(uri)
    try:
        return {"uri": uri, "mimeType": mime_type or "text/plain", "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        blob = base64.b64encode(data).decode()
        return {"uri": uri, "mimeType": mime_type or "application/octet-stream", "blob": blob}
