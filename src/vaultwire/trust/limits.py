"""How much a caller may take: the numbers, each with its reason, those a person chose, and nothing that acts on them."""

from __future__ import annotations

# From the contract ("Resource Limits": maxFileSize, timeouts), which users were promised.
MAX_NOTE_BYTES = 10 * 1024 * 1024

# As base64 in one JSON message: 7 MB on the wire, which clients still take, and more than most pictures and PDFs have.
MAX_ATTACHMENT_BYTES = 5 * 1024 * 1024

# A message over HTTP. A note of the largest size, in which not every other character needs an escape; beyond stdio's 64
# MiB for one client this is what each of many may have held in memory.
MAX_MESSAGE_BYTES = 16 * 1024 * 1024

# Calls under way on one server, for all clients together: a batch has up to 1000, and there are fewer connections. Only who
# hangs up on calls and sends more comes to it.
MAX_CALLS = 1200

# The contract gives a search of the web 10 seconds; that ends of itself, and is told in its own words.
SECONDS_BY_TIME_CLASS = {"file": 30.0, "search": 60.0, "web": 15.0}
"""How long a call of each class may take before its caller is told TIMEOUT."""

# The contract's, per minute: of each tool, of each that changes something, and of the one that somebody else pays for.
CONTRACT_RATES = {"each": 60, "changes": 30, "web_search": 20}

# One assistant at work makes hundreds of calls a minute, and nobody else waits for them. Only a search engine counts along.
USUAL_RATES = {"web_search": 20}

_MOST_A_MINUTE = 1_000_000
_LONGEST_SECONDS = 3600.0


class ClientLimits:
    """What a person asked for in one run beyond the policy's file; by itself, nothing.

    ``audit``: the file of the log; ``strict``: nothing happens off it. ``rates``: calls a minute, as ``trust.rates`` names
    them; None: the contract's or the usual ones. ``seconds``: by time class. ``most_characters``: of an answer. ``size``,
    ``with_tools``, ``without_tools``: which tools are listed, besides, and not there at all. ``hosts``: that tools may reach.
    """

    __slots__ = (
        "audit",
        "hosts",
        "most_characters",
        "rates",
        "seconds",
        "size",
        "strict",
        "with_tools",
        "without_tools",
    )

    def __init__(self) -> None:
        self.audit: str | None = None
        self.strict = False
        self.rates: dict[str, int] | None = None
        self.seconds = SECONDS_BY_TIME_CLASS
        self.most_characters: int | None = None
        self.size = "standard"
        self.with_tools: tuple[str, ...] = ()
        self.without_tools: tuple[str, ...] = ()
        self.hosts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return repr([getattr(self, name) for name in self.__slots__])

    def options(self) -> list[str]:
        """Return what the command line is to be given for the same."""
        given: list[str] = []
        if self.audit is not None:
            given += ["--audit", self.audit, *(["--audit-strict"] if self.strict else [])]
        for name, most in (self.rates or {}).items():
            given += ["--rate", f"{name}={most}"]
        for name, seconds in self.seconds.items():
            if seconds != SECONDS_BY_TIME_CLASS[name]:
                given += ["--timeout", f"{name}={seconds:g}"]
        if self.most_characters is not None:
            given += ["--max-answer", str(self.most_characters)]
        if self.size != "standard":
            given += ["--tools", self.size]
        for option, names in (
            ("--tool", self.with_tools),
            ("--no-tool", self.without_tools),
            ("--allow-web", self.hosts),
        ):
            given += [each for name in names for each in (option, name)]
        return given


def read_rate(given: str) -> tuple[str, int]:
    """Return what a rate is of and how many calls a minute it allows: ``N``, of all together, or ``NAME=N``.

    Raises ValueError, with one line for a person.
    """
    name, equals, number = given.rpartition("=")
    if not (number.isascii() and number.isdecimal() and int(number) <= _MOST_A_MINUTE) or (equals and not name):
        raise ValueError(f"no rate: {given!r}. Give calls a minute such as 600, or of a tool such as read_note=60")
    return name or "total", int(number)


def read_seconds(given: str) -> tuple[str, float]:
    """Return a time class and its seconds: ``CLASS=SECONDS``. Raises ValueError, with one line for a person."""
    name, _, number = given.partition("=")
    try:
        seconds = float(number)
    except ValueError:
        seconds = 0.0
    if name not in SECONDS_BY_TIME_CLASS or not 0 < seconds <= _LONGEST_SECONDS:
        classes = ", ".join(SECONDS_BY_TIME_CLASS)
        raise ValueError(f"no time: {given!r}. Give seconds for one of {classes}, such as search=20")
    return name, seconds
