"""Declaring and running tools. A tool is a typed function with a docstring; ``tools.schema`` tells clients about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

from vaultwire.tools.arguments import check_arguments
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.model import Progress
from vaultwire.vault.vault import Vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.tools.catalog import Description

P = ParamSpec("P")
Data = TypeVar("Data", bound=Mapping[str, Any])
TimeClass: TypeAlias = Literal["file", "search"]


class Outcome(NamedTuple, Generic[Data]):
    """What a tool has to say: text blocks for a model, the same facts as data for a program."""

    texts: list[str]
    data: Data


class Failure(NamedTuple):
    """A tool that did not do it: the code is the identity, the message says what would be right."""

    code: str
    message: str
    details: dict[str, Any]


class Bounds(NamedTuple):
    """Smallest and largest value of a number, or length of a text or list; for ``Annotated``."""

    least: int
    most: int


class Tool(Generic[P]):
    """A declared tool; calling it calls its function."""

    def __init__(
        self,
        function: Callable[Concatenate[Vault, Progress, P], Outcome[Any]],
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
) -> Callable[[Callable[Concatenate[Vault, Progress, P], Outcome[Any]]], Tool[P]]:
    """Declare a function ``(vault, progress, /, arguments…) -> Outcome`` as a tool.

    The flags become MCP's annotations: ``read_only`` changes nothing, ``destructive`` may lose text, ``idempotent`` has
    no further effect when repeated. No tool here reaches beyond the vault, so ``openWorldHint`` is false.
    """
    annotations = {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent or read_only,
        "openWorldHint": False,
    }
    return lambda function: Tool(function, title, time_class, annotations)


def invoke(
    declared: AnyTool, description: Description, arguments: dict[str, Any], vault: Vault, progress: Progress
) -> Outcome[Any] | Failure:
    """Run the tool with arguments checked against its own schema. Raises only what nobody foresaw, and ``Stopped``."""
    checked, problems = check_arguments(description["inputSchema"], arguments)
    if problems:
        message = f"{declared.name} was called with wrong arguments: {'; '.join(problems)}."
        return Failure(INVALID_ARGUMENTS, message, {"problems": problems})
    try:
        return declared(vault, progress, **checked)
    except VaultError as error:
        return Failure(error.code, error.message, error.details)
