"""What is known of other agents: a file of data for each, and one value that has all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.known.agent import (
        AddressFile,
        AgentPlugin,
        CompactionSign,
        Form,
        HooksSection,
        JsonVariable,
        KnownAgent,
        StartSection,
        agent_named,
        find_agent,
        known_agents,
    )

__getattr__ = import_later(
    __name__,
    {
        "agent": "AddressFile AgentPlugin CompactionSign Form HooksSection "
        "JsonVariable KnownAgent StartSection agent_named find_agent "
        "known_agents"
    },
)
