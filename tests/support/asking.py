"""Tools that ask their client, in addition to those of the stage."""

from __future__ import annotations

import threading
from typing import Any

from support.toolsets import Said, Stage, said
from vaultwire.toolkit.registry import AnyTool, Ask, Client, Outcome, tool
from vaultwire.vault.value_types import Confirmation
from vaultwire.vault.vault import Vault

ROOTS = Ask("roots/list", {})
FORM = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}
SURE = Ask("elicitation/create", FORM)
CAN_ALL: dict[str, Any] = {"roots": {}, "elicitation": {}}


class AskingStage(Stage):
    """``ask`` asks for the roots; ``ask_twice`` asks a form, then for the roots; ``hang_up`` ends its stream for now."""

    def _tools(self) -> list[AnyTool]:
        stage = self

        @tool(title="Ask", time_class="search", read_only=True)
        def ask(vault: Vault, client: Client, /, text: str = "") -> Outcome[Said]:
            """Ask for the roots.

            Args:
                text: Nothing.
            """
            return said(f"{len(client.ask({'roots': ROOTS})['roots']['roots'])} roots")

        @tool(title="Ask twice", time_class="search", read_only=True)
        def ask_twice(vault: Vault, client: Client, /) -> Outcome[Said]:
            """Ask two things, one after the other."""
            action = client.ask({"sure": SURE})["sure"]["action"]
            return said(f"{action}, {len(client.ask({'roots': ROOTS})['roots']['roots'])} roots")

        @tool(title="Ask later", time_class="search", read_only=True)
        def ask_later(vault: Vault, client: Client, /, gate: str) -> Outcome[Said]:
            """Wait at a gate, then ask as ask_twice does.

            Args:
                gate: Which.
            """
            stage.pass_gate(gate, client)
            action = client.ask({"sure": SURE})["sure"]["action"]
            return said(f"{action}, {len(client.ask({'roots': ROOTS})['roots']['roots'])} roots")

        @tool(title="Ask soon", time_class="file", read_only=True)
        def ask_soon(vault: Vault, client: Client, /) -> Outcome[Said]:
            """Ask as ask does, but with the short deadline."""
            return said(f"{len(client.ask({'roots': ROOTS})['roots']['roots'])} roots")

        @tool(title="May ask", read_only=True)
        def may_ask(vault: Vault, client: Client, /, sure: bool = True) -> Outcome[Said]:
            """Ask if not sure.

            Args:
                sure: Whether.
            """
            stage.order.append(threading.current_thread().name)
            return said("sure" if sure else f"{len(client.ask({'roots': ROOTS})['roots']['roots'])} roots")

        @tool(title="Hang up", time_class="search", read_only=True)
        def hang_up(vault: Vault, client: Client, /, gate: str) -> Outcome[Said]:
            """End the stream for now, wait at a gate, and answer.

            Args:
                gate: Which.
            """
            client.hang_up()
            stage.pass_gate(gate, client)
            return said("later")

        @tool(title="Change if agreed", time_class="file")
        def change_if_agreed(vault: Vault, client: Client, /, name: str) -> Outcome[Said]:
            """Change something once the person agrees.

            Args:
                name: What.
            """
            client.confirm(Confirmation(f"confirm-{name}", f"Change {name}?"))
            stage.order.append(name)
            return said("changed")

        return [*super()._tools(), change_if_agreed, ask, ask_twice, ask_later, ask_soon, may_ask, hang_up]
