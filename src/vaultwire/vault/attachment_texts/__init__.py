"""The text of attachments: read in a process of its own where that may be dangerous, kept, and searched."""
