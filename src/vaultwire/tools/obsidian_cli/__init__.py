"""The `obsidian_*` tools: the contract of the server over the command line of Obsidian."""
