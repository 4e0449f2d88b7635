"""The vault at a glance: what the desk shows of a vault besides its changes. Read only, plain dicts, no wire."""
