"""What a run may see: the policy, private notes, and what the vault itself excludes."""
