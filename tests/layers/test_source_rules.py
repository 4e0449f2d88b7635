"""Rules about the source that no import shows: who prints, who exits, who opens files, who starts threads, how long."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "vaultwire"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

# What may be called, and by whom (module or room).
ONLY = {
    # What comes from outside is made harmless for the terminal there.
    "print": ("cli/terminal.py",),
    "input": (),
    "exit": ("__main__.py",),
    "sys.exit": ("__main__.py",),
    "os._exit": (),
    # vault/settings/obsidian_settings.py: Obsidian's settings are no notes, lie where no note may, and may be linked from
    # outside the vault.
    # vault/changes/record_store.py: the file of the journal, which lies outside of the vault; old_journal.py: earlier ones.
    # trust/policy_file.py: what the person allows.
    # trust/keys.py: fingerprints of keys, in the state folder.
    # trust/audit.py: the log of what was asked, which lies outside of the vault.
    # obsidian/known_vaults.py: the desktop app's list of vaults, which lies outside of them.
    # desk/http_endpoint.py: the page of the desk.
    # server/apps/pages.py: the modules of the desk's page, for views inside clients.
    # skills/__init__.py: the skills that come with the program.
    # cli/servers.py: the key to show a server, from a file the person names; the log of a run without a terminal (--log-file).
    # cli/notes.py: the text of an argument, from a file the person names.
    # obsidian/command.py, obsidian_cli/shim.py: programs named obsidian on the PATH.
    # obsidian/plugin_files.py: the companion plugin, into the settings of the person's Obsidian.
    # vault/disk/file_operations.py: private files of the program: where it runs, cookies of the desk, files for clients.
    # vault/disk/process_lock.py: files that stand for locks, outside of the vault, and since when Linux runs, below /proc.
    # vault/guides.py: one note before the first answer, without the engine.
    # client_setup/: the settings of clients, and copies of them in the state folder.
    # meaning/: a model in a folder that the person names; the vectors of notes, beside the index.
    # service.py: the file that tells the system's service manager of our server.
    # vault/disk/file_operations.py, vault/disk/watch.py: also what Linux says of mounts and limits below /proc.
    "open": (
        "vault/disk/file_operations.py",
        "vault/disk/files.py",
        "vault/guides.py",
        "vault/settings/obsidian_settings.py",
        "vault/changes/old_journal.py",
        "vault/disk/process_lock.py",
        "vault/disk/watch.py",
        "toolkit/catalog.py",
        "trust/keys.py",
        "trust/audit.py",
        "trust/policy_file.py",
        "desk/http_endpoint.py",
        "server/apps/__init__.py",
        "obsidian/command.py",
        "obsidian/known_vaults.py",
        "obsidian_cli/shim.py",
        "skills/__init__.py",
        "service.py",
        "cli/demo.py",
        "cli/servers.py",
        "cli/notes.py",
        "client_setup/installing.py",
        "client_setup/skill_folders.py",
        "memory/hooks.py",
        "meaning/models.py",
    ),
    "os.open": (
        "vault/disk/files.py",
        "vault/disk/file_operations.py",
        "vault/disk/process_lock.py",
        "vault/changes/record_store.py",
        "meaning/store.py",
        "trust/keys.py",
        "trust/audit.py",
        "remote/rows.py",
        "client_setup/installing.py",
        "memory/hooks.py",
        "transports/stdio.py",
        "obsidian/plugin_files.py",
        "cli/commands.py",
    ),
    # transports/relay/upstream.py: listening to what the server behind a relay says unasked.
    # app/editors.py: what goes on beside the editors' sockets: following the app, telling news.
    # transports/oauth.py: the fetching of an issuer's keys, which must hold up neither the event loop nor the end.
    # remote/clients.py: the fetching of a client's document, likewise.
    # cli/remote.py: asking our own public address, which may take long, while the server starts.
    # vault/index/freshness.py: building the text index while the vault is watched.
    # meaning/embedding.py: embedding notes while the vault is watched.
    # vault/attachment_texts/attachment_texts.py: reading attachments meanwhile.
    # vault/holding/delayed_writes.py: writing what was kept back, if a policy asks for that.
    # cluster/replica.py: renewing leases, also while calls take long.
    "threading.Thread": (
        "server/dispatcher.py",
        "server/workers.py",
        "app/serving.py",
        "server/vaults.py",
        "app/editors.py",
        "cli/remote.py",
        "remote/clients.py",
        "transports/oauth.py",
        "transports/relay/upstream.py",
        "vault/index/freshness.py",
        "meaning/embedding.py",
        "vault/attachment_texts/attachment_texts.py",
        "vault/holding/delayed_writes.py",
        "cluster/replica.py",
    ),
    # cli/memory.py: a hook ends in time, whatever the disk does. meaning/worker.py: a model that does not answer is ended.
    "threading.Timer": ("cli/memory.py", "meaning/worker.py"),
    # meaning/worker.py: a model works apart. vault/attachment_texts/reading.py: PDFs are read apart, with bounds of the system.
    "subprocess.Popen": (
        "cli/demo.py",
        "meaning/worker.py",
        "obsidian/command.py",
        "vault/attachment_texts/reading.py",
    ),
    # cli/obsidian.py: gives the system's clipboard an answer, for --copy.
    "subprocess.run": ("service.py", "vault/editing/conflicts.py", "cli/obsidian.py"),
    # service.py: between two questions to a service that starts.
    "time.sleep": ("cli/database.py", "service.py", "vault/disk/file_operations.py", "vault/disk/process_lock.py"),
}
BANNED_NAMES = ("utils", "common", "shared", "helpers", "core")
BANNED_CLASSES = ("Manager", "Service", "Helper", "Base")
# These are about Obsidian's bases, and no class inherits from them.
ABOUT_BASES = ("Base", "QueriedBase")
MAX_LINES = 700
MAX_FUNCTION_LINES = 60
PROTOCOL_DATES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


def calls(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted name of every function that a module calls, of those that end as one in ONLY does."""
    ends = {name.rpartition(".")[2] for name in ONLY}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ends:
            yield ast.unparse(node.func)


