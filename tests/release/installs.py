"""The wheel, installed as docs/install.md says, by pip, pipx and uv, each in an empty home: ``make install-test``.

Not part of ``make test``: it fetches what the program needs from the package index. Prints how long the first answers take.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.vaults import write_vault
from vaultwire import __version__
from vaultwire.cli.demo import StdioClient

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
INSTALLERS = ROOT / ".venv" / "installers" / "bin"
# What a machine needs to reach its package index; nothing else of the person's settings.
KEPT = re.compile(
    r"PIP_(INDEX|EXTRA_INDEX|CERT|CONFIG).*|UV_(DEFAULT_)?INDEX.*|SSL_CERT_.*|\w+_(PROXY|proxy)|LANG|LC_ALL"
)
VAULT = """
=== Garden.md
Tomatoes go to the south wall.
=== Projects/Shelf.md
Oak.
"""


class Home:
    """An empty home, and what is run in it."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self.wheel = wheel
        self.vault = str(write_vault(folder / "Notes", VAULT))
        system = [str(folder / ".local" / "bin"), str(INSTALLERS), os.path.dirname(sys.executable), "/usr/bin", "/bin"]
        self.environment = {
            **{name: value for name, value in os.environ.items() if KEPT.fullmatch(name)},
            "HOME": str(folder),
            "PATH": os.pathsep.join(system),
            # Beside uv, pipx would use it. Most people's pipx uses pip.
            "PIPX_DEFAULT_BACKEND": "pip",
        }

    def run(self, command: str, *, shell: bool = False) -> str:
        """Run a command, or several lines of a shell; ``WHEEL`` is the wheel. Return what it prints."""
        text = command.replace("WHEEL", shlex.quote(str(self.wheel)))
        ended = subprocess.run(
            ["sh", "-ec", text] if shell else shlex.split(text),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, f"{text}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def first_answers(self, command: list[str]) -> tuple[float, float]:
        """Start the server as a client does, search, and return the milliseconds to both answers, from the start on."""
        command[0] = shutil.which(command[0], path=self.environment["PATH"]) or command[0]
        start = time.perf_counter()
        with StdioClient(command, self.environment) as client:
            hello, to_initialize = client.initialize()
            assert hello["serverInfo"]["version"] == __version__
            found, _ = client.call("search_notes", {"query": "tomatoes"})
            to_search = (time.perf_counter() - start) * 1000
        assert "Garden.md" in json.dumps(found)
        return to_initialize, to_search

    def entry(self, vaultwire: str) -> list[str]:
        """Return the command that the program gives a client."""
        printed = self.run(f"{vaultwire} client-config cursor --vault {shlex.quote(self.vault)}")
        server = json.loads(printed)["mcpServers"]["vaultwire"]
        return [server["command"], *server["args"]]

    def doctor(self, vaultwire: str) -> dict[str, Any]:
        printed = self.run(f"{vaultwire} doctor --json --vault {shlex.quote(self.vault)}")
        environment: dict[str, Any] = json.loads(printed)["environment"]
        return environment


class Way(NamedTuple):
    """A way to install: its heading on the page, how the program is then called, and how doctor names the way."""

    heading: str
    vaultwire: str
    name: str


WAYS = [
    Way("With pip", "vaultwire", "pip"),
    Way("With pipx", "vaultwire", "pipx"),
    Way("With uv", "vaultwire", "uv tool"),
    Way("Without installing", "uvx --from WHEEL vaultwire", "uvx"),
]


def block(heading: str) -> str:
    """Return the first commands below a heading of the page."""
    found = re.search(rf"^#+ {re.escape(heading)}\n.*?^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, heading
    return found[1]


def build_wheel(source: Path, into: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", into], cwd=source, check=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a wheel")  # with a space, as in a person's folders
    build_wheel(ROOT, folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def home(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in os.environ:
        if name.startswith(("VAULTWIRE_", "UV", "PIPX_", "XDG_", "PYTHON")):
            monkeypatch.delenv(name)
    return Home(tmp_path, wheel)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_new_user_gets_an_answer(way: Way, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    start = time.perf_counter()
    printed = home.run(block(way.heading), shell=True)
    seconds = time.perf_counter() - start
    assert home.run(f"{way.vaultwire} --version") == f"vaultwire {__version__}\n"
    assert "\nDone." in (printed if way.name == "uvx" else home.run(f"{way.vaultwire} demo"))
    entry = home.entry(way.vaultwire)
    assert ".cache" not in "".join(entry[:-1])
    to_initialize, to_search = home.first_answers(entry)
    # Nothing lies anywhere but in this home.
    assert (home.folder / ".cache" / "vaultwire").is_dir()
    with capsys.disabled():
        sys.stdout.write(
            f"\n{way.name}: installed in {seconds:.1f} s; from the start of the server to initialize {to_initialize:.0f} ms, "
            f"to the first search {to_search:.0f} ms "
        )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_an_extra_is_added_as_doctor_prints_it(way: Way, home: Home) -> None:
    if way.name != "uvx":
        home.run(block(way.heading), shell=True)
    environment = home.doctor(way.vaultwire)
    assert environment["installed_with"] == way.name
    command = environment["extras"]["pdf"]
    assert "pypdf" in command
    if way.name == "uvx":  # this is the new start of the program, and its settings keep the extra
        assert home.doctor(command)["extras"]["pdf"] == ""
        assert "--with" in home.entry(command)
        return
    home.run(command, shell=True)
    assert home.doctor(way.vaultwire)["extras"]["pdf"] == ""
    assert home.doctor(way.vaultwire)["extras"]["images"] != ""


def test_a_clients_entry_still_starts_when_the_cache_is_emptied(home: Home) -> None:
    entry = home.entry("uvx --from WHEEL vaultwire")
    home.run("uv cache clean")
    home.first_answers(entry)


def test_pipx_can_run_it_from_its_cache_too(home: Home) -> None:
    environment = home.doctor("pipx run --spec WHEEL vaultwire")
    assert environment["installed_with"] == "pipx run"
    entry = home.entry(environment["extras"]["pdf"])
    shutil.rmtree(home.folder / ".cache" / "pipx")
    home.first_answers(entry)
    assert home.doctor(shlex.join(entry[: entry.index("stdio")]))["extras"]["pdf"] == ""


@pytest.mark.parametrize(
    ("heading", "added"), [("With uv", "--force"), ("With pipx", "--force"), ("With pip", "--upgrade")]
)
def test_a_new_wheel_is_installed_over_the_old_one(heading: str, added: str, home: Home, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    version = source / "src" / "vaultwire" / "__init__.py"
    version.write_text(version.read_text(encoding="utf-8").replace(__version__, "987.6"), encoding="utf-8")
    home.run(block(heading), shell=True)
    build_wheel(source, tmp_path)
    (home.wheel,) = tmp_path.glob("*.whl")
    lines = [line for line in block(heading).splitlines() if "WHEEL" in line]
    home.run(lines[0].replace(" install ", f" install {added} "), shell=True)
    assert home.run("vaultwire --version") == "vaultwire 987.6\n"


def test_what_is_installed_can_be_removed(home: Home) -> None:
    removal = block("Uninstall").splitlines()
    for way, line in zip(["With uv", "With pipx", "With pip"], removal, strict=True):
        home.run(block(way), shell=True)
        assert (home.folder / ".local" / "bin" / "vaultwire").exists()
        home.run(line, shell=True)
        assert not (home.folder / ".local" / "bin" / "vaultwire").is_symlink()
