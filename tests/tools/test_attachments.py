"""Attachments as a model sees them: listed with their uses, and shown: pictures, recordings, PDFs, texts."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from support.calls import attempt, call, refusal
from support.pdfs import pdf
from support.refusals import refused
from support.vaults import open_vault, write_vault
from vaultwire.tools.attachments import MOST_SHOWN_BYTES
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.attachment_texts.reading import pdf_text
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    CANNOT_SHOW,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    TOO_LARGE,
    Stopped,
    VaultError,
)
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress
from vaultwire.vault.vault import Vault

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)

VAULT = """
=== Trip.md
![[photo.png]] and ![plan](Files/plan%20b.pdf), [[sound.mp3]]
=== Sub/Other.md
---
cover: "[[photo.png]]"
---
![[Files/photo.png|300]]
=== Archive/Old.md
![[old.png]]
=== Board.canvas
{"nodes":[{"id":"a","type":"file","file":"Files/in canvas.png","x":0,"y":0,"width":1,"height":1},
{"id":"b","type":"text","text":"![[in card.png]]","x":0,"y":0,"width":1,"height":1}],"edges":[]}
=== Files/data.csv
a,b\n1,2
=== Files/plan b.pdf
=== Files/old.png
=== Files/in card.png
=== Files/in canvas.png
=== Files/nobody's.png
=== Files/sound.mp3
=== .obsidian/app.json
{"userIgnoreFilters": ["Archive/"]}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_vault(tmp_path / "vault", VAULT)
    (root / "Files" / "photo.png").write_bytes(PNG)
    return root


@pytest.fixture
def vault(root: Path) -> Vault:
    return open_vault(root)


def picture(side: int, form: str = "PNG") -> bytes:
    """Return a picture that no format makes small."""
    written = io.BytesIO()
    Image.effect_noise((side, side), 100).convert("RGB").save(written, form)
    return written.getvalue()


# ---------------------------------------------------------------------- listing


def test_attachments_are_listed_with_what_uses_them(vault: Vault) -> None:
    outcome = call(vault, "list_attachments")
    used = {each["path"]: (each["kind"], each["users"]) for each in outcome.data["attachments"]}
    assert used == {
        "Board.canvas": ("canvas", []),
        "Files/data.csv": ("other", []),
        "Files/in canvas.png": ("image", ["Board.canvas"]),
        "Files/in card.png": ("image", ["Board.canvas"]),
        "Files/nobody's.png": ("image", []),
        "Files/old.png": ("image", ["Archive/Old.md"]),  # in a note that Obsidian's own rules exclude
        "Files/photo.png": ("image", ["Sub/Other.md", "Trip.md"]),
        "Files/plan b.pdf": ("pdf", ["Trip.md"]),
        "Files/sound.mp3": ("audio", ["Trip.md"]),
    }
    assert "Files/photo.png (28 bytes), in Sub/Other.md, Trip.md" in outcome.texts[0].splitlines()
    assert "Files/nobody's.png (0 bytes), unused" in outcome.texts[0].splitlines()


def test_unused_attachments_of_a_kind_and_a_folder(vault: Vault) -> None:
    def paths(**arguments: Any) -> list[str]:
        return [each["path"] for each in call(vault, "list_attachments", **arguments).data["attachments"]]

    assert (
        call(vault, "list_attachments", used="unused", kind="image").texts[0].startswith("1 unused attachment, 0 bytes")
    )
    assert paths(used="unused", kind="image") == ["Files/nobody's.png"]
    assert paths(used="used", kind="pdf") == ["Files/plan b.pdf"]
    assert paths(folder="Sub") == []
    assert paths(sort="size", folder="Files", limit=1) == ["Files/photo.png"]


def test_a_list_of_attachments_has_pages(vault: Vault) -> None:
    first = call(vault, "list_attachments", limit=4)
    second = call(vault, "list_attachments", limit=9, cursor=first.data["next_cursor"])
    paths = [each["path"] for page in (first, second) for each in page.data["attachments"]]
    assert paths == sorted(paths)
    assert len(paths) == first.data["total"] == second.data["total"] == 9


def test_a_canvas_that_cannot_be_read_is_named(root: Path, vault: Vault) -> None:
    (root / "Broken.canvas").write_text("{")
    assert any("Broken.canvas" in notice for notice in call(vault, "list_attachments").data["notices"])


def test_uses_in_notes_that_may_not_be_seen_are_not_told_and_said_to_be_possible(root: Path) -> None:
    vault = open_vault(root, rules=PathRules(deny=(Rule("deny", "/Trip.md", 1),)))
    outcome = call(vault, "list_attachments", kind="pdf")
    assert outcome.data["attachments"][0]["users"] == []
    assert "Trip" not in outcome.texts[0]
    assert "may not be seen" in outcome.texts[0]


