"""How much hypothesis searches: little and always the same in `make test`, a lot in `make soak`."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile(
    "soak",
    max_examples=10_000,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=_SLOW_IS_FINE,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--soak`; `HOLDFAST_SOAK=1` does the same."""
    parser.addoption("--soak", action="store_true", help="10,000 examples for every law")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile."""
    soak = config.getoption("--soak") or os.environ.get("HOLDFAST_SOAK") == "1"
    settings.load_profile("soak" if soak else "default")
