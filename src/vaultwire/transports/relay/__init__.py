"""A server at stdin and stdout whose answers come from another server, over HTTP."""
