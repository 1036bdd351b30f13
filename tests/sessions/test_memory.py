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


@pytest.mark.parametrize("make", [results, image])
def test_a_large_request_takes_no_more_than_twice_its_size_beside_itself(
    make: Any, tmp_path: Path
) -> None:
    """Also when its conversation is read again from the store; nothing of the request stays."""
    store = open_store(tmp_path / "one.db")
    warm()
    body = json.dumps({"model": "m", "messages": make(), "max_tokens": 9}).encode()
    tracemalloc.start()
    try:
        for _ in range(2):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            session = Session(store, "one", context_length=400_000)
            session.follow(request=body)
            now, peak = (one - before for one in tracemalloc.get_traced_memory())
            assert peak < 2.2 * len(body), f"{peak / len(body):.2f} times"
            assert now < 1.6 * len(body), f"{now / len(body):.2f} times"
            del session
    finally:
        tracemalloc.stop()


def test_a_long_run_is_packed_in_pieces() -> None:
    """None of them is larger than a mebibyte: each is copied while it is written."""
    body = b'{"a":"' + base64.b64encode(CHANCE.randbytes(3 << 20)) + b'"}'
    assert max(part.size for _, part in pack(body, "").parts) <= 1 << 20
