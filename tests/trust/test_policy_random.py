"""What is hidden might as well not be there: random vaults and rules, and every tool, resource, prompt and completion.

Two vaults are asked the same: one that has hidden files, one that never had them, both under the same rules. Whatever comes
out of one must come out of the other, word for word; a difference of any kind would tell of what is hidden.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.calls import DESCRIPTIONS, TOOLS
from support.vaults import open_vault
from vaultwire.obsidian.command import Backend
from vaultwire.toolkit.catalog import APP_CATALOG, OUTSIDE, load_catalog
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.tools.obsidian_cli.family import make_family
from vaultwire.tools.prompts import fill_prompt, list_prompts
from vaultwire.tools.resources import (
    Meaning,
    completions,
    list_resources,
    read_resource,
    uri_of,
)
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import POLICY_DENIED, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import PrivacyRules

MARK = "QXZ"  # in nothing that may be seen
FOLDERS = ["", "Work", "Work/deep", "Home", "Prompts", f"{MARK}folder"]
NAMES = ["Plan", "Water", "Äpfel", "Note", "note 2", f"{MARK}name"]
LINKED = [*NAMES[:-1], "Work/Plan", "Home/Note", "Nowhere", "New", "Plan.png", "Home/Water.png", "Note.canvas"]
SHOWN = [
    f"{folder}{name}" for folder in ("", "Home/", "Work/deep/") for name in ("Plan.md", "Note.png", "Water.canvas")
]
LINKS_ARE_MADE = os.name != "nt"  # there it takes a privilege
BY_TEXT = ("inline tag", "property", "frontmatter tag", "tag in a card")
LONG_AGO = 1_700_000_000


class File(NamedTuple):
    """A file of a random vault. ``how`` it is hidden is empty for one that is not."""

    path: str
    data: bytes
    how: str


class Case(NamedTuple):
    """A random vault and the rules under which just its hidden files are hidden."""

    files: list[File]
    rules: dict[str, Any]
    settings: dict[str, Any]  # of Obsidian, by the names of its files
    held_to: list[str] | None = None  # the folders of a grant, None for all

    def all_rules(self) -> PathRules:
        rules = PathRules(**self.rules)
        return rules if self.held_to is None else rules.only_in(self.held_to)


def text_of(name: str, links: list[str], how: str) -> str:
    mark = MARK if how else "common"
    head = [f"aliases: [{mark}alias {name}]", f"{mark}property: {mark}value", "status: open"]
    head += {"property": ["private: true"], "frontmatter tag": [f"tags: [hush/{mark}]"]}.get(
        how, [f"tags: [{mark}tag, shared]"]
    )
    body = [f"# {mark} heading", f"Apples {mark}words ^{mark.lower()}block", f"- [ ] water {mark}task #{mark}inline"]
    body += ["#Hush"] if how == "inline tag" else []
    return "\n".join(["---", *head, "---", *body, *(f"see [[{link}]]" for link in links), "{{topic}}", ""])


def canvas_of(links: list[str], shown: list[str], how: str) -> str:
    mark = MARK if how else "common"
    cards = [f"Apples {mark}words", *(f"see [[{link}]] ![[{link}#Part]]" for link in links)]
    cards += ["#hush/card"] if how == "tag in a card" else []
    nodes = [{"type": "text", "text": card} for card in cards] + [{"type": "file", "file": path} for path in shown]
    return json.dumps({"nodes": [{"id": str(number), **node} for number, node in enumerate(nodes)]}, indent=1)


@st.composite
def settings_for(draw: st.DrawFn, paths: list[str]) -> dict[str, Any]:
    # Some could be no path: in a message they would be repeated.
    folders = [*FOLDERS, f"./{MARK}folder", f"{MARK}folder/.x", f"../{MARK}"]
    folder, template, templates = (draw(st.sampled_from(each)) for each in (folders, [*folders, *paths], folders))
    return {
        "app": {
            "attachmentFolderPath": draw(st.sampled_from(folders)),
            "newFileLocation": draw(st.sampled_from(["root", "current", "folder"])),
            "newFileFolderPath": draw(st.sampled_from(folders)),
            "newLinkFormat": draw(st.sampled_from(["shortest", "relative", "absolute"])),
            "userIgnoreFilters": draw(st.lists(st.sampled_from(["Home/", "Plan", f"{MARK}folder/"]), max_size=2)),
        },
        "daily-notes": {
            "folder": folder,
            "template": template.removesuffix(".md"),
            "format": draw(
                st.sampled_from(["", "YYYY-MM-DD", f"[{MARK}/.x]/YYYY", *[f"[{MARK}folder]/YYYY"] * (not folder)])
            ),
        },
        "templates": {"folder": templates},
        "bookmarks": {"items": [{"type": "file", "path": path} for path in paths]},
    }


@st.composite
def links_among(draw: st.DrawFn, files: list[File], *, follows_links: bool) -> list[File]:
    """Return symbolic links that are hidden: where links are followed, by where they lead."""
    if not LINKS_ARE_MADE:
        return []
    hidden = [file.path for file in files if file.how]
    targets = [*hidden, "../outside.md", "Nothing.md"] if follows_links else paths_of(files)
    names = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    links = [File(f"Home/{name} link.md", draw(st.sampled_from(targets)).encode(), "link") for name in names]
    folders = {path.rpartition("/")[0] for path in hidden} & {f"{MARK}folder"} if follows_links else {"Work", "Nothing"}
    folder = draw(st.sampled_from(["", "..", *sorted(folders)]))
    return [*links, File("Tunnel", folder.encode(), "link")] if folder else links


@st.composite
def cases(draw: st.DrawFn) -> Case:
    paths = draw(
        st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from(NAMES)), min_size=2, max_size=9, unique=True)
    )
    hidden_folders = {f"{MARK}folder"} | set(draw(st.lists(st.sampled_from(["Home", "Work/deep"]), max_size=1)))
    files: list[File] = []
    deny = [
        Rule("deny", draw(st.sampled_from(["/{}/", "/{}/**", "{}"])).format(folder), 1) for folder in hidden_folders
    ]
    for folder, name in paths:
        ending = draw(st.sampled_from(["md", "md", "md", "png", "canvas"]))
        path = f"{folder}/{name}.{ending}" if folder else f"{name}.{ending}"
        how = draw(st.sampled_from(["", "", "path", "inline tag", "property", "frontmatter tag"]))
        if name.startswith(MARK) and not how:
            how = "path"
        if ending != "md" and how:
            how = draw(st.sampled_from(["path", "tag in a card"])) if ending == "canvas" else "path"
        if any(folder == hidden for hidden in hidden_folders):
            how = "folder"
        elif how == "path":
            written = draw(st.sampled_from([path, path.upper(), path.lower()]))
            deny.append(Rule("deny", f"/{written}", 1))
            if draw(st.booleans()):  # what another program saved in the middle of a change of it
                aside = f"{path.removesuffix(f'.{ending}')} (saved meanwhile, 3-0).{ending}"
                files.append(File(aside, MARK.encode(), "path"))
        links = draw(st.lists(st.sampled_from(LINKED), max_size=3))
        text = text_of(name, links, how) if ending == "md" else MARK * bool(how)
        if ending == "canvas":
            text = canvas_of(links, draw(st.lists(st.sampled_from(SHOWN), max_size=2)), how)
        files.append(File(path, text.encode(), how))
    rules: dict[str, Any] = {"deny": tuple(deny), "privacy": PrivacyRules(["hush"], {"private": None})}
    rules["follows_links"] = draw(st.booleans())
    held_to = draw(
        st.sampled_from([None, ["Work"], ["home/"], ["Work/deep", "Prompts"], ["Home", f"{MARK}folder"], ["Nothing"]])
    )
    if held_to is not None:
        held_to = [folder.removesuffix("/") for folder in held_to]
        own = tuple(f"{folder.casefold()}/" for folder in held_to)
        files = [
            each if each.how or each.path.casefold().startswith(own) else each._replace(how="outside") for each in files
        ]
    files += draw(links_among(files, follows_links=rules["follows_links"]))
    if draw(st.booleans()):
        rules["types"] = ("md", "png")
        files = [each if not each.path.endswith(".canvas") else each._replace(how="type") for each in files]
    if draw(st.booleans()):
        rules["write"] = (Rule("write", draw(st.sampled_from(["/Work/", "*.md", "Plan*"])), 1),)
    its = draw(settings_for(paths_of(files))) if draw(st.booleans()) else {}
    return Case(files, rules, its, held_to)


def paths_of(files: list[File]) -> list[str]:
    return [file.path for file in files]


def make(root: Path, files: list[File], settings: dict[str, Any]) -> None:
    (root / ".obsidian").mkdir(parents=True)
    (root / "../outside.md").write_text(f"{MARK} apples")
    for name, its in settings.items():
        (root / ".obsidian" / f"{name}.json").write_text(json.dumps(its))
    for number, file in enumerate(files):
        place = root / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.how == "link":
            place.symlink_to(root / file.data.decode())
            continue
        place.write_bytes(file.data)
        os.utime(place, (LONG_AGO + number, LONG_AGO + number))


PATHS = st.one_of(
    st.builds(
        lambda folder, name, ending: (f"{folder}/" if folder else "") + name + ending,
        st.sampled_from([*FOLDERS, "Tunnel"]),
        st.sampled_from([*NAMES, "New", "Plan link", "Note (saved meanwhile, 3-0)"]),
        st.sampled_from([".md", ".md", "", ".png", ".MD", ".canvas"]),
    ),
    st.sampled_from(NAMES).map(lambda name: f"[[{name}]]"),
    st.sampled_from([*FOLDERS[1:], "Tunnel", "", "work", ".trash/Plan.md", "Work/"]),
)
WORDS = st.sampled_from(
    ["apples", MARK, "water", f"tag:#{MARK}tag", "tag:#shared", "path:Work", f"[{MARK}property]", "-apples"]
)
NUMBERS = st.integers(1, 6)
FLAGS = st.booleans()
TAGS = st.lists(st.sampled_from(["shared", f"{MARK}tag", "hush", "commontag"]), min_size=1, max_size=2)
# What each argument may be, whichever tool takes it.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("path", "file", "to", "source", "target", "beside", "template", "folder"), PATHS),
    **dict.fromkeys(("query", "text"), WORDS),
    "name": st.one_of(PATHS, st.sampled_from([f"{MARK}property", "status", "x.png"])),
    "alias": st.sampled_from([f"{MARK}alias Plan", "commonalias Note"]),
    "tags": TAGS,
    "tag": TAGS.map(lambda tags: tags[0]),
    "paths": st.lists(PATHS, min_size=1, max_size=3),
    "names": st.just(["status"]),
    "old": st.sampled_from(["shared", f"{MARK}tag", "status", f"{MARK}property"]),
    "new": st.sampled_from(["fresh", "commontag"]),
    "content": st.just("Apples, more"),
    "data": st.just("iVBORw0KGgo="),
    "heading": st.sampled_from(["common heading", f"{MARK} heading"]),
    "section": st.sampled_from(["", "common heading"]),
    "lines": st.just("1-3"),
    "edits": st.just([{"action": "append", "content": "x"}]),
    "fixes": st.lists(
        st.fixed_dictionaries(
            {"from": st.sampled_from([*LINKED, f"{MARK}name"]), "to": PATHS}, optional={"path": PATHS}
        ),
        min_size=1,
        max_size=2,
    ),
    **dict.fromkeys(("change", "version"), NUMBERS),
    **dict.fromkeys(("value", "filter", "view", "code"), st.just("Plan")),
    "before": NUMBERS,
    "depth": st.integers(1, 3),
    "limit": st.sampled_from([1, 100]),
    "day": st.sampled_from(["today", "2026-01-01"]),
    "since": st.sampled_from(["1h", "yesterday"]),
    "changes": st.lists(NUMBERS, min_size=1, max_size=3),
    "show": st.lists(
        st.sampled_from(["status", "title", "description", "tags", f"{MARK}property"]), min_size=1, max_size=3
    ),
    "status": st.sampled_from(["todo", "any"]),
}
MEANINGS: tuple[Meaning, ...] = ("note", "file", "folder", "tag", "property")
ANYTIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d{10,}")
CURSOR = re.compile(r"\b[0-9a-f]{8}(?=\.\d)")  # a cursor's key is random; its position is not


# Every tool there is, those of the running app as they are without one.
FAMILY = {tool.name: tool for tool in make_family(Backend)}
ALL = {**DESCRIPTIONS, **{description["name"]: description for description in load_catalog(APP_CATALOG)}}
# These know nothing of a vault.
WITHOUT_VAULT = {*OUTSIDE}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tool = draw(st.sampled_from(sorted(ALL.keys() - WITHOUT_VAULT)))
    schema = ALL[tool]["inputSchema"]
    arguments: dict[str, Any] = {}
    for name, its in schema["properties"].items():
        if name not in schema.get("required", ()) and not draw(FLAGS):
            continue
        if tool in ("set_properties", "find_notes") and name == "properties":
            arguments[name] = [{"name": "status", "value": "x"}] if tool == "set_properties" else [f"{MARK}property"]
        elif "enum" in its:
            arguments[name] = draw(st.sampled_from(its["enum"]))
        elif its.get("type") == "boolean":
            arguments[name] = draw(FLAGS)
        elif name in VALUES:
            arguments[name] = draw(VALUES[name])
    return tool, arguments


def attempt(vault: Vault, tool: str, **arguments: Any) -> Outcome[Any] | Failure:
    return invoke((TOOLS | FAMILY)[tool], ALL[tool], arguments, vault, NO_PROGRESS)


def said_of(vault: Vault, tool: str, arguments: dict[str, Any]) -> str:
    return CURSOR.sub("KEY", ANYTIME.sub("TIME", repr(attempt(vault, tool, **arguments))))


def offered(vault: Vault, paths: list[str]) -> list[str]:
    """Return what comes of all that is offered besides tools, one text a thing."""
    said = [repr([(file.path, file.size) for file in list_resources(vault, None, 1000, NO_PROGRESS).files])]
    for path in paths:
        try:
            said.append(repr(read_resource(vault, uri_of(vault, VaultPath(path)), 100_000)))
        except VaultError as error:
            said.append(f"{error.code} {error.message} {error.details}")
    prompts = list_prompts(vault, "Prompts", NO_PROGRESS)
    said.append(repr(prompts))
    for prompt in prompts.values():
        filled = {argument.name: path for argument in prompt.arguments for path in ["Plan"]}
        try:
            said.append(ANYTIME.sub("TIME", repr(fill_prompt(vault, prompt, filled, NO_PROGRESS))))
        except VaultError as error:
            said.append(f"{error.code} {error.message} {error.details}")
    for meaning in MEANINGS:
        for value in ("", "p", MARK.lower()):
            said += [repr(completions(vault, meaning, value, NO_PROGRESS))]
    return said


@settings(
    max_examples=settings().max_examples // 5 * 2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(cases(), st.lists(calls(), min_size=1, max_size=14))
def test_every_answer_is_as_if_hidden_files_had_never_been(case: Case, asked: list[tuple[str, dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with_hidden, without = Path(folder, "a", "vault"), Path(folder, "b", "vault")
        make(with_hidden, case.files, case.settings)
        make(without, [file for file in case.files if not file.how], case.settings)
        for file in case.files:
            for above in reversed(Path(file.path).parents):  # folders that are not hidden themselves are there
                if case.all_rules().sees_folder(above.as_posix()) is not False:
                    (without / above).mkdir(exist_ok=True)
            if not file.how:  # times as in the other vault
                status = (with_hidden / file.path).stat()
                os.utime(without / file.path, ns=(status.st_atime_ns, status.st_mtime_ns))
        vaults = [open_vault(root, rules=case.all_rules()) for root in (with_hidden, without)]
        private = {file.path.casefold() for file in case.files if file.how in (*BY_TEXT, "link")}
        hidden = {
            file.path: (with_hidden / file.path).read_bytes() for file in case.files if file.how not in ("", "link")
        }
        paths = paths_of(case.files)

        def check_offers(*, is_mentioned: bool) -> None:
            ours, theirs = (offered(vault, paths) for vault in vaults)
            assert ours == theirs
            assert is_mentioned or not [text for text in ours if MARK in text and "FILE_NOT_FOUND" not in text]

        is_mentioned = False  # then it may be in notes that were made by these very calls
        check_offers(is_mentioned=is_mentioned)
        for tool, arguments in asked:
            ours, theirs = (said_of(vault, tool, arguments) for vault in vaults)
            is_mentioned |= MARK in repr(arguments)
            assert is_mentioned or MARK not in ours, (tool, arguments)
            if ours != theirs:
                # The one difference there must be: over a note that is private by its text, or a link that leads to
                # something hidden, nothing is written.
                failure = attempt(vaults[0], tool, **arguments)
                assert isinstance(failure, Failure), (tool, arguments, ours, theirs)
                assert failure.code == POLICY_DENIED, (tool, arguments, ours, theirs)
                denied = PurePosixPath(failure.details["path"].casefold())
                assert private & {str(each) for each in (denied, *denied.parents)}, (tool, arguments, ours, theirs)
                break
        else:
            check_offers(is_mentioned=is_mentioned)
        for path, data in hidden.items():
            assert (with_hidden / path).read_bytes() == data
        assert all((with_hidden / file.path).is_symlink() for file in case.files if file.how == "link")
