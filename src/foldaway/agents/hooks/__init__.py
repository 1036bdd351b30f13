"""What the hooks of coding agents get: facts for a compaction, facts after it, short results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.hooks.answering import HookOptions, framed_facts
    from foldaway.agents.hooks.facts import dropped_facts, facts_of, session_facts
    from foldaway.agents.hooks.process import main

__getattr__ = import_later(
    __name__,
    {
        "answering": "HookOptions framed_facts",
        "facts": "dropped_facts facts_of session_facts",
        "process": "main",
    },
)
