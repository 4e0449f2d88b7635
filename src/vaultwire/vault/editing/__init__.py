"""The operations on notes that a caller can ask for, each from its arguments to a change."""
