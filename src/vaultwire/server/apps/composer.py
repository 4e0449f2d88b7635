"""Puts ES modules together into one script, for pages that may load no module. Text in, text out.

A host shows a view in a frame without an origin, so ``import`` finds nothing there. Each module becomes a function that runs
once, in the order in which the modules need each other. Only the forms of import and export that our modules have are
known; any other is an error, and a test composes every view.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

_IMPORT = re.compile(
    r"""^import\s+(?:\{(?P<names>[^}]*)\}\s+from\s+)?["'](?P<path>[^"']+)["'];?[ \t]*$""", re.MULTILINE
)
_FROM = re.compile(r"""^export\s+\{(?P<names>[^}]*)\}\s+from\s+["'](?P<path>[^"']+)["'];?[ \t]*$""", re.MULTILINE)
_DECLARED = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+(?P<name>[\w$]+)", re.MULTILINE)
_LIST = re.compile(r"(?:^|(?<=[;}]))\s*export\s*\{(?P<names>[^}]*)\};?[ \t]*$", re.MULTILINE)
_LEFT = re.compile(r"(?:^|(?<=[;}]))\s*(?:import\s*[\w{*\"']|export\s*[\w{*])|\bimport\s*\(", re.MULTILINE)
_END = re.compile(r"</(script)", re.IGNORECASE)
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


class ComposeError(Exception):
    """A module has a form of import or export that is not known here."""


def compose(first: str, read: Callable[[str], str], instead: Mapping[str, str]) -> str:
    """Return one script that runs the module ``first`` and all that it imports.

    ``read`` returns the text of a module by its path; ``instead`` names modules that stand in for others.
    """
    done: dict[str, str] = {}
    _add(first, read, instead, done, ())
    return "\n".join(done.values())


def escaped(script: str) -> str:
    """Return a script as it may stand inside a ``script`` element, which only two sequences would end or change.

    In JavaScript they occur in strings, templates and regular expressions, where a backslash before ``/`` or ``!`` changes
    nothing. (``<script`` does harm only after ``<!--``: HTML, "Restrictions for contents of script elements".)
    """
    return _END.sub(r"<\\/\1", _SOURCE_MAP.sub("", script)).replace("<!--", r"<\!--")


def _add(
    path: str, read: Callable[[str], str], instead: Mapping[str, str], done: dict[str, str], above: tuple[str, ...]
) -> int:
    """Add a module after those that it imports; return its number."""
    path = instead.get(path, path)
    if path in done:
        return list(done).index(path)
    if path in above:
        raise ComposeError(f"{path} imports itself, by {above[-1]}")
    exports: dict[str, str] = {}

    def number(relative: str) -> int:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
        return _add(target, read, instead, done, (*above, path))

    def imported(found: re.Match[str]) -> str:
        name = f"m{number(found['path'])}"
        pairs = _pairs(found["names"] or "")
        return f"const {{ {', '.join(f'{old}: {new}' for old, new in pairs)} }} = {name};" if pairs else ""

    def passed_on(found: re.Match[str]) -> str:
        name = f"m{number(found['path'])}"
        exports.update({new: f"{name}.{old}" for old, new in _pairs(found["names"])})
        return ""

    def declared(found: re.Match[str]) -> str:
        exports[found["name"]] = found["name"]
        return found[0].removeprefix("export").lstrip()

    def listed(found: re.Match[str]) -> str:
        exports.update({new: old for old, new in _pairs(found["names"])})
        return ""

    text = _SOURCE_MAP.sub("", read(path))
    for form, replaced in ((_IMPORT, imported), (_FROM, passed_on), (_DECLARED, declared), (_LIST, listed)):
        text = form.sub(replaced, text)
    left = _LEFT.search(text)
    if left is not None:
        raise ComposeError(f"{path}: {left[0].strip()!r} is no form of import or export that can be put together")
    members = ", ".join(f"{name}: {value}" for name, value in exports.items())
    done[path] = f"const m{len(done)} = (() => {{\n{text}\nreturn {{ {members} }};\n}})();"
    return len(done) - 1


def _pairs(names: str) -> list[tuple[str, str]]:
    """Return the names of ``a, b as c`` as pairs: outside, inside."""
    pairs = []
    for each in filter(None, map(str.strip, names.split(","))):
        old, _, new = each.partition(" as ")
        pairs.append((old.strip(), (new or old).strip()))
    return pairs
