"""Windows: a task that starts when the person logs on. The schema of its XML: [MS-TSCH] 2.5.

It is not a Windows service. A service answers the service control manager, which Python cannot do without another package, and
runs under another account: it sees neither the person's drives nor their OneDrive.
"""

from __future__ import annotations

import codecs
import os
import re
import subprocess
from xml.sax.saxutils import escape

from vaultwire.service.job import Command, Job, Plan, ServiceError, marked

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


def plan(job: Job, name: str, documentation: str) -> Plan:
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
