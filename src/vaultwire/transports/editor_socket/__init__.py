"""The WebSocket by which editors' clients, Claude Code first, see what the person sees. What is said is
``server.editors.methods``'; who may come, and how connections come and go, is decided here.
"""

from vaultwire.transports.editor_socket.door import TOKEN_HEADER, Bounds, EditorSocket, hosts

__all__ = ["TOKEN_HEADER", "Bounds", "EditorSocket", "hosts"]
