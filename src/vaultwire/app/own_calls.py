"""Calls of tools in this process, for the command line: no connection, no server that runs, no thread.

A call goes the way of every door: the same handlers, policy, choice of the vault and journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vaultwire.app import make_handlers
from vaultwire.protocol.dialects import FOR_PROGRAMS
from vaultwire.protocol.events import Peer, Request
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.server.results import Refusal
from vaultwire.server.workers import Job

if TYPE_CHECKING:
    from vaultwire.config import Config
    from vaultwire.server.results import Answer
    from vaultwire.toolkit.registry import Client

NAME = "command-line"
"""The author of the changes in the journal, and the client's name for a policy."""


class Answered(NamedTuple):
    """What a tool answered: texts and data, or the code of its failure and a message."""

    texts: list[str]
    data: dict[str, Any]
    failed: str | None = None

    @property
    def text(self) -> str:
        """All texts as one."""
        return "\n".join(self.texts)


class OwnCalls:
    """The tools of one run, called by the person's own command."""

    def __init__(self, config: Config) -> None:
        """Raises ConfigError, as every door does."""
        self._handlers = make_handlers(config)
        self._peer = Peer()
        self._peer.name = NAME
        self._peer.is_person = True

    @property
    def descriptions(self) -> Mapping[str, dict[str, Any]]:
        """The tools' descriptions by their names."""
        return self._handlers.toolset.descriptions

    def call(self, tool: str, arguments: Mapping[str, Any], client: Client) -> Answered:
        """Run a tool on this thread. Raises ``Stopped``, and what ``client`` raises."""
        params = {"name": tool, "arguments": dict(arguments)}
        answer = self._handlers.handle(Request(0, "tools/call", params, LATEST_HANDSHAKE, self._peer), FOR_PROGRAMS)
        if isinstance(answer, Job):
            answer.offered = lambda: list(self.descriptions.values())
            answer = answer.run(client)
        return _to_answered(answer)

    def close(self) -> None:
        """Close the vaults that were opened."""
        self._handlers.close()


def _to_answered(answer: Answer | Any) -> Answered:
    if isinstance(answer, Refusal):
        code = (answer.data or {}).get("errorCode", "")
        return Answered([answer.message.removeprefix("Invalid params: ")], {}, str(code))
    texts = [block["text"] for block in answer.value["content"] if block["type"] == "text"]
    if answer.failed is not None:
        return Answered([texts[0].removeprefix(f"{answer.failed}: "), *texts[1:]], {}, answer.failed)
    return Answered(texts, answer.value["structuredContent"])
