"""Fixtures every test may use."""

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run each `@pytest.mark.anyio` test on both event loops."""
    return str(request.param)
