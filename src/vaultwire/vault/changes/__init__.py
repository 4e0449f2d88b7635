"""The one way in which a vault is changed: steps are written down, taken, all of them or none, and can be taken back.

The journal is not derived state: it cannot be made anew, so it never lies in a cache.
"""
