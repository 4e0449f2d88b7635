"""Bytes on wires, one module a wire; none imports another."""
