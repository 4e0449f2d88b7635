"""Search by meaning: models that turn texts into vectors, the vectors of a vault's notes, and what is near a question."""
