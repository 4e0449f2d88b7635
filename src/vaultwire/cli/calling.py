"""Runs the tools that a command needs. Their progress, questions and failures, in words and exit codes. Prints no answer."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from vaultwire.app import make_handlers
from vaultwire.cli import run_options
from vaultwire.cli.terminal import ProgressLine, complain, say, say_json, say_lines
from vaultwire.config import Config, ConfigError, make_config
from vaultwire.protocol.dialects import FOR_PROGRAMS
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server.results import Refusal
from vaultwire.server.workers import Job, MustAsk
from vaultwire.toolkit.catalog import Toolset
from vaultwire.toolkit.registry import Ask, CapabilityMissing, check_capabilities
from vaultwire.vault.errors import Stopped
from vaultwire.vault.value_types import Confirmation

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_FORM = "elicitation/create"
_YES = ("y", "yes")


class NotAgreedError(Exception):
    """The person was asked about a change, and did not agree; or nobody can be asked. The message says it to them."""

    def __init__(self, message: str, *, needs_option: bool = False) -> None:
        """``needs_option``: nobody was there to ask, so the command needs ``--yes``."""
        super().__init__(message)
        self.needs_option = needs_option


class Person(ProgressLine):
    """The client of the command line's calls, a ``toolkit.registry.Client``: progress on stderr, questions, and Ctrl-C."""

    def __init__(self, to_words: Callable[[str], str], *, says_yes: bool = False) -> None:
        """``to_words`` turns a question of a tool into one for a person.

        ``says_yes``: the person agrees to every change beforehand (``--yes``).
        """
        super().__init__()
        self._to_words = to_words
        self._says_yes = says_yes
        self._has_stopped = False
        self.agreed: set[str] | None = None
        """As of ``server.tasks.Task``: the keys of the plans to which the person agreed."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """It can be asked to agree, and nothing else. With ``--yes`` not even that: to ask, a tool makes its plan twice."""
        return {} if self._says_yes else {"elicitation": {"form": {}}}

    def check(self) -> None:
        """Raise ``Stopped`` after Ctrl-C."""
        if self._has_stopped:
            raise Stopped

    @property
    def asks_person(self) -> bool:
        """Whether a change can wait until the person agrees to it."""
        return self.agreed is not None

    def confirm(self, question: Confirmation) -> None:
        """Return if the person agreed to exactly this plan, or need not be asked. Raises MustAsk."""
        if self.agreed is not None and question.key not in self.agreed:
            raise MustAsk(question)

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Print nothing: what a person must know is in the answer."""

    def tools(self) -> Sequence[dict[str, Any]]:
        """Return none: a job that has the tools answers for them."""
        return ()

    def listed(self) -> Collection[str]:
        """Return none: nothing is listed to a person."""
        return ()

    def hang_up(self) -> None:
        """Stay: there is no connection."""

    def ask(self, questions: Mapping[str, Ask]) -> dict[str, dict[str, Any]]:
        """Ask the person to agree. Raises NotAgreedError, and CapabilityMissing for questions of other kinds."""
        check_capabilities(questions, self.capabilities)
        answers: dict[str, dict[str, Any]] = {}
        for key, question in questions.items():
            if question.method != _FORM:
                raise CapabilityMissing(question.method)
            self.agree(question.params["message"])
            answers[key] = {"action": "accept"}
        return answers

    def agree(self, question: str) -> None:
        """Return if the person says yes. Raises NotAgreedError."""
        if self._says_yes:
            return
        words = self._to_words(question)
        self.clear()
        if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()):
            raise NotAgreedError(f"{words} There is no terminal to ask at: give --yes, or --dry-run", needs_option=True)
        say(words, to_stderr=True)
        sys.stderr.write("[y/N] ")
        sys.stderr.flush()
        with _default_ctrl_c():
            line = sys.stdin.readline()
        if line.strip().casefold() not in _YES:
            raise NotAgreedError("Nothing was changed.")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have Ctrl-C stop the work where it can be stopped: a change is made whole or not at all. Twice ends at once."""

        def on_ctrl_c(_number: int, _frame: object) -> None:
            if self._has_stopped:
                raise KeyboardInterrupt
            self._has_stopped = True

        before = signal.signal(signal.SIGINT, on_ctrl_c)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self.clear()


@contextmanager
def _default_ctrl_c() -> Iterator[None]:
    """Have Ctrl-C end the program at once, while it only waits for the person."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# ---------------------------------------------------------------------- words for a person

