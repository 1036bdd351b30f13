"""Pruning: duplicates to markers, old results to digests, arguments and media made shorter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.long_lists import long_lists

from foldaway import check
from foldaway.compaction.prune import excerpt, shrink_leaves
from foldaway.compaction.thinking import strip_thinking
from foldaway.engine.oneshot import Compressed, compress
from foldaway.facts.excerpts import excerpted
from foldaway.policy import Policy
from foldaway.testing import assistant, call, media, result, talk, think, user
from foldaway.transcript import Text, Thinking, ToolCall, ToolResult

OUTPUT = "\n".join(f"line {n}: alpha beta gamma delta" for n in range(60))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("word " * 60),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
PRUNING = Policy(protect_first=0, protect_last=2, min_tail=2, target_ratio=0.8)
"""A tail that holds everything, so that nothing is folded and only pruning acts."""


def pruned(*steps: Any, policy: Policy = PRUNING, dialect: str = "openai-chat") -> Compressed:
    items = talk(*steps, user("And now?"), assistant("Wait."), user("Go on.")).wire(dialect)
    return compress(items, provider=dialect, policy=policy)


def contents(made: Compressed) -> list[str]:
    return [item["content"] for item in made.messages if item["role"] == "tool"]


def test_an_older_identical_result_points_at_the_newest() -> None:
    """An older copy becomes a marker where the newest one stays whole; where that is shortened
    too, each is a digest, because a marker would promise what is not there."""
    steps = (
        user("Run it twice."),
        assistant(call("bash", command="ls")), result(OUTPUT),
        assistant(call("bash", command="ls -a")), result(OUTPUT),
    )  # fmt: skip
    first, second = contents(pruned(*steps, policy=replace(PRUNING, protect_last=4)))
    assert first.startswith("[foldaway duplicate: original at fa-")
    assert second == OUTPUT
    made = pruned(*steps)
    assert all(text.startswith("[foldaway digest: original at fa-") for text in contents(made))
    assert made.report.folded == 0


def test_of_equal_results_that_must_be_cut_only_the_newest_is_told() -> None:
    """The others are one line each, which does not promise what is cut below."""
    rows = json.dumps([[f"city_{n}", n] for n in range(400)])
    steps = [
        step for n in range(3) for step in (assistant(call("sql", query=f"q{n}")), result(rows))
    ]
    items = talk(user("Look."), *steps, user("And now?")).wire("openai-chat")
    *older, newest = contents(compress(items, target_tokens=1_200))
    assert all(text.endswith("the same content as a newer result below") for text in older)
    assert len(older) == 2
    assert "city_0, 0 | city_1, 1" in newest


def test_a_superseded_read_of_the_same_file_is_a_marker() -> None:
    """The same file and range read again makes the older reading superfluous, also where the
    content changed in between; a reading that failed does not."""

    def kinds(newest: str) -> list[str]:
        made = pruned(
            user("Read it."),
            assistant(call("read_file", path="a.py")), result(OUTPUT),
            assistant(call("read_file", path="b.py")), result(OUTPUT + "\nother"),
            assistant(call("read_file", path="a.py")), result(newest),
            policy=replace(PRUNING, protect_last=4),
        )  # fmt: skip
        return [text.split(":")[0] for text in contents(made)[:2]]

    assert kinds(OUTPUT + "\nchanged") == ["[foldaway duplicate", "[foldaway digest"]
    assert kinds("Error: permission denied\n" + OUTPUT) == ["[foldaway digest"] * 2


def test_a_short_result_stays() -> None:
    """Up to 200 characters a result is not worth a digest."""
    made = pruned(
        user("Run."), assistant(call("bash", command="x")), result("y" * 200),
        assistant(call("bash", command="z")), result(OUTPUT),
    )  # fmt: skip
    assert contents(made)[0] == "y" * 200


def test_the_newest_messages_are_left_alone() -> None:
    """What `protect_last` covers is not pruned, however long it is."""
    steps = (user("Run."), assistant(call("bash", command="x")), result(OUTPUT))
    made = pruned(*steps, policy=Policy(protect_first=0, protect_last=5, target_ratio=0.8))
    assert made.report.status == "unchanged"
    assert contents(made) == [OUTPUT]


def test_arguments_shrink_leaf_by_leaf_inside_valid_json() -> None:
    """Keys, numbers and short strings stay, long strings are cut, nothing is escaped."""
    arguments = {
        "path": "a.py", "line": 2**65, "content": "строка " * 500, "deep": [{"é": "x" * 9000}],
    }  # fmt: skip
    made = pruned(user("Write."), assistant(call("write_file", **arguments)), result("ok"))
    text = made.messages[1]["tool_calls"][0]["function"]["arguments"]
    value = json.loads(text)
    assert list(value) == list(arguments)
    assert (value["path"], value["line"]) == ("a.py", 2**65)
    assert value["content"].startswith("строка строка")
    assert "\\u" not in text
    assert len(text) < 2_000
    assert made.recall(made.report.references[0].ref)[0]["tool_calls"][0]["function"][
        "arguments"
    ] == json.dumps(arguments, ensure_ascii=False)


@pytest.mark.parametrize("arguments", [
    "not json " * 200, '{"a": "' + "x" * 2_000, '"' + "x" * 900 + '"',
])  # fmt: skip
def test_arguments_that_are_no_json_object_are_never_torn(arguments: str) -> None:
    """What does not parse is mended or left alone, never cut in the middle; a text that cannot be
    read is kept whole."""
    items = talk(user("Do."), assistant(call("odd")), result(OUTPUT), user("More."),
                 assistant("Yes."), user("Go on.")).wire("openai-chat")  # fmt: skip
    items[1]["tool_calls"][0]["function"]["arguments"] = arguments
    made = compress(items, policy=PRUNING)
    for item in made.messages:
        for one in item.get("tool_calls", ()):
            found = json.loads(one["function"]["arguments"])
            assert isinstance(found, dict)
            assert arguments.startswith("{") or found["value"] == arguments


def test_media_before_the_newest_media_bearing_turn_become_placeholders() -> None:
    """The newest image of a user stays, older ones become a line with the way back."""
    image = media()
    made = pruned(
        user("Look.", image), assistant("Seen."), user("And this.", image), assistant("Seen too."),
    )  # fmt: skip
    first, second = made.messages[0]["content"], made.messages[2]["content"]
    assert [block["type"] for block in first] == ["text", "text"]
    assert first[1]["text"].startswith("[foldaway placeholder: original at fa-")
    assert [block["type"] for block in second] == ["text", "image_url"]


def test_words_of_users_and_agents_are_never_pruned() -> None:
    """Long prose stays letter for letter until it is folded."""
    prose = "This is what I want. " * 400
    made = pruned(user(prose), assistant(prose, call("bash", command="x")), result(OUTPUT))
    assert made.messages[0]["content"] == prose
    assert made.messages[1]["content"] == prose


@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@given(data=st.data())
def test_pruning_twice_is_pruning_once(provider: str, data: st.DataObject) -> None:
    """A list that was only pruned has nothing left to prune."""
    items = data.draw(long_lists(provider))
    policy = Policy(protect_first=0, protect_last=1, min_tail=1, target_ratio=0.8)
    once = compress(items, provider=provider, policy=policy)
    if once.report.folded or once.report.status == "unchanged":
        return
    twice = compress(once.messages, provider=provider, policy=policy)
    assert twice.report.status == "unchanged"
    assert twice.messages is once.messages


@given(value=JSON_VALUES, most=st.integers(16, 60))
def test_shrinking_leaves_keeps_the_shape(value: Any, most: int) -> None:
    """Keys, order, numbers and nesting stay; shrinking twice is shrinking once; a value without
    long strings is the same object."""
    shrunk = shrink_leaves(value, most)
    assert _shape(shrunk) == _shape(value)
    assert shrink_leaves(shrunk, most) == shrunk
    if json.dumps(shrunk) == json.dumps(value):
        assert shrunk is value


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return str if isinstance(value, str) else value


def test_an_excerpt_keeps_both_ends_and_counts_what_it_left_out() -> None:
    """The last resort for one huge output: its start, its end, the number of characters between."""
    log = talk(user("Run."), assistant(call("bash")), result(f"START {'x' * 9_000} END"))
    made = excerpt(log.messages[2], 0.1, "fa-0123456789")
    [part] = made.parts
    assert isinstance(part, ToolResult)
    [text] = part.parts
    assert isinstance(text, Text)
    assert "START" in text.text
    assert text.text.endswith("END")
    assert "characters left out" in text.text
    assert "fa-0123456789" in text.text
    assert excerpt(made, 0.1, "fa-0123456789") is made


def test_a_call_is_cut_in_proportion() -> None:
    """Of a long argument as much stays as was asked for, and never less than 160 characters."""
    words = " ".join(f"word_{n}" for n in range(400))
    log = talk(user("Write."), assistant(call("write_file", path="a.txt", content=words)))

    def shown(share: float) -> str:
        [part] = excerpt(log.messages[1], share, "").parts
        assert isinstance(part, ToolCall)
        return json.loads(part.arguments)["content"]

    assert 0.5 * len(words) <= len(shown(0.5)) < 0.6 * len(words)
    assert 160 <= len(shown(0.01)) < 250


def test_an_excerpt_leaves_out_first_what_a_harness_put_there() -> None:
    """A reminder to the model is no part of the file that was read."""
    note = f"<system-reminder>{'Mind this. ' * 90}</system-reminder>"
    lines = "\n".join(f"line {n}" for n in range(100))
    log = talk(user("Read."), assistant(call("read_file")), result(f"{lines}\n{note}"))
    for share, last in ((0.2, "line 99"), (0.6, "line 99")):
        [part] = excerpt(log.messages[2], share, "").parts
        assert isinstance(part, ToolResult)
        [text] = part.parts
        assert isinstance(text, Text)
        assert "reminder" not in text.text
        assert "line 0\n" in text.text
        assert text.text.rstrip().endswith(last)
        assert ("left out" in text.text) == (share == 0.2)


def test_an_excerpt_shows_lines_between_its_ends() -> None:
    """Those that tell of a failure first, then those that name most, each once and in order."""
    dull = ["and so it goes on and on"] * 200
    dull[60] = "loads max_retries from src/app/config.py"
    dull[120] = "src/app/main.py:31: error: name 'load_all' is not defined"
    text = "\n".join(["the beginning", *dull, "the end"])
    shown = excerpted(text, 400).split("\n")
    assert shown[0] == "the beginning"
    assert shown[-1] == "the end"
    assert shown.index(dull[60]) < shown.index(dull[120])
    assert dull[120] in excerpted(text, 240)
    assert len("\n".join(shown)) < 500


def test_a_short_excerpt_keeps_the_lines_that_say_where_one_stands() -> None:
    """Editors say last which file is open; without it the next edit is one of no file."""
    end = "(Open file: /srv/app/src/loading/fields.py)\n(Current directory: /srv/app)\nbash-$"
    text = "\n".join([*(f"{n}: value_{n} = load({n})" for n in range(400)), end])
    assert excerpted(text, 400).endswith(end)


@pytest.mark.parametrize("text", ["x" * 3_000_000, "word " * 600_000, "a_b = 1\n" * 400_000])
def test_an_excerpt_of_an_enormous_text_is_about_as_long_as_asked_for(text: str) -> None:
    """Whatever the text is like, and without reading all of it line by line."""
    assert len(excerpted(text, 2_000)) < 2_100


def test_an_excerpt_is_cut_between_words_and_of_data_between_items() -> None:
    """No piece of a name or number stands there that the output does not have."""
    words = " ".join(f"word_{n}" for n in range(400))
    whole = set(words.split())
    shown = excerpted(words, 500).replace(excerpted(words, 500).split("\n")[1], "")
    assert set(shown.split()) <= whole | {"[…]"}
    rows = [{"flight_number": f"HAT{n:03}", "seat": "window", "note": "x" * 90} for n in range(9)]
    told = excerpted(json.dumps({"address": "12 Some Street", "flights": rows}), 400)
    assert told.split("\n")[:2] == [
        "address: 12 Some Street", f"flights (1 of 9) HAT000; seat: window; note: {'x' * 90}",
    ]  # fmt: skip
    assert "characters left out" in told
    assert len(told) < 460


def test_an_excerpt_of_data_tells_every_item_before_any_at_length() -> None:
    """What fits is told whole, without a note; of pairs both legs stay."""
    legs = [{"flight_number": f"HAT{n:03}", "prices": {"business": 370 + n}, "status": "available",
             "scheduled_departure_time_est": "23:00:00"} for n in range(6)]  # fmt: skip
    whole = excerpted(json.dumps(legs), 700)
    assert all(f"HAT00{n}; prices (business: {370 + n})" in whole for n in range(6))
    assert "left out" not in whole
    pairs = excerpted(json.dumps([[one, legs[0]] for one in legs]), 900)
    assert pairs.count("business: 370") >= 6


def test_stripped_thinking_is_gone_whole() -> None:
    """No thinking stays, nothing else changes; without thinking it is the same object."""
    message = talk(assistant(think("Hm.", signature="sig"), "Words.", call("x"))).messages[0]
    bare = strip_thinking(message)
    assert not any(isinstance(part, Thinking) for part in bare.parts)
    assert bare.parts == message.parts[1:]
    assert strip_thinking(bare) is bare


def test_a_screenshot_of_a_computer_call_stays_one() -> None:
    """A hosted result has one legal form; it is folded or kept, never turned into words."""
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    items: list[Any] = [{"role": "user", "content": "Look."}]
    for number in range(6):
        items += [
            {"type": "computer_call", "id": f"cu_{number}", "call_id": f"c{number}",
             "action": {"type": "screenshot"}, "pending_safety_checks": [], "status": "completed"},
            {"type": "computer_call_output", "call_id": f"c{number}", "output": shot},
        ]  # fmt: skip
    items += [{"role": "assistant", "content": "Seen."}, {"role": "user", "content": "Go on."}]
    made = compress(items, provider="openai-responses", policy=PRUNING)
    assert check(made.messages, provider="openai-responses") == []
    small = compress(items, provider="openai-responses", target_tokens=4_000)
    assert check(small.messages, provider="openai-responses") == []
