"""What schemathesis holds our API to beside its own checks; it is told by ``SCHEMATHESIS_HOOKS``.

Its own rule for calls whose arguments the schema forbids (``negative_data_rejection``) wants a status of 4xx. The API's
contract answers them with 200 and ``"success": false``, as whatever a tool could not do. So that is checked here. A body
of another media type than the document's is read all the same if it is JSON: the contract asks for no more. And what the
schema forbids is taken where it can mean only one thing, which is not left to the server to say: it is read here, too.
"""

from __future__ import annotations

import json
from typing import Any

import schemathesis  # type: ignore[import-not-found]  # it has an environment of its own

from vaultwire.toolkit.arguments import check_arguments, read_arguments
from vaultwire.toolkit.catalog import load_catalog

# Where the arguments are held to the schema; tools refuse on their own what no schema can say, such as a day that is none.
WRONG = "was called with wrong arguments"
JSON = "application/json"
SCHEMAS = {description["name"]: description["inputSchema"] for description in load_catalog()}


@schemathesis.check  # type: ignore[untyped-decorator]
def arguments_are_taken_as_the_document_says(ctx: Any, response: Any, case: Any) -> None:
    """Fail if a call with arguments the document forbids succeeds, or one with arguments it allows is refused for them."""
    if case.method != "POST" or response.status_code != 200 or case.meta is None:
        return
    called = response.json()
    if case.meta.generation.mode.is_negative and response.request.headers.get("Content-Type") != JSON:
        return
    if case.meta.generation.mode.is_negative:
        is_taken = called["success"] is False or can_be_read(response.request)
        assert is_taken, "the document forbids these arguments, and the call succeeded"
    else:
        text = "" if called["success"] else called["content"][0]["text"]
        assert WRONG not in text, f"the document allows these arguments: {text}"


def can_be_read(request: Any) -> bool:
    """Tell whether the arguments of a call do not pass the strict check, and can mean only one thing."""
    schema, arguments = SCHEMAS[request.url.split("/")[-2]], json.loads(request.body)["arguments"]
    return check_arguments(schema, arguments)[1] != [] and read_arguments(schema, arguments)[1] == []
