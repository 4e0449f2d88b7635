"""A person's agreement to a change: asked for by elicitation, where the client said that it can. Not which changes need it.

``Progress.confirm`` is called in the middle of a change, while nobody else may change the vault. So the work is ended there,
the person is asked, and the work runs again from its beginning: it makes its plan again, and goes on if that is the plan
that the person agreed to. If the notes have changed meanwhile, the plan is another one, and the person is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vaultwire.server.tasks import MustAsk, Task
from vaultwire.toolkit.registry import CLIENT_REFUSED, Ask, Failure, Outcome
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.value_types import Confirmation

# A form without fields: the client shows the question, and buttons to agree, to decline and to cancel.
_FORM = {"type": "object", "properties": {}}
_ACCEPT = "accept"
_TOLD = {
    "decline": "The person was asked, and declined",
    "cancel": "The person was asked, and gave no answer: they closed the question",
}
# The value of each type that says that there is nothing.
_EMPTY: dict[str, Any] = {"boolean": False, "integer": 0, "number": 0, "string": "", "array": [], "object": {}}


class _Declined(Exception):  # noqa: N818 - an answer, not a failure
    """``args[0]`` tells a model why nothing was changed."""


def run_confirmed(
    run: Callable[[Task], Outcome[Any] | Failure],
    task: Task,
    description: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> Outcome[Any] | Failure:
    """Run a tool, ask the person what it wants confirmed, and return its outcome: that nothing was changed if they decline."""
    try:
        return _run_confirmed(run, task, description, arguments)
    except Held as held:
        return _nothing_done(str(held), description, arguments)


def _run_confirmed(
    run: Callable[[Task], Outcome[Any] | Failure],
    task: Task,
    description: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> Outcome[Any] | Failure:
    if not _can_show_forms(task.capabilities):
        return run(task)  # the person agrees to calls in the client itself
    task.agreed = set()
    try:
        while True:
            try:
                return run(task)
            except MustAsk as must_ask:
                question = must_ask.question
            _ask_person(task, question)
            task.agreed.add(question.key)
    except _Declined as declined:
        message = f"{declined}. Nothing was changed. Do not try again unless the person asks for it."
        return _nothing_done(message, description, arguments)


def _ask_person(task: Task, question: Confirmation) -> None:
    """Ask. Raises _Declined, and in 2026-07-28 what ends the round of questions (``multi_round_trip``)."""
    form = Ask("elicitation/create", {"message": question.message, "requestedSchema": _FORM})
    try:
        action = task.ask({question.key: form})[question.key]["action"]
    except VaultError as error:
        if error.code != CLIENT_REFUSED:
            raise
        raise _Declined("The person was asked through the client, and no answer came back") from None
    if action != _ACCEPT:
        raise _Declined(_TOLD.get(action, _TOLD["cancel"]))


def _can_show_forms(capabilities: Mapping[str, Any]) -> bool:
    """Tell whether a client can ask by a form: from 2025-11-25 it may say that it can show web pages only (``url``)."""
    elicitation = capabilities.get("elicitation")
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def _nothing_done(message: str, description: Mapping[str, Any], arguments: Mapping[str, Any]) -> Outcome[Any]:
    """Return the outcome of a tool that did nothing. No failure: a model would try to do it in another way.

    The data has what the tool's schema requires (clients check it), empty; a path is the one that was given.
    """
    schema = description.get("outputSchema", {})
    data: dict[str, Any] = {name: _EMPTY[schema["properties"][name]["type"]] for name in schema.get("required", ())}
    if isinstance(data.get("path"), str):
        data["path"] = str(arguments.get("path", ""))
    if "notices" in data:
        data["notices"] = [message]
    return Outcome([message], data)
