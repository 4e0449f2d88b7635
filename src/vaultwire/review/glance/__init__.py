"""The vault at a glance: what the desk shows of a vault besides its changes. Read only, plain dicts, no wire."""

from vaultwire.review.glance.glance import Glance

__all__ = ["Glance"]
