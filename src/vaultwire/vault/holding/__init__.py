"""What waits for the person, and what the person has decided: proposals and decisions, on disk outside the vault."""
