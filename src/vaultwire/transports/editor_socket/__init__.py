"""The editors' WebSocket: through it clients, first of all Claude Code, see what the person sees.

``door`` decides who may connect, ``listener`` how connections open and close. ``server.editors.methods`` makes the messages.
"""

from vaultwire.transports.editor_socket.door import TOKEN_HEADER, Bounds, EditorSocket, hosts

__all__ = ["TOKEN_HEADER", "Bounds", "EditorSocket", "hosts"]
