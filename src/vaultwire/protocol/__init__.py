"""JSON-RPC and MCP without input or output: frames in, events and frames out.

Nothing in this room waits, starts a thread, asks the clock or opens a file.
"""
