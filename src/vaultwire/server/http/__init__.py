"""The part of the HTTP doors that knows no wire: the MCP endpoint, its streams, single requests."""
