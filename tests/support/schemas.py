"""Values held to JSON schemas."""

from __future__ import annotations

from typing import Any

import jsonschema

# By the schema's identity, with the schema itself, so that no other one gets the same.
_CHECKS: dict[int, tuple[Any, Any]] = {}


def hold_to(value: object, schema: Any) -> None:
    """Raise jsonschema.ValidationError unless the value is as the schema says; as ``jsonschema.validate``.

    Whether the schema itself is right is looked at once for each: that takes longer than most values do.
    """
    if id(schema) not in _CHECKS:
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        _CHECKS[id(schema)] = schema, kind(schema)
    _CHECKS[id(schema)][1].validate(value)
