"""Check the types as on Windows and on macOS: nothing is used there that the system lacks, but behind a question for it.

``python scripts/check_platforms.py``. The type checker knows which functions each system has. It does not understand every
way of asking (``hasattr``, ``os.name``), so what is asked for in such a way is listed here, with the question.
"""

from __future__ import annotations

import re
import subprocess
import sys

# Module → what it uses, only where the system has it.
GUARDED = {
    "transports/lock_file.py": {"getuid"},  # os.name
    "transports/stdio.py": {"select.poll", "POLLIN", "set_blocking"},  # hasattr(select, "poll")
    # hasattr; the last two are called where there is syncfs
    "vault/disk/file_operations.py": {"getegid", "geteuid", "getxattr", "setxattr", "major", "minor"},
    "vault/disk/inotify.py": {"O_CLOEXEC", "O_NONBLOCK", "POLLIN", "poll"},  # imported on Linux only
}
_ERROR = re.compile(r"src/vaultwire/(\S+?):\d+: error: (.*)")
_MISSING = re.compile(r'(?:Module has no attribute|Name) "([\w.]+)"')


def main() -> int:
    """Print what is wrong, and return 1 if anything is."""
    problems = []
    for system in ("win32", "darwin"):
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--platform",
            system,
            "--no-warn-unreachable",
            "--no-warn-unused-ignores",
        ]
        done = subprocess.run([*command, "src"], capture_output=True, text=True, check=False)
        found = _ERROR.findall(done.stdout)
        if done.returncode and not found:
            problems.append(done.stdout + done.stderr)
        for module, message in found:
            missing = _MISSING.match(message)
            if missing is None or missing[1] not in GUARDED.get(module, ()):
                problems.append(f"{system}: {module}: {message}")
    sys.stdout.write("\n".join([*problems, f"{len(problems)} uses of what Windows or macOS lacks"]) + "\n")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
