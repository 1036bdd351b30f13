"""Two gateways on one store, with nothing else between them."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

_ALL = SessionFilter()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Where both keep their sessions."""
    if request.param == "sqlite":
        return {"place": tmp_path / "shared"}
    return {"place": request.getfixturevalue("postgres_url"), "tenant": uuid.uuid4().hex}


async def test_any_gateway_takes_any_request(gateway: Any, kit: Any, place: dict[str, Any]) -> None:
    """In turns: the same list is the same bytes at both, and a compaction of one is the other's.

    With thinking, which has a compaction made when a request comes, and not after its answer.
    """
    where, tenant = place["place"], place.get("tenant", "")
    first, second = (open_store(where, tenant=tenant) for _ in range(2))
    async with gateway(first, is_shared=True) as one:
        upstream = {"": one.upstream.url}
        async with gateway(second, is_shared=True, upstreams=upstream) as other:
            notes: list[str] = []
            for steps in range(4, 40, 3):
                body = {**kit.talk("messages", steps), "thinking": {"type": "adaptive"}}
                here, there = (one, other) if steps % 2 else (other, one)
                for stand in (here, there):
                    got = await stand.post(body, "messages")
                    assert got.status == 200
                    notes.append(got.headers["x-foldaway"])
                sent = one.upstream.asked[-2:]
                assert sent[0] == sent[1]
    assert sum(note.startswith("compacted") for note in notes) > 10
    (info,) = first.sessions(_ALL).sessions
    assert info.length == len(body["messages"])
    assert info.compactions == int(notes[-1].split()[1])
    first.close()
    second.close()
