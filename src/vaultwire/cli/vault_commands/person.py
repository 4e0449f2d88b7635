"""The person at the command line, as tools see their client: progress on stderr, questions, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from vaultwire.cli.terminal import ProgressLine, say
from vaultwire.server.workers import MustAsk
from vaultwire.toolkit.registry import Ask, CapabilityMissing, check_capabilities
from vaultwire.vault.errors import Stopped
from vaultwire.vault.value_types import Confirmation

_FORM = "elicitation/create"
_YES = ("y", "yes")


class NotAgreedError(Exception):
    """The person was asked about a change, and did not agree; or nobody can be asked. The message says it to them."""

    def __init__(self, message: str, *, needs_option: bool = False) -> None:
        """``needs_option``: nobody was there to ask, so the command needs ``--yes``."""
        super().__init__(message)
        self.needs_option = needs_option


class Person(ProgressLine):
    """The client of the command line's calls, a ``toolkit.registry.Client``."""

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
