"""The system prompt: given in one place, sent where each provider wants it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway import Session, SessionOptions
from foldaway.errors import InvalidSetting

ASK = {"role": "user", "content": "Which port?"}
ANSWER = {"role": "assistant", "content": "5433."}
GEMINI_ASK = {"role": "user", "parts": [{"text": "Which port?"}]}


def text_in(asked: Mapping[str, Any]) -> list[str]:
    """Return every system prompt of a request."""
    listed = asked.get("messages", ())
    found = [one["content"] for one in listed if one.get("role") in ("system", "developer")]
    found += [asked[name] for name in ("system", "instructions") if name in asked]
    if "systemInstruction" in asked:
        found += [part["text"] for part in asked["systemInstruction"]["parts"]]
    return found


@each_row(
    "provider, ask, where",
    [
        ("openai-chat", ASK, "messages"),
        ("strict", ASK, "messages"),
        ("anthropic", ASK, "system"),
        ("openai-responses", ASK, "instructions"),
        ("gemini", GEMINI_ASK, "systemInstruction"),
    ],
)
def test_it_is_sent_once_where_the_provider_wants_it(
    provider: str, ask: Any, where: str, tmp_path: Path
) -> None:
    """After any number of restarts, and a changed one takes its place."""
    options = SessionOptions(provider=provider)
    for number in range(3):
        session = Session(tmp_path / provider, "k", system="Be brief.", options=options)
        session.append(ask)
        asked = session.request()
        assert (number, text_in(asked)) == (number, ["Be brief."])
        assert where in asked
    changed = Session(tmp_path / provider, "k", system="Be long.", options=options)
    assert text_in(changed.request()) == ["Be long."]
    assert Session(tmp_path / provider, "k", options=options).info.length == 3


def test_one_that_was_appended_before_is_replaced(tmp_path: Path) -> None:
    """A program that comes to `system=` later sends it once."""
    Session(tmp_path, "k").append({"role": "system", "content": "Be kind."}, ASK)
    session = Session(tmp_path, "k", system="Be brief.")
    assert session.messages == [{"role": "system", "content": "Be brief."}, ASK]


@each_row("provider, where", [("anthropic", "system"), ("openai-responses", "instructions")])
def test_one_that_was_appended_is_beside_the_messages(
    provider: str, where: str, tmp_path: Path
) -> None:
    """If the provider wants it there; one that is given later takes its place."""
    options = SessionOptions(provider=provider)
    session = Session(tmp_path / provider, "k", options=options)
    session.append({"role": "system", "content": "Be kind."}, ASK)
    (listed,) = {*session.request()} - {where}
    assert session.request() == {listed: [ASK], where: "Be kind."}
    again = Session(tmp_path / provider, "k", system="Be brief.", options=options)
    assert again.request() == {listed: [ASK], where: "Be brief."}


def test_it_stays_through_compactions_and_takes_room() -> None:
    """It is no message of the log: no compaction folds it, and it counts for the window."""
    session = Session(context_length=8_000, system="Be brief. " * 100)
    bare = Session(context_length=8_000)
    for one in (session, bare):
        for number in range(20):
            one.append({**ASK, "content": f"{number} " + "words " * 200}, ANSWER)
    assert session.breakdown().tokens > bare.breakdown().tokens + 150
    report = session.compact(force=True)
    assert report.status == "compacted"
    assert report.tokens_after > 200
    assert text_in(session.request()) == ["Be brief. " * 100]


def test_send_calls_a_client_with_it() -> None:
    """The keywords of the call are those of the provider's API."""
    heard: list[dict[str, Any]] = []

    def create(**asked: Any) -> str:
        heard.append(asked)
        return "done"

    session = Session(system="Be brief.", options=SessionOptions(provider="anthropic"))
    session.append(ASK)
    assert session.send(create, model="m", max_tokens=9) == "done"
    assert heard == [{"messages": [ASK], "system": "Be brief.", "model": "m", "max_tokens": 9}]


def test_a_list_that_is_followed_has_its_own() -> None:
    """Which of two would count nobody could say."""
    with pytest.raises(InvalidSetting, match="put it into the list"):
        Session(system="Be brief.").follow([ASK])
