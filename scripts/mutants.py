"""Make random faults in the program and say which of them the tests catch.

Each fault is one small change of one line (a comparison reversed, a number one larger, a statement left out ...), made in a
copy of the project. A run without a fault comes first: it notes which tests of a room reach which of the lines, and which tests
fail anyway; these are left out. With the fault, only the tests that reach the line run, those that import the module first,
until one fails. A fault that no test catches is a survivor: a test is missing, or the line is not needed, or nobody could
observe a difference.

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
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        "tests/transports/test_relay_parts.py",
        "tests/transports/test_relay.py",
    ],
    "trust": [
        "tests/trust",
        "tests/tools/test_discovery.py",
        "tests/vault/visibility",
        "tests/transports/test_oauth.py",
        "tests/cli/test_commands.py",
    ],
    "vault/links": [
        "tests/vault/links",
        "tests/vault/plans",
        "tests/vault/index",
        "tests/tools",
        "tests/vault/editing/test_fixing.py",
    ],
    "vault/plans": [
        "tests/vault/plans",
        "tests/vault/changes",
        "tests/tools",
        "tests/vault/editing",
        "tests/vault/base_queries/test_inline_fields.py",
    ],
    "vault/changes": [
        "tests/vault/changes",
        "tests/vault/editing",
        "tests/crash/test_next_start.py",
        "tests/crash/test_killed_changes.py",
        "tests/vault/disk/test_files_writing.py",
        "tests/tools",
        "tests/vault/plans",
        "tests/cli/test_commands.py",
    ],
}
# A fault may make an endless loop: a run that takes longer counts as caught. The tests take so many times as long as without.
LONGEST = 10
SECONDS_AT_LEAST = 60
PLUGIN = "reached_tests"
PYTEST = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", PLUGIN]
EVERY_TEST = "*"

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


def mark(text: str, places: Mapping[int, int]) -> tuple[str, set[int]]:
    """Return a module's text that tells the plugin when a line is reached, and the places it tells nothing of.

    ``places`` gives the line of each place. Nothing is told of lines outside of functions, and of lines in functions whose
    results are kept: they matter to tests that do not reach them.
    """
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    kept = {at for node in functions if "cache" in str([*map(ast.unparse, node.decorator_list)]) for at in _lines(node)}
    blocks = [
        block
        for function in functions
        for node in ast.walk(function)  # the outer ones first
        for field in ("body", "orelse", "finalbody")
        if isinstance(block := getattr(node, field, None), list)
    ]
    untold = set()
    for place, line in places.items():
        holders = [(block, statement) for block in blocks for statement in block if line in _lines(statement)]
        if not holders or line in kept:
            untold.add(place)
            continue
        block, statement = holders[-1]
        block.insert(block.index(statement), ast.parse(f"__import__({PLUGIN!r}).at({place})").body[0])
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n", untold


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


class Tests:
    """The tests as they are without a fault: how long each takes, and which of the faults' lines it reaches."""

    def __init__(self, faults: Sequence[Fault], project: Path) -> None:
        self._project = project
        self._faults = faults
        self._files: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._reached: dict[int, set[str]] = defaultdict(set)

    def run(self, room: str, jobs: int) -> list[str]:
        """Run the room's tests that have not run yet, with the lines marked. Return those that fail."""
        files = [file for file in files_of_tests(room, self._project) if file not in self._files]
        before = {module: (self._project / module).read_text(encoding="utf-8") for _, module, *_ in self._faults}
        for module, text in before.items():
            places = {place: fault.line for place, fault in enumerate(self._faults) if fault.module == module}
            marked, untold = mark(text, places)
            (self._project / module).write_text(marked, encoding="utf-8")
            for place in untold:
                self._reached[place].add(EVERY_TEST)
        _run_tests(self._project, files, "--continue-on-collection-errors", "-n", str(jobs if jobs > 1 else 0))
        for module, text in before.items():
            (self._project / module).write_text(text, encoding="utf-8")
        self._files.update(files)
        for seconds, outcome, test in _rows(self._project / "src" / "outcomes.tsv"):
            self._seconds[test] = float(seconds)
            if outcome == "failed":
                self._failed.add(test)
        for number, test in _rows(self._project / "src" / "reached.tsv"):
            self._reached[int(number)].add(test)
        return sorted(test for test in self._failed if file_of(test) in files)

    def reaching(self, fault: Fault) -> dict[str, float]:
        """Return the tests of the fault's room that reach its line, and the seconds of each."""
        files = set(files_of_tests(fault.room, self._project))
        reached = self._reached[self._faults.index(fault)]
        return {
            test: seconds
            for test, seconds in self._seconds.items()
            if file_of(test) in files
            and not self._failed & {test, file_of(test)}
            and reached & {test, file_of(test), EVERY_TEST}
        }


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def files_of_tests(room: str, project: Path) -> list[str]:
    """Return the files with the tests of a room, the nearest first."""
    paths = [
        path
        for part in ROOMS[room]
        if (project / part).exists()
        for path in sorted((project / part).rglob("test_*.py")) or [project / part]
    ]
    return [path.relative_to(project).as_posix() for path in paths]


