"""The transport-free runtime: protocol events to handlers, handlers' answers to frames."""
