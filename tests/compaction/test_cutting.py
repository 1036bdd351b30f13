"""What a size makes of results, arguments and media; what is never cut."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway import Options, check
from foldaway._core.policy import Policy
from foldaway.compaction.thinking import strip_thinking
from foldaway.engine.oneshot import Compressed, compress
from foldaway.facts.frame import GAP
from foldaway.testing import assistant, call, media, result, talk, think, user
from foldaway.transcript import Thinking

OUTPUT = "\n".join(f"line {n}: alpha beta gamma delta" for n in range(60))
OWN = Policy(protect_first=0, protect_last=2, min_tail=2)


def cut(*steps: Any, tokens: int, policy: Policy = OWN) -> Compressed:
    items = talk(*steps, user("And now?"), assistant("Wait."), user("Go on.")).wire("openai-chat")
    return compress(items, policy=policy, target_tokens=tokens)


def contents(made: Compressed) -> list[str]:
    return [item["content"] for item in made.messages if item["role"] == "tool"]


def test_of_equal_results_that_must_be_cut_only_the_newest_is_told() -> None:
    """The others are one line each, which does not promise what is cut below."""
    rows = json.dumps([[f"city_{n}", n] for n in range(400)])
    steps = [
        step for n in range(3) for step in (assistant(call("sql", query=f"q{n}")), result(rows))
    ]
    items = talk(user("Look."), *steps, user("And now?")).wire("openai-chat")
    *older, newest = contents(compress(items, target_tokens=1_200))
    assert all(re.fullmatch(r"\[left out: fa-[0-9a-f]{10}\]", text) for text in older)
    assert len(older) == 2
    assert "city_0, 0 | city_1, 1" in newest


def test_a_short_result_stays() -> None:
    """Up to 200 characters a result is shown whole or not at all."""
    made = cut(
        user("Run."), assistant(call("bash", command="x")), result("y" * 200),
        assistant(call("bash", command="z")), result(OUTPUT), tokens=400,
    )  # fmt: skip
    first, second = contents(made)
    assert first == "y" * 200
    assert second.startswith("[in part: fa-")


def test_the_newest_messages_stay_whole_within_their_share() -> None:
    """What `protect_last` covers is not cut if it has at most half of the room; what is older,
    or larger, is."""
    older = [
        step for n in range(12)
        for step in (assistant(f"Now {n}.", call("bash", command=f"run {n}")), result(OUTPUT))
    ]  # fmt: skip
    newest = (assistant("Last.", call("bash", command="x")), result(OUTPUT.upper()))
    policy = replace(OWN, protect_last=5)
    assert contents(cut(*older, *newest, tokens=5_000, policy=policy))[-1] == OUTPUT.upper()
    assert contents(cut(*older, *newest, tokens=700, policy=policy))[-1] != OUTPUT.upper()


def test_the_newest_messages_stay_whole_if_the_result_is_well_below_the_threshold() -> None:
    """All 20 that `protect_last` covers, though they take more than their share of the room, as
    long as the result has no more than half of the threshold; otherwise as many as fit."""
    for lines, least in ((60, 20), (120, 20), (250, 8)):
        output = "\n".join(f"name_{n} = load({n * 97})" for n in range(lines))
        rows = [user("Begin."), *(
            step for n in range(100)
            for step in (assistant(f"Now {n}.", call("bash", command=f"run {n}")), result(output))
        )]  # fmt: skip
        items = talk(*rows).wire("openai-chat")
        made = compress(items, context_length=64_000)
        assert made.messages[-least:] == items[-least:]
        assert made.report.tokens_after <= 0.55 * made.report.threshold_tokens


def test_arguments_shrink_leaf_by_leaf_inside_valid_json() -> None:
    """Keys, numbers and short strings stay, long strings are cut, nothing is escaped."""
    arguments = {
        "path": "a.py", "line": 2**65, "content": "строка " * 500, "deep": [{"é": "x" * 9000}],
    }  # fmt: skip
    made = cut(user("Write."), assistant(call("write_file", **arguments)), result("ok"), tokens=400)
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


@each_row("arguments", [
    "not json " * 200, '{"a": "' + "x" * 2_000, '"' + "x" * 900 + '"',
])  # fmt: skip
def test_arguments_that_are_no_json_object_are_never_torn(arguments: str) -> None:
    """What does not parse is mended or left alone, never cut in the middle; a text that cannot be
    read is kept whole."""
    items = talk(user("Do."), assistant(call("odd")), result(OUTPUT), user("More."),
                 assistant("Yes."), user("Go on.")).wire("openai-chat")  # fmt: skip
    items[1]["tool_calls"][0]["function"]["arguments"] = arguments
    made = compress(items, policy=OWN, target_tokens=900)
    for item in made.messages:
        for one in item.get("tool_calls", ()):
            found = json.loads(one["function"]["arguments"])
            assert isinstance(found, dict)
            assert arguments.startswith("{") or found["value"] == arguments


def test_media_before_the_newest_media_bearing_turn_become_placeholders() -> None:
    """The newest image of a user stays, older ones become a line with the way back."""
    image = media()
    made = cut(
        user("Look.", image), assistant("Seen."), user("And this.", image), assistant("Seen too."),
        tokens=2_500,
    )  # fmt: skip
    first, second = made.messages[0]["content"], made.messages[2]["content"]
    assert [block["type"] for block in first] == ["text", "text"]
    assert first[1]["text"].startswith("[foldaway placeholder: original at fa-")
    assert [block["type"] for block in second] == ["text", "image_url"]


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
    made = compress(items, provider="openai-responses", policy=OWN)
    assert check(made.messages, provider="openai-responses") == []
    small = compress(items, provider="openai-responses", target_tokens=4_000)
    assert check(small.messages, provider="openai-responses") == []


def test_whatever_is_shown_in_part_says_where_the_whole_is() -> None:
    """Long words, arguments and outputs alike; without originals nobody is sent anywhere."""
    prose = "I looked at the parser and its tests. " * 60
    steps = [
        step for n in range(6)
        for step in (assistant(f"{n}. {prose}", call("write_file", content=prose)), result(OUTPUT))
    ]  # fmt: skip
    items = talk(user("Go."), *steps, user("And now?")).wire("openai-chat")
    for references in (True, False):
        made = compress(
            items, policy=OWN, target_tokens=2_500, options=Options(references=references)
        )
        changed = [one for one in made.messages if one not in items and GAP[:-1] in str(one)]
        assert len(changed) > 3
        for one in changed:
            texts = [str(one["content"])]
            texts += [each["function"]["arguments"] for each in one.get("tool_calls", ())]
            for text in texts:
                named = re.search(r"\bfa-[0-9a-f]{10}\]", text)
                assert bool(named) == (references and GAP[:-1] in text)
