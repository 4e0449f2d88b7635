"""Answers to plain requests on the editors' port, where the WebSocket library answers: text or JSON, never cached."""

from __future__ import annotations

from http import HTTPStatus

from websockets.datastructures import Headers
from websockets.http11 import Response


def answer(status: HTTPStatus, text: str, kind: str = "text/plain") -> Response:
    """Return an answer that is not cached and may do nothing in a browser."""
    body = text.encode()
    headers = Headers(
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": "default-src 'none'",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, body)
