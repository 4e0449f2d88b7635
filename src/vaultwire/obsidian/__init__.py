"""The Obsidian app: its list of vaults, its own command, and a vault as the app or our engine answers for it."""
