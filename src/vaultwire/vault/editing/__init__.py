"""What a caller may do to notes: each operation, from its arguments to a change."""
