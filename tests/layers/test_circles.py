"""No module depends on itself, however many others are between: imports for the type checker and late ones count, too."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"


def imports_of(package: Path) -> dict[str, set[str]]:
    """Return which modules each module of a package imports, wherever in it."""
    modules = {".".join(path.relative_to(package.parent).with_suffix("").parts): path for path in package.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        named: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # A name of a package is a module of it, or else something its __init__ has.
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= (parts & modules.keys()) or {node.module}
        found[name] = named & modules.keys() - {name}
    return found


def test_no_module_depends_on_itself() -> None:
    try:
        TopologicalSorter(imports_of(SOURCE / "vaultwire")).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


def test_a_circle_is_seen_where_only_the_type_checker_goes_round(tmp_path: Path) -> None:
    package = tmp_path / "some"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("")
    (package / "first.py").write_text("from some.inner import second\n")
    (package / "inner" / "second.py").write_text(
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from some.first import X\n"
    )
    with pytest.raises(CycleError):
        TopologicalSorter(imports_of(package)).prepare()
