"""A spawned server (``load_serve``) that reports counts of its connections, memory and files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from support.serving import PATIENCE, TESTS


class Server:
    """The server under load, and the counts that it reports."""

    def __init__(self, vault: Path, *options: str) -> None:
        command = [sys.executable, "-m", "support.load_serve", "--vault", str(vault), "--port", "0", *options]
        self.errors = open(vault.parent / "errors", "wb+")  # noqa: SIM115 - closed by end
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": str(TESTS), "VAULTWIRE_STRUCTURED": "1"},
        )
        self.port = int(self._line().rpartition(b":")[2])

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def counts(self) -> dict[str, int]:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        counted: dict[str, int] = json.loads(self._line())
        return counted

    def settled(self, wanted: dict[str, int]) -> dict[str, int]:
        """Return the counts when none exceeds its limit in ``wanted``, or the last ones when the time is up."""
        until = time.monotonic() + PATIENCE / 4
        while True:
            counts = self.counts()
            if all(counts[name] <= most for name, most in wanted.items()) or time.monotonic() > until:
                return counts

    def end(self) -> tuple[int, str]:
        """End the server; return the exit code and stderr."""
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.errors.seek(0)
        said = self.errors.read().decode()
        self.close()
        return code, said

    def close(self) -> None:
        """End the server if it still runs, and close every file."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            assert file is not None
            file.close()
