"""What the official conformance suite looks for in a server: its tools, on our core. Names and texts are its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from vaultwire.server.subscriptions import Subscriptions
from vaultwire.toolkit.catalog import Toolset
from vaultwire.toolkit.registry import Ask, CapabilityMissing, Client, Outcome, TimeClass, Tool
from vaultwire.vault.errors import VaultError
from vaultwire.vault.vault import Vault

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}

_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

_ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]},
    },
}
_DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


def form(message: str, properties: Mapping[str, Any], *required: str) -> Ask:
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return Ask("elicitation/create", {"message": message, "requestedSchema": schema})


def sample(prompt: str, tokens: int = 100) -> Ask:
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return Ask("sampling/createMessage", {"messages": [message], "maxTokens": tokens})


TASK_SECONDS = 0.2
"""A call that takes longer becomes a task here: the suite does not wait as long as a person does."""

NAME = form("What is your name?", {"name": {"type": "string"}}, "name")
CONFIRM = form("Please confirm", {"ok": {"type": "boolean"}}, "ok")
ROOTS = Ask("roots/list", {})


def said(text: str, *more: dict[str, Any]) -> Outcome[Any]:
    return Outcome([text] if text else [], {}, more)


class Fixtures:
    """The suite's tools, and the changes some of them bring about."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self._described: list[dict[str, Any]] = []
        self._tools: list[Tool[...]] = []
        self._add_plain()
        self._add_talking()
        self._add_asking()
        self._add_rounds()
        self._add_long()

    def toolset(self) -> Toolset:
        by_name = {tool.name: tool for tool in self._tools}
        return Toolset(lambda: self._described, lambda description: by_name[description["name"]])

    def _add(
        self,
        name: str,
        run: Callable[..., Outcome[Any]],
        properties: dict[str, Any] | None = None,
        schema: dict[str, Any] | None = None,
        time_class: TimeClass = "search",
    ) -> None:
        """Declare ``run(client, **arguments)`` as a tool."""

        def function(vault: Vault, client: Client, /, **arguments: Any) -> Outcome[Any]:
            return run(client, **arguments)

        function.__name__ = name
        properties = properties or {}
        annotations = {"readOnlyHint": True}
        self._tools.append(Tool(function, name, annotations, {"timeClass": time_class}))
        self._described.append(
            {
                "name": name,
                "title": name,
                "description": f"A fixture of the conformance suite: {name}",
                "inputSchema": schema or {"type": "object", "properties": properties, "required": list(properties)},
                "annotations": annotations,
                "timeClass": time_class,
            }
        )

    def _add_plain(self) -> None:
        def fail(client: Client) -> Outcome[Any]:
            raise VaultError("INTENDED", "This tool intentionally returns an error for testing")

        def resource(uri: str, mime_type: str, text: str) -> dict[str, Any]:
            return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}

        embedded = resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        mixed = resource("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}')
        self._add(
            "test_simple_text", lambda client: said("This is a simple text response for testing."), time_class="file"
        )
        self._add("test_image_content", lambda client: said("", IMAGE))
        self._add("test_audio_content", lambda client: said("", AUDIO))
        self._add("test_embedded_resource", lambda client: said("", embedded))
        self._add("test_multiple_content_types", lambda client: said("Multiple content types test:", IMAGE, mixed))
        self._add("test_error_handling", fail)
        self._add("json_schema_2020_12_tool", lambda client, **_: said("ok"), schema=_SCHEMA_2020_12)
        region = {"region": {"type": "string", "x-mcp-header": "Region"}}
        self._add("test_x_mcp_header", lambda client, region: said(region), region)

    def _add_talking(self) -> None:
        def log(client: Client) -> Outcome[Any]:
            for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                client.log("info", message)
                time.sleep(0.05)
            return said("Tool with logging executed successfully")

        def report(client: Client) -> Outcome[Any]:
            for done in (0, 50, 100):
                client.report(done, 100, f"Completed step {done} of 100")
                time.sleep(0.05)
            return said("Tool with progress executed successfully")

        def reconnect(client: Client) -> Outcome[Any]:
            client.hang_up()
            time.sleep(0.2)
            return said("Reconnection test completed")

        def change(kind: str) -> Callable[[Client], Outcome[Any]]:
            def run(client: Client) -> Outcome[Any]:
                self._subscriptions.publish(kind)
                return said("changed")

            return run

        self._add("test_tool_with_logging", log)
        self._add("test_logging_tool", log)
        self._add("test_tool_with_progress", report)
        self._add("test_reconnection", reconnect)
        self._add("test_trigger_tool_change", change("toolsListChanged"))
        self._add("test_trigger_prompt_change", change("promptsListChanged"))

    def _add_asking(self) -> None:
        text = {"type": "string"}

        def asking(text: str, answer: Ask) -> Callable[[Client], Outcome[Any]]:
            def run(client: Client) -> Outcome[Any]:
                return said(text.format(**client.ask({"answer": answer})))

            return run

        def sampled(client: Client, prompt: str) -> Outcome[Any]:
            content = client.ask({"answer": sample(prompt)})["answer"]["content"]
            return said(f"LLM response: {content['text']}")

        def elicited(client: Client, message: str) -> Outcome[Any]:
            fields = {"username": {"type": "string"}, "email": {"type": "string"}}
            answer = client.ask({"answer": form(message, fields, "username", "email")})["answer"]
            return said(f"User response: action={answer['action']}, content={answer.get('content')}")

        self._add("test_sampling", sampled, {"prompt": text})
        self._add("test_elicitation", elicited, {"message": text})
        defaults = form("Please review and update the form fields with defaults", _DEFAULTS)
        self._add("test_elicitation_sep1034_defaults", asking("Elicitation completed: {answer}", defaults))
        enums = form("Please select options from the enum fields", _ENUMS)
        self._add("test_elicitation_sep1330_enums", asking("Elicitation completed: {answer}", enums))
        self._add("test_missing_capability", asking("{answer}", sample("Hello")))
        self._add("test_streaming_elicitation", asking("{answer}", CONFIRM))

    def _add_rounds(self) -> None:
        def rounds(answer: str, *steps: dict[str, Ask]) -> Callable[[Client], Outcome[Any]]:
            def run(client: Client) -> Outcome[Any]:
                answers: dict[str, Any] = {}
                for step in steps:
                    answers |= client.ask(step)
                return said(answer.format(**answers))

            return run

        def by_capability(client: Client) -> Outcome[Any]:
            wanted = {}
            if "elicitation" in client.capabilities:
                wanted["user_name"] = NAME
            if "sampling" in client.capabilities:
                wanted["greeting"] = sample("Generate a greeting", 50)
            return said(f"{client.ask(wanted)}")

        everything = {"user_name": NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}
        color = form("What is your favorite color?", {"color": {"type": "string"}}, "color")
        prefix = "test_input_required_result"
        self._add(f"{prefix}_elicitation", rounds("Hello, {user_name[content][name]}!", {"user_name": NAME}))
        capital = {"capital_question": sample("What is the capital of France?")}
        self._add(f"{prefix}_sampling", rounds("{capital_question[content][text]}", capital))
        self._add(f"{prefix}_list_roots", rounds("{client_roots[roots]}", {"client_roots": ROOTS}))
        self._add(f"{prefix}_request_state", rounds("state-ok", {"confirm": CONFIRM}))
        self._add(f"{prefix}_multiple_inputs", rounds("{user_name} {greeting} {client_roots}", everything))
        self._add(f"{prefix}_multi_round", rounds("{step1} {step2}", {"step1": NAME}, {"step2": color}))
        self._add(f"{prefix}_tampered_state", rounds("{confirm}", {"confirm": CONFIRM}))
        self._add(f"{prefix}_capabilities", by_capability)

    def _add_long(self) -> None:
        """Add the tools that the suite wants to become tasks: they take longer than ``TASK_SECONDS``."""
        text = {"type": "string"}

        def long(run: Callable[..., Outcome[Any]]) -> Callable[..., Outcome[Any]]:
            def run_late(client: Client, **arguments: Any) -> Outcome[Any]:
                _work(client, 2 * TASK_SECONDS)
                return run(client, **arguments)

            return run_late

        def compute(client: Client, seconds: float, label: str = "") -> Outcome[Any]:
            _work(client, seconds)
            return said(f"computed {label}")

        def fail(client: Client) -> Outcome[Any]:
            raise VaultError("INTENDED", "This job fails intentionally")

        def break_protocol(client: Client) -> Outcome[Any]:
            raise CapabilityMissing("nothing")  # a JSON-RPC error, which no client can do anything about

        def delete(client: Client, filename: str) -> Outcome[Any]:
            answer = client.ask({"confirm": form(f"Delete {filename}?", {"ok": {"type": "boolean"}}, "ok")})
            return said(f"{filename}: {answer['confirm']['action']}")

        def ask_two(client: Client, **_: Any) -> Outcome[Any]:
            answers = client.ask({"user_name": NAME, "confirm": CONFIRM})
            return said(f"{answers}")

        self._add("greet", lambda client, name: said(f"Hello, {name}!"), {"name": text})
        numbers = {"type": "object", "properties": {"seconds": {"type": "integer"}, "label": text}}
        self._add("slow_compute", compute, schema=numbers)
        self._add("failing_job", long(fail))
        self._add("protocol_error_job", long(break_protocol))
        self._add("confirm_delete", long(delete), {"filename": text})
        self._add("multi_input", long(ask_two))

        def ask_first(client: Client) -> Outcome[Any]:
            name = client.ask({"user_name": NAME})["user_name"]["content"]["name"]
            _work(client, 2 * TASK_SECONDS)
            return said(f"Hello, {name}!")

        self._add("test_tool_with_task", ask_first)


def _work(client: Client, seconds: float) -> None:
    """Take so long, unless the client cancels the call."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        client.check()
        time.sleep(0.02)
