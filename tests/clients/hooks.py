"""The hooks and skills that ``vaultwire install`` wrote, as Codex and Gemini CLI themselves use them over a model here.

``make codex`` and ``make clients`` (Gemini CLI); no test by itself. ``VAULTWIRE_CODEX`` and ``VAULTWIRE_GEMINI_MODULES`` name
the folders npm has installed them in. Each runs in a home of its own; nothing leaves this computer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.codex import AppServer
from support.vaults import write_vault
from vaultwire.skills import bundled_skills

CODEX, GEMINI = "VAULTWIRE_CODEX", "VAULTWIRE_GEMINI_MODULES"
PATIENCE = 60
LASTING = "From now on, run the linter first."
KNOWN = "- shop (2026-01-02): The database is at port 5433."
SETTINGS_OF_GEMINI = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
OFFER = "Call remember for what should last"


class Model:
    """Both interfaces of models, with one that always says the same. ``requests``: what it was told, each as JSON text."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.requests.append(json.dumps(body, ensure_ascii=False))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for event in _as_openai() if self.path == "/v1/responses" else [_AS_GEMINI]:
                    self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


_AS_GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Well."}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}


def _as_openai() -> Iterator[dict[str, Any]]:
    said = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "Well."}]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.created", "response": {"id": "r"}}
    yield {"type": "response.output_item.done", "item": said}
    yield {"type": "response.completed", "response": {"id": "r", "usage": usage}}


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_vault(tmp_path / "home" / "vault", "=== Memory/shop.md\n- 2026-01-02 The database is at port 5433. ^m1\n")
    (tmp_path / "home" / "shop").mkdir()
    return tmp_path / "home"


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a client that knows nothing but the model on this computer."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CODEX", "GEMINI", "GOOGLE"))}
    return {
        **kept,
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
        "VAULTWIRE_STATE": str(home / "state"),
        "VAULTWIRE_CACHE": str(home / "cache"),
        **variables,
    }


def install(home: Path, client: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "vaultwire", "install", client, *arguments]
    subprocess.run(command, env=environment(home), cwd=home, stdout=subprocess.DEVNULL, check=True)


