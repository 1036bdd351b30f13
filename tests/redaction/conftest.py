"""How long something takes, for tests of how it grows."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

TRIES = 3


@pytest.fixture(scope="session")
def cpu_of() -> Callable[[Callable[[], object]], float]:
    """Return the CPU seconds of the quickest of a few runs: other work on the machine only adds."""

    def measured(run: Callable[[], object]) -> float:
        taken: list[float] = []
        for _ in range(TRIES):
            start = process_time()
            run()
            taken.append(process_time() - start)
        return min(taken)

    return measured
