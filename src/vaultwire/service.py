"""vaultwire as a service that starts when the person logs on: what its owner wants, and how each system does it.

Linux: a unit of the person's own systemd manager. What may be written in it: systemd.service(5), systemd.exec(5).
macOS: an agent of the person's launchd session, with a property list: launchd.plist(5).
Windows: a task that starts when the person logs on. The schema of its XML: [MS-TSCH] 2.5. It is not a Windows service. A
service answers the service control manager, which Python cannot do without another package, and runs under another account:
it sees neither the person's drives nor their OneDrive.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import plistlib
import re
import secrets
import shlex
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

# ---------------------------------------------------------------------- the file of a service
#
# A service as its owner wants it, and the file that tells a service manager of it. No file is written here.
#
# The first comment of each file says who wrote it, and holds what ``status`` and ``remove`` need to know. It also has a hash of
# the rest, so a file that somebody edited is never replaced or deleted by mistake.

_MARK = "Written by 'vaultwire service install': "


class ServiceError(Exception):
    """What was asked for cannot be done; the message is one line for a person."""


class Job(NamedTuple):
    """What is run: ``command`` begins with a program's absolute path, ``environment`` is added to the manager's own.

    ``writes``: the folders that it changes. ``is_confined``: it needs to change no others. ``url``: its address for this
    computer. ``state``: the folder of its state. ``log``: the file of its messages, empty where the manager keeps them.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    writes: tuple[str, ...]
    is_confined: bool
    url: str
    state: str
    log: str = ""

    def check(self) -> None:
        """Raise ServiceError for text that a service manager's file cannot hold."""
        for text in (*self.command, *self.environment.values(), *self.writes):
            if not text.isprintable():
                raise ServiceError(f"a service cannot be given {text!r}: it has characters that cannot be printed")


class Command(NamedTuple):
    """A command of the system. ``may_fail``: it only makes sure of something."""

    words: tuple[str, ...]
    may_fail: bool = False


class Plan(NamedTuple):
    """What a service manager needs: the file, and the commands before and after it is written.

    ``folders`` must exist before it starts. ``starts_over``: commands that stop it before a changed file is written.
    ``stops``, ``cleans_up``: the commands before and after the file is deleted. ``asks``: the command that succeeds if the
    manager knows the service. ``log_hint``: how a person reads the log. ``hints``: what else a person should know.
    ``stops_later``: the command that stops it may return before it has ended, and the manager knows it until then.
    """

    path: str
    content: bytes
    encoding: str
    folders: tuple[str, ...]
    starts_over: tuple[Command, ...]
    starts: tuple[Command, ...]
    stops: tuple[Command, ...]
    cleans_up: tuple[Command, ...]
    asks: Command
    log_hint: str
    hints: tuple[str, ...] = ()
    stops_later: bool = False


class Facts(NamedTuple):
    """What the first comment of a file says. ``is_as_written``: nobody edited the file."""

    url: str
    log: str
    is_as_written: bool


def marked(text: str, job: Job, comment: tuple[str, str], after: str = "") -> str:
    """Return the text of a file with our comment before it, or after the first ``after``.

    ``comment``: how a comment begins and ends.
    """
    facts = {"url": job.url, "log": job.log, "sha256": _hash(text)}
    # An XML comment must not have two dashes.
    written = json.dumps(facts).replace("--", "\\u002d\\u002d")
    line = f"{comment[0]}{_MARK}{written}{comment[1]}\n"
    head, mark, rest = text.partition(after) if after else ("", "", text)
    return f"{head}{mark}{line}{rest}"


