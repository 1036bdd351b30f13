"""Small sessions whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.lab.scoring.session import LabSession


def _session(name: str = "made-up/1", turns: int = 40, project: str = "p") -> LabSession:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a careful agent."},
        {"role": "user", "content": "Mend the importer. Never touch vendor_folder/."},
    ]
    for turn in range(turns):
        path = f"src/part_{turn:02}/module_{turn:02}.py"
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "Read", "arguments": json.dumps({"file_path": path})},
        }
        said = f"Next I read {path}."
        if turn > turns // 2:
            early = turn - turns // 2
            said += f" The setting limit_of_part_{early:02} must agree with it."
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        lines = [f"the setting limit_of_part_{turn:02} = {turn * 7 + 1000} stands here"]
        lines += [f"line {number} of nothing in particular, part {turn}" for number in range(12)]
        result = {"role": "tool", "tool_call_id": f"call_{turn}", "content": "\n".join(lines)}
        messages.append(result)
    return LabSession(name, "made-up", project, messages, tokens=10_000)


@pytest.fixture
def make_session() -> Callable[..., LabSession]:
    """Return what makes a session in which the agent later uses what results said long before."""
    return _session
