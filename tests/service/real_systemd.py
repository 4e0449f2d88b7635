"""``vaultwire service`` with systemd itself (``make systemd``): its unit, its limits on files, a restart, an end.

A manager of its own runs in namespaces of its own, so nothing of this computer is touched. That takes root and systemd.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

import pytest

MANAGER = "/lib/systemd/systemd"
pytestmark = pytest.mark.skipif(
    not os.path.exists(MANAGER) or not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="this takes root, systemd and unshare",
)
# A name with all that means something in a unit.
SCRIPT = r"""
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /srv
mkdir -p /run/systemd/system /run/user/0 /srv/home
vault='/srv/My $HOME 100% "vault" é'
mkdir "$vault"
export XDG_RUNTIME_DIR=/run/user/0 HOME=/srv/home
unset XDG_CACHE_HOME XDG_STATE_HOME XDG_CONFIG_HOME VAULTWIRE_CACHE VAULTWIRE_STATE
"$MANAGER" --user &
until [ -S /run/user/0/systemd/private ]; do :; done
vaultwire() { "$PYTHON" -m vaultwire "$@"; }
property() { systemctl --user show --property "$1" --value vaultwire.service; }
until_it_answers() { until "$PYTHON" -c "import urllib.request as r; r.urlopen('$URL/health')" 2>/dev/null; do :; done; }

vaultwire service install --vault "$vault" --port "${URL##*:}"
vaultwire call create_note path=New content=hello --vault "$vault" >/dev/null
"$PYTHON" - <<END
import json, urllib.request
body = json.dumps({"arguments": {"path": "Second", "content": "by the service"}}).encode()
request = urllib.request.Request("$URL/bridge/v1/tools/create_note/call", body, {"Content-Type": "application/json"})
assert json.load(urllib.request.urlopen(request))["success"]
END
ls "$vault"
pid=$(property MainPID)
grep -E 'Seccomp:|NoNewPrivs:' "/proc/$pid/status"
inside() { nsenter --target "$pid" --mount sh -c "touch '$1'" 2>/dev/null && echo "writes $1" || echo "does not write $1"; }
inside /srv/home/.bashrc
inside /etc/passwd
inside /srv/home/.local/state/vaultwire/x

systemctl --user stop vaultwire.service
rm -r /srv/home/.cache
systemctl --user start vaultwire.service
until_it_answers
echo "answers without the cache"
kill -HUP "$(property MainPID)"
until [ "$(property NRestarts)" = 1 ]; do :; done
until_it_answers
echo "answers after SIGHUP"
vaultwire service status
vaultwire service remove
find /srv/home -name '*vaultwire.service*'
echo "left: $(systemctl --user list-units --all --no-legend vaultwire.service)"
"""


def test_systemd_runs_the_service_and_holds_it_to_its_folders() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-euc", SCRIPT],
        env={**os.environ, "PYTHON": sys.executable, "URL": url, "MANAGER": MANAGER},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for line in (
        f"vaultwire answers at {url}",
        "New.md\nSecond.md",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "does not write /srv/home/.bashrc",
        "does not write /etc/passwd",
        "\nwrites /srv/home/.local/state/vaultwire/x",
        "answers without the cache",
        "answers after SIGHUP",
        f"running at {url}",
        "deleted /srv/home/.config/systemd/user/vaultwire.service",
        "left: \n",
    ):
        assert line in done.stdout, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("left:")
