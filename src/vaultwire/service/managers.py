"""The plans for the service managers of the three systems: the file that each reads, and its commands. Nothing is done here.

Linux: a unit of the person's own systemd manager. What may be written in it: systemd.service(5), systemd.exec(5).
macOS: an agent of the person's launchd session, with a property list: launchd.plist(5).
Windows: a task that starts when the person logs on. The schema of its XML: [MS-TSCH] 2.5. It is not a Windows service. A
service answers the service control manager, which Python cannot do without another package, and runs under another account:
it sees neither the person's drives nor their OneDrive.
"""

from __future__ import annotations

import codecs
import os
import plistlib
import re
import subprocess
from xml.sax.saxutils import escape

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


def plan_systemd(job: Job, home: str, documentation: str) -> Plan:
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


# launchd kills after 20 seconds; SIGTERM lets calls in flight be answered for up to 65.
_EXIT_SECONDS = 75


def plan_launchd(job: Job, home: str, label: str) -> Plan:
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


# https://learn.microsoft.com/windows/win32/taskschd/execaction: variables are replaced before the command runs.
_VARIABLE = re.compile("%(?=([^%]+)%)")
# Priority 5 is that of a program which a person starts. The default, 7, would also make its reading from the disk wait.
_TASK = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Obsidian vault for AI assistants (vaultwire)</Description>
    <Documentation>{documentation}</Documentation>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>5</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>999</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{program}</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"""


def plan_task(job: Job, name: str, documentation: str) -> Plan:
    """Return the task and the commands of schtasks. Raises ServiceError."""
    job.check()
    for word in job.command:
        if any(name.upper() in os.environ for name in _VARIABLE.findall(word)):
            raise ServiceError(f"the Task Scheduler would replace the variable in {word!r}; rename that folder or file")
    # "remove" deletes the log, but not one that the person chose: it may hold more.
    own_log = job.log if os.path.dirname(job.log) == job.state else ""
    path = os.path.join(job.state, f"{name}-task.xml")
    user = os.environ.get("USERNAME", "")
    domain = os.environ.get("USERDOMAIN", "")
    task = _TASK.format(
        documentation=escape(documentation),
        user=escape(f"{domain}\\{user}" if domain else user),
        program=escape(job.command[0]),
        arguments=escape(subprocess.list2cmdline(job.command[1:])),
    )
    hints = ["It runs while you are logged in. schtasks ends it at once; the vault stays in order"]
    if job.environment:
        named = ", ".join(job.environment)
        hints.append(f"A task has no variables of its own: set {named} with setx, as they are now")
    ours = ("/TN", name)
    return Plan(
        path,
        # schtasks takes the encoding that its own exports have: UTF-16 with a byte order mark.
        codecs.BOM_UTF16_LE
        + marked(task, job._replace(log=own_log), ("<!-- ", " -->"), after="\n").encode("utf-16-le"),
        "utf-16",
        folders=(os.path.dirname(job.log),),
        starts_over=(Command(("schtasks", "/End", *ours), may_fail=True),),
        starts=(Command(("schtasks", "/Create", *ours, "/XML", path, "/F")), Command(("schtasks", "/Run", *ours))),
        stops=(
            Command(("schtasks", "/End", *ours), may_fail=True),
            Command(("schtasks", "/Delete", *ours, "/F"), may_fail=True),
        ),
        cleans_up=(),
        asks=Command(("schtasks", "/Query", *ours)),
        log_hint=f'type "{job.log}"',
        hints=tuple(hints),
    )
