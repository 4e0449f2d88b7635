"""What the Dockerfile and the compose file say, without running them. ``container_steps.py`` runs their steps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from dockerfile_parse import DockerfileParser

from vaultwire import distribution

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging" / "container"
STEPS = DockerfileParser(str(FOLDER / "Dockerfile")).structure


def values(instruction: str) -> list[str]:
    return [step["value"] for step in STEPS if step["instruction"] == instruction]


def compose() -> dict[str, Any]:
    service: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]["vaultwire"]
    return service


def test_both_stages_have_the_same_base_of_one_version() -> None:
    bases = {value.split()[0] for value in values("FROM")}
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", bases.pop())


def test_the_labels_are_those_of_the_project() -> None:
    labels = dict(re.findall(r'([\w.]+)="([^"]*)"', values("LABEL")[0]))
    assert labels["io.modelcontextprotocol.server.name"] == distribution.REGISTRY_NAME
    assert labels["org.opencontainers.image.source"] == distribution.REPOSITORY
    assert labels["org.opencontainers.image.title"] == distribution.NAME


def test_it_does_not_run_as_root_and_compose_agrees() -> None:
    (user,) = values("USER")
    number, group = map(int, user.split(":"))
    assert number >= 1000
    assert group >= 1000
    assert compose()["user"].endswith(f":-{user}}}")
    assert compose()["read_only"] is True
    assert compose()["cap_drop"] == ["ALL"]


def test_compose_listens_for_this_computer_only_and_keeps_the_state() -> None:
    assert all(port.startswith("127.0.0.1:") for port in compose()["ports"])
    targets = [volume.rpartition(":")[2] for volume in compose()["volumes"]]
    assert targets == ["/vault", "/state", "/cache"]
    assert json.loads(values("VOLUME")[0]) == targets[1:]
    assert compose()["command"][: len(json.loads(values("CMD")[0]))] == json.loads(values("CMD")[0])


def test_the_engine_gets_what_is_copied_and_nothing_else() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {word for value in values("COPY") if "--from" not in value for word in value.split()[:-1]}
    assert allowed == copied
    assert "*" in lines
