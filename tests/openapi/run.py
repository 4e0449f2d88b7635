"""Has schemathesis make requests of all kinds from our OpenAPI document and send them to a real server. ``make openapi``.

``python run.py SCHEMATHESIS [--seed NUMBER]``: the program, and what makes a run the same again; it is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
            found = run(program, server.url, seed, root)
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


def run(program: str, url: str, seed: int, root: Path) -> int:
    command = [program, "run", f"{url}/bridge/v1/openapi.json", "--url", f"{url}/bridge/v1"]
    options = ["--checks", "all", "--exclude-checks", "negative_data_rejection", "--seed", str(seed), "--no-color"]
    more = ["--max-examples", str(EXAMPLES), "--generation-database", "none", "--continue-on-failure"]
    paths = (str(HERE), str(HERE.parents[1] / "src"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SCHEMATHESIS_HOOKS": "checks"}
    return subprocess.run(
        [*command, *options, *more], cwd=root, env=environment, timeout=SECONDS, check=False
    ).returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    sys.exit(main(os.path.abspath(given.program), given.seed))
