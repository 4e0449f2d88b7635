"""What declares, lists, checks and runs tools. The tools themselves are in `tools`."""