def broken_rules(module: str, called: Iterator[str]) -> list[str]:
    return [name for name in called if name in ONLY and not module.startswith(ONLY[name] or ("nobody",))]


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has, without its docstring, which a model reads in a tool."""
    first, last = function.lineno, function.end_lineno or function.lineno
    docstring = function.body[0] if ast.get_docstring(function, clean=False) is not None else None
    return last - first + 1 - (docstring.end_lineno - docstring.lineno + 1 if docstring and docstring.end_lineno else 0)


def long_functions(tree: ast.Module) -> list[str]:
    return [
        f"{node.name}: {code_lines(node)} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and code_lines(node) > MAX_FUNCTION_LINES
    ]


def bad_names(module: str, tree: ast.Module) -> list[str]:
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    parts = Path(module).with_suffix("").parts
    return [
        *(part for part in parts if part in BANNED_NAMES),
        *(name for name in classes if name.endswith(BANNED_CLASSES) and name not in ABOUT_BASES),
    ]


def compared_dates(tree: ast.Module) -> list[str]:
    """Return the comparisons with the date of a protocol revision."""
    comparisons = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    return [comparison for comparison in comparisons if any(date in comparison for date in PROTOCOL_DATES)]


class Facts(NamedTuple):
    """What the rules ask of a module."""

    has_docstring: bool
    broken: list[str]
    bad_names: list[str]
    long_functions: list[str]
    compared_dates: list[str]


@cache
def facts() -> dict[str, Facts]:
    """Return the facts of each module. The trees are not kept: they are a million objects, in the way of all later tests."""
    by_module = {}
    for module in MODULES:
        tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
        by_module[module] = Facts(
            bool(ast.get_docstring(tree)),
            broken_rules(module, calls(tree)),
            bad_names(module, tree),
            long_functions(tree),
            compared_dates(tree),
        )
    return by_module


# Each rule is one test, which lists every module that breaks it.


def test_only_who_may_prints_exits_opens_files_and_starts_threads() -> None:
    assert {module: each.broken for module, each in facts().items() if each.broken} == {}


def test_the_rule_sees_a_sinner() -> None:
    assert broken_rules("vault/vault.py", iter(["print", "open", "len"])) == ["print", "open"]


def test_a_module_opens_with_what_lives_in_it() -> None:
    assert [module for module, each in facts().items() if not each.has_docstring] == []


def test_a_module_is_short() -> None:
    lengths = {module: len((PACKAGE / module).read_text(encoding="utf-8").splitlines()) for module in MODULES}
    assert {module: length for module, length in lengths.items() if length > MAX_LINES} == {}


def test_a_module_and_its_classes_are_well_named() -> None:
    assert {module: each.bad_names for module, each in facts().items() if each.bad_names} == {}


def test_a_bad_name_is_seen() -> None:
    assert bad_names("vault/utils.py", ast.parse("class Notes: ...\nclass NoteManager: ...")) == [
        "utils",
        "NoteManager",
    ]


def test_a_function_is_short() -> None:
    assert {module: each.long_functions for module, each in facts().items() if each.long_functions} == {}


def test_a_long_function_is_seen() -> None:
    docstring = '    """\n' + "    A line.\n" * MAX_FUNCTION_LINES + '    """\n'
    body = "    pass\n" * (MAX_FUNCTION_LINES - 1)
    assert long_functions(ast.parse(f"def short():\n{docstring}{body}")) == []
    assert long_functions(ast.parse(f"async def long():\n{docstring}{body}    pass\n")) == ["long: 61 lines"]


def test_only_revisions_compares_protocol_dates() -> None:
    compared = {module: each.compared_dates for module, each in facts().items() if module != "protocol/revisions.py"}
    assert {module: comparisons for module, comparisons in compared.items() if comparisons} == {}


def test_a_compared_date_is_seen() -> None:
    assert compared_dates(ast.parse('if revision < "2025-06-18": pass')) == ["revision < '2025-06-18'"]
