"""What an agent is told at an event, by the table alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway.agents.hooks.answering import HookHost, HookOptions, answer, event_of
from foldaway.agents.installing.programs import clients
from foldaway.agents.known import agent_named

RULE = "Never edit config/prod.toml."
LOG = "\n".join(f"{n}: request {n * 7919 % 1000003}" for n in range(2_000))


class Host:
    """What a hook did outside."""

    def __init__(self, *, keeps: bool = True) -> None:
        self.imported: list[str] = []
        self.kept: list[Any] = []
        self.keeps = keeps

    def keep(self, originals: Sequence[Any], agent: str, event: Any) -> bool:
        self.kept += originals
        return self.keeps

    @property
    def host(self) -> HookHost:
        return HookHost(keep=self.keep, import_later=lambda agent, path: self.imported.append(path))


def tell(agent: str, host: Host, **given: Any) -> str:
    return answer(agent_named(agent), event_of(given), HookOptions(), host.host)


HOOKED = [name for name, client in clients().items() if client.hooks.events]


@pytest.mark.parametrize("agent", HOOKED)
def test_every_event_of_the_table_is_answered(agent: str, session: Callable[..., Path]) -> None:
    """With the facts in the form that the agent reads, and the session is imported."""
    client, path = agent_named(agent), session("Some work was done.")
    hooks = client.hooks
    assert hooks is not None
    for event, hook in hooks.events.items():
        host = Host()
        said = tell(
            agent, host, hook_event_name=event, session_id="s", transcript_path=str(path),
            cwd="/p", source="compact", tool_name="Bash", tool_response={"stdout": LOG},
        )  # fmt: skip
        assert host.imported == ([str(path)] if hook.imports else [])
        if hook.says in ("nothing", "file"):
            assert said == ""
        elif hook.says == "text":
            assert RULE in said
        else:
            specific = json.loads(said)
            if not hooks.keys:
                specific = specific["hookSpecificOutput"]
                assert specific["hookEventName"] == event
            if hook.says == "context":
                assert RULE in specific[hooks.keys.get("context", "additionalContext")]
            else:
                shown = specific[hooks.keys.get("output", "updatedToolOutput")]
                assert len(shown["stdout"]) < len(LOG)
                assert host.kept[0].text == LOG


@each_row("agent", HOOKED)
def test_agents_with_hooks_are_agents_that_can_be_imported(agent: str) -> None:
    """One word for one agent."""
    assert agent_named(agent).files.places


def test_a_result_whose_original_is_not_kept_stays() -> None:
    """Nothing is lost because a store is locked."""
    host = Host(keeps=False)
    said = tell(
        "claude-code", host, hook_event_name="PostToolUse", session_id="s", tool_name="Bash",
        tool_response={"stdout": LOG},
    )  # fmt: skip
    assert host.kept
    assert said == ""


def test_secrets_are_hidden_also_if_the_store_is_locked() -> None:
    """The result is whole then, without them."""
    secret = "AKIA" + "QYLPMN5HHHFPZAM2"
    given = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "session_id": "s",
             "tool_response": {"stdout": f"aws_access_key_id = {secret}\n{LOG}"}}  # fmt: skip
    options = HookOptions(redact=True)
    client, event = agent_named("claude-code"), event_of(given)
    for keeps in (True, False):
        said = answer(client, event, options, Host(keeps=keeps).host)
        assert said
        assert secret not in said
        assert (len(said) < len(LOG)) == keeps


@each_row("event", ["", "Stop", "UserPromptSubmit"])
def test_an_event_that_is_not_ours_is_not_answered(event: str) -> None:
    """Whoever installed it."""
    assert tell("claude-code", Host(), hook_event_name=event) == ""


def test_a_compaction_of_cline_gets_facts_of_its_task_beside_the_copy(tmp_path: Path) -> None:
    """Cline names a copy for the hook. Its own words in a message are no requests of the user."""
    host_says = "# task_progress RECOMMENDED\n\nWhen starting a new task, include a todo list."
    messages = [
        {"role": "user", "ts": 1, "content": [
            {"type": "text", "text": f"<task>\nFix the parser. {RULE}\n</task>"},
            {"type": "text", "text": host_says},
            {"type": "text", "text": "<environment_details>\n# Mode\n</environment_details>"},
        ]},
        {"role": "assistant", "ts": 2, "content": [{"type": "text", "text": "It is fixed."}]},
        {"role": "user", "ts": 3, "content": [
            {"type": "text", "text": "<explicit_instructions type=\"summarize_task\">\nSummarize."}
        ]},
    ]  # fmt: skip
    task = tmp_path / "tasks" / "17" / "api_conversation_history.json"
    task.parent.mkdir(parents=True)
    task.write_text(json.dumps(messages))
    host = Host()
    told = {"taskId": "17", "contextJsonPath": str(task.with_name("conversation_history_9.json"))}
    said = json.loads(tell("cline", host, hookName="PreCompact", taskId="17", preCompact=told))
    assert RULE in said["contextModification"]
    assert "todo list" not in said["contextModification"]
    assert "Summarize" not in said["contextModification"]
    assert host.imported == [str(task)]


def test_an_event_that_cline_names_otherwise_is_left_to_its_other_folder() -> None:
    """Cline 3 reads the folder of editors too; the session is imported once."""
    host = Host()
    assert tell("cline", host, hookName="agent_end", taskId="c1") == ""
    assert host.imported == []
    client = agent_named("cline")
    event = event_of({"hookName": "agent_end", "taskId": "c1"}, "TaskComplete")
    assert answer(client, event, HookOptions(), host.host) == ""
    assert host.imported == [""]
