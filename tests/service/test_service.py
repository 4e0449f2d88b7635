"""``vaultwire service`` with stand-ins for the three service managers, which really start what the file says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.forking import loaded, run
from support.ports import unused_port
from support.service_managers import definition_of_unit, put_on_path, words_of_unit
from support.vaults import write_vault
from vaultwire import service
from vaultwire.service import Job
from vaultwire.trust.keys import Keys

SYSTEMS = ("systemd", "launchd", "task-scheduler")
FILES = {
    "systemd": "home/.config/systemd/user/vaultwire.service",
    "launchd": "home/Library/LaunchAgents/io.github.vaultwire.vaultwire.plist",
    "task-scheduler": "state/vaultwire-task.xml",
}


class Computer:
    """A home, a vault and a service manager of their own."""

    def __init__(self, folder: Path, system: str = "systemd") -> None:
        self.folder = folder
        self.system = system
        self.file = folder / FILES[system]
        self.vault = write_vault(folder / "My $HOME 100% vault", "=== Note.md\nhello\n")
        (folder / "home").mkdir()
        (folder / "managers").mkdir()
        self.environment = {
            "HOME": str(folder / "home"),
            "PATH": put_on_path(folder / "bin"),
            "MANAGER_STATE": str(folder / "managers"),
            "VAULTWIRE_STATE": str(folder / "state"),
            "VAULTWIRE_CACHE": str(folder / "cache"),
        }
        self.port = unused_port()

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = loaded("vaultwire", "service", *words, "--system", self.system)
        return run(command, {**self.environment, **environment}, folder=self.folder)

    def install(self, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run("install", "--vault", str(self.vault), "--port", str(self.port), *more, **environment)

    def close(self) -> None:
        """End what the service manager started."""
        if (self.folder / "managers" / "known.json").exists():
            self.run("remove", "--force")

    def calls(self) -> list[list[str]]:
        path = self.folder / "managers" / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture(autouse=True)
def no_folders_of_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out where this computer's person keeps settings: a computer of the tests has its home for them."""
    for name in [*os.environ]:
        if name.startswith("XDG_"):
            monkeypatch.delenv(name)


@pytest.fixture(params=SYSTEMS)
def computer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Computer]:
    each = Computer(tmp_path, request.param)
    yield each
    each.close()


@pytest.fixture
def linux(tmp_path: Path) -> Iterator[Computer]:
    each = Computer(tmp_path)
    yield each
    each.close()


def files_below(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_a_service_is_installed_answers_and_leaves_nothing(computer: Computer) -> None:
    done = computer.install()
    url = f"http://127.0.0.1:{computer.port}"
    assert (done.returncode, done.stderr) == (0, "")
    assert f"wrote {computer.file}" in done.stdout
    assert f"vaultwire answers at {url}" in done.stdout
    with urllib.request.urlopen(f"{url}/health") as answer:
        assert answer.status == 200
    status = computer.run("status")
    assert status.returncode == 0
    assert status.stdout.startswith(f"running at {url}\n")

    removed = computer.run("remove")
    assert (removed.returncode, removed.stderr) == (0, "")
    assert f"deleted {computer.file}" in removed.stdout
    assert not (computer.folder / "managers" / "known.json").exists()
    assert files_below(computer.folder / "home") == set()
    assert "serve.log" not in files_below(computer.folder / "state")
    assert computer.run("status").returncode == 1
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/health")


def test_a_second_installation_changes_the_options(computer: Computer) -> None:
    assert computer.install().returncode == 0
    refused = computer.install("--require-key")
    assert refused.returncode == 2
    assert "issue one with vaultwire keys issue NAME" in refused.stderr
    Keys(str(computer.folder / "state" / "keys")).issue("phone")
    changed = computer.install("--read-only", "--require-key")
    assert changed.returncode == 0, changed.stderr
    request = urllib.request.Request(f"http://127.0.0.1:{computer.port}/bridge/v1/tools")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request)


