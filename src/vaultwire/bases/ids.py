"""The ids of properties in a base: ``note.x``, ``file.x``, ``formula.x``."""

from __future__ import annotations

import re

from vaultwire.markdown.patterns import compile_pattern

_BRACKETS = compile_pattern(r"(note|property|file|formula)\[(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)')\]")
_DOTTED = compile_pattern(r"(note|property|file|formula)\.(.++)", re.DOTALL)


def normal_id(written: str) -> str:
    """Return the id in one form: a bare name is a note's, ``note["a b"]`` is ``note.a b``, ``property.x`` is ``note.x``."""
    written = written.strip()
    found = _BRACKETS.fullmatch(written) or _DOTTED.fullmatch(written)
    if found is None:
        return "file.file" if written == "file" else f"note.{written}"
    kind, *names = found.groups()
    name = next(name for name in names if name is not None)
    return f"{'note' if kind == 'property' else kind}.{name}"
