"""Has schemathesis make requests of all kinds from our OpenAPI document and send them to a real server. ``make openapi``.

``python run.py SCHEMATHESIS [--seed NUMBER]``: the program, and what makes a run the same again; it is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from openapi import sign_in
from support.serving import Serving
from support.vaults import snapshot, write_vault

VAULT = """
=== Alpha.md
---
status: new
---
# Alpha
The fox. [[Beta]] #start
- [ ] a task
=== Folder/Beta.md
Nothing.
"""
# For each of the 35 tools, beside the two thousand requests it makes of every schema's edges: half a minute in all.
EXAMPLES = 20
# For each of the seven endpoints of sign-in: many get past the first check only by chance.
SIGN_IN_EXAMPLES = 60
SECONDS = 300
HERE = Path(__file__).resolve().parent


def main(program: str, seed: int) -> int:
    """Run it, and return 0 if nothing was found."""
    sys.stdout.write(f"seed: {seed}\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="vaultwire-openapi-") as folder:
        root = Path(folder)
        os.environ["VAULTWIRE_CACHE"] = str(root / "cache")
        os.environ["VAULTWIRE_STATE"] = str(root / "state")
        around = root / "around"
        vault = write_vault(around / "vault", VAULT)
        (around / "secret.md").write_text("a secret")
        with Serving(vault) as server:
            api = [f"{server.url}/bridge/v1/openapi.json", "--url", f"{server.url}/bridge/v1"]
            found = run(
                program, [*api, "--exclude-checks", "negative_data_rejection"], seed, root, SCHEMATHESIS_HOOKS="checks"
            )
            code, _, errors = server.end(signal.SIGTERM)
        outside = {path for path in snapshot(around) if not path.startswith("vault/")}
    # A crash would have been a status of 500, and a check's finding; one beside the calls is in the log alone.
    if code != 0 or "Traceback" in errors:
        sys.stdout.write(f"the server ended with {code}:\n{errors[-4000:]}\n")
        return 1
    if outside != {"secret.md"}:
        sys.stdout.write(f"there are files beside the vault: {sorted(outside)}\n")
        return 1
    return found


def sign_in_too(program: str, seed: int) -> int:
    """Run it over the endpoints of sign-in, and return 0 if nothing was found."""
    with (
        tempfile.TemporaryDirectory(prefix="vaultwire-openapi-") as folder,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        root, port = Path(folder), free.getsockname()[1]
        free.close()
        url = f"http://localhost:{port}"
        sign_in.add_people(root / "state")
        vault = write_vault(root / "vault", VAULT)
        state = {"VAULTWIRE_STATE": str(root / "state"), "VAULTWIRE_CACHE": str(root / "cache")}
        with Serving(vault, "--public-url", url, "--port", str(port), "--log-json", **state) as server:
            document = str(sign_in.write_document(root, server, url))
            # What the document forbids is mostly a wrong form, which is answered like any other wrong value.
            without = "negative_data_rejection,positive_data_acceptance,unsupported_method,allow_header_conformance"
            options = [document, "--url", url, "--exclude-checks", without, "-H", f"Origin: {url}"]
            # It writes a line for each request: read all the time, as a full pipe would stop it.
            assert server.process.stderr is not None
            lines: list[bytes] = []
            reading = threading.Thread(target=lines.extend, args=(server.process.stderr,))
            reading.start()
            found = run(program, options, seed, root, SIGN_IN_EXAMPLES)
            server.process.send_signal(signal.SIGTERM)
            code = server.process.wait(SECONDS)
            reading.join()
    errors = b"".join(lines).decode()
    wrong = sign_in.wrong_in_log(errors)
    if code != 0 or wrong:
        sys.stdout.write(f"the server ended with {code}, and its log has {wrong}:\n{errors[-4000:]}\n")
        return 1
    return found


def run(program: str, options: list[str], seed: int, root: Path, examples: int = EXAMPLES, **hooks: str) -> int:
    """Run schemathesis with its checks, and return its exit code."""
    command = [program, "run", *options, "--checks", "all", "--seed", str(seed), "--no-color"]
    more = ["--max-examples", str(examples), "--generation-database", "none", "--continue-on-failure"]
    paths = (str(HERE), str(HERE.parents[1] / "src"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **hooks}
    return subprocess.run([*command, *more], cwd=root, env=environment, timeout=SECONDS, check=False).returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    path = os.path.abspath(given.program)
    sys.exit(main(path, given.seed) or sign_in_too(path, given.seed))
