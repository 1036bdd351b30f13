"""deepagents with the middleware of LangChain's agents; its own summarization stays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])

from deepagents import create_deep_agent
from drivers.langchain import Agent as LangChainAgent
from drivers.langchain import middleware_of
from playing import Case, play, read_file


def look_up(path: str) -> str:
    """Read a file of the project."""
    return read_file(path)


class Agent(LangChainAgent):
    """The same agent, made by deepagents."""

    def graph_of(self, case: Case, model: Any) -> Any:
        middleware = middleware_of(case, model)
        reader = {
            "name": "reader", "description": "Reads many files.", "system_prompt": "You read.",
            "tools": [look_up], "middleware": middleware,
        }  # fmt: skip
        return create_deep_agent(model, [look_up], middleware=middleware, subagents=[reader])


if __name__ == "__main__":
    play(Agent)
