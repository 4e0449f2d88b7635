"""Asking for what the engine must refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vaultwire.vault.errors import VaultError


def refusal(act: Callable[..., Any], *args: Any, **kwargs: Any) -> VaultError:
    """Return the error with which the engine refuses to do it."""
    with pytest.raises(VaultError) as caught:
        act(*args, **kwargs)
    assert caught.value.message == str(caught.value)
    return caught.value


def refused(act: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Return the code with which the engine refuses to do it."""
    return refusal(act, *args, **kwargs).code
