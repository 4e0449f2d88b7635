"""The language of Bases: its text, its values, its functions. Pure: what it needs of a vault it asks of a ``Host``."""
