"""Plans each kind of change as a list of steps (``vault.changes.change``). Reads files, writes none."""
