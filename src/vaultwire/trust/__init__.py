"""Access: what a client may do, how often, and the log of it. Decisions between a request and a tool; no wire."""
