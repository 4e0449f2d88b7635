"""The index: its port, and in `store` what fills it."""