def _rows(path: Path) -> Iterator[list[str]]:
    if path.exists():
        for row in path.read_text(encoding="utf-8").splitlines():
            yield row.split("\t")


def find_catching_test(fault: Fault, tests: Mapping[str, float], project: Path) -> str | None:
    """Return the test that fails with the fault in a copy of the project; None if all of ``tests`` pass."""
    module = project / fault.module
    before = module.read_text(encoding="utf-8")
    module.write_text(fault.text, encoding="utf-8")
    try:
        return next(filter(None, (_first_failure(project, part) for part in order(fault, tests, project))), None)
    finally:
        module.write_text(before, encoding="utf-8")


def order(fault: Fault, tests: Mapping[str, float], project: Path) -> Iterator[dict[str, float]]:
    """Yield the tests in files that import the fault's module, the others nearest to its room, and the rest; no empty part."""
    name = ".".join(fault.module.relative_to("src").with_suffix("").parts)
    package, _, stem = name.rpartition(".")
    imports = re.compile(
        rf"^(from {re.escape(name)} import|import {re.escape(name)}\b"
        rf"|from {re.escape(package)} import .*\b{re.escape(stem)}\b)",
        re.MULTILINE,
    )
    importing = {
        file for file in {*map(file_of, tests)} if imports.search((project / file).read_text(encoding="utf-8"))
    }
    parts: list[dict[str, float]] = [{}, {}, {}]
    for test, seconds in tests.items():
        is_near = test.startswith(ROOMS[fault.room][0])
        parts[0 if file_of(test) in importing else 1 if is_near else 2][test] = seconds
    return filter(None, parts)


def _first_failure(project: Path, tests: Mapping[str, float]) -> str | None:
    limit = max(SECONDS_AT_LEAST, LONGEST * max(tests.values()))
    chosen = project / "src" / "chosen.txt"
    chosen.write_text("\n".join(tests), encoding="utf-8")
    seconds_of_file: dict[str, float] = defaultdict(float)
    for test, seconds in tests.items():
        seconds_of_file[file_of(test)] += seconds
    files = sorted(seconds_of_file, key=seconds_of_file.__getitem__)
    longest = SECONDS_AT_LEAST + LONGEST * sum(tests.values())
    try:
        finished = _run_tests(project, files, "-x", f"--timeout={limit}", longest=longest)
    except subprocess.TimeoutExpired:
        return f"no end within {longest:.0f} s"
    finally:
        chosen.unlink()
    if not finished.returncode:
        return None
    failure = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", finished.stdout, re.MULTILINE)
    return failure[1] if failure else f"pytest ended with {finished.returncode}"


def _run_tests(
    project: Path, files: Sequence[str], *options: str, longest: float | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(project / "src"),
        "HYPOTHESIS_PROFILE": "mutants",
        "VAULTWIRE_SEED": "1",
    }
    # A module has other seconds in its date with and without a fault, as each run takes some: what is compiled may be kept.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [*PYTEST, *options, *files],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=longest,
    )


def _copies(folder: str, count: int) -> SimpleQueue[Path]:
    copies: SimpleQueue[Path] = SimpleQueue()
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True,
    )  # fmt: skip
    for number in range(count):
        copy = Path(folder) / str(number) / ROOT.name
        for name in filter(None, listing.stdout.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        shutil.copy(ROOT / "scripts" / f"{PLUGIN}.py", copy / "src")
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
    rooms = options.room or list(ROOMS)
    faults = choose(rooms, options.count, random.Random(options.seed))
    made: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="vaultwire-mutants-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies = _copies(folder, options.jobs)
        project = copies.get()
        tests = Tests(faults, project)
        copies.put(project)

        def attempt(fault: Fault) -> tuple[bool, str]:
            started = time.monotonic()
            reaching = tests.reaching(fault)
            project = copies.get()
            try:
                test = find_catching_test(fault, reaching, project)
            finally:
                copies.put(project)
            seconds = f"{time.monotonic() - started:.0f} s"
            place = f"{fault.module}:{fault.line}: {fault.what}"
            if test is None:
                return False, f"survivor: {place} ({len(reaching)} tests reach it, {seconds})"
            return True, f"caught: {place} ({test}, {seconds})"

        for room in rooms:
            for test in tests.run(room, options.jobs):
                print(f"fails without a fault, left out: {test}", flush=True)
            for is_caught, verdict in pool.map(attempt, [fault for fault in faults if fault.room == room]):
                made[room] += 1
                caught[room] += is_caught
                print(verdict, flush=True)
            print(f"{room}: {caught[room]} of {made[room]} caught", flush=True)
    print(f"all: {caught.total()} of {made.total()} caught")
    return int(caught.total() * 20 < made.total() * 19)


if __name__ == "__main__":
    sys.exit(main())
