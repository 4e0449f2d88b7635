"""Make random faults in the program and say which of them the tests catch.

Each fault is one small change of one line (a comparison reversed, a number one larger, a statement left out ...), made in a
copy of the project. First run the tests that import the module, then the other tests of its room, until one test fails. A fault
that no test catches is a survivor: a test is missing, or the line is not needed, or nobody could observe a difference.

    python scripts/mutants.py --count 200 --seed 7 --room vault/links
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/vaultwire")
# The rooms in which a fault loses or leaks something, and the tests that should catch it; the nearest come first.
ROOMS = {
    "markdown": ["tests/markdown", "tests/vault/plans", "tests/vault/links", "tests/tools", "tests/vault/editing"],
    "protocol": [
        "tests/protocol",
        "tests/contracts",
        "tests/server",
        "tests/interaction",
        "tests/transports/test_streamable_http.py",
    ],
    "trust": [
        "tests/trust",
        "tests/tools/test_discovery.py",
        "tests/vault/visibility",
        "tests/transports/test_oauth.py",
        "tests/cli/test_commands.py",
    ],
    "vault/links": ["tests/vault/links", "tests/vault/plans", "tests/vault/index", "tests/tools"],
    "vault/plans": ["tests/vault/plans", "tests/vault/changes", "tests/tools", "tests/vault/editing"],
    "vault/changes": [
        "tests/vault/changes",
        "tests/vault/editing",
        "tests/crash/test_next_start.py",
        "tests/crash/test_killed_changes.py",
        "tests/tools",
        "tests/vault/plans",
        "tests/cli/test_commands.py",
    ],
}
# A fault may make an endless loop: a run that takes longer counts as caught.
SECONDS_A_FAULT = 900

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATIONS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd}


class Fault(NamedTuple):
    """One changed place: its room, module and line, the change in words, and the module's text with the fault."""

    room: str
    module: Path
    line: int
    what: str
    text: str


class _Places(ast.NodeVisitor):
    """Collects the possible changes of a module: the line, the change in words, and a function that changes the tree."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str, Callable[[], None]]] = []

    def _add(self, node: ast.expr | ast.stmt, what: str, change: Callable[[], None]) -> None:
        self.found.append((node.lineno, what, change))

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        negated = ast.UnaryOp(ast.Not(), node.test)
        self._add(node, f"if not ({ast.unparse(node.test)})", lambda: setattr(node, "test", negated))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):
            other = COMPARISONS[type(operator)]
            self._add(
                node,
                f"{type(operator).__name__} becomes {other.__name__}",
                functools.partial(node.ops.__setitem__, at, other()),
            )
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        self._add(node, f"{type(node.op).__name__} becomes {other.__name__}", lambda: setattr(node, "op", other()))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = OPERATIONS.get(type(node.op))
        if other is not None:
            self._add(node, f"{type(node.op).__name__} becomes {other.__name__}", lambda: setattr(node, "op", other()))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool | int):
            other = not value if isinstance(value, bool) else value + 1
            self._add(node, f"{value} becomes {other}", lambda: setattr(node, "value", other))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts unchanged: tests need not compare every word."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for statement in node.body:
            self.visit(statement)
            is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            if is_call or isinstance(statement, ast.AugAssign):
                left_out = functools.partial(node.body.__setitem__, node.body.index(statement), ast.Pass())
                self._add(statement, f"{ast.unparse(statement)} is left out", left_out)


def choose(rooms: Sequence[str], count: int, chance: random.Random) -> list[Fault]:
    """Return ``count`` faults, the same number in each room, at most one a line."""
    faults = []
    for number, room in enumerate(rooms):
        places = [
            (module, line, at)
            for module in sorted((ROOT / PACKAGE / room).rglob("*.py"))
            for at, (line, *_) in enumerate(_places_of(ast.parse(module.read_text(encoding="utf-8"))))
        ]
        chance.shuffle(places)
        one_a_line = {(module, line): at for module, line, at in places}
        wanted = count // len(rooms) + (number < count % len(rooms))
        for (module, line), at in list(one_a_line.items())[:wanted]:
            tree = ast.parse(module.read_text(encoding="utf-8"))
            _, what, change = _places_of(tree)[at]
            change()
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            faults.append(Fault(room, module.relative_to(ROOT), line, what, text))
    return faults


def _places_of(tree: ast.Module) -> list[tuple[int, str, Callable[[], None]]]:
    places = _Places()
    places.visit(tree)
    return places.found


def find_catching_test(fault: Fault, project: Path) -> str | None:
    """Return the test that fails with the fault in a copy of the project; None if every test passes."""
    module = project / fault.module
    before = module.read_text(encoding="utf-8")
    module.write_text(fault.text, encoding="utf-8")
    try:
        nearest, others = order_tests(fault, project)
        return (nearest and _first_failure(project, nearest)) or _first_failure(project, others)
    finally:
        module.write_text(before, encoding="utf-8")


def order_tests(fault: Fault, project: Path) -> tuple[list[str], list[str]]:
    """Return the test files of the fault's room: those that import its module, and the others."""
    name = ".".join(fault.module.relative_to("src").with_suffix("").parts)
    package, _, stem = name.rpartition(".")
    imports = re.compile(
        rf"^(from {re.escape(name)} import|import {re.escape(name)}\b"
        rf"|from {re.escape(package)} import .*\b{re.escape(stem)}\b)",
        re.MULTILINE,
    )
    nearest: list[str] = []
    others: list[str] = []
    for part in ROOMS[fault.room]:
        for path in sorted((project / part).rglob("test_*.py")) or [project / part]:
            is_near = imports.search(path.read_text(encoding="utf-8"))
            (nearest if is_near else others).append(str(path.relative_to(project)))
    return nearest, others


