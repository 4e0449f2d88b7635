"""What the person sees in an editor: active note, selection, pending diffs, diagnostics. Knows no wire.

Empty until the editor door is built; the import contract already guards its place.
"""
