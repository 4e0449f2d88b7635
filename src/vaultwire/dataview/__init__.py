"""Dataview: its query language (DQL) and its inline fields, over the values of Bases."""
