"""How much a caller may take: the numbers, each with its reason, and nothing that acts on them."""

from __future__ import annotations

# From the contract ("Resource Limits": maxFileSize, maxSearchResults, timeouts), which users were promised.
MAX_NOTE_BYTES = 10 * 1024 * 1024
MAX_RESULTS = 1000

# As base64 in one JSON message: 7 MB on the wire, which clients still take, and more than most pictures and PDFs have.
MAX_ATTACHMENT_BYTES = 5 * 1024 * 1024

# A message over HTTP. A note of the largest size, in which not every other character needs an escape; beyond stdio's 64
# MiB for one client this is what each of many may have held in memory.
MAX_MESSAGE_BYTES = 16 * 1024 * 1024

SECONDS_BY_TIME_CLASS = {"file": 30.0, "search": 60.0}
"""How long a call of each class may take before its caller is told TIMEOUT."""
