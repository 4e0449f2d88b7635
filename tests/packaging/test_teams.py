"""The files for several servers: what they say is what the program understands. ``make workflows`` checks their schemas."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.serving import Serving
from support.vaults import write_vault
from vaultwire.app.serving import make_network_config
from vaultwire.cli.commands import make_parser
from vaultwire.config import make_config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging" / "teams"
PAGE = (ROOT / "docs" / "teams.md").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OBJECTS: list[dict[str, Any]] = [
    each
    for path in sorted((FOLDER / "kubernetes").glob("*.yaml"))
    for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]
SERVERS = ("one", "two", "three")


def pods() -> Iterator[dict[str, Any]]:
    """Yield what the pods of Kubernetes are made of."""
    return (each["spec"]["template"]["spec"] for each in OBJECTS if "template" in each["spec"])


def kubernetes(kind: str) -> list[dict[str, Any]]:
    return [each for each in OBJECTS if each["kind"] == kind]


COMMANDS = [
    *(service["command"] for service in SERVICES.values() if service.get("image") == "vaultwire"),
    *(container["args"] for pod in pods() for container in pod["containers"]),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_the_program_understands_the_command(arguments: list[str], tmp_path: Path) -> None:
    values = {"POD_NAME": "vaultwire-0", "OWNER_URL": "postgresql://owner@db/vaultwire"}
    filled = [re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], word) for word in arguments]
    filled = [re.sub(r"\$\{\w+:-(\w+)\}", r"\1", word) for word in filled]
    options = make_parser().parse_args(filled)
    if filled[0] == "serve":
        given = {name: getattr(options, name) for name in ("host", "port", "allow_host", "replica_url", "metrics")}
        network = make_network_config(make_config(str(tmp_path)), database="postgresql://db/vaultwire", **given)
        assert network.replica_url == options.replica_url


def test_each_server_is_reached_where_it_says() -> None:
    balancer = (FOLDER / "haproxy.cfg").read_text(encoding="utf-8")
    assert re.findall(r"^    server (\w+) (\w+):3000$", balancer, re.MULTILINE) == [(name, name) for name in SERVERS]
    for name in SERVERS:
        assert f"--replica-url=http://{name}:3000" in SERVICES[name]["command"]
        assert f"state-{name}:/state" in SERVICES[name]["volumes"]
    (servers,) = kubernetes("StatefulSet")
    headless = next(each for each in kubernetes("Service") if each["spec"].get("clusterIP") == "None")
    assert servers["spec"]["serviceName"] == headless["metadata"]["name"]
    (arguments,) = (container["args"] for container in servers["spec"]["template"]["spec"]["containers"])
    assert f"--replica-url=http://$(POD_NAME).{headless['metadata']['name']}:3000" in arguments
    assert all(each["spec"]["selector"] == {"app": "vaultwire"} for each in kubernetes("Service"))


def test_the_servers_differ_in_their_place_only() -> None:
    def plain(name: str) -> str:
        return json.dumps(SERVICES[name]).replace(f"//{name}:", "//").replace(f"-{name}:", ":")

    assert plain("one") == plain("two") == plain("three")


def test_the_vault_is_that_of_all_servers() -> None:
    shared = [{volume for volume in SERVICES[name]["volumes"] if "-" not in volume.split(":")[0]} for name in SERVERS]
    assert shared[0] == shared[1] == shared[2]
    for claim in kubernetes("PersistentVolumeClaim"):
        assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    claimed = {each["metadata"]["name"] for each in kubernetes("PersistentVolumeClaim")}
    (pod,) = (pod for pod in pods() if "volumes" in pod)
    used = {
        volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"] if "persistentVolumeClaim" in volume
    }
    assert used == claimed


def test_no_container_may_more_than_it_needs() -> None:
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights["capabilities"]["drop"] == ["ALL"]
            assert rights["readOnlyRootFilesystem"] is True
            assert rights["allowPrivilegeEscalation"] is False
    for name in SERVERS:
        assert SERVICES[name]["read_only"] is True
        assert SERVICES[name]["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for service in SERVICES.values() for port in service.get("ports", ()))


def test_what_they_need_from_outside_is_told_on_the_page() -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    needed = set(re.findall(r"\$\{(\w+):\?", text))
    (exported,) = (line for line in PAGE.splitlines() if line.startswith("export VAULTWIRE_NOTES"))
    assert set(re.findall(r"(\w+)=", exported)) == needed
    keys = {
        variable["valueFrom"]["secretKeyRef"]["key"]
        for pod in pods()
        for container in pod["containers"]
        for variable in container["env"]
        if "secretKeyRef" in variable["valueFrom"]
    }
    assert set(re.findall(r"--from-literal=([\w-]+)=", PAGE)) == keys


def test_the_role_of_the_servers_is_made_by_a_script_that_a_shell_can_read() -> None:
    assert subprocess.run(["sh", "-n", str(FOLDER / "roles.sh")], check=False).returncode == 0
    assert "./roles.sh:/docker-entrypoint-initdb.d/roles.sh:ro" in SERVICES["database"]["volumes"]


def test_the_dashboard_shows_figures_that_a_server_has(tmp_path: Path) -> None:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [each["query"] for each in dashboard["templating"]["list"]]
    named = {name for query in queries for name in re.findall(r"\b(?:vaultwire|process)_\w+", query)}
    vault = write_vault(tmp_path / "Notes", "=== Note.md\ntext\n")
    folders = {"VAULTWIRE_STATE": str(tmp_path / "state"), "VAULTWIRE_CACHE": str(tmp_path / "cache")}
    with Serving(vault, "--metrics", **folders) as server:
        assert server.call("read_notes", {"paths": ["Note"]}).status == 200
        page = server.request("GET", "/metrics").body.decode()
    assert len(named) > 5
    assert named <= set(re.findall(r"^(\w+)[ {]", page, re.MULTILINE))
    labels = {label for query in queries for label in re.findall(r"\b(door|status|method|version)\b(?==|\))", query)}
    assert labels <= set(re.findall(r'(\w+)="', page))
