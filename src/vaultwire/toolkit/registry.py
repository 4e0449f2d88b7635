"""Declaring and running tools, and pages of their results.

A tool is a typed function with a docstring; ``scripts/pages/schema.py`` describes it to clients.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from importlib import import_module
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
)

from vaultwire.toolkit.arguments import check_arguments, example_of
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.listed import Listed
from vaultwire.vault.value_types import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.vault import Vault  # not at run time: it loads the engine, and some commands open no vault

P = ParamSpec("P")
Data = TypeVar("Data", bound=Mapping[str, Any])
TimeClass: TypeAlias = Literal["file", "search", "web"]
Description: TypeAlias = dict[str, Any]
"""One tool as ``tools/list`` shows it (name, title, description, inputSchema, outputSchema, annotations), and what ``tool``
was told besides."""


class Outcome(NamedTuple, Generic[Data]):
    """The result of a tool: text blocks for a model, and the same facts as data for a program.

    ``more`` are content blocks of other kinds (pictures, sounds, resources) in the protocol's form; they follow the texts.
    """

    texts: list[str]
    data: Data
    more: Sequence[Mapping[str, Any]] = ()


class Failure(NamedTuple):
    """The failure of a tool: the code identifies it, the message says what would be right."""

    code: str
    message: str
    details: dict[str, Any]


class Ask(NamedTuple):
    """A question to the client: a method of the protocol, such as ``elicitation/create``, and its params."""

    method: str
    params: dict[str, Any]


class Client(Progress, Protocol):
    """The client that called a tool, for tools that need more of it than ``Progress``."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities; empty if it cannot be asked anything."""

    def log(self, level: str, data: Any, logger: str = ...) -> None:
        """Send a log message, if the client wants messages of this level."""

    def ask(self, questions: Mapping[str, Ask]) -> dict[str, dict[str, Any]]:
        """Return the client's answer to each question, under the question's key.

        Raises CapabilityMissing for a capability that the client did not declare, and VaultError (CLIENT_REFUSED) if it
        refuses. In 2026-07-28 the tool runs again with each round of answers: it must change nothing before it has asked.
        """

    def tools(self) -> Sequence[Description]:
        """Return the descriptions of all tools that the client may call, listed or not."""

    def listed(self) -> Collection[str]:
        """Return the names of the tools that are listed to the client."""

    def hang_up(self) -> None:
        """Close the connection, if the client can fetch the answer later. For work that takes minutes."""


class CapabilityMissing(Exception):  # noqa: N818 - says what is missing
    """The client did not declare the capability that a question needs."""

    def __init__(self, capability: str) -> None:
        super().__init__(f"this needs a client that can do {capability}, and yours did not say it can")
        self.capability = capability


CLIENT_REFUSED = "CLIENT_REFUSED"
CLIENT_CANNOT = "CLIENT_CANNOT"

# The capability that each of the server's requests needs; every client answers a ping.
_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def check_capabilities(questions: Mapping[str, Ask], capabilities: Mapping[str, Any]) -> None:
    """Raise CapabilityMissing if a question needs a capability that the client did not declare."""
    for ask in questions.values():
        needed = _NEEDS.get(ask.method)
        if needed is not None and needed not in capabilities:
            raise CapabilityMissing(needed)


# The field, with its type, that each answer must have.
_ANSWERED_WITH: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "elicitation/create": ("action", str),
    "sampling/createMessage": ("content", (dict, list)),
    "roots/list": ("roots", list),
}


def is_answer(ask: Ask, result: Any) -> bool:
    """Tell whether a client's result has the form of an answer to this question."""
    name, shape = _ANSWERED_WITH.get(ask.method, ("", object))
    return isinstance(result, dict) and isinstance(result.get(name), shape)


def check_answers(questions: Mapping[str, Ask], answers: Mapping[str, tuple[Any, Any]]) -> dict[str, dict[str, Any]]:
    """Return the results from pairs of result and error. Raises VaultError (CLIENT_REFUSED) if one is not an answer."""
    for key, (result, error) in answers.items():
        if not is_answer(questions[key], result):
            reason = error.get("message") if isinstance(error, dict) else f"no answer to {questions[key].method}"
            raise VaultError(CLIENT_REFUSED, f"the client did not answer {key!r}: {reason}")
    return {key: result for key, (result, _) in answers.items()}


class Bounds(NamedTuple):
    """The bounds of a number, or of the length of a text or list; for ``Annotated``."""

    least: int
    most: int


class Open(NamedTuple):
    """Says with ``Annotated`` that an object may have any other members, too. Those that its type has are examples."""


# What is said of arguments that many tools have.
NOTE_NAME = "The note, named as for read_notes."
FOLDER = "Look only below this folder. Empty for the whole vault."
LIMIT = "How many to return."
IF_MATCH = "Etag from read_notes. The note is changed only if it still is what was read."
DRY_RUN = "Only show what would be changed."
CURSOR = "next_cursor of the page before. Leave out for the first page."
SAID_ONCE = frozenset((NOTE_NAME, FOLDER, LIMIT, IF_MATCH, DRY_RUN, CURSOR))
"""What ``tools.instructions`` says once, and the list not with each argument."""

