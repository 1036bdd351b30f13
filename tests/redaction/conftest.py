"""How long something takes, for tests of how it grows."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Protocol

import pytest

TRIES = 3


class CpuOf(Protocol):
    """Measures a call."""

    def __call__(self, run: Callable[[], object], below: float = 0.0) -> float: ...


@pytest.fixture(scope="session")
def cpu_of() -> CpuOf:
    """Return the CPU seconds of the quickest of a few runs: other work on the machine only adds.
    A run that takes less than `below` is the last.
    """

    def measured(run: Callable[[], object], below: float = 0.0) -> float:
        best = float("inf")
        for _ in range(TRIES):
            start = process_time()
            run()
            best = min(best, process_time() - start)
            if best < below:
                break
        return best

    return measured


@pytest.fixture(scope="session")
def assert_proportion(cpu_of: CpuOf) -> Callable[..., None]:
    """Assert that a long call takes at most `times` as long as a short one, plus some seconds."""

    def checked(
        short: Callable[[], object], long: Callable[[], object], times: float, plus: float
    ) -> None:
        most = times * cpu_of(short) + plus
        assert cpu_of(long, below=most) < most

    return checked
