"""Runs of benchmarks: SWE-agent, mini-SWE-agent, tau-bench and tau2.

SWE-agent writes one document a run, with a `history` of chat messages beside the `trajectory`;
tau-bench a list of runs, each with the messages between user, agent and tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from foldaway.agents.importers.blocks import chat_call
from foldaway.agents.importers.files import decode, elements, fields, identifier, seconds, text
from foldaway.agents.importers.imported import ImportedSession, SessionDraft, file_stem
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

_KEPT = ("role", "content", "tool_calls", "tool_call_id", "reasoning_content", "thinking_blocks")


def is_trajectory(value: Payload) -> bool:
    """Return whether an object is a run of SWE-agent."""
    history = elements(value.get("history")) or elements(value.get("trajectory"))
    return bool(history) and any(
        mark in fields(history[0]) for mark in ("role", "response", "observation")
    )


def read_trajectory(run: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the history of a run; if it has none, the answer and the observation of each step."""
    draft = SessionDraft(text(run.get("instance_id")))
    draft.model = text(fields(fields(_config(run).get("agent")).get("model")).get("name"))
    for index, message in enumerate(elements(run.get("history"))):
        draft.add(_item(fields(message)), "", None, f"history[{index}]")
    if not draft.rows:
        for index, step in enumerate(elements(run.get("trajectory"))):
            _take(draft, fields(step), f"trajectory[{index}]")
    draft.total_usage = usage_of(fields(run.get("info")).get("model_stats"), model=draft.model)
    yield from draft.finish("swe-agent", "openai-chat", path)


def _item(message: Payload) -> Payload:
    """Return a message of the history as a chat message; the notes of the agent stay behind."""
    item = {key: message[key] for key in _KEPT if message.get(key) is not None}
    answered = elements(message.get("tool_call_ids"))
    if message.get("role") == "tool" and answered:
        item["tool_call_id"] = text(answered[0])
    return item


def _take(draft: SessionDraft, step: Payload, place: str) -> None:
    for role, key in (("assistant", "response"), ("user", "observation")):
        said = text(step.get(key))
        if said:
            draft.add({"role": role, "content": said}, "", None, place)


def _config(run: Payload) -> Payload:
    given = run.get("replay_config")
    return fields(decode(given) if type(given) is str else given)


def is_mini_run(value: Payload) -> bool:
    """Return whether an object is a run of mini-SWE-agent."""
    known = text(value.get("trajectory_format")).startswith("mini-swe-agent")
    return known and type(value.get("messages")) is list


def read_mini_run(run: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the messages of a run, without the one that says how it ended."""
    draft = SessionDraft(text(run.get("instance_id")))
    config = fields(fields(run.get("info")).get("config"))
    draft.model = text(fields(config.get("model")).get("model_name"))
    draft.cwd = text(fields(config.get("environment")).get("cwd"))
    for index, message in enumerate(map(fields, elements(run.get("messages")))):
        place, about = f"message {index}", fields(message.get("extra"))
        if message.get("role") == "exit":
            draft.note("left out", place, "how the run ended")
            continue
        draft.add(_item(message), "", seconds(about.get("timestamp")), place)
        answer = fields(about.get("response"))
        draft.add_usage(usage_of(answer.get("usage"), model=draft.model, cost=about.get("cost")))
    yield from draft.finish("mini-swe-agent", "openai-chat", path)


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
        yield from draft.finish("tau-bench", "openai-chat", path)


def read_simulations(results: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield each simulation, as the agent saw it: the tools that the user has are left out."""
    agent = fields(fields(results.get("info")).get("agent_info"))
    for run in map(fields, elements(results.get("simulations"))):
        draft = SessionDraft(text(run.get("id")))
        draft.model = text(agent.get("llm"))
        for index, message in enumerate(elements(run.get("messages"))):
            _take_simulated(draft, fields(message), f"message {index}")
        yield from draft.finish("tau2-bench", "openai-chat", path)


def _take_simulated(draft: SessionDraft, message: Payload, place: str) -> None:
    together = elements(message.get("tool_messages"))
    if together:
        for each in together:
            _take_simulated(draft, fields(each), place)
        return
    role, when = text(message.get("role")), seconds(message.get("timestamp"))
    of_the_user = message.get("requestor") == "user" or role == "user"
    given = [fields(call) for call in elements(message.get("tool_calls"))]
    calls = (
        []
        if of_the_user
        else [
            chat_call(text(call.get("id")), text(call.get("name")), call.get("arguments"))
            for call in given
        ]
    )
    if of_the_user and (role == "tool" or given):
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
        if not of_the_user:
            draft.add_usage(usage_of(message.get("usage"), cost=message.get("cost")))


def _result(message: Payload) -> Payload:
    content = message.get("content")
    content = "" if content is None else content
    return {"role": "tool", "tool_call_id": text(message.get("id")), "content": content}
