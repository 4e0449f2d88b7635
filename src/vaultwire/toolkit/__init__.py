"""Declaring, listing, checking and running tools. The tools themselves are in `tools`."""
