"""The guard: ASGI middleware before every network door. It controls access and size.

It checks, in this order and before the door is called: the form and size of the head, the name the server was called by
(DNS rebinding), the page a browser sends from, the key, the size of the body. Doors get the values of headers without the
spaces around them. What a door then does is not its matter; how bytes come off a socket, and how slowly they may, is
``http_server``'s.
"""

from vaultwire.transports.guard.guard import Guard, answer_nothing
from vaultwire.transports.guard.request_head import MAX_HEAD_BYTES, MAX_HEADERS
from vaultwire.transports.guard.rules import EVERYTHING, KEY_NAME, READING, Door, Observer, Rules

__all__ = [
    "EVERYTHING",
    "KEY_NAME",
    "MAX_HEADERS",
    "MAX_HEAD_BYTES",
    "READING",
    "Door",
    "Guard",
    "Observer",
    "Rules",
    "answer_nothing",
]
