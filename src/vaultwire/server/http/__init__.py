"""The part of the HTTP doors that knows no wire: the MCP endpoint, its streams, legacy sessions, single requests."""
