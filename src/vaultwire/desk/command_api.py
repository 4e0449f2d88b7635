"""What the commands and their door (``pointing``) agree on. Apart from it, so that a command loads no socket's library."""

PATH = "/command"
KEY_HEADER = "x-vaultwire-key"

# What came of pointing something out.
SENT, NOBODY, PRIVATE = "sent", "nobody", "private"
