"""The agents' part of the bench: what requests of people cost a model, in calls and in tokens.

A scripted client makes the calls that a good model makes. It is not a model: the figures say what the tools need, not how well
somebody uses them. Each request has its own copy of a vault and its own server, with the standard set of tools.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.agents_requests import REQUESTS, Given, Request, Results
from bench.agents_vaults import write_vault
from bench.client import Server, call_frame
from bench.report import aligned, environment, write_result

_MOST_CALLS = 3
_REQUESTS_WITHIN = 36
_MEDIAN_TOKENS = 400
_CHARACTERS_PER_TOKEN = 4


class Cost(NamedTuple):
    """What one request took. ``problem`` is empty if the person has what they asked for."""

    request: Request
    calls: int
    tokens: int
    asked_tokens: int
    problem: str


def run(path: Path) -> list[str]:
    """Replay all requests, print the table, write the JSON; return the missed targets."""
    facts = environment(requests=str(len(REQUESTS)))
    print("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n", flush=True)
    costs = [replay(request) for request in REQUESTS]
    print(_table(costs))
    totals = totals_of(costs)
    print("\n" + "\n".join(f"{name}: {value}" for name, value in totals.items()))
    rows = [
        {"vault": cost.request.vault, "wish": cost.request.wish, "calls": cost.calls, "tokens": cost.tokens}
        for cost in costs
    ]
    write_result(path, {"environment": facts, "totals": totals, "requests": rows})
    return missed_bounds(costs)


def totals_of(costs: Sequence[Cost]) -> dict[str, float]:
    """Return what all requests take together."""
    return {
        "requests within three calls": sum(cost.calls <= _MOST_CALLS for cost in costs),
        "median tokens of results": statistics.median(cost.tokens for cost in costs),
        "mean calls": round(statistics.mean(cost.calls for cost in costs), 2),
    }


def missed_bounds(costs: Sequence[Cost]) -> list[str]:
    """Return what went wrong, and what takes more than it may."""
    totals = totals_of(costs)
    missed = [f"{cost.request.wish}: {cost.problem}" for cost in costs if cost.problem]
    missed += [
        f"{cost.request.wish}: {cost.tokens} tokens, {cost.request.budget} are its budget"
        for cost in costs
        if cost.tokens > cost.request.budget
    ]
    if totals["requests within three calls"] < _REQUESTS_WITHIN:
        missed.append(f"fewer than {_REQUESTS_WITHIN} requests within {_MOST_CALLS} calls")
    if totals["median tokens of results"] > _MEDIAN_TOKENS:
        missed.append(f"median of more than {_MEDIAN_TOKENS} tokens")
    return missed


def replay(request: Request, start: Callable[..., Any] = subprocess.Popen) -> Cost:
    """Make the calls of a request, and check what it leads to. ``start``: as for ``Server``."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        vault = Path(folder, "vault")
        vault.mkdir()
        write_vault(request.vault, vault)
        variables = {"VAULTWIRE_CACHE": f"{folder}/cache", "VAULTWIRE_STATE": f"{folder}/state"}
        command = [sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault), *request.options(Path(folder))]
        with Server(command, variables, start) as server:
            server.open()
            for tool, given in request.before:
                _text(server, tool, _arguments(given, Results(vault)))
            results = Results(vault)
            asked = 0
            for tool, given in request.calls:
                arguments = _arguments(given, results)
                asked += len(json.dumps(arguments))
                results.texts.append(_text(server, tool, arguments))
            server.end()
        try:
            problem = "" if request.holds(results) else "the person does not have what they asked for"
        except (OSError, LookupError, ValueError) as error:
            problem = repr(error)
    characters = sum(map(len, results.texts))
    return Cost(
        request,
        len(results.texts),
        characters // _CHARACTERS_PER_TOKEN,
        asked // _CHARACTERS_PER_TOKEN,
        problem and f"{problem}\n{results.texts[-1][:500]}",
    )


def _arguments(given: Given, results: Results) -> Mapping[str, Any]:
    return given(results) if callable(given) else given


def _text(server: Server, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return what a model sees of a call's result."""
    answer = json.loads(server.ask(call_frame(0, tool, dict(arguments))))
    if "error" in answer:
        return f"Error {answer['error']['message']}"
    text = "\n".join(block.get("text", "") for block in answer["result"]["content"])
    return f"Error {text}" if answer["result"].get("isError") else text


def _table(costs: Sequence[Cost]) -> str:
    heading = ("request", "vault", "calls", "tokens", "budget", "asked", "done")
    rows = [
        (
            cost.request.wish,
            cost.request.vault,
            str(cost.calls),
            str(cost.tokens),
            str(cost.request.budget),
            str(cost.asked_tokens),
            "no" if cost.problem else "yes",
        )
        for cost in costs
    ]
    return "\n".join(aligned([heading, *rows]))
