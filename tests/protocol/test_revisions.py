"""The five revisions by table: what each knows, how a handshake settles on one, and which era a request belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from vaultwire.protocol import revisions
from vaultwire.protocol.revisions import HANDSHAKE, META_VERSION, STATELESS

LATEST = "2025-11-25"

NEGOTIATIONS = [
    ("2024-11-05", "2024-11-05"),
    ("2025-03-26", "2025-03-26"),
    ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"),
    ("2026-07-28", LATEST),  # has no handshake, so nothing to agree on here
    ("1999-01-01", LATEST),
    ("2024-10-07", LATEST),
    ("2099-12-31", LATEST),
    ("2025-06-19", LATEST),
    ("", LATEST),
    ("DRAFT-2025-v2", LATEST),
    (" 2025-03-26", LATEST),
    ("\ud800", LATEST),
]


@pytest.mark.parametrize(("proposed", "settled"), NEGOTIATIONS)
def test_a_handshake_settles_on_the_proposed_revision_or_on_the_latest_that_has_one(
    proposed: str, settled: str
) -> None:
    assert revisions.negotiate(proposed).name == settled


@pytest.mark.parametrize("name", ["2026-07-28"])
def test_a_revision_without_handshake_is_found_by_its_name(name: str) -> None:
    found = revisions.stateless(name)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("name", ["2025-11-25", "2030-01-01", "", "2026-07-28 "])
def test_no_other_version_is_served_without_handshake(name: str) -> None:
    assert revisions.stateless(name) is None


DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"

# name, stateless, batches, annotations, title/outputSchema/structuredContent, wrong arguments as results, $schema
KNOWN = [
    ("2024-11-05", False, False, False, False, False, DRAFT_07),
    ("2025-03-26", False, True, True, False, False, DRAFT_07),
    ("2025-06-18", False, False, True, True, False, DRAFT_07),
    ("2025-11-25", False, False, True, True, True, DRAFT_2020_12),
    ("2026-07-28", True, False, True, True, True, DRAFT_2020_12),
]


def test_each_revision_knows_what_its_specification_gave_it() -> None:
    served = [
        (
            revision.name,
            revision.stateless,
            revision.batches,
            revision.tool_annotations,
            revision.tool_output,
            revision.tool_errors_for_arguments,
            revision.schema_dialect,
        )
        for revision in (*HANDSHAKE, *STATELESS)
    ]
    assert served == KNOWN


ENVELOPED = {META_VERSION: "2026-07-28"}
ERAS: list[tuple[str, dict[str, Any], bool]] = [
    ("tools/list", ENVELOPED, True),
    ("tools/list", {}, False),
    ("tools/list", {"progressToken": 1}, False),
    ("tools/list", {META_VERSION: None}, True),  # the key alone decides, so that its value can be complained about
    ("tools/list", {META_VERSION: "2024-11-05"}, True),
    ("ping", ENVELOPED, True),
    ("initialize", ENVELOPED, False),
    ("initialize", {}, False),
    ("server/discover", ENVELOPED, True),
    ("server/discover", {}, True),
]


@pytest.mark.parametrize(("method", "meta", "stateless"), ERAS)
def test_the_era_is_decided_by_the_message_alone(method: str, meta: dict[str, Any], stateless: bool) -> None:
    assert revisions.is_stateless_request(method, meta) is stateless
