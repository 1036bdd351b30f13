"""A mini-swe-agent with our model; it reads files and recalls by its only tool, bash."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # a driver must not hide the framework of its name
os.environ |= {"MSWEA_SILENT_STARTUP": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.exceptions import Submitted
from minisweagent.models import get_model
from playing import Case, play, read_file


class Agent:
    """The agent; its messages are kept in a file."""

    def __init__(self, case: Case) -> None:
        self.case, source = case, case.kept("src")
        source.mkdir(exist_ok=True)
        for at in range(160):
            path = source / f"module_{at:02d}.py"
            path.write_text(read_file(str(path)))
        config = {
            "model_name": f"openai/{case.model}", "cost_tracking": "ignore_errors",
            "model_class": "foldaway.integrations.mini_swe_agent.FoldawayModel",
            "model_kwargs": {"api_base": f"{case.url}/v1", "api_key": "none"},
            "foldaway": {"key": case.thread, "store": case.store, "context_length": case.window,
                         "on_error": "raise"},
        }  # fmt: skip
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {"PATH": path, "FOLDAWAY_STORE": case.store}
        self.agent = DefaultAgent(
            get_model(config=config), LocalEnvironment(cwd=case.folder, env=env), cost_limit=0,
            system_template="You work on a project.", instance_template="",
        )  # fmt: skip

    def ask(self, text: str) -> str:
        path = self.case.kept()
        begun = [{"role": "system", "content": "You work on a project."}]
        self.agent.messages = json.loads(path.read_text()) if path.exists() else begun
        self.agent.add_messages({"role": "user", "content": text})
        while True:
            try:
                self.agent.step()
            except Submitted as done:
                path.write_text(json.dumps(self.agent.messages[:-1]))  # without that call
                return done.messages[0]["content"]

    async def aask(self, text: str) -> str:
        return await asyncio.to_thread(self.ask, text)

    stream = ask


if __name__ == "__main__":
    play(Agent)
