"""A query, and what it means in one text. Pure: it opens no file and asks no index."""
