"""Vault paths: what a caller may name, how names are compared, and which new names are allowed. Pure: the disk is not asked.

A path that cannot lie in a vault on some system is refused on every system, because vaults are synced between systems.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from string import ascii_letters

from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, PATH_OUTSIDE_VAULT, PERMISSION_DENIED, VaultError
from vaultwire.vault.value_types import VaultPath

NOTE_SUFFIX = ".md"
CANVAS_SUFFIX = ".canvas"
BASE_SUFFIX = ".base"
IGNORE_FILE = ".vaultwireignore"
TRASH = ".trash"  # Obsidian's own folder for "Move to Obsidian trash"

# https://learn.microsoft.com/windows/win32/fileio/naming-a-file: devices, with anything after the first dot.
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789¹²³"]
)
_DRIVE = re.compile(r".:")  # for Windows any character is a drive's letter
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Obsidian refuses these in a new name on every system. The other characters that Windows forbids fail only there.
_NOT_IN_NEW_NAMES = re.compile(r'[:<>"|?*]')
_SAFE = dict.fromkeys(":/\\|", "-") | dict.fromkeys("*?<>#^", "") | {'"': "'", "[": "(", "]": ")"}
# "v1.2 release" has no file extension, "data.csv" has one.
_EXTENSION = re.compile(r"\.(?:[A-Za-z][A-Za-z0-9]{0,4}|canvas)$", re.IGNORECASE)
_RESCUED = re.compile(r" \(saved meanwhile, [0-9]+-[0-9]+\)(?=(?:\.[^./]*)?\Z)", re.IGNORECASE)
# The extension stays where a name is cut.
_ENDING = re.compile(r"(?<=[^. ])\.[A-Za-z0-9]{1,6}\Z")
# NTFS and FAT also find an entry by a short name of their own: ``PRIVAT~1`` for ``Private notes``.
_SHORT_NAME = re.compile(r"(?=[^.]{1,8}(?:\.|\Z))[^.~]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?\Z")
# By such a name a file system may find an entry that has another one: a short name, on Windows one with spaces or dots at its
# end or with a stream after a colon, on HFS+ and folders of ext4 that ignore case one with characters that are not shown
# (Unicode's Default_Ignorable_Code_Point).
_NOT_SHOWN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SECOND_NAME = re.compile(rf"~|[. ]\Z|:|{_NOT_SHOWN.pattern}")
# Names that no file system finds under another spelling, not counting what _SECOND_NAME finds.
_PLAIN = re.compile(r"[0-9 _.,()+-]+")
_SWAPPED = str.maketrans(ascii_letters, ascii_letters.swapcase())
# The longest name of most file systems, in UTF-8 bytes (ext4, APFS; NTFS counts UTF-16 units and allows more).
MAX_NAME_BYTES = 255


def parse_path(text: str) -> VaultPath:
    """Return the text as a vault path: ``/`` between parts, extension and Unicode form as given.

    The Unicode form stays, because two notes may differ in nothing else; names are compared by ``fold``.
    Raises VaultError: PATH_OUTSIDE_VAULT for a path that could leave the vault, PERMISSION_DENIED for hidden parts,
    INVALID_ARGUMENTS for a text that is no name.
    """
    if _CONTROL.search(text):
        raise VaultError(PATH_OUTSIDE_VAULT, "A path may not contain NUL or other control characters.", path=text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise VaultError(INVALID_ARGUMENTS, "A path must be valid Unicode text.") from None
    # Checked in the Unicode form of new names: composing turns a few characters into ASCII ones.
    slashed = text.replace("\\", "/")
    composed = compose(slashed)
    if composed.startswith("/") or _DRIVE.match(composed):
        raise VaultError(
            PATH_OUTSIDE_VAULT,
            f"{text!r} is an absolute path; give a path inside the vault, such as 'Folder/Note.md'.",
            path=text,
        )
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    if parts and _DRIVE.match(compose(parts[0])):  # the rest of "./K:"
        raise VaultError(
            PATH_OUTSIDE_VAULT, f"{text!r} names a drive; give a path inside the vault, such as 'Note.md'.", path=text
        )
    if not parts:
        raise VaultError(INVALID_ARGUMENTS, "The path is empty; give one inside the vault, such as 'Folder/Note.md'.")
    for part in parts:
        _check_part(compose(part), text)
    return VaultPath("/".join(parts))


def _check_part(part: str, whole: str) -> None:
    if part == "..":
        raise VaultError(PATH_OUTSIDE_VAULT, f"{whole!r} leaves the vault: '..' is not allowed.", path=whole)
    if part.split(".", 1)[0].rstrip(" ").casefold() in _RESERVED:
        message = f"{part!r} is a reserved device name on Windows; choose another name."
        raise VaultError(PATH_OUTSIDE_VAULT, message, path=whole)
    if part.startswith("."):
        raise VaultError(
            PERMISSION_DENIED,
            f"{whole!r} is hidden: files and folders whose name starts with '.' are not notes.",
            path=whole,
        )


def parse_note_path(text: str) -> VaultPath:
    """Return the path of a note to write: as ``parse_path`` does, with ``.md``.

    Raises VaultError as ``parse_path`` does, and INVALID_ARGUMENTS for a folder or another kind of file.
    """
    path = parse_path(text.strip())
    if text.rstrip().endswith(("/", "\\")):
        raise VaultError(INVALID_ARGUMENTS, f"{text!r} names a folder; give the note's name too.")
    if not is_note(path):
        if _EXTENSION.search(path):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{text!r} is not a Markdown note. Notes end in '.md'; if this is a note's name, write '{path}.md'.",
            )
        path = VaultPath(path + NOTE_SUFFIX)
    return path


def says_folder(name: str) -> bool:
    """Tell whether a new name says in which folder the file is to be: it has a slash."""
    return "/" in name.strip() or "\\" in name


def is_rooted(name: str) -> bool:
    """Tell whether a name is ``/Name``: right in the vault's own folder. A longer path that begins so is an absolute one."""
    rest = name.strip()[1:].rstrip("/")
    return name.strip().startswith("/") and bool(rest) and not says_folder(rest)


