"""tau-bench and tau2: a list of runs, each with the messages between user, agent and tools."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.dialects.jsontext import dump_text
from holdfast.importers.draft import SessionDraft, file_stem
from holdfast.importers.imported import ImportedSession
from holdfast.importers.loose import elements, fields, identifier, seconds, text
from holdfast.transcript import Payload


def is_run(value: Payload) -> bool:
    """Return whether an object is a run of tau-bench."""
    return type(value.get("traj")) is list and "task_id" in value


def is_simulations(value: Payload) -> bool:
    """Return whether an object is a results file of tau2."""
    return type(value.get("simulations")) is list


def read_runs(runs: Sequence[Any], path: str) -> Iterator[ImportedSession]:
    """Yield each run; its messages are chat messages already."""
    for run in map(fields, runs):
        task, trial = identifier(run.get("task_id")), identifier(run.get("trial"))
        draft = SessionDraft(f"{file_stem(path)}/task-{task}-trial-{trial}")
        for index, item in enumerate(elements(run.get("traj"))):
            draft.add(item, "", None, f"message {index}")
        if draft.rows:
            yield draft.finish("tau-bench", "openai-chat", path)


def read_simulations(results: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield each simulation, as the agent saw it: the tools that the user has are left out."""
    agent = fields(fields(results.get("info")).get("agent_info"))
    for run in map(fields, elements(results.get("simulations"))):
        draft = SessionDraft(text(run.get("id")))
        draft.model = text(agent.get("llm"))
        for index, message in enumerate(elements(run.get("messages"))):
            _take(draft, fields(message), f"message {index}")
        if draft.rows:
            yield draft.finish("tau2-bench", "openai-chat", path)


def _take(draft: SessionDraft, message: Payload, place: str) -> None:
    together = elements(message.get("tool_messages"))
    if together:
        for each in together:
            _take(draft, fields(each), place)
        return
    role, when = text(message.get("role")), seconds(message.get("timestamp"))
    of_the_user = message.get("requestor") == "user" or role == "user"
    calls = [] if of_the_user else [_call(fields(call)) for call in _calls(message)]
    if of_the_user and (role == "tool" or _calls(message)):
        draft.note("left out", place, "a call of the user's own tools, or its result")
    if role == "tool":
        if not of_the_user:
            draft.add(_result(message), "", when, place)
        return
    item: Payload = {"role": role, "content": message.get("content")}
    if calls:
        item["tool_calls"] = calls
    if calls or item["content"]:
        draft.add(item, "", when, place)


def _calls(message: Payload) -> list[Any]:
    return elements(message.get("tool_calls"))


def _call(call: Payload) -> Payload:
    given = call.get("arguments")
    arguments = given if type(given) is str else dump_text(given or {})
    function = {"name": text(call.get("name")), "arguments": arguments}
    return {"id": text(call.get("id")), "type": "function", "function": function}


def _result(message: Payload) -> Payload:
    content = message.get("content")
    content = "" if content is None else content
    return {"role": "tool", "tool_call_id": text(message.get("id")), "content": content}
