"""Memory: what lasts between conversations, as dated entries in notes of one folder; and wiki notes with their sources."""
