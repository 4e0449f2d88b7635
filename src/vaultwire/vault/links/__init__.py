"""FuzzyNames and links: which note a name means, where a link leads, what is broken."""
