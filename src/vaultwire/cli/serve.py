"""``vaultwire serve``: its options, and what a person is told of a running server."""

from __future__ import annotations

import argparse
import re

from vaultwire import app
from vaultwire.app.network_config import make_network_config
from vaultwire.cli import ide
from vaultwire.cli.terminal import complain, say
from vaultwire.config import Config, ConfigError
from vaultwire.trust.tokens import Trusted

# What can stand in a header between quotes as it is; no user, no query, no fragment.
_URL = re.compile(r"https?://[A-Za-z0-9._~:\[\]-]+(/[!$-;=@-\[\]_a-z~]*)?")
_HERE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)")
_SCOPE = re.compile(r"[!#-\[\]-~]+")  # RFC 6749, 3.3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the network doors."""
    parser.add_argument("--port", type=int, default=3000, help="port to listen on (3000); 0 for any that is free")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this computer only)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="answer to this name, too; may be given more than once",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let web pages from here call, such as https://example.org; may be given more than once",
    )
    parser.add_argument(
        "--cors-any-origin", action="store_true", help="let every web page call the REST API, as its contract has it"
    )
    parser.add_argument(
        "--require-key", action="store_true", help="ask for a key on this computer, too (see vaultwire keys)"
    )
    parser.add_argument("--oauth-issuer", metavar="URL", help="take access tokens that this OAuth 2.1 server gives out")
    parser.add_argument(
        "--oauth-resource",
        metavar="URL",
        help="by which clients know this server, such as https://notes.example.org/mcp",
    )
    parser.add_argument(
        "--oauth-audience", metavar="NAME", help="whom tokens must be given out for, if not for that URL"
    )
    parser.add_argument(
        "--oauth-scope",
        action="append",
        default=[],
        metavar="SCOPE",
        help="that a token must have; may be given more than once",
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain, PEM: serve over TLS")
    parser.add_argument("--tls-key", metavar="FILE", help="its key, PEM, if that is not in the same file")
    parser.add_argument(
        "--legacy-sse", action="store_true", help="serve clients of 2024-11-05, too, at /sse and /messages"
    )
    parser.add_argument("--ide", action="store_true", help="be an editor to Claude Code, too (see vaultwire ide)")
    ide.add_companions(parser)
    parser.add_argument("--metrics", action="store_true", help="figures for Prometheus at /metrics")
    parser.add_argument("--log-json", action="store_true", help="a JSON line on stderr for each request")


def run(config: Config, options: argparse.Namespace) -> int:
    """Serve until told to end; return the exit code."""
    network = make_network_config(
        config,
        host=options.host,
        port=options.port,
        names=tuple(options.allow_host),
        origins=tuple(options.allow_origin),
        any_origin=options.cors_any_origin,
        needs_key=options.require_key,
        oauth=_oauth(options),
        tls_cert=options.tls_cert,
        tls_key=options.tls_key,
        metrics=options.metrics,
        log_json=options.log_json,
        legacy_sse=options.legacy_sse,
    )

    def on_ready(url: str, *, in_the_open: bool) -> None:
        if in_the_open:
            complain("without TLS, keys and notes can be read on their way (see --tls-cert)")
        say(f"vaultwire serves {', '.join(config.vault_options)} at {url}", flush=True)

    companions = ide.companions(options)
    if companions and not options.ide:
        raise ConfigError(f"--{companions[0]} goes with --ide")
    app.run_serve(config, network, on_ready, ide.teller(companions) if options.ide else None, ide.announce, companions)
    return 0


def _oauth(options: argparse.Namespace) -> Trusted | None:
    """Return who gives out access tokens, None if nobody does. Raises ConfigError."""
    issuer, resource, scopes = options.oauth_issuer, options.oauth_resource, tuple(options.oauth_scope)
    if issuer is None:
        if resource or options.oauth_audience or scopes:
            raise ConfigError("--oauth-resource, --oauth-audience and --oauth-scope need --oauth-issuer")
        return None
    if not _URL.fullmatch(issuer) or not (issuer.startswith("https:") or _HERE.match(issuer)):
        raise ConfigError(f"--oauth-issuer takes a URL such as https://id.example.org, without ? and #, got {issuer!r}")
    if resource is not None and not _URL.fullmatch(resource):
        right = "the URL by which clients know this server, such as https://notes.example.org/mcp"
        raise ConfigError(f"--oauth-resource takes {right}, got {resource!r}")
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise ConfigError(f"--oauth-scope takes one scope without blanks and quotes, got {scope!r}")
    return Trusted(issuer, resource, options.oauth_audience, scopes)
