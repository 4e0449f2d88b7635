"""``check``: what is broken in a vault, line by line as compilers say it. ``doctor``: this computer, a vault, the start-up.

And ``vaults``: those that Obsidian knows, which can be named without a path.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vaultwire import __version__
from vaultwire.app import engine
from vaultwire.cli import calling, run_options
from vaultwire.cli.calling import for_person
from vaultwire.cli.command import CHECK_CODES, NOTES, SETTING_UP, command
from vaultwire.cli.demo import ServerEndedError, StdioClient
from vaultwire.cli.notes import fix
from vaultwire.cli.remote import check_public_url
from vaultwire.cli.terminal import ProgressLine, complain, say, say_json, say_styled
from vaultwire.config import VAULT_VARIABLE, Config, ConfigError, make_config
from vaultwire.installation import extras, has_extra, how_to_add, installation, running_command
from vaultwire.obsidian.known_vaults import known_vaults, settings_folders
from vaultwire.obsidian.plugin_files import plugin_is_current
from vaultwire.toolkit.phrases import counted
from vaultwire.transports.lock_file import discover_editors, gemini_folder, lock_folders, qwen_folder
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.proposals import ROOM, ROOM_OF_CLIENT, Room

if TYPE_CHECKING:
    from vaultwire.vault.disk.inspection import Inspection
    from vaultwire.vault.links.faults import Finding
    from vaultwire.vault.value_types import Progress


ERROR_STYLE, WARNING_STYLE = "31", "33"


_ALL = 1 << 62  # more faults than any vault has


class Findings(NamedTuple):
    """The faults in path and line order, how many files were checked, and what else was seen of the vault.

    ``waiting``: what waits for the person, by client.
    """

    faults: list[tuple[str, Finding]]
    checked: int
    survey: Inspection | None = None
    waiting: Mapping[str, Room] = {}

    @property
    def errors(self) -> list[tuple[str, Finding]]:
        """Those that keep a file from being used as it was meant."""
        return [(path, finding) for path, finding in self.faults if finding.is_error]

    @property
    def warnings(self) -> list[tuple[str, Finding]]:
        """The others, such as links that lead nowhere."""
        return [(path, finding) for path, finding in self.faults if not finding.is_error]


def examine_vault(config: Config, progress: Progress) -> Findings:
    """Return what is wrong in a vault: in its notes and canvases, and with its files and settings."""
    from vaultwire.vault.links.faults import UNUSABLE_FILE, Finding  # noqa: PLC0415 - the engine: not for other commands

    survey = engine.survey_vault(config, progress)
    vault = engine.open_vault(config, (), engine.load_policy(config))
    try:
        checked_files, checked, _ = vault.check_all(vault.files_to_check("", progress), 0, _ALL, progress)
        waiting = vault.holding.proposals.used_room()
    finally:
        vault.close()
    faults = [(str(path), finding) for path, findings in checked_files for finding in findings]
    known = {(path, finding.message) for path, finding in faults}
    faults += [
        (problem.path, Finding(UNUSABLE_FILE, problem.text, 1))
        for problem in survey.problems
        if (problem.path, problem.text) not in known
    ]
    return Findings(sorted(faults, key=lambda fault: (fault[0], *fault[1][2:])), checked, survey, waiting)


def examine_note(config: Config, name: str, progress: Progress) -> Findings:
    """Return what is wrong in the note or canvas that ``name`` means. Raises VaultError."""
    vault = engine.open_vault(config, (), engine.load_policy(config))
    try:
        path, found = vault.check(name, progress)
    finally:
        vault.close()
    return Findings([(str(path), finding) for finding in found], 1)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("note", nargs="?", metavar="NOTE", help="path or name of one note (else: all)")
    parser.add_argument(
        "--fix", action="store_true", help="correct links to a mistyped or moved name, where only one note can be meant"
    )
    calling.add_options(parser, changes=True, dry_run=True)


@command(
    "check",
    NOTES,
    "find what is broken in one note or in all notes",
    "vaultwire check",
    "vaultwire check --fix --dry-run",
    options=_add_check,
    codes=CHECK_CODES,
)
def check(options: argparse.Namespace) -> int:
    """Print the faults of one note or of all notes; return 1 if there are any (left), else 0. Raises ConfigError."""
    config = calling.config_of_one(options)
    if options.dry_run and not options.fix:
        raise ConfigError("--dry-run shows what --fix would change: give both")
    try:
        with ProgressLine() as progress:
            note = options.note
            findings = examine_note(config, note, progress) if note else examine_vault(config, progress)
    except VaultError as error:
        complain(for_person(error.message))
        return calling.NOT_FOUND
    if options.fix:
        return fix(options, findings.faults)
    if options.json:
        say_json(
            [
                {"path": path, "severity": "error" if finding.is_error else "warning", **finding._asdict()}
                for path, finding in findings.faults
            ]
        )
    else:
        for path, finding in findings.faults:
            place, style = f":{finding.line}:{finding.column}: ", ERROR_STYLE if finding.is_error else WARNING_STYLE
            say_styled((path, "1"), (place, "2"), (finding.kind, style), (f": {finding.message}", ""))
        say_styled((summary(findings), "1"))
    return calling.NOT_FOUND if findings.faults else calling.DONE


def summary(findings: Findings) -> str:
    """Return how many problems there are: in the same words for ``check`` and ``doctor``."""
    line = f"{counted(len(findings.faults), 'problem')} in {counted(findings.checked, 'file')}"
    if not findings.faults:
        return line
    return f"{line}: {counted(len(findings.errors), 'error')}, {counted(len(findings.warnings), 'warning')}"


def to_line(path: str, finding: Finding) -> str:
    """Return a fault as one line for a person."""
    return f"{path}: {finding.message}" if finding.line == 1 else f"{path}: line {finding.line}: {finding.message}"


# ---------------------------------------------------------------------- doctor

# The marks of lines: ! for what does not work, ~ for what could be better.
_HEADING, _FACT, _PROBLEM, _REMARK = "#", "", "!", "~"
_STARTS = 5
_EXTRAS = {
    "images": "makes large pictures smaller",
    "oauth": "checks the tokens of an OAuth issuer",
    "pdf": "reads the text of PDFs, and searches it",
    "postgres": "lets several servers share vaults",
    "remote": "lets people sign in from elsewhere",
    "web": "searches the web",
}
_STYLES = {_HEADING: "1", _PROBLEM: "31", _REMARK: "33"}
# More than these are counted and not listed: ``check`` lists them.
_MAX_PROBLEMS, _MAX_REMARKS = 20, 3
_NEARLY_FULL = 0.9  # of what may wait of one client
_CONTRACT_MILLISECONDS = 100  # "initialize response: <100ms"


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--public-url",
        metavar="URL",
        help="check only how clients reach the server at this URL (see vaultwire serve --public-url)",
    )
    group = parser.add_argument_group("vault")
    run_options.add_vault(group)
    run_options.add_policy(group)


@command(
    "doctor",
    SETTING_UP,
    "check this computer, a vault and the start-up time",
    "vaultwire doctor --vault ~/Notes",
    "vaultwire doctor --public-url https://notes.example.org",
    options=_add_doctor,
    codes=CHECK_CODES,
)
def doctor(options: argparse.Namespace) -> int:
    """Print a report for each vault; return 1 if something is wrong, else 0. Raises ConfigError.

    Without a vault, the report is of this computer alone, and with a public URL of that alone.
    """
    if options.public_url is not None:
        from vaultwire.app.serving import read_public_url  # noqa: PLC0415 - loads all transports

        if options.vault is not None or options.policy is not None:
            raise ConfigError("--public-url checks an address, and --vault a vault: give one of them")
        return check_public_url(read_public_url(options.public_url)[0], as_json=options.json)
    if options.vault is None and not os.environ.get(VAULT_VARIABLE):
        environment = _environment()
        if options.json:
            say_json({"healthy": True, "environment": environment})
        else:
            _say_lines(_environment_lines(environment))
            say("This computer is ready. To check a vault, too: vaultwire doctor --vault PATH")
        return 0
    config = make_config(options.vault, policy=options.policy)
    with ProgressLine() as progress:
        reports = {name: _examine(config.for_vault(name), progress) for name in config.vaults}
    if options.json:
        shown: dict[str, Any] = reports if len(reports) > 1 else next(iter(reports.values()))
        say_json(shown)
    else:
        for number, (name, report) in enumerate(reports.items()):
            say(*[""] * (number > 0), *([name, ""] if len(reports) > 1 else []))
            say(_verdict(_say_lines(_lines(report))))
    return 0 if all(report["healthy"] for report in reports.values()) else 1


def _examine(config: Config, progress: ProgressLine) -> dict[str, Any]:
    index = engine.examine_index(config, progress)
    findings = examine_vault(config, progress)
    survey = findings.survey
    assert survey is not None
    journal = engine.examine_journal(config)
    report: dict[str, Any] = {
        "environment": _environment(),
        "vault": {
            "path": config.vault,
            "notes": survey.notes,
            "note_bytes": survey.note_bytes,
            "other_files": survey.other_files,
            "has_obsidian_folder": survey.has_obsidian_folder,
            "writable": survey.writable,
            "problems": [to_line(*fault) for fault in findings.errors],
            "warnings": [to_line(*fault) for fault in findings.warnings],
            "summary": summary(findings),
        },
        "index": {
            "folder": index.folder,
            "not_kept_because": index.not_kept or None,
            "brought_up_to_date_ms": round(index.seconds * 1000, 1),
            "watched": not index.not_watched,
            "not_watched_because": index.not_watched or None,
        },
        "journal": {
            "folder": journal.folder,
            "changes": journal.changes,
            "not_kept_because": journal.problem or None,
        },
        "waiting": [_waiting(client, room) for client, room in findings.waiting.items()],
        "policy": config.policy,
        "editors": {
            "folders": lock_folders(),
            "listed": [
                editor._asdict() for folder in lock_folders() for editor in discover_editors(folder, config.vault)
            ],
        },
        "plugin_is_current": plugin_is_current(config.vault),
        "companions": {
            client: {
                "folder": folder,
                "listed": [editor._asdict() for editor in discover_editors(folder, config.vault)],
            }
            for client, folder in (("Gemini CLI", gemini_folder()), ("Qwen Code", qwen_folder()))
        },
        "start": _measure_starts(config, progress),
    }
    lines = list(_lines(report))
    problems, remarks = ([text for mark, text in lines if mark == kind] for kind in (_PROBLEM, _REMARK))
    return {"healthy": not problems, "problems": problems, "remarks": remarks, **report}


def _waiting(client: str, room: Room) -> dict[str, Any]:
    is_nearly_full = any(used >= _NEARLY_FULL * most for used, most in zip(room, ROOM_OF_CLIENT, strict=True))
    return {"client": client, "changes": room.number, "bytes": room.size, "is_nearly_full": is_nearly_full}


def _environment() -> dict[str, Any]:
    return {
        "vaultwire": __version__,
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
        "command": running_command(),
        "installed_with": installation().way,
        "extras": {name: "" if has_extra(name) else how_to_add(name) for name in extras()},
        "file_system_encoding": sys.getfilesystemencoding(),
        "obsidian_vaults": {vault.path: vault.name for vault in known_vaults()},
    }


def _measure_starts(config: Config, progress: ProgressLine) -> dict[str, Any]:
    times = []
    try:
        for number in range(_STARTS):
            progress.report(number, _STARTS, "measuring how long a start takes")
            times.append(_time_start(config))
    except (ServerEndedError, RuntimeError) as error:
        return {"runs": _STARTS, "error": str(error)}
    return {"runs": _STARTS, "median_ms": round(statistics.median(times), 1), "slowest_ms": round(max(times), 1)}


def _time_start(config: Config) -> float:
    policy = [] if config.policy is None else ["--policy", config.policy]
    with StdioClient([*running_command(), "stdio", "--vault", config.vault, *policy]) as talk:
        milliseconds = talk.initialize()[1]
        talk.kill()  # else it would load all that calls need, and only then end
    return milliseconds


def _say_lines(lines: Iterable[tuple[str, str]]) -> set[str]:
    """Print lines of a report; return their marks."""
    marks = set()
    for mark, text in lines:
        line = text if mark == _HEADING else f"  {mark} {text}" if mark else f"  {text}"
        say_styled((line, _STYLES.get(mark, "")))
        marks.add(mark)
    return marks


def _environment_lines(environment: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield _HEADING, "Environment"
    yield _FACT, f"vaultwire {environment['vaultwire']}, Python {environment['python']}, {environment['system']}"
    yield _FACT, f"started as {' '.join(environment['command'])}"
    known = ", ".join(sorted({*environment["obsidian_vaults"].values()}))
    yield _FACT, f"Obsidian knows {known or 'no vaults on this computer'}"
    yield _HEADING, "Extras"
    for name, how in environment["extras"].items():
        what = f"{name} ({_EXTRAS.get(name, 'an extra')})"
        yield _FACT, f"{what}: not installed. To add it: {how}" if how else f"{what}: installed"


def _lines(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the lines of the report, each with its mark. The marks also decide the verdict and the exit code."""
    vault = report["vault"]
    yield from _environment_lines(report["environment"])
    yield _HEADING, "Vault"
    yield _FACT, vault["path"]
    yield _FACT, f"{vault['notes']} notes, {vault['note_bytes'] / 1e6:.1f} MB; {vault['other_files']} other files"
    kind = "an Obsidian vault (.obsidian is there)" if vault["has_obsidian_folder"] else "a plain folder of notes"
    yield _FACT, kind
    if not vault["writable"]:
        yield _PROBLEM, "the vault's folder is not writable: notes can be read, not changed"
    yield _FACT, vault["summary"] + (" (vaultwire check lists them)" if vault["problems"] or vault["warnings"] else "")
    for mark, faults, most in (
        (_PROBLEM, vault["problems"], _MAX_PROBLEMS),
        (_REMARK, vault["warnings"], _MAX_REMARKS),
    ):
        yield from ((mark, fault) for fault in faults[:most])
        if len(faults) > most:
            yield _FACT, f"… and {len(faults) - most} more"
    yield from _storage_lines(report["index"], report["journal"])
    yield from _waiting_lines(report["waiting"])
    yield _HEADING, "Policy"
    yield _FACT, report["policy"] or "none: every client may read and change all notes"
    yield _HEADING, "Claude Code"
    yield from _editor_lines(report["editors"])
    if report["plugin_is_current"] is False:
        yield _REMARK, "the plugin in Obsidian is of another version than vaultwire: run vaultwire plugin install"
    yield _HEADING, "Gemini CLI and Qwen Code"
    yield from _companion_lines(report["companions"])
    yield _HEADING, "Start"
    yield from _start_lines(report["start"])


