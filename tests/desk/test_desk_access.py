"""Who may open the desk: codes, cookies, keys, and pages from elsewhere, at a real server."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from support import forking
from support.forking import loaded
from support.serving import Reply, Serving
from support.vaults import write_vault
from vaultwire.desk.access import COOKIE, COOKIE_SECONDS, Access, sign_out
from vaultwire.desk.running import desk_folder, new_code

FORM = {"content_type": "application/x-www-form-urlencoded"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Plan.md\nnobody else's business\n")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "own state"


def run(state: Path, *arguments: str) -> str:
    finished = forking.run(loaded("vaultwire", *arguments), {"VAULTWIRE_STATE": str(state)})
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def serving(vault: Path, state: Path, *options: str) -> Serving:
    return Serving(vault, *options, VAULTWIRE_STATE=str(state))


def link(vault: Path, state: Path) -> str:
    """Return the path and query of a new link."""
    told = json.loads(run(state, "desk", "--vault", str(vault), "--no-browser", "--json"))
    assert told["served_by_this_command"] is False
    where = urlsplit(told["url"])
    return f"{where.path}?{where.query}"


def enter(server: Serving, vault: Path, state: Path) -> str:
    """Open the desk with a link; return the cookie as a header."""
    return cookie_of(server.request("GET", link(vault, state)))


def cookie_of(reply: Reply) -> str:
    assert reply.status == 303, reply
    return reply.headers["set-cookie"].split(";")[0]


def read(server: Serving, cookie: str, **headers: str) -> Reply:
    return server.request("GET", "/desk/api/note?path=Plan.md", None, cookie=cookie, **headers)


def test_a_link_opens_the_desk_once_and_its_cookie_survives_a_restart(vault: Path, state: Path) -> None:
    with serving(vault, state) as server:
        path = link(vault, state)
        first = server.request("GET", path)
        assert (first.status, first.headers["location"]) == (303, "./")
        given = first.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=Strict", "Path=/desk", f"Max-Age={COOKIE_SECONDS}"):
            assert part in given
        cookie = cookie_of(first)
        assert read(server, cookie).status == 200
        second = server.request("GET", path)
        assert (second.status, "set-cookie" in second.headers) == (403, False)
        assert server.end(signal.SIGTERM)[0] == 0
    with serving(vault, state) as server:
        assert read(server, cookie).status == 200
        assert server.request("GET", "/desk/", cookie=cookie).status == 200
        assert run(state, "desk", "--sign-out").startswith("Signed out 1 browser.")
        assert read(server, cookie).status == 401


def test_without_a_cookie_the_page_says_how_to_open_it_and_shows_nothing(vault: Path, state: Path) -> None:
    with serving(vault, state) as server:
        page = server.request("GET", "/desk/")
        assert page.status == 401
        assert b"vaultwire desk" in page.body
        assert b'action="enter"' in page.body
        for route in ("start", "items", "note?path=Plan.md", "events", "file?id=c1&file=0"):
            assert server.request("GET", f"/desk/api/{route}").status == 401, route
        assert read(server, f"{COOKIE}=wrong").status == 401
        assert server.request("POST", "/desk/api/decide", b"{}", origin=server.url).status == 401


def test_a_code_is_for_one_server_and_ten_minutes(vault: Path, state: Path) -> None:
    now = [1e10]
    first, second = Access(str(state), lambda: now[0]), Access(str(state))
    code = new_code(desk_folder(str(state)), first.server)
    assert second.enter_by_code(code) is None
    assert first.enter_by_code(code) is None  # its clock says that it is too late
    fresh = Access(str(state))
    assert fresh.enter_by_code(new_code(desk_folder(str(state)), fresh.server)) is not None


def test_a_cookie_ends_after_thirty_days_and_only_the_latest_are_kept(state: Path) -> None:
    access = Access(str(state))
    cookies = [access.enter_by_code(new_code(desk_folder(str(state)), access.server)) or "" for _ in range(52)]
    assert access.is_cookie(cookies[-1])
    assert sum(map(access.is_cookie, cookies)) == 50
    late = Access(str(state), lambda: time.time() + COOKIE_SECONDS + 1)
    assert not late.is_cookie(cookies[-1])
    assert sign_out(desk_folder(str(state))) == 50


def test_stale_cookies_before_it_do_not_hide_the_persons_own(state: Path) -> None:
    access = Access(str(state))
    cookie = access.enter_by_code(new_code(desk_folder(str(state)), access.server))
    assert cookie is not None
    stale = [f"{COOKIE}={cookie[:-number]}{'x' * number}" for number in range(1, 40)]
    assert access.cookie_in("; ".join([*stale, f"{COOKIE}={cookie}", "a=b"]).encode()) == cookie
    assert access.cookie_in("; ".join(stale).encode()) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_no_folder_of_the_state_is_open_to_others(tmp_path: Path) -> None:
    vault, state = write_vault(tmp_path / "vault", "=== A.md\na\n"), tmp_path / "above" / "state"
    run(state, "keys", "issue", "me", "--desk")
    run(state, "keys", "issue", "agent")
    run(state, "call", "write_note", "path=B", "content=b", "--vault", str(vault))
    folders = [each for each in (state.parent, *state.parent.rglob("*")) if each.is_dir()]
    assert len(folders) > 5
    assert {oct(each.stat().st_mode & 0o777) for each in folders} == {"0o700"}
    for folder in (state, state / "desk"):  # as an earlier version left them
        folder.chmod(0o755)
    Access(str(state))
    assert {oct(each.stat().st_mode & 0o777) for each in (state, state / "desk")} == {"0o700"}


def test_no_secret_is_on_the_disk_in_clear_or_readable_by_others(vault: Path, state: Path) -> None:
    access = Access(str(state))
    code = new_code(desk_folder(str(state)), access.server)
    cookie = access.enter_by_code(code)
    assert cookie is not None
    for path in state.rglob("*"):
        if path.is_file():
            assert code not in path.read_text() + path.name
            assert cookie not in path.read_text() + path.name
            if os.name != "nt":
                assert path.stat().st_mode & 0o077 == 0
    assert os.name == "nt" or Path(desk_folder(str(state))).stat().st_mode & 0o077 == 0


def test_no_line_of_a_log_has_the_code(vault: Path, state: Path) -> None:
    with serving(vault, state, "--log-json") as server:
        path = link(vault, state)
        code = path.partition("code=")[2]
        server.request("GET", path)
        server.request("GET", path)
        _, output, errors = server.end(signal.SIGTERM)
    assert '"/desk/enter"' in errors
    assert code not in output + errors


def test_a_key_of_the_desk_opens_the_desk_only_and_an_agents_key_does_not(vault: Path, state: Path) -> None:
    mine = run(state, "keys", "issue", "me", "--desk").strip()
    theirs = run(state, "keys", "issue", "agent").strip()
    assert run(state, "keys", "list").splitlines()[-1].endswith("for the desk")
    with serving(vault, state, "--require-key") as server:

        def give(key: str, origin: str = server.url) -> Reply:
            return server.request("POST", "/desk/enter", urlencode({"key": key}).encode(), origin=origin, **FORM)

        assert give(theirs).status == 403
        assert give(mine, "http://elsewhere.example").status == 403
        cookie = cookie_of(give(mine))
        assert read(server, cookie).status == 200
        assert server.request("GET", "/bridge/v1/tools", x_api_key=mine).status == 401
        assert server.request("GET", "/bridge/v1/tools", x_api_key=theirs).status == 200
        run(state, "keys", "revoke", "me")
        assert read(server, cookie).status == 401
        assert [give("vw_wrong").status for _ in range(11)][-1] == 403
        assert (
            give(run(state, "keys", "issue", "me", "--desk").strip()).status == 303
        )  # somebody else's tries stop nobody


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_of_another_page_is_refused_with_a_cookie_too(vault: Path, state: Path, site: str) -> None:
    with serving(vault, state) as server:
        cookie = enter(server, vault, state)
        assert read(server, cookie, sec_fetch_site="same-origin").status == 200
        assert read(server, cookie, sec_fetch_site=site).status == 403
        assert read(server, cookie, origin="http://127.0.0.1:1").status == 403
        unused = link(vault, state)
        assert server.request("GET", unused, sec_fetch_site=site).status == 403
        assert server.request("GET", unused).status == 303


def test_a_page_that_may_call_the_server_may_not_use_the_desk(vault: Path, state: Path) -> None:
    with serving(vault, state, "--allow-origin", "https://allowed.example") as server:
        cookie = enter(server, vault, state)
        assert read(server, cookie, origin="https://allowed.example").status == 403


def test_a_post_needs_our_origin_and_the_token(vault: Path, state: Path) -> None:
    with serving(vault, state) as server:
        cookie = enter(server, vault, state)
        token = Access(str(state)).csrf(cookie.partition("=")[2])

        def post(**headers: str) -> int:
            return server.request("POST", "/desk/api/decide", b"[]", cookie=cookie, **headers).status

        assert post(origin=server.url) == 403
        assert post(origin=server.url, x_vaultwire_desk="0" * 64) == 403
        assert post(x_vaultwire_desk=token) == 403
        assert post(origin="http://elsewhere.example", x_vaultwire_desk=token) == 403
        assert post(origin=server.url, x_vaultwire_desk=token) == 400  # it is let in, and is no object


def test_every_answer_has_the_headers_of_a_safe_page(vault: Path, state: Path) -> None:
    with serving(vault, state) as server:
        cookie = enter(server, vault, state)
        for path in ("/desk", "/desk/", "/desk/enter?code=x", "/desk/assets/app.js", "/desk/nothing", "/desk/api/x"):
            headers = server.request("GET", path, cookie=cookie).headers
            policies = headers["content-security-policy"]
            assert "script-src 'self'" in policies
            assert "frame-ancestors 'none'" in policies
            assert headers["x-content-type-options"] == "nosniff", path
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cross-origin-opener-policy"] == "same-origin"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert "permissions-policy" in headers
        assert server.request("GET", "/desk/api/x", cookie=cookie).headers["cache-control"] == "no-store"


def test_a_browser_sends_the_form_for_a_key_with_the_origin_of_its_page(vault: Path, state: Path) -> None:
    with serving(vault, state) as server:
        page = server.request("GET", "/desk/")
        assert b"<form" in page.body
        assert page.headers["referrer-policy"] == "same-origin"  # with "no-referrer" its origin would be "null"


def test_only_the_files_of_the_page_are_served(vault: Path, state: Path) -> None:
    with serving(vault, state) as server:
        script = server.request("GET", "/desk/assets/app.js")
        assert (script.status, script.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
        again = server.request("GET", "/desk/assets/app.js", if_none_match=script.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        for path in ("../access.py", "..%2faccess.py", "%2e%2e/access.py", "/etc/passwd", "", "index.html", "vendor"):
            assert server.request("GET", f"/desk/assets/{path}").status == 404, path


@pytest.mark.parametrize("command", ["desk --no-browser", "serve"])
@pytest.mark.parametrize("port", [65536, 22222222, -1])
def test_a_number_that_is_no_port_is_refused(vault: Path, state: Path, command: str, port: int) -> None:
    spelt = loaded("vaultwire", *command.split(), "--vault", str(vault), f"--port={port}")
    finished = forking.run(spelt, {"VAULTWIRE_STATE": str(state)})
    assert (finished.returncode, finished.stdout) == (2, "")
    assert f"--port must be from 0 (any free one) to 65535, got {port}" in finished.stderr


def test_no_desk_means_no_desk(vault: Path, state: Path) -> None:
    with serving(vault, state, "--no-desk") as server:
        assert server.request("GET", "/desk/").status == 404
