"""PDFs and text files in searches: which are found, what is shown of them, and what is never read or told."""

from __future__ import annotations

import json
import os
import random
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.calls import call
from support.command_line import run_command
from support.pdfs import pdf
from support.static_model import DIMENSIONS, write_model
from support.vaults import write_vault
from support.waiting import wait_for
from vaultwire.app.engine import load_policy, open_vault
from vaultwire.config import ATTACHMENTS_VARIABLE, make_config
from vaultwire.vault.attachment_texts.attachment_texts import AttachmentTexts, compared
from vaultwire.vault.attachment_texts.reading import MOST_CHARACTERS, attachment_pages, pdf_text
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault

VAULT = """
=== Note.md
A note about tomatoes, with ![[Files/Guide.pdf]].
=== Files/data.csv
plant,days
tomato,80
Möhre,70
=== Files/program.log
started
nothing else
=== Board.canvas
{"nodes":[{"id":"a","type":"text","text":"tomatoes on a card","x":0,"y":0,"width":1,"height":1}],"edges":[]}
"""
GUIDE = ("Growing vegetables\nA guide", "Tomatoes need warmth\nand full", "sun. Peppers, too", "Tomatoes, tomatoes")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_vault(tmp_path / "vault", VAULT)
    (root / "Files" / "Guide.pdf").write_bytes(pdf(*GUIDE))
    return root


def opened(root: Path, **options: Any) -> Vault:
    """Return the engine as the program opens it, with all attachments read."""
    config = make_config(str(root), **options)
    vault = open_vault(config, loaded=load_policy(config))
    texts_of(vault).read_changed(NO_PROGRESS)
    return vault


def texts_of(vault: Vault) -> AttachmentTexts:
    texts = vault._bench.attachment_texts
    assert texts is not None
    return texts


def search(vault: Vault, query: str, **options: Any) -> list[str]:
    """Return the paths of the attachments that a search shows."""
    return [each["path"] for each in call(vault, "search_notes", query=query, **options).data.get("attachments", ())]


def test_a_pdf_is_found_with_its_page_and_lines_as_they_are_read(root: Path) -> None:
    vault = opened(root)
    outcome = call(vault, "search_notes", query="tomatoes")
    assert {note["path"] for note in outcome.data["notes"]} == {"Note.md", "Board.canvas"}
    (hit,) = outcome.data["attachments"]
    assert (hit["path"], hit["kind"], hit["page"], hit["more_pages"]) == ("Files/Guide.pdf", "pdf", 4, [2])
    lines = call(vault, "read_note", path="Files/Guide.pdf").texts[0].split("\n")
    for match in hit["matches"]:
        assert lines[match["line"] - 1] == match["text"]
    assert "1 attachment matches:\nFiles/Guide.pdf, page 4 of 4 (also 2)\n  " in outcome.texts[0]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("tomato", ["Files/data.csv", "Files/Guide.pdf"]),
        ("TOMATO days", ["Files/data.csv"]),
        ("mohre", ["Files/data.csv"]),
        ("Möhre", ["Files/data.csv"]),
        ("omat", ["Files/data.csv", "Files/Guide.pdf"]),
        ('"full sun"', []),  # on two pages
        ('"warmth and"', ["Files/Guide.pdf"]),  # on two lines
        ('"armth and"', []),
        ("warmth peppers", ["Files/Guide.pdf"]),  # on two pages of one file
        ("tomato -warmth", ["Files/data.csv"]),
        ("warmth OR days", ["Files/data.csv", "Files/Guide.pdf"]),
        ("guide", ["Files/Guide.pdf"]),
        ("file:guide tomatoes", ["Files/Guide.pdf"]),
        ("path:files days", ["Files/data.csv"]),
        ("-file:guide tomato", ["Files/data.csv"]),
        ("content:guide", ["Files/Guide.pdf"]),
        ("content:data", []),
        ("line:(tomato 80)", ["Files/data.csv"]),
        ("line:(tomato 70)", []),
        ("/tom[a-z]+,\\d+/", ["Files/data.csv"]),
        ("match-case:TOMATO", []),
        ("match-case:Tomato", ["Files/Guide.pdf"]),
        ("80", ["Files/data.csv"]),
        ("tag:#tomato", []),
        ("task:tomato", []),
        ("[plant]", []),
        ("nothing days", []),
        ("What do I know about peppers?", ["Files/Guide.pdf"]),
    ],
)
def test_queries_find_attachments_as_they_find_notes(root: Path, query: str, paths: list[str]) -> None:
    assert sorted(search(opened(root), query)) == sorted(paths)


def test_a_caller_may_leave_attachments_out(root: Path) -> None:
    outcome = call(opened(root), "search_notes", query="tomatoes", attachments=False)
    assert "attachments" not in outcome.data
    assert "attachment" not in outcome.texts[0]


