"""Where vaultwire comes from: its name on indexes and registries, its repository, and whether it is published yet.

Documents, errors, ``client-config`` and the files of a release take these facts from here.
"""

from __future__ import annotations

NAME = "vaultwire"
REPOSITORY = "https://github.com/vaultwire/vaultwire"
"""The project's page. Who publishes elsewhere changes it here (docs/releasing.md)."""
REGISTRY_NAME = "io.github.vaultwire/vaultwire"
"""The name in the MCP registry. It is bound to the owner of the repository."""
IS_PUBLISHED = False
"""Whether the package index has this program. Until then nothing may tell people to install it by its name: another person
could take the name, and would run code on their computers."""
