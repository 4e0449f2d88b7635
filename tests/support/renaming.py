"""Renames at the system's boundary: of a system without its own two (``disk.file_operations``), failing ones, watched ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from vaultwire.vault.disk import file_operations


def without_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Act like a system that can neither exchange two names nor rename only to a free name."""
    monkeypatch.setattr(file_operations, "system_rename", lambda: None)


def around_calls(
    monkeypatch: pytest.MonkeyPatch, names: list[str], before: Callable[[], object], after: Callable[[], object]
) -> None:
    """Call functions right before and after each call of these functions of ``os``, and of the system's own renames."""

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before()
            try:
                return real(*args, **kwargs)
            finally:
                after()

        if real in os.supports_follow_symlinks:
            os.supports_follow_symlinks.add(call)
        return call

    for name in names:
        monkeypatch.setattr(os, name, wrapped(getattr(os, name)))
    rename = file_operations.system_rename()
    if rename is not None:
        own = wrapped(rename)
        monkeypatch.setattr(file_operations, "system_rename", lambda: own)


def nothing() -> None:
    """Do nothing."""
