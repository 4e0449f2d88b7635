"""``vaultwire serve``: its options, and what it prints while it runs."""

from __future__ import annotations

import argparse
import os
import re
import sys

from vaultwire import app
from vaultwire.app.serving import NetworkConfig, make_network_config
from vaultwire.cli import ide
from vaultwire.cli.terminal import complain, say
from vaultwire.config import Config, ConfigError
from vaultwire.trust.tokens import Trusted

# A URL that can be quoted in a header; without user, query and fragment.
_URL = re.compile(r"https?://[A-Za-z0-9._~:\[\]-]+(/[!$-;=@-\[\]_a-z~]*)?")
_HERE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)")
_SCOPE = re.compile(r"[!#-\[\]-~]+")  # RFC 6749, 3.3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the network doors."""
    address = parser.add_argument_group("address")
    address.add_argument("--port", type=int, default=3000, help="port to listen on (3000); 0 for any free one")
    address.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this computer only)")
    address.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="further name of this server; may be given more than once",
    )
    callers = parser.add_argument_group("web pages, keys and tokens")
    callers.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let web pages of this origin call, such as https://example.org; may be given more than once",
    )
    callers.add_argument(
        "--cors-any-origin", action="store_true", help="let every web page call the REST API, as its contract says"
    )
    callers.add_argument(
        "--require-key", action="store_true", help="ask for a key also on this computer (see vaultwire keys)"
    )
    callers.add_argument("--oauth-issuer", metavar="URL", help="accept access tokens of this OAuth 2.1 server")
    callers.add_argument(
        "--oauth-resource",
        metavar="URL",
        help="URL of this server for clients, such as https://notes.example.org/mcp",
    )
    callers.add_argument(
        "--oauth-audience", metavar="NAME", help="audience that tokens must have, if it is not that URL"
    )
    callers.add_argument(
        "--oauth-scope",
        action="append",
        default=[],
        metavar="SCOPE",
        help="scope that a token must have; may be given more than once",
    )
    tls = parser.add_argument_group("TLS")
    tls.add_argument("--tls-cert", metavar="FILE", help="certificate chain, PEM: serve over TLS")
    tls.add_argument("--tls-key", metavar="FILE", help="key of the certificate, PEM, if it is not in the same file")
    others = parser.add_argument_group("the desk, and further clients")
    others.add_argument(
        "--no-desk",
        action="store_false",
        dest="desk",
        help="do not serve the desk, the page for you (see vaultwire desk)",
    )
    others.add_argument("--ide", action="store_true", help="also connect Claude Code as its editor (see vaultwire ide)")
    ide.add_companions(others)
    watching = parser.add_argument_group("logs and metrics")
    watching.add_argument("--metrics", action="store_true", help="serve metrics for Prometheus at /metrics")
    watching.add_argument("--log-json", action="store_true", help="print a JSON line on stderr for each request")
    watching.add_argument("--log-file", metavar="LOG", help="append to this file what would go to stdout and stderr")


def run(config: Config, options: argparse.Namespace) -> int:
    """Serve until told to end; return the exit code."""
    network = network_config(config, options)

    def on_ready(url: str, *, in_the_open: bool) -> None:
        if in_the_open:
            complain("without TLS, others can read keys and notes on their way (see --tls-cert)")
        hint = " (to see what assistants change: vaultwire desk)" if network.desk else ""
        say(f"vaultwire serves {', '.join(config.vault_options)}{hint} at {url}/mcp", flush=True)

    if options.log_file is not None:
        _log_to(options.log_file)
    companions = ide.companions(options)
    if companions and not options.ide:
        raise ConfigError(f"--{companions[0]} needs --ide")
    on_editor = ide.make_on_ready(companions) if options.ide else None
    app.run_serve(config, network, on_ready, on_editor, ide.announce, companions, ide.say_running)
    return 0


def network_config(config: Config, options: argparse.Namespace) -> NetworkConfig:
    """Return the settings that the options of the network doors give. Raises ConfigError."""
    given = {name: value for name, value in vars(options).items() if name in NetworkConfig._fields}
    return make_network_config(config, oauth=_oauth(options), **given)


def _log_to(path: str) -> None:
    """Append what is printed from now on to a file. Raises ConfigError."""
    try:
        # It stays open until the process ends. Line by line, so that a reader sees what has happened.
        log = open(os.path.expanduser(path), "a", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    except OSError as error:
        raise ConfigError(f"cannot write the log {path}: {error.strerror}") from None
    sys.stdout = sys.stderr = log


def _oauth(options: argparse.Namespace) -> Trusted | None:
    """Return the issuer whose access tokens are accepted, None for none. Raises ConfigError."""
    issuer, resource, scopes = options.oauth_issuer, options.oauth_resource, tuple(options.oauth_scope)
    if issuer is None:
        if resource or options.oauth_audience or scopes:
            raise ConfigError("--oauth-resource, --oauth-audience and --oauth-scope need --oauth-issuer")
        return None
    if not _URL.fullmatch(issuer) or not (issuer.startswith("https:") or _HERE.match(issuer)):
        raise ConfigError(f"--oauth-issuer takes a URL such as https://id.example.org, without ? and #, got {issuer!r}")
    if resource is not None and not _URL.fullmatch(resource):
        right = "the URL of this server for clients, such as https://notes.example.org/mcp"
        raise ConfigError(f"--oauth-resource takes {right}, got {resource!r}")
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise ConfigError(f"--oauth-scope takes one scope without spaces and quotes, got {scope!r}")
    return Trusted(issuer, resource, options.oauth_audience, scopes)