# Types of arguments that several tools share: the bounds of texts and numbers, and the text that a model reads.
#
# A tool's docstring describes an argument again where it means something else there.

# The longest real path fits. Without the bound, a caller's mistake could put a whole document into an error message.
Name = Annotated[str, Bounds(1, 1000)]
OptionalName = Annotated[str, Bounds(0, 1000)]
NoteName = Annotated[Name, NOTE_NAME]
Folder = Annotated[OptionalName, FOLDER]
Limit = Annotated[int, Bounds(1, 1000), LIMIT]
IfMatch = Annotated[str | None, Bounds(1, 100), IF_MATCH]
DryRun = Annotated[bool, DRY_RUN]
Merge = Annotated[bool, "If the note has changed since if_match, join the edit with that, unless both change the same."]
AllowBroken = Annotated[bool, "Write even if properties (frontmatter) could not be read any more."]


class Also(NamedTuple):
    """Says that a call does the work of another tool, too, and needs the right to it: each call, or with this argument only.

    ``value``: only if the argument has this value.
    """

    tool: str
    argument: str = ""
    value: str = ""


class Tool(Generic[P]):
    """A declared tool; calling it calls its function."""

    def __init__(
        self,
        function: Callable[Concatenate[Vault, Any, P], Outcome[Any]],  # Any: Progress, or the Client it really is
        title: str,
        annotations: dict[str, bool],
        declared: Description,
    ) -> None:
        self.function = function
        self.name = function.__name__
        self.title = title
        self.annotations = annotations
        self.declared: Description = {**declared, "module": function.__module__}
        """What the catalog has of it besides what clients see."""

    def __call__(self, vault: Vault, progress: Progress, /, *args: P.args, **kwargs: P.kwargs) -> Outcome[Any]:
        """Run the function."""
        return self.function(vault, progress, *args, **kwargs)


AnyTool: TypeAlias = Tool[...]


def tool(  # noqa: PLR0913 - all that is said of a tool is said here, by name
    *,
    title: str,
    category: str = "other",
    listed: Literal["core", "standard", "optional", "more", "named", "chatgpt", "memory"] = "more",
    time_class: TimeClass = "file",
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
    same_as: str = "",
    structured: bool = False,
    also: Sequence[Also] = (),
    rare: Sequence[str] = (),
    plain: Sequence[str] = (),
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Callable[Concatenate[Vault, Client, P], Outcome[Any]]], Tool[P]]:
    """Declare a function ``(vault, progress, /, arguments…) -> Outcome`` as a tool.

    ``listed``: in the "core" set, in the "standard" set, wherever the server has it ("optional"), told of by ``more_tools``
    ("more"), only named there, because others do all that it does ("named"), or only to one kind of client (a profile).
    The flags become MCP's annotations: ``read_only`` changes nothing, ``destructive`` may lose text, ``idempotent`` has no
    further effect when repeated, ``open_world`` reaches beyond the vault. ``same_as``: the tool that does the same job under
    another name. ``structured``: every client gets the data besides the text. ``rare``: arguments that are taken and not
    listed. ``plain``: arguments whose name says to a model what their description says to a reader of the page. ``meta``: what
    the list says to one kind of client in ``_meta``.
    """
    annotations = {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent or read_only,
        "openWorldHint": open_world,
    }
    declared: Description = {"timeClass": time_class, "category": category, "listed": listed}
    declared |= {"sameAs": same_as} if same_as else {}
    declared |= {"structured": True} if structured else {}
    declared |= {"also": [list(each) for each in also]} if also else {}
    declared |= {"rare": list(rare)} if rare else {}
    declared |= {"plain": list(plain)} if plain else {}
    declared |= {"meta": dict(meta)} if meta else {}
    return lambda function: Tool(function, title, annotations, declared)


class Attachments(Protocol):
    """Where the files for attachments may come from, apart from the call itself."""

    def read(self, source: str, name: str, max_bytes: int, progress: Progress) -> bytes:
        """Return the bytes of a file, by its path on this computer or its URL. Raises VaultError."""


class Outside(NamedTuple):
    """What tools may use that is not in the vault, as the person allowed it: hosts, and sources of attachments.

    ``page_of`` returns the address at which a person reads a note, by the vault's name and the note's path; empty for none.
    """

    may_reach: Callable[[str], bool]
    attachments: Attachments
    page_of: Callable[[str, str], str] = lambda _vault, _path: ""


class ToolMaker(NamedTuple):
    """A tool that needs something from outside of the vault; as a decorator of the function that makes it."""

    make: Callable[[Outside], AnyTool]


