"""For tests of your own: a transcript builder, deliberate breakages, fakes, a model server.

The server needs the extra `foldaway[testing]`; nothing in the package imports this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later
from foldaway.testing.breakage import BREAKAGES, Breakage, apply
from foldaway.testing.builder import Talk, assistant, call, media, result, system, talk, think, user
from foldaway.testing.fakes import FixedTokenCounter, ScriptedSummarizer

if TYPE_CHECKING:
    from foldaway.testing.model_replies import (
        Cuts,
        Drops,
        ModelRequest,
        Reply,
        Says,
        Script,
        Sends,
        Trickles,
        Waits,
        anthropic_error,
        in_turn,
        openai_error,
    )
    from foldaway.testing.model_server import ModelServer, refusing_url

__all__ = [
    "BREAKAGES",
    "Breakage",
    "Cuts",
    "Drops",
    "FixedTokenCounter",
    "ModelRequest",
    "ModelServer",
    "Reply",
    "Says",
    "Script",
    "ScriptedSummarizer",
    "Sends",
    "Talk",
    "Trickles",
    "Waits",
    "anthropic_error",
    "apply",
    "assistant",
    "call",
    "in_turn",
    "media",
    "openai_error",
    "refusing_url",
    "result",
    "system",
    "talk",
    "think",
    "user",
]


__getattr__ = import_later(
    __name__,
    {
        "model_replies": "Cuts Drops ModelRequest Reply Says Script Sends Trickles Waits "
        "anthropic_error in_turn openai_error",
        "model_server": "ModelServer refusing_url",
    },
)
