"""The journal of changes: what was there before and what after, written down before a file changes, outside the vault.

Not derived state: it cannot be made anew, so it never lies in a cache.
"""
