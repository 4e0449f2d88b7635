"""The engine: owns note bytes and the index. Synchronous; knows no wire and no tool."""
