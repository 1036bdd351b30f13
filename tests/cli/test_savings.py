"""What compactions saved: one sum, whoever shows it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
import pytest

from foldaway.agents.running.totals import RunTotals
from foldaway.caching.catalog import PriceList
from foldaway.cli.run_agent import (
    _saved,  # pyright: ignore[reportPrivateUsage]
    run,
)
from foldaway.config.opening import home_folder
from foldaway.gateway.inspector.spending_reader import StoreSurvey
from foldaway.sessions.place import SessionOptions
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession, SessionFilter
from foldaway.usage.balances import OwnCompaction, SavedSum

MODEL = "claude-sonnet-4-5"


def talk(steps: int) -> list[dict[str, str]]:
    return [
        {"role": "assistant" if at % 2 else "user", "content": f"step {at}: " + "word " * 200}
        for at in range(steps)
    ]


def said_by(totals: RunTotals, since: float) -> str:
    """Return what `foldaway run` says at its end, in its own context."""
    with click.Context(run):
        return _saved([], totals, since)


def compacted(store: Store, name: str, model: str = MODEL) -> Session:
    """Return a session of Claude Code that was compacted, with a request before and two after."""
    new = NewSession(source="claude-code", model=model, cwd="/work/app")
    session = Session(
        store, name, context_length=16_000, model=model, options=SessionOptions(new=new)
    )
    session.append(*talk(40))
    used = {"input_tokens": 10, "output_tokens": 5}
    session.used({**used, "cache_read_input_tokens": 12_000})
    assert session.compact(force=True).status == "compacted"
    session.used({**used, "cache_creation_input_tokens": 4_000})
    session.used({**used, "cache_read_input_tokens": 4_000})
    return session


def test_what_compactions_saved_is_one_sum(foldaway: Any, home: Path, tmp_path: Path) -> None:
    """In `usage`, the inspector, `watch`, the status line, and at the end of `foldaway run`."""
    began = time.time() - 1
    with open_store(home_folder() / "sessions") as store:
        compacted(store, "messages:s-1")
        compacted(store, "messages:s-2", "no-such-model")
        (own,) = OwnCompaction.of_agent(store, "claude-code", "s-1", PriceList())
        looked = StoreSurvey()
        for info in store.all_sessions(SessionFilter(kind="any")):
            looked.add(info)
        looked.weigh(store, PriceList())
    assert own.saved
    assert OwnCompaction.add_up(looked.compactions) == SavedSum(2, 1, own.saved)
    (seen,) = foldaway("usage", "--json").reports
    assert seen["saved"] == {"compactions": 2, "known": 1, "dollars": pytest.approx(own.saved)}
    verb = "saved" if own.saved > 0 else "cost"
    assert f"Foldaway {verb} about $" in foldaway("usage").text
    (none,) = foldaway("usage", "--json", "--since", "2099-01-01").reports
    assert none["saved"]["compactions"] == 0
    totals = RunTotals(compactions={"messages:s-1": (0, 1)})
    word = f"about ${abs(own.saved):.2f} {'less' if own.saved > 0 else 'more'} than without it"
    assert said_by(totals, began) == f", {word}"
    path = tmp_path / "s-1.jsonl"
    answer = {
        "type": "assistant", "uuid": "u1", "sessionId": "s-1", "timestamp": "2026-01-15T12:00:00Z",
        "message": {"id": "m", "model": MODEL, "role": "assistant", "content": "Yes.",
                    "usage": {"input_tokens": 9, "output_tokens": 1}},
    }  # fmt: skip
    ask = {**answer, "type": "user", "uuid": "u0", "message": {"role": "user", "content": "Go"}}
    path.write_text(json.dumps(ask) + "\n" + json.dumps(answer) + "\n")
    (state,) = foldaway("watch", "--once", "--json", path).reports
    assert state["saved"] == pytest.approx(own.saved)
    given = json.dumps({"transcript_path": str(path)}).encode()
    assert "  saved " in foldaway("statusline", stdin=given).text


def test_a_run_says_what_its_own_compactions_saved(home: Path) -> None:
    """Not those from before it, and nothing if nobody knows the price."""
    with open_store(home_folder() / "sessions") as store:
        compacted(store, "messages:s-1")
        compacted(store, "messages:s-2", "no-such-model")
    one, other = (RunTotals(compactions={f"messages:s-{at}": (0, 1)}) for at in (1, 2))
    assert said_by(one, time.time() + 9) == ""
    assert said_by(other, 0.0) == ""
    assert said_by(RunTotals(), 0.0) == ", as without it"
    assert said_by(one, 0.0).endswith(" than without it")


def test_a_conversation_that_the_store_does_not_know_saved_nothing(tmp_path: Path) -> None:
    """Neither under a name of an agent nor under its own."""
    with open_store(tmp_path) as store:
        assert OwnCompaction.of_agent(store, "claude-code", "s-1", PriceList()) == []
        assert OwnCompaction.of_agent(store, "claude-code", "", PriceList()) == []
        assert OwnCompaction.of_conversation(store, "messages:s-1", PriceList()) == []
    assert OwnCompaction.add_up([]).said == ""
    assert SavedSum(2, 1, -0.5).said == "cost about $0.50"
