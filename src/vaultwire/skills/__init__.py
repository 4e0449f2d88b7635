"""Agent Skills: folders with a SKILL.md that tell an agent how to do a kind of work. Ours are in ``bundled``."""
