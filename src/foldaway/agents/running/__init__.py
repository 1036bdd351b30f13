"""Agents that are started with a gateway in front of them, and the listener that they talk to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.running.agents import PORT, start_for, startable_agent, startable_agents
    from foldaway.agents.running.front import Front, end_as
    from foldaway.agents.running.totals import RunTotals, Subscription

__getattr__ = import_later(
    __name__,
    {
        "agents": "PORT start_for startable_agent startable_agents",
        "front": "Front end_as",
        "totals": "RunTotals Subscription",
    },
)