def _first_failure(project: Path, tests: Sequence[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *tests]
    environment = {
        **os.environ,
        "PYTHONPATH": str(project / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "mutants",
        "VAULTWIRE_SEED": "1",
    }
    try:
        finished = subprocess.run(
            command,
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=SECONDS_A_FAULT,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {SECONDS_A_FAULT} s"
    if not finished.returncode:
        return None
    failure = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", finished.stdout, re.MULTILINE)
    return failure[1] if failure else f"pytest ended with {finished.returncode}"


def _copies(folder: str, count: int) -> SimpleQueue[Path]:
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(count):
        copy = Path(folder) / str(number)
        for part in ("src", "tests", "docs", "scripts"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("pyproject.toml", "README.md", "Makefile", "CHANGELOG.md"):
            shutil.copy(ROOT / part, copy)
        copies.put(copy)
    return copies


def main() -> int:
    """Run the command. Exit code 1 if more than one fault in twenty survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="how many faults to make (default: 200)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="repeats a run")
    parser.add_argument("--room", action="append", choices=ROOMS, help="only this room; may be given more than once")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="test runs at once (default: one a core)")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    faults = choose(options.room or list(ROOMS), options.count, random.Random(options.seed))
    made: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="vaultwire-mutants-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies = _copies(folder, options.jobs)

        def attempt(fault: Fault) -> str | None:
            project = copies.get()
            try:
                return find_catching_test(fault, project)
            finally:
                copies.put(project)

        for fault, test in zip(faults, pool.map(attempt, faults), strict=True):
            made[fault.room] += 1
            caught[fault.room] += test is not None
            verdict = "survivor" if test is None else "caught"
            print(f"{verdict}: {fault.module}:{fault.line}: {fault.what}", f"({test})" if test else "", flush=True)
    for room in made:
        print(f"{room}: {caught[room]} of {made[room]} caught")
    print(f"all: {caught.total()} of {made.total()} caught")
    return int(caught.total() * 20 < made.total() * 19)


if __name__ == "__main__":
    sys.exit(main())
