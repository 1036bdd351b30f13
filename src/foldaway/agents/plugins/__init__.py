"""What the plug-ins of agents are answered: a view of their list, a summary, facts, originals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.plugins.answering import FORMS, AgentSessions, EndOptions
    from foldaway.agents.plugins.lists import Built, GivenList, ListForm, given_list, host_edits
    from foldaway.agents.plugins.process import serve_end

__getattr__ = import_later(
    __name__,
    {
        "answering": "AgentSessions EndOptions FORMS",
        "lists": "Built GivenList ListForm given_list host_edits",
        "process": "serve_end",
    },
)
