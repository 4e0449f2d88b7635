"""The stored index: a catalog in SQLite and a text index beside it, both in the user's cache folder.

Derived data only: deleting all of it loses nothing, and the next start builds it again.
"""
