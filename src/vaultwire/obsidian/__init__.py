"""The running Obsidian app, when there is one.

Empty until the app link is built; the import contract already guards its place.
"""