def run(command: list[str], home: Path, variables: dict[str, str]) -> None:
    ended = subprocess.run(
        command,
        cwd=home / "shop",
        env=environment(home, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def trust_hooks(codex: AppServer, folder: Path) -> None:
    """Trust the hooks as they are now, as ``/hooks`` in Codex does."""
    [listed] = codex.ask("hooks/list", {"cwds": [str(folder)]})["data"]
    trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in listed["hooks"]}
    edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
    codex.ask("config/batchWrite", {"edits": [edit]})


def set_up_codex(home: Path, model: Model) -> Path:
    """Have Codex ask this model; return its program."""
    (home / ".codex").mkdir()
    provider = f'name = "here"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
    settings = f'model = "stand-in"\nmodel_provider = "here"\n[model_providers.here]\n{provider}'
    (home / ".codex" / "config.toml").write_text(settings)
    return Path(os.environ[CODEX]).resolve() / ".bin" / "codex"


@pytest.mark.skipif(CODEX not in os.environ, reason="needs Codex (make codex)")
def test_codex_recalls_offers_compacts_and_stops(home: Path, model: Model) -> None:
    program = set_up_codex(home, model)
    install(home, "codex", "--hooks", "--vault", str(home / "vault"))

    def tell(codex: AppServer, thread: str, text: str) -> list[str]:
        """Say something in a session; return the requests to the model that came of it."""
        before = len(model.requests)
        codex.ask("turn/start", {"threadId": thread, "input": [{"type": "text", "text": text}]})
        codex.wait_for("turn/completed")
        return model.requests[before:]

    def start(codex: AppServer) -> str:
        return str(codex.ask("thread/start", {"cwd": str(home / "shop")})["thread"]["id"])

    with AppServer(program, home / "shop", environment(home)) as codex:
        [request] = tell(codex, start(codex), LASTING)
        assert KNOWN not in request  # nobody has trusted the hooks yet
        trust_hooks(codex, home / "shop")

        thread = start(codex)
        first, last = tell(codex, thread, LASTING)
        assert KNOWN in first
        assert OFFER not in first
        assert f"{OFFER}, one fact each, clear by itself; leave out the rest, and go on.\\n- {LASTING}" in last
        [request] = tell(codex, thread, "And now?")  # offered once

        codex.ask("thread/compact/start", {"threadId": thread})
        codex.wait_for("turn/completed")
        [request] = tell(codex, thread, "And now?")
        assert "Said before the conversation was compacted, and not in memory yet" in request
        assert KNOWN in request

    install(home, "codex", "--hooks", "--undo")
    with AppServer(program, home / "shop", environment(home)) as codex:
        [request] = tell(codex, start(codex), "Always use tabs.")
        assert KNOWN not in request


def has_all_skills(request: str) -> bool:
    """Tell whether a model is told of the skills: their names, and what they are for."""
    return all(
        skill.name in request and json.dumps(skill.frontmatter["description"])[1:60] in request
        for skill in bundled_skills()
    )


@pytest.mark.skipif(CODEX not in os.environ, reason="needs Codex (make codex)")
def test_codex_reads_the_skills(home: Path, model: Model) -> None:
    program = set_up_codex(home, model)
    install(home, "codex", "--skills")
    run([str(program), "exec", "--skip-git-repo-check", "Hello."], home, {})
    install(home, "codex", "--skills", "--undo")
    run([str(program), "exec", "--skip-git-repo-check", "Hello."], home, {})
    assert [has_all_skills(request) for request in model.requests] == [True, False]


def set_up_gemini(home: Path, model: Model) -> Callable[..., list[str]]:
    """Have Gemini CLI ask this model; return what says something to it, and the requests that came of it."""
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(SETTINGS_OF_GEMINI))
    node = Path(os.environ["VAULTWIRE_NODE_MODULES"]).resolve() / ".bin" / "node"
    bundle = Path(os.environ[GEMINI]).resolve() / "@google" / "gemini-cli" / "bundle" / "gemini.js"
    variables = {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }

    def ask(text: str, *options: str) -> list[str]:
        before = len(model.requests)
        # With a model of this name it does not ask first which one shall answer.
        run([str(node), str(bundle), "--model", "gemini-2.5-flash", *options, "--prompt", text], home, variables)
        return model.requests[before:]

    return ask


@pytest.mark.skipif(GEMINI not in os.environ, reason="needs Gemini CLI (make clients)")
def test_gemini_cli_reads_the_skills(home: Path, model: Model) -> None:
    ask = set_up_gemini(home, model)
    install(home, "gemini-cli", "--skills")
    [request] = ask("Hello.")
    assert has_all_skills(request)
    install(home, "gemini-cli", "--skills", "--undo")
    [request] = ask("Hello.")
    assert not has_all_skills(request)


@pytest.mark.skipif(GEMINI not in os.environ, reason="needs Gemini CLI (make clients)")
def test_gemini_cli_recalls_and_offers(home: Path, model: Model) -> None:
    ask = set_up_gemini(home, model)
    install(home, "gemini-cli", "--hooks", "--vault", str(home / "vault"))
    first, last = ask(LASTING)
    assert KNOWN in first
    assert OFFER not in first
    assert f"{OFFER}, one fact each, clear by itself; leave out the rest, and go on.\\n- {LASTING}" in last
    [request] = ask("And now?", "--resume", "latest")  # offered once
    assert KNOWN in request

    install(home, "gemini-cli", "--hooks", "--undo")
    assert json.loads((home / ".gemini" / "settings.json").read_text()) == SETTINGS_OF_GEMINI
    [request] = ask("Always use tabs.")
    assert KNOWN not in request
