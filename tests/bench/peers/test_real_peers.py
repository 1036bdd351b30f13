"""The real peers, installed from the package index; minutes and a gigabyte, so only in the soak."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from foldaway.transcript import estimate_text

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from peers.ask import Fitted, Peers
from peers.table import MODES
from peers.worker import Failure, Request

pytestmark = pytest.mark.soak

FOLDER = Path(__file__).resolve().parents[3] / "bench" / ".peers"
STUB = "A summary would stand here."


def history() -> list[Any]:
    """Ten asks, each with two calls, a long text and a table as results, and an answer."""
    found: list[Any] = []
    for turn in range(10):
        found.append({"role": "user", "content": f"Ask {turn}: look at src/part_{turn}.py."})
        for number in range(2):
            function = {"name": "bash", "arguments": f'{{"command": "cat part_{turn}.py"}}'}
            call = {"id": f"call_{turn}_{number}", "type": "function", "function": function}
            rows = [{"line": line, "part": turn, "value": line * 7} for line in range(40)]
            text = "\n".join(f"{turn}.{row['line']}: value_{row['value']}" for row in rows)
            found.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
            found.append(
                {
                    "role": "tool",
                    "tool_call_id": call["id"],
                    "content": json.dumps(rows) if number else text,
                }
            )
        found.append({"role": "assistant", "content": f"Part {turn} holds forty values."})
    return found


def count(messages: Sequence[Any]) -> int:
    spoken = [message for message in messages if message["role"] != "system"]
    return sum(estimate_text(str(message)) for message in spoken)


@pytest.fixture(scope="module")
def peers() -> Peers:
    return Peers(FOLDER)


def compressed(peers: Peers, name: str, share: float = 0.4) -> Fitted:
    reason = peers.install(name)
    if reason is not None:
        pytest.skip(reason.error)
    messages = history()
    request = Request(
        messages=messages, system="Be careful.", context_length=200_000,
        budget_tokens=int(count(messages) * share),
    )  # fmt: skip
    found = peers.compress(name, request, count)
    assert not isinstance(found, Failure), found
    return found


@pytest.mark.parametrize("name", MODES)
def test_every_mode_answers_and_gives_the_same_twice(peers: Peers, name: str) -> None:
    """A fresh process leaves the same messages, and says how it was driven."""
    found = compressed(peers, name)
    assert found.tokens < count(history())
    assert found.answer.note
    assert compressed(Peers(FOLDER), name).answer.messages == found.answer.messages


@pytest.mark.parametrize("name", ["hermes:stub", "langchain:summarize"])
def test_a_stub_stands_where_a_model_would_write(peers: Peers, name: str) -> None:
    """What a model would have said is not guessed at."""
    assert STUB in str(compressed(peers, name).answer.messages)


def test_the_fallback_is_the_peer_s_own_text(peers: Peers) -> None:
    """The model failed, and the middle is told all the same."""
    found = compressed(peers, "hermes:fallback")
    assert STUB not in str(found.answer.messages)
    assert len(found.answer.messages) < len(history())


@pytest.mark.parametrize("name", [name for name in MODES if not name.startswith("headroom")])
def test_what_takes_a_budget_meets_it(peers: Peers, name: str) -> None:
    """At 40 % with short messages every setting has a value that fits."""
    assert compressed(peers, name).tokens <= 0.4 * count(history())


@pytest.mark.parametrize("name", ["langchain:trim", "langchain:trim-loop"])
def test_trimming_keeps_the_newest_as_they_were(peers: Peers, name: str) -> None:
    """After the system prompt stand the last messages of the history, unchanged."""
    system, *kept = compressed(peers, name).answer.messages
    assert system == {"role": "system", "content": "Be careful."}
    assert kept == history()[-len(kept) :]


def test_headroom_drops_no_message(peers: Peers) -> None:
    """It shortens, and that is all."""
    found = compressed(peers, "headroom:offline")
    assert [message["role"] for message in found.answer.messages] == [
        message["role"] for message in history()
    ]
