"""A stand-in for the official ``obsidian`` command and the app behind it, for tests only: a program of its own.

It follows the help page "Obsidian CLI" and knows nothing of the program under test: names are found, links followed and
notes searched in the simplest way that is right for small vaults. Vaults are those of ``obsidian.json``. As with the real
one, errors are lines on stdout and the exit code is 0, ``\\n`` and ``\\t`` in contents become characters without any escape,
and what finds nothing says so in a sentence, also where JSON was asked for.

``STAND_IN`` makes it behave badly: not-running, slow, hangs, huge, error, ambiguous, unknown-vault, turned-off,
old-installer, yaml, truncates. Every call is written down, as a JSON line, in the file ``STAND_IN_LOG``.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path

TYPE_CHECKING = False  # a program that starts for every call imports no more than it needs
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

NOT_RUNNING = "The CLI is unable to find Obsidian. Please make sure Obsidian is running and try again."
SETTINGS = Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "obsidian"
LINK = re.compile(r"\[\[([^\[\]|#]*)(?:#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
TAG = re.compile(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
HEADING = re.compile(r"(#{1,6})\s+(.*)")
TASK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[(.)\]\s?(.*)")


class Said(Exception):  # noqa: N818 - what the app answers instead
    """An error, as the app reports it."""


class App:
    """One vault as the app sees it."""

    def __init__(self, root: Path, id_: str) -> None:
        self.root = root
        self.kept = SETTINGS / f"recovery-{id_}.json"

    # ------------------------------------------------------------------ files

    def notes(self) -> list[str]:
        return [path for path in self.files() if path.endswith(".md")]

    def files(self) -> list[str]:
        paths = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
        return sorted(path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts))

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def write(self, path: str, text: str) -> None:
        place = self.root / path
        if place.exists():
            kept = json.loads(self.kept.read_text()) if self.kept.exists() else {}
            kept.setdefault(path, []).insert(0, self.text(path))
            self.kept.write_text(json.dumps(kept))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())

    def resolve(self, name: str) -> str | None:
        name = name.strip().lower()
        for path in sorted(self.files(), key=lambda path: (path.count("/"), path)):
            lower = path.lower()
            if name in (lower, lower.removesuffix(".md")) or lower.removesuffix(".md").endswith("/" + name):
                return path
        return None

    def file(self, given: dict[str, str]) -> str:
        if "path" in given:
            if not (self.root / given["path"]).is_file():
                raise Said(f'File "{given["path"]}" not found.')
            return given["path"]
        if "file" in given:
            found = self.resolve(given["file"])
            if found is None:
                raise Said(f'File "{given["file"]}" not found.')
            return found
        raise Said("No active file. Use file=<name> or path=<path> to specify a file.")

    # ------------------------------------------------------------------ notes

    def create(self, given: dict[str, str]) -> str:
        path = given.get("path") or given.get("name") or "Untitled"
        path = path if path.endswith(".md") else f"{path}.md"
        content = unescaped(given.get("content", ""))
        if os.environ.get("STAND_IN") == "truncates":
            content = content.split("\n")[0]
        exists = (self.root / path).exists()
        if exists and "overwrite" not in given:
            path = f"{path.removesuffix('.md')} 1.md"
        self.write(path, content)
        return f"{'Overwrote' if exists and 'overwrite' in given else 'Created'}: {path}"

    def read(self, given: dict[str, str]) -> str:
        return self.text(self.file(given))

    def append(self, given: dict[str, str]) -> str:
        path = self.file(given)
        self.write(path, self.text(path) + ("" if "inline" in given else "\n") + content_of(given))
        return f"Appended to: {path}"

    def prepend(self, given: dict[str, str]) -> str:
        path = self.file(given)
        text = self.text(path)
        top = re.match(r"---\r?\n(?:.*\n)*?---(?:\r?\n|$)", text)
        at = top.end() if top else 0
        self.write(path, text[:at] + content_of(given) + ("" if "inline" in given else "\n") + text[at:])
        return f"Prepended to: {path}"

    def move(self, given: dict[str, str]) -> str:
        path, to = self.file(given), given["to"].strip("/")
        name = path.rpartition("/")[2]
        target = to if "." in to else f"{to}/{name}" if to else name
        return f"Moved: {self.rename_file(path, target)}"

    def rename(self, given: dict[str, str]) -> str:
        path, name = self.file(given), given["name"]
        folder = path.rpartition("/")[0]
        name = name if "." in name else f"{name}.{path.rpartition('.')[2]}"
        return f"Renamed: {self.rename_file(path, f'{folder}/{name}' if folder else name)}"

    def rename_file(self, path: str, target: str) -> str:
        if (self.root / target).exists():
            raise Said("File already exists!")
        if not (self.root / target).parent.is_dir():
            raise Said(f"ENOENT: no such file or directory, rename '{path}' -> '{target}'")
        old, new = (each.rpartition("/")[2].removesuffix(".md") for each in (path, target))
        for note in self.notes():
            text = self.text(note)
            linked = LINK.sub(
                lambda link: (
                    link[0].replace(link[1], new, 1)
                    if self.resolve(link[1]) == path and ("/" in link[1] or old != new)
                    else link[0]
                ),
                text,
            )
            if linked != text:
                (self.root / note).write_bytes(linked.encode())
        (self.root / path).rename(self.root / target)
        return f"{path} -> {target}"

    def delete(self, given: dict[str, str]) -> str:
        path = self.file(given)
        (self.root / path).unlink()  # the system's trash is none of a test's business
        return f"Deleted permanently: {path}" if "permanent" in given else f"Moved to trash: {path}"

    def open(self, given: dict[str, str]) -> str:
        return f"Opened: {self.file(given)}"

    def daily_path(self, _: dict[str, str]) -> str:
        from datetime import date  # noqa: PLC0415 - as above

        place = self.root / ".obsidian" / "daily-notes.json"
        folder = json.loads(place.read_text()).get("folder", "") if place.exists() else ""
        return f"{folder}/{date.today()}.md" if folder else f"{date.today()}.md"  # noqa: DTZ011 - the person's own day

    # ------------------------------------------------------------------ looking over

    def search_context(self, given: dict[str, str]) -> str:
        fold: Callable[[str], str] = str if "case" in given else str.lower
        words = fold(given["query"]).split()
        found = []
        for path in self.notes():
            text = self.text(path)
            if not path.startswith(given.get("path", "")) or not all(
                word in fold(path + "\n" + text) for word in words
            ):
                continue
            matches = [
                {"line": number, "text": line.strip()}
                for number, line in enumerate(text.split("\n"), 1)
                for word in words
                for _ in range(fold(line).count(word))
            ]
            found.append({"file": path, "matches": matches})
        return json.dumps(found) if found else "No matches found."

    def tags(self, given: dict[str, str]) -> str:
        paths = [self.file(given)] if given.keys() & {"file", "path"} else self.notes()
        found: dict[str, str] = {}
        for path in paths:
            for tag in self.tags_of(path):
                parts = tag.split("/")
                for depth in range(1, len(parts) + 1) if len(paths) > 1 else (len(parts),):
                    found.setdefault("/".join(parts[:depth]).lower(), "/".join(parts[:depth]))
        tags = [{"tag": f"#{tag}"} for tag in sorted(found.values())]
        return json.dumps(tags, indent=2) if tags else "No tags found."

    def tags_of(self, path: str) -> list[str]:
        values, body = frontmatter(self.text(path))
        listed = values.get("tags") or []
        return [*(listed if isinstance(listed, list) else [listed]), *TAG.findall(body)]

    def tag(self, given: dict[str, str]) -> str:
        name = given["name"].lstrip("#")
        if f'"#{name}"' not in self.tags({}):  # in this case and no other
            raise Said(f'Tag "#{name}" not found.')
        name = name.lower()
        files = [
            path
            for path in self.notes()
            if any(tag.lower() == name or tag.lower().startswith(name + "/") for tag in self.tags_of(path))
        ]
        return "\n".join([f"#{name}\t{len(files)}", *files])

    def properties(self, given: dict[str, str]) -> str:
        if given.keys() & {"file", "path"}:
            values, _ = frontmatter(self.text(self.file(given)))
            if os.environ.get("STAND_IN") == "yaml":  # as 1.12.0, whatever is asked for
                return self.text(self.file(given)).split("---\n")[1].strip()
            return json.dumps(values, indent=2) if values else "No frontmatter found."
        counts: dict[str, int] = dict.fromkeys(("aliases", "cssclasses", "tags"), 0)
        for path in self.notes():
            for name in frontmatter(self.text(path))[0]:
                counts[name] = counts.get(name, 0) + 1
        return json.dumps([{"name": name, "type": "text", "count": counts[name]} for name in sorted(counts)], indent=2)

    def property_set(self, given: dict[str, str]) -> str:
        path, name, value = self.file(given), given["name"], given["value"]
        items = json.loads(value) if value.startswith("[") else None
        if items is None and given.get("type") == "list":
            items = [item.strip() for item in value.split(",")]
        lines = (
            [f"{name}:", *(f"  - {item}" for item in items)]
            if items is not None
            else [f"{name}: {json.dumps(value) if ': ' in value else value}"]
        )
        self.write(path, with_property(self.text(path), name, lines))
        return f"Set {name}: {value}"

    def property_remove(self, given: dict[str, str]) -> str:
        path = self.file(given)
        self.write(path, with_property(self.text(path), given["name"], []))
        return f"Removed: {given['name']}"

    def links(self, given: dict[str, str]) -> str:
        found = {self.resolve(name) or f"{name} (unresolved)" for name in LINK.findall(self.text(self.file(given)))}
        return "\n".join(sorted(found)) or "No links found."

    def backlinks(self, given: dict[str, str]) -> str:
        target = self.file(given)
        found = []
        for path in self.notes():
            count = sum(self.resolve(name) == target for name in LINK.findall(self.text(path)))
            if count:
                found.append({"file": path, "count": str(count)})
        return json.dumps(found, indent=2) if found else "No backlinks found."

    def outline(self, given: dict[str, str]) -> str:
        found = [
            {"level": len(match[1]), "heading": match[2], "line": number}
            for number, line in enumerate(self.text(self.file(given)).split("\n"), 1)
            if (match := HEADING.fullmatch(line))
        ]
        return json.dumps(found, indent=2) if found else "No headings found."

    def tasks(self, given: dict[str, str]) -> str:
        paths = [self.file(given)] if given.keys() & {"file", "path"} else self.notes()
        found = [
            {"status": match[1], "text": line, "file": path, "line": str(number)}
            for path in paths
            for number, line in enumerate(self.text(path).split("\n"), 1)
            if (match := TASK.fullmatch(line))
        ]
        return json.dumps(found, indent=2) if found else "No tasks found."

    def task(self, given: dict[str, str]) -> str:
        path, number = self.file(given), int(given["line"]) - 1
        lines = self.text(path).split("\n")
        if number >= len(lines) or not TASK.fullmatch(lines[number]):
            raise Said(f"Line {number + 1} is not a task.")
        lines[number] = re.sub(r"\[.\]", f"[{given['status']}]", lines[number], count=1)
        self.write(path, "\n".join(lines))
        return lines[number]

    # ------------------------------------------------------------------ templates, bookmarks, bases, history

    def template_folder(self) -> str:
        place = self.root / ".obsidian" / "templates.json"
        if not place.exists():
            raise Said("No template folder configured.")
        return str(json.loads(place.read_text())["folder"])

    def templates(self, _: dict[str, str]) -> str:
        folder = self.template_folder()
        return "\n".join(path for path in self.notes() if path.startswith(folder + "/")) or "No templates found."

    def template_read(self, given: dict[str, str]) -> str:
        path = f"{self.template_folder()}/{given['name']}.md"
        if not (self.root / path).exists():
            raise Said(f'Template "{given["name"]}" not found.')
        return self.text(path)

    def bookmarks(self, _: dict[str, str]) -> str:
        place = self.root / ".obsidian" / "bookmarks.json"
        items = flat(json.loads(place.read_text())["items"]) if place.exists() else []
        return json.dumps(items, indent=2) if items else "No bookmarks found."

    def bases(self, _: dict[str, str]) -> str:
        return "\n".join(path for path in self.files() if path.endswith(".base")) or "No bases found."

    def base_query(self, given: dict[str, str]) -> str:
        self.file(given)
        names = {path: path.rsplit("/", 1)[-1].removesuffix(".md") for path in self.files()}
        return json.dumps([{"path": path, "file name": name} for path, name in names.items()])

    def history(self, given: dict[str, str]) -> str:
        kept = self.versions(given)
        lines = [f"{number}\t2026-01-01 12:00:00\t{len(text)} B" for number, text in enumerate(kept, 1)]
        return "\n".join(lines) or "No history found."

    def history_read(self, given: dict[str, str]) -> str:
        kept = self.versions(given)
        number = int(given.get("version", "1"))
        if number > len(kept):
            raise Said(f"Version {number} not found.")
        return kept[number - 1]

    def versions(self, given: dict[str, str]) -> list[str]:
        path = self.file(given)
        found: list[str] = json.loads(self.kept.read_text()).get(path, []) if self.kept.exists() else []
        return found

    # ------------------------------------------------------------------ the app

    def vault(self, given: dict[str, str]) -> str:
        return str(self.root) if given.get("info") == "path" else f"name\t{self.root.name}\npath\t{self.root}"

    def commands(self, given: dict[str, str]) -> str:
        known = ("app:go-back", "app:reload", "editor:toggle-bold", "workspace:new-tab")
        return "\n".join(each for each in known if each.startswith(given.get("filter", "")))

    def workspace(self, _: dict[str, str]) -> str:
        return "main\n└── tabs\n    └── [markdown] Home"

    def eval(self, given: dict[str, str]) -> str:
        return f"=> {given['code']}"

    def version(self, _: dict[str, str]) -> str:
        return "1.12.7 (installer 1.12.7)"


def unescaped(content: str) -> str:
    return content.replace("\\n", "\n").replace("\\t", "\t")


def content_of(given: dict[str, str]) -> str:
    if not given.get("content"):
        raise Said("Missing required parameter: content\nUsage: append [file=<name>] content=<text> [inline]")
    return unescaped(given["content"])


def flat(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for item in items for each in (flat(item["items"]) if item["type"] == "group" else [item])]


def frontmatter(text: str) -> tuple[dict[str, Any], str]:
    """Return the properties and the text after them; reads only YAML as Obsidian itself writes it."""
    match = re.match(r"---\n((?:.*\n)*?)---(?:\n|$)", text)
    if not match:
        return {}, text
    values: dict[str, Any] = {}
    name = ""
    for line in match[1].splitlines():
        if line.startswith("  - "):
            values[name] = [*(values[name] or []), scalar(line[4:])]
        else:
            name, _, value = line.partition(":")
            listed = re.fullmatch(r"\[(.*)\]", value.strip())
            values[name] = [scalar(each) for each in listed[1].split(",")] if listed else scalar(value)
    return values, text[match.end() :]


def scalar(text: str) -> Any:
    text = text.strip()
    if re.fullmatch(r'".*"', text):
        return json.loads(text)
    if text in ("true", "false", "null", "") or re.fullmatch(r"-?\d+(\.\d+)?", text):
        return json.loads(text or "null")
    return text


def with_property(text: str, name: str, lines: list[str]) -> str:
    match = re.match(r"---\n((?:.*\n)*?)---\n", text)
    kept: list[str] = []
    done = skipping = False
    for line in match[1].splitlines() if match else ():
        if not line.startswith("  - "):
            skipping = line.partition(":")[0] == name
            if skipping:
                kept += lines
                done = True
        if not skipping:
            kept.append(line)
    kept += [] if done else lines
    body = text[match.end() :] if match else text
    return "".join(["---\n", *(f"{line}\n" for line in kept), "---\n", body]) if kept else body


def misbehave(mode: str) -> None:
    if mode == "not-running":
        sys.stderr.write(NOT_RUNNING + "\n")
        sys.exit(1)
    if mode == "slow":
        signal.pause()
    if mode == "hangs":
        import subprocess  # noqa: PLC0415 - as above

        stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
        child = subprocess.Popen([sys.executable, "-c", stubborn])
        Path(os.environ["STAND_IN_LOG"] + ".pids").write_text(f"{os.getpid()} {child.pid}")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
    if mode == "huge":
        try:
            while True:
                sys.stdout.write("x" * 65536)
        except OSError:
            sys.exit(1)
    lines = {
        "error": "Error: Something went wrong.",
        "ambiguous": 'Error: File "Plan" is ambiguous: Ideas/Plan.md, Projects/Plan.md',
        "unknown-vault": "Vault not found.",
        "turned-off": "Command line interface is not enabled. Please turn it on in Settings > General > Advanced.",
    }
    if mode in lines:
        sys.stdout.write(lines[mode] + "\n")
        sys.exit(0)


def main(argv: list[str]) -> NoReturn:
    with open(os.environ["STAND_IN_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps(argv) + "\n")
    vaults = json.loads((SETTINGS / "obsidian.json").read_text())["vaults"] if SETTINGS.exists() else {}
    wanted = argv.pop(0).removeprefix("vault=") if argv and argv[0].startswith("vault=") else ""
    command, *rest = argv or ["help"]
    if command not in ("vault", "version"):
        misbehave(os.environ.get("STAND_IN", ""))
    ids = [id_ for id_, vault in vaults.items() if wanted in ("", id_, Path(vault["path"]).name)]
    if not ids:
        sys.stdout.write("Vault not found.\n")
        sys.exit(0)
    app = App(Path(vaults[ids[0]]["path"]), ids[0])
    run = getattr(app, command.replace(":", "_"), None)
    given = {name: value if equals else "true" for name, equals, value in (each.partition("=") for each in rest)}
    if run is None:
        sys.stdout.write(f'Error: Command "{command}" not found. It may require a plugin to be enabled.\n')
        sys.exit(0)
    if os.environ.get("STAND_IN") == "old-installer":
        sys.stdout.write("2026-02-11 02:29:05 Loading updated app package /x/obsidian-1.12.1.asar\n")
        sys.stdout.write("Your Obsidian installer is out of date. Please download the latest installer.\n")
    try:
        sys.stdout.write(run(given) + "\n")
    except Said as said:
        sys.stdout.write(f"Error: {said}\n")
    sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
