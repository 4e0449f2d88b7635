"""The part of Codex that its windows talk to: it runs sessions, hooks and the servers of plugins."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self


class AppServer:
    """``codex app-server``, asked over its stdin."""

    def __init__(self, program: Path, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [program, "app-server"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._asked = 0
        self.ask("initialize", {"clientInfo": {"name": "test", "version": "1"}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        self._asked += 1
        self._process.stdin.write(json.dumps({"id": self._asked, "method": method, "params": params}) + "\n")
        self._process.stdin.flush()
        answer = self._next("id", self._asked)
        assert "result" in answer, answer
        return answer["result"]

    def wait_for(self, notification: str) -> None:
        self._next("method", notification)

    def _next(self, name: str, value: Any) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get(name) == value:
                return message
        raise AssertionError(f"Codex ended before it sent {name} {value}")