def place_of(name: str, usual: str) -> tuple[str, str]:
    """Return the folder in which a new name lies, ``""`` for the vault's own, and the name, which may be a path in it.

    The one rule for new names: a name alone goes to the ``usual`` folder (of a note that moves, its own; of a new note, the one
    that the person has set), ``/Name`` to the vault's own folder, and ``Folder/Name`` is a path from there.
    """
    if is_rooted(name):
        return "", name.strip()[1:]
    return ("" if says_folder(name) else usual), name


def check_new_names(parts: list[str]) -> None:
    """Raise VaultError (INVALID_ARGUMENTS) for a *new* name that not every system can store."""
    for part in parts:
        odd = dict.fromkeys(_NOT_IN_NEW_NAMES.findall(part))
        if odd:
            raise VaultError(
                INVALID_ARGUMENTS,
                f"A new name may not contain {' or '.join(map(repr, odd))}: it cannot be stored on every system.",
            )
        if part.endswith((".", " ")) or part.startswith(" "):
            raise VaultError(
                INVALID_ARGUMENTS, f"{part!r} starts or ends with a space or ends with a dot; Windows cannot store it."
            )
        if _SHORT_NAME.match(part):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{part!r} has the form of a short name, by which Windows may find a file or folder with a longer name. "
                "Choose a name without '~' and a number.",
            )
        if len(part.encode()) > MAX_NAME_BYTES:
            raise VaultError(
                INVALID_ARGUMENTS, f"A name may have at most {MAX_NAME_BYTES} bytes; {part[:40]!r}… is longer."
            )


