"""Hints and docstring of a function become its description, and what has no place in a schema is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from scripts.pages.schema import describe

from vaultwire.toolkit.registry import AnyTool, Bounds, Outcome, tool
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class Inner(TypedDict):
    """A part."""

    number: Annotated[int, "A number"]


class Data(TypedDict):
    """What comes back."""

    flag: bool
    parts: list[Inner]
    note: Annotated[NotRequired[str], "Perhaps"]


@tool(title="Sample", time_class="search", idempotent=True)
def sample(
    vault: Vault,
    progress: Progress,
    /,
    word: Annotated[str, Bounds(1, 9)],
    count: Annotated[int, Bounds(0, 5)] = 3,
    kind: Literal["a", "b"] = "a",
    words: Annotated[list[Annotated[str, Bounds(1, 2)]], Bounds(1, 4)] | None = None,
    sure: bool = False,
    more: Annotated[str | None, Bounds(1, 2)] = None,
) -> Outcome[Data]:
    """Do it.

    And say so
    in two lines.

    Args:
        word: A word,
            any word: yes.
        count: How many.
        kind: Which.
        words: All.
        sure: Really.
        more: Else.
    """
    return Outcome([word], {"flag": sure, "parts": []})


def test_a_tool_is_described_by_its_hints_and_docstring() -> None:
    text = {"type": "string"}
    assert describe(sample) == {
        "name": "sample",
        "title": "Sample",
        "description": "Do it.\n\nAnd say so in two lines.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "word": {**text, "minLength": 1, "maxLength": 9, "description": "A word, any word: yes."},
                "count": {"type": "integer", "minimum": 0, "maximum": 5, "description": "How many.", "default": 3},
                "kind": {**text, "enum": ["a", "b"], "description": "Which.", "default": "a"},
                "words": {
                    "type": "array",
                    "items": {**text, "minLength": 1, "maxLength": 2},
                    "minItems": 1,
                    "maxItems": 4,
                    "description": "All.",
                },
                "sure": {"type": "boolean", "description": "Really.", "default": False},
                "more": {**text, "minLength": 1, "maxLength": 2, "description": "Else."},
            },
            "required": ["word"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "flag": {"type": "boolean"},
                "parts": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"number": {"type": "integer", "description": "A number"}},
                        "required": ["number"],
                        "additionalProperties": False,
                    },
                },
                "note": {"type": "string", "description": "Perhaps"},
            },
            "required": ["flag", "parts"],
            "additionalProperties": False,
        },
        "annotations": {
            "title": "Sample",
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "timeClass": "search",
        "category": "other",
        "listed": "more",
        "module": __name__,
    }


@tool(title="x")
def undescribed(vault: Vault, progress: Progress, /, word: str) -> Outcome[Data]:
    """Say nothing of its argument."""
    raise NotImplementedError


@tool(title="x")
def misdescribed(vault: Vault, progress: Progress, /, word: str) -> Outcome[Data]:
    """Describe another argument.

    Args:
        world: A word.
    """
    raise NotImplementedError


@tool(title="x")
def wordless(vault: Vault, progress: Progress, /, word: str) -> Outcome[Data]:
    raise NotImplementedError


@tool(title="x")
def garrulous(vault: Vault, progress: Progress, /, word: str) -> Outcome[Data]:
    """Go on behind the arguments, where it would become part of the last one.

    Args:
        word: A word.

    Returns:
        Something.
    """
    raise NotImplementedError


@tool(title="x")
def shapeless(vault: Vault, progress: Progress, /, word: dict[str, Any]) -> Outcome[Data]:
    """Take anything.

    Args:
        word: A word.
    """
    raise NotImplementedError


@tool(title="x")
def fractional(vault: Vault, progress: Progress, /, word: float) -> Outcome[Data]:
    """Take a type we have no check for.

    Args:
        word: A word.
    """
    raise NotImplementedError


@tool(title="x")
def two_typed(vault: Vault, progress: Progress, /, word: str | int) -> Outcome[Data]:
    """Take one or the other, which not every client can say.

    Args:
        word: A word.
    """
    raise NotImplementedError


@tool(title="x")
def untyped(vault: Vault, progress: Progress, /, word: str) -> Outcome[dict[str, Any]]:
    """Return anything.

    Args:
        word: A word.
    """
    raise NotImplementedError


@pytest.mark.parametrize(
    "odd",
    [undescribed, misdescribed, wordless, garrulous, shapeless, fractional, two_typed, untyped],
    ids=lambda odd: str(odd.name),
)
def test_what_has_no_place_in_a_schema_is_an_error(odd: AnyTool) -> None:
    with pytest.raises(TypeError):
        describe(odd)


def test_a_declared_tool_still_is_its_function() -> None:
    vault: Any = None
    assert sample(vault, vault, "hello", sure=True) == Outcome(["hello"], {"flag": True, "parts": []})
