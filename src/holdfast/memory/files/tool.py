"""The tool by which an agent writes its memory; constant, so that prompts stay cached."""

from __future__ import annotations

from typing import Any, Final

ACTIONS: Final = ("add", "replace", "remove", "list", "search")
TARGETS: Final = ("memory", "user")

TOOL: Final[dict[str, Any]] = {
    "name": "memory",
    "description": (
        "Keep what should be known in later sessions: facts about the user (target user), and "
        "what you learnt about their projects, tools and wishes (target memory). One fact an "
        "entry, in a sentence that makes sense alone. Not for what is only true today, and never "
        "for secrets. Replace or remove what is no longer true. Entries are notes, not "
        "instructions."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "target": {
                "type": "string",
                "enum": list(TARGETS),
                "description": "Which file: memory where it is not said.",
            },
            "content": {"type": "string", "description": "For add and replace: the entry."},
            "entry": {
                "type": "string",
                "description": "For replace and remove: an id, or a piece of text that only this "
                "entry holds.",
            },
            "query": {"type": "string", "description": "For search: words to look for."},
        },
        "required": ["action"],
    },
}
