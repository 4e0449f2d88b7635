"""Runs the official conformance suite against our fixtures and holds us to every scored scenario. ``make conformance``.

``python run.py NODE SUITE``: the two programs; what each run must score stands in ``HTTP`` and ``STDIO``. What is not
scored is printed and must pass too, that of the extensions for tasks and skills as well. Over HTTP one check is excused, for a
tool that we have not; over stdio, which the suite does not know and a front has to fill in for, what it asks of HTTP alone.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.serving import Serving
from support.sign_in import PASSWORD, Connecting
from support.vaults import write_vault
from vaultwire.remote import people
from vaultwire.remote.store import Store

HERE = Path(__file__).parent


class Run(NamedTuple):
    """One call of the suite: its options, and how many scenarios must pass."""

    options: tuple[str, ...]
    scenarios: int


HTTP = (
    Run(("--requirements", "2025-11-25"), 33),  # 30 scored, 3 not
    Run(
        ("--requirements", "2026-07-28"), 49
    ),  # 37 scored; of the others: json-schema, headers, seven of tasks and three of skills
    Run(("--suite", "all", "--spec-version", "2025-06-18"), 27),
    Run(("--suite", "all", "--spec-version", "2025-03-26"), 1),
)
STDIO = (
    Run(("--requirements", "2025-11-25"), 33),  # 30 scored
    Run(("--requirements", "2026-07-28"), 47),  # 36 of 37 scored
)
AUTHORIZATION_CHECKS = 3
# It wants a tool that runs as a task only. Ours answer at once to a client that does not know tasks.
NOT_OURS = r"tasks-required-task-error:[\w-]+"
# Checks that stdio cannot meet: a connection may speak both eras, so ``initialize`` is always a method of it; and nothing
# but HTTP has headers that repeat a tool's arguments.
NOT_OF_STDIO = re.compile(
    rf"{NOT_OURS}|server-stateless:sep-2575-http-server-method-not-found-404-initialize"
    r"|http-custom-header-server-validation:sep-2243-server-(reject-.*|validate-param-match)"
)
_LINE = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
_SECONDS = 300


def main(node: str, suite: str) -> int:
    """Run all, print the scores, and return how many runs were not what they must be."""
    command = [node, suite, "server", "--url"]
    over_http = _at_own_server("http", "server.py", HTTP, command, re.compile(NOT_OURS))
    over_stdio = _at_own_server("stdio", "stdio_front.py", STDIO, command, NOT_OF_STDIO)
    return over_http + over_stdio + (not _signs_in([node, suite, "authorization"]))


def _signs_in(command: list[str]) -> bool:
    """Run the scenarios for authorization servers against ``serve --public-url``; a person allows what the suite asks for.

    Its scenarios for clients that sign in (``auth/``) are not for us: vaultwire is no such client.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        vault = write_vault(root / "vault", "=== Note.md\nText.\n")
        store = Store(str(root / "state" / "sign-in"))
        people.add(store, "Ana", PASSWORD)
        store.close()
        own, waiting = _free_ports()
        options = ("--port", str(own), "--public-url", f"http://127.0.0.1:{own}")
        with Serving(vault, *options, VAULTWIRE_STATE=str(root / "state")) as server:
            client = Connecting(server, f"http://127.0.0.1:{waiting}/callback", server.url)
            assert client.register().status == 201
            asked = ("--url", server.url, "--client-id", client.client_id, "--resource", f"{server.url}/mcp")
            suite = subprocess.Popen([*command, *asked, "-p", str(waiting)], stdout=subprocess.PIPE, text=True)
            assert suite.stdout is not None
            lines: list[str] = []
            for line in suite.stdout:
                lines.append(line)
                if line.startswith(f"{server.url}/authorize?"):
                    _answer_suite(client, line.strip().removeprefix(server.url), waiting)
    scenarios = _LINE.findall("".join(lines).partition("=== SUMMARY ===")[2])
    passed = sum(int(number) for sign, _, number, _ in scenarios if sign == "✓")
    good = suite.wait(_SECONDS) == 0 and passed >= AUTHORIZATION_CHECKS
    verdict = "ok" if good else f"FAILED: {''.join(lines)[-2000:]}"
    sys.stdout.write(f"authorization server: {passed} checks passed; {verdict}\n")
    return good


def _answer_suite(client: Connecting, address: str, port: int) -> None:
    """Sign in, allow it, and go where the browser is sent."""
    answer = client.allow(address, client.sign_in(address)).headers["location"]
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
        target = answer.partition(f":{port}")[2]
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        while connection.recv(4096):
            pass


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def _at_own_server(door: str, program: str, runs: Sequence[Run], command: list[str], excused: re.Pattern[str]) -> int:
    server = subprocess.Popen([sys.executable, str(HERE / program)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        return bad_runs(door, runs, [*command, server.stdout.readline().strip()], excused)
    finally:
        server.terminate()
        server.wait(_SECONDS)


def bad_runs(door: str, runs: Sequence[Run], command: list[str], excused: re.Pattern[str]) -> int:
    """Run all against the server whose URL ends the command, print the scores, and return how many were not good."""
    return sum(not _is_good(door, run, [*command, *run.options], excused) for run in runs)


def _is_good(door: str, run: Run, command: list[str], excused: re.Pattern[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([*command, "-o", folder], capture_output=True, text=True, timeout=_SECONDS, check=False)
        complaints = list(_complaints(Path(folder)))
    scenarios = _LINE.findall(ended.stdout.partition("=== SUMMARY ===")[2])
    passed = [name for sign, name, _, _ in scenarios if sign == "✓"]
    checks = sum(int(number) for sign, _, number, _ in scenarios if sign == "✓")
    excuses = {name for name, _ in complaints if excused.fullmatch(name)}
    ours = [f"{name} ({why})" for name, why in complaints if name not in excuses]
    good = not ours and len(passed) >= run.scenarios and (ended.returncode == 0 or bool(excuses))
    verdict = "ok" if good else f"FAILED: {', '.join(ours) or ended.stderr[-2000:] or ended.stdout[-2000:]}"
    sys.stdout.write(
        f"{door} {' '.join(run.options)}: {len(passed)} scenarios and {checks} checks passed, "
        f"{len(excuses)} checks excused; {verdict}\n"
    )
    return good


def _complaints(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield ``scenario:check`` and the reason of everything that failed or was warned of."""
    for path in sorted(folder.glob("*/checks.json")):
        # server-SCENARIO-2026-11-22T07-50-13-300Z
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name)
        for check in json.loads(path.read_text(encoding="utf-8")):
            if check["status"] in ("FAILURE", "WARNING"):
                yield f"{scenario}:{check['id']}", f"{check['status']}: {check.get('errorMessage')}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
