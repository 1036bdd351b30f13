"""A model as a player: what it is sent, what it says, how it fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.lab.play.tiny import SECRET, terms, tiny_task

from foldaway.errors import SummarizerFailed
from foldaway.lab.play.contexts import LiveContext
from foldaway.lab.play.game import Played, PlayerUnreachable, play
from foldaway.lab.play.models import ModelPlayer, ModelSummaryContext, PlayingModel
from foldaway.lab.play.task import Request
from foldaway.testing import ModelServer, ScriptedSummarizer, Sends, in_turn, openai_error


def call(name: str, arguments: object) -> dict[str, Any]:
    """Return a call as a server sends it."""
    said = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": said}}


def chat(text: str, *calls: dict[str, Any]) -> Sends:
    """Return an answer of Chat Completions."""
    said = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    shared = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny"}
    return Sends(body={**shared, "choices": [choice]})


def blocks(*content: dict[str, Any]) -> Sends:
    """Return an answer of Messages."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    shared = {"id": "1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    return Sends(body={**shared, "content": content, "stop_reason": "end_turn"})


def plays(spec: str, url: str) -> Played:
    """Return a play of a short task by a model."""
    task = tiny_task(2, 1)
    player = ModelPlayer(PlayingModel(spec, url))
    return play("full", task, player, LiveContext(task.tools, terms()))


def test_a_model_plays_over_chat_completions() -> None:
    """It is sent the messages and tools of the context; its calls are done in the world."""
    script = in_turn(
        chat("I read.", call("read_file", {"path": "file_0.txt"})),
        chat("", call("note", {"text": SECRET})),
        chat("done"),
    )
    with ModelServer(script) as server:
        played = plays("openai:tiny", server.openai_url)
        first, second, _ = (request.body for request in server.requests)
    assert (played.is_solved, played.steps) == (True, 3)
    assert first["model"] == "tiny"
    assert [one["function"]["name"] for one in first["tools"]] == ["read_file", "note"]
    assert [one["role"] for one in first["messages"]] == ["system", "user"]
    assert [one["role"] for one in second["messages"]][2:] == ["assistant", "tool"]
    assert SECRET in second["messages"][3]["content"]


def test_a_model_plays_over_messages() -> None:
    """The system prompt is a field of its own there, and results come from the user."""
    script = in_turn(
        blocks(
            {"type": "text", "text": "I read."},
            {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "file_0.txt"}},
        ),
        blocks({"type": "tool_use", "id": "u", "name": "note", "input": {"text": SECRET}}),
        blocks({"type": "text", "text": "done"}),
    )
    with ModelServer(script) as server:
        played = plays("anthropic:claude-tiny", server.anthropic_url)
        first, second, _ = (request.body for request in server.requests)
    assert (played.is_solved, played.steps) == (True, 3)
    assert first["system"] == "You read files and note a port."
    assert "input_schema" in first["tools"][0]
    assert [one["role"] for one in second["messages"]] == ["user", "assistant", "user"]


def test_arguments_that_are_no_json_are_a_result_of_the_world() -> None:
    """Nothing is raised: the world says what is wrong with them."""
    with ModelServer(in_turn(chat("", call("nothing", "{oops")))) as server:
        player = ModelPlayer(PlayingModel("openai:tiny", server.openai_url))
        turn = player.act(Request([{"role": "user", "content": "go"}], []))
    assert turn.calls[0].arguments == {"input": "{oops"}


def test_a_server_that_is_busy_is_asked_again_and_then_left() -> None:
    """Three times in all; then the play has no answer, which is no loss."""
    busy = openai_error(500, "server_error", headers={"retry-after-ms": "1"})
    with ModelServer(busy) as server:
        played = plays("openai:tiny", server.openai_url)
        assert len(server.requests) == 3
    assert (played.ending, played.is_counted) == ("no answer", False)
    assert "check the name of the model" in played.why


def test_a_request_that_the_server_finds_too_long_did_not_fit() -> None:
    """The window of the strategy was not kept: that is its loss, and nobody asks again."""
    refused = openai_error(400, "context_length_exceeded", "maximum context length is 32768")
    with ModelServer(refused) as server:
        played = plays("openai:tiny", server.openai_url)
        assert len(server.requests) == 1
    assert (played.ending, played.is_counted, played.why) == ("did not fit", True, "")


def test_a_summary_by_the_model_is_billed_and_what_is_newest_stays() -> None:
    """It is asked when the window is nearly full."""
    task = tiny_task()
    writer = ScriptedSummarizer([f"the service has {SECRET}"])
    context = ModelSummaryContext(task.tools, terms(10_000), summarizer=writer)
    context.take([{"role": "system", "content": "s"}, {"role": "user", "content": "go"}])
    for at in range(20):
        context.take([{"role": "assistant", "content": f"{at} " + "words of mine " * 140}])
    context.prepare()
    assert context.compactions == 1
    assert [one["role"] for one in context.messages[:2]] == ["system", "user"]
    assert SECRET in context.messages[1]["content"]
    assert context.messages[-1]["content"].startswith("19 ")
    assert context.prompt.tokens < 2_500
    assert context.summaries.usd > 0


def test_a_summary_that_cannot_be_written_is_no_loss_of_a_strategy() -> None:
    """The play ends without an answer."""
    task = tiny_task()
    writer = ScriptedSummarizer([SummarizerFailed("timed out", "openai:tiny")])
    context = ModelSummaryContext(task.tools, terms(1_000), summarizer=writer)
    context.take([{"role": "system", "content": "s"}])
    context.take([{"role": "user", "content": "words of mine " * 400}] * 3)
    with pytest.raises(PlayerUnreachable, match="timed out"):
        context.prepare()
