"""Computes and simulates how many agents and vaults groups of servers carry, for docs/scale.md.

``.venv/bin/python bench/scale.py``, from the costs that ``make bench ARGS=--teams`` measures. Calls come by chance (a Poisson
process), each server has one core, and the writes of a vault wait for each other. A seed makes the table the same each time.
"""

from __future__ import annotations

import heapq
import math
import random
import sys
from typing import NamedTuple

# Measured on two shared cores, in seconds: processor time of a read and of a write at the owner, what passing on adds at the
# two servers together, and how long a write holds its vault (PostgreSQL with a synchronous stand-by on the same disk).
READ, WRITE, PASS_ON, HOLD = 0.0014, 0.0111, 0.0015, 0.025
# Assumed: an agent at work calls every ten seconds, one call in ten changes a note.
CALLS, WRITES = 0.1, 0.1
# A vault of 5,000 notes at its owner.
VAULT_MB = 30
# A server is planned for half a core and 8 GB; a group for so many servers and vaults, and commits of its PostgreSQL a second.
MOST_BUSY, MOST_MB, MOST_SERVERS, MOST_VAULTS, MOST_COMMITS = 0.5, 8000, 10, 1000, 1500
COMMITS = 3  # of a write; one of them waits for the disk
_SECONDS = 30.0
_SEED = 1


class Plan(NamedTuple):
    """What so many agents and vaults need."""

    agents: int
    vaults: int
    servers: int
    groups: int
    limit: str

    @property
    def calls(self) -> float:
        return self.agents * CALLS


def plan(agents: int, vaults: int) -> Plan:
    """Return how many servers and groups are needed, and what decides it."""
    calls = agents * CALLS
    writes = calls * WRITES / vaults
    if writes * HOLD > MOST_BUSY:
        return Plan(
            agents, vaults, 0, 0, f"a vault has {writes:.0f} writes a second, {MOST_BUSY / HOLD:.0f} are planned for"
        )
    # All but one of n servers' calls arrive at another server than the owner; for many servers that is nearly each call.
    work = calls * (READ * (1 - WRITES) + WRITE * WRITES + PASS_ON)
    needs = {
        "processor": math.ceil(work / MOST_BUSY),
        "memory": math.ceil(vaults * VAULT_MB / MOST_MB),
        "one that may fail": 2,
    }
    servers = max(needs.values()) + 1  # what is left carries all when one fails
    groups = {
        "servers of a group": math.ceil(servers / MOST_SERVERS),
        "vaults of a group": math.ceil(vaults / MOST_VAULTS),
        "commits of a database": math.ceil(calls * WRITES * COMMITS / MOST_COMMITS),
    }
    count = max(groups.values())
    kind = max(needs, key=lambda name: needs[name]) if count == 1 else max(groups, key=lambda name: groups[name])
    return Plan(agents, vaults, max(servers, 3 * count), count, kind)


def simulated(plan: Plan) -> tuple[float, float]:
    """Return the times in which half and 99 % of the calls are answered in one group, in milliseconds."""
    chance = random.Random(_SEED)  # noqa: S311 - no secret
    servers, vaults = plan.servers // plan.groups, max(plan.vaults // plan.groups, 1)
    rate = plan.calls / plan.groups
    free, held = [0.0] * servers, [0.0] * vaults
    # When something is to be done for a call, when it began, its vault, whether it writes, whether it is at the owner.
    due: list[tuple[float, float, int, bool, bool]] = []
    now = 0.0
    while now < _SECONDS:
        now += chance.expovariate(rate)
        due.append((now, now, chance.randrange(vaults), chance.random() < WRITES, chance.randrange(servers) == 0))
    times = []
    while due:
        at, began, vault, is_write, is_at_owner = heapq.heappop(due)
        owner = vault % servers
        if not is_at_owner:
            door = (owner + 1 + chance.randrange(servers - 1)) % servers
            free[door] = max(at, free[door]) + PASS_ON
            heapq.heappush(due, (free[door], began, vault, is_write, True))
            continue
        at = free[owner] = max(at, free[owner]) + (WRITE if is_write else READ)
        if is_write:
            at = held[vault] = max(at, held[vault]) + HOLD
        times.append((at - began) * 1000)
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100]


def main() -> None:
    """Print the table of docs/scale.md."""
    sys.stdout.write("| agents | vaults | calls/s | servers | groups | what decides | half of the calls | 99 % |\n")
    sys.stdout.write("|---:|---:|---:|---:|---:|---|---:|---:|\n")
    for agents in (10, 100, 1_000, 10_000, 100_000):
        for vaults in (1, 10, 100, 1_000, 10_000):
            if vaults > agents:
                continue
            one = plan(agents, vaults)
            row = f"| {agents:,} | {vaults:,} | {one.calls:,.0f} |"
            if one.groups:
                half, most = simulated(one)
                row += f" {one.servers} | {one.groups} | {one.limit} | {half:.0f} ms | {most:.0f} ms |"
            else:
                row += f" - | - | {one.limit} | | |"
            sys.stdout.write(row + "\n")


if __name__ == "__main__":
    main()
