"""Start vaultwire as an MCP server for the folders that are given. The manifest beside this file says with which."""

import sys

from vaultwire.__main__ import main

sys.exit(main(["stdio", *(word for folder in sys.argv[1:] for word in ("--vault", folder))]))
