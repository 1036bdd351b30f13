"""A process that meets a full disk, several times, and goes on when there is room.

python full.py WHERE
"""

from __future__ import annotations

import os
import resource
import sys

from worker import Worker, say

from foldaway.errors import StoreUnavailable
from foldaway.stores.open import open_store

_ROUNDS = 4


def main() -> None:
    """Lower the limit on file sizes to what the log has, until a write is refused."""
    where = sys.argv[1]
    store = open_store(where)
    worker = Worker(store, "f", 5, say)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for _ in range(_ROUNDS):
        for _ in range(20):
            worker.step()
        sizes = [entry.stat().st_size for entry in os.scandir(where)]
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes) + 20_000, hard))
        try:
            while True:
                worker.step()
        except StoreUnavailable as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            say(f"refused {error}")
    for _ in range(20):
        worker.step()
    store.close()


if __name__ == "__main__":
    main()
