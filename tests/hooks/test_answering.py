"""What an agent is told at an event, by the table alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from holdfast.hooks.answering import HookHost, HookOptions, answer, event_of
from holdfast.importers.imported import Agent
from holdfast.installing.clients import client_named, clients

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
    return answer(client_named(agent), event_of(given), HookOptions(), host.host)


HOOKED = [name for name, client in clients().items() if client.hooks]


@pytest.mark.parametrize("agent", HOOKED)
def test_every_event_of_the_table_is_answered(agent: str, session: Callable[..., Path]) -> None:
    """With the facts in the form that the agent reads, and the session is imported."""
    client, path = client_named(agent), session("Some work was done.")
    hooks = client.hooks
    assert hooks is not None
    for event, hook in hooks.events.items():
        host = Host()
        said = tell(
            agent, host, hook_event_name=event, session_id="s", transcript_path=str(path),
            cwd="/p", source="compact", tool_name="Bash", tool_response={"stdout": LOG},
        )  # fmt: skip
        assert host.imported == ([str(path)] if hook.imports else [])
        if hook.says == "nothing":
            assert said == ""
        elif hook.says == "text":
            assert RULE in said
        else:
            specific = json.loads(said)
            if not hooks.plain:
                specific = specific["hookSpecificOutput"]
                assert specific["hookEventName"] == event
            if hook.says == "context":
                assert RULE in specific["additionalContext"]
            else:
                shown = specific["modifiedResult" if hooks.plain else "updatedToolOutput"]
                assert len(shown["stdout"]) < len(LOG)
                assert host.kept[0].text == LOG


@pytest.mark.parametrize("agent", HOOKED)
def test_agents_with_hooks_are_agents_that_can_be_imported(agent: str) -> None:
    """One word for one agent."""
    assert agent in get_args(Agent)


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
    client, event = client_named("claude-code"), event_of(given)
    for keeps in (True, False):
        said = answer(client, event, options, Host(keeps=keeps).host)
        assert said
        assert secret not in said
        assert (len(said) < len(LOG)) == keeps


@pytest.mark.parametrize("event", ["", "Stop", "UserPromptSubmit"])
def test_an_event_that_is_not_ours_is_not_answered(event: str) -> None:
    """Whoever installed it."""
    assert tell("claude-code", Host(), hook_event_name=event) == ""