def read_facts(text: str) -> Facts | None:
    """Return what our comment in a file's text says; None for a file of somebody else."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        _, mark, rest = line.partition(_MARK)
        if not mark:
            continue
        try:
            facts: dict[str, Any] = json.JSONDecoder().raw_decode(rest)[0]
            others = "".join(lines[:number] + lines[number + 1 :])
            return Facts(str(facts["url"]), str(facts["log"]), facts["sha256"] == _hash(others))
        except (ValueError, LookupError, TypeError):
            return None
    return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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


# ---------------------------------------------------------------------- installing and removing
#
# Installs, removes and looks at a service by its plan. What is done is yielded, line by line, for the person to read.

# A restart waits until calls in flight are answered, for up to 75 seconds.
_SECONDS = 120.0


def run(command: Command) -> bool:
    """Run a command; tell whether it succeeded. Raises ServiceError with what it said, unless it may fail."""
    program = shutil.which(command.words[0])
    if program is None:
        if command.may_fail:
            return False
        raise ServiceError(f"there is no {command.words[0]} on this computer")
    try:
        finished = subprocess.run(  # noqa: S603 - no shell; the words are ours
            [program, *command.words[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        if command.may_fail:
            return False
        raise ServiceError(f"{shlex.join(command.words)} failed: {error}") from None
    if finished.returncode and not command.may_fail:
        said = (finished.stderr or finished.stdout).decode("utf-8", "replace").strip() or f"code {finished.returncode}"
        raise ServiceError(f"{shlex.join(command.words)} failed: {' '.join(said.split())}")
    return not finished.returncode


def succeeds(command: Command) -> bool:
    """Tell whether a command succeeds."""
    return run(command._replace(may_fail=True))


# The first start after an update compiles the program; that takes longer than usual.
_START_SECONDS = 30.0
# It answers calls in flight for up to 65 seconds; a service manager kills it after 75.
_END_SECONDS = 90.0
_ASK_SECONDS = 3.0
_BETWEEN_SECONDS = 0.1


class State(NamedTuple):
    """How a service is. ``facts``: of its file, None if there is none of ours."""

    facts: Facts | None
    is_known: bool
    answers: bool


def install(plan: Plan, folders: tuple[str, ...], *, force: bool) -> Iterator[str]:
    """Write the file and start the service; yield what was done. ``folders`` are made for it. Raises ServiceError.

    If the manager refuses, the file is as it was before.
    """
    before = _read(plan.path)
    _check_ours(plan, before, "replace", force=force)
    if before is None and succeeds(plan.asks):
        raise ServiceError(
            f"{plan.asks.words[0]} knows a service of this name, but not from {plan.path}; remove it there first"
        )
    try:
        for folder in (*folders, *plan.folders, os.path.dirname(plan.path)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        if before is not None:
            yield from _run(plan.starts_over)
            _wait_until_it_ended(plan)
        _write(plan.path, plan.content)
        yield f"wrote {plan.path}"
        yield from _run(plan.starts)
    except (OSError, ServiceError) as error:
        for command in plan.stops if before is None else ():
            succeeds(command)
        _put_back(plan.path, before)
        for command in plan.cleans_up if before is None else plan.starts:
            succeeds(command)
        raise ServiceError(str(error)) from None


def remove(plan: Plan, *, force: bool) -> Iterator[str]:
    """Stop the service and delete its files; yield what was done, nothing if there is none. Raises ServiceError."""
    content = _read(plan.path)
    if content is None:
        return
    facts = _check_ours(plan, content, "delete", force=force)
    yield from _run(plan.stops)
    _wait_until_it_ended(plan)
    try:
        for path in (plan.path, facts.log if facts else ""):
            if path and os.path.exists(path):
                os.unlink(path)
                yield f"deleted {path}"
    except OSError as error:
        raise ServiceError(f"cannot delete {error.filename}: {error.strerror}") from None
    yield from _run(plan.cleans_up)


def look(plan: Plan) -> State:
    """Return how the service is. Raises ServiceError."""
    content = _read(plan.path)
    facts = None if content is None else read_facts(_decoded(content, plan.encoding))
    if facts is None:
        return State(None, is_known=False, answers=False)
    return State(facts, is_known=succeeds(plan.asks), answers=answers(facts.url))


def wait_until_it_answers(url: str) -> bool:
    """Wait for a service that was just started; False if it does not answer in time."""
    end = time.monotonic() + _START_SECONDS
    while not answers(url):
        if time.monotonic() > end:
            return False
        time.sleep(_BETWEEN_SECONDS)
    return True


def _wait_until_it_ended(plan: Plan) -> None:
    """Wait for a service that was told to stop. Raises ServiceError if it does not."""
    end = time.monotonic() + _END_SECONDS
    while plan.stops_later and succeeds(plan.asks):
        if time.monotonic() > end:
            raise ServiceError("the service does not end; try again in a minute")
        time.sleep(_BETWEEN_SECONDS)


def answers(url: str) -> bool:
    """Tell whether a server of ours answers at an address of this computer."""
    # Its certificate is for its public name, not for this computer's; nothing secret is sent.
    context = ssl._create_unverified_context() if url.startswith("https:") else None  # noqa: S323, SLF001
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=_ASK_SECONDS, context=context) as answer:  # noqa: S310 - ours
            return bool(answer.status == 200)  # noqa: PLR2004
    except (OSError, ValueError):  # URLError is an OSError
        return False


def _run(commands: tuple[Command, ...]) -> Iterator[str]:
    for command in commands:
        if run(command):
            yield f"ran {shlex.join(command.words)}"


def _check_ours(plan: Plan, content: bytes | None, verb: str, *, force: bool) -> Facts | None:
    """Return the facts of our file. Raises ServiceError for a file of somebody else, and one that was edited."""
    if content is None:
        return None
    facts = read_facts(_decoded(content, plan.encoding))
    if facts is None and not force:
        raise ServiceError(f"{plan.path} was not written by vaultwire. Move it away, or {verb} it with --force")
    if facts is not None and not facts.is_as_written and not force:
        raise ServiceError(f"{plan.path} was edited. Move it away, or {verb} it with --force")
    return facts


def _decoded(content: bytes, encoding: str) -> str:
    return content.decode(encoding, "replace")


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServiceError(f"cannot read {path}: {error.strerror}") from None


def _write(path: str, content: bytes) -> None:
    """Put a file in place in one step. Its readers see the old one or the new one."""
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise ServiceError(f"cannot write {path}: {error.strerror}") from None


def _put_back(path: str, before: bytes | None) -> None:
    """Put the file back as it was before, as far as the disk allows."""
    try:
        if before is not None:
            _write(path, before)
        elif os.path.exists(path):
            os.unlink(path)
    except (OSError, ServiceError):
        return
