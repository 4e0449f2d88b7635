"""Views inside clients: the MCP Apps extension (``ui://``, SEP-1865). Not the desk, which decides and has its own page."""
