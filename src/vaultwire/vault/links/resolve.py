"""Which note a name means. Pure: the vault's paths come in, one path or an error goes out."""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.markdown.links import parse_linktext
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, not_found, parse_path, stem
from vaultwire.vault.errors import AMBIGUOUS_NAME, VaultError
from vaultwire.vault.model import VaultPath

# More names than this help nobody choose.
_MAX_CANDIDATES = 20
_MAX_NEAR = 5


def wanted_paths(name: str) -> list[VaultPath]:
    """Return the vault paths the name may spell, the likeliest first: as it stands, then read as link text.

    ``C# notes`` is tried as a name before ``#`` is taken for the start of a subpath. Raises VaultError for a name that
    could not lie in the vault.
    """
    spelt = [] if name.strip().startswith(("[[", "![[")) else [name]
    linkpath = parse_linktext(name).linkpath
    if linkpath and linkpath not in spelt:
        spelt.append(linkpath)
    paths: list[VaultPath] = []
    for text in spelt or [name]:
        path = parse_path(text)
        with_suffix = VaultPath(path + NOTE_SUFFIX)
        # `.md` may be written or left out; `v1.2` has no extension, so both are tried, the written one first.
        paths += [path, with_suffix] if path.lower().endswith(NOTE_SUFFIX) else [with_suffix]
    return paths


def resolve(name: str, paths: Iterable[VaultPath]) -> VaultPath:
    """Return the one note among ``paths`` that ``name`` means.

    The whole path wins; else a note whose path ends with the name, any folder before it. Case and Unicode form never
    matter, unless they are all that tells two notes apart. Raises VaultError: FILE_NOT_FOUND, AMBIGUOUS_NAME.
    """
    paths = list(paths)
    folded = [(fold(path), path) for path in paths]
    for wanted in wanted_paths(name):
        key = fold(wanted)
        for candidates in (
            [path for path in paths if path == wanted],
            [path for folded_path, path in folded if folded_path == key],
            [path for folded_path, path in folded if folded_path.endswith("/" + key)],
        ):
            if len(candidates) == 1:
                return candidates[0]
            if candidates:
                raise ambiguous(name, candidates)
    raise not_found(name, [])


def near(name: str, paths: Iterable[VaultPath]) -> VaultError:
    """Return the error for a name that no note has, with a few notes whose name holds it or is held by it."""
    key = fold(stem(parse_linktext(name).linkpath or name))
    alike = [path for path in paths if key and (key in (other := fold(stem(path))) or other in key)]
    return not_found(name, sorted(alike, key=lambda path: (len(path), path))[:_MAX_NEAR])


def ambiguous(name: str, candidates: list[VaultPath], kind: str = "notes") -> VaultError:
    """Return the error for a name that several files have, with the candidates."""
    shown = sorted(candidates, key=lambda path: (len(path), path))[:_MAX_CANDIDATES]
    rest = f" and {len(candidates) - len(shown)} more" if len(candidates) > len(shown) else ""
    return VaultError(
        AMBIGUOUS_NAME,
        f"{len(candidates)} {kind} are named {name!r}: {', '.join(shown)}{rest}. Give the whole path of one.",
        name=name,
        candidates=shown,
    )
