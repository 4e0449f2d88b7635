"""Declaring and running tools. A tool is a typed function with a docstring; ``toolkit.schema`` describes it to clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from vaultwire.toolkit.argument_examples import example_of
from vaultwire.toolkit.arguments import check_arguments
from vaultwire.toolkit.lean import not_listed
from vaultwire.toolkit.lenient_reading import read_arguments
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

P = ParamSpec("P")
Data = TypeVar("Data", bound=Mapping[str, Any])
TimeClass: TypeAlias = Literal["file", "search", "web"]
Description: TypeAlias = dict[str, Any]
"""One tool as ``tools/list`` shows it (name, title, description, inputSchema, outputSchema, annotations), and its timeClass,
which is ours."""


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

    def show(self, tools: Collection[str]) -> bool:
        """List these tools to the client, too, from now on. False if its list cannot change."""

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


class Tool(Generic[P]):
    """A declared tool; calling it calls its function."""

    def __init__(
        self,
        function: Callable[Concatenate[Vault, Any, P], Outcome[Any]],  # Any: Progress, or the Client it really is
        title: str,
        time_class: TimeClass,
        annotations: dict[str, bool],
    ) -> None:
        self.function = function
        self.name = function.__name__
        self.title = title
        self.time_class = time_class
        self.annotations = annotations

    def __call__(self, vault: Vault, progress: Progress, /, *args: P.args, **kwargs: P.kwargs) -> Outcome[Any]:
        """Run the function."""
        return self.function(vault, progress, *args, **kwargs)


AnyTool: TypeAlias = Tool[...]


def tool(
    *,
    title: str,
    time_class: TimeClass = "file",
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
) -> Callable[[Callable[Concatenate[Vault, Client, P], Outcome[Any]]], Tool[P]]:
    """Declare a function ``(vault, progress, /, arguments…) -> Outcome`` as a tool.

    The flags become MCP's annotations: ``read_only`` changes nothing, ``destructive`` may lose text, ``idempotent`` has
    no further effect when repeated, ``open_world`` reaches beyond the vault.
    """
    annotations = {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent or read_only,
        "openWorldHint": open_world,
    }
    return lambda function: Tool(function, title, time_class, annotations)


def invoke(
    declared: AnyTool,
    description: Description,
    arguments: dict[str, Any],
    vault: Vault,
    progress: Progress,
    *,
    is_strict: bool = False,
) -> Outcome[Any] | Failure:
    """Read the arguments by the tool's schema, or with ``is_strict`` only check them, and run it.

    Raises ``Stopped``, what ``Client.ask`` raises, and bugs.
    """
    schema = description["inputSchema"]
    read, problems = (check_arguments if is_strict else read_arguments)(schema, arguments, not_listed(declared.name))
    if problems:
        example = example_of(schema, read, description["description"])
        message = (
            f"{declared.name} was called with wrong arguments: {'; '.join(problems)}. Right would be, for example: "
            f"{json.dumps(example, ensure_ascii=False)}."
        )
        return Failure(INVALID_ARGUMENTS, message, {"problems": problems, "example": example})
    try:
        return declared(vault, progress, **read)
    except VaultError as error:
        if error.code == FILE_NOT_FOUND:
            error = vault.history.with_new_name(error)
        return Failure(error.code, error.message, error.details)
