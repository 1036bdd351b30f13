"""What one large request takes in memory while its list is followed."""

from __future__ import annotations

import base64
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from foldaway.sessions.session import Session, warm
from foldaway.stores import Store
from foldaway.stores.bodies import pack
from foldaway.stores.open import open_store

CHANCE = random.Random(1)
SIZE = 8 << 20


def results() -> list[Any]:
    words = [f"w{CHANCE.randrange(10**6)}" for _ in range(5_000)]
    listed: list[Any] = [{"role": "user", "content": "go"}]
    for at in range(SIZE // 8_000):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        text = " ".join(CHANCE.choices(words, k=1_100))
        listed += [{"role": "assistant", "content": None, "tool_calls": [call]},
                   {"role": "tool", "tool_call_id": f"c{at}", "content": text}]  # fmt: skip
    return [*listed, {"role": "user", "content": "more"}]


def image() -> list[Any]:
    data = base64.b64encode(CHANCE.randbytes(SIZE * 3 // 4)).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    shown = {"role": "user", "content": [{"type": "image", "source": source}]}
    return [shown, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "more"}]


def taken(store: Store, body: bytes) -> tuple[float, float]:
    """Return the peak while a request is followed, and what stays, as multiples of its size."""
    tracemalloc.start()
    try:
        session = Session(store, "one", context_length=400_000)
        session.follow(request=body)
        now, peak = tracemalloc.get_traced_memory()
        return peak / len(body), now / len(body)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("make", [pytest.param(results, marks=pytest.mark.slow), image])
def test_a_large_request_takes_no_more_than_twice_its_size_beside_itself(
    make: Any, tmp_path: Path
) -> None:
    """Also when its conversation is read again from the store; nothing of the request stays. The
    least of three counts: threads that other tests left behind may allocate meanwhile."""
    warm()
    body = json.dumps({"model": "m", "messages": make(), "max_tokens": 9}).encode()
    stores = [open_store(tmp_path / f"{number}.db") for number in range(3)]
    for _ in ("first", "again"):
        peaks, rests = zip(*(taken(store, body) for store in stores), strict=True)
        assert min(peaks) < 2.2
        assert min(rests) < 1.6


def test_a_long_run_is_packed_in_pieces() -> None:
    """None of them is larger than a mebibyte: each is copied while it is written."""
    body = b'{"a":"' + base64.b64encode(CHANCE.randbytes(3 << 20)) + b'"}'
    assert max(part.size for _, part in pack(body, "").parts) <= 1 << 20
