"""The index that is kept: a catalog in SQLite and a text index beside it, both in the user's cache folder.

Derived state only. Deleting all of it loses nothing; the next start builds it anew.
"""
