"""Commands for conversations, such as `/compress here 3`, for any host: lines in, values out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.commands.dispatch import Commands
    from foldaway.commands.showing import next_step
    from foldaway.commands.values import CommandAnswer, CommandChoice, Completion, Figure, as_text

__all__ = ["CommandAnswer", "CommandChoice", "Commands", "Completion", "Figure", "as_text"]


__getattr__ = import_later(
    __name__,
    {
        "dispatch": "Commands",
        "showing": "next_step",
        "values": "CommandAnswer CommandChoice Completion Figure as_text",
    },
)
