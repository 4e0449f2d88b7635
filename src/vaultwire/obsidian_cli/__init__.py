"""Obsidian's own command line, answered on the files of a vault without the app (``vaultwire obsidian``).

``commands`` lists the commands and reads a command line. ``notes`` and ``lists`` answer. ``shim`` puts an ``obsidian`` on the
PATH.
"""
