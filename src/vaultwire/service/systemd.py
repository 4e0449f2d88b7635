"""Linux: a unit of the person's own systemd manager. What may be written in it: systemd.service(5), systemd.exec(5)."""

from __future__ import annotations

import os

from vaultwire.service.job import Command, Job, Plan, ServiceError, marked

NAME = "vaultwire.service"

# systemd.exec(5) on what works in a manager without root's rights: the lines on the file system need user namespaces, and
# systemd leaves them out where the kernel has none. The others work everywhere.
_CONFINED = """\
ProtectSystem=strict
{writes}{private_tmp}RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
"""

# SIGTERM lets calls in flight be answered for up to 65 seconds. Restart=always: on SIGHUP the server ends, too, and starts
# again with the policy as it is then. It never gives up: a vault on a disk or in a cloud may come later than the login.
_UNIT = """\
[Unit]
Description=Obsidian vault for AI assistants (vaultwire)
Documentation={documentation}
StartLimitIntervalSec=0

[Service]
ExecStart=:{command}
{environment}Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=75
NoNewPrivileges=yes
{confined}
[Install]
WantedBy=default.target
"""


def plan(job: Job, home: str, documentation: str) -> Plan:
    """Return the unit and the commands of systemctl. Raises ServiceError."""
    job.check()
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    path = os.path.join(folder if os.path.isabs(folder) else os.path.join(home, ".config"), "systemd", "user", NAME)
    writes = "".join(f"ReadWritePaths={_path(each)}\n" for each in job.writes)
    if os.path.join(home, ".cache", "vaultwire") in job.writes:  # it may be deleted at any time; systemd makes it again
        writes += "CacheDirectory=vaultwire\n"
    # The program itself may be there, too: with a private /tmp, the unit would not find it.
    uses_tmp = any(each.startswith(("/tmp/", "/var/tmp/")) for each in (*job.writes, *job.command))  # noqa: S108 - compared
    private_tmp = "" if uses_tmp else "PrivateTmp=yes\n"
    unit = _UNIT.format(
        documentation=documentation,
        command=" ".join(map(_word, job.command)),
        environment="".join(f"Environment={_word(f'{name}={value}')}\n" for name, value in job.environment.items()),
        confined=_CONFINED.format(writes=writes, private_tmp=private_tmp) if job.is_confined else "",
    )
    manager = ("systemctl", "--user")
    reload = Command((*manager, "daemon-reload"))
    return Plan(
        path,
        marked(unit, job, ("# ", "")).encode("utf-8"),
        "utf-8",
        folders=(),
        starts_over=(),
        starts=(reload, Command((*manager, "enable", NAME)), Command((*manager, "restart", NAME))),
        stops=(Command((*manager, "disable", "--now", NAME), may_fail=True),),
        cleans_up=(reload, Command((*manager, "reset-failed", NAME), may_fail=True)),
        asks=Command((*manager, "is-active", NAME)),
        log_hint=f"journalctl --user --unit {NAME}",
        hints=("To keep it running while you are logged out: loginctl enable-linger",),
    )


def _word(text: str) -> str:
    """Return a word of a command line or an assignment, quoted: systemd.syntax(7). ``%`` would begin a specifier.

    No ``$`` is replaced: the command has the prefix ``:``, and assignments know no variables.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _path(path: str) -> str:
    """Return a path of ReadWritePaths, which knows quotes but no escapes. ``-``: it may be missing at the start."""
    quotes = [quote for quote in ('"', "'") if quote not in path]
    if not quotes:
        raise ServiceError(f"systemd takes no folder with both kinds of quotes: {path}. Use --no-sandbox")
    return f"{quotes[0]}-{path.replace('%', '%%')}{quotes[0]}"
