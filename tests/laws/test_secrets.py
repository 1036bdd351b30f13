"""Invariant 8: no secret that the redactor knows stands in anything that a compaction writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Compressor, compress, load
from holdfast.dialects.convert import convert
from holdfast.pipeline.frame import recognise, summary_text
from holdfast.policy import Policy
from holdfast.transcript import Text, ToolResult

SMALL = Policy(floor_tokens=500, summary_min_tokens=100, protect_last=2)
BODY = "R4tq8ZbW2mKx7LpV9sYc3NdG6hJf1TeA5uQo"
PEM = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *["MIIEowIBAAKCAQEA" + BODY] * 4,
                 "-----END RSA PRIVATE KEY-----"))  # fmt: skip
SECRETS = {
    "ghp_" + BODY: f"ghp_{BODY}",
    f"password={BODY}": BODY,
    f'{{"api_key": "sk-proj-{BODY}{BODY}"}}': f"sk-proj-{BODY}",
    f"postgres://admin:{BODY}@db.example.net/app": BODY,
    f"Authorization: Bearer {BODY}{BODY}": BODY + BODY,
    PEM: "MIIEowIBAAKCAQEA" + BODY,
}
PLACES = ("ask", "reply", "said", "command", "argument", "output", "json", "error", "todo", "path",
          "thought", "part", "key", "system", "image")  # fmt: skip


def turn(number: int, place: str, text: str) -> list[dict[str, Any]]:
    """One exchange with a text in one of its places."""
    here = {one: f" {text} " if one == place else "" for one in PLACES}
    arguments = {
        "command": f"run step {number}{here['command']} > out_{number}.txt",
        "note": f"a longer argument of the call{here['argument']}" * 3,
        "path": f"src/step_{number}{here['path']}.py",
        f"flag{here['key']}": True,
    }
    todo = {"todos": [{"content": f"Do {number}{here['todo']}", "status": "in_progress"}]}
    output = "\n".join(f"line {n} of step_{number}: value_{n} = {n * 7}" for n in range(30))
    data = json.dumps({"id": f"id_{number}", "status": "done", "text": here["json"]})
    failed = f"Error: step {number} failed{here['error']}\nexit code: 1"

    def step(name: str, given: Any, said: str, result: str) -> list[dict[str, Any]]:
        call_id = f"{name}_{number}"
        function = {"name": name, "arguments": json.dumps(given)}
        call = {"id": call_id, "type": "function", "function": function}
        return [
            {"role": "assistant", "content": said, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": result},
        ]

    ask = f"Always do step {number}, never skip it.{here['ask']}"
    more: list[dict[str, Any]] = []
    if here["part"]:
        more.append({"type": "text", "text": here["part"]})
    if here["image"]:
        more.append({"type": "image_url", "image_url": {"url": f"https://host/{here['image']}"}})
    ran = step("bash", {"command": f"make step_{number}"}, "", failed)
    if here["thought"]:
        ran[0]["reasoning_content"] = f"I think of{here['thought']}."
    return [
        *([{"role": "system", "content": f"Be it.{here['system']}"}] if here["system"] else []),
        {"role": "user", "content": [{"type": "text", "text": ask}, *more] if more else ask},
        *step("bash", arguments, f"I will use step_{number}, because it works.{here['said']}",
              f"{output}{here['output']}\n{output}"),
        *step("lookup", {"q": f"id_{number}"}, "", data),
        *ran,
        *step("TodoWrite", todo, "", "ok"),
        {"role": "assistant", "content": f"The port is now {8000 + number}.{here['reply']}"},
    ]  # fmt: skip


def written_texts(messages: Any) -> list[str]:
    """Every text in messages that Holdfast wrote."""
    found: list[str] = []
    for message in recognise(load(messages).messages):
        if message.origin == "real":
            continue
        for part in message.parts:
            inner = part.parts if isinstance(part, ToolResult) else (part,)
            found += [one.text for one in inner if isinstance(one, Text)]
    return found


@pytest.mark.parametrize("place", PLACES)
@given(data=st.data())
def test_no_secret_stands_in_what_a_compaction_writes(place: str, data: st.DataObject) -> None:
    """Wherever in a transcript it stood: summary, digests, markers, the report, and the state
    that is kept, in the one-shot and in the long-lived form."""
    text, secret = data.draw(st.sampled_from(sorted(SECRETS.items())))
    at = data.draw(st.integers(0, 4))
    items = [
        message
        for number in range(7)
        for message in turn(number, place if number == at else "", text)
    ]
    hold_no_secret(items, secret)


def hold_no_secret(items: list[dict[str, Any]], secret: str) -> None:
    """Hold both forms of a compaction against the law."""
    made = compress(items, target_tokens=1_800, policy=SMALL)
    assert made.report.status == "compacted"
    for shown in written_texts(made.messages):
        assert secret not in shown
    engine = Compressor(context_length=8_000, policy=SMALL)
    engine.append(*items)
    engine.compact(force=True)
    for shown in written_texts(engine.messages):
        assert secret not in shown
    assert secret not in engine.snapshot().decode()


def test_no_secret_stands_there_that_was_the_name_of_a_tool() -> None:
    """A model may call a tool that is none; of the secrets only a token can be its name."""
    items = [message for number in range(7) for message in turn(number, "", "")]
    calls = [call for message in items for call in message.get("tool_calls", ())]
    for call in calls[:3]:
        call["function"]["name"] = f"ghp_{BODY}"
    hold_no_secret(items, f"ghp_{BODY}")


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses", "gemini"])
def test_no_secret_stands_in_other_dialects_either(dialect: str) -> None:
    """The same through another wire format, with all secrets in one transcript."""
    items: list[Any] = []
    texts = sorted(SECRETS)
    for number in range(8):
        place = PLACES[number % len(PLACES)]
        items += turn(number, place, texts[number % len(texts)])
    given_items = convert(items, dialect).messages
    made = compress(given_items, dialect=dialect, target_tokens=2_500, policy=SMALL)
    assert made.report.status == "compacted"
    for shown in written_texts(made.messages):
        for secret in SECRETS.values():
            assert secret not in shown


def test_no_secret_of_a_carried_summary_is_kept() -> None:
    """A summary that comes back with the transcript is cleaned before it enters the state."""
    secret = f"ghp_{BODY}"
    body = f"## Goal\n- Use {secret} [m3]"
    carried = summary_text(body, "hf-0123456789")
    items: list[Any] = [{"role": "user", "content": carried}]
    for number in range(6):
        items += turn(number, "", "")
    engine = Compressor(context_length=8_000, policy=SMALL)
    engine.append(*items)
    engine.compact(force=True)
    assert secret not in engine.snapshot().decode()
    for shown in written_texts(engine.messages):
        assert secret not in shown
