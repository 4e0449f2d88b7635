"""The commands that work with notes: each calls the tools that assistants call, in this process, and prints the answer.

``calling`` runs a tool for a command; the others are the commands.
"""
