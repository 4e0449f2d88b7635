"""The editors' WebSocket: ``door`` decides who may connect, ``listener`` how connections open and close."""
