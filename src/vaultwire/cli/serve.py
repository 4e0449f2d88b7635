"""``vaultwire serve``: its options, and what a person is told of a running server."""

from __future__ import annotations

import argparse
import sys

from vaultwire import app
from vaultwire.config import Config, make_serving


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
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain, PEM: serve over TLS")
    parser.add_argument("--tls-key", metavar="FILE", help="its key, PEM, if that is not in the same file")
    parser.add_argument("--metrics", action="store_true", help="figures for Prometheus at /metrics")
    parser.add_argument("--log-json", action="store_true", help="a JSON line on stderr for each request")


def run(config: Config, options: argparse.Namespace) -> int:
    """Serve until told to end; return the exit code."""
    serving = make_serving(
        config,
        host=options.host,
        port=options.port,
        names=tuple(options.allow_host),
        origins=tuple(options.allow_origin),
        any_origin=options.cors_any_origin,
        needs_key=options.require_key,
        tls_cert=options.tls_cert,
        tls_key=options.tls_key,
        metrics=options.metrics,
        log_json=options.log_json,
    )

    def on_ready(url: str, *, in_the_open: bool) -> None:
        if in_the_open:
            print("vaultwire: without TLS, keys and notes can be read on their way (see --tls-cert)", file=sys.stderr)
        print(f"vaultwire serves {config.vault} at {url}", flush=True)

    app.run_serve(config, serving, on_ready)
    return 0