def test_one_variable_turns_it_off(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(ATTACHMENTS_VARIABLE, "off")
    vault = open_vault(make_config(str(root)))
    assert vault.attachment_texts() is None
    assert search(vault, "tomatoes") == []
    assert not list(tmp_path.rglob("attachments.sqlite3"))


def test_a_folder_limits_what_is_found(root: Path) -> None:
    (root / "Other").mkdir()
    (root / "Other" / "x.txt").write_text("tomato")
    assert search(opened(root), "tomato", folder="Other") == ["Other/x.txt"]


def test_hidden_and_excluded_attachments_are_nowhere(root: Path, tmp_path: Path) -> None:
    for folder in ("Private", "Archive"):
        (root / folder).mkdir()
        (root / folder / "secret.txt").write_text("tomato zebra")
        (root / folder / "secret.pdf").write_bytes(pdf("tomato zebra"))
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "app.json").write_text('{"userIgnoreFilters": ["Archive/"]}')
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["Private/"]\n')
    everyone, limited = opened(root), opened(root, policy=str(policy))
    assert sorted(search(everyone, "zebra")) == ["Private/secret.pdf", "Private/secret.txt"]
    assert search(limited, "zebra") == search(limited, "secret") == []
    assert "ebra" not in str(call(limited, "search_notes", query="tomato").data)
    before = call(limited, "search_notes", query="tomato").data["attachments"]
    for file in (root / "Private").iterdir():
        file.unlink()
    # What is hidden counts nowhere: without it all numbers are the same.
    assert call(limited, "search_notes", query="tomato").data["attachments"] == before
    for place in (tmp_path / "cache").glob("*/attachments.sqlite3"):
        store = b"".join(file.read_bytes() for file in place.parent.glob("attachments.sqlite3*"))
        assert (b"zebra" in store) is ("-" not in place.parent.name.partition("-")[2])


def test_only_changed_files_are_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = opened(root)
    before = texts_of(vault)._store.files()
    (root / "Files" / "data.csv").write_text("zebra,1\n")
    (root / "Files" / "program.log").unlink()
    assert search(vault, "zebra") == search(vault, "days") == []  # what was there is never shown as if it still were
    texts_of(vault).read_changed(NO_PROGRESS)
    after = texts_of(vault)._store.files()
    assert after[VaultPath("Files/Guide.pdf")] == before[VaultPath("Files/Guide.pdf")]
    assert sorted(after) == ["Files/Guide.pdf", "Files/data.csv"]
    assert search(vault, "zebra") == ["Files/data.csv"]
    assert search(vault, "days") == []


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\nrubbish", pdf("x", "y")[:300], os.urandom(2000)])
def test_a_broken_pdf_is_told_and_not_read_again(root: Path, data: bytes) -> None:
    (root / "broken.pdf").write_bytes(data)
    vault = opened(root)
    assert search(vault, "tomatoes") == ["Files/Guide.pdf"]
    (notice,) = call(vault, "vault_overview").data["stats"]["notices"][-1:]
    assert "1 attachment is not searched, or only in part: broken.pdf: " in notice
    number = texts_of(vault)._store.files()[VaultPath("broken.pdf")].id
    texts_of(vault).read_changed(NO_PROGRESS)
    assert texts_of(vault)._store.files()[VaultPath("broken.pdf")].id == number


def test_a_pdf_that_unpacks_to_gigabytes_is_ended_and_the_rest_is_read(root: Path) -> None:
    text = b"BT /F1 10 Tf 40 780 Td (" + b"a" * 300_000_000 + b") Tj ET"
    packed = zlib.compress(text, 9)
    whole = pdf("x")
    start, end = whole.index(b"<< /Length"), whole.index(b"endstream")
    bomb = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\n" % (len(packed), packed)
    (root / "bomb.pdf").write_bytes(whole[:start] + bomb + whole[end:])
    vault = opened(root)
    assert search(vault, "peppers") == ["Files/Guide.pdf"]
    assert any("bomb.pdf" in notice for notice in call(vault, "vault_overview").data["stats"]["notices"])


def test_sizes_are_told(root: Path) -> None:
    outcome = call(opened(root), "vault_overview")
    numbers = outcome.data["stats"]["attachment_texts"]
    assert (numbers["files"], numbers["pages"], numbers["not_read_yet"]) == (3, 6, 0)
    assert numbers["bytes"] > 0
    assert "3 attachments with text can be searched: 6 pages, " in outcome.texts[0]


def test_what_is_not_read_yet_is_told(root: Path) -> None:
    vault = open_vault(make_config(str(root)))
    outcome = call(vault, "search_notes", query="days")
    assert outcome.data["attachments_unread"] == 3
    assert "(3 attachments not read yet; a running server reads them)" in outcome.texts[0]


def test_long_texts_are_read_in_parts_and_up_to_a_bound() -> None:
    generator = random.Random(os.environ["VAULTWIRE_SEED"])
    lines = ["".join(generator.choices("abc dé\r", k=generator.choice((0, 3, 90, 9000)))) for _ in range(200)]
    text = "\n".join(lines)
    read = attachment_pages("x.txt", text.encode(), NO_PROGRESS)
    assert read is not None
    normal = text.replace("\r\n", "\n")
    assert "".join(page.text for page in read.pages) == normal
    place = 0
    for page in read.pages:
        assert page.first_line == normal.count("\n", 0, place) + 1
        place += len(page.text)
    long = attachment_pages("x.txt", b"a" * (MOST_CHARACTERS + 1), NO_PROGRESS)
    assert long is not None
    assert (sum(len(page.text) for page in long.pages), len(long.problems)) == (MOST_CHARACTERS, 1)
    assert attachment_pages("x.bin", b"ab\0c", NO_PROGRESS) is None


