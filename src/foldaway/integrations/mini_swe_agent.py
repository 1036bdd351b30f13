"""Foldaway in the model of a mini-swe-agent.

    model:
      model_class: foldaway.integrations.mini_swe_agent.FoldawayModel

The agent keeps every message; only the request to the model is smaller.
"""

# mini-swe-agent is not installed when this is checked.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

from minisweagent.models.litellm_model import BASH_TOOL, LitellmModel, LitellmModelConfig
from pydantic import Field

from foldaway.integrations.host_sessions import HostRequest, HostSessions

__all__ = ["FoldawayModel"]


class FoldawayModelConfig(LitellmModelConfig):
    """The settings of the model."""

    foldaway: dict[str, Any] = Field(default_factory=dict)
    """`key`, if the conversation has a name; `store` and the options of `HostSessions`."""


class FoldawayModel(LitellmModel):
    """A model whose requests stay inside its window."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"config_class": FoldawayModelConfig, **given})
        options = dict(self.config.foldaway)
        self._key = options.pop("key", "")
        self._sessions = HostSessions("mini-swe-agent", **options)

    def query(self, messages: list[Any], **more: Any) -> Any:
        """Return what the model answers to messages that fit."""
        own = [{name: one[name] for name in one if name != "extra"} for one in messages]
        frame = {"model": self.config.model_name, "tools": [BASH_TOOL]}
        asked = HostRequest(key=self._key, dialect="openai-chat", own=own, frame=frame)
        ask = super().query
        return self._sessions.send(
            asked, lambda own: ask(own, **more), lambda said: said["extra"]["response"]["usage"]
        )