def _storage_lines(index: dict[str, Any], journal: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield _HEADING, "Index"
    if index["folder"]:
        yield _FACT, f"kept in {index['folder']}"
    else:
        yield _REMARK, f"kept in memory and built at every start: {index['not_kept_because']}"
    yield _FACT, f"brought up to date in {index['brought_up_to_date_ms']} ms"
    if index["watched"]:
        yield _FACT, "changes by other programs are noticed at once"
    else:
        why = index["not_watched_because"]
        yield _REMARK, f"every call looks for changes first, because the vault cannot be watched: {why}"
    yield _HEADING, "Journal"
    yield _FACT, f"{journal['changes']} recorded changes in {journal['folder']}"
    if journal["not_kept_because"]:
        why = journal["not_kept_because"]
        yield _PROBLEM, f"notes cannot be changed, because changes cannot be recorded: {why}"


def _waiting_lines(waiting: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield what waits for the person, and whose changes cannot be taken any more."""
    if waiting:
        number, size = (sum(client[name] for client in waiting) for name in ("changes", "bytes"))
        yield (
            _FACT,
            f"{number} changes wait for you, {size / 1e6:.1f} MB (at most {ROOM.number}, {ROOM.size // 1_000_000} MB)",
        )
    for client in waiting:
        if client["is_nearly_full"]:
            who = client["client"] or "a client without a name"
            how_many = f"{client['changes']} changes of {who} wait, {client['bytes'] / 1e6:.1f} MB"
            yield _REMARK, f"{how_many}: hardly any more can, so decide some at the desk (vaultwire desk)"


def _editor_lines(editors: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what Claude Code's /ide lists for the vault, and what to do about it."""
    listed = editors["listed"]
    for editor in listed:
        yield _FACT, f"/ide lists {editor['name']} (port {editor['port']}) for this vault"
    if not any(editor["is_ours"] for editor in listed):
        yield (
            _FACT,
            "/ide does not list this vault: vaultwire ide does not run for it, or has another CLAUDE_CONFIG_DIR",
        )
        yield _FACT, f"than this command (looked for in {' and '.join(editors['folders'])})"
    if len(listed) > 1:
        yield _PROBLEM, "there are several, so claude --ide connects to none by itself: choose one in /ide"


def _companion_lines(companions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what Gemini CLI and Qwen Code find for the vault."""
    for client, editors in companions.items():
        for editor in editors["listed"]:
            yield _FACT, f"{client} finds {editor['name']} (port {editor['port']}) for this vault"
    for client, editors in companions.items():
        if not any(editor["is_ours"] for editor in editors["listed"]):
            yield _FACT, f"no vaultwire ide --{client.split()[0].lower()} for this vault in {editors['folder']}"
        if len(editors["listed"]) > 1:
            yield _REMARK, f"there are several, and {client} chooses one itself (docs/editors.md)"


def _start_lines(start: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "error" in start:
        first, *others = start["error"].splitlines()
        yield _PROBLEM, f"FAILED: {first}"
        yield from ((_FACT, line) for line in others)
        return
    is_slow = start["median_ms"] > _CONTRACT_MILLISECONDS
    should = f" (should be under {_CONTRACT_MILLISECONDS})" if is_slow else ""
    took = f"spawn to initialize: {start['median_ms']} ms, median of {start['runs']}{should}"
    yield _REMARK if is_slow else _FACT, took


def _verdict(marks: set[str]) -> str:
    if _PROBLEM in marks:
        return f"Something needs your attention: see the lines marked {_PROBLEM} above."
    if _REMARK in marks:
        return f"It works. The lines marked {_REMARK} above say what could be better."
    return "All is well."


# ---------------------------------------------------------------------- vaults


@command("vaults", SETTING_UP, "list the vaults that Obsidian knows", "vaultwire vaults")
def list_vaults(_: argparse.Namespace) -> int:
    """Print a line for each vault and return the exit code."""
    vaults = known_vaults()
    if not vaults:
        say(f"Obsidian knows no vaults here (looked for obsidian.json in {', '.join(settings_folders())})")
    for vault in vaults:
        say(f"{vault.name}: {vault.path}" + ("" if os.path.isdir(vault.path) else " (not there)"))
    return 0
