"""Requests that the engine must refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vaultwire.vault.errors import VaultError


def refusal(act: Callable[..., Any], *args: Any, **kwargs: Any) -> VaultError:
    """Return the error with which the engine refuses."""
    with pytest.raises(VaultError) as caught:
        act(*args, **kwargs)
    assert caught.value.message == str(caught.value)
    return caught.value


def refused(act: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Return the code of the error with which the engine refuses."""
    return refusal(act, *args, **kwargs).code
