"""The language of the Dataview plugin: inline fields in notes, and its queries. Pure: clock and vault come in."""
