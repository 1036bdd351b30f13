"""What a store used: read a pack of sessions at a time, and counted in columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foldaway.caching import PriceList
from foldaway.stores import NewMessage, NewSession, Store, TurnUsage, open_store
from foldaway.usage.counting import count_once
from foldaway.usage.reading import UsageReader
from foldaway.usage.record import SpentAnswer, SpentSession

SESSIONS = 520
"""More than are in one pack."""


def read(store: Store, folder: Path) -> tuple[int, list[int]]:
    """Return the tokens of all answers, and after which sessions progress was told: after each one
    that was read, and after each pack.
    """
    told: list[int] = []
    reader = UsageReader(folder, "1")
    stored = reader.read_store(store, [], lambda done, total: told.append(done))
    tokens = sum(row.answer.input_tokens for row in count_once([], stored, PriceList()))
    reader.save(is_whole=True)
    return tokens, told


def test_only_sessions_that_changed_are_read_again(tmp_path: Path) -> None:
    """Also after one of them was erased: the others stay in their packs."""
    body = json.dumps({"role": "user", "content": "zebra"}).encode()
    with open_store(tmp_path / "store") as store:
        for number in range(SESSIONS):
            new = [NewMessage(body=body, role="user", text="zebra", tokens=1)]
            store.create(NewSession(id=f"n{number}", dialect="openai-chat"), messages=new)
            store.add_usage(f"n{number}", TurnUsage(time=1e9 + number, input_tokens=10))
        tokens, told = read(store, tmp_path)
        assert (tokens, told) == (10 * SESSIONS, list(range(1, SESSIONS + 1)))
        tokens, told = read(store, tmp_path)
        assert (tokens, len(told)) == (10 * SESSIONS, 2)
        store.add_usage("n7", TurnUsage(time=2e9, input_tokens=5))
        tokens, told = read(store, tmp_path)
        assert (tokens, told[0], len(told)) == (10 * SESSIONS + 5, 8, 3)
        store.erase(["n3"])
        tokens, told = read(store, tmp_path)
        assert (tokens, len(told)) == (10 * SESSIONS - 5, 2)


def test_a_table_gives_back_what_was_put_into_it() -> None:
    """Unknown times and costs stay unknown; a stored session has its prompts, not its answers."""
    answers = tuple(
        SpentAnswer(mark=bytes([at] * 8), time=time, model=model, input_tokens=at, cost=cost,
                    cache_read_tokens=2 * at, follows_compaction=at == 1, is_total=at == 2)
        for at, (time, model, cost) in enumerate(
            [(None, "x-unknown-1", None), (1e9, "x-unknown-2", 0.5), (0.0, "x-unknown-1", 0.0)])
    )  # fmt: skip
    for path in ("/file", "#"):
        session = SpentSession(agent="a", source_id="s", path=path, answers=answers)
        table = count_once([session], [], PriceList())
        rows = list(table)
        assert len(table) == len(rows) == 3
        for row, one in zip(rows, answers, strict=True):
            assert row.cost == one.cost
            for name in ("time", "model", "figures", "follows_compaction", "is_total"):
                assert getattr(row.answer, name) == getattr(one, name)
        kept = table.where(lambda row: row.cost is None)
        assert [row.answer.input_tokens for row in kept] == [0]
        assert [one.prompts for one in kept.sessions()] == [session.prompts]
        assert bool(next(table.sessions()).answers) == (path == "/file")


@pytest.mark.parametrize("silent", [False, True])
def test_sessions_without_answers_are_there_only_if_they_are_asked_for(silent: bool) -> None:
    """A session of which every answer is counted elsewhere is neither."""
    answer = SpentAnswer(mark=b"12345678", time=1.0)
    one, copy, quiet = (
        SpentSession(agent="a", source_id=name, path="/x", started=at, answers=answers)
        for at, (name, answers) in enumerate(
            [("one", (answer,)), ("copy", (answer,)), ("quiet", ())]
        )
    )
    table = count_once([one, copy, quiet], [], PriceList())
    assert list(table.sessions(silent=silent)) == ([one, quiet] if silent else [one])
