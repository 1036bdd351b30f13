"""CPU of a last view that is spliced into the next request of 4 MB, on each wire.

python bench/splice.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.gateway.conftest import packed, talk

from foldaway._core.policy import Policy
from foldaway.sessions import internals
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store

ROUNDS = 7


def main() -> None:
    for wire in ("messages", "chat", "responses", "gemini"):
        policy = Policy(floor_tokens=1_000)
        session = Session(open_store(":memory:"), "one", context_length=200_000, policy=policy)
        session.follow(request=packed(talk(wire, 1_000, 3_700)))
        last, request = internals(session).follower.last_view, packed(talk(wire, 1_002, 3_700))
        assert last is not None
        spent: list[float] = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            sent = last.splice(request)
            spent.append(time.process_time() - begun)
        assert sent is not None
        print(f"{wire}: {len(request):,} bytes become {len(sent):,}, {min(spent) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
