"""Facts after a compaction, for agents that have no event then: with the next result, once."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.agents.hooks import compactions
from foldaway.agents.hooks.answering import HookHost, HookOptions, answer, event_of
from foldaway.agents.hooks.compactions import is_new_compaction
from foldaway.agents.known import agent_named

RULE = "Never edit config/prod.toml."
SIGN = "abcab"


@given(st.lists(st.sampled_from(["x", SIGN, "abc", "ab", "\n" * 9]), max_size=12))
def test_each_compaction_is_news_once(pieces: list[str]) -> None:
    """Wherever its sign is in the file, and whatever is read at once."""
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compactions, "_PIECE_BYTES", 7)
        path, notes = Path(place) / "s.jsonl", Path(place) / "told"
        path.write_text("")
        known = 0
        for piece in pieces:
            path.write_text(path.read_text() + piece)
            now = path.read_text().count(SIGN)
            assert is_new_compaction(str(path), SIGN, lambda: notes) == (now > known)
            assert not is_new_compaction(str(path), SIGN, lambda: notes)
            known = now


def test_what_was_told_long_ago_is_forgotten(tmp_path: Path) -> None:
    """Notes do not pile up."""
    path, notes = tmp_path / "s", tmp_path / "told"
    path.write_text(SIGN)
    assert is_new_compaction(str(path), SIGN, lambda: notes)
    (old,) = notes.iterdir()
    os.utime(old, (0, 0))
    other = tmp_path / "t"
    other.write_text(SIGN)
    assert is_new_compaction(str(other), SIGN, lambda: notes)
    assert old not in list(notes.iterdir())


@pytest.mark.parametrize("tokens", [4_000, 0])
def test_copilot_is_told_with_the_next_result(session: Callable[..., Path], tokens: int) -> None:
    """Beside the result, which is shortened or stays."""
    news = [True, False]
    host = HookHost(
        keep=lambda *_: True, import_later=lambda *_: None, is_news=lambda *_: news.pop(0)
    )
    given = {
        "sessionId": "s", "transcriptPath": str(session("Some work was done.")), "toolName": "bash",
        "toolResult": {"text": "".join(f"{n}: request {n * 7919}\n" for n in range(4_000))},
    }  # fmt: skip
    for is_new in (True, False):
        event = event_of(given, "postToolUse")
        said = answer(agent_named("copilot-cli"), event, HookOptions(result_tokens=tokens), host)
        found = json.loads(said or "{}")
        assert (RULE in found.get("additionalContext", "")) == is_new
        assert ("modifiedResult" in found) == bool(tokens)
