"""Plain text in, structure out; text and an edit in, text out. Never fails: what is odd is returned as a problem.

No file, thread, clock or wire is known here.
"""
