"""vaultwire: one program between an Obsidian vault and the AI assistants and editors that work with it."""

__version__ = "0.1.0"
