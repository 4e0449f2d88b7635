"""The entry for the MCP registry."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.bundles import DESKTOP, read
from vaultwire import __version__, config
from vaultwire.distribution import NAME, REGISTRY_NAME, REPOSITORY

SCHEMA = read(Path(__file__).parent / "server_schema.json")
CHECK = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_entry_is_as_the_registry_wants_it(release: Path) -> None:
    entry = read(release / "server.json")
    assert [error.message for error in CHECK.iter_errors(entry)] == []
    assert (entry["name"], entry["version"]) == (REGISTRY_NAME, __version__)
    index, bundle, container = entry["packages"]
    assert (index["identifier"], index["version"]) == (NAME, __version__)
    assert bundle["fileSha256"] == hashlib.sha256((release / DESKTOP["0.4"]).read_bytes()).hexdigest()
    assert bundle["identifier"] == f"{REPOSITORY}/releases/download/v{__version__}/{DESKTOP['0.4']}"
    assert container["identifier"].endswith(f":{__version__}")
    known = {getattr(config, name) for name in dir(config) if name.endswith("_VARIABLE")}
    named = set(re.findall(r"VAULTWIRE_[A-Z_]+", json.dumps(entry)))
    assert named <= known


def test_the_container_keeps_what_undoes_changes_and_asks_for_the_vault(release: Path) -> None:
    container = read(release / "server.json")["packages"][2]
    mounts = {
        part.removeprefix("target="): each
        for each in container["runtimeArguments"]
        for part in each.get("value", "").split(",")
        if part.startswith("target=")
    }
    assert mounts.keys() == {"/vault", "/state"}
    assert "type=volume" in mounts["/state"]["value"]
    for each in container["runtimeArguments"]:
        assert set(re.findall(r"\{(\w+)\}", each.get("value", ""))) == set(each.get("variables", {}))


def changed(*path: str | int, to: Any) -> Callable[[Any], None]:
    def change(entry: Any) -> None:
        for part in path[:-1]:
            entry = entry[part]
        entry[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "spoil",
    [
        changed("description", to="x" * 101),
        changed("name", to="vaultwire"),
        changed("version", to="latest"),
        changed("licence", to="MIT"),
        changed("repository", to={"url": REPOSITORY}),
        changed("packages", 0, "version", to="^1.0"),
        changed("packages", 1, "fileSha256", to="0"),
        changed("packages", 1, "identifier", to="https://example.org/notes.zip"),
        changed("packages", 1, "version", to="1.0.0"),
        changed("packages", 2, "registryBaseUrl", to="https://ghcr.io"),
        changed("packages", 2, "runtimeArguments", 0, "variables", "vault", "kind", to="folder"),
        changed("packages", 0, "packageArguments", 1, "type", to="positional"),
        changed("packages", 0, "transport", to={}),
    ],
)
def test_a_wrong_entry_is_found(release: Path, spoil: Callable[[Any], None]) -> None:
    entry = read(release / "server.json")
    spoil(entry)
    assert list(CHECK.iter_errors(entry))
