"""Invariant 8: no secret that the redactor knows stands in anything that a compaction writes."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import compress, load
from foldaway._core.policy import Policy
from foldaway.dialects.conversion import convert
from foldaway.engine import Compressor
from foldaway.facts.frame import recognize, summary_text
from foldaway.testing import ScriptedSummarizer
from foldaway.transcript import Text, ToolResult

SMALL = Policy(floor_tokens=500, protect_last=2)
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
          "thought", "part", "key", "system", "image", "nested", "blocks", "name",
          "metadata")  # fmt: skip


def turn(number: int, place: str, text: str) -> list[dict[str, Any]]:
    """One exchange with a text in one of its places."""
    here = {one: f" {text} " if one == place else "" for one in PLACES}
    arguments = {
        "command": f"run step {number}{here['command']} > out_{number}.txt",
        "note": f"a longer argument of the call{here['argument']}" * 3,
        "path": f"src/step_{number}{here['path']}.py",
        f"flag{here['key']}": True,
        "nested": json.dumps({"inner": json.dumps({"x": [here["nested"]]})}),
    }
    todo = {"todos": [{"content": f"Do {number}{here['todo']}", "status": "in_progress"}]}
    output = "\n".join(f"line {n} of step_{number}: value_{n} = {n * 7}" for n in range(30))
    data = json.dumps({"id": f"id_{number}", "status": "done", "text": here["json"]})
    failed = f"Error: step {number} failed{here['error']}\nexit code: 1"

    def step(name: str, given: Any, said: str, result: Any) -> list[dict[str, Any]]:
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
    shown: Any = f"{output}{here['output']}\n{output}"
    if here["blocks"]:
        shown = [{"type": "text", "text": one} for one in (output, here["blocks"], output)]
    asked: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": ask}, *more]}
    if here["name"]:
        asked["name"] = here["name"]
    if here["metadata"]:
        asked["metadata"] = {"password": here["metadata"]}
    return [
        *([{"role": "system", "content": f"Be it.{here['system']}"}] if here["system"] else []),
        asked if more or here["name"] or here["metadata"] else {"role": "user", "content": ask},
        *step("bash", arguments, f"I will use step_{number}, because it works.{here['said']}",
              shown),
        *step("lookup", {"q": f"id_{number}"}, "", data),
        *ran,
        *step("TodoWrite", todo, "", "ok"),
        {"role": "assistant", "content": f"The port is now {8000 + number}.{here['reply']}"},
    ]  # fmt: skip


def written_texts(messages: Any) -> list[str]:
    """Every text in messages that Foldaway wrote."""
    found: list[str] = []
    for message in recognize(load(messages).messages):
        if message.origin == "real":
            continue
        for part in message.parts:
            inner = part.parts if isinstance(part, ToolResult) else (part,)
            found += [one.text for one in inner if isinstance(one, Text)]
    return found


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=max(2, settings().max_examples // 2))
@given(data=st.data())
def test_no_secret_stands_in_what_a_compaction_writes(place: str, data: st.DataObject) -> None:
    """Wherever in a transcript it stood: summary, digests, markers, the report, and the state
    that is kept, in the one-shot and in the long-lived form."""
    text, secret = data.draw(st.sampled_from(sorted(SECRETS.items())))
    at = data.draw(st.integers(0, 4))
    # what stands before it decides where it is cut
    text = "wo " * data.draw(st.integers(0, 90)) + text
    items = [
        message
        for number in range(7)
        for message in turn(number, place if number == at else "", text)
    ]
    hold_no_secret(items, secret)


def shows(text: str, secret: str) -> bool:
    """Whether a text shows a secret, or a piece of one by which it could be known."""
    return any(secret[at : at + 10] in text for at in range(len(secret) - 9))


def hold_no_secret(items: list[dict[str, Any]], secret: str) -> None:
    """Hold both forms of a compaction against the law, and what a model is asked and answers."""
    made = compress(items, target_tokens=1_800, policy=SMALL)
    assert made.report.status == "compacted"
    for shown in (repr(made.report), *written_texts(made.messages)):
        assert not shows(shown, secret)
    engine = Compressor(context_length=8_000, policy=SMALL)
    engine.append(*items)
    engine.compact(force=True)
    for shown in written_texts(engine.messages):
        assert not shows(shown, secret)
    assert not shows(engine.snapshot().decode(), secret)
    model = ScriptedSummarizer(lambda _: f"## Goal\n- Always do step 1: password={secret} [m0]\n")
    told = compress(items, target_tokens=1_800, policy=SMALL, summarizer=model)
    assert model.requests
    for shown in (*map(repr, model.requests), *written_texts(told.messages)):
        assert not shows(shown, secret)


@pytest.mark.parametrize("text", sorted(SECRETS))
@pytest.mark.parametrize("place", ["output", "json", "error", "blocks"])
def test_no_secret_stands_in_a_result_of_which_a_part_is_shown(place: str, text: str) -> None:
    """Nor a piece of one that no redactor would know again; a result that stays whole stays so."""
    for at, size in itertools.product((3, 6), (2_600, 4_200)):
        items = [one for n in range(7) for one in turn(n, place if n == at else "", text)]
        texts = written_texts(compress(items, target_tokens=size, policy=SMALL).messages)
        assert any(one.startswith("[in part: fa-") for one in texts)
        assert not any(shows(one, SECRETS[text]) for one in texts)


@pytest.mark.parametrize("text", sorted(SECRETS))
def test_no_secret_stands_there_that_was_the_name_of_a_tool(text: str) -> None:
    """A model may call a tool that is none, also by what no provider takes as a name."""
    items = [message for number in range(7) for message in turn(number, "", "")]
    calls = [call for message in items for call in message.get("tool_calls", ())]
    for call in calls[:3]:
        call["function"]["name"] = text
    hold_no_secret(items, SECRETS[text])


@pytest.mark.parametrize(
    "dialect",
    [
        "anthropic",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("openai-responses", "gemini")),
    ],
)
@pytest.mark.parametrize(
    "place", [one for one in PLACES if one not in ("image", "metadata", "name")]
)
def test_no_secret_stands_in_other_dialects_either(dialect: str, place: str) -> None:
    """The same through another wire format, with all secrets in one transcript."""
    items: list[Any] = []
    for number, text in enumerate((*sorted(SECRETS), "plain", "words")):
        items += turn(number, place, text)
    given_items = convert(items, dialect).messages
    model = ScriptedSummarizer(lambda _: "## Goal\n- Always do step 1, never skip it. [m0]\n")
    made = compress(
        given_items, provider=dialect, target_tokens=1500, policy=SMALL, summarizer=model
    )
    assert made.report.status == "compacted"
    assert model.requests
    for shown in (*map(repr, model.requests), *written_texts(made.messages)):
        for secret in SECRETS.values():
            assert not shows(shown, secret)


def test_no_secret_of_a_carried_summary_is_kept() -> None:
    """A summary that comes back with the transcript is cleaned before it enters the state."""
    secret = f"ghp_{BODY}"
    body = f"## Goal\n- Use {secret} [m3]"
    carried = summary_text(body, "fa-0123456789")
    items: list[Any] = [{"role": "user", "content": carried}]
    for number in range(6):
        items += turn(number, "", "")
    engine = Compressor(context_length=8_000, policy=SMALL)
    engine.append(*items)
    engine.compact(force=True)
    assert secret not in engine.snapshot().decode()
    for shown in written_texts(engine.messages):
        assert secret not in shown
