"""The names that ``vaultwire mention`` and ``select`` share with their endpoint. Apart from it: commands load no WebSocket."""

PATH = "/command"
KEY_HEADER = "x-vaultwire-key"

# The outcomes of a command.
SENT, NOBODY, PRIVATE = "sent", "nobody", "private"