def rescued_name(name: str, mark: str) -> str:
    """Return the name for the version of the file ``name`` that another program saved during a change of it."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem} (saved meanwhile, {mark}){dot}{ending}"


def original_of_rescued(path: str) -> str | None:
    """Return the path of the file that this is a rescued version of (``rescued_name``), None for any other file."""
    found = _RESCUED.search(path)
    return None if found is None else path[: found.start()] + path[found.end() :]


def safe_name(text: str) -> str:
    """Return the file name closest to the text that every system can store and every link can name.

    Separators become ``-``, other characters that some system forbids are left out. A name that is too long is cut before
    its extension. If nothing is left, the name is ``Untitled``, Obsidian's own name for a new note.
    """
    text = compose(text.encode("utf-8", "ignore").decode())  # without halves of surrogate pairs
    text = " ".join(_CONTROL.sub(" ", text).split())
    extension = _ENDING.search(text)
    ending = extension[0] if extension else ""
    name = compose("".join(_SAFE.get(character, character) for character in text.removesuffix(ending)))
    name = " ".join(name.split()).lstrip(". ").rstrip(". ")
    head, dot, rest = name.partition(".")
    if head.rstrip(" ").casefold() in _RESERVED:
        name = f"{head.rstrip(' ')}_{dot}{rest}"
    if _SHORT_NAME.match(name) or _SHORT_NAME.match(name + ending):
        name = name.replace("~", "-")
    room = MAX_NAME_BYTES - len(ending.encode() or NOTE_SUFFIX)
    name = name.encode()[:room].decode("utf-8", "ignore").rstrip(". ")
    return (name or "Untitled") + ending


def may_be_second_name(part: str) -> bool:
    """Tell whether some file system may find an entry of another name by this one, not counting case and Unicode form."""
    return _SECOND_NAME.search(part) is not None


@lru_cache(maxsize=1024)
def other_spellings(part: str) -> tuple[str, ...] | None:
    """Return spellings that a file system that ignores case, Unicode form or characters that are not shown takes for this name.

    None where no other spelling would tell whether it is such a file system; empty where none has another spelling.
    """
    visible = _NOT_SHOWN.sub("", part)
    if not visible or may_be_second_name(visible):
        return None
    if _PLAIN.fullmatch(part):
        return ()
    # ASCII letters alone: there are file systems that ignore the case of no others.
    swapped = part.translate(_SWAPPED)
    spellings = {swapped if swapped != part else part.swapcase()}
    if not part.isascii():
        spellings |= {unicodedata.normalize("NFC", part), unicodedata.normalize("NFD", part)}
    return tuple(sorted((spellings | {visible}) - {part})) or None


def folder_of_setting(text: str) -> str:
    """Return a folder from Obsidian's settings, written as a path; ``""`` for the vault itself. The path is not checked.

    Obsidian ignores slashes at either end.
    """
    return "/".join(part for part in text.strip().replace("\\", "/").split("/") if part not in ("", "."))


def parse_set_folder(text: str, setting: str) -> VaultPath | None:
    """Return the vault path of a folder from Obsidian's settings, None for the vault itself.

    Raises VaultError, which names the setting, if it cannot be a folder of the vault.
    """
    folder = folder_of_setting(text)
    try:
        return parse_path(folder) if folder else None
    except VaultError as error:
        raise VaultError(
            error.code,
            f"Obsidian's setting {setting!r} ({text!r}) names no folder of the vault: {error.message} Change it in Obsidian.",
        ) from None


def compose(name: str) -> str:
    """Return the name in the Unicode form of new names: NFC, as Obsidian stores them."""
    return unicodedata.normalize("NFC", name)


def parse_folder(text: str) -> VaultPath | None:
    """Return a folder's vault path; None for the whole vault (``""``, ``.`` or ``/``)."""
    return None if text.strip() in ("", ".", "/", "./") else parse_path(text)


def is_note(path: str) -> bool:
    """Tell whether the path has the extension of a note."""
    return path[-3:].lower() == NOTE_SUFFIX


def is_canvas(path: str) -> bool:
    """Tell whether the path has the extension of a canvas."""
    return path[-len(CANVAS_SUFFIX) :].lower() == CANVAS_SUFFIX