def load_tool(description: Description, outside: Outside) -> AnyTool:
    """Return the code of a tool, from the module in which it is declared."""
    found = getattr(import_module(description["module"]), description["name"])
    made: AnyTool = found.make(outside) if isinstance(found, ToolMaker) else found
    return made


def invoke(
    declared: AnyTool, description: Description, arguments: dict[str, Any], vault: Vault, progress: Progress
) -> Outcome[Any] | Failure:
    """Check the arguments by the tool's schema and run it. Raises ``Stopped``, what ``Client.ask`` raises, and bugs."""
    schema = description["inputSchema"]
    checked, problems = check_arguments(schema, arguments, description.get("rare", ()))
    if problems:
        example = example_of(schema, checked, description["description"])
        message = (
            f"{declared.name} was called with wrong arguments: {'; '.join(problems)}. Right would be, for example: "
            f"{json.dumps(example, ensure_ascii=False)}."
        )
        return Failure(INVALID_ARGUMENTS, message, {"problems": problems, "example": example})
    try:
        return declared(vault, progress, **checked)
    except VaultError as error:
        if error.code == FILE_NOT_FOUND:
            error = vault.history.with_new_name(error)
        return Failure(error.code, error.message, error.details)


# ---------------------------------------------------------------------- pages of results
#
# Pages of results: the cursors of all tools, and the text around a page.

Item = TypeVar("Item")

_CURSOR = re.compile(r"([0-9a-f]{8})\.([0-9]{1,20})")

# The key of the results and the number of those before the page (see ``position_of``). It is opaque to callers.
Cursor = Annotated[str | None, Bounds(1, 30), CURSOR]


class Position(NamedTuple):
    """What a cursor says: the key of the results (see ``vault.caller``), and how many of them are before the page."""

    key: str
    offset: int


def position_of(cursor: str | None) -> Position:
    """Return what the cursor says; an empty key for the first page. Raises VaultError for a cursor that is not from a page."""
    if cursor is None:
        return Position("", 0)
    if (match := _CURSOR.fullmatch(cursor)) is None:
        raise VaultError(
            INVALID_ARGUMENTS, f"cursor: pass what the page before said, got {cursor!r}.", argument="cursor"
        )
    return Position(match[1], int(match[2]))


class Page(Generic[Item]):
    """One page of the results of a question. All pages show the results of the first page's call.

    ``items`` are shown. Files that are gone since the first page are left out, so there may be fewer than the limit.
    """

    def __init__(
        self, results: Listed[Item], items: list[Item], offset: int, end: int, keep: Callable[[], str]
    ) -> None:
        """``keep`` keeps the results for the next pages and returns their key."""
        self.items = items
        self.offset = offset
        self.end = end
        self.total = len(results)
        self.facts = results.facts
        self._keep = keep

    @property
    def text(self) -> str:
        """The end of a headline: which of the results the page shows."""
        return page_text(self.offset, max(self.end - self.offset, 0), self.total)

    def outcome(self, data: Data, lines: list[str]) -> Outcome[Data]:
        """Return the page with the next page's cursor, if there is one, in the data's ``next_cursor`` and in the text."""
        key = self._keep() if self.end < self.total else ""
        return page_outcome(data, lines, self.end, self.total, key)


def page_of(
    vault: Vault,
    question: Hashable,
    cursor: str | None,
    limit: int,
    find: Callable[[], Listed[Item]],
    progress: Progress,
) -> Page[Item]:
    """Return the page that a cursor means; the first page of what ``find`` finds if there is no cursor.

    ``question``: the tool and the arguments that say what is asked; those of the next page must be the same. Raises
    VaultError for a cursor of another question, and for results that are not kept any more, or that may tell of a file that
    has become private since.
    """
    place = position_of(cursor)
    lost = vault.lost_files(progress)  # first: a file that is lost while ``find`` runs makes the cursor expire
    results: Listed[Item] = vault.paged.get(place.key, question, lost) if place.key else find()
    items = results.page(place.offset, limit, progress)

    def keep() -> str:
        return place.key or vault.paged.keep(question, results, results.size, lost)

    return Page(results, items, place.offset, min(place.offset + limit, len(results)), keep)


def page_text(offset: int, count: int, total: int) -> str:
    """Return the end of a headline: which of the results the page shows."""
    if not count:
        return "; none on this page." if total else "."
    return f", numbers {offset + 1} to {offset + count}:" if offset or count < total else ":"


def page_outcome(
    data: Data, lines: list[str], position: int, total: int, key: str, more: str = "{} more:"
) -> Outcome[Data]:
    """Return a page with the next page's cursor, if there is one, in the data's ``next_cursor`` and in the text.

    ``key``: the results' (see ``Position``). ``more``: what is left, before "pass cursor".
    """
    if position < total:
        cursor = f"{key}.{position}"
        cast("Any", data)["next_cursor"] = cursor
        lines.append(f"{more.format(total - position)} pass cursor {cursor!r}.")
    return Outcome(["\n".join(lines)], data)
