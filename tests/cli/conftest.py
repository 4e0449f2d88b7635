"""What the tests of the command line share: a certificate for this computer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support import certificates


@pytest.fixture(scope="module")
def make_certificate(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[str, str]]:
    """Return what makes a certificate for localhost and its key, in files."""

    def make(password: bytes | None = None) -> tuple[str, str]:
        return certificates.make_certificate(tmp_path_factory.mktemp("tls"), password)

    return make
