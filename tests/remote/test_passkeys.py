"""Passkeys: made by an address that counts once, and used to sign in, in a real browser and by an authenticator in software."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from support.authenticator import PRESENT, Authenticator
from support.chromium import in_browser, open_tab
from support.serving import Serving
from support.sign_in import PASSWORD, URL, Connecting
from support.vaults import write_vault
from vaultwire.cli import main
from vaultwire.remote import people
from vaultwire.remote.people import PasskeyRefused, Passkeys, can_have_passkeys
from vaultwire.remote.store import Store

HOST = URL.removeprefix("https://")
ABOUT = b"one request"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "state" / "sign-in"))) as opened:
        people.add(opened, "Ana", PASSWORD)
        yield opened


@pytest.fixture
def passkeys(store: Store) -> Passkeys:
    return Passkeys(store, URL)


def enrolled(store: Store, passkeys: Passkeys, **options: int) -> Authenticator:
    authenticator = Authenticator(URL, HOST, **options)
    code = store.new_enrolment("Ana")
    assert passkeys.add(code, authenticator.make(passkeys.creation(code))) == "Ana"
    return authenticator


def refused(run: Callable[[], object]) -> str:
    with pytest.raises(PasskeyRefused) as refusal:
        run()
    return str(refusal.value)


def test_a_passkey_signs_in_as_often_as_there_is_a_new_challenge(store: Store, passkeys: Passkeys) -> None:
    authenticator = enrolled(store, passkeys)
    options = passkeys.request(ABOUT)
    assert (options["rpId"], options["userVerification"]) == (HOST, "required")
    assert passkeys.verify(ABOUT, authenticator.sign(options)) == "Ana"
    assert passkeys.verify(ABOUT, authenticator.sign(passkeys.request(ABOUT))) == "Ana"


def test_an_answer_counts_once(store: Store, passkeys: Passkeys) -> None:
    authenticator = enrolled(store, passkeys, counts=0)
    answer = authenticator.sign(passkeys.request(ABOUT))
    passkeys.verify(ABOUT, answer)
    assert "sent before" in refused(lambda: passkeys.verify(ABOUT, answer))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"origin": "https://evil.example"}, "is wrong"),
        ({"origin": f"{URL}.evil.example"}, "is wrong"),
        ({"origin": f"https://sub.{HOST}"}, "is wrong"),
        ({"origin": f"{URL}:8443"}, "is wrong"),
        ({"origin": f"http://{HOST}"}, "is wrong"),
        ({"rp_id": "evil.example"}, "is wrong"),
        ({"rp_id": "example.org"}, "is wrong"),
        ({"flags": PRESENT}, "is wrong"),  # nobody unlocked the device
        ({"flags": 4}, "is wrong"),  # nobody was there
        ({"kind": "webauthn.create"}, "is wrong"),
        ({"signature": b"made up"}, "is wrong"),
        ({"challenge": "AAAA"}, "open for too long"),
        ({"challenge": "A" * 75}, "open for too long"),
        ({"count": 0}, "was copied"),
    ],
)
def test_an_answer_with_one_thing_wrong_does_not_count(
    store: Store, passkeys: Passkeys, wrong: dict[str, Any], why: str
) -> None:
    authenticator = enrolled(store, passkeys)
    assert why in refused(lambda: passkeys.verify(ABOUT, authenticator.sign(passkeys.request(ABOUT), **wrong)))
    authenticator.count = 9
    assert passkeys.verify(ABOUT, authenticator.sign(passkeys.request(ABOUT))) == "Ana"


def test_a_challenge_is_for_its_request_its_purpose_its_server_and_ten_minutes(tmp_path: Path, store: Store) -> None:
    clock = [1000.0]
    passkeys = Passkeys(store, URL, lambda: clock[0])
    authenticator = enrolled(store, passkeys)
    other = authenticator.sign(passkeys.request(b"another request"))
    assert "open for too long" in refused(lambda: passkeys.verify(ABOUT, other))
    code = store.new_enrolment("Ana")
    swapped = authenticator.sign(passkeys.creation(code))
    assert "open for too long" in refused(lambda: passkeys.verify(code.encode(), swapped))
    with closing(Store(str(tmp_path / "another"))) as another:
        foreign = authenticator.sign(Passkeys(another, URL, lambda: clock[0]).request(ABOUT))
    assert "open for too long" in refused(lambda: passkeys.verify(ABOUT, foreign))
    late = authenticator.sign(passkeys.request(ABOUT))
    clock[0] += 600
    assert "open for too long" in refused(lambda: passkeys.verify(ABOUT, late))


def test_a_copied_passkey_is_found_out_by_its_counter(store: Store, passkeys: Passkeys) -> None:
    authenticator = enrolled(store, passkeys)
    for _ in range(3):
        passkeys.verify(ABOUT, authenticator.sign(passkeys.request(ABOUT)))
    authenticator.count -= 1
    assert "was copied" in refused(lambda: passkeys.verify(ABOUT, authenticator.sign(passkeys.request(ABOUT))))


def test_wrong_answers_for_a_passkey_are_limited(store: Store, passkeys: Passkeys) -> None:
    authenticator, other = enrolled(store, passkeys), enrolled(store, passkeys)
    for _ in range(10):
        refused(lambda: passkeys.verify(ABOUT, authenticator.sign(passkeys.request(ABOUT), signature=b"x")))
    assert "Too many" in refused(lambda: passkeys.verify(ABOUT, authenticator.sign(passkeys.request(ABOUT))))
    assert passkeys.verify(ABOUT, other.sign(passkeys.request(ABOUT))) == "Ana"


def test_an_address_makes_one_passkey_within_an_hour(tmp_path: Path) -> None:
    clock = [1000.0]
    with closing(Store(str(tmp_path / "sign-in"), lambda: clock[0])) as store:
        people.add(store, "Ana", PASSWORD)
        people.add(store, "Ben", PASSWORD)
        passkeys = Passkeys(store, URL)
        first, second = Authenticator(URL, HOST), Authenticator(URL, HOST)
        code = store.new_enrolment("ana")
        answers = [each.make(passkeys.creation(code)) for each in (first, second)]
        assert passkeys.add(code, answers[0]) == "Ana"
        assert "was used" in refused(lambda: passkeys.add(code, answers[1]))
        assert "was used" in refused(lambda: passkeys.creation(code))
        late = store.new_enrolment("Ana")
        answer = second.make(passkeys.creation(late))
        of_ben = store.new_enrolment("Ben")
        assert "open for too long" in refused(lambda: passkeys.add(of_ben, answer))  # it was made for Ana
        clock[0] += 3600
        assert "older than an hour" in refused(lambda: passkeys.add(late, answer))
        assert store.count_passkeys() == 1
        for wrong in ({"origin": "https://evil.example"}, {"rp_id": "evil.example"}, {"flags": PRESENT}):
            code = store.new_enrolment("Ana")
            spoilt = second.make(passkeys.creation(code), **wrong)
            assert "is wrong" in refused(partial(passkeys.add, code, spoilt))
        assert store.count_passkeys("Ana") == 1
        store.remove_person("Ana")
        assert store.count_passkeys() == 0
        assert "does not know" in refused(lambda: passkeys.verify(ABOUT, first.sign(passkeys.request(ABOUT))))


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "x",
        "[]",
        "{}",
        '{"rawId": 7}',
        '{"rawId": "!"}',
        "[" * 5000,
        '{"rawId": "AAAA", "response": {"clientDataJSON": "e30"}}',
    ],
)
def test_an_answer_of_any_shape_is_refused_in_words(store: Store, passkeys: Passkeys, answer: str) -> None:
    enrolled(store, passkeys)
    assert refused(lambda: passkeys.verify(ABOUT, answer))
    assert refused(lambda: passkeys.add(store.new_enrolment("Ana"), answer))


def test_parts_of_an_answer_may_be_anything(store: Store, passkeys: Passkeys) -> None:
    authenticator = enrolled(store, passkeys)
    values: list[Any] = [None, 7, "", "AA", [], {}]
    for part in ("authenticatorData", "signature", "clientDataJSON"):
        for value in values:
            answer = json.loads(authenticator.sign(passkeys.request(ABOUT)))
            answer["response"][part] = value
            with pytest.raises(PasskeyRefused):
                Passkeys(store, URL).verify(ABOUT, json.dumps(answer))


def test_an_address_of_numbers_has_no_passkeys() -> None:
    assert can_have_passkeys(URL)
    assert can_have_passkeys("http://localhost:3000")
    assert not can_have_passkeys("http://127.0.0.1:3000")


def test_the_commands_print_an_address_and_remove_passkeys(
    tmp_path: Path,
    store: Store,
    passkeys: Passkeys,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))
    assert main(["people", "passkey", "Ana"]) == 1
    assert "no public URL yet" in capsys.readouterr().err
    store.set_url(URL)
    assert main(["people", "passkey", "Nobody"]) == 1
    assert "nobody named Nobody" in capsys.readouterr().err
    assert main(["people", "passkey", "ana"]) == 0
    address = capsys.readouterr().out.strip()
    assert store.enrolling(address.removeprefix(f"{URL}/passkey#")) == "Ana"
    enrolled(store, passkeys)
    assert main(["people", "list"]) == 0
    assert capsys.readouterr().out.endswith("\t1 passkey\n")
    assert main(["people", "passkey", "Ana", "--remove"]) == 0
    assert "Removed: 1 passkey of Ana" in capsys.readouterr().out
    assert main(["people", "passkey", "Ana", "--remove"]) == 1
    assert store.count_passkeys() == 0


# ---------------------------------------------------------------------- over HTTP, and in a browser


@pytest.fixture
def at_home(tmp_path: Path, store: Store) -> Iterator[Serving]:
    """Yield a server whose public URL is one of this computer, as browsers make passkeys without TLS there only."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    vault = write_vault(tmp_path / "vault", "=== Note.md\nthe secret text\n")
    options = ("--public-url", f"http://localhost:{port}", "--port", str(port), "--log-json")
    with Serving(vault, *options, VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        yield server


def test_over_http_a_passkey_leads_to_the_page_of_consent(at_home: Serving, store: Store) -> None:
    url = f"http://localhost:{at_home.port}"
    client = Connecting(at_home, url=url)
    client.register()
    address = client.request()
    page = client.send("GET", address)
    assert b"<script" not in page.body  # nobody has a passkey yet
    code = store.new_enrolment("Ana")
    authenticator = Authenticator(url, "localhost")

    def post(**fields: str) -> Any:
        return client.submit("/passkey", **fields)

    made = authenticator.make(post(step="begin", code=code).json)
    assert post(step="add", code=code, answer=made).json == {"person": "Ana"}
    again = post(step="add", code=code, answer=made)
    assert (again.status, again.json["error"]) == (403, "access_denied")
    assert client.send("POST", "/passkey", b"step=begin", origin="https://evil.example").status == 403
    page = client.send("GET", address)
    assert re.search("script-src 'sha256-[^']+'; connect-src 'self'", page.headers["content-security-policy"])
    assert len(re.findall(b"<script", page.body)) == 1
    asked = re.search(r'data-options="([^"]+)"', page.body.decode())
    assert asked is not None
    answer = authenticator.sign(json.loads(unescape(asked[1])))
    other = client.request(state="other")
    assert client.submit(other, step="passkey", answer=answer).status == 403
    consent = client.submit(address, step="passkey", answer=answer)
    assert b"Ana, what may claude.ai do?" in consent.body
    assert b"<script" not in consent.body
    assert client.allow(address, consent).status == 303
    assert client.submit(address, step="passkey", answer=answer).status == 403
    assert client.send("GET", "/passkey/x").status == 404
    _, output, errors = at_home.end(15)
    assert "Ana has a new passkey" in errors
    assert code not in output + errors


@in_browser
def test_a_person_makes_a_passkey_and_signs_in_with_it_in_a_browser(at_home: Serving, store: Store) -> None:
    url = f"http://localhost:{at_home.port}"
    client = Connecting(at_home, url=url)
    client.register()
    with open_tab() as tab:
        tab.add_authenticator()
        code = store.new_enrolment("Ana")
        tab.resize(360, 700)
        tab.go(f"{url}/passkey#{code}")
        tab.wait_for("!document.getElementById('passkey').hidden")
        tab.shoot("passkey")
        tab.click("#passkey")
        tab.wait_for("document.getElementById('said').textContent.includes('Ana can sign in')")
        assert not any(code in address for address in tab.requested if "#" not in address)
        assert store.count_passkeys("Ana") == 1
        address = client.request()
        tab.go(url + address)
        tab.wait_for("!document.getElementById('passkey').hidden")
        tab.shoot("sign-in-with-passkey")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.click("#passkey")
        tab.wait_for_title("Ana, what may claude.ai do?")
        ticket = tab.evaluate("document.querySelector('[name=ticket]').value")
        allowed = client.submit(address, step="allow", ticket=ticket, access="read", days="30")
        assert allowed.headers["location"].startswith("https://claude.ai/")
        tab.go(f"{url}/passkey#{code}")
        tab.wait_for("!document.getElementById('passkey').hidden")
        tab.click("#passkey")
        tab.wait_for("document.getElementById('said').textContent.includes('This address was used')")
