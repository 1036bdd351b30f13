"""Requests that are too heavy: older media go, and come back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldaway import Policy, check
from foldaway.engine import Compressor

PIXELS = "iVBORw0KGgo" + "A" * 4_000


def picture(name: str) -> dict[str, Any]:
    url = f"data:image/png;base64,{PIXELS}{name}"
    return {
        "role": "user",
        "content": [
            {"type": "text", "text": f"look at {name}"},
            {"type": "image_url", "image_url": {"url": url}},
        ],
    }


def talk() -> list[Any]:
    found: list[Any] = []
    for name in ("a", "b", "c"):
        found += [picture(name), {"role": "assistant", "content": f"I see {name}"}]
    return found


def screenshots() -> list[Any]:
    """Return a tool loop whose results are pictures, with thinking that is bound to its past."""
    found: list[Any] = [{"role": "user", "content": "open the page"}]
    for number in range(3):
        call = {"type": "tool_use", "id": f"t{number}", "name": "browser", "input": {}}
        thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        source = {"type": "base64", "media_type": "image/png", "data": PIXELS}
        image = {"type": "image", "source": source}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": [image]}
        found += [{"role": "assistant", "content": [thought, call]},
                  {"role": "user", "content": [result]}]  # fmt: skip
    return found


def test_only_the_newest_picture_stays_and_the_others_come_back() -> None:
    """Older media become placeholders with a reference each; the rest is the same objects."""
    engine, given = Compressor(context_length=200_000), talk()
    engine.append(*given)
    report = engine.lighten()
    after = engine.messages
    assert report.status == "compacted"
    assert [PIXELS in json.dumps(message) for message in after] == [False] * 4 + [True, False]
    assert after[1] is given[1]
    assert after[4] is given[4]
    assert [engine.conversation.recall(row.ref) for row in report.references] == [
        [given[0]],
        [given[2]],
    ]
    assert check(after) == []


def test_an_undo_shows_them_again_and_a_second_time_changes_nothing() -> None:
    """The step is one like any compaction."""
    engine, given = Compressor(context_length=200_000), talk()
    engine.append(*given)
    engine.lighten()
    shown = engine.messages
    assert engine.lighten().reason == "nothing to compact"
    assert engine.messages == shown
    assert engine.undo()
    assert engine.messages == given


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-5"])
def test_pictures_in_results_go_too_and_no_bound_thinking_is_left(model: str) -> None:
    """Where thinking is bound to what stood before it, it goes with the change."""
    engine = Compressor(context_length=200_000, model=model, provider="anthropic")
    engine.append(*screenshots())
    assert engine.lighten().status == "compacted"
    after = json.dumps(engine.messages)
    assert after.count(PIXELS) == 1
    assert check(engine.messages, provider="anthropic") == []
    assert ("signature" in after) is (model == "claude-sonnet-4-5")


def test_a_reducer_of_the_host_takes_its_place() -> None:
    """What it gives back is shown; what it leaves alone stays."""
    engine = Compressor(context_length=200_000)
    engine.append(*talk())
    report = engine.lighten(lambda messages: messages)
    assert (report.status, report.reason) == ("unchanged", "nothing to compact")


def test_pictures_go_also_beside_results_that_are_shown_otherwise_since_their_arrival() -> None:
    """JSON keeps its short form and markers are shown whole; an undo shows all as on arrival."""
    rows = "[" + ", ".join(f'{{"id": {n}, "price": {n}.10}}' for n in range(1, 40)) + "]"
    source = {"type": "base64", "media_type": "image/png", "data": PIXELS}
    image = {"type": "image", "source": source}
    given: list[Any] = [{"role": "user", "content": "look it up"}]
    for number in range(3):
        contents: dict[str, Any] = {"lookup": rows, "browser": [image]}
        calls: list[Any] = []
        results: list[Any] = []
        for name, content in contents.items():
            call_id = f"{name}{number}"
            calls.append({"type": "tool_use", "id": call_id, "name": name, "input": {}})
            results.append({"type": "tool_result", "tool_use_id": call_id, "content": content})
        given += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    engine = Compressor(context_length=200_000, provider="anthropic")
    engine.append(*given)
    on_arrival = engine.messages
    report = engine.lighten()
    after = [json.dumps(message) for message in engine.messages]
    assert [PIXELS in message for message in after] == [False] * 6 + [True]
    assert rows.replace(" ", "") in engine.messages[2]["content"][0]["content"]
    assert "duplicate" not in after[4]
    assert report.tokens_after == engine.decide().prompt_tokens
    assert [engine.conversation.recall(row.ref) for row in report.references] == [
        [given[2]],
        [given[4]],
    ]
    assert check(engine.messages, provider="anthropic") == []
    assert engine.undo()
    assert engine.messages == on_arrival


WORDS = "and some words so that a fold is worth its summary " * 30


def test_a_compaction_keeps_the_newest_picture_of_the_user_and_of_a_tool() -> None:
    """Also among the newest messages, which stay as they are otherwise; the others can be
    recalled. The first messages stay as the policy says."""
    talked: list[Any] = []
    for number in range(14):
        talked += [picture(f"p{number}"), {"role": "assistant", "content": f"{number} {WORDS}"}]
    compressor = Compressor(context_length=200_000, policy=Policy(protect_first=0))
    compressor.append(*talked)
    report = compressor.compact(force=True)
    assert report.status == "compacted"
    left = json.dumps(compressor.messages)
    assert left.count("base64") == 1
    assert f"{PIXELS}p13" in left
    assert check(compressor.messages) == []
    shots = screenshots()
    browser = Compressor(
        context_length=200_000, provider="anthropic", policy=Policy(protect_first=0)
    )
    browser.append(*[{"role": "user", "content": WORDS}, {"role": "assistant", "content": WORDS}]
                   * 12, *shots)  # fmt: skip
    assert browser.compact(force=True).status == "compacted"
    assert json.dumps(browser.messages).count('"base64"') == 1
    for row in browser.conversation.references:
        assert browser.conversation.recall(row.ref)
