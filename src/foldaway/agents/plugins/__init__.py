"""What the plug-ins of agents are answered: a view of their list, a summary, facts, originals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.plugins.answering import FORMS, AgentSessions
    from foldaway.agents.plugins.list_edits import ConvertedList, ListForm

__getattr__ = import_later(
    __name__, {"answering": "AgentSessions FORMS", "list_edits": "ConvertedList ListForm"}
)
