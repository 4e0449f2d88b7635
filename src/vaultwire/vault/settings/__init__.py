"""What the owner set in Obsidian, and the dates and daily notes that follow from it."""