def test_a_dry_run_shows_the_file_and_the_commands_and_changes_nothing(computer: Computer) -> None:
    shown = computer.install("--dry-run")
    assert shown.returncode == 0
    assert "Written by 'vaultwire service install'" in shown.stdout
    assert shown.stderr.count("# then: ") >= 2
    assert computer.calls() == []
    assert files_below(computer.folder / "home") == set()
    printed = computer.run("print", "--vault", str(computer.vault), "--port", str(computer.port))
    assert (printed.stdout, printed.stderr) == (shown.stdout, shown.stderr)


def test_a_file_of_somebody_else_stays(computer: Computer) -> None:
    computer.file.parent.mkdir(parents=True, exist_ok=True)
    computer.file.write_text("theirs")
    for refused in (computer.install(), computer.run("remove")):
        assert refused.returncode == 1
        assert "was not written by vaultwire" in refused.stderr
    assert computer.file.read_text() == "theirs"
    assert computer.run("status").returncode == 1
    assert computer.install("--force").returncode == 0


@pytest.mark.parametrize("computer", ["task-scheduler"], indirect=True)
def test_a_log_of_the_persons_choice_stays(computer: Computer) -> None:
    log = computer.folder / "my.log"
    log.write_text("mine\n")
    assert computer.install("--log-file", str(log)).returncode == 0
    assert computer.run("remove").returncode == 0
    assert log.read_text().startswith("mine\n")


@pytest.mark.parametrize("computer", ["task-scheduler"], indirect=True)
def test_a_path_that_the_task_scheduler_would_change_is_refused(computer: Computer) -> None:
    vault = write_vault(computer.folder / "50% %Home% notes", "=== Note.md\nhello\n")
    refused = computer.run("install", "--vault", str(vault), "--port", str(computer.port))
    assert refused.returncode == 1
    assert "would replace the variable" in refused.stderr
    assert computer.calls() == []


def test_a_file_that_was_edited_stays(linux: Computer) -> None:
    assert linux.install().returncode == 0
    edited = linux.file.read_text().replace("RestartSec=5", "RestartSec=50")
    linux.file.write_text(edited)
    for refused in (linux.install(), linux.run("remove")):
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "was edited. Move it away, or" in refused.stderr
    assert linux.file.read_text() == edited
    assert "(edited since install)" in linux.run("status").stdout
    assert linux.run("remove", "--force").returncode == 0


@pytest.mark.parametrize(
    ("computer", "word"), [*zip(SYSTEMS, ("restart", "bootstrap", "/Run"), strict=True)], indirect=["computer"]
)
def test_a_manager_that_refuses_leaves_everything_as_it_was(computer: Computer, word: str) -> None:
    refused = computer.install(MANAGER_REFUSES=word)
    assert refused.returncode == 1
    assert "Failed to connect to bus" in refused.stderr
    assert not computer.file.exists()
    assert not (computer.folder / "managers" / "known.json").exists()

    assert computer.install().returncode == 0
    before = computer.file.read_bytes()
    assert computer.install("--read-only", MANAGER_REFUSES=word).returncode == 1
    assert computer.file.read_bytes() == before


def test_a_computer_without_the_manager_is_told_so(linux: Computer) -> None:
    refused = linux.install(PATH=str(linux.folder))
    assert refused.returncode == 1
    assert refused.stderr == "vaultwire: there is no systemctl on this computer\n"
    assert not linux.file.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--port", "0"), "a port that stays"),
        (("--ide",), "run it in a terminal"),
        (("--tls-key", "key.pem"), "--tls-key needs --tls-cert"),
        (("--allow-host", "a b"), "--allow-host takes"),
    ],
)
def test_options_that_cannot_work_are_refused_before_anything_is_written(
    linux: Computer, options: tuple[str, ...], words: str
) -> None:
    refused = linux.install(*options)
    assert refused.returncode == 2
    assert words in refused.stderr
    assert linux.calls() == []


def test_a_port_that_another_server_has_is_refused(linux: Computer) -> None:
    assert linux.install().returncode == 0
    moved = linux.file.with_name("moved")
    shutil.move(linux.file, moved)
    refused = linux.install()
    assert refused.returncode == 2
    assert "is in use by another program" in refused.stderr
    shutil.move(moved, linux.file)


