"""The Obsidian app: what it keeps on this computer beside its vaults, and, once the app link is built, the running app."""
