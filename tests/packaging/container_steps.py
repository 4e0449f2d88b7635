"""The Dockerfile without an engine (``make container``): its steps run in a scratch folder, its server starts there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dockerfile_parse import DockerfileParser

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "packaging" / "container" / "Dockerfile"
COMPOSE_PUBLIC = DOCKERFILE.with_name("compose.public.yaml")
# The folders of the image that the steps name. Here they are below a scratch folder.
IN_IMAGE = re.compile(r"(?<![\w/.:])/(source|wheels|opt/vaultwire|vault|state|cache)\b")
PATIENCE = 60


def base_python() -> tuple[str, bool]:
    """Return a Python for the steps, and whether another user may be chosen to run it: only root can do that."""
    for python in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        found = Path(os.path.realpath(python))
        if os.geteuid() == 0 and all(folder.stat().st_mode & 0o001 for folder in found.parents if found.exists()):
            asked = [python, "-c", "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"]
            if found.exists() and not subprocess.run(asked, check=False).returncode:
                return python, True
    return sys.executable, False


class Image:
    """What the steps of the Dockerfile make, below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("VAULTWIRE_")}
        self.environment |= {"HOME": str(root), "PATH": f"{root}/base/bin{os.pathsep}{os.environ['PATH']}"}
        self.environment.pop("PYTHONPATH", None)
        self.folder = root
        self.last: dict[str, Any] = {}
        python, self.may_choose_user = base_python()
        subprocess.run([python, "-m", "venv", root / "base"], check=True)  # Python as the base image has it

    def here(self, text: str) -> str:
        """Return the text with folders of the image replaced by those below the scratch folder."""
        return IN_IMAGE.sub(lambda found: f"{self.root}/{found[1]}", text)

    def do(self, instruction: str, value: str) -> None:
        match instruction:
            case "WORKDIR":
                self.folder = Path(self.here(value))
                self.folder.mkdir(parents=True)
            case "COPY" if not value.startswith("--from="):
                *sources, target = value.split()
                for source in sources:
                    self._copy(ROOT / source, self.folder / target, is_folder=target.endswith("/"))
            case "RUN" if not value.startswith("useradd "):  # that one needs root
                subprocess.run(["sh", "-ec", self.here(value)], cwd=self.folder, env=self.environment, check=True)
            case "ENV":
                for name, text in re.findall(r'(\w+)="([^"]*)"', value):
                    self.environment[name] = self.here(text).replace("$PATH", self.environment["PATH"])
            case "CMD" | "ENTRYPOINT" | "USER" | "HEALTHCHECK" | "STOPSIGNAL":
                self.last[instruction] = value

    def _copy(self, source: Path, target: Path, *, is_folder: bool) -> None:
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / source.name if is_folder else target)

    def command(self, *words: str) -> dict[str, Any]:
        """Return what starts a command in the image: as its user if we may choose."""
        number = int(self.last["USER"].split(":")[0])
        user = {"user": number, "group": number, "extra_groups": []} if self.may_choose_user else {}
        return {"args": words, "env": self.environment, "cwd": self.root / "vault", "stdin": subprocess.DEVNULL, **user}


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    with tempfile.TemporaryDirectory(prefix="vaultwire-image-") as folder:
        os.chmod(folder, 0o755)  # as the root of an image: others may read it, and not write
        made = Image(Path(folder))
        for step in DockerfileParser(str(DOCKERFILE)).structure:
            made.do(step["instruction"], step["value"])
        yield made


def test_the_container_serves_an_empty_vault_with_a_key(image: Image) -> None:
    entry = json.loads(image.last["ENTRYPOINT"])
    words = [*entry, *json.loads(image.last["CMD"])]
    refused = subprocess.run(**image.command(*words), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert refused.returncode == 2
    assert "issue one with vaultwire keys issue NAME" in refused.stderr

    issued = subprocess.run(
        **image.command(*entry, "keys", "issue", "anna"), capture_output=True, text=True, check=True
    )
    key = issued.stdout.strip()
    port = str(free_port())
    words[words.index("3000")] = port
    health = image.last["HEALTHCHECK"].partition("CMD ")[2].replace("3000", port)
    with subprocess.Popen(**image.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("vaultwire serves ")
        checked = subprocess.run(**image.command(*json.loads(health)), timeout=PATIENCE, check=False)
        assert checked.returncode == 0
        body = json.dumps({"arguments": {"path": "First", "content": "hello"}}).encode()
        for header, status in (({}, 401), ({"Authorization": f"Bearer {key}"}, 200)):
            assert call(port, body, header) == status
        server.send_signal(signal.Signals[image.last["STOPSIGNAL"]])
        assert server.wait(PATIENCE) == 0
    assert (image.root / "vault" / "First.md").read_text() == "hello"
    assert subprocess.run(**image.command(*json.loads(health)), capture_output=True, check=False).returncode != 0


def test_people_sign_in_to_the_container_at_a_public_address(image: Image) -> None:
    entry = json.loads(image.last["ENTRYPOINT"])
    given = {**image.command(*entry, "people", "add", "Ana"), "stdin": None}
    added = subprocess.run(**given, input="correct horse battery staple\n", text=True, capture_output=True, check=False)
    assert added.returncode == 0, added.stderr
    words = yaml.safe_load(COMPOSE_PUBLIC.read_text())["services"]["vaultwire"]["command"]
    assert words[-1].startswith("https://${VAULTWIRE_NAME")
    words[-1], port = "https://notes.example.org", str(free_port())
    words[words.index("3000")] = port
    with subprocess.Popen(**image.command(*entry, *words), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("vaultwire serves ")
        place = f"http://127.0.0.1:{port}/.well-known/oauth-authorization-server"
        request = urllib.request.Request(place, headers={"Host": "notes.example.org"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert json.load(answer)["issuer"] == "https://notes.example.org"
        server.terminate()
        assert server.wait(PATIENCE) == 0


def call(port: str, body: bytes, headers: dict[str, str]) -> int:
    """Return the status of a call of create_note."""
    url = f"http://127.0.0.1:{port}/bridge/v1/tools/create_note/call"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_image_says_no_secret_and_its_command_is_shell_free(image: Image) -> None:
    for instruction in ("ENTRYPOINT", "CMD"):
        assert isinstance(json.loads(image.last[instruction]), list), shlex.quote(image.last[instruction])
