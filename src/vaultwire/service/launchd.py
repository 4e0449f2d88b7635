"""macOS: an agent of the person's launchd session. What may be written in its property list: launchd.plist(5)."""

from __future__ import annotations

import os
import plistlib

from vaultwire.service.job import Command, Job, Plan, marked

# launchd kills after 20 seconds; SIGTERM lets calls in flight be answered for up to 65.
_EXIT_SECONDS = 75


def plan(job: Job, home: str, label: str) -> Plan:
    """Return the property list and the commands of launchctl. Raises ServiceError."""
    job.check()
    path = os.path.join(home, "Library", "LaunchAgents", f"{label}.plist")
    log = job.log or os.path.join(home, "Library", "Logs", "vaultwire.log")
    content = plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": list(job.command),
            "EnvironmentVariables": job.environment,
            "RunAtLoad": True,
            "KeepAlive": True,
            "ExitTimeOut": _EXIT_SECONDS,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    ).decode("utf-8")
    domain = f"gui/{getattr(os, 'getuid', lambda: 0)()}"
    stop = Command(("launchctl", "bootout", f"{domain}/{label}"), may_fail=True)
    return Plan(
        path,
        marked(content, job._replace(log=log), ("<!-- ", " -->"), after="\n").encode("utf-8"),
        "utf-8",
        folders=(os.path.dirname(log),),
        starts_over=(stop,),
        starts=(
            Command(("launchctl", "enable", f"{domain}/{label}")),
            Command(("launchctl", "bootstrap", domain, path)),
        ),
        stops=(stop,),
        cleans_up=(),
        asks=Command(("launchctl", "print", f"{domain}/{label}")),
        log_hint=f"tail -f '{log}'",
        stops_later=True,
        hints=(
            "It runs while you are logged in. If it cannot read the vault: macOS keeps programs out of Desktop, Documents,",
            "Downloads and iCloud Drive until you allow them in System Settings, Privacy & Security, Files & Folders",
        ),
    )