# What tools tell a model to call, and the command that does it.
_COMMANDS = {
    r"\bundo_changes?\b": "vaultwire undo",
    r"\blist_changes\b": "vaultwire changes",
    r"\bsearch_notes\b": "vaultwire search",
    r"\bread_notes?\b": "vaultwire read",
    r"\bmove_notes?\b": "vaultwire mv",
    r"\bcheck_notes\b": "vaultwire check",
    r"\bresolve_conflicts\b": "vaultwire conflicts",
    r"\blist_(?=tasks\b|tags\b)": "vaultwire ",
    r"\blist_notes\b": "vaultwire call list_notes",
    r"\bfind_notes\b": "vaultwire call find_notes",
}
_COMMAND = re.compile("|".join(f"({pattern})" for pattern in _COMMANDS))
_WORDS = tuple(_COMMANDS.values())

_WRONG_ARGUMENTS = re.compile(
    r"(\w+) was called with wrong arguments: (.*)\. Right would be, for example: (\{.*\})\.", re.DOTALL
)
_MISSING = re.compile(r"'(\w+)' is missing \(expected [^()]*\)")
_UNDO = re.compile(r'\bundo_changes \{"changes":\[(\d+)\]\}')

_AGO = re.compile(r"(\d{1,6}) ?(m|min|h|d|w)")
_MINUTES = {"m": 1, "min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_RIGHT = "1h, 30m, 2d, 1w, today, yesterday, 14:30, 2026-03-31 or '2026-03-31 14:30'"


def for_person(text: str) -> str:
    """Return a tool's words with the names of commands for those of tools."""
    return _COMMAND.sub(lambda found: _WORDS[(found.lastindex or 1) - 1], _UNDO.sub(r"vaultwire undo \1", text))


def for_caller(text: str) -> str:
    """Return the words of an error for a person who has called a tool by its name: with an example as they would type it."""
    found = _WRONG_ARGUMENTS.fullmatch(text)
    if found is None:
        return for_person(text)
    tool, problems, example = found.groups()
    missing = _MISSING.findall(problems)
    is_all = not _MISSING.sub("", problems).strip("; ")
    what = f"{tool} needs {' and '.join(missing)}:" if is_all else f"{tool}: {problems}. For example:"
    return f"{what} vaultwire call {tool} {' '.join(_typed(json.loads(example)))}"


def _typed(arguments: dict[str, Any]) -> Iterator[str]:
    """Yield arguments as ``vaultwire call`` takes them, quoted for a shell."""
    import shlex  # noqa: PLC0415 - few answers need it

    for name, value in arguments.items():
        is_texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        for each in value if is_texts else [value]:
            written = each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
            yield f"{name}={shlex.quote(written)}"


def parse_since(text: str, now: datetime) -> datetime:
    """Return the time that ``--since`` names, in the zone of ``now``. Raises ConfigError."""
    words = text.strip().casefold()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if words in ("today", "yesterday"):
        return midnight - timedelta(days=words == "yesterday")
    ago = _AGO.fullmatch(words)
    try:
        if ago is not None:
            return now - timedelta(minutes=int(ago[1]) * _MINUTES[ago[2]])
        if re.fullmatch(r"\d\d?:\d\d", words):
            clock = datetime.strptime(words, "%H:%M")  # noqa: DTZ007 - the day's own zone is put on below
            return midnight.replace(hour=clock.hour, minute=clock.minute)
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise ConfigError(f"--since: {text!r} is not a time I understand; give {_RIGHT}") from None
    return moment.astimezone()  # one without a zone is this computer's


def local_time(text: str) -> datetime:
    """Return a time of a tool (ISO 8601, UTC) in the zone of this computer."""
    return datetime.fromisoformat(text).astimezone()


# ---------------------------------------------------------------------- calls

# The author of the changes in the journal, and the client's name for a policy.
_NAME = "command-line"

DONE, NOT_FOUND, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

ALL = 1 << 62
_PAGE = 1000  # what tools give at most
# The failures by which a person learns that the command was wrong, not the vault.
_WRONG = frozenset(("INVALID_ARGUMENTS", "TOOL_NOT_FOUND", "VAULT_NOT_FOUND", "INVALID_PATH"))


class FailedCallError(Exception):
    """A tool failed."""

    def __init__(self, code: str, text: str) -> None:
        """``text``: the tool's own words."""
        super().__init__(for_person(text))
        self.text = text
        self.code = code
        self.exit_code = WRONG_USE if code in _WRONG else NOT_FOUND


class Calls:
    """The tools, as one command calls them: in this process, without a connection, a server that runs, or a thread.

    A call goes the way of every door: the same handlers, policy, choice of the vault and journal.
    """

    def __init__(self, config: Config, person: Person, toolset: Toolset | None = None) -> None:
        """``toolset``: other tools than those of the run. Raises ConfigError, as every door does."""
        self._handlers = make_handlers(config, toolset)
        self._peer = Peer()
        self._peer.name = _NAME
        self._peer.is_person = True
        self.person = person
        self.descriptions = self._handlers.toolset.descriptions
        self.close = self._handlers.close

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Return the text and the data of a tool's answer. Raises FailedCallError."""
        request = Request(0, "tools/call", {"name": tool, "arguments": arguments}, LATEST_HANDSHAKE, self._peer)
        with self.person.listening():
            answer: Any = self._handlers.handle(request, FOR_PROGRAMS)
            if isinstance(answer, Job):
                answer.offered = lambda: list(self.descriptions.values())
                answer = answer.run(self.person)
        if isinstance(answer, Refusal):
            code = str((answer.data or {}).get("errorCode", ""))
            raise FailedCallError(code, answer.message.removeprefix("Invalid params: "))
        text = "\n".join(block["text"] for block in answer.value["content"] if block["type"] == "text")
        if answer.failed is not None:
            raise FailedCallError(answer.failed, text.removeprefix(f"{answer.failed}: "))
        return text, answer.value["structuredContent"]

    def call_pages(self, tool: str, items: str, most: int, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Return the text of the first page, and the data of at most ``most`` items as one page. ``items``: their field."""
        text, data = self.call(tool, limit=min(most, _PAGE), **arguments)
        results = list(data.get(items, ()))
        cursor = data.pop("next_cursor", None)
        while cursor is not None and len(results) < most:
            _, page = self.call(tool, limit=min(most - len(results), _PAGE), cursor=cursor, **arguments)
            results += page.get(items, ())
            cursor = page.pop("next_cursor", None)
            problems = [*dict.fromkeys([*data.get("problems", ()), *page.get("problems", ())])]
            data = {**data, **page}  # the total may have been counted further
            if "problems" in data:
                data["problems"] = problems
        return text, {**data, items: results[:most]}


def add_options(parser: argparse.ArgumentParser, *, changes: bool = False, dry_run: bool = False) -> None:
    """Add the options that these commands share. ``changes``: the command may have to ask; ``dry_run``: it can only show."""
    if dry_run:
        parser.add_argument("--dry-run", action="store_true", help="only show what would be changed")
    if changes:
        parser.add_argument("-y", "--yes", action="store_true", help="do not ask before a large or permanent change")
    parser.add_argument("--json", action="store_true", help="print the tool's data as JSON")
    group = parser.add_argument_group("vault")
    run_options.add_vault(group)
    run_options.add_policy(group)


def config_of_one(options: argparse.Namespace) -> Config:
    """Return the settings that these options give. Raises ConfigError, also for several vaults."""
    config = make_config(options.vault, policy=options.policy)
    if len(config.vaults) > 1:
        raise ConfigError("give one vault: this command works with one at a time")
    return config


def run(options: argparse.Namespace, work: Callable[[Calls], int], *, several: bool = False) -> int:
    """Do a command's work and return the exit code. ``several``: it can name one of several vaults. Raises ConfigError."""
    config = make_config(options.vault, policy=options.policy) if several else config_of_one(options)
    try:
        with closing(Calls(config, Person(for_person, says_yes=getattr(options, "yes", False)))) as calls:
            return work(calls)
    except FailedCallError as error:
        complain(str(error))
        return error.exit_code
    except NotAgreedError as error:
        complain(str(error))
        return WRONG_USE if error.needs_option else NOT_FOUND
    except Stopped:
        complain("interrupted: nothing was left half done")
        return INTERRUPTED


def with_tools(work: Callable[[argparse.Namespace, Calls], int]) -> Callable[[argparse.Namespace], int]:
    """Return a command's function that does its work with the tools of one vault."""
    return lambda options: run(options, partial(work, options))


def say_change(options: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Print what a tool changed, with the command that takes it back."""
    say_answer(options, for_person(text), data)


def say_answer(options: argparse.Namespace, text: str, data: dict[str, Any]) -> None:
    """Print a tool's answer as it is: its data with ``--json``, else its text."""
    if options.json:
        say_json(data)
    else:
        say_lines(text)
