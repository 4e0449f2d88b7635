"""Steps that were made from files as they were, made on the files as they are now: what accepting a proposal does.

An edit is joined with what was changed since (``markdown.three_way``); it conflicts only where both changed the same words,
the same task, cell, property or element. Nothing is written here: ``rebase`` looks, and the person sees what it found before
it is executed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vaultwire.markdown.parsed_note import Span
from vaultwire.vault.changes.change import Move, Step, Write
from vaultwire.vault.changes.projected_tree import ProjectedTree
from vaultwire.vault.disk.contents import Content
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
    from vaultwire.markdown.three_way import form_of, join  # noqa: PLC0415 - few changes need it

    joined = join(base, mine, theirs, form_of(path))
    if not joined.clashes and old is not None:
        return Write(path, now, joined.text.encode())
    named = [clash.name for clash in joined.clashes if clash.what != "lines"]
    if named:  # of two values one stands in the text
        joined = join(base, mine, theirs, "text")
    data, spans = joined.text.encode(), tuple(clash.span for clash in joined.clashes) or (Span(1, 1),)
    if old is None:
        return Overlap(f"there is another {path!r} by now", data, spans)
    if named:
        return Overlap(f"{', '.join(named)} in {path!r} was changed since, too", data, spans)
    lines = ", ".join(_words(span) for span in spans)
    return Overlap(f"the same lines of {path!r} were changed since (line {lines})", data, spans)


def _words(span: Span) -> str:
    return f"{span.first}" if span.first == span.last else f"{span.first}-{span.last}"