def test_the_service_gets_the_same_run_whatever_its_folder_and_environment(linux: Computer) -> None:
    """Relative paths become absolute, and what the shell's environment says becomes an option."""
    for name in ("policy.toml", "cert.pem", "key.pem"):
        shutil.copy(Path(__file__).parents[2] / "docs" / "policy.example.toml", linux.folder / name)
    more = (
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
        "--audit",
        "log/",
        "--rate",
        "600",
        "--allow-host",
        "a.example",
    )
    shown = linux.install("--dry-run", *more, VAULTWIRE_POLICY="policy.toml", VAULTWIRE_STRUCTURED="1")
    assert shown.returncode == 0, shown.stderr
    definition = definition_of_unit(shown.stdout)
    given = definition["command"][1:]
    folder = str(linux.folder)
    assert given[0] == "serve"
    pairs = list(zip(given[1:], [*given[2:], ""], strict=True))
    for pair in (
        ("--vault", str(linux.vault)),
        ("--policy", f"{folder}/policy.toml"),
        ("--audit", f"{folder}/log/audit.jsonl"),
        ("--tls-cert", f"{folder}/cert.pem"),
        ("--tls-key", f"{folder}/key.pem"),
        ("--rate", "600"),
        ("--allow-host", "a.example"),
        ("--port", str(linux.port)),
    ):
        assert pair in pairs
    assert "--structured" in given
    assert definition["environment"] == {"VAULTWIRE_CACHE": f"{folder}/cache", "VAULTWIRE_STATE": f"{folder}/state"}
    assert f'ReadWritePaths="-{folder}/log"' in shown.stdout


def test_a_unit_is_confined_to_the_folders_it_changes(linux: Computer) -> None:
    shown = linux.install("--dry-run").stdout
    assert "ProtectSystem=strict\n" in shown
    written = [words_of_unit(line)[0] for line in shown.splitlines() if line.startswith("ReadWritePaths=")]
    assert written == [f"-{folder}" for folder in (linux.vault, linux.folder / "cache", linux.folder / "state")]
    assert "ProtectSystem" not in linux.install("--dry-run", "--no-sandbox").stdout


@pytest.mark.parametrize("program", ["/opt/vaultwire/bin/python", "/tmp/trial/bin/python"])
def test_a_unit_has_a_tmp_of_its_own_unless_something_of_it_is_there(program: str) -> None:
    job = Job((program, "-m", "vaultwire", "serve"), {}, ("/srv/notes",), True, "http://127.0.0.1:4321", "/srv/state")
    unit = service.plan_systemd(job, "/home/ann", "https://example.com").content.decode("utf-8")
    assert ("PrivateTmp=yes\n" in unit) == program.startswith("/opt/")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this system has no systemd")
def test_systemd_finds_no_fault_in_the_unit(linux: Computer) -> None:
    unit = linux.folder / "vaultwire.service"
    unit.write_text(linux.install("--dry-run").stdout)
    checked = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False, timeout=100
    )
    about_ours = [line for line in checked.stderr.splitlines() if str(unit) in line or unit.name in line]
    assert (checked.returncode, about_ours) == (0, [])


def test_a_log_can_go_to_a_file(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\nhello\n")
    refused = subprocess.run(
        [sys.executable, "-m", "vaultwire", "serve", "--vault", vault, "--log-file", tmp_path / "no" / "serve.log"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert refused.returncode == 2
    assert "cannot write the log" in refused.stderr
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "vaultwire",
            "serve",
            "--vault",
            vault,
            "--port",
            "0",
            "--log-file",
            tmp_path / "serve.log",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    while not (tmp_path / "serve.log").exists() or not (tmp_path / "serve.log").read_text():
        assert process.poll() is None
    process.terminate()
    assert process.communicate(timeout=60)[0] == b""
    assert (tmp_path / "serve.log").read_text().startswith("vaultwire serves ")


def test_an_installation_in_a_cache_is_refused(linux: Computer) -> None:
    cache = linux.folder / "uv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", cache / "archive-v0" / "x"], check=True)
    (cache / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    refused = subprocess.run(
        [cache / "archive-v0" / "x" / "bin" / "python", "-m", "vaultwire", "service", "print", "--vault", linux.vault],
        env={**os.environ, **linux.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "this one is in a cache" in refused.stderr
