"""What can be seen in a vault's notes without changing them: columns, folder trees, related notes, near-duplicates."""
