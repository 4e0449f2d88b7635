"""One of several servers with the conformance suite's fixtures; ``make cluster`` starts three.

It takes the options of ``vaultwire serve``. Only the tools and what they answer are the suite's: who owns the vault, and how
requests are passed on, is what teams run.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.server import make_handlers, make_session
from vaultwire.app.serving import serve_all
from vaultwire.app.shared_serving import SharedServer
from vaultwire.cli import run_options
from vaultwire.cli.servers import add_serve, network_config
from vaultwire.config import make_config
from vaultwire.transports.http_server import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.app.serving import Methods, Narrow


def main() -> None:
    parser = argparse.ArgumentParser()
    add_serve(parser)
    options = parser.parse_args()
    config = make_config(**run_options.read_all(options))

    def make_methods(_records_of: object) -> tuple[Methods, Narrow]:
        handlers = make_handlers({name: Path(path) for name, path in config.vaults.items()})
        methods = handlers, partial(make_session, handlers)
        return methods, lambda _folders: methods

    def tell(url: str, **_: object) -> None:
        sys.stdout.write(f"{url}/mcp\n")
        sys.stdout.flush()

    serve_all([SharedServer(config, network_config(config, options), make_methods, tell)], Limits())


if __name__ == "__main__":
    main()