def test_a_folder_without_notes_says_which_other_files_it_has(root: Path, vault: Vault) -> None:
    assert call(vault, "list_notes", folder="Files").texts[0].splitlines() == [
        "0 notes in Files.",
        "8 other files there: list_attachments shows them.",
    ]
    assert call(vault, "find_notes", folder="Files").texts[0].splitlines()[1:] == [
        "8 other files there: list_attachments shows them."
    ]
    assert "other files" not in call(vault, "find_notes", folder="Files", name="x").texts[0]
    (root / "Empty").mkdir()
    assert call(vault, "list_notes", folder="Empty").texts[0] == "0 notes in Empty."


# ---------------------------------------------------------------------- showing


@pytest.mark.parametrize("name", ["photo.png", "Files/photo.png", "![[photo.png|300]]", "files/PHOTO.PNG"])
def test_a_picture_is_shown(vault: Vault, name: str) -> None:
    outcome = call(vault, "read_note", path=name)
    assert outcome.more == [{"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}]
    assert outcome.texts == [f"(Files/photo.png, image/png, 28 bytes, etag {outcome.data['etag']})"]
    assert (outcome.data["path"], outcome.data["content"]) == ("Files/photo.png", "")


def test_several_pictures_are_shown_beside_notes_as_far_as_there_is_room(root: Path, vault: Vault) -> None:
    outcome = call(vault, "read_notes", paths=["photo.png"])
    assert [block["type"] for block in outcome.more] == ["image"]
    (root / "large.png").write_bytes(PNG + bytes(MOST_SHOWN_BYTES - len(PNG)))
    outcome = call(vault, "read_notes", paths=["Trip", "photo.png", "data.csv", "large.png", "none.png"])
    assert [block["data"] for block in outcome.more] == [base64.b64encode(PNG).decode()]
    assert [one.get("error") for one in outcome.data["notes"]] == [None, None, None, TOO_LARGE, FILE_NOT_FOUND]
    assert "![[photo.png]]" in outcome.texts[1]


def test_a_recording_is_played(root: Path, vault: Vault) -> None:
    (root / "Files" / "sound.mp3").write_bytes(b"ID3 la la")
    (block,) = call(vault, "read_note", path="sound.mp3").more
    assert block == {"type": "audio", "data": base64.b64encode(b"ID3 la la").decode(), "mimeType": "audio/mpeg"}
    (root / "Files" / "sound.mp3").write_bytes(bytes(MOST_SHOWN_BYTES + 1))
    code, message = refusal(vault, "read_note", path="sound.mp3")
    assert code == TOO_LARGE
    assert (str(MOST_SHOWN_BYTES) in message, str(MOST_SHOWN_BYTES + 1) in message) == (True, True)


def test_text_is_read_as_text(vault: Vault) -> None:
    outcome = call(vault, "read_note", path="data.csv")
    assert outcome.texts[0] == "a,b\n1,2\n"
    assert call(vault, "read_note", path="data.csv", lines="2").data["content"] == "1,2\n"
    assert refusal(vault, "read_note", path="data.csv", section="A")[0] == INVALID_ARGUMENTS


def test_what_is_neither_text_nor_shown_is_refused_with_its_size(root: Path, vault: Vault) -> None:
    (root / "film.mp4").write_bytes(bytes(1500))
    (root / "thing.zip").write_bytes(b"PK\0\xff")
    for name, size in (("film.mp4", "1.5 KB"), ("thing.zip", "4 bytes")):
        code, message = refusal(vault, "read_note", path=name)
        assert code == CANNOT_SHOW
        assert size in message


def test_a_note_whose_name_looks_like_that_of_a_file_comes_before_files_elsewhere(root: Path, vault: Vault) -> None:
    write_vault(root, "=== node.js.md\nthe note\n=== Files/node.js\nthe file\n=== photo.png.md\nabout the photo\n")
    assert call(vault, "read_note", path="node.js").texts[0] == "the note\n"
    assert call(vault, "read_note", path="Files/node.js").texts[0] == "the file\n"
    assert call(vault, "read_note", path="photo.png").more
    assert call(vault, "read_note", path="photo.png.md").texts[0] == "about the photo\n"


def test_a_name_of_several_attachments_or_of_none_is_an_error(root: Path, vault: Vault) -> None:
    (root / "Sub" / "photo.png").write_bytes(PNG)
    assert refusal(vault, "read_note", path="photo.png")[0] == AMBIGUOUS_NAME
    assert refusal(vault, "read_note", path="none.png")[0] == FILE_NOT_FOUND


def test_a_picture_that_may_not_be_seen_is_none(root: Path) -> None:
    vault = open_vault(root, rules=PathRules(deny=(Rule("deny", "*.png", 1),)))
    hidden, none = (attempt(vault, "read_note", path=name) for name in ("photo.png", "ghost.png"))
    assert str(hidden).replace("photo", "ghost") == str(none)


@pytest.mark.parametrize("form", ["PNG", "BMP", "JPEG"])
def test_a_large_picture_is_shown_smaller(root: Path, vault: Vault, form: str) -> None:
    data = picture(1200, form)
    name = f"large.{'jpg' if form == 'JPEG' else form.lower()}"
    (root / name).write_bytes(data)
    assert len(data) > MOST_SHOWN_BYTES
    outcome = call(vault, "read_note", path=name)
    (block,) = outcome.more
    shown = base64.b64decode(block["data"])
    assert len(shown) <= MOST_SHOWN_BYTES
    assert block["mimeType"] == "image/jpeg"
    with Image.open(io.BytesIO(shown)) as small:
        assert max(small.size) <= 1568
    assert "shown smaller" in outcome.texts[0]
    assert (root / name).read_bytes() == data


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\nrubbish", picture(900)[:-5000]])
def test_a_damaged_picture_that_must_be_made_smaller_is_an_error(root: Path, vault: Vault, data: bytes) -> None:
    (root / "broken.bmp").write_bytes(data)
    assert refusal(vault, "read_note", path="broken.bmp")[0] == CANNOT_SHOW


def test_only_pictures_are_opened_as_such(root: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)  # for this one the library starts a program
    (root / "page.bmp").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
    )
    assert refusal(vault, "read_note", path="page.bmp")[0] == CANNOT_SHOW


def test_a_picture_that_unpacks_to_gigabytes_is_refused(root: Path, vault: Vault) -> None:
    written = io.BytesIO()
    Image.new("L", (9_000, 9_000)).save(written, "PNG")
    (root / "huge.bmp").write_bytes(written.getvalue())
    assert "too many to show" in refusal(vault, "read_note", path="huge.bmp")[1]


def test_without_the_extras_the_error_says_how_to_install_them(root: Path) -> None:
    (root / "large.png").write_bytes(PNG + bytes(MOST_SHOWN_BYTES))
    (root / "plan.pdf").write_bytes(pdf("x"))
    script = (
        "import sys\nsys.modules['PIL'] = sys.modules['pypdf'] = None\n"
        f"from support.vaults import open_vault\nfrom support.calls import refusal\nfrom pathlib import Path\n"
        f"vault = open_vault(Path({str(root)!r}))\n"
        "for name in ('large.png', 'plan.pdf'):\n    print(*refusal(vault, 'read_note', path=name))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    large, plan = run.stdout.splitlines()
    assert large.startswith("TOO_LARGE")
    assert "To add it: python -m pip install 'pillow>=12'" in large
    assert str(MOST_SHOWN_BYTES) in large
    assert plan.startswith("NOT_INSTALLED")
    assert "To add it: python -m pip install 'pypdf<8,>=7.1'" in plan


# ---------------------------------------------------------------------- PDF


def test_a_pdf_is_read_as_text_page_by_page(root: Path, vault: Vault) -> None:
    (root / "Files" / "plan b.pdf").write_bytes(pdf("The plan\nin two lines", "The end"))
    outcome = call(vault, "read_note", path="plan b.pdf")
    text = "--- page 1 of 2 ---\nThe plan\nin two lines\n\n--- page 2 of 2 ---\nThe end\n"
    assert outcome.data["content"] == outcome.texts[0] == text
    assert call(vault, "read_note", path="plan b.pdf", lines="5-6").data["content"] == "--- page 2 of 2 ---\nThe end\n"


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.4\nrubbish", pdf("x", "y")[:300], pdf("x").replace(b"/Kids [", b"/Kids [2 0 R ")]
)
def test_a_malformed_pdf_is_an_error_and_nothing_more(
    root: Path, vault: Vault, data: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    (root / "Files" / "plan b.pdf").write_bytes(data)
    code, message = refusal(vault, "read_note", path="plan b.pdf")
    assert (code, "'Files/plan b.pdf' cannot be read as a PDF: " in message) == (CANNOT_SHOW, True)
    assert capfd.readouterr().err == ""


def test_a_pdf_of_pictures_says_so(root: Path, vault: Vault) -> None:
    (root / "Files" / "plan b.pdf").write_bytes(pdf(""))
    assert "perhaps its pages are pictures" in call(vault, "read_note", path="plan b.pdf").data["problems"][0]


def test_a_pdf_is_read_until_its_time_is_over() -> None:
    read = pdf_text("x.pdf", pdf(*["some words\n" * 50] * 50), NO_PROGRESS, seconds=0)
    assert len(read.text) < 50 * 50 * len("some words\n")
    assert read.problems == [f"only the first {read.text.count('--- page')} pages were read in 0 seconds"]


def test_reading_a_pdf_stops_when_its_caller_goes() -> None:
    class _Gone(NoProgress):
        def check(self) -> None:
            raise Stopped

    with pytest.raises(Stopped):
        pdf_text("x.pdf", pdf(*["some words\n" * 50] * 50), _Gone())


def test_the_error_of_a_pdf_is_one_of_ours() -> None:
    assert refused(pdf_text, "x.pdf", b"%PDF-", NO_PROGRESS) == CANNOT_SHOW
    with pytest.raises(VaultError, match="cannot be read as a PDF"):
        pdf_text("x.pdf", pdf("x")[:100], NO_PROGRESS)