def is_base(path: str) -> bool:
    """Tell whether the path has the extension of a base."""
    return path.lower().endswith(BASE_SUFFIX)


def has_extension(path: str) -> bool:
    """Tell whether the name ends as that of a file: ``data.csv`` does, ``v1.2 release`` does not."""
    return _EXTENSION.search(path) is not None


def sort_key(text: str) -> tuple[str, str]:
    """Return the key by which names are sorted for a person: without case, then as written."""
    return fold(text), text


def fold(name: str) -> str:
    """Return the form that is equal for names that differ only in case or Unicode form, which Obsidian takes for the same.

    Decomposed before case is folded, as Unicode's canonical caseless match requires (The Unicode Standard, D145).
    """
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def stem(path: str) -> str:
    """Return a note's name: its file name without ``.md``."""
    name = path.rsplit("/", 1)[-1]
    return name[: -len(NOTE_SUFFIX)] if is_note(name) else name


def not_found(name: str, near: list[VaultPath]) -> VaultError:
    """Return the error for a note that does not exist, with similar names. Another day or number is no typing error."""
    near = [path for path in near if path == name or not _differs_in_digits(stem(path), stem(name))]
    hint = f" Did you mean: {', '.join(near)}?" if near else " find_notes and search_notes show what there is."
    return VaultError(FILE_NOT_FOUND, f"No note is named {name!r}.{hint}", name=name, near=near)


_DIGIT = re.compile(r"\d")


def _differs_in_digits(one: str, other: str) -> bool:
    """Tell whether two names are the same but for digits."""
    return (
        any(map(str.isdigit, one))
        and _DIGIT.sub("0", fold(one)) == _DIGIT.sub("0", fold(other))
        and fold(one) != fold(other)
    )


def is_a_folder(folder: VaultPath) -> VaultError:
    """Return the error for a folder's name where a note's is wanted."""
    message = f'{folder!r} is a folder; find_notes {{"folder": "{folder}"}} lists its notes.'
    return VaultError(FILE_NOT_FOUND, message, name=folder)


def lies_in(path: str, folder: str) -> bool:
    """Tell whether a path is ``folder`` itself or lies below it."""
    return path == folder or path.startswith(f"{folder}/")


# The media type of a file by its extension, and the text of a file that is text. Pure.

NOTE_TYPE = "text/markdown"
# The files that Obsidian opens itself (Obsidian help, "Accepted file formats"), and common text files. We have a table of our
# own, because the standard library's depends on files in /etc or the registry of the machine.
_TYPES = {
    "md": NOTE_TYPE,
    "canvas": "application/json",
    "base": "application/yaml",
    "txt": "text/plain",
    "csv": "text/csv",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "3gp": "video/3gpp",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp4": "video/mp4",
    "ogv": "video/ogg",
    "webm": "video/webm",
    "pdf": "application/pdf",
}
_NEVER_TEXT = ("image/", "audio/", "video/", "application/pdf")
_KINDS = ("image", "audio", "video")


def media_type_of(path: str) -> str | None:
    """Return the media type for the extension; None if it is unknown."""
    return _TYPES.get(path.rsplit("/", 1)[-1].rpartition(".")[2].lower())


def kind_of(path: str) -> str:
    """Return what a file is, in a word: image, audio, video, pdf, canvas, base or other."""
    media_type = media_type_of(path) or ""
    extension = path.rpartition(".")[2].lower()
    if extension in ("pdf", "canvas", "base"):
        return extension
    kind = media_type.partition("/")[0]
    return kind if kind in _KINDS else "other"


def is_media(path: str) -> bool:
    """Tell whether the name is that of a picture, recording, video or PDF."""
    return kind_of(path) in (*_KINDS, "pdf")


def text_of(path: str, data: bytes) -> str | None:
    """Return the text of a file; None for one that is no text, by its type or by its bytes."""
    media_type = media_type_of(path)
    if media_type is not None and media_type != _TYPES["svg"] and media_type.startswith(_NEVER_TEXT):
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text  # bytes that happen to be UTF-8
