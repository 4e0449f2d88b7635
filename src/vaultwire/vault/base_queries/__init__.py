"""Runs the queries of bases over the notes of a vault."""
