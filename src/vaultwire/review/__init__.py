"""What a person reviews: changes that were made and proposals that wait, as plain dicts. Synchronous; knows no wire."""
