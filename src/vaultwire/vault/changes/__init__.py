"""The only code that changes a vault: it journals the steps of a change, takes all of them or none, and can undo them.

The journal cannot be rebuilt from the notes as the index can, so it never lies in a cache.
"""
