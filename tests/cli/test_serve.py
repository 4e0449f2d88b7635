"""``vaultwire serve`` and ``vaultwire keys`` as a person and a shell see them: one line, an exit code, a good end."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import forking
from support.command_line import run_command
from support.forking import loaded
from support.serving import PATIENCE, Reply, Serving, stage
from support.vaults import write_vault
from support.waiting import wait_for

STOP_SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\nhello\n")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return forking.run(loaded("vaultwire", *arguments), environment)


def assert_cannot_start(finished: subprocess.CompletedProcess[str], *words: str) -> None:
    """Check that a command ended with one line for a person."""
    assert finished.returncode == 2, finished.stderr
    assert finished.stdout == ""
    assert finished.stderr.startswith("vaultwire: ")
    assert finished.stderr.count("\n") == 1, finished.stderr
    for word in words:
        assert word in finished.stderr


# ---------------------------------------------------------------------- start and end


def test_a_server_says_in_one_line_where_it_is(vault: Path) -> None:
    with Serving(vault) as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        assert server.request("GET", "/health").status == 200
        assert server.end(signal.SIGTERM) == (0, "", "")


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_stop_signal_ends_an_idle_server_well(vault: Path, number: signal.Signals) -> None:
    with Serving(vault) as server, server.connect(), server.connect() as used:
        used.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert used.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert server.end(number) == (0, "", "")


def test_a_server_that_was_started_with_nohup_outlives_its_terminal(vault: Path) -> None:
    command = ["nohup", sys.executable, "-m", "vaultwire", "serve"]
    with Serving(vault, command=command) as server:
        server.process.send_signal(signal.SIGHUP)
        assert server.request("GET", "/health").status == 200
        assert server.end(signal.SIGTERM)[0] == 0


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


class Calling:
    """A call of the tool that waits at a pipe, under way."""

    def __init__(self, server: Serving, fifo: Path) -> None:
        self.reply: Reply | None = None
        self._thread = threading.Thread(target=self._call, args=(server, fifo))
        self._thread.start()
        self.pipe = _open_for_reader(fifo)  # the tool has it open: the call has begun

    def _call(self, server: Serving, fifo: Path) -> None:
        self.reply = server.call("wait", {"fifo": str(fifo)})

    def finish(self, text: str) -> Reply:
        os.write(self.pipe, text.encode())
        os.close(self.pipe)
        self._thread.join(PATIENCE)
        assert self.reply is not None
        return self.reply


def _open_for_reader(fifo: Path) -> int:
    return os.open(fifo, os.O_WRONLY)


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_stop_signal_lets_the_call_in_flight_be_answered(vault: Path, fifo: Path, number: signal.Signals) -> None:
    with stage(vault) as server:
        call = Calling(server, fifo)
        server.process.send_signal(number)
        wait_for(lambda: _is_refused(server.port))  # no more connections are taken, but that one stays
        assert call.finish("done").json == {"success": True, "content": [{"type": "text", "text": "done"}]}
        assert server.process.wait(PATIENCE) == 0


def _is_refused(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(PATIENCE)
        return probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


def test_a_call_that_never_ends_holds_up_the_end_for_a_bounded_time(vault: Path, fifo: Path) -> None:
    with stage(vault, "--limits", '{"grace": 1}') as server, server.connect() as connection:
        body = f'{{"arguments": {{"fifo": "{fifo}"}}}}'
        head = f"POST /bridge/v1/tools/wait/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body.encode())
        pipe = _open_for_reader(fifo)
        code, _, errors = server.end(signal.SIGTERM)
        os.close(pipe)
        assert (code, errors) == (0, "")


def test_a_second_signal_does_not_wait(vault: Path, fifo: Path) -> None:
    with stage(vault) as server, server.connect() as connection:
        body = f'{{"arguments": {{"fifo": "{fifo}"}}}}'
        head = f"POST /bridge/v1/tools/wait/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body.encode())
        pipe = _open_for_reader(fifo)
        server.process.send_signal(signal.SIGINT)
        wait_for(lambda: _is_refused(server.port))
        server.process.send_signal(signal.SIGINT)
        server.process.wait(20)  # the call would take 30 s, the server's patience 65
        os.close(pipe)


def test_the_index_is_left_in_order_and_another_server_takes_it_up(vault: Path) -> None:
    for _ in range(2):
        with Serving(vault) as server:
            assert "Note.md" in server.call("search_notes", {"query": "hello"}).body.decode()
            assert server.end(signal.SIGTERM)[0] == 0


# ---------------------------------------------------------------------- what keeps it from starting


def test_a_port_in_use_is_one_clear_line(vault: Path) -> None:
    with Serving(vault) as server:
        finished = run("serve", "--vault", str(vault), "--port", str(server.port))
    assert_cannot_start(finished, f"port {server.port} is in use", "--port")


def test_a_port_of_the_systems_is_one_clear_line_or_works(vault: Path) -> None:
    floor = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
    if not floor.exists() or int(floor.read_text()) <= 1 or os.geteuid() == 0:
        pytest.skip("every port is anybody's here")
    assert_cannot_start(run("serve", "--vault", str(vault), "--port", "1"), "no permission", "--port")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "192.0.2.1"], ["192.0.2.1", "--host"]),
        (["--host", "no such host"], ["no such host", "--host"]),
        (["--host", "nowhere.invalid"], ["nowhere.invalid", "--host"]),
        (["--port", "65536"], ["--port", "65535"]),
        (["--port", "-1"], ["--port"]),
        (["--tls-key", "key.pem"], ["--tls-cert"]),
        (["--tls-cert", "nowhere.pem"], ["nowhere.pem", "no such file"]),
        (["--tls-cert", "."], ["it is no file"]),
        (["--tls-cert", __file__], ["PEM", __file__]),
        (["--allow-host", "http://x"], ["--allow-host"]),
        (["--allow-origin", "example.org"], ["--allow-origin"]),
        (["--allow-origin", "https://example.org/"], ["--allow-origin"]),
        (["--allow-origin", "*"], ["--allow-origin"]),
        (["--require-key"], ["vaultwire keys issue"]),
        (["--host", "0.0.0.0"], ["0.0.0.0", "vaultwire keys issue"]),
        (["--vault", "/nowhere/at/all"], ["/nowhere/at/all does not exist"]),
    ],
)
def test_what_cannot_work_is_one_clear_line(vault: Path, tmp_path: Path, options: list[str], words: list[str]) -> None:
    given = ["serve", "--vault", str(vault), "--port", "0", *options]
    assert_cannot_start(run(*given, VAULTWIRE_STATE=str(tmp_path / "state")), *words)


def test_keys_that_cannot_be_read_are_one_clear_line(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "keys").write_text("no folder")
    finished = run("serve", "--vault", str(vault), "--port", "0", VAULTWIRE_STATE=str(tmp_path / "state"))
    assert_cannot_start(finished, "cannot read the keys", "keys")


def test_a_port_that_is_no_number_shows_the_usage(vault: Path) -> None:
    finished = run("serve", "--vault", str(vault), "--port", "http")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "usage: vaultwire serve" in finished.stderr


# ---------------------------------------------------------------------- in the open


def test_a_server_in_the_open_wants_a_key_warns_and_answers_to_addresses(vault: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    issued = run_command("keys", "issue", "phone", VAULTWIRE_STATE=state)
    key = issued.stdout.strip()
    with Serving(vault, "--host", "0.0.0.0", VAULTWIRE_STATE=state) as server:
        assert server.request("GET", "/bridge/v1/health").status == 401
        assert server.request("GET", "/bridge/v1/health", x_api_key=key).status == 200
        assert server.request("GET", "/bridge/v1/health", x_api_key=key, host="192.0.2.7").status == 200
        assert server.request("GET", "/bridge/v1/health", x_api_key=key, host="evil.example").status == 421
        _, _, errors = server.end(signal.SIGTERM)
    assert "--tls-cert" in errors
    assert errors.count("\n") == 1


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_a_server_on_ipv6_says_so(vault: Path) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    with Serving(vault, "--host", "::1") as server:
        assert server.url == f"http://[::1]:{server.port}"
        with socket.create_connection(("::1", server.port)) as connection:
            connection.sendall(f"GET /health HTTP/1.1\r\nHost: [::1]:{server.port}\r\n\r\n".encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


# ---------------------------------------------------------------------- TLS


@pytest.mark.parametrize("in_one_file", [False, True])
def test_a_server_with_a_certificate_serves_over_tls(
    vault: Path, make_certificate: Callable[..., tuple[str, str]], tmp_path: Path, in_one_file: bool
) -> None:
    certificate, key = make_certificate()
    options = ["--tls-cert", certificate, "--tls-key", key]
    if in_one_file:
        both = tmp_path / "both.pem"
        both.write_text(Path(key).read_text() + Path(certificate).read_text())
        options = ["--tls-cert", str(both)]
    with Serving(vault, *options) as server:
        assert server.url.startswith("https://")
        server.trusting = ssl.create_default_context(cafile=certificate)
        body = b'{"arguments": {"path": "Note"}}'
        own = f"https://localhost:{server.port}"
        reply = server.request("POST", "/bridge/v1/tools/read_note/call", body, origin=own)
        assert reply.json["success"] is True
        # A page that came without TLS may come from somebody in between.
        worse = own.replace("https", "http")
        assert server.request("POST", "/bridge/v1/tools/read_note/call", body, origin=worse).status == 403
        server.trusting = ssl.create_default_context()
        with pytest.raises(ssl.SSLCertVerificationError):
            server.request("GET", "/health")
        assert server.end(signal.SIGTERM) == (0, "", "")


def test_a_key_that_does_not_fit_is_one_clear_line(
    vault: Path, make_certificate: Callable[..., tuple[str, str]]
) -> None:
    certificate, _ = make_certificate()
    _, key = make_certificate()
    finished = run("serve", "--vault", str(vault), "--port", "0", "--tls-cert", certificate, "--tls-key", key)
    assert_cannot_start(finished, "does not belong", certificate, key)


def test_a_key_with_a_password_is_one_clear_line(vault: Path, make_certificate: Callable[..., tuple[str, str]]) -> None:
    certificate, key = make_certificate(b"password")
    finished = run("serve", "--vault", str(vault), "--port", "0", "--tls-cert", certificate, "--tls-key", key)
    assert_cannot_start(finished, "password", key)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everybody may read everything here")
def test_a_key_that_may_not_be_read_is_one_clear_line(
    vault: Path, make_certificate: Callable[..., tuple[str, str]]
) -> None:
    certificate, key = make_certificate()
    os.chmod(key, 0)
    finished = run("serve", "--vault", str(vault), "--port", "0", "--tls-cert", certificate, "--tls-key", key)
    assert_cannot_start(finished, "permission denied", key)


# ---------------------------------------------------------------------- keys


@pytest.fixture
def state(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "state"
    yield str(folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_keys_are_issued_listed_and_revoked(state: str) -> None:
    issued = run_command("keys", "issue", "phone", VAULTWIRE_STATE=state)
    assert issued.returncode == 0
    key = issued.stdout.strip()
    assert issued.stdout == f"{key}\n"  # nothing else: it can be piped
    assert "once" in issued.stderr
    listed = run_command("keys", "list", VAULTWIRE_STATE=state)
    assert listed.stdout.startswith("phone\tsince ")
    assert key not in listed.stdout
    assert run_command("keys", "revoke", "phone", VAULTWIRE_STATE=state).returncode == 0
    assert run_command("keys", "list", VAULTWIRE_STATE=state).stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["issue", "../x"], "not a name for a key"), (["revoke", "nobody"], "no key named nobody")],
)
def test_a_key_that_cannot_be_is_one_clear_line(state: str, arguments: list[str], words: str) -> None:
    finished = run_command("keys", *arguments, VAULTWIRE_STATE=state)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert words in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_name_in_use_shows_no_key(state: str) -> None:
    run_command("keys", "issue", "phone", VAULTWIRE_STATE=state)
    again = run_command("keys", "issue", "phone", VAULTWIRE_STATE=state)
    assert (again.returncode, again.stdout) == (1, "")
    assert "already" in again.stderr
