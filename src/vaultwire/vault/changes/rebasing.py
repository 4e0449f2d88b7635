"""Steps that were made from files as they were, made on the files as they are now: what accepting a proposal does.

An edit is merged with what was changed since (``markdown.diffs.merge``); it conflicts only where both changed the same lines,
or the same property. Nothing is written here: ``rebase`` looks, and the person sees what it found before it is executed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vaultwire.markdown.diffs import merge
from vaultwire.markdown.parsed_note import Span
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.changes.projected_tree import ProjectedTree
from vaultwire.vault.disk.contents import Content, plain_text
from vaultwire.vault.disk.paths import is_canvas, is_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath


class Overlap(NamedTuple):
    """Why a step cannot be made now. ``both``: the text with both versions where they overlap, at ``lines``; None for none."""

    reason: str
    both: bytes | None = None
    lines: tuple[Span, ...] = ()


class Rebased(NamedTuple):
    """Steps on the files as they are now, one for each step; where ``overlaps`` says why not, the step as it was.

    ``basis`` differs once a file that they touch has other bytes: what the person saw, and what is executed, has one basis.
    ``is_moved_on``: some step is not what it was.
    """

    steps: tuple[Step, ...]
    overlaps: dict[int, Overlap]
    basis: str
    is_moved_on: bool


def rebase(
    tree: ProjectedTree,
    steps: Sequence[Step],
    path_now: Callable[[VaultPath], VaultPath] = lambda path: path,
    edited: Mapping[int, bytes] | None = None,
) -> Rebased:
    """Return steps as they can be made on a tree, and add them to it.

    ``path_now``: where a file is that is not at its path any more. ``edited``: what the person wrote, having seen the files as
    they are now, by the index of the step. Raises OSError.
    """
    basis = hashlib.blake2b(digest_size=12)
    made: list[Step] = []
    overlaps: dict[int, Overlap] = {}
    for index, step in enumerate(steps):
        if isinstance(step, Move):
            now_step: Step | Overlap = _moved(tree, step)
            basis.update(f"{step.source}\0{step.target}\0{isinstance(now_step, Overlap)}\0".encode())
        else:
            path = path_now(step.path) if step.old is not None and not tree.exists(step.path) else step.path
            try:
                now = tree.content(path)
            except VaultError as error:  # too large, or it may not be read
                now, now_step = None, Overlap(error.message)
            else:
                now_step = _written(tree, step, path, now, (edited or {}).get(index))
            basis.update(f"{path}\0{'' if now is None else now.digest.hex()}\0".encode())
        if isinstance(now_step, Overlap):
            overlaps[index] = now_step
            now_step = step
        made.append(now_step)
        tree.add(now_step)
    return Rebased(tuple(made), overlaps, basis.hexdigest(), tuple(made) != tuple(steps))


def _moved(tree: ProjectedTree, step: Move) -> Step | Overlap:
    if not tree.exists(step.source):
        return Overlap(f"{step.source!r} is not there any more")
    is_free = not tree.exists(step.target) or tree.is_respelling(step)
    return step if is_free else Overlap(f"there is another {step.target!r} by now")


def _written(
    tree: ProjectedTree, step: Write, path: VaultPath, now: Content | None, text: bytes | None
) -> Step | Overlap:
    if text is not None:
        return Write(path, now, text)
    if now is None and tree.exists(path):
        return Overlap(f"{path!r} is no file")
    if now == step.new:
        return Write(path, now, now)
    if now == step.old:
        return step if path == step.path else Write(path, step.old, step.new)
    if step.new is None:
        return Overlap(f"{path!r}, which it deletes, was changed since")
    if now is None:
        return Overlap(f"{path!r} is not there", step.new.data)
    return _merged(path, now, step.old, step.new)


def _merged(path: VaultPath, now: Content, old: Content | None, new: Content) -> Step | Overlap:
    try:
        mine, base, theirs = (content.data.decode() for content in (now, old or Content(b""), new))
    except UnicodeDecodeError:
        return Overlap(f"{path!r} is no text and was changed since")
    merged = merge(mine, base, theirs)
    data = merged.text.encode()
    if old is None:
        return Overlap(f"there is another {path!r} by now", data, tuple(merged.overlaps) or (Span(1, 1),))
    if merged.overlaps:
        lines = ", ".join(_words(span) for span in merged.overlaps)
        return Overlap(f"the same lines of {path!r} were changed since (line {lines})", data, tuple(merged.overlaps))
    if not _is_sound(path, (mine, base, theirs, merged.text)):
        return Overlap(f"the properties of {path!r} were changed since", data, (Span(1, 1),))
    return Write(path, now, data)


def _words(span: Span) -> str:
    return f"{span.first}" if span.first == span.last else f"{span.first}-{span.last}"


def _is_sound(path: VaultPath, texts: tuple[str, str, str, str]) -> bool:
    """Tell whether a merged text is what both wanted where lines alone do not say: each property, and JSON that is JSON.

    ``texts``: now, before and after the change that is made, and merged.
    """
    if is_canvas(path):
        return _is_json(texts[3]) or not _is_json(texts[0])
    if not is_note(path):
        return True
    mine, base, theirs, both = (parse_frontmatter(plain_text(text.encode())) for text in texts)
    if both.problems and not mine.problems:
        return False
    for name in {*mine.values, *base.values, *theirs.values, *both.values}:
        values = [each.values.get(name) for each in (mine, base, theirs, both)]
        if values[2] != values[1] and values[0] not in (values[1], values[2]):
            return False
        if values[3] != (values[2] if values[2] != values[1] else values[0]):
            return False
    return True


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