def test_the_process_that_reads_a_pdf_loads_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pypdf.py").write_text("raise SystemExit('not this one')")
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert "--- page 1 of 1 ---\nx" in pdf_text("x.pdf", pdf("x"), NO_PROGRESS).text


@contextmanager
def served(vault: Vault) -> Iterator[threading.Event]:
    """Run the vault's loop as a server does. The event is set whenever the index has applied changes."""
    changed = threading.Event()
    loop = threading.Thread(target=vault.run_watch_loop, args=(lambda *_: changed.set(),))
    loop.start()
    try:
        yield changed
    finally:
        vault.close()
        texts_of(vault).close()
        loop.join()


def test_a_server_reads_in_the_background_and_follows_changes(root: Path) -> None:
    vault = open_vault(make_config(str(root)))
    with served(vault):
        wait_for(lambda: search(vault, "peppers") == ["Files/Guide.pdf"])
        (root / "Files" / "new.txt").write_text("zebra")
        wait_for(lambda: search(vault, "zebra") == ["Files/new.txt"])


def test_damaged_files_of_the_index_are_made_again(root: Path, tmp_path: Path) -> None:
    opened(root).close()
    (place,) = (tmp_path / "cache").glob("*/attachments.sqlite3")
    place.write_bytes(b"no database" * 1000)
    opened(root)
    assert search(opened(root), "peppers") == ["Files/Guide.pdf"]


def test_random_texts_are_found_as_a_look_into_each_finds_them(root: Path) -> None:
    generator = random.Random(os.environ["VAULTWIRE_SEED"])
    texts = {}
    for number in range(30):
        words = ["".join(generator.choices("abÄé日本", k=generator.randint(1, 4))) for _ in range(40)]
        texts[f"R/{number}.txt"] = "".join(word + generator.choice(" \n") for word in words)
    (root / "R").mkdir()
    for path, text in texts.items():
        (root / path).write_text(text)
    vault = opened(root)
    for _ in range(60):
        sought = "".join(generator.choices("abaeä日", k=generator.randint(1, 4)))
        expected = {path for path, text in texts.items() if compared(sought) in compared(text)}
        data = call(vault, "search_notes", query=sought, folder="R", limit=100).data
        assert {each["path"] for each in data.get("attachments", ())} == expected, sought


def test_explain_says_why_an_attachment_is_where_it_is(root: Path) -> None:
    outcome = call(opened(root), "search_notes", query="tomatoes guide", explain="hits")
    (guide,) = outcome.data["attachments"]
    assert [(part["what"], part["where"]) for part in guide["parts"]] == [("tomatoes", "text"), ("guide", "file")]
    assert round(sum(part["score"] for part in guide["parts"])) == guide["score"]
    assert guide["parts"][0]["times"] == 2
    assert "  why: " in outcome.texts[0]
    plain = call(opened(root), "search_notes", query="tomatoes guide").data["attachments"]
    assert "parts" not in plain[0]


def test_a_command_finds_what_a_server_has_read_and_says_what_waits(root: Path) -> None:
    opened(root)
    (root / "Files" / "new.csv").write_text("tomato,late")
    done = run_command("search", "tomato", "--json", "--vault", str(root))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {each["path"] for each in found["attachments"]} == {"Files/Guide.pdf", "Files/data.csv"}
    assert found["attachments_unread"] == 1


def test_the_doctor_tells_the_sizes_of_attachments_and_vectors(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(root)
    model = write_model(tmp_path / "model")
    with closing(opened(root, meaning=str(model))) as vault:
        assert vault.near("tomatoes", "", only=True) is not None
    monkeypatch.setenv("VAULTWIRE_MEANING", str(model))
    done = run_command("doctor", "--json", "--vault", str(root))
    report = json.loads(done.stdout)
    texts = report["attachment_texts"]
    assert (texts["files"], texts["pages"], texts["not_read_yet"]) == (3, 6, 0)
    assert texts["bytes"] > 1_000
    assert report["by_meaning"] == {"embedded": 1, "notes": 1, "bytes": 2 * DIMENSIONS, "problem": None}
    said = run_command("doctor", "--vault", str(root)).stdout
    assert "text of attachments: 3 files, 6 pages, " in said
    assert "by meaning: 1 of 1 notes, 32 bytes of vectors" in said
    (model / "tokenizer.json").unlink()
    broken = run_command("doctor", "--vault", str(root)).stdout
    assert "search by meaning does not work: " in broken
    monkeypatch.delenv("VAULTWIRE_MEANING")
    plain = json.loads(run_command("doctor", "--json", "--vault", str(root)).stdout)
    assert plain["by_meaning"] is None
