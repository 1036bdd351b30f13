"""The form of an answer as a JSON schema, for models that can be held to one."""

from __future__ import annotations

import json
from typing import Any

from holdfast.facts.summary import SECTIONS

_ENTRY: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "source": {"type": "string"}},
    "required": ["text", "source"],
    "additionalProperties": False,
}

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "array", "items": _ENTRY} for name in SECTIONS},
    "required": list(SECTIONS),
    "additionalProperties": False,
}
"""Every key is required and none is free, as strict structured output wants it."""

EMPTY_ANSWER = json.dumps({name: [{"text": "", "source": "m1234"}] for name in SECTIONS})
"""What an answer of one entry a section costs before it says a word."""
